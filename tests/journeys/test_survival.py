"""What a run survives: its process killed at any moment, a full disk, a locked or lost database, two who resume it at once."""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil
import pytest
import sqlalchemy
from app_builders import jobs as jobs
from app_builders import quick_processes as quick_processes
from app_builders import quick_workers as quick_workers
from mock_service import Behaviour, MockService
from processes import CONTEXT, CommandProcess, run_jobs_until_killed
from pushed import PUSHES_BY_TEXT
from recorded import complete_run, finished_event
from records import report_record
from small_disk import fill_disk, mount_small_disk
from small_facts import make_fact_rows, write_csv
from small_models import write_small_llama
from survivors import (
    IN_FLIGHT,
    STATEMENTS,
    assert_run_complete,
    has_answers,
    is_database_intact,
    lock_database,
    start_service_run,
    stored_answers,
)
from survivors import service as service
from waiting import wait_until

from medfact.errors import StoreError
from medfact.models import Placement
from medfact.results.live import Reports
from medfact.runs.ask import BATCH
from medfact.runs.events import Failed, Started
from medfact.runs.jobs import Jobs
from medfact.runs.run import answer
from medfact.runs.start import start, start_again
from medfact.spec import RunSpec
from medfact.store import COMPLETE, FAILED_RUN, GOING, INTERRUPTED, PAUSED, RUNNING, STOPPED, Store, workers
from medfact.store.workers import is_alive, myself

pytestmark = pytest.mark.usefixtures("quick_workers")

ROOT = Path(__file__).parents[2]
KILLS = 20


def figures(store: Store, run: str) -> dict[str, Any]:
    """The report of a run but for what differs between two runs of one kind: their ids, and how long calls took."""
    made = report_record(store, run)
    del made["run"]
    if made["service"]:
        del made["service"]["seconds"]
    return made


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

    def begin(self) -> CommandProcess:
        run = self.broken_off()
        what = ("run", *self.arguments) if run is None else ("resume", run)
        return CommandProcess(self.place, *what, "--db", self.store.url)

    def finish(self) -> None:
        command = self.begin().wait()
        assert command.code == 0, command.err

    def killed(self, seconds: float, seed: int, times: int = KILLS) -> int:
        """Kills so many processes, each at a random moment of its life; what had been answered is kept each time.

        One that was killed before it had recorded its run lets the next live longer: the machine may be slower than it was.
        """
        moments, kills = random.Random(seed), 0
        while kills < times:
            run, runs = self.broken_off(), len(self.store.runs())
            before = stored_answers(self.store, run) if run else {}
            command = self.begin()
            time.sleep(moments.uniform(0, seconds))
            kills += command.kill()
            if run is None and len(self.store.runs()) == runs:
                seconds *= 1.25
            if run:
                assert self.store.run(run).state in {INTERRUPTED, COMPLETE}
                assert before.items() <= stored_answers(self.store, run).items()
            self.after()
        while self.broken_off():
            self.finish()
        return kills


def seconds_of(work: Callable[[], object]) -> float:
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def test_a_run_at_a_service_that_is_killed_again_and_again_ends_as_if_nothing_had_been(
    facts_file: Path, tmp_path: Path, store: Store
) -> None:
    with MockService(Behaviour(latency=0.02)) as service:
        calls = Calls(service, store)
        at = ("--model", "openai:gpt-4o", "--base-url", service.base_url, "--in-flight", IN_FLIGHT)
        victim = Victim(tmp_path, store, ("--facts", facts_file, "--shots", 0, *at), calls.check)
        seconds = seconds_of(victim.finish)
        calls.check()
        victim.killed(0.5 * seconds, seed=1)
    undisturbed, *others = [run.run for run in store.runs()]
    assert others
    for run in (undisturbed, *others):
        assert_run_complete(store, run)
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
        wait_until(lambda: self.service.in_flight == 0)
        asked = [call.prompt for call in self.service.calls[self.seen :]]
        self.seen += len(asked)
        run = self.store.runs()[-1].run if self.store.runs() else ""
        before = self.kept.get(run, set())
        self.kept[run] = (
            {item.statement.text.removesuffix(".") for item in self.store.answers.asked(run) if item.answer is not None}
            if run
            else set()
        )
        said = {prompt.partition(", is the statement above")[0] for prompt in asked}
        assert said & before == set(), "what is on disk is not asked again"
        assert len(said - self.kept[run]) <= IN_FLIGHT + 2 * BATCH
        assert len(said) == len(asked)


