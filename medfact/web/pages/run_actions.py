"""What the buttons of Evaluate do with runs: begin, repeat, stop and resume them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from medfact.bounds import check_number
from medfact.errors import Mistake
from medfact.models import is_service
from medfact.runs.racing import of_one_race, racing_specs, still_racing
from medfact.runs.start import start_again
from medfact.store import Run
from medfact.web.inputs.setup import MOST_MODELS, check_room, pairs_of
from medfact.web.inputs.setup import evaluate as begin
from medfact.web.pages import Action, Message, Visitor, setup

if TYPE_CHECKING:
    from medfact.web.pages.evaluate import EvaluateShow

Asking = tuple[str | None, float | None]
"""The key and the budget of a run."""


def evaluate(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Records one run a model and queues them."""
    if show.pending or show.uploading:
        raise Mistake(show.pending or f"{show.uploading} is being uploaded.", "Wait, or use the bundled facts.")
    chosen = setup.setup_in(show)
    runs = begin(visitor.services, visitor.owner, chosen, action.fields.get("key", "").strip() or None, visitor.reviewers)
    return show.model_copy(update={"run": ",".join(runs), "chosen": 0, "page": 0, "fact": -1, "unfolded": False}), Message()


def again(visitor: Visitor, show: EvaluateShow, _: Action) -> tuple[EvaluateShow, Message]:
    """Records the shown runs anew, from their records, and queues them; those that raced race again. Models behind a service
    are set up again instead.
    """
    services = visitor.services
    records = [record for record in map(services.run, _shown(visitor, show)) if not is_service(record.model)]
    raced = of_one_race(records)
    specs = [replace(record.spec, race=None, racers=0) for record in records]
    specs = racing_specs(specs) if raced else specs
    with services.planning:
        _check_room(visitor, visitor.owner, records)
        store = services.store.of(visitor.owner)
        new = [start_again(record.run, store, spec) for record, spec in zip(records, specs, strict=True)]
        _submit(visitor, dict.fromkeys(new, (None, None)), new if raced else [])
    return show.model_copy(update={"run": ",".join(new) or show.run, "page": 0, "fact": -1}), Message()


def _shown(visitor: Visitor, show: EvaluateShow) -> list[str]:
    """The runs that are shown and there."""
    shown = [run for run in dict.fromkeys(show.run.split(",")) if run][:MOST_MODELS]
    return [run for run in shown if visitor.services.asked(run)]


def _check_room(visitor: Visitor, owner: str, records: Sequence[Run]) -> None:
    pairs = max((pairs_of(record.spec, record.facts) for record in records), default=0)
    statements = max((record.statements for record in records), default=0)
    check_room(visitor.services, owner, len(records), [record.model for record in records], pairs, statements)


def _submit(visitor: Visitor, asking: Mapping[str, Asking], racing: Sequence[str]) -> None:
    """Queues runs, each with the key and the budget of its service; some of them race."""
    jobs = visitor.services.jobs
    if racing:
        jobs.submit_race({run: asking[run] for run in racing})
    for run, (key, budget) in asking.items():
        if run not in racing:
            jobs.submit(run, key, budget)


def _own(visitor: Visitor, show: EvaluateShow) -> list[str]:
    """Those of the shown runs that the visitor may stop and resume. Raises Mistake where there is none."""
    own = [run for run in _shown(visitor, show) if visitor.services.run(run).owner in visitor.owners]
    if not own:
        raise Mistake("These runs are not yours to stop or resume.", "Open them in the browser that started them.")
    return own


def stop(visitor: Visitor, show: EvaluateShow, _: Action) -> tuple[EvaluateShow, Message]:
    """Stops the visitor's runs among those shown."""
    for run in _own(visitor, show):
        visitor.services.jobs.stop(run)
    return show, Message()


def resume(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Goes on with those of the runs that did not end, and asks failed calls again."""
    key = action.fields.get("key", "").strip() or None
    budget = _dollars(action.fields.get("budget", ""))
    with visitor.services.planning:
        lives = [visitor.services.reports.live(run) for run in _own(visitor, show)]
        records = [live.run for live in lives if live.resumable]
        for owner in dict.fromkeys(record.owner for record in records):
            _check_room(visitor, owner, [record for record in records if record.owner == owner])
        asking = {record.run: (key, budget) if is_service(record.model) else (None, None) for record in records}
        _submit(visitor, asking, [record.run for record in still_racing(records)])
    return show, Message()


def _dollars(text: str) -> float | None:
    """A budget as it is typed, None for any sum. Raises Mistake where it is none."""
    try:
        dollars = float(text) or None
    except ValueError:
        return None
    check_number("spec.budget", dollars)
    return dollars
