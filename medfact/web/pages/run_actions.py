"""What the buttons of Evaluate do with runs: begin, repeat, stop and resume them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from medfact.errors import Mistake, ModelError
from medfact.models import ServiceSettings, key_for, provider_of, service_of
from medfact.models.services.policy import hosts_of
from medfact.runs.plan import files_of, opens_files
from medfact.runs.racing import of_one_race, racing_specs, still_racing
from medfact.runs.run_model import check_source
from medfact.runs.start import recorded_plan, start_again
from medfact.spec import BOUNDS
from medfact.store import Run
from medfact.web.inputs.room import check_room, pairs_of
from medfact.web.inputs.setup import MOST_MODELS
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
    records = [record for record in map(services.run, _shown(visitor, show)) if not provider_of(record.model).is_remote]
    for record in records:
        _check_sources(visitor, record)
    raced = of_one_race(records)
    specs = [record.spec.chosen(race=None, racers=0) for record in records]
    specs = racing_specs(specs) if raced else specs
    with services.planning:
        _check_room(visitor, visitor.owner, records)
        store = services.store.of(visitor.owner)
        new = [start_again(record.run, store, spec) for record, spec in zip(records, specs, strict=True)]
        _submit(visitor, dict.fromkeys(new, (None, None)), new if raced else [])
    return show.model_copy(update={"run": ",".join(new) or show.run, "page": 0, "fact": -1}), Message()


def _check_sources(visitor: Visitor, record: Run) -> None:
    """Raises Mistake where a repeated run would open what only a run's file, or another visitor, has named."""
    check_source(record)
    theirs = record.owner not in visitor.owners
    if theirs and files_of(record.spec) and opens_files(record.spec, recorded_plan(record, visitor.services.store)):
        visitor.services.check_files(visitor.owner, record.spec)


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
        if key and len(hosts := services_of(records)) > 1:
            raise Mistake(f"These runs ask {' and '.join(hosts)}, and a key is for one of them.", "Resume them one by one.")
        for owner in dict.fromkeys(record.owner for record in records):
            _check_room(visitor, owner, [record for record in records if record.owner == owner])
        asking = {record.run: (key_for(record.model, key), budget) for record in records}
        _submit(visitor, asking, [record.run for record in still_racing(records)])
    return show, Message()


def services_of(records: Sequence[Run]) -> list[str]:
    """The services that runs ask, each once: the names of their hosts."""
    asked = (service_of(record.model, record.spec.service) for record in records)
    by_address = {(one.base_url, one.replicas): one for one in asked if one is not None}
    return [_hosts(service) for service in by_address.values()]


def _hosts(service: ServiceSettings) -> str:
    try:
        return ", ".join(hosts_of(service))
    except ModelError:  # an old record may hold what is no address
        return "a service without an address"


def _dollars(text: str) -> float | None:
    """A budget that was typed; None for any sum. Raises Mistake for what is no sum."""
    if not text.strip():
        return None
    try:
        dollars = float(text) or None
    except ValueError:
        raise Mistake(f"{text[:40]!r} is not an amount to spend.", "Give the budget in US dollars, such as 5.") from None
    BOUNDS["spec.budget"].check(dollars)
    return dollars