def test_a_run_under_pressure_that_is_killed_asks_no_push_twice(facts_file: Path, tmp_path: Path, store: Store) -> None:
    """Nor a statement whose answer is on disk. The pushes of both rounds are all there in the end."""
    pushed_at_once = IN_FLIGHT + 2 * BATCH

    def on_disk(run: str) -> set[tuple[str, str]]:
        asked = store.answers.asked(run) if run else []
        first = {(item.statement.text.removesuffix("."), "") for item in asked if item.answer is not None}
        texts = {(one.kind, one.round): text for text, one in PUSHES_BY_TEXT.items()}
        return first | {
            (item.statement.text.removesuffix("."), texts[one.kind, one.round]) for item in asked for one in item.pushed
        }

    with MockService(Behaviour(latency=0.02)) as service:
        at = ("--model", "openai:gpt-4o", "--base-url", service.base_url, "--in-flight", IN_FLIGHT, "--pressure", "doubt")
        kept: dict[str, set[tuple[str, str]]] = {}
        seen = 0

        def check() -> None:
            nonlocal seen
            wait_until(lambda: service.in_flight == 0)
            calls = [call.body["messages"] for call in service.calls[seen:]]
            seen += len(calls)
            said = [
                (turns[0]["content"].partition(", is the statement above")[0], turns[-1]["content"] if len(turns) > 1 else "")
                for turns in calls
            ]
            run = store.runs()[-1].run if store.runs() else ""
            assert set(said) & kept.get(run, set()) == set(), "what is on disk is not asked again"
            assert len(said) == len(set(said))
            kept[run] = on_disk(run)
            assert len(set(said) - kept[run]) <= pushed_at_once

        victim = Victim(tmp_path, store, ("--facts", facts_file, "--shots", 0, *at), check)
        assert victim.killed(2.0, seed=3, times=8) == 8
        check()
    (run,) = [one.run for one in store.runs()][-1:]
    assert_run_complete(store, run)
    assert all(len(item.pushed) == 4 for item in store.answers.asked(run)), "the control and a push, in two rounds"


@pytest.mark.model
def test_a_local_run_that_is_killed_again_and_again_ends_as_if_nothing_had_been(
    facts_file: Path, tmp_path: Path, store: Store
) -> None:
    model = write_small_llama(tmp_path / "model", answer_weight=20.0)
    victim = Victim(tmp_path, store, ("--facts", facts_file, "--shots", 0, "--model", f"hf:{model}"))
    victim.killed(0.5 * seconds_of(victim.finish), seed=2, times=8)
    undisturbed, *others = [run.run for run in store.runs()]
    assert others
    for run in (undisturbed, *others):
        assert_run_complete(store, run)
        assert alike(figures(store, run), figures(store, undisturbed))


def alike(one: Any, other: Any) -> bool:
    """Whether two records say the same, numbers but for what rounding does where a model computes in another order: with a
    weight of 20, P(True) near ½ differed by 2e-5 where batches were cut otherwise.
    """
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return bool(one == (pytest.approx(other, abs=1e-4) if isinstance(other, float) else other))


# ------------------------------------------------------------------------- the page's process, and those beside it


def goes_on(place: Path, store: Store, run: str, statements: int = STATEMENTS) -> None:
    """`resume` ends a run that was broken off; what had been answered is as it was."""
    before = stored_answers(store, run)
    command = CommandProcess(place, "resume", run, "--db", store.url).wait()
    assert command.code == 0, command.err
    assert_run_complete(store, run, statements)
    assert before.items() <= stored_answers(store, run).items()


