"""Runs on a real Ray cluster on loopback: three simulated nodes, one of which is killed. Skipped where Ray is not installed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from medfact.models import BUNDLED_MODEL, load_model
from medfact.models.cluster.model import _ON_LOOPBACK, ClusterSettings, connected
from medfact.results.report import report_of
from medfact.runs.events import AnswersSaved, Finished
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import COMPLETE, STOPPED, Store

os.environ |= _ON_LOOPBACK
ray = pytest.importorskip("ray", reason="Ray is not installed: pip install -r tests/requirements/ray.txt")
pytestmark = [pytest.mark.model, pytest.mark.filterwarnings("ignore")]

SMALL_STORE = 80 << 20
"""Bytes of a simulated node's store of objects."""


@pytest.fixture(autouse=True)
def modules_of_this_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes on the nodes import the medfact under test."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A head without processors, and two nodes of one processor each."""
    from ray.cluster_utils import Cluster

    node = {"object_store_memory": SMALL_STORE, "node_ip_address": "127.0.0.1"}
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **node})
    made.doomed = made.add_node(num_cpus=1, **node)
    made.add_node(num_cpus=1, **node)
    yield made
    made.shutdown()


def spec_of(facts: Path) -> RunSpec:
    """27 positive and 27 negative facts, two shots: 432 statements."""
    return RunSpec(BUNDLED_MODEL, facts=str(facts), shots=2)


def scores(run: str, store: Store) -> list[tuple[str, bool | None, float | None]]:
    return [
        (item.statement.statement_id, item.answer.answer, item.answer.p_true)
        for item in store.answers.asked(run)
        if item.answer
    ]


def test_a_node_that_is_killed_costs_nothing(cluster: Any, facts_file: Path, store: Store) -> None:
    alone = start(spec_of(facts_file), store)
    *_, finished = answer(alone, store, load=load_model)
    assert finished.state == COMPLETE
    run = start(spec_of(facts_file), store)
    with connected(ClusterSettings(cluster.address), 1) as load:
        seen: list[str] = []
        for event in answer(run, store, load=load):
            if isinstance(event, AnswersSaved):
                if not seen:
                    cluster.remove_node(cluster.doomed)
                seen += [one.statement_id for one in event.answers]
        assert isinstance(event, Finished)
        assert (event.state, event.failed) == (COMPLETE, 0)
    assert len(seen) == len(set(seen)) == 432, "one answer a statement"
    here, there = scores(alone, store), scores(run, store)
    assert [one[:2] for one in here] == [one[:2] for one in there]
    assert [p for _, _, p in here] == pytest.approx([p for _, _, p in there], abs=1e-4)
    one, other = (report_of(store, store.run(name)) for name in (alone, run))
    assert one.average_accuracy == other.average_accuracy
    assert one.joint_accuracy == other.joint_accuracy
    records = store.run(alone), store.run(run)
    assert records[0].model_revision == records[1].model_revision
    assert records[0].decoding == records[1].decoding
    assert any("Ray cluster" in note for note in records[1].notes)


def test_a_cluster_of_ones_own(facts_file: Path, store: Store, url: str, medfact: Callable[..., Any]) -> None:
    """Two models side by side; then one that is stopped, and resumed on a cluster."""
    words = ("--facts", facts_file, "--shots", 0, "--limit", 8, "--db", url)
    outcome = medfact("run", "--on", "ray", *words, "--model", BUNDLED_MODEL, "--model", "medfact-tiny-narrow")
    assert outcome.code == 0, outcome.err
    assert [row["answered"] for row in outcome.rows] == [128, 128]
    run = start(spec_of(facts_file), store)
    kept: list[str] = []
    some = threading.Event()
    with connected(ClusterSettings("ray", actors=1), 1) as load:
        for event in answer(run, store, load=load, stopped=some.is_set):
            if isinstance(event, AnswersSaved):
                kept += [one.statement_id for one in event.answers]
                some.set()
        assert store.run(run).state == STOPPED
        assert 0 < len(kept) < 432
        *_, finished = answer(run, store, load=load)
        assert finished.state == COMPLETE
    assert sum(item.answer is not None for item in store.answers.asked(run)) == 432


def test_a_folder_without_a_model_ends_the_run_with_its_own_words(
    medfact: Callable[..., Any], tmp_path: Path, url: str
) -> None:
    outcome = medfact("run", "--on", "ray", "--model", f"hf:{tmp_path}", "--limit", 2, "--db", url)
    assert outcome.code == 2
    assert "contains no causal language model" in outcome.err
    assert "Traceback" not in outcome.err
