"""What moves on the page while runs go on: Evaluate, Stop, Resume, and the clock by which the page looks at its runs."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import gradio as gr

from medfact import figures
from medfact.errors import MedfactError
from medfact.live import PACE, Live
from medfact.models import is_service
from medfact.spec import PROTOCOLS, RunSpec
from medfact.store import INTERRUPTED, PAUSED, RESUMABLE
from medfact.ui import live_views
from medfact.ui.evaluate_step import EvaluateStep, heat_map, last_page
from medfact.ui.facts_step import FactsStep
from medfact.ui.results_step import FIRST, ResultsStep, results_of
from medfact.ui.run_controls import FEWEST_SHOTS, MOST_MODELS, recorded, wire_price
from medfact.ui.services import Services, Source
from medfact.ui.statements_step import StatementsStep
from medfact.ui.view import AT_ONCE, QUIETLY, gathered, message, preprocessed
from medfact.ui.visitors import owner_of, owners_seen_by

ASKED_FOR = "(kept, asked) => [kept, new URLSearchParams(window.location.search).get('run') ?? '']"
"""Puts the runs of the page's address in place of the second input."""

WHAT_IS_DRAWN = "(...inputs) => [...inputs.slice(0, -1), window.medfact.drawn()]"
"""Puts the name of the last news that the page has drawn in place of the last input."""

SELDOM = 10.0
"""Seconds between two renewals of the papers' tables and curves while runs go on; they are large, and far down the page."""

STILL = {"going": False, "resumable": False, "moving": False, "pace": PACE}
"""What the buttons and the clock are told at first: nothing is asked, and the page need not look again."""


class Look(NamedTuple):
    """Components that say what a page shows and what it has, and those that take what is new."""

    inputs: list[Any]
    outputs: list[Any]


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
    page, shown, controls = evaluate.page, evaluate.results, evaluate.controls
    look = Look([page.runs, page.chosen, page.page, results.chosen, page.seen, page.drawn], [page.news, page.seen])
    tell = partial(news, services, demonstration)
    looking: dict[str, Any] = {"inputs": look.inputs, "outputs": look.outputs, "js": WHAT_IS_DRAWN, **AT_ONCE}
    page.clock.tick(tell, **looking, api_name="look", concurrency_limit=None, trigger_mode="once")
    begun = _wire_buttons(services, facts, statements, evaluate)
    begun.then(tell, **looking, api_name="look_at_once")
    moved = [controls.go, controls.stop, controls.resume, page.clock]
    page.news.click(_moved, page.seen, moved, api_name="moved", **AT_ONCE)
    _wire_choices(services, tell, evaluate, results, look)
    wire_price(services, controls, facts.source, statements.protocol, statements.pool)
    asked = gr.Textbox(visible=False)

    def reattach(request: gr.Request, kept: Sequence[str] | None, asked_for: str) -> list[Any]:
        runs, *attached = _reattach(services, demonstration, owners_seen_by(request), kept, asked_for)
        return [runs, *attached, *tell(runs, 0, 0, FIRST, {}, "")]

    attached = [page.runs, shown.which, shown.link, controls.said, *look.outputs]
    blocks.load(reattach, [page.kept, asked], attached, js=ASKED_FOR, api_name="reattach", **AT_ONCE)


def _wire_choices(services: Services, tell: Any, evaluate: EvaluateStep, results: ResultsStep, look: Look) -> None:
    """Turning the heat map's pages, choosing its model, choosing a paper: what is shown changes, and the page looks at once."""
    page, shown = evaluate.page, evaluate.results

    def turned(by: int, runs: list[str], chosen: int, number: int, *rest: Any) -> list[Any]:
        number = max(0, min(number + by, last_page(services.store.run(runs[chosen]))))
        return [number, *tell(runs, chosen, number, *rest)]

    def choose_model(runs: list[str], chosen: int, _: int, *rest: Any) -> list[Any]:
        return [chosen, 0, {}, *tell(runs, chosen, 0, *rest)]

    def choose_paper(runs: list[str], chosen: int, number: int, paper: str, *rest: Any) -> list[Any]:
        return [paper, *tell(runs, chosen, number, paper, *rest)]

    choosing: dict[str, Any] = {"js": WHAT_IS_DRAWN, **AT_ONCE}
    for button, by, name in ((shown.back, -1, "previous_facts"), (shown.forward, 1, "next_facts")):
        button.click(partial(turned, by), look.inputs, [page.page, *look.outputs], api_name=name, **choosing)
    of_model = [shown.which if one is page.chosen else one for one in look.inputs]
    outputs = [page.chosen, page.page, shown.detail, *look.outputs]
    shown.which.input(choose_model, of_model, outputs, api_name="choose_model", **choosing)
    of_paper = [results.choice if one is results.chosen else one for one in look.inputs]
    results.choice.input(choose_paper, of_paper, [results.chosen, *look.outputs], api_name="choose_paper", **choosing)