def test_when_the_pages_process_is_killed_those_beside_it_end_too(
    facts_file: Path, tmp_path: Path, store: Store, service: MockService
) -> None:
    run = start_service_run(store, facts_file, service)
    page = CONTEXT.Process(target=run_jobs_until_killed, args=(store.url, run))
    page.start()
    wait_until(lambda: has_answers(store, run))
    assert store.run(run).state == RUNNING
    beside = psutil.Process(page.pid).children(recursive=True)
    assert beside
    page.kill()
    page.join()
    assert psutil.wait_procs(beside, timeout=20)[1] == []
    kept = len(store.answers.news(run).position)
    assert 0 < kept < STATEMENTS
    assert store.run(run).state == INTERRUPTED
    wait_until(lambda: service.in_flight == 0)
    calls = len(service.calls)
    assert calls <= kept + IN_FLIGHT + 2 * BATCH
    goes_on(tmp_path, store, run)
    assert len(service.calls) == calls + STATEMENTS - kept


@pytest.mark.model
def test_when_the_app_is_killed_its_run_is_interrupted_and_goes_on(home: Path, tmp_path: Path) -> None:
    """Started as its user starts it. The run is the one that a first visitor finds: the bundled model on the bundled facts."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/"
    environment = {**os.environ, "GRADIO_SERVER_PORT": address.rpartition(":")[2].strip("/"), "HF_HUB_OFFLINE": "1"}
    log = tmp_path / "log.txt"
    with log.open("w") as said:
        page = subprocess.Popen([sys.executable, "app.py"], cwd=ROOT, env=environment, stdout=said, stderr=said)
    try:
        wait_until(lambda: "medfact is ready" in log.read_text())
        store = Store()
        (run,) = [record.run for record in store.runs()]
        wait_until(lambda: has_answers(store, run))
        with lock_database(store):
            wait_until(lambda: _served(address))
        beside = psutil.Process(page.pid).children(recursive=True)
        assert beside
    finally:
        page.kill()
        page.wait()
    assert psutil.wait_procs(beside, timeout=20)[1] == []
    assert store.run(run).state == INTERRUPTED
    goes_on(tmp_path, store, run, 960)
    assert "Traceback" not in log.read_text()


def _served(address: str) -> bool:
    """Whether the page is there."""
    with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=10) as page:
        return page.status == 200
    return False


def state_of(jobs: Jobs, run: str) -> str:
    snapshot = jobs.snapshot(run)
    assert snapshot is not None
    return snapshot.state


@pytest.mark.parametrize(("number", "said"), [(signal.SIGKILL, "was killed"), (signal.SIGSEGV, "crashed (SIGSEGV)")])
def test_when_a_process_beside_the_page_dies_its_runs_fail_with_the_reason(
    number: signal.Signals, said: str, facts_file: Path, store: Store, jobs: Jobs, service: MockService
) -> None:
    run = start_service_run(store, facts_file, service)
    jobs.submit(run)
    wait_until(lambda: has_answers(store, run))
    os.kill(jobs._beside.pid, number)
    wait_until(lambda: state_of(jobs, run) == FAILED_RUN)
    record, kept = store.run(run), stored_answers(store, run)
    assert record.state == FAILED_RUN
    assert said in record.reason
    assert "\n" not in record.reason
    assert 0 < len(kept) < STATEMENTS
    jobs.submit(run)
    wait_until(lambda: state_of(jobs, run) not in GOING)
    assert_run_complete(store, run)
    assert kept.items() <= stored_answers(store, run).items()


# ------------------------------------------------------------------------- no room


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mount_small_disk(tmp_path / "disk", 2) as disk:
        yield disk


def test_a_full_disk_ends_a_command_with_one_line_and_loses_nothing(
    facts_file: Path, tmp_path: Path, small_disk: Path, service: MockService
) -> None:
    store = Store(f"sqlite:///{small_disk / 'runs.db'}")
    run = start_service_run(store, facts_file, service)
    command = CommandProcess(tmp_path, "resume", run, "--db", store.url)
    wait_until(lambda: has_answers(store, run))
    held = fill_disk(small_disk)
    assert command.wait().code == 2
    *_, line = command.err.splitlines()
    assert "is full" in line
    assert "Free space on its disk, then resume the run" in line
    assert command.err.count("medfact:") == 1
    assert "Traceback" not in command.err
    assert store.run(run).state in {PAUSED, INTERRUPTED}
    assert 0 < len(stored_answers(store, run)) < STATEMENTS
    assert is_database_intact(store.url)
    again = CommandProcess(tmp_path, "resume", run, "--db", store.url).wait()
    assert (again.code, again.err.count("medfact:")) == (2, 1), again.err
    another = CommandProcess(tmp_path, "run", "--model", "baseline:random", "--db", store.url).wait()
    assert (another.code, another.err.count("medfact:")) == (2, 1), another.err
    held.unlink()
    goes_on(tmp_path, store, run)
    assert [record.run for record in store.runs()] == [run], "a run that could not be recorded has left nothing"


def test_a_full_disk_pauses_a_job_until_there_is_room(facts_file: Path, small_disk: Path, service: MockService) -> None:
    store = Store(f"sqlite:///{small_disk / 'runs.db'}")
    jobs = Jobs(store)
    try:
        run = start_service_run(store, facts_file, service)
        jobs.submit(run)
        wait_until(lambda: has_answers(store, run))
        held = fill_disk(small_disk)
        wait_until(lambda: state_of(jobs, run) == PAUSED)
        assert "Free space" in jobs.snapshot(run).reason
        live = Reports(store, jobs).live(run)
        assert (live.state, live.going) == (PAUSED, False)
        kept = stored_answers(store, run)
        assert 0 < len(kept) < STATEMENTS
        held.unlink()
        wait_until(lambda: store.run(run).state == PAUSED)
        jobs.submit(run)
        wait_until(lambda: state_of(jobs, run) not in GOING)
        assert_run_complete(store, run)
        assert kept.items() <= stored_answers(store, run).items()
    finally:
        jobs.close()


def test_a_database_that_may_not_grow_pauses_its_run(facts_file: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same everywhere: SQLite's own limit stands for the end of the disk."""
    monkeypatch.setattr("medfact.runs.ask.BATCH", 32)
    run = start(RunSpec(model="baseline:random", facts=str(facts_file), shots=0), store)
    pages = 0

    @sqlalchemy.event.listens_for(store.database.engine, "connect")
    def limited(connection: Any, _: object) -> None:
        connection.execute(f"pragma max_page_count = {pages or 1 << 30}")

    with contextlib.closing(sqlite3.connect(store.url.removeprefix("sqlite:///"))) as connection:
        pages = connection.execute("pragma page_count").fetchone()[0] + 10
    store.database.engine.dispose()
    *_, failed = answer(run, store)
    assert isinstance(failed, Failed)
    assert "is full" in str(failed.error)
    kept = stored_answers(store, run)
    assert 0 < len(kept) < STATEMENTS
    pages = 0
    store.database.engine.dispose()
    wait_until(lambda: store.run(run).state == PAUSED)
    assert "Free space" in store.run(run).reason
    finished_event(answer(run, store))
    assert_run_complete(store, run)
    assert kept.items() <= stored_answers(store, run).items()


