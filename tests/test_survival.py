"""What a run survives: its process killed at any moment, a full disk, a locked or lost database, two who resume it at once."""

from __future__ import annotations

import contextlib
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from mock_service import Behaviour, MockService
from processes import Command, forked_quickly, until
from small_models import small_llama

from medfact.report import report_of
from medfact.runner import BATCH
from medfact.store import COMPLETE, INTERRUPTED, Answer, Store

KILLS = 20
IN_FLIGHT = 8
STATEMENTS = 432
"""Of 27 positive and 27 negative facts."""


@pytest.fixture(scope="module", autouse=True)
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Processes that need not import everything first; the first of them waits until that is done."""
    with forked_quickly():
        assert Command(tmp_path_factory.mktemp("first"), "--version").ended(300).code == 0
        yield


def figures(store: Store, run: str) -> dict[str, Any]:
    """The report of a run but for what differs between two runs of one kind: their ids, and how long calls took."""
    made = report_of(store, run)
    del made["run"]
    if made["service"]:
        del made["service"]["seconds"]
    return made


def answered(store: Store, run: str) -> dict[str, Answer]:
    """Statement → its answer, of those that are answered."""
    return {item.statement.statement_id: item.answer for item in store.asked(run) if item.answer is not None}


def sound(url: str) -> bool:
    """Whether the database's file is whole."""
    with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///").partition("?")[0])) as connection:
        return connection.execute("pragma integrity_check").fetchone() == ("ok",)


def whole(store: Store, run: str) -> None:
    """The run is complete, with one answer for each statement and none beside."""
    assert store.run(run).state == COMPLETE
    assert len(store.news(run).position) == STATEMENTS
    assert len(answered(store, run)) == STATEMENTS
    assert sound(store.url)


# ------------------------------------------------------------------------- killed at any moment


@dataclass
class Victim:
    """Runs of one kind, asked by processes that are killed. Each begins a run, or goes on with the one that was broken off."""

    place: Path
    store: Store
    arguments: tuple[object, ...]
    after: Callable[[], None] = lambda: None

    def broken_off(self) -> str | None:
        return next((run.run for run in self.store.runs() if run.state != COMPLETE), None)

    def begin(self) -> Command:
        run = self.broken_off()
        what = ("run", *self.arguments) if run is None else ("resume", run)
        return Command(self.place, *what, "--db", self.store.url)

    def finish(self) -> None:
        command = self.begin().ended()
        assert command.code == 0, command.err

    def killed(self, seconds: float, seed: int, times: int = KILLS) -> int:
        """Kills so many processes, each at a random moment of its life; what had been answered is kept each time."""
        moments, kills = random.Random(seed), 0
        while kills < times:
            run = self.broken_off()
            before = answered(self.store, run) if run else {}
            command = self.begin()
            time.sleep(moments.uniform(0, seconds))
            kills += command.kill()
            if run:
                assert self.store.run(run).state in {INTERRUPTED, COMPLETE}
                assert before.items() <= answered(self.store, run).items()
            self.after()
        while self.broken_off():
            self.finish()
        return kills


def seconds_of(work: Callable[[], object]) -> float:
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def test_a_run_at_a_service_that_is_killed_20_times_ends_as_if_nothing_had_been(
    facts_file: Path, tmp_path: Path, store: Store
) -> None:
    with MockService(Behaviour(latency=0.02)) as service:
        calls = Calls(service, store)
        at = ("--model", "openai:gpt-4o", "--base-url", service.base_url, "--in-flight", IN_FLIGHT)
        victim = Victim(tmp_path, store, ("--facts", facts_file, "--shots", 0, *at), calls.check)
        seconds = seconds_of(victim.finish)
        calls.check()
        victim.killed(0.3 * seconds, seed=1)
    undisturbed, *others = [run.run for run in store.runs()]
    assert others
    for run in (undisturbed, *others):
        whole(store, run)
        assert figures(store, run) == figures(store, undisturbed)


@dataclass
class Calls:
    """What a service was asked since the last look, held against what is on disk."""

    service: MockService
    store: Store
    seen: int = 0
    kept: dict[str, set[str]] = field(default_factory=dict)

    def check(self) -> None:
        """What was on disk at the last look was not asked again; what was asked since is on disk, but for what was on its way:
        calls in flight, a batch that was not yet written, and what came while the one before it was.
        """
        until(lambda: self.service.in_flight == 0)
        asked = [call.prompt for call in self.service.calls[self.seen :]]
        self.seen += len(asked)
        run = self.store.runs()[-1].run if self.store.runs() else ""
        before = self.kept.get(run, set())
        self.kept[run] = (
            {item.statement.text.removesuffix(".") for item in self.store.asked(run) if item.answer is not None}
            if run
            else set()
        )
        said = {prompt.partition(", is the statement above")[0] for prompt in asked}
        assert said & before == set(), "what is on disk is not asked again"
        assert len(said - self.kept[run]) <= IN_FLIGHT + 2 * BATCH
        assert len(said) == len(asked)


@pytest.mark.model
def test_a_local_run_that_is_killed_20_times_ends_as_if_nothing_had_been(
    facts_file: Path, tmp_path: Path, store: Store
) -> None:
    model = small_llama(tmp_path / "model", lean=4.0)
    victim = Victim(tmp_path, store, ("--facts", facts_file, "--shots", 0, "--model", f"hf:{model}"))
    victim.killed(0.4 * seconds_of(victim.finish), seed=2)
    undisturbed, *others = [run.run for run in store.runs()]
    assert others
    for run in (undisturbed, *others):
        whole(store, run)
        assert alike(figures(store, run), figures(store, undisturbed))


def alike(one: Any, other: Any) -> bool:
    """Whether two records say the same, numbers but for what rounding does where a model computes in another order."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return bool(one == (pytest.approx(other, abs=1e-5) if isinstance(other, float) else other))
