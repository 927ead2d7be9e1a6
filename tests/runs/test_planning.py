"""The lock under which runs are counted and begun: held for that, and for nothing that is slow."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from medfact.errors import Mistake
from medfact.results.compare import Comparisons
from medfact.results.live import Reports
from medfact.runs.jobs import Jobs
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Store
from medfact.web.beginnings import _LOCKS, Beginnings
from medfact.web.evaluate import begin as evaluate_begin
from medfact.web.evaluate.form import EvaluateShow, ModelRow, Setup
from medfact.web.pages import Action, Visitor, tour, write
from medfact.web.services import Services

OWNER = "a" * 32
OTHERS = [f"{number:032x}" for number in range(10)]


def shares_no_lock(other: str) -> bool:
    return hash(other) % _LOCKS != hash(OWNER) % _LOCKS


@pytest.fixture
def visitor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Visitor]:
    store = Store(f"sqlite:///{tmp_path / 'medfact.db'}")
    jobs = Jobs(store)
    monkeypatch.setattr(jobs, "submit", lambda *_: None)
    reports = Reports(store, jobs)
    first = start(RunSpec(model="baseline:random", limit=4, shots=0), store.of("demonstration"))
    yield Visitor(Services(store, jobs, reports, Comparisons(store, reports)), OWNER, (OWNER,), first)
    jobs.close()


def is_held(services: Services, owner: str = OWNER) -> bool:
    """Whether this visitor would have to wait with another press."""
    free = threading.Event()

    def try_it() -> None:
        with services.beginnings.alone(owner):
            free.set()

    threading.Thread(target=try_it, daemon=True).start()
    return not free.wait(0.2)


def tour_begins(visitor: Visitor) -> None:
    tour.compare(visitor, EvaluateShow(), Action("tour-compare"))


def write_begins(visitor: Visitor) -> None:
    show = write.WriteShow(data=RunSpec.dataset, setup=Setup(rows=[ModelRow(model="gpt")]), pairs=4)
    write.start(visitor, show, Action("start"))


@pytest.mark.parametrize(
    ("begin", "slow"),
    [
        (tour_begins, [("planned_runs", evaluate_begin)]),
        (write_begins, [("_planned", write), ("check_new_run", evaluate_begin), ("check_room", write)]),
    ],
)
def test_a_visitors_runs_are_counted_and_begun_one_after_the_other_and_nobody_else_waits(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch, begin: Callable[[Visitor], None], slow: list[tuple[str, ModuleType]]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.setattr(write, "tried_rows", lambda *_: "")  # nobody is asked
    held: dict[str, set[bool]] = {}

    def watched(name: str, room: ModuleType) -> None:
        real = getattr(room, name)

        def seen(*given: Any, **named: Any) -> Any:
            held.setdefault(name, set()).add(is_held(visitor.services))
            assert not is_held(visitor.services, next(other for other in OTHERS if shares_no_lock(other)))
            return real(*given, **named)

        monkeypatch.setattr(room, name, seen)

    for name, room in (*slow, ("check_room", evaluate_begin), ("room_for", evaluate_begin), ("start_planned", evaluate_begin)):
        watched(name, room)
    begin(visitor)
    assert held == {
        **{name: {False} for name in ("check_room", *(name for name, _ in slow))},
        "room_for": {True},
        "start_planned": {True},
    }
    assert not is_held(visitor.services)


def test_no_more_runs_are_begun_at_once_than_there_is_room_for() -> None:
    """Twenty presses at the same moment, room for three."""
    beginnings, together, passed = Beginnings(), threading.Barrier(20), []

    def check() -> None:
        if beginnings.going() >= 3:
            raise Mistake("full")

    def press(owner: str) -> None:
        together.wait(60)
        with suppress(Mistake), beginnings.counted(owner, 1, check):
            passed.append(owner)
            over.wait(60)

    over = threading.Event()
    threads = [threading.Thread(target=press, args=(f"owner {number}",)) for number in range(20)]
    for thread in threads:
        thread.start()
    while sum(thread.is_alive() for thread in threads) > 3:
        threading.Event().wait(0.01)
    assert len(passed) == beginnings.going() == 3
    assert [beginnings.going(owner) for owner in passed] == [1, 1, 1]
    over.set()
    for thread in threads:
        thread.join()
    assert beginnings.going() == 0