# ------------------------------------------------------------------------- locked, read alone, gone


@pytest.fixture
def hasty(url: str) -> Store:
    """A store that waits half a second for another program."""
    return Store(f"{url}?timeout=0.5")


def test_a_locked_database_ends_a_command_with_one_line(
    facts_file: Path, tmp_path: Path, hasty: Store, service: MockService
) -> None:
    run = start_service_run(hasty, facts_file, service)
    command = CommandProcess(tmp_path, "resume", run, "--db", hasty.url)
    wait_until(lambda: has_answers(hasty, run))
    with lock_database(hasty):
        assert command.wait().code == 2
        *_, line = command.err.splitlines()
        assert "database is locked. Another program holds it." in line
        assert command.err.count("medfact:") == 1
        for begun in (("resume", run), ("run", "--model", "baseline:random", "--facts", facts_file, "--shots", 0)):
            other = CommandProcess(tmp_path, *begun, "--db", hasty.url).wait()
            assert (other.code, other.err.count("medfact:")) == (2, 1), other.err
            assert "Another program holds it" in other.err
        assert hasty.run(run).state == INTERRUPTED
        shown = CommandProcess(tmp_path, "report", run, "--db", hasty.url).wait()
        assert shown.code == 0, "reading goes on"
    assert is_database_intact(hasty.url)
    goes_on(tmp_path, hasty, run)
    assert len(hasty.runs()) == 1


