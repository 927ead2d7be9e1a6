"""What a page is told of its runs at each look: what is new, and nothing that it has already."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from medfact.compare import Comparisons
from medfact.jobs import Jobs
from medfact.live import PACE, Reports
from medfact.runner import answer, start
from medfact.spec import RunSpec
from medfact.store import COMPLETE, Store
from medfact.ui import live_runs
from medfact.ui.live_runs import news
from medfact.ui.services import Services
from medfact.ui.view import preprocessed

Seen = dict[str, Any]

VIEWS = {"progress", "scores", "bars", "calibration", "calibration-said", "banner", "heat", "heat-where", "tables"}
VIEWS |= {f"{what}-{number}" for what in ("said", "curve") for number in range(3)}


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


def look(services: Services, run: str, seen: Seen, paper: str = "pretexttrans", drawn: str | None = None) -> tuple[Any, Seen]:
    """The news, and what a page has seen that drew all that it was told before (or `drawn` alone)."""
    told, has = news(services, "demonstration", [run], 0, 0, paper, seen, seen.get("look", "") if drawn is None else drawn)
    return told, has


def text_of(told: dict[str, Any]) -> str:
    return told["views"]["progress"]["runs"][0]["text"]


def test_a_second_look_brings_nothing_that_is_known(services: Services, run: str) -> None:
    first, seen = look(services, run, {})
    assert set(first["views"]) == VIEWS
    assert first["moved"]  # Evaluate waits, Stop may be pressed, the clock goes
    assert text_of(first).startswith("0 of 640 statements")
    assert services.reports.live(run).going  # it waits for its turn
    again, seen_again = look(services, run, seen)
    assert again["views"] == {}
    assert not again["moved"]
    assert again["look"] == seen_again["look"] != first["look"]


def test_a_page_that_did_not_draw_the_last_news_is_told_everything(services: Services, run: str) -> None:
    _, seen = look(services, run, {})
    _, seen = look(services, run, seen)  # nothing new
    lost, _ = look(services, run, seen, drawn="what came before")
    assert set(lost["views"]) == VIEWS
    assert lost["moved"]


def test_only_what_differs_is_told_until_the_run_ends(services: Services, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medfact.live.Reports.pace", lambda self: 0.0)
    _, seen = look(services, run, {})
    events = answer(run, services.store)
    for _ in range(4):  # begun, loaded, and some answers
        next(events)
    meanwhile, seen = look(services, run, seen)
    assert not text_of(meanwhile).startswith("0 of")
    assert {"scores", "heat"} <= set(meanwhile["views"])
    assert not {"banner", "tables"} & set(meanwhile["views"])  # as it was; large, and not due yet
    for _ in events:
        pass
    after, seen = look(services, run, seen)
    assert services.store.run(run).state == COMPLETE
    assert text_of(after) == "640 of 640 statements · complete"
    assert after["views"]["scores"]["rows"][0]["figures"][0]["value"] == "50.0 %"  # half of the statements are true
    assert "tables" in after["views"]  # the end is told whole
    assert look(services, run, seen)[0]["views"] == {}


def test_the_clock_and_the_buttons_follow_what_was_told(services: Services, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medfact.live.Reports.pace", lambda self: 0.001)
    _, seen = look(services, run, {})
    for _ in answer(run, services.store):
        pass
    # The run has ended, but this page has not been told: a clock that stopped now would leave it with half the answers.
    assert moved(seen) == {"evaluate": False, "stop": True, "resume": False, "clock": True, "seconds": 0.001}
    last, seen = look(services, run, seen)
    assert last["moved"]
    assert moved(seen) == {"evaluate": True, "stop": False, "resume": False, "clock": False, "seconds": PACE}
    in_vain, _ = look(services, run, seen)
    assert in_vain["moved"]  # its clock goes on all the same: it is told again


def moved(seen: Seen) -> dict[str, Any]:
    go, stop, resume, clock = live_runs._moved(seen)
    named = {"evaluate": go.interactive, "stop": stop.interactive, "resume": resume.visible}
    return {**named, "clock": clock.active, "seconds": clock.value}


def test_results_are_renewed_when_they_are_due_and_for_another_paper(
    services: Services, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("medfact.live.Reports.pace", lambda self: 0.0)
    _, seen = look(services, run, {})
    assert "tables" in look(services, run, seen, paper="mkj")[0]["views"]
    events = answer(run, services.store)
    for _ in range(4):
        next(events)
    assert "tables" not in look(services, run, seen)[0]["views"]
    monkeypatch.setattr(live_runs.time, "monotonic", lambda: seen["due"] + 1)
    assert "tables" in look(services, run, seen)[0]["views"]
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
