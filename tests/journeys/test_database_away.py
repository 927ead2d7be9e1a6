"""A database that is away for a moment: nothing that was answered is lost or asked twice, and what was going on goes on."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import postgres
import pytest
from browser import serve_app
from mock_service import Behaviour, MockService
from processes import CommandProcess
from survivors import IN_FLIGHT, STATEMENTS, assert_run_complete, has_answers, lock_database, start_service_run
from visitors import Visitor
from waiting import wait_until

from medfact.errors import StoreError
from medfact.runs.jobs import Jobs
from medfact.runs.patience import PatientStore, never
from medfact.runs.run import answer
from medfact.runs.run import run as ask
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import COMPLETE, PAUSED, RUNNING, WAITING, Store
from medfact.store.database import Part

LATENCY = 0.1
WITHIN_SECONDS = 0.5 + 0.2
"""How long answers wait for others before they are saved, and how long a save takes that is held up."""

TOLERANCE = IN_FLIGHT * (WITHIN_SECONDS / LATENCY + 3)
"""Calls made in that time, and those in flight."""


@pytest.fixture
def service() -> Iterator[MockService]:
    with MockService(Behaviour(latency=LATENCY)) as made:
        yield made


@pytest.fixture
def own_server() -> Iterator[postgres.PostgresServer]:
    """A server that a test may stop: nobody else uses it."""
    with postgres.run_server() as server, postgres.close_connections():
        yield server


def calls_stand_still(service: MockService) -> int:
    """Waits until no call is in flight and none follows for a second; how many there were."""
    seen, since = -1, time.monotonic()
    end = since + 30
    while time.monotonic() - since < 1.0 or service.in_flight:
        assert time.monotonic() < end, "calls went on"
        if len(service.calls) != seen:
            seen, since = len(service.calls), time.monotonic()
        time.sleep(0.02)
    return seen


@pytest.mark.parametrize("seconds", [4.0])
def test_a_lock_that_outlasts_one_write_costs_no_call(
    seconds: float, facts_file: Path, tmp_path: Path, url: str, service: MockService
) -> None:
    """With the usual wait of 20 seconds this is a lock of 53 seconds; here a write waits for one and a half."""
    store = Store(f"{url}?timeout=1.5")
    run = start_service_run(store, facts_file, service)
    command = CommandProcess(tmp_path, "resume", run, "--db", store.url)
    wait_until(lambda: has_answers(store, run))
    with lock_database(store):
        begun, before = time.monotonic(), len(service.calls)
        asked = calls_stand_still(service)
        assert asked - before <= TOLERANCE
        kept = len(store.answers.news(run).position)
        while time.monotonic() - begun < seconds:
            time.sleep(0.05)
        assert len(service.calls) == asked < STATEMENTS, "nothing is asked while nothing can be saved"
        assert len(store.answers.news(run).position) == kept
    assert command.wait().code == 0, command.err
    assert_run_complete(store, run)
    assert set(service.call_counts().values()) == {1}, "nothing is asked twice"


def test_a_lock_without_end_ends_the_run_after_a_while(
    facts_file: Path, tmp_path: Path, url: str, service: MockService
) -> None:
    store = Store(f"{url}?timeout=0.3")
    assert store.database.patience_seconds == pytest.approx(0.9)
    assert Store(url).database.patience_seconds == 60
    run = start_service_run(store, facts_file, service)
    command = CommandProcess(tmp_path, "resume", run, "--db", store.url)
    wait_until(lambda: has_answers(store, run))
    with lock_database(store):
        assert command.wait().code == 2
        assert command.err.count("medfact:") == 1
        assert "Another program holds it" in command.err


def test_a_server_that_restarts_pauses_no_run(
    facts_file: Path, own_server: postgres.PostgresServer, service: MockService
) -> None:
    url = own_server.create_schema()
    store = Store(url)
    run = start_service_run(store, facts_file, service)
    states: list[str] = []
    asking = threading.Thread(target=lambda: states.extend(type(event).__name__ for event in answer(run, store)), daemon=True)
    asking.start()
    for _ in range(3):
        wait_until(lambda: has_answers(store, run))
        own_server.stop()
        time.sleep(0.3)
        own_server.start_again()
        before = len(store.answers.news(run).position)
        wait_until(lambda before=before: len(store.answers.news(run).position) > before or not asking.is_alive())
    asking.join(60)
    assert states[-1] == "Finished"
    assert "Failed" not in states
    assert store.run(run).state == COMPLETE
    assert len(store.answers.news(run).position) == STATEMENTS
    assert max(service.call_counts().values()) == 1
    assert PAUSED not in [event.what for event in store.events(run)]


def test_jobs_say_the_same_here_and_there_and_go_on(
    facts_file: Path, own_server: postgres.PostgresServer, service: MockService
) -> None:
    """One run is asked and others wait behind it when the server goes; it stays away for longer than anybody has patience."""
    store = Store(own_server.create_schema())
    store.database.patience_seconds = 1.0
    jobs = Jobs(store)
    try:
        runs = [start(RunSpec(model="baseline:random", facts=str(facts_file), shots=0, seed=seed), store) for seed in range(8)]
        first = start_service_run(store, facts_file, service)
        jobs.submit(first)
        wait_until(lambda: has_answers(store, first))
        own_server.stop()
        time.sleep(0.3)
        own_server.start_again()
        for run in runs:
            jobs.submit(run)
        for run in (first, *runs):
            wait_until(lambda run=run: jobs.snapshot(run).state not in {WAITING, RUNNING})
            assert jobs.snapshot(run).state == store.run(run).state == COMPLETE
    finally:
        jobs.close()


def test_a_queued_run_whose_database_is_away_is_paused_here_and_there(
    facts_file: Path, own_server: postgres.PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("medfact.store.engine.PATIENCE_SECONDS", 0.5)
    monkeypatch.setattr("medfact.runs.supervision._RETRY_SECONDS", 0.1)
    store = Store(own_server.create_schema())
    run = start(RunSpec(model="baseline:random", facts=str(facts_file), shots=0), store)
    jobs = Jobs(store, away_at_first)
    try:
        jobs.submit(run)
        wait_until(lambda: jobs.snapshot(run).state == PAUSED)
        wait_until(lambda: store.run(run).state == PAUSED)
        assert store.run(run).reason == jobs.snapshot(run).reason
        assert [event.what for event in store.events(run)] == [WAITING, PAUSED]
    finally:
        jobs.close()


def away_at_first(run: str, store: Store, **_: object) -> Iterator[object]:
    """Stands for a run whose database cannot be reached from its beginning."""
    raise StoreError("The database is away.", "Start it.", "it is away")
    yield


def test_the_demonstration_comes_back_by_itself(own_server: postgres.PostgresServer, tmp_path: Path) -> None:
    url = own_server.create_schema()
    with serve_app(tmp_path, MEDFACT_DATABASE_URL=url) as address, Visitor(address) as visitor:
        store = Store(url)
        (run,) = store.runs("demonstration")
        wait_until(lambda: store.run(run.run).state == COMPLETE)
        with store.database.writing() as connection:
            connection.exec_driver_sql("DELETE FROM answers")
        store.set_state(run.run, PAUSED, "The database was away.")
        own_server.stop()
        with contextlib.suppress(Exception):
            visitor.http.get("/")
        own_server.start_again()
        wait_until(lambda: store.run(run.run).state == COMPLETE)
        assert len(store.answers.news(run.run).position) == run.statements


# ------------------------------------------------------------------------- what is tried again, and what is not


class Trouble(Part):
    """Stands for the answers of a store whose database is away for some tries."""

    def __init__(self, times: int, error: StoreError) -> None:
        self.times, self.error, self.tries = times, error, 0
        self.store = SimpleNamespace(database=SimpleNamespace(patience_seconds=5.0), answers=self)

    def save(self, what: str) -> str:
        self.tries += 1
        if self.tries <= self.times:
            raise self.error
        return what


def test_what_may_pass_is_tried_again_and_nothing_else() -> None:
    passing, lasting = StoreError("locked", is_transient=True), StoreError("its disk is full")
    trouble = Trouble(3, passing)
    assert PatientStore(trouble.store, never).answers.save("an answer") == "an answer"  # type: ignore[arg-type]
    assert trouble.tries == 4
    trouble = Trouble(1, lasting)
    with pytest.raises(StoreError, match="full"):
        PatientStore(trouble.store, never).answers.save("an answer")  # type: ignore[arg-type]
    assert trouble.tries == 1
    trouble = Trouble(9, passing)
    with pytest.raises(StoreError, match="locked"):
        PatientStore(trouble.store, lambda: trouble.tries > 2).answers.save("an answer")  # type: ignore[arg-type]
    assert trouble.tries == 3, "who is stopped does not wait"


def test_which_errors_may_pass(store: Store, own_server: postgres.PostgresServer, url: str) -> None:
    with lock_database(store), pytest.raises(StoreError) as caught:
        Store(f"{url}?timeout=0.1").decisions.reject("f", "t")
    assert caught.value.is_transient
    on_server = Store(own_server.create_schema())
    own_server.stop()
    with pytest.raises(StoreError) as caught:
        on_server.runs()
    assert caught.value.is_transient
    own_server.start_again()
    assert on_server.runs() == []
    for wrong in (own_server.url("locked"), own_server.url(database="nowhere")):
        with pytest.raises(StoreError) as caught:
            Store(wrong)
        assert not caught.value.is_transient, wrong
    damaged = Path(url.removeprefix("sqlite:///")).with_name("damaged.db")
    damaged.write_bytes(b"no database" * 100)
    with pytest.raises(StoreError) as caught:
        Store(f"sqlite:///{damaged}")
    assert not caught.value.is_transient


def test_a_run_of_a_model_here_is_not_paused_by_a_short_lock(store: Store, url: str) -> None:
    short = Store(f"{url}?timeout=0.4")
    events = ask(RunSpec(model="baseline:random", limit=200, shots=0), short)
    seen = [next(events)]
    held = threading.Event()

    def hold() -> None:
        with lock_database(short):
            held.set()
            time.sleep(0.8)

    threading.Thread(target=hold, daemon=True).start()
    assert held.wait(10)
    seen += list(events)
    assert type(seen[-1]).__name__ == "Finished"
