"""The buttons that move runs: Evaluate, Stop and Resume. What then happens is told by the news."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import gradio as gr

from medfact.errors import MedfactError
from medfact.models import is_service
from medfact.spec import PROTOCOLS, RunSpec
from medfact.web.evaluate_step import EvaluateStep
from medfact.web.facts_step import FactsStep
from medfact.web.run_controls import FEWEST_SHOTS, check_room, recorded, wire_price
from medfact.web.services import Services, Source
from medfact.web.statements_step import StatementsStep
from medfact.web.view import AT_ONCE, QUIETLY, gathered, message, preprocessed
from medfact.web.visitors import owner_of

RUNS_OF_THE_PAGE = "(...inputs) => [window.medfact.runs(), ...inputs.slice(1)]"
"""Puts the runs that the page shows in place of the first input."""

KEY_AS_TICKET = "async (key, ...values) => [[await window.medfact.ticket(key), ...values]]"
RESUMED_WITH_TICKET = "async (runs, key, budget) => [window.medfact.runs(), await window.medfact.ticket(key), budget]"
"""The same, or all values as one, with a ticket in place of the key: events of the page library are kept in its memory."""

BUTTONS_AS_TOLD = "() => window.medfact.buttons()"


def wire(services: Services, demonstration: str, facts: FactsStep, statements: StatementsStep, evaluate: EvaluateStep) -> None:
    """Wires the buttons, and what they and the number of demonstrations follow."""
    controls, shown = evaluate.controls, evaluate.shown

    def begin(request: gr.Request, source: Source, protocol: str, pool: str, values: list[Any]) -> list[Any]:
        return _begin(services, owner_of(request), source, protocol, pool, *preprocessed(chosen, values))

    def stop(runs: Sequence[str]) -> Any:
        return _stop(services, _moved(runs, demonstration))

    def resume(request: gr.Request, runs: Sequence[str], ticket: str, budget: float | None) -> list[Any]:
        return _resume(services, owner_of(request), _moved(runs, demonstration), ticket, budget)

    chosen = [controls.key, *controls.chosen]
    clicked, values = gathered(controls.go.click, chosen, js=KEY_AS_TICKET)
    clicked.then(
        begin,
        [facts.source, statements.protocol, statements.pool, values],
        [controls.said, shown],
        api_name="evaluate",
        trigger_mode="once",
        concurrency_limit=1,  # planning takes the processor; other visitors' clicks come between
        **QUIETLY,
    )
    runs = gr.JSON(visible=False)
    controls.stop.click(stop, runs, controls.stop, js=RUNS_OF_THE_PAGE, api_name="stop", **AT_ONCE)
    resuming = [runs, controls.key, controls.budget]
    controls.resume.click(resume, resuming, [controls.said, shown], js=RESUMED_WITH_TICKET, api_name="resume", **AT_ONCE)
    buttons = [controls.go, controls.stop, controls.resume]
    shown.click(None, None, buttons, js=BUTTONS_AS_TOLD, api_name="buttons", **AT_ONCE)
    statements.protocol.change(
        lambda name: FEWEST_SHOTS if name == RunSpec.protocol else PROTOCOLS[name].shots,
        statements.protocol,
        controls.shots,
        api_name="shots_of_method",
        **AT_ONCE,
    )
    wire_price(services, controls, facts.source, statements.protocol, statements.pool)


def _moved(runs: object, demonstration: str) -> list[str]:
    """The runs that a visitor may move: not the demonstration, which is everybody's."""
    return [run for run in runs if run != demonstration] if isinstance(runs, list) else []


def _begin(services: Services, owner: str, source: Source, protocol: str, pool: str, ticket: str, *chosen: Any) -> list[Any]:
    """Records one run per model and queues them. What is wrong is said, and nothing else changes."""
    try:
        runs = recorded(services, owner, source, protocol, pool, services.keys.take(owner, ticket), *chosen)
    except MedfactError as error:
        return [message(error.public, "warn"), gr.skip()]
    return [message(""), {"runs": runs}]


def _stop(services: Services, runs: Sequence[str]) -> Any:
    for run in filter(services.has, runs):
        services.jobs.stop(run)
    return gr.Button(interactive=False)


def _resume(services: Services, owner: str, runs: Sequence[str], ticket: str, budget: float | None) -> list[Any]:
    """Goes on with those of the runs that did not end, and asks failed calls again."""
    try:
        key = services.keys.take(owner, ticket)
        for run in filter(services.has, runs):
            if services.reports.live(run).resumable:
                check_room(services, services.run(run).owner, 1)
                service = is_service(services.run(run).model)
                services.jobs.submit(run, key if service else None, (budget or None) if service else None)
    except MedfactError as error:
        return [message(error.public, "warn"), gr.skip()]
    return [message(""), {"again": secrets.token_hex(4)}]
