"""What moves on the page while runs go on: Evaluate, Stop, Resume, and the clock by which the page looks at its runs."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from functools import partial
from operator import eq
from typing import Any

import gradio as gr

from medfact import figures
from medfact.errors import MedfactError
from medfact.live import Live
from medfact.models import is_service
from medfact.spec import PROTOCOLS, RunSpec
from medfact.store import INTERRUPTED, PAUSED, RESUMABLE
from medfact.ui import live_views
from medfact.ui.evaluate_step import EvaluateStep, heat_map
from medfact.ui.facts_step import FactsStep
from medfact.ui.results_step import FIRST, PLACES, ResultsStep, drawn
from medfact.ui.run_controls import FEWEST_SHOTS, MOST_MODELS, recorded, wire_price
from medfact.ui.services import Services, Source
from medfact.ui.statements_step import StatementsStep
from medfact.ui.view import AT_ONCE, QUIETLY, gathered, message, preprocessed
from medfact.ui.visitors import owner_of, owners_seen_by

ASKED_FOR = "(kept, asked) => [kept, new URLSearchParams(window.location.search).get('run') ?? '']"
"""Puts the runs of the page's address in place of the second input."""

VIEWS = 7 + PLACES
"""Components that show something of the runs."""

REST = 6
"""Where the heat map is, three buttons, the clock, and what the page has seen."""

SELDOM = 10.0
"""Seconds between two renewals of the papers' tables and curves while runs go on; they are large, and far down the page."""

Handler = tuple[Any, list[Any], list[Any]]
"""A function, the components that it reads, and those that it moves."""


def wire(
    services: Services,
    demonstration: str,
    blocks: gr.Blocks,
    facts: FactsStep,
    statements: StatementsStep,
    evaluate: EvaluateStep,
    results: ResultsStep,
) -> None:
    """Wires the buttons, the clock, and what happens after a (re)load."""
    look = _look(services, demonstration, evaluate, results)
    page, shown, controls = evaluate.page, evaluate.results, evaluate.controls
    page.clock.tick(*look, api_name="look", concurrency_limit=None, trigger_mode="once", **AT_ONCE)
    _wire_buttons(services, facts, statements, evaluate, look)
    wire_price(services, controls, facts.source, statements.protocol, statements.pool)
    asked = gr.Textbox(visible=False)

    def reattach(request: gr.Request, kept: Sequence[str] | None, asked_for: str) -> list[Any]:
        runs, *attached = _reattach(services, demonstration, owners_seen_by(request), kept, asked_for)
        return [runs, *attached, *news(services, demonstration, runs, {}, 0, 0, FIRST)]

    attached = [page.runs, shown.which, shown.link, controls.said, *look[-1]]
    blocks.load(reattach, [page.kept, asked], attached, js=ASKED_FOR, api_name="reattach", **AT_ONCE)


def _look(services: Services, demonstration: str, evaluate: EvaluateStep, results: ResultsStep) -> Handler:
    page, shown, controls = evaluate.page, evaluate.results, evaluate.controls
    views = [shown.progress, shown.scores, shown.bars, shown.calibration, shown.calibration_said, shown.banner]
    return (
        partial(news, services, demonstration),
        [page.runs, page.seen, page.chosen, page.page, results.chosen],
        [*views, shown.heat, *results.places, shown.where, controls.go, controls.stop, controls.resume, page.clock, page.seen],
    )