def test_a_locked_database_pauses_a_job_and_holds_up_no_page(facts_file: Path, hasty: Store, service: MockService) -> None:
    jobs = Jobs(hasty)
    try:
        run, done = (
            start_service_run(hasty, facts_file, service),
            start(RunSpec(model="baseline:random", facts=str(facts_file)), hasty),
        )
        list(answer(done, hasty))
        jobs.submit(run)
        wait_until(lambda: has_answers(hasty, run))
        patient = Store(hasty.url.partition("?")[0])
        reports = Reports(patient, jobs)
        with lock_database(hasty):
            begun = time.monotonic()
            assert reports.live(done).state == COMPLETE
            assert reports.live(run).report.answered > 0
            assert len(patient.answers.asked(run, facts=range(4))) == 32
            assert len(patient.runs()) == 2
            assert time.monotonic() - begun < 10, "no page waits for the lock, which would take 20 s"
            wait_until(lambda: state_of(jobs, run) == PAUSED)
            assert "Another program holds it" in jobs.snapshot(run).reason
            assert reports.live(run).state == PAUSED
        wait_until(lambda: hasty.run(run).state == PAUSED)
        jobs.submit(run)
        wait_until(lambda: state_of(jobs, run) not in GOING)
        assert_run_complete(hasty, run)
    finally:
        jobs.close()


def test_a_file_that_may_only_be_read_is_told(facts_file: Path, tmp_path: Path, small_disk: Path, service: MockService) -> None:
    store = Store(f"sqlite:///{small_disk / 'runs.db'}")
    run = start_service_run(store, facts_file, service)
    store.database.engine.dispose()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    for begun in (("resume", run), ("run", "--model", "baseline:random", "--facts", facts_file, "--shots", 0)):
        command = CommandProcess(tmp_path, *begun, "--db", store.url).wait()
        assert (command.code, command.err.count("medfact:")) == (2, 1), command.err
        assert "Traceback" not in command.err
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    goes_on(tmp_path, store, run)


def test_a_folder_that_is_gone_for_a_while_loses_nothing(facts_file: Path, tmp_path: Path, service: MockService) -> None:
    folder = tmp_path / "folder"
    store = Store(f"sqlite:///{folder / 'runs.db'}")
    run = start_service_run(store, facts_file, service)
    command = CommandProcess(tmp_path, "resume", run, "--db", store.url)
    wait_until(lambda: has_answers(store, run))
    folder.rename(tmp_path / "elsewhere")
    assert command.wait().code == 2
    assert command.err.count("medfact:") == 1
    assert "is not there any more" in command.err
    with pytest.raises(StoreError, match="Put its file back"):
        store.runs()
    assert not folder.exists(), "nothing is begun anew in its place"
    (tmp_path / "elsewhere").rename(folder)
    assert store.run(run).state in {PAUSED, INTERRUPTED}
    assert 0 < len(stored_answers(store, run)) < STATEMENTS
    goes_on(tmp_path, store, run)


