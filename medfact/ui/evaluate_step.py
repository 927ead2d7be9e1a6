"""Step 3: ask one or more models, watch the numbers, and open any answer."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr

from medfact import figures
from medfact.errors import MedfactError
from medfact.report import Live
from medfact.spec import PROTOCOLS, RunSpec
from medfact.ui import live_views
from medfact.ui.facts_step import FactsStep
from medfact.ui.run_controls import FEWEST_SHOTS, Controls, controls, recorded, wire_price
from medfact.ui.services import Services, Source
from medfact.ui.statements_step import StatementsStep
from medfact.ui.view import AT_ONCE, message, view

HEAT_PAGE = 24
"""Facts on one page of the heat map."""

Shown = tuple[int, ...]
"""Versions of the runs that a page shows already."""


@dataclass(frozen=True)
class EvaluateStep:
    """What the next step reads: the runs that are shown, and the events after which there may be something new of them."""

    runs: gr.State
    news: tuple[Any, ...]


@dataclass(frozen=True)
class _Results:
    """What a run moves."""

    banner: gr.HTML
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
class _Page:
    """What this browser shows: runs, which of them in the heat map and on which page, and the versions drawn already."""

    runs: gr.State
    kept: gr.BrowserState
    chosen: gr.State
    page: gr.State
    seen_text: gr.State
    seen_figures: gr.State
    fast: gr.Timer
    slow: gr.Timer


def build(
    services: Services, facts: FactsStep, statements: StatementsStep, demonstration: str, blocks: gr.Blocks
) -> EvaluateStep:
    """Lays the step out and wires it. `demonstration` is the run that a first visitor sees."""
    gr.Markdown(
        "## 3 · Evaluate\nA model says true or false to each statement. A fact counts as mastered only when *all eight* "
        "answers are right."
    )
    chosen = controls()
    page = _Page(
        runs=gr.State([demonstration]),
        kept=gr.BrowserState([], storage_key="medfact-runs", secret="medfact"),
        chosen=gr.State(0),
        page=gr.State(0),
        seen_text=gr.State(()),
        seen_figures=gr.State(()),
        fast=gr.Timer(0.25, active=False),
        slow=gr.Timer(0.6, active=False),
    )
    results = _results()
    news = _wire_live(services, demonstration, blocks, facts, statements, chosen, page, results)
    wire_price(services, chosen, facts.source, statements.protocol, statements.pool)
    _wire_heat_map(services, page, results)
    return EvaluateStep(page.runs, news)


def _results() -> _Results:
    banner = view("message", message(""), elem_id="banner")
    progress = view("progress", {"runs": []}, elem_id="progress")
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
    return _Results(banner, progress, scores, bars, calibration_said, calibration, which, heat, back, where, forward, detail)


Handler = tuple[Any, list[Any], list[Any]]
"""A function, the components that it reads, and those that it moves."""


def _wire_live(
    services: Services,
    demonstration: str,
    blocks: gr.Blocks,
    facts: FactsStep,
    statements: StatementsStep,
    controls: Controls,
    page: _Page,
    results: _Results,
) -> tuple[Any, ...]:
    """Evaluate, Stop, the two clocks, and what happens after a (re)load. Returns the events after which figures are new."""
    text: Handler = (
        partial(_text, services),
        [page.runs, page.seen_text],
        [results.progress, results.scores, page.seen_text, controls.go, controls.stop, page.fast],
    )
    moved = [results.bars, results.calibration, results.calibration_said, results.heat, results.where, results.banner]
    drawn: Handler = (
        partial(_figures, services, demonstration),
        [page.runs, page.seen_figures, page.chosen, page.page],
        [*moved, page.seen_figures, page.slow],
    )
    clock: dict[str, Any] = {**AT_ONCE, "concurrency_limit": None, "trigger_mode": "once"}
    page.fast.tick(*text, api_name="text", **clock)
    ticked = page.slow.tick(*drawn, api_name="figures", **clock)
    _wire_buttons(services, facts, statements, controls, page, results, text)
    attached = [page.runs, results.which, page.fast, page.slow]
    loaded = (
        blocks.load(partial(_reattach, services, demonstration), page.kept, attached, api_name="reattach", **AT_ONCE)
        .then(*text, api_name="text_on_load", **AT_ONCE)
        .then(*drawn, api_name="figures_on_load", **AT_ONCE)
    )
    return ticked, loaded


def _wire_buttons(
    services: Services,
    facts: FactsStep,
    statements: StatementsStep,
    controls: Controls,
    page: _Page,
    results: _Results,
    text: Handler,
) -> None:
    """Evaluate, Stop, and the number of demonstrations that a method proposes."""
    seen = [page.chosen, page.page, page.seen_text, page.seen_figures]
    controls.go.click(
        partial(_begin, services),
        [facts.source, statements.protocol, statements.pool, controls.key, *controls.chosen],
        [controls.said, page.runs, page.kept, *seen, page.fast, page.slow, results.which, results.detail],
        api_name="evaluate",
        api_visibility="private",
        show_progress="hidden",
        concurrency_limit=None,
    ).then(*text, api_name="text_at_once", **AT_ONCE)
    controls.stop.click(partial(_stop, services), page.runs, controls.stop, api_name="stop", **AT_ONCE)
    statements.protocol.change(
        lambda name: FEWEST_SHOTS if name == RunSpec.protocol else PROTOCOLS[name].shots,
        statements.protocol,
        controls.shots,
        api_name="shots_of_method",
        **AT_ONCE,
    )


def _wire_heat_map(services: Services, page: _Page, results: _Results) -> None:
    """Turning pages, choosing a model, and opening a cell."""

    def previous(runs: list[str], chosen: int, number: int) -> tuple[Any, str, int]:
        return _heat(services.reports.live(runs[chosen]), number - 1)

    def following(runs: list[str], chosen: int, number: int) -> tuple[Any, str, int]:
        return _heat(services.reports.live(runs[chosen]), number + 1)

    def choose_model(runs: list[str], chosen: int) -> list[Any]:
        return [chosen, {}, *_heat(services.reports.live(runs[chosen]), 0)]

    def open_answer(runs: list[str], chosen: int, event: gr.EventData) -> dict[str, Any]:
        return _answer(services, runs[chosen], str(event._data.get("key", "")))

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


# --------------------------------------------------------------------------------------------------- runs


def _begin(services: Services, source: Source, protocol: str, pool: str, key: str, *chosen: Any) -> list[Any]:
    """Records one run per model and queues them. What is wrong is said, and nothing else changes."""
    try:
        runs = recorded(services, source, protocol, pool, key, *chosen)
    except MedfactError as error:
        return [message(str(error), "warn"), *[gr.skip()] * 10]
    on = gr.Timer(active=True)
    return [message(""), runs, runs, 0, 0, (), (), on, on, _which(services, runs), {}]


def _stop(services: Services, runs: Sequence[str]) -> Any:
    for run in runs:
        services.jobs.stop(run)
    return gr.Button(interactive=False)


def _reattach(services: Services, demonstration: str, kept: Sequence[str] | None) -> list[Any]:
    runs = [run for run in kept or [] if isinstance(run, str) and _exists(services, run)] or [demonstration]
    return [runs, _which(services, runs), gr.Timer(active=True), gr.Timer(active=True)]


def _exists(services: Services, run: str) -> bool:
    try:
        return services.store.run(run).run == run
    except MedfactError:
        return False


def _which(services: Services, runs: Sequence[str]) -> Any:
    names = [(services.reports.live(run).run.model, number) for number, run in enumerate(runs)]
    return gr.Radio(names, value=0, visible=len(names) > 1)


# --------------------------------------------------------------------------------------------------- live


def _lives(services: Services, runs: Sequence[str]) -> list[Live]:
    return [services.reports.live(run) for run in runs]


def _versions(services: Services, runs: Sequence[str]) -> Shown:
    """What there is to show of the runs; a running job's clock counts too, so that its rate stays true."""
    return tuple(itertools.chain.from_iterable((services.reports.version(run), 1) for run in runs))


