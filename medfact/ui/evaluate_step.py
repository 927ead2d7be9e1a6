"""Step 3: which models to ask and how, what came of it so far, and any single answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import gradio as gr

from medfact.live import PACE
from medfact.store import Run
from medfact.ui import live_views
from medfact.ui.run_controls import Controls, controls
from medfact.ui.services import Services
from medfact.ui.view import AT_ONCE, message, places, view

HEAT_PAGE = 24
"""Facts on one page of the heat map."""


@dataclass(frozen=True)
class Results:
    """What of the results a visitor can press or choose, and what their choices show."""

    link: gr.HTML
    which: gr.Radio
    heat: gr.HTML
    back: gr.Button
    forward: gr.Button
    detail: gr.HTML


@dataclass(frozen=True)
class Page:
    """What this browser shows: runs, which of them in the heat map and on which page; what it has been told of them, the last
    news that came through, and when it looks again."""

    runs: gr.State
    kept: gr.BrowserState
    chosen: gr.State
    page: gr.State
    seen: gr.State
    drawn: gr.JSON
    clock: gr.Timer
    news: gr.HTML


@dataclass(frozen=True)
class EvaluateStep:
    """What is chosen, what is shown, and where it is shown."""

    controls: Controls
    page: Page
    results: Results


def build(services: Services, demonstration: str) -> EvaluateStep:
    """Lays the step out. `demonstration` is the run that a first visitor sees."""
    gr.Markdown(
        "## 3 · Evaluate\nA model says true or false to each statement. A fact counts as mastered only when *all eight* "
        "answers are right."
    )
    chosen = controls()
    page = Page(
        runs=gr.State([demonstration]),
        kept=gr.BrowserState([], storage_key="medfact-runs", secret="medfact"),
        chosen=gr.State(0),
        page=gr.State(0),
        seen=gr.State({}),
        drawn=gr.JSON(visible=False),
        clock=gr.Timer(PACE, active=False),
        news=view("news", {}, elem_id="news"),
    )
    results = _results()

    def open_answer(runs: list[str], chosen: int, event: gr.EventData) -> dict[str, Any]:
        return opened(services, runs[chosen], str(event._data.get("key", "")))

    results.heat.click(open_answer, [page.runs, page.chosen], results.detail, api_name="open_answer", **AT_ONCE)
    return EvaluateStep(chosen, page, results)


def _results() -> Results:
    places(("banner", "message"), ("progress", "progress"))
    link = view("link", {"runs": []}, elem_id="link")
    places(
        ("scores", "scores"),
        "Right answers by the way of saying",
        ("bars", "figure"),
        "Does the model know when it knows?",
        ("calibration-said", "message"),
        ("calibration", "figure"),
        "Fact by fact",
    )
    which = gr.Radio([], label="Model", visible=False, elem_id="which", interactive=True)
    heat = view("heatmap", None, elem_id="heat")
    with gr.Row(equal_height=True):
        back = gr.Button("← Previous facts", size="sm", elem_id="heat-previous", min_width=90)
        view("message", message(""), elem_id="heat-where", padding=False)
        forward = gr.Button("Next facts →", size="sm", elem_id="heat-next", min_width=90)
    detail = view("detail", {}, elem_id="detail")
    return Results(link, which, heat, back, forward, detail)


def last_page(run: Run) -> int:
    """The number of the last page of the heat map, from 0."""
    return (run.facts - 1) // HEAT_PAGE


def heat_map(services: Services, run: str, page: int) -> dict[str, Any]:
    """One page of the facts of a run, and which of them these are, by where they are shown."""
    record = services.store.run(run)
    items = services.store.asked(run, facts=range(page * HEAT_PAGE, (page + 1) * HEAT_PAGE))
    heat, where = live_views.heatmap(record, items, page, HEAT_PAGE)
    return {"heat": heat, "heat-where": message(where)}


def opened(services: Services, run: str, key: str) -> dict[str, Any]:
    """The statement and answer at a position of a run; nothing for a key that is none."""
    found = services.store.asked(run, positions=[int(key)]) if re.fullmatch(r"\d{1,9}", key) else []
    if not found:
        return {}
    true = services.reports.true_fact(run, found[0].fact)
    demonstrations = services.store.demonstrations(run)
    return live_views.detail(services.store.run(run), found[0], true, demonstrations)
