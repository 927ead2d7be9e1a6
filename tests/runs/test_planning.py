"""The lock under which runs are counted and begun: held for that, and for nothing that is slow."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from medfact.results.compare import Comparisons
from medfact.results.live import Reports
from medfact.runs.jobs import Jobs
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Store
from medfact.web.evaluate import begin as evaluate_begin
from medfact.web.evaluate.form import EvaluateShow
from medfact.web.pages import Action, Visitor, tour, write
from medfact.web.services import Services

OWNER = "a" * 32


@pytest.fixture
def visitor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Visitor]:
    store = Store(f"sqlite:///{tmp_path / 'medfact.db'}")
    jobs = Jobs(store)
    monkeypatch.setattr(jobs, "submit", lambda *_: None)
    reports = Reports(store, jobs)
    first = start(RunSpec(model="baseline:random", limit=4, shots=0), store.of("demonstration"))
    yield Visitor(Services(store, jobs, reports, Comparisons(store, reports)), OWNER, (OWNER,), first)
    jobs.close()


def is_held(services: Services) -> bool:
    """Whether another visitor would have to wait."""
    free: list[bool] = []

    def try_it() -> None:
        if services.planning.acquire(timeout=0.2):
            services.planning.release()
            free.append(True)

    thread = threading.Thread(target=try_it)
    thread.start()
    thread.join()
    return not free


def tour_begins(visitor: Visitor) -> None:
    tour.compare(visitor, EvaluateShow(), Action("tour-compare"))


def write_begins(visitor: Visitor) -> None:
    show = write.WriteShow(data=RunSpec.dataset, where="service", service="gpt", pairs=4, agreed=True)
    write.start(visitor, show, Action("start"))


@pytest.mark.parametrize(
    ("begin", "slow"),
    [
        (tour_begins, [("planned_runs", evaluate_begin)]),
        (write_begins, [("_planned", write), ("check_new_run", evaluate_begin), ("check_room", write)]),
    ],
)
def test_the_lock_is_held_for_counting_and_beginning_alone(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch, begin: Callable[[Visitor], None], slow: list[tuple[str, ModuleType]]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    held: dict[str, set[bool]] = {}

    def watched(name: str, room: ModuleType) -> None:
        real = getattr(room, name)

        def seen(*given: Any, **named: Any) -> Any:
            held.setdefault(name, set()).add(is_held(visitor.services))
            return real(*given, **named)

        monkeypatch.setattr(room, name, seen)

    for name, room in (*slow, ("check_room", evaluate_begin), ("start_planned", evaluate_begin)):
        watched(name, room)
    begin(visitor)
    assert held == {**{name: {False} for name, _ in slow}, "check_room": {False, True}, "start_planned": {True}}
    assert not is_held(visitor.services)