def _text(services: Services, runs: Sequence[str], seen: Shown) -> list[Any]:
    """Progress and scores, if anything is new."""
    versions = _versions(services, runs)
    if versions == tuple(seen):
        return [gr.skip()] * 6
    lives = _lives(services, runs)
    going = any(live_views.is_going(live) for live in lives)
    return [
        live_views.progress(lives),
        live_views.scores(lives),
        versions,
        gr.Button(interactive=not going),
        gr.Button(interactive=going),
        gr.Timer(active=going),
    ]


def _figures(services: Services, demonstration: str, runs: Sequence[str], seen: Shown, chosen: int, page: int) -> list[Any]:
    """Bars, calibration and the heat map, if anything is new."""
    versions = _versions(services, runs)
    if versions == tuple(seen):
        return [gr.skip()] * 8
    lives = _lives(services, runs)
    reports = {f"{live.run.model}": live.figures for live in lives}
    heat, where, _ = _heat(lives[chosen], page)
    return [
        figures.accuracy_by_variant(reports),
        figures.calibration(reports),
        live_views.calibration_said(lives),
        heat,
        where,
        message(live_views.DEMONSTRATION_BANNER if list(runs) == [demonstration] else ""),
        versions,
        gr.Timer(active=any(live_views.is_going(live) for live in lives)),
    ]


def _heat(live: Live, page: int) -> tuple[dict[str, Any], str, int]:
    return live_views.heatmap(live, page, HEAT_PAGE)


def _answer(services: Services, run: str, key: str) -> dict[str, Any]:
    """The statement and answer of the cell that was chosen; nothing for a key that no cell has."""
    live = services.reports.live(run)
    if not key.isdecimal() or int(key) >= len(live.asked):
        return {}
    return live_views.detail(live, live.asked[int(key)], services.store.demonstrations(run))
