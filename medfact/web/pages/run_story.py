"""The history of a run: what happened to it, what it was made from, and what of that has changed since."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from medfact.caching import shared_cache
from medfact.errors import MedfactError
from medfact.results import wording
from medfact.results.wording import describe_state
from medfact.runs.plan import changes
from medfact.store import (
    COMPLETE,
    DECIDED,
    FAILED_RUN,
    IMPORTED,
    INTERRUPTED,
    LENT_KEY,
    MADE_FROM_IMPORTED,
    NOTED,
    PAUSED,
    RUNNING,
    STOP_ASKED,
    STOPPED,
    WAITING,
    Run,
    RunEvent,
)
from medfact.views.fragments import render
from medfact.web.pages import Visitor
from medfact.web.services import Services

SHOWN_EVENTS = 100
LONGEST_EVENT = 600
"""Characters of what is said of one event."""

EVENTS = {
    WAITING: "recorded, with all its statements",
    RUNNING: "the model started",
    COMPLETE: "complete",
    STOPPED: "stopped by hand",
    DECIDED: "stopped early: decided",
    FAILED_RUN: "failed",
    PAUSED: "paused",
    NOTED: "noted",
    STOP_ASKED: "was asked to stop, from another program",
    IMPORTED: "brought here",
    LENT_KEY: "got a key of this server, with a budget in US dollars",
}
"""What happened to a run → what a person reads."""


def explain_state(state: str, reason: str | None) -> tuple[str, str]:
    """A state in a word or two, and what there is to say of it in general."""
    word, _, why = describe_state(state, reason).partition(": ")
    return word, why


def run_story(visitor: Visitor, run: Run, opened: str) -> Markup:
    """What happened to a run at last, what it was made from, and what of that has changed since it was recorded. opened: names
    this opening, so that its data is read once for it.
    """
    store = visitor.services.store
    events = store.events(run.run, most=SHOWN_EVENTS)
    told = [(one.at, _event(one), wording.shortened(one.said or "", LONGEST_EVENT)) for one in events]
    if run.state == INTERRUPTED:
        word, why = explain_state(INTERRUPTED, None)
        told.append((run.beat_at or run.started_at, f"last heard of; then {word}", why))
    earlier = store.count_events(run.run) - len(events)
    return render(
        "run_story",
        run=run,
        earlier=earlier,
        events=told,
        sources=_sources(run),
        changes=_changes(visitor.services, run.run, opened),
    )


def _event(one: RunEvent) -> str:
    if one.what == IMPORTED and one.said == MADE_FROM_IMPORTED:
        return "made here"
    return "stopped" if one.what == STOPPED and one.said else EVENTS.get(one.what, one.what)


@shared_cache(200)
def _changes(services: Services, run_id: str, _: str) -> tuple[str, ...]:
    """What has changed since a run was recorded."""
    run = services.run(run_id)
    try:
        return tuple(changes(run, services.data_of))
    except MedfactError as error:
        return (error.public,)


def _sources(run: Run) -> list[tuple[str, str, str]]:
    """What a run was made from: (name, explanation, value)."""
    spec = run.spec
    shot_seed = "the same seed" if spec.shot_seed is None else f"seed {spec.shot_seed}"
    draws = f", {spec.shot_draws} draws" if spec.shot_draws > 1 else ""
    origin = "from a file of yours" if spec.demonstrations else f"drawn with {shot_seed}"
    code = "a short code made from the content: the same content gives the same code"
    revision = "the version of the model; the same name may mean another model later"
    return [
        ("run", "the id of this run: anybody with it can open, watch and export the run", run.run),
        ("data", "the data set or file that the facts came from", run.dataset),
        ("fingerprint of the data", code, run.dataset_fingerprint),
        ("sentence templates", "the prototype pool: the sentence templates", wording.pool_title(run.pool)),
        ("seed", "the seed of all draws of facts and false partners", str(spec.seed)),
        (
            "worked examples",
            "shots: statements with right answers, shown before each statement",
            f"{run.shots}, {origin}{draws}" if run.shots else "none",
        ),
        ("model", "as it is named", run.model),
        ("model revision", revision, run.model_revision or "not known: the model was not loaded yet"),
        ("how it was asked", "decoding: how replies were made", _pairs(run.decoding)),
        ("versions", "of the programs that made the run", _pairs(run.versions)),
    ]


def _pairs(values: Any) -> str:
    words = {True: "yes", False: "no", None: "not set"}
    return " · ".join(
        f"{name.replace('_', ' ')}: {words[value] if value is None or isinstance(value, bool) else value}"
        for name, value in values.items()
    )
