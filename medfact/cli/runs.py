"""Commands that delete runs, show them to everybody on the page Runs, or take them to another machine."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

from medfact.cli import OK, say
from medfact.cli.rows import emit, kept, run_row
from medfact.datasets.table_writer import being_written
from medfact.errors import Mistake
from medfact.exchange import export_run, import_run
from medfact.results.wording import model_name, own_name
from medfact.store import COMPLETE, GOING, KEPT_DELETED, Run, Store
from medfact.store.workers import in_words

LONGEST_NAME = 120


def delete(options: argparse.Namespace) -> int:
    """Deletes runs: all of them, or none where one cannot be. What was deleted long ago is erased."""
    store = kept(options.db)
    if options.restore:
        return _restore(store, options.run)
    runs = dict.fromkeys(store.recorded(run).run for run in options.run)
    published = {one.run for one in store.publications.published()}
    for attempt in chain.from_iterable(map(store.attempts, runs)):
        if isinstance(attempt, Run) and attempt.state in GOING:
            raise Mistake(
                f"Run {attempt.run} is going on, in {in_words(attempt.worker)}.", "Stop it there first; then delete it."
            )
        if attempt.run in published:
            raise Mistake(f"Run {attempt.run} is published.", f"Withdraw it first: `publish --withdraw {attempt.run}`.")
    for run in runs:
        store.delete(run)
        say(f"deleted {run}; `delete --restore` brings it back for {KEPT_DELETED.days} days")
    store.purge()
    return OK


def _restore(store: Store, runs: list[str]) -> int:
    for run in runs:
        found = store.put_away(run)
        if len(found) != 1:
            problem = f"Several deleted runs begin with {run!r}." if found else f"There is no deleted run {run!r}."
            raise Mistake(
                problem, "Give more of the id." if found else f"What was deleted over {KEPT_DELETED.days} days ago is gone."
            )
        store.restore(found[0])
        say(f"restored {found[0]}")
    return OK


def publish(options: argparse.Namespace) -> int:
    """Publishes runs, withdraws them, or lists what is published. No address of the page does so."""
    store = kept(options.db)
    runs = [store.run(run) for run in dict.fromkeys(options.run)]
    if options.static:
        return _write_static(store, runs, options)
    if options.withdraw:
        if not runs:
            raise Mistake("No run is named.", "Name the runs to withdraw; `publish` alone lists what is published.")
        for run in runs:
            if not store.publications.withdraw(run.run):
                raise Mistake(f"Run {run.run} is not published.", "`publish` alone lists what is published.")
            say(f"withdrew {run.run}")
        return OK
    if options.name and len(runs) != 1:
        raise Mistake("A name is for one run.", "Publish the runs one by one.")
    for run in runs:
        _publish(store, run, options.name)
    if runs and not options.output:
        return OK
    return emit((asdict(one) for one in store.publications.published()), options.output)


def _write_static(store: Store, runs: list[Run], options: argparse.Namespace) -> int:
    """Writes a run as a static Space; nothing on this server changes."""
    from medfact.views.report import write_static_space

    if len(runs) != 1 or options.withdraw:
        raise Mistake("A static Space is of one run.", "Name one run, and leave out --withdraw.")
    folder = Path(options.static)
    write_static_space(store, runs[0], folder, options.name, datetime.now(UTC).isoformat(timespec="seconds"))
    say(f"static Space written to {folder}; index.html opens offline, too")
    _say_own_facts(runs[0])
    return OK


def _say_own_facts(run: Run) -> None:
    if run.spec.facts:
        say(f"note: its facts come from a file of their own ({run.dataset}); check that they may be shown")


def _publish(store: Store, run: Run, name: str | None) -> None:
    if run.spec.writes:
        raise Mistake(f"Run {run.run} wrote sentences, and has no scores.", "Publish a run that asked them.")
    called = " ".join((name or own_name(run)).split())[:LONGEST_NAME] or model_name(run.model)
    store.publications.publish(run.run, called)
    say(f"published {run.run} as “{called}”: everybody who opens the page Runs can read its facts and its answers")
    if run.state != COMPLETE:
        say(f"note: it is not complete ({run.state}), so it has no place among the others")
    _say_own_facts(run)


def export(options: argparse.Namespace) -> int:
    """Writes a run to a file, which appears only when it is whole."""
    store = kept(options.db)
    run_id = store.run(options.run).run
    path = Path(options.output or f"medfact-run-{run_id[:8]}.jsonl.gz")
    part = Path(f"{path}.part")
    with being_written(path):
        try:
            with part.open("wb") as file:
                export_run(store, run_id, file)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    say(f"run {run_id} written to {path}")
    return OK


def import_(options: argparse.Namespace) -> int:
    """Reads a run from a file and prints its row."""
    path = Path(options.file)
    try:
        with path.open("rb") as file:
            store = Store(options.db)
            run_id = import_run(store, file, path.name)
    except OSError as error:
        raise Mistake(f"{path} cannot be read: {error.strerror}.", "Check the path.") from None
    return emit([run_row(store.run(run_id), store)], None)
