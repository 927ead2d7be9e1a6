"""Distribution over workers, without Ray: threads that sleep as long as a model would compute."""

from __future__ import annotations

import argparse
import ast
import importlib
import queue
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medfact.answers import Demonstration, make_prompt
from medfact.cli.commands import parser
from medfact.cli.evaluate import loader
from medfact.errors import Mistake, ModelError, NotInstalled, ServiceDown
from medfact.extras import not_installed_errors
from medfact.models import Completion, Prompt, load_model
from medfact.models.cluster.actors import Answered, Event, Joined, Lost
from medfact.models.cluster.model import ClusterSettings, _load, connected
from medfact.models.cluster.schedule import LARGEST_BATCH, MOST_LOSSES, Batches, Distribution
from medfact.models.prompt import groups_of

ROOT = Path(__file__).parents[2]

# ------------------------------------------------------------------------- batches


@given(st.lists(st.integers(0, 5), max_size=300), st.integers(1, 9), st.none() | st.floats(0.01, 1e4))
def test_each_prompt_is_in_one_batch(groups: list[int], workers: int, per_second: float | None) -> None:
    batches, taken = Batches(groups), []
    while batch := batches.take(workers, per_second):
        assert len(batch) <= 1.5 * LARGEST_BATCH
        taken += batch
        if len(taken) % 7 == 3:
            taken = taken[: len(taken) - len(batch)]
            batches.put_back(batch)
            taken += batches.take(workers, per_second)
    assert sorted(taken) == list(range(len(groups)))
    assert batches.left == 0


def test_small_groups_stay_whole_and_large_ones_are_split() -> None:
    """40 groups of 10 in the order of a run; then one of 1,000 for four workers."""
    groups = [n % 40 for n in range(400)]
    batches = Batches(groups)
    while batch := batches.take(2, None):
        assert set(Counter(groups[index] for index in batch).values()) == {10}
    sizes, one = [], Batches([0] * 1_000)
    while batch := one.take(4, 20.0):
        sizes.append(len(batch))
    assert sizes[0] == 62, "1,000 / (4 rounds x 4 workers), and less than 5 s of 20 a second"
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] <= 12


# ------------------------------------------------------------------------- workers that sleep


class Sleepers:
    """Workers in threads: each takes `seconds` a prompt, and dies before its batch number `dies[worker]`."""

    def __init__(self, seconds: Sequence[float], dies: dict[int, int] | None = None, poison: str = "") -> None:
        self.seconds, self._dies, self._poison = seconds, dies or {}, poison
        self.asked: Counter[str] = Counter()
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._boxes: list[queue.SimpleQueue[tuple[int, Sequence[Prompt]] | None]] = []
        self.expected = 0
        for _ in seconds:
            self.start_one()

    def start_one(self) -> None:
        worker = len(self._boxes)
        self._boxes.append(queue.SimpleQueue())
        self.expected += 1
        threading.Thread(target=self._work, args=(worker,), daemon=True).start()

    def _work(self, worker: int) -> None:
        self._events.put(Joined(worker))
        seconds = self.seconds[worker % len(self.seconds)]
        done = 0
        while (box := self._boxes[worker].get()) is not None:
            number, prompts = box
            if done == self._dies.get(worker, -1) or any(self._poison == prompt.statement for prompt in prompts):
                self.expected -= 1
                self._events.put(Lost(worker, "it died"))
                return
            time.sleep(seconds * len(prompts))
            done += 1
            self.asked.update(prompt.statement for prompt in prompts)
            completions = [(at, Completion(prompt.statement)) for at, prompt in enumerate(prompts)]
            self._events.put(Answered(worker, number, completions, seconds * len(prompts)))

    def submit(self, worker: int, batch: int, prompts: Sequence[Prompt]) -> None:
        self._boxes[worker].put((batch, prompts))

    def events(self, seconds: float) -> list[Event]:
        try:
            events = [self._events.get(timeout=seconds)]
        except queue.Empty:
            return []
        while not self._events.empty():
            events.append(self._events.get())
        if self._poison:
            for event in events:
                if isinstance(event, Lost):
                    self.start_one()
        return events

    def close(self) -> None:
        for box in self._boxes:
            box.put(None)


def prompts_of(count: int, groups: int = 40) -> list[Prompt]:
    shots = [(Demonstration(f"Demonstration of group {group}.", True),) for group in range(groups)]
    return [make_prompt(f"Disease {n} may have fever.", shots[n % groups], chat=False) for n in range(count)]


def test_groups_are_what_stands_before_the_statement() -> None:
    groups = groups_of(prompts_of(30, groups=3))
    assert len(set(groups)) == 3
    assert groups[0] == groups[3] != groups[1]
    turns = [make_prompt("A may have fever.", (Demonstration(d, True),), chat=True) for d in "xxy"]
    assert [group == groups_of(turns)[0] for group in groups_of(turns)] == [True, True, False]


def distributed(prompts: list[Prompt], sleepers: Sleepers, notes: list[str]) -> dict[int, Completion]:
    arrived = list(Distribution(prompts, sleepers, [], lambda: None, notes.append).completions())
    sleepers.close()
    assert len(arrived) == len(dict(arrived)), "no prompt has two completions"
    return dict(arrived)


def test_a_lost_worker_costs_its_batches_and_others_get_them() -> None:
    prompts, notes = prompts_of(400), list[str]()
    sleepers = Sleepers([0.001] * 3, dies={1: 2})
    answers = distributed(prompts, sleepers, notes)
    assert {index: answers[index].text for index in range(400)} == {n: p.statement for n, p in enumerate(prompts)}
    assert notes == ["A worker of the cluster was lost (it died); others got its statements."]


