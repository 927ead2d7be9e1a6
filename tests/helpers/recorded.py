"""Runs that tests record and ask to their end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from medfact.runs.events import Event, Finished
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Store


def complete_run(spec: RunSpec, store: Store, **asking: Any) -> str:
    """Records a run, asks all of its statements and returns its id. asking: keywords of `answer`, such as `load`."""
    run = start(spec, store)
    for _ in answer(run, store, **asking):
        pass
    return run


def finished_event(events: Iterable[Event]) -> Finished:
    """Exhausts the events of a run and returns the last, which must be `Finished`."""
    *_, last = events
    assert isinstance(last, Finished), last
    return last
