"""Runs that tests execute to their end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from medfact.runs.events import Event, Finished
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Store


def complete_run(spec: RunSpec, store: Store, **options: Any) -> str:
    """Creates the run of a spec in the store, executes it to its end and returns its id.

    options: keywords of `medfact.runs.run.answer`, such as `load`.
    """
    run = start(spec, store)
    for _ in answer(run, store, **options):
        pass
    return run


def finished_event(events: Iterable[Event]) -> Finished:
    """Exhausts the events of a run, asserts that the last is `Finished`, and returns it."""
    *_, last = events
    assert isinstance(last, Finished), last
    return last
