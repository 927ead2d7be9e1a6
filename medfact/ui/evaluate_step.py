"""Step 3: ask one or more models, watch the numbers, and open any answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr

from medfact import figures
from medfact.errors import MedfactError
from medfact.live import PACE, Live, Version
from medfact.models import is_service
from medfact.spec import PROTOCOLS, RunSpec
from medfact.store import INTERRUPTED, PAUSED, RESUMABLE
from medfact.ui import live_views
from medfact.ui.facts_step import FactsStep
from medfact.ui.run_controls import FEWEST_SHOTS, MOST_MODELS, Controls, controls, recorded, wire_price
from medfact.ui.services import Services, Source
from medfact.ui.statements_step import StatementsStep
from medfact.ui.view import AT_ONCE, message, view
from medfact.ui.visitors import owner_of, owners_seen_by

HEAT_PAGE = 24
"""Facts on one page of the heat map."""

Shown = tuple[Version, ...]
"""Versions of the runs that a page shows already."""

ASKED_FOR = "(kept, asked) => [kept, new URLSearchParams(window.location.search).get('run') ?? '']"
"""Puts the runs of the page's address in place of the second input."""


@dataclass(frozen=True)
class EvaluateStep:
    """What the next step reads: the runs that are shown, and the events after which there may be something new of them."""

    runs: gr.State
    news: tuple[Any, ...]


@dataclass(frozen=True)
class _Results:
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
        fast=gr.Timer(PACE, active=False),
        slow=gr.Timer(2 * PACE, active=False),
    )
    results = _results()
    news = _wire_live(services, demonstration, blocks, facts, statements, chosen, page, results)
    wire_price(services, chosen, facts.source, statements.protocol, statements.pool)
    _wire_heat_map(services, page, results)
    return EvaluateStep(page.runs, news)


