"""What the buttons of Evaluate do with runs: begin, repeat, stop and resume them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from medfact.errors import Mistake
from medfact.models import is_service
from medfact.runs.racing import still_racing
from medfact.runs.start import start_again
from medfact.web.inputs.setup import check_room
from medfact.web.inputs.setup import evaluate as begin
from medfact.web.pages import Action, Message, Visitor, setup

if TYPE_CHECKING:
    from medfact.web.pages.evaluate import EvaluateShow


def evaluate(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Records one run a model and queues them."""
    if show.pending or show.uploading:
        raise Mistake(show.pending or f"{show.uploading} is being uploaded.", "Wait, or use the bundled facts.")
    chosen = setup.setup_in(show)
    with visitor.services.planning:
        runs = begin(visitor.services, visitor.owner, chosen, action.fields.get("key", "").strip() or None, visitor.reviewers)
    return show.model_copy(update={"run": ",".join(runs), "chosen": 0, "page": 0, "fact": -1, "unfolded": False}), Message()


def again(visitor: Visitor, show: EvaluateShow, _: Action) -> tuple[EvaluateShow, Message]:
    """Records the shown runs anew, from their records, and queues them. Models behind a service are set up again instead."""
    services = visitor.services
    runs = [run for run in show.run.split(",") if services.asked(run) and not is_service(services.run(run).model)]
    check_room(services, visitor.owner, len(runs), [services.run(run).model for run in runs])
    with services.planning:
        new = [start_again(run, services.store.of(visitor.owner)) for run in runs]
    for run in new:
        services.jobs.submit(run)
    return show.model_copy(update={"run": ",".join(new) or show.run, "page": 0, "fact": -1}), Message()


def _own(visitor: Visitor, show: EvaluateShow) -> list[str]:
    """Those of the shown runs that the visitor may stop and resume. Raises Mistake where there is none."""
    runs = [run for run in show.run.split(",") if visitor.services.asked(run)]
    own = [run for run in runs if visitor.services.run(run).owner in visitor.owners]
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
    lives = [visitor.services.reports.live(run) for run in _own(visitor, show)]
    records = [live.run for live in lives if live.resumable]
    asking = {record.run: (key, budget) if is_service(record.model) else (None, None) for record in records}
    for record in records:
        check_room(visitor.services, record.owner, 1, [record.model])
    if racing := [record.run for record in still_racing(records)]:
        visitor.services.jobs.submit_race({run: asking[run] for run in racing})
        return show, Message()
    for run, (of_service, dollars) in asking.items():
        visitor.services.jobs.submit(run, of_service, dollars)
    return show, Message()


def _dollars(text: str) -> float | None:
    try:
        return float(text) or None
    except ValueError:
        return None
