"""The command that shows runs to everybody on the page Gallery. There is no address that does."""

from __future__ import annotations

import argparse

from medfact.cli import OK
from medfact.cli.database import kept
from medfact.cli.rows import emit, print_progress
from medfact.errors import Mistake
from medfact.results.wording import model_name, own_name
from medfact.store import COMPLETE, Run, Store

LONGEST_NAME = 120


def publish(options: argparse.Namespace) -> int:
    """Publishes runs, withdraws them, or lists what is published."""
    store = kept(options.db)
    runs = [store.run(run) for run in dict.fromkeys(options.run)]
    if options.withdraw:
        return _withdraw(store, runs)
    if options.name and len(runs) != 1:
        raise Mistake("A name is for one run.", "Publish the runs one by one.")
    for run in runs:
        _publish(store, run, options.name)
    if runs and not options.output:
        return OK
    return emit((one._asdict() for one in store.publications.published()), options.output)


def _publish(store: Store, run: Run, name: str | None) -> None:
    if run.spec.writes:
        raise Mistake(f"Run {run.run} wrote sentences, and has no scores.", "Publish a run that asked them.")
    called = " ".join((name or own_name(run)).split())[:LONGEST_NAME] or model_name(run.model)
    store.publications.publish(run.run, called)
    print_progress(f"published {run.run} as “{called}”: everybody who opens the gallery can read its facts and its answers")
    if run.state != COMPLETE:
        print_progress(f"note: it is not complete ({run.state}), so it has no place among the others")
    if run.spec.facts:
        print_progress(f"note: its facts come from a file of their own ({run.dataset}); check that they may be shown")


def _withdraw(store: Store, runs: list[Run]) -> int:
    if not runs:
        raise Mistake("No run is named.", "Name the runs to withdraw; `publish` alone lists what is published.")
    for run in runs:
        if not store.publications.withdraw(run.run):
            raise Mistake(f"Run {run.run} is not published.", "`publish` alone lists what is published.")
        print_progress(f"withdrew {run.run}")
    return OK
