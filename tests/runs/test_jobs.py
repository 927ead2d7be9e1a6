"""Jobs: runs out of the page's way, in threads and in a process that can be killed."""

import os
import shutil
import signal
import sys
import threading
import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import psutil
import pytest
from app_builders import quick_processes as quick_processes
from app_builders import quick_workers as quick_workers
from small_models import write_small_llama
from waiting import wait_for_run, wait_until

from medfact.errors import Mistake
from medfact.limits import PRIVATE_LIMITS
from medfact.models import Placement
from medfact.models.local.zero_gpu import FIRST_SECONDS, LONGEST_SECONDS, SHORTEST_SECONDS
from medfact.results.compare import Comparisons
from medfact.results.live import Reports
from medfact.runs.jobs import Jobs, Snapshot
from medfact.runs.jobs.job import JobUpdate
from medfact.runs.jobs.run_threads import ModelCache
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import COMPLETE, FAILED_RUN, RUNNING, STOPPED, WAITING, Store
from medfact.web.evaluate.begin import begin as evaluate
from medfact.web.evaluate.form import Setup
from medfact.web.services import Services

pytestmark = [pytest.mark.model, pytest.mark.usefixtures("quick_workers")]


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    made = Jobs(Store(f"sqlite:///{tmp_path / 'jobs.db'}"))
    yield made
    made.close()


def ended(snapshot: Snapshot) -> bool:
    return snapshot.state not in {WAITING, RUNNING}


def test_baseline_runs_in_a_thread_and_its_answers_are_on_disk(jobs: Jobs) -> None:
    run = start(RunSpec(model="baseline:negation-cue", limit=10), jobs.store)
    jobs.submit(run)
    snapshot = wait_for_run(jobs, run, ended)
    assert (snapshot.state, snapshot.done, snapshot.total) == (COMPLETE, 160, 160)
    assert all(item.answer is not None for item in jobs.store.answers.asked(run))
    live = Reports(jobs.store, jobs).live(run)
    assert live.report.joint_accuracy.value == 0.5


def test_the_process_of_local_models_gives_way_to_the_page(jobs: Jobs) -> None:
    jobs.warm_up("baseline:random")
    process = psutil.Process(jobs._local.pid)
    wait_until(lambda: process.nice() > psutil.Process().nice())


def test_a_local_model_stops_in_the_midst_and_goes_on_later(jobs: Jobs, tmp_path: Path) -> None:
    model = f"hf:{write_small_llama(tmp_path / 'model', answer_weight=4.0)}"
    run = start(RunSpec(model=model, limit=24, shots=0), jobs.store)
    jobs.submit(run)
    wait_for_run(jobs, run, lambda snapshot: snapshot.done > 0)
    jobs.stop(run)
    stopped = wait_for_run(jobs, run, ended)
    assert stopped.state == jobs.store.run(run).state == STOPPED
    kept = sum(item.answer is not None for item in jobs.store.answers.asked(run))
    assert 0 < kept < stopped.total
    jobs.submit(run)
    assert Reports(jobs.store, jobs).live(run).going, "a page looks before the model's process has taken the run up"
    before = {item.statement.statement_id: item.answer for item in jobs.store.answers.asked(run) if item.answer is not None}
    wait_for_run(jobs, run, lambda snapshot: snapshot.state == COMPLETE)
    after = {item.statement.statement_id: item.answer for item in jobs.store.answers.asked(run)}
    assert before.items() <= after.items(), "only what was pending is asked again"