def test_what_is_written_to_a_file_in_anothers_place_goes_into_that_file(facts_file: Path, tmp_path: Path) -> None:
    """As when a copy is put back: a file that was opened before and deleted would take what is written, and lose it."""
    file = tmp_path / "runs.db"
    store = Store(f"sqlite:///{file}")
    run = start(RunSpec(model="baseline:random", facts=str(facts_file), shots=0), store)
    with (
        contextlib.closing(sqlite3.connect(file)) as connection,
        contextlib.closing(sqlite3.connect(tmp_path / "copy")) as copy,
    ):
        connection.backup(copy)
    for part in tmp_path.glob("runs.db*"):
        part.unlink()
    (tmp_path / "copy").rename(file)
    list(answer(run, store))
    assert_run_complete(Store(store.url), run)


# ------------------------------------------------------------------------- what changes between two processes


def test_of_two_who_resume_a_run_at_once_one_asks_and_the_other_says_so(
    facts_file: Path, tmp_path: Path, store: Store, service: MockService
) -> None:
    run = start_service_run(store, facts_file, service)
    both = [CommandProcess(tmp_path / name, "resume", run, "--db", store.url) for name in ("one", "other")]
    one, other = sorted((command.wait() for command in both), key=lambda command: int(command.code or 0))
    assert (one.code, other.code) == (0, 2)
    (said,) = [line for line in other.err.splitlines() if line.startswith("medfact:")]
    assert re.search(r"is being asked by process \d+ on|was taken up by another process just now", said)
    assert_run_complete(store, run)
    assert set(service.call_counts().values()) == {1}


class Overtaken(Store):
    """A database in which another process takes up the run, and answers some of it, just before this one would."""

    def claim(self, run: str) -> int:
        other = Store(self.url)
        events = answer(run, other)
        while not has_answers(other, run):
            next(events)
        events.close()
        return super().claim(run)


def test_what_another_process_answered_just_before_is_not_asked_again(facts_file: Path, url: str, service: MockService) -> None:
    store = Overtaken(url)
    run = start_service_run(store, facts_file, service)
    started, *_ = answer(run, store)
    assert isinstance(started, Started)
    assert 0 < started.answered < STATEMENTS
    assert_run_complete(store, run)
    assert sum(service.call_counts().values()) <= STATEMENTS + IN_FLIGHT + 2 * BATCH
    assert len([prompt for prompt, count in service.call_counts().items() if count > 1]) <= IN_FLIGHT + 2 * BATCH


def test_a_late_word_on_how_a_run_ended_says_nothing_of_how_it_goes_on(facts_file: Path, store: Store) -> None:
    run = start(RunSpec(model="baseline:random", facts=str(facts_file)), store)
    first = store.claim(run)
    assert store.last_claim(run) == first
    second = store.claim(run)
    store.set_state(run, PAUSED, "The disk was full.", since=first)
    assert (store.run(run).state, store.run(run).reason) == (RUNNING, None)
    store.set_state(run, PAUSED, "The disk was full.", since=second)
    assert (store.run(run).state, store.run(run).reason) == (PAUSED, "The disk was full.")


def begun(store: Store, spec: RunSpec) -> str:
    """A run that was stopped after its first two batches."""
    run = start(spec, store)
    events = answer(run, store)
    while len(store.answers.news(run).position) < 2 * BATCH:
        next(events)
    events.close()
    assert store.run(run).state == STOPPED
    return run


@pytest.mark.model
def test_a_model_that_is_gone_can_come_back_and_one_that_has_changed_is_noted(
    facts_file: Path, tmp_path: Path, store: Store
) -> None:
    folder = write_small_llama(tmp_path / "model", answer_weight=20.0)
    run = start(RunSpec(model=f"hf:{folder}", facts=str(facts_file), shots=0), store)
    command = CommandProcess(tmp_path, "resume", run, "--db", store.url)
    wait_until(lambda: has_answers(store, run))
    assert command.kill()
    kept, first = stored_answers(store, run), store.run(run).model_revision
    shutil.rmtree(folder)
    command = CommandProcess(tmp_path, "resume", run, "--db", store.url).wait()
    assert command.code == 2
    (said,) = [line for line in command.err.splitlines() if line.startswith("medfact:")]
    assert (store.run(run).state, store.run(run).reason) == (FAILED_RUN, said.removeprefix("medfact: "))
    assert stored_answers(store, run) == kept
    write_small_llama(folder, answer_weight=20.0, seed=1)
    goes_on(tmp_path, store, run)
    (note,) = store.run(run).notes
    assert note.startswith(f"The model changed while the run went on: some answers are of revision {first}")
    again = start_again(run, store, replace(store.run(run).spec, model="baseline:random"))
    assert note not in store.run(again).notes, "what was noted of a model says nothing of another"


