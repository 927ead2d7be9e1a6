"""What a page is told of its runs at each look: what is new, and nothing that it has already."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from medfact.compare import Comparisons
from medfact.jobs import Jobs
from medfact.live import Reports
from medfact.runner import answer, start
from medfact.spec import RunSpec
from medfact.store import COMPLETE, Store
from medfact.ui import live_runs
from medfact.ui.live_runs import REST, VIEWS, news
from medfact.ui.services import Services
from medfact.ui.view import preprocessed

PROGRESS, SCORES, BANNER, HEAT, TABLES = 0, 1, 5, 6, VIEWS - 1
SKIPPED = gr.skip()


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    store = Store(f"sqlite:///{tmp_path / 'medfact.db'}")
    jobs = Jobs(store)
    reports = Reports(store, jobs)
    yield Services(store, jobs, reports, Comparisons(store, reports))
    jobs.close()


@pytest.fixture
def run(services: Services) -> str:
    """A run of 40 facts of which nothing has been asked: 40 true and 40 false ones in eight ways are 640 statements."""
    return start(RunSpec(model="baseline:always-true", limit=40, shots=0), services.store)


def look(services: Services, run: str, seen: dict[str, Any], paper: str = "pretexttrans") -> list[Any]:
    return news(services, "demonstration", [run], seen, 0, 0, paper)


def text_of(told: list[Any]) -> str:
    return told[PROGRESS]["runs"][0]["text"]


def test_a_second_look_brings_nothing_but_progress(services: Services, run: str) -> None:
    first = look(services, run, {})
    assert len(first) == VIEWS + REST
    assert SKIPPED not in first
    assert text_of(first).startswith("0 of 640 statements")
    assert services.reports.live(run).going  # it waits for its turn
    again = look(services, run, first[-1])
    assert len(again) == VIEWS + REST
    assert again[1:] == [SKIPPED] * (VIEWS - 1 + REST)


def test_only_what_differs_is_told_until_the_run_ends(services: Services, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medfact.live.Reports.pace", lambda self: 0.0)
    before = look(services, run, {})
    events = answer(run, services.store)
    for _ in range(4):  # begun, loaded, and some answers
        next(events)
    meanwhile = look(services, run, before[-1])
    assert not text_of(meanwhile).startswith("0 of")
    assert meanwhile[SCORES] != SKIPPED
    assert meanwhile[HEAT] != SKIPPED
    assert meanwhile[BANNER] == SKIPPED  # as it was
    assert meanwhile[TABLES] == SKIPPED  # large, and not due yet
    for _ in events:
        pass
    after = look(services, run, meanwhile[-1])
    assert services.store.run(run).state == COMPLETE
    assert text_of(after) == "640 of 640 statements · complete"
    assert after[SCORES]["rows"][0]["figures"][0]["value"] == "50.0 %"  # half of the statements are true
    assert after[TABLES] != SKIPPED  # the end is told whole
    assert look(services, run, after[-1]) == [SKIPPED] * (VIEWS + REST)


def test_results_are_renewed_when_they_are_due_and_for_another_paper(
    services: Services, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("medfact.live.Reports.pace", lambda self: 0.0)
    seen = look(services, run, {})[-1]
    assert look(services, run, seen, paper="mkj")[TABLES] != SKIPPED
    events = answer(run, services.store)
    for _ in range(4):
        next(events)
    assert look(services, run, seen)[TABLES] == SKIPPED
    monkeypatch.setattr(live_runs.time, "monotonic", lambda: seen["due"] + 1)
    assert look(services, run, seen)[TABLES] != SKIPPED
    events.close()


@pytest.mark.parametrize(
    ("component", "value"),
    [
        (lambda: gr.Slider(10, 1000), 1_000_000),
        (lambda: gr.CheckboxGroup([("a coin", "baseline:random")]), ["baseline:other"]),
        (lambda: gr.Radio([("none", 0), ("five", 5)]), 7),
        (lambda: gr.Number(minimum=0), -3),
    ],
    ids=["slider", "checkboxes", "radio", "number"],
)
def test_a_gathered_value_that_its_component_cannot_have_is_refused(component: Any, value: object) -> None:
    with pytest.raises(gr.Error):
        preprocessed([component()], [value])
