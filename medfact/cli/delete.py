"""The command that deletes runs, or brings them back."""

from __future__ import annotations

import argparse
from itertools import chain

from medfact.cli import OK
from medfact.cli.database import kept
from medfact.cli.rows import print_progress
from medfact.errors import Mistake
from medfact.store import GOING, KEPT_DELETED, Run, Store, UnreadRun
from medfact.store.workers import in_words
from medfact.writing.runs import attempts_of


def delete(options: argparse.Namespace) -> int:
    """Deletes runs: all of them, or none where one cannot be. What was deleted long ago is erased."""
    store = kept(options.db)
    if options.restore:
        return _restore(store, options.run)
    found = {run.run: run for run in map(store.recorded, options.run)}
    published = {one.run for one in store.publications.published()}
    parts = {run.run: _parts(run, store) for run in found.values()}
    for part in chain.from_iterable(parts.values()):
        _check(part, published)
    for run, of_run in parts.items():
        for part in of_run:
            store.delete(part.run)
        print_progress(f"deleted {run}; `delete --restore` brings it back for {KEPT_DELETED.days} days")
    store.purge()
    return OK


def _parts(run: Run | UnreadRun, store: Store) -> list[Run | UnreadRun]:
    """A run; of a writing, all its attempts."""
    if isinstance(run, UnreadRun) or not run.spec.writes or run.spec.writing is not None:
        return [run]
    return list(attempts_of(run.run, store).values())


def _check(run: Run | UnreadRun, published: set[str]) -> None:
    """Raises Mistake where a run is being asked, or shown to everybody."""
    if isinstance(run, Run) and run.state in GOING:
        raise Mistake(f"Run {run.run} is going on, in {in_words(run.worker)}.", "Stop it there first; then delete it.")
    if run.run in published:
        raise Mistake(f"Run {run.run} is shown in the gallery.", f"Withdraw it first: `publish --withdraw {run.run}`.")


def _restore(store: Store, runs: list[str]) -> int:
    for run in runs:
        found = store.put_away(run)
        if len(found) != 1:
            problem = f"Several deleted runs begin with {run!r}." if found else f"There is no deleted run {run!r}."
            raise Mistake(
                problem, "Give more of the id." if found else f"What was deleted over {KEPT_DELETED.days} days ago is gone."
            )
        store.restore(found[0])
        print_progress(f"restored {found[0]}")
    return OK
