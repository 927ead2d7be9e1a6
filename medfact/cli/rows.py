"""The database that a command reads, the rows that it prints, and where they go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from medfact.cli import OK, print_data, say
from medfact.datasets.table_writer import check_place, json_line, write_table
from medfact.errors import MedfactError, Mistake, StoreError, UnreadableRun
from medfact.results.report import report_of
from medfact.results.wording import counted
from medfact.spec import PROTOCOLS
from medfact.store import Run, Store, UnreadRun, exists

_RUN = ("run", "owner", "name", "note", "state", "reason", "started_at", "finished_at", "model", "imported", "dataset")
_NUMBERS = ("protocol", "pool", "shots", "seed", "facts", "statements", "answered", "failed")
_SCORES = tuple(dict.fromkeys(name for protocol in PROTOCOLS.values() for name in protocol.headline_metrics))
"""What any method shows first; of a run, its own method's have a value."""

_COLUMNS = (*_RUN, *_NUMBERS, *_SCORES, "usd")


def kept(url: str | None) -> Store:
    """The store at an address that was typed, or the usual one. Raises Mistake where the file that was typed is not there, so
    that a slip of the finger makes no empty database.
    """
    if url and not exists(url):
        raise Mistake(f"There is no database {url!r}.", "Check the address after --db.")
    return Store(url)


def emit(rows: Iterable[dict[str, Any]], output: str | None) -> int:
    """Writes rows to a file, or prints them as JSON lines. Returns the exit code 0."""
    if output:
        count = write_table(rows, Path(output))
        say(f"{counted(count, 'row')} written to {output}")
    else:
        for row in rows:
            print_data(json_line(row))
    return OK


def check_output(output: str | None) -> None:
    """Raises FactsError if `emit` could not write there; for before a model is asked."""
    if output:
        check_place(Path(output))


def print_notes(lines: Iterable[str]) -> None:
    """Prints notes on stderr."""
    for line in lines:
        say(f"note: {line}")


def run_rows(store: Store) -> Iterator[dict[str, Any]]:
    """The rows of `runs`, oldest first. One that cannot be read has the state UNREADABLE, and the reason."""
    for run in store.listed():
        if isinstance(run, UnreadRun):
            yield _unread_row(run, run.why)
            continue
        try:
            yield run_row(run, store)
        except StoreError:
            raise
        except MedfactError as error:
            yield _unread_row(run, error.reason if isinstance(error, UnreadableRun) else error.problem)


UNREADABLE = "unreadable"
"""The state of a run whose record, or whose figures, cannot be read."""


def _unread_row(run: Run | UnreadRun, why: str) -> dict[str, Any]:
    known = {name: getattr(run, name) for name in ("run", "owner", "started_at", "model")}
    return {**dict.fromkeys(_COLUMNS), **known, "state": UNREADABLE, "reason": why}


def run_row(run: Run, store: Store) -> dict[str, Any]:
    """A row of `runs`."""
    report = report_of(store, run)
    first = PROTOCOLS[report.protocol].headline_metrics
    return {
        **{name: getattr(run, name) for name in _RUN},
        "protocol": run.spec.protocol,
        "pool": run.pool,
        "shots": run.shots,
        "seed": run.spec.seed,
        "facts": run.facts,
        "statements": run.statements,
        "answered": report.answered,
        "failed": report.failed,
        **{name: getattr(report, name).value if name in first else None for name in _SCORES},
        "usd": report.service and report.service["usd"],
    }