def _wire_buttons(services: Services, facts: FactsStep, statements: StatementsStep, evaluate: EvaluateStep) -> Any:
    """Evaluate, Stop, Resume, and the number of demonstrations that a method proposes; returns what may follow Evaluate."""
    page, shown, controls = evaluate.page, evaluate.results, evaluate.controls

    def begin(request: gr.Request, source: Source, protocol: str, pool: str, values: list[Any]) -> list[Any]:
        return _begin(services, owner_of(request), source, protocol, pool, *preprocessed(chosen, values))

    chosen = [controls.key, *controls.chosen]
    clicked, values = gathered(controls.go.click, chosen)
    begun = clicked.then(
        begin,
        [facts.source, statements.protocol, statements.pool, values],
        [controls.said, page.runs, page.kept, page.chosen, page.page, page.clock, shown.which, shown.detail, shown.link],
        api_name="evaluate",
        trigger_mode="once",
        concurrency_limit=2,  # planning takes the processor; other visitors' clicks come between
        **QUIETLY,
    )
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
    return begun


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
    """The runs of the page's address, else those that this browser showed last, else the demonstration; and what is to be said,
    which takes the place of nothing that was said meanwhile.
    """
    wanted = [run for run in (asked_for or "").split(",") if run][:MOST_MODELS]
    named = [run for run in wanted if services.has(run)]
    lost = len(wanted) - len(named)
    runs = named or [run for run in kept or [] if isinstance(run, str) and services.has(run)] or [demonstration]
    said = message("There is no run of that link; it may have been deleted.", "warn") if lost else _unfinished(services, owners)
    link = {"runs": [run for run in runs if run != demonstration]}
    return [runs, _which(services, runs), link, said if said["text"] else gr.skip()]


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
    chosen: int,
    page: int,
    paper: str,
    seen: dict[str, Any],
    drawn: str,
) -> list[dict[str, Any]]:
    """What is new of the runs since a page looked last, and what the page has seen with it.

    seen: what was chosen and the runs' versions at the last look, a fingerprint of each view's value, what the buttons were
    told, and when the papers' results are due again. drawn: the name of the last news that the page has drawn; if that was
    not the last that it was told, it is told everything.

    New are: the values of views that differ, by the ids of the views; and whether the buttons and the clock must change.
    """
    if seen.get("look") != drawn:
        seen = {}
    lives = [services.reports.live(run) for run in runs]
    moving = any(live.going or live.behind for live in lives)
    state = [chosen, page, paper, *((live.run.run, live.version) for live in lives)]
    as_it_was = state == seen.get("state")
    of = [*runs, paper]
    due = not any(live.going for live in lives) or of != seen.get("of") or time.monotonic() > seen["due"]
    values: dict[str, Any] = {"progress": live_views.progress(lives)}
    if not as_it_was:
        values |= _figures(lives, demonstration) | heat_map(services, runs[chosen], page)
        values |= results_of(lives, paper) if due else {}
    prints = {name: hash(json.dumps(value)) for name, value in values.items()}
    known = seen.get("prints", {})
    controls = _controls(services, lives, moving)
    look = secrets.token_hex(8)
    told = {
        "look": look,
        "views": {name: value for name, value in values.items() if prints[name] != known.get(name)},
        "moved": controls != seen.get("controls", STILL) or (as_it_was and not moving),
    }
    renewed = time.monotonic() + SELDOM if due and not as_it_was else seen["due"]
    has = {"look": look, "state": state, "prints": known | prints, "controls": controls, "of": of, "due": renewed}
    return [told, has]


def _figures(lives: Sequence[Live], demonstration: str) -> dict[str, Any]:
    """The scores and figures of the runs, by the names of their views."""
    reports = {label: live.figures for label, live in live_views.by_label(lives).items()}
    return {
        "scores": live_views.scores(lives),
        "bars": figures.accuracy_by_variant(reports),
        "calibration": figures.calibration(reports),
        "calibration-said": live_views.calibration_said(lives),
        "banner": message(live_views.DEMONSTRATION_BANNER if [live.run.run for live in lives] == [demonstration] else ""),
    }


def _controls(services: Services, lives: Sequence[Live], moving: bool) -> dict[str, Any]:
    return {
        "going": any(live.going for live in lives),
        "resumable": any(_may_go_on(live) for live in lives),
        "moving": moving,
        "pace": services.reports.pace() if moving else PACE,
    }


def _moved(seen: dict[str, Any]) -> list[Any]:
    """The buttons and the clock as the news said, not as the runs are by now: a page whose clock stopped before the last news
    came would never hear of them.
    """
    told = seen.get("controls", STILL)
    return [
        gr.Button(interactive=not told["going"]),
        gr.Button(interactive=told["going"]),
        gr.Button(visible=told["resumable"]),
        gr.Timer(told["pace"], active=told["moving"]),
    ]
