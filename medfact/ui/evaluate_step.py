"""Step 3: which models to ask and how, what came of it so far, and any single answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import gradio as gr

from medfact.live import PACE
from medfact.ui import live_views
from medfact.ui.run_controls import Controls, controls
from medfact.ui.services import Services
from medfact.ui.view import AT_ONCE, message, view

HEAT_PAGE = 24
"""Facts on one page of the heat map."""


@dataclass(frozen=True)
class Results:
    """What a run moves."""

    banner: gr.HTML
    link: gr.HTML
    progress: gr.HTML
    scores: gr.HTML
    bars: gr.HTML
    calibration_said: gr.HTML
    calibration: gr.HTML
    which: gr.Radio
    heat: gr.HTML
    back: gr.Button
    where: gr.Markdown
    forward: gr.Button
    detail: gr.HTML


@dataclass(frozen=True)
class Page:
    """What this browser shows: runs, which of them in the heat map and on which page, and what of them it has already."""

    runs: gr.State
    kept: gr.BrowserState
    chosen: gr.State
    page: gr.State
    seen: gr.State
    clock: gr.Timer


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
        clock=gr.Timer(PACE, active=False),
    )
    results = _results()
    _wire_heat_map(services, page, results)
    return EvaluateStep(chosen, page, results)


def _results() -> Results:
    banner = view("message", message(""), elem_id="banner")
    progress = view("progress", {"runs": []}, elem_id="progress")
    link = view("link", {"runs": []}, elem_id="link")
    scores = view("scores", None, elem_id="scores")
    gr.Markdown("### Right answers by the way of saying")
    bars = view("figure", {}, elem_id="bars")
    gr.Markdown("### Does the model know when it knows?")
    calibration_said = view("message", message(""), elem_id="calibration-said")
    calibration = view("figure", {}, elem_id="calibration")
    gr.Markdown("### Fact by fact")
    which = gr.Radio([], label="Model", visible=False, elem_id="which", interactive=True)
    heat = view("heatmap", None, elem_id="heat")
    with gr.Row(equal_height=True):
        back = gr.Button("← Previous facts", size="sm", elem_id="heat-previous", min_width=90)
        where = gr.Markdown("", elem_id="heat-where")
        forward = gr.Button("Next facts →", size="sm", elem_id="heat-next", min_width=90)
    detail = view("detail", {}, elem_id="detail")
    return Results(
        banner, link, progress, scores, bars, calibration_said, calibration, which, heat, back, where, forward, detail
    )


def _wire_heat_map(services: Services, page: Page, results: Results) -> None:
    """Turning pages, choosing a model, and opening a cell."""

    def previous(runs: list[str], chosen: int, number: int) -> tuple[Any, str, int]:
        return heat_map(services, runs[chosen], number - 1)

    def following(runs: list[str], chosen: int, number: int) -> tuple[Any, str, int]:
        return heat_map(services, runs[chosen], number + 1)

    def choose_model(runs: list[str], chosen: int) -> list[Any]:
        return [chosen, {}, *heat_map(services, runs[chosen], 0)]

    def open_answer(runs: list[str], chosen: int, event: gr.EventData) -> dict[str, Any]:
        return opened(services, runs[chosen], str(event._data.get("key", "")))

    shown, inputs = [results.heat, results.where, page.page], [page.runs, page.chosen, page.page]
    results.back.click(previous, inputs, shown, api_name="previous_facts", **AT_ONCE)
    results.forward.click(following, inputs, shown, api_name="next_facts", **AT_ONCE)
    results.which.input(
        choose_model,
        [page.runs, results.which],
        [page.chosen, results.detail, *shown],
        api_name="choose_model",
        **AT_ONCE,
    )
    results.heat.click(open_answer, [page.runs, page.chosen], results.detail, api_name="open_answer", **AT_ONCE)


def heat_map(services: Services, run: str, page: int) -> tuple[dict[str, Any], str, int]:
    """One page of the facts of a run, kept within the pages there are."""
    record = services.store.run(run)
    page = max(0, min(page, (record.facts - 1) // HEAT_PAGE))
    items = services.store.asked(run, facts=range(page * HEAT_PAGE, (page + 1) * HEAT_PAGE))
    return *live_views.heatmap(record, items, page, HEAT_PAGE), page


def opened(services: Services, run: str, key: str) -> dict[str, Any]:
    """The statement and answer at a position of a run; nothing for a key that is none."""
    found = services.store.asked(run, positions=[int(key)]) if re.fullmatch(r"\d{1,9}", key) else []
    if not found:
        return {}
    true = services.reports.true_fact(run, found[0].fact)
    demonstrations = services.store.demonstrations(run)
    return live_views.detail(services.store.run(run), found[0], true, demonstrations)