def test_a_second_run_finds_the_model_loaded_also_after_a_stop(
    jobs: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model's files are gone by then: it cannot have been loaded again. However busy the machine, its process may end the
    first run by itself.
    """
    monkeypatch.setattr("medfact.runs.jobs.manager.STOP_SECONDS", 60.0)
    folder = write_small_llama(tmp_path / "model", answer_weight=4.0)
    first, second = (start(RunSpec(model=f"hf:{folder}", limit=limit, shots=0), jobs.store) for limit in (30, 2))
    jobs.submit(first)
    told = wait_for_run(jobs, first, lambda snapshot: snapshot.loading is not None)
    assert told.loading in {"checking the model", "loading the weights"}
    wait_for_run(jobs, first, lambda snapshot: snapshot.done > 0)
    jobs.stop(first)
    assert wait_for_run(jobs, first, ended).state == STOPPED
    shutil.rmtree(folder)
    jobs.submit(second)
    assert wait_for_run(jobs, second, ended).state == COMPLETE


def test_a_model_that_nobody_uses_is_let_go(tmp_path: Path) -> None:
    kept = ModelCache()
    spec = f"hf:{write_small_llama(tmp_path / 'model')}"
    model = weakref.ref(kept.load(spec).model)
    assert kept.load(spec).model is model()
    kept.release()
    assert model() is None
    assert kept.load(spec, placement=Placement(dtype="bfloat16")).model.model.dtype != kept.load(spec).model.model.dtype


def test_a_lent_gpu_is_used_in_slices(tmp_path: Path, jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a Space with ZeroGPU a marked function gets the GPU for some seconds; here each slice is over after one answer."""
    asked: list[tuple[int, int]] = []

    def lent(duration: Callable[..., int]) -> Callable[..., Any]:
        def marked(work: Callable[..., Any]) -> Callable[..., Any]:
            def run(*given: Any) -> Any:
                *prompts, _ = given  # none where the model is looked at
                asked.append((duration(*given), len(prompts[0]) if prompts else 0))
                return work(*given)

            return run

        return marked

    spaces = ModuleType("spaces")
    spaces.GPU = lent  # type: ignore[attr-defined]
    spaces.__spec__ = ModuleSpec("spaces", None)
    monkeypatch.setitem(sys.modules, "spaces", spaces)
    monkeypatch.setenv("SPACES_ZERO_GPU", "true")
    monkeypatch.setattr("medfact.models.local.zero_gpu.USED_SHARE", 1e-9)
    run = start(RunSpec(model=f"hf:{write_small_llama(tmp_path / 'model', answer_weight=4.0)}", limit=1, shots=0), jobs.store)
    jobs.submit(run)
    assert wait_for_run(jobs, run, ended).state == COMPLETE
    assert [prompts for _, prompts in asked if prompts] == [16 - n for n in range(16)]
    assert asked[0][0] == FIRST_SECONDS
    assert {seconds for seconds, _ in asked[1:]} <= set(range(SHORTEST_SECONDS, LONGEST_SECONDS + 1))
    assert all(item.answer is not None for item in jobs.store.answers.asked(run))


def test_death_of_the_local_process_fails_the_run_and_keeps_its_answers(jobs: Jobs, tmp_path: Path) -> None:
    model = f"hf:{write_small_llama(tmp_path / 'model', answer_weight=4.0)}"
    run = start(RunSpec(model=model, limit=24, shots=0), jobs.store)
    jobs.submit(run)
    wait_for_run(jobs, run, lambda snapshot: snapshot.done > 0)
    os.kill(jobs._local.pid, signal.SIGKILL)
    failed = wait_for_run(jobs, run, ended)
    assert failed.state == jobs.store.run(run).state == FAILED_RUN
    assert "was killed" in (failed.reason or "")
    assert any(item.answer is not None for item in jobs.store.answers.asked(run))
    list(answer(run, jobs.store))
    assert all(item.answer is not None for item in jobs.store.answers.asked(run))


def test_model_that_cannot_be_loaded_fails_with_one_sentence(jobs: Jobs, tmp_path: Path) -> None:
    run = start(RunSpec(model=f"hf:{tmp_path}", limit=10), jobs.store)
    jobs.submit(run)
    failed = wait_for_run(jobs, run, ended)
    assert failed.state == FAILED_RUN
    assert "contains no causal language model" in (failed.reason or "")
    assert "\n" not in (failed.reason or "\n")


def test_stop_before_its_turn_asks_nothing(jobs: Jobs, tmp_path: Path) -> None:
    model = f"hf:{write_small_llama(tmp_path / 'model', answer_weight=4.0)}"
    first, second = (start(RunSpec(model=model, limit=20, shots=0), jobs.store) for _ in range(2))
    jobs.submit(first)
    jobs.submit(second)
    jobs.stop(second)
    jobs.stop(first)
    assert wait_for_run(jobs, second, ended).done == 0
    assert jobs.store.run(second).state == STOPPED


ENDLESS = "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}{{ messages[0]['content'] }}"
"""A chat template that takes hours."""


def test_a_model_that_gives_no_sign_is_ended_and_the_next_run_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_small_llama(tmp_path / "endless", chat=True)
    (folder / "chat_template.jinja").write_text(ENDLESS)
    monkeypatch.setattr("medfact.runs.jobs.manager.LOOK_SECONDS", 0.2)
    monkeypatch.setattr("medfact.runs.jobs.manager.SILENT_SECONDS_WHEN_WAITED_FOR", 5.0)
    jobs = Jobs(Store(f"sqlite:///{tmp_path / 'jobs.db'}"))
    try:
        endless = start(RunSpec(model=f"hf:{folder}", limit=2, shots=0), jobs.store)
        next_one = start(
            RunSpec(model=f"hf:{write_small_llama(tmp_path / 'quick', answer_weight=4.0)}", limit=2, shots=0), jobs.store
        )
        jobs.submit(endless)
        jobs.submit(next_one)
        assert "gave no sign for minutes" in (wait_for_run(jobs, endless, ended).reason or "")
        assert wait_for_run(jobs, next_one, ended).state == COMPLETE
    finally:
        jobs.close()


def test_another_program_stops_a_run(tmp_path: Path) -> None:
    """Two programs on one database: what one of them asks stops where the other says so, and at once goes on there."""
    url = f"sqlite:///{tmp_path / 'jobs.db'}"
    one, other = Jobs(Store(url)), Jobs(Store(url))
    try:
        run = start(
            RunSpec(model=f"hf:{write_small_llama(tmp_path / 'model', answer_weight=4.0)}", limit=200, shots=5), one.store
        )
        one.submit(run)
        wait_for_run(one, run, lambda snapshot: snapshot.done > 0)
        other.stop(run)
        stopped = wait_for_run(one, run, ended, 20)
        assert (stopped.state, other.store.run(run).state) == (STOPPED, STOPPED)
        assert 0 < stopped.done < stopped.total
        other.submit(run)
        assert wait_for_run(other, run, lambda snapshot: snapshot.done > stopped.done).state == RUNNING
    finally:
        one.close()
        other.close()


# ------------------------------------------------------------------------- turns


class Lane:
    """Jobs whose processes only note what they are given to ask, so that a test says when it ends."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[str] = []
        monkeypatch.setattr("medfact.runs.jobs.worker.Worker.ask", lambda _, run, *__: self.asked.append(self.owners[run]))
        self.jobs = Jobs(store)
        self.owners: dict[str, str] = {}

    def submit(self, model: str, *owners: str) -> list[str]:
        runs = [start(RunSpec(model=model, limit=1, shots=0), self.jobs.store.of(owner)) for owner in owners]
        self.owners |= dict(zip(runs, owners, strict=True))
        for run in runs:
            self.jobs.submit(run)
        return runs

    def end(self, run: str) -> None:
        self.jobs._update(run, JobUpdate(COMPLETE))


def test_who_presses_often_waits_for_those_who_pressed_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    lane = Lane(store, monkeypatch)
    runs = lane.submit("hf:none", *["eager"] * 5, "ada", "eager", "bob")
    for run in runs[:1]:
        lane.end(run)
    assert lane.asked == ["eager", "ada"]
    assert lane.jobs.snapshot(runs[-1]).ahead == 1  # type: ignore[union-attr]
    lane.end(runs[5])
    lane.end(runs[7])
    assert lane.asked == ["eager", "ada", "bob", "eager"]


def test_one_visitors_runs_never_fill_the_lane_of_services(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    lane = Lane(store, monkeypatch)
    lane.submit("openai:gpt", *["eager"] * 12, "ada")
    assert Counter(lane.asked) == {"eager": 8, "ada": 1}


def test_others_begin_runs_while_a_slow_one_is_planned(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host's name may take seconds to be looked up, and a large file to be read."""
    lane = Lane(store, monkeypatch)
    lane.owners = defaultdict(str)
    reports = Reports(store, lane.jobs)
    services = Services(store, lane.jobs, reports, Comparisons(store, reports))
    slow, go_on = threading.Event(), threading.Event()

    def look_up(*_: object, **__: object) -> None:
        slow.set()
        assert go_on.wait(60)

    monkeypatch.setattr("medfact.web.evaluate.begin.check_new_run", look_up)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    made: list[str] = []
    asking = Setup(models=["openai:gpt"], pairs=10)
    thread = threading.Thread(target=lambda: made.extend(evaluate(services, "ada", asking, None)), daemon=True)
    thread.start()
    try:
        assert slow.wait(60)
        assert evaluate(services, "bob", Setup(models=["baseline:random"], pairs=10), None)
        assert made == []
    finally:
        go_on.set()
        thread.join(60)
    assert len(made) == 1


def test_a_visitor_has_so_many_runs_at_most(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    lane = Lane(store, monkeypatch)
    lane.owners = defaultdict(str)
    reports = Reports(store, lane.jobs)
    services = Services(store, lane.jobs, reports, Comparisons(store, reports))

    def press(owner: str) -> list[str]:
        return evaluate(services, owner, Setup(models=["baseline:random"], pairs=10), None)

    made = [press("eager")[0] for _ in range(int(PRIVATE_LIMITS.visitor.runs_going))]
    with pytest.raises(Mistake, match="You have 24 unfinished runs"):
        press("eager")
    assert press("ada")
    lane.end(made[0])
    assert press("eager")