def _wire_buttons(
    services: Services, facts: FactsStep, statements: StatementsStep, evaluate: EvaluateStep, look: Handler
) -> None:
    """Evaluate, Stop, Resume, and the number of demonstrations that a method proposes."""
    page, shown, controls = evaluate.page, evaluate.results, evaluate.controls

    def begin(request: gr.Request, source: Source, protocol: str, pool: str, values: list[Any]) -> list[Any]:
        return _begin(services, owner_of(request), source, protocol, pool, *preprocessed(chosen, values))

    chosen = [controls.key, *controls.chosen]
    clicked, values = gathered(controls.go.click, chosen)
    clicked.then(
        begin,
        [facts.source, statements.protocol, statements.pool, values],
        [controls.said, page.runs, page.kept, page.chosen, page.page, page.clock, shown.which, shown.detail, shown.link],
        api_name="evaluate",
        trigger_mode="once",
        concurrency_limit=2,  # planning takes the processor; other visitors' clicks come between
        **QUIETLY,
    ).then(*look, api_name="look_at_once", **AT_ONCE)
    controls.stop.click(partial(_stop, services), page.runs, controls.stop, api_name="stop", **AT_ONCE)
    controls.resume.click(
        partial(_resume, services),
        [page.runs, controls.key, controls.budget],
        [controls.said, controls.resume, page.clock],
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


def _begin(services: Services, owner: str, source: Source, protocol: str, pool: str, key: str, *chosen: Any) -> list[Any]:
    """Records one run per model and queues them. What is wrong is said, and nothing else changes."""
    try:
        runs = recorded(services, owner, source, protocol, pool, key, *chosen)
    except MedfactError as error:
        return [message(str(error), "warn"), *[gr.skip()] * 8]
    return [message(""), runs, runs, 0, 0, gr.Timer(active=True), _which(services, runs), {}, {"runs": runs}]


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
        return [message(str(error), "warn"), *[gr.skip()] * 2]
    return [message(""), gr.Button(visible=False), gr.Timer(active=True)]


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
    link = {"runs": [run for run in runs if run != demonstration]}
    return [runs, _which(services, runs), link, said]


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


def news(
    services: Services,
    demonstration: str,
    runs: Sequence[str],
    seen: dict[str, Any],
    chosen: int,
    page: int,
    paper: str,
) -> list[Any]:
    """What is new of the runs since a page looked last, for the outputs of `_look`; nothing of what it has already.

    seen: what was chosen and the runs' versions at the last look, a fingerprint of each view's value, and when the papers'
    results are due again.
    """
    lives = [services.reports.live(run) for run in runs]
    moving = any(live.going or live.behind for live in lives)
    state = [chosen, page, paper, *((live.run.run, live.version) for live in lives)]
    if state == seen.get("state"):
        how_far = live_views.progress(lives) if moving else gr.skip()
        return [how_far, *[gr.skip()] * (VIEWS - 1 + REST)]
    going, of = any(live.going for live in lives), [*runs, paper]
    due = not going or of != seen.get("of") or time.monotonic() > seen["due"]
    heat, where, _ = heat_map(services, runs[chosen], page)
    views = [*_values(lives, demonstration), heat, *(drawn(lives, paper) if due else [gr.skip()] * PLACES)]
    prints = [hash(json.dumps(value)) for value in views]
    known = seen.get("prints") or [None] * VIEWS
    return [
        *(gr.skip() if is_known else value for value, is_known in zip(views, map(eq, prints, known), strict=True)),
        where,
        gr.Button(interactive=not going),
        gr.Button(interactive=going),
        gr.Button(visible=any(_may_go_on(live) for live in lives)),
        gr.Timer(services.reports.pace(), active=moving),
        {"state": state, "prints": prints, "of": of, "due": time.monotonic() + SELDOM if due else seen["due"]},
    ]


def _values(lives: Sequence[Live], demonstration: str) -> list[dict[str, Any]]:
    """The values of the views that show the runs, in the order of `_look`."""
    reports = {label: live.figures for label, live in live_views.by_label(lives).items()}
    return [
        live_views.progress(lives),
        live_views.scores(lives),
        figures.accuracy_by_variant(reports),
        figures.calibration(reports),
        live_views.calibration_said(lives),
        message(live_views.DEMONSTRATION_BANNER if [live.run.run for live in lives] == [demonstration] else ""),
    ]