@pytest.mark.model
def test_a_run_that_goes_on_in_another_number_format_says_so(facts_file: Path, tmp_path: Path, store: Store) -> None:
    """As a run that a GPU began in bfloat16 and that a CPU ends in float32."""
    folder = write_small_llama(tmp_path / "model", answer_weight=20.0)
    run = begun(store, RunSpec(model=f"hf:{folder}", facts=str(facts_file), shots=0))
    record = store.run(run)
    list(answer(run, store))
    assert store.run(run).notes == record.notes, "the same format as before"
    fresh = start(RunSpec(model=f"hf:{folder}", facts=str(facts_file), shots=0), store)
    store.record_model(fresh, revision="1", chat=record.chat, decoding={"dtype": "bfloat16"})
    list(answer(fresh, store))
    assert store.run(fresh).notes == record.notes, "loaded elsewhere, but no answer came from there"
    other = begun(store, RunSpec(model=f"hf:{folder}", facts=str(facts_file), shots=0))
    on_a_gpu = {**record.decoding, "dtype": "bfloat16", "logits": "float32"}
    store.record_model(other, revision=str(record.model_revision), chat=record.chat, decoding=on_a_gpu)
    list(answer(other, store))
    (note,) = set(store.run(other).notes) - set(record.notes)
    assert "some answers are in bfloat16 with logits in float32, others in float32" in note


def test_a_run_goes_on_from_its_record_when_its_data_change_and_says_so(
    facts_file: Path, store: Store, medfact: Callable[..., Any]
) -> None:
    spec = RunSpec(model="baseline:random", facts=str(facts_file), shots=5)
    undisturbed = complete_run(spec, store)
    first, second, third = (begun(store, spec) for _ in range(3))
    outcome = medfact("resume", first, "--db", store.url)
    assert (outcome.code, "note:" in outcome.err) == (0, False)
    write_csv(facts_file, make_fact_rows(9))
    outcome = medfact("resume", second, "--db", store.url)
    assert outcome.code == 0
    assert (
        "note: The data facts.csv has changed since this run. The run goes on as it was recorded." in outcome.err.splitlines()
    )
    facts_file.unlink()
    outcome = medfact("resume", third, "--db", store.url)
    assert outcome.code == 0
    assert "note: The data facts.csv cannot be read any more" in outcome.err
    for run in (first, second, third):
        assert_run_complete(store, run)
        assert stored_answers(store, run) == stored_answers(store, undisturbed)


# ------------------------------------------------------------------------- once more, from the record alone


def test_a_run_is_asked_again_from_its_record_alone(facts_file: Path, store: Store, medfact: Callable[..., Any]) -> None:
    pool = facts_file.with_name("pool.yaml")
    shipped = (ROOT / "prototypes" / "medfact.yaml").read_text(encoding="utf-8")
    pool.write_text(re.sub("^name: medfact$", "name: mine", shipped, flags=re.MULTILINE), encoding="utf-8")
    spec = RunSpec(model="baseline:random", facts=str(facts_file), pool=str(pool), shots=5, shot_draws=2, seed=7, limit=4)
    first = complete_run(spec, store)
    facts_file.unlink()
    pool.unlink()
    outcome = medfact("run", "--again", first[:12], "--db", store.url)
    assert outcome.code == 0, outcome.err
    (row,) = outcome.rows
    again = row["run"]
    assert again != first
    assert f"note: It asks what run {first} asked, from the record of that run." in outcome.err.splitlines()
    assert store.answers.asked(again) == store.answers.asked(first), (
        "the same statements in the same order, and the same answers"
    )
    assert len(store.answers.asked(again)) == 2 * 8 * 8
    assert store.answers.demonstrations(again) == store.answers.demonstrations(first)
    one, other = store.run(first), store.run(again)
    for name in ("spec", "dataset", "dataset_fingerprint", "pool", "pool_text", "shots", "statements", "facts", "decoding"):
        assert getattr(one, name) == getattr(other, name), name
    assert {**figures(store, first), "notes": []} == {**figures(store, again), "notes": []}