def test_a_prompt_that_ends_workers_fails_alone_with_its_batch() -> None:
    prompts, notes = prompts_of(200), list[str]()
    answers = distributed(prompts, Sleepers([0.0] * 2, poison=prompts[77].statement), notes)
    failed = {index for index, completion in answers.items() if completion.failure}
    assert 77 in failed
    assert len(failed) < 64
    assert len(answers) == 200
    assert answers[77].failure == f"{MOST_LOSSES} workers were lost with it"


def test_when_all_are_lost_what_had_arrived_is_kept() -> None:
    arrived: list[int] = []
    sleepers = Sleepers([0.001] * 2, dies={0: 1, 1: 1})
    distribution = Distribution(prompts_of(400), sleepers, [], lambda: None, lambda note: None)
    with pytest.raises(ServiceDown, match="it died"):
        arrived.extend(index for index, _ in distribution.completions())
    assert len(arrived) == len(sleepers.asked) > 0


def test_a_stopped_run_sends_nothing_more() -> None:
    stopped = threading.Event()
    sleepers = Sleepers([0.005] * 2)
    distribution = Distribution(prompts_of(2_000), sleepers, [], lambda: 1.0 if stopped.is_set() else None, lambda note: None)
    arrived = []
    for index, _ in distribution.completions():
        arrived.append(index)
        stopped.set()
    sleepers.close()
    assert len(arrived) == len(sleepers.asked) < 400


# ------------------------------------------------------------------------- the command line


def options_of(*words: str) -> argparse.Namespace:
    return parser().parse_args(words)


def test_without_a_cluster_models_load_as_always() -> None:
    with loader(options_of("run"), ["medfact-tiny"]) as load:
        assert load is load_model


@pytest.mark.parametrize(
    ("words", "models", "said"),
    [
        (("--actors", "2"), ["medfact-tiny"], "Add --on ray"),
        (("--on", "ray"), ["openai:gpt-4o"], "models with weights"),
        (("--on", "ray"), ["baseline:random"], "models with weights"),
        (("--on", "ray", "--actors", "0"), ["medfact-tiny"], "at least 1"),
    ],
)
def test_options_that_do_not_go_together(words: tuple[str, ...], models: list[str], said: str) -> None:
    with pytest.raises(Mistake, match=said), loader(options_of("run", *words), models):
        raise AssertionError("not reached")


def test_a_public_server_computes_on_no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDFACT_PUBLIC", "1")
    with pytest.raises(Mistake, match="public server"), connected(ClusterSettings("ray"), 1):
        raise AssertionError("not reached")


def test_a_missing_ray_is_named_with_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(Mistake, match=r"pip install -r requirements-cluster\.txt"), connected(ClusterSettings("auto"), 1):
        raise AssertionError("not reached")
    monkeypatch.setattr("medfact.extras.IS_INSTALLED", True)
    with pytest.raises(Mistake, match=r'pip install "medfact\[cluster\]"'), connected(ClusterSettings("auto"), 1):
        raise AssertionError("not reached")
    with pytest.raises(NotInstalled, match=r'pip install "medfact\[cluster\]"'), not_installed_errors():
        importlib.import_module("ray")


class Rooms:
    """A cluster of which only the processors are known."""

    def __init__(self, *cpus: int) -> None:
        self.cpus = cpus

    def nodes(self) -> list[dict[str, object]]:
        return [{"Alive": True, "Resources": {"CPU": float(cpus)}} for cpus in self.cpus]


@pytest.mark.parametrize(
    ("settings", "models", "racing", "said"),
    [
        (ClusterSettings("ray"), 3, 3, r"3 models race, and the cluster has room for 2 processes\. .*leave out --race"),
        (
            ClusterSettings("ray", actors=2),
            2,
            2,
            "2 models race with 2 processes each, .* room for 2 processes",
        ),
        (ClusterSettings("ray"), 2, 2, None),
        (ClusterSettings("ray"), 3, 0, None),
        (ClusterSettings("ray", actors=3), 2, 1, None),
    ],
)
def test_a_race_that_would_wait_for_room_for_ever_is_refused(
    monkeypatch: pytest.MonkeyPatch, settings: ClusterSettings, models: int, racing: int, said: str | None
) -> None:
    """On two nodes of one processor each. Models that do not race wait in turn."""

    def started(*_: object) -> None:
        raise InterruptedError

    monkeypatch.setattr("medfact.models.cluster.model.Actors", started)
    with pytest.raises(InterruptedError if said is None else ModelError, match=said):
        _load(Rooms(1, 1), settings, models, racing, "medfact-tiny")


def test_the_models_of_a_race_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[object, ...]] = []

    @contextmanager
    def cluster(*given: object) -> Iterator[None]:
        seen.append(given[1:])
        yield

    monkeypatch.setattr("medfact.models.cluster.model.connected", cluster)
    models = ["medfact-tiny", "hf:other", "baseline:random"]
    with loader(options_of("run", "--on", "ray"), models, models), loader(options_of("run", "--on", "ray"), models):
        pass
    assert seen == [(2, 2), (2, 0)]


def test_without_a_cluster_nothing_of_it_is_loaded() -> None:
    code = "import sys, medfact.cli.evaluate, medfact.runs.run; print(sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    loaded = set(ast.literal_eval(done.stdout))
    assert {name for name in loaded if name == "ray" or name.startswith("medfact.models.cluster")} == set()
    assert "medfact.cli.evaluate" in loaded


def test_no_record_names_a_cluster() -> None:
    """Whoever connects to a cluster runs what it sends: its address must come from the person at this command line."""
    spec = (ROOT / "medfact" / "spec.py").read_text(encoding="utf-8")
    assert "cluster" not in spec
    assert "ray" not in spec.replace("array", "")