def _results() -> _Results:
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
    return _Results(
        banner, link, progress, scores, bars, calibration_said, calibration, which, heat, back, where, forward, detail
    )


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
        [results.progress, results.scores, page.seen_text, controls.go, controls.stop, controls.resume, page.fast],
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
    asked = gr.Textbox(visible=False)

    def reattach(request: gr.Request, kept: Sequence[str] | None, asked_for: str) -> list[Any]:
        return _reattach(services, demonstration, owners_seen_by(request), kept, asked_for)

    attached = [page.runs, results.which, results.link, controls.said, page.fast, page.slow]
    loaded = (
        blocks.load(reattach, [page.kept, asked], attached, js=ASKED_FOR, api_name="reattach", **AT_ONCE)
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

    def begin(request: gr.Request, *given: Any) -> list[Any]:
        return _begin(services, owner_of(request), *given)

    controls.go.click(
        begin,
        [facts.source, statements.protocol, statements.pool, controls.key, *controls.chosen],
        [controls.said, page.runs, page.kept, *seen, page.fast, page.slow, results.which, results.detail, results.link],
        api_name="evaluate",
        api_visibility="private",
        show_progress="hidden",
        concurrency_limit=2,  # planning takes the processor; other visitors' clicks come between
    ).then(*text, api_name="text_at_once", **AT_ONCE)
    controls.stop.click(partial(_stop, services), page.runs, controls.stop, api_name="stop", **AT_ONCE)
    controls.resume.click(
        partial(_resume, services),
        [page.runs, controls.key, controls.budget],
        [controls.said, controls.resume, page.fast, page.slow],
        api_name="resume",
        **AT_ONCE,
    )
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
        return _heat(services, runs[chosen], number - 1)

    def following(runs: list[str], chosen: int, number: int) -> tuple[Any, str, int]:
        return _heat(services, runs[chosen], number + 1)

    def choose_model(runs: list[str], chosen: int) -> list[Any]:
        return [chosen, {}, *_heat(services, runs[chosen], 0)]

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


# --------------------------------------------------------------------------------------------------- runs


def _begin(services: Services, owner: str, source: Source, protocol: str, pool: str, key: str, *chosen: Any) -> list[Any]:
    """Records one run per model and queues them. What is wrong is said, and nothing else changes."""
    try:
        runs = recorded(services, owner, source, protocol, pool, key, *chosen)
    except MedfactError as error:
        return [message(str(error), "warn"), *[gr.skip()] * 11]
    on = gr.Timer(active=True)
    return [message(""), runs, runs, 0, 0, (), (), on, on, _which(services, runs), {}, {"runs": runs}]


def _stop(services: Services, runs: Sequence[str]) -> Any:
    for run in runs:
        services.jobs.stop(run)
    return gr.Button(interactive=False)


def _resume(services: Services, runs: Sequence[str], key: str, budget: float | None) -> list[Any]:
    """Goes on with those of the runs that did not end, and asks failed calls again."""
    try:
        for run in runs:
            if _may_go_on(services.reports.live(run)):
                service = is_service(services.store.run(run).model)
                services.jobs.submit(run, (key or None) if service else None, (budget or None) if service else None)
    except MedfactError as error:
        return [message(str(error), "warn"), *[gr.skip()] * 3]
    return [message(""), gr.Button(visible=False), gr.Timer(active=True), gr.Timer(active=True)]


def _may_go_on(live: Live) -> bool:
    """Whether anything is left to ask of a run that nobody asks now."""
    return live.state in RESUMABLE or (not live.going and live.figures["failed"] > 0)


def _reattach(
    services: Services, demonstration: str, owners: Sequence[str], kept: Sequence[str] | None, asked_for: str
) -> list[Any]:
    """The runs of the page's address, else those that this browser showed last, else the demonstration."""
    wanted = [run for run in (asked_for or "").split(",") if run][:MOST_MODELS]
    named = [run for run in wanted if services.has(run)]
    lost = len(wanted) - len(named)
    runs = named or [run for run in kept or [] if isinstance(run, str) and services.has(run)] or [demonstration]
    said = message("There is no run of that link; it may have been deleted.", "warn") if lost else _unfinished(services, owners)
    on = gr.Timer(active=True)
    return [runs, _which(services, runs), {"runs": [run for run in runs if run != demonstration]}, said, on, on]


def _unfinished(services: Services, owners: Sequence[str]) -> dict[str, str]:
    """Says that runs of this visitor wait to be taken up again."""
    count = sum(run.state in {INTERRUPTED, PAUSED} for run in services.store.runs(*owners))
    if not count:
        return message("")
    runs = "One run of yours was" if count == 1 else f"{count} runs of yours were"
    return message(f"{runs} interrupted. What was answered is kept: open “Runs” above, and resume.", "warn")


def _which(services: Services, runs: Sequence[str]) -> Any:
    """The choice of a model for the heat map; there is nothing to choose of one."""
    names = live_views.labels([services.store.run(run) for run in runs])
    return gr.Radio([(name, place) for place, name in enumerate(names)], value=0, visible=len(runs) > 1)


# --------------------------------------------------------------------------------------------------- live


def _lives(services: Services, runs: Sequence[str]) -> list[Live]:
    return [services.reports.live(run) for run in runs]


def _shown(lives: Sequence[Live]) -> Shown:
    """What is shown of the runs; a running job's clock counts too, so that its rate stays true."""
    return tuple(live.version for live in lives)


def _text(services: Services, runs: Sequence[str], seen: Shown) -> list[Any]:
    """Progress and scores, if anything is new."""
    lives = _lives(services, runs)
    moving = any(live.going or live.behind for live in lives)
    if _shown(lives) == tuple(seen):
        how_far = live_views.progress(lives) if moving else gr.skip()
        return [how_far, *[gr.skip()] * 6]
    going = any(live.going for live in lives)
    return [
        live_views.progress(lives),
        live_views.scores(lives),
        _shown(lives),
        gr.Button(interactive=not going),
        gr.Button(interactive=going),
        gr.Button(visible=any(_may_go_on(live) for live in lives)),
        gr.Timer(services.reports.pace(), active=moving),
    ]


def _figures(services: Services, demonstration: str, runs: Sequence[str], seen: Shown, chosen: int, page: int) -> list[Any]:
    """Bars, calibration and the heat map, if anything is new."""
    lives = _lives(services, runs)
    if _shown(lives) == tuple(seen):
        return [gr.skip()] * 8
    reports = {label: live.figures for label, live in live_views.by_label(lives).items()}
    heat, where, _ = _heat(services, runs[chosen], page)
    return [
        figures.accuracy_by_variant(reports),
        figures.calibration(reports),
        live_views.calibration_said(lives),
        heat,
        where,
        message(live_views.DEMONSTRATION_BANNER if list(runs) == [demonstration] else ""),
        _shown(lives),
        gr.Timer(2 * services.reports.pace(), active=any(live.going or live.behind for live in lives)),
    ]


def _heat(services: Services, run: str, page: int) -> tuple[dict[str, Any], str, int]:
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