def test_a_run_is_asked_again_of_another_model(facts_file: Path, store: Store, medfact: Callable[..., Any]) -> None:
    first = start(RunSpec(model="baseline:random", facts=str(facts_file), shots=0, limit=4), store)
    facts_file.unlink()
    with MockService() as service:
        at = ("--base-url", service.base_url)
        priced = medfact("run", "--again", first, "--db", store.url, "--model", "openai:gpt-4o", "--dry-run", *at)
        assert (priced.rows[0]["statements"], service.calls) == (64, [])
        models = ("--model", "baseline:always-true", "--model", "openai:gpt-4o")
        outcome = medfact("run", "--again", first, "--db", store.url, *models, *at)
        assert outcome.code == 0, outcome.err
        assert len(service.calls) == 64
        served = outcome.rows[1]["run"]
        once_more = medfact("run", "--again", served, "--db", store.url, "--in-flight", 4)
        assert len(service.calls) == 2 * 64, "the same service, unless another is given"
    assert [row["model"] for row in outcome.rows] == ["baseline:always-true", "openai:gpt-4o"]
    assert store.run(once_more.rows[0]["run"]).spec.service.in_flight == 4
    for row in (*outcome.rows, *once_more.rows):
        assert_run_complete(store, row["run"], 64)
        same = zip(store.answers.asked(row["run"]), store.answers.asked(first), strict=True)
        assert all(a.statement == b.statement and a.shots_of == b.shots_of for a, b in same)


@pytest.mark.parametrize("options", [("--limit", 3), ("--facts", "mine.csv"), ("--seed", 4), ("--pool", "origin")])
def test_what_is_asked_again_cannot_be_chosen_anew(
    options: tuple[object, ...], facts_file: Path, store: Store, medfact: Callable[..., Any]
) -> None:
    first = start(RunSpec(model="baseline:random", facts=str(facts_file), shots=0), store)
    outcome = medfact("run", "--again", first, "--db", store.url, *options)
    assert outcome.code == 2
    assert "Leave out the options that choose facts" in outcome.err
    assert len(store.runs()) == 1


def test_a_record_lets_in_no_code_of_others(facts_file: Path, store: Store, medfact: Callable[..., Any]) -> None:
    """It may have come from another machine."""
    placement = Placement(remote_code=True, any_weights=True, dtype="float16")
    first = start(RunSpec(model="baseline:random", facts=str(facts_file), shots=0, placement=placement), store)
    outcome = medfact("run", "--again", first, "--db", store.url)
    assert store.run(outcome.rows[0]["run"]).spec.placement == Placement(dtype="float16")


def test_a_process_is_known_where_the_clock_is_set_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a process was started is counted from when the machine was, and told by the clock: setting it moves both."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        before = workers._name(other.pid)
        began, booted = psutil.Process(other.pid).create_time(), psutil.boot_time()
        monkeypatch.setattr(psutil, "boot_time", lambda: booted + 120)
        monkeypatch.setattr(psutil.Process, "create_time", lambda process: began + 120)
        assert is_alive(before, None)
        monkeypatch.setattr(psutil, "boot_time", lambda: booted)
        assert not is_alive(before, None), "another process of the same number"
        monkeypatch.undo()
        assert is_alive(before, None)
        assert is_alive(myself(), None)
    assert not is_alive(before, None), "it has ended"
