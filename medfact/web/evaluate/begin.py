"""Runs that a visitor begins: admitted, recorded and queued, repeated, stopped, resumed, or priced."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from math import isinf
from urllib.parse import urlsplit

from medfact.errors import Mistake, ModelError
from medfact.facts import digest
from medfact.limits import limits
from medfact.models import check_spec, is_local, key_for, provider_of, service_of
from medfact.models.pressure import calls_of
from medfact.models.services.addresses import parsed_address
from medfact.models.services.policy import address_of, check_new_run
from medfact.runs.checks import check_settings
from medfact.runs.jobs.manager import minutes_are_used_up
from medfact.runs.plan import files_of, opens_files, too_many_statements
from medfact.runs.racing import of_one_race, racing_specs, still_racing
from medfact.runs.run_model import check_source
from medfact.runs.start import recorded_plan, start_again, start_planned
from medfact.spec import BOUNDS, PROTOCOLS, RunSpec
from medfact.store import Run
from medfact.web.evaluate.form import MOST_MODELS, EvaluateShow, ModelRow, Setup, changed, setup_in
from medfact.web.evaluate.rows import Asking, check_left, key_in, lent_key, tried_rows, with_lent_keys
from medfact.web.evaluate.spec import PlannedRun, planned_runs
from medfact.web.pace import ADDRESS_TIMES
from medfact.web.pages import Act, Action, Message, Visitor
from medfact.web.services import Services


def pairs_of(spec: RunSpec, facts: int) -> int:
    """How many pairs of a true fact and its false partners so many facts are, whether drawn or brought in a file."""
    protocol = PROTOCOLS.get(spec.protocol)
    negatives = spec.negatives if spec.negatives is not None else protocol.negatives if protocol else 0
    return facts // (1 + negatives)


def check_room(
    services: Services, owner: str, more: int, models: Sequence[str] = (), pairs: int = 0, statements: int = 0
) -> None:
    """Raises Mistake where a visitor, or the server, has no room for so many more runs that are asked or wait; where the
    visitor's statements of this hour, or minutes of models on this server, are used up; or where a run has too many pairs or
    statements. models: of the runs, which begin at once; () to ask beforehand.
    """
    _check_hour(services, owner, limits().quota_for(owner).statements_an_hour)
    _check_counts(services, owner, more, models, pairs, statements)


def room_for(
    services: Services, owner: str, more: int, models: Sequence[str], pairs: int, statements: int
) -> AbstractContextManager[None]:
    """Room for so many more runs, which count as going while they are begun. Raises Mistake as `check_room` does."""
    _check_hour(services, owner, limits().quota_for(owner).statements_an_hour)
    check = partial(_check_counts, services, owner, more, models, pairs, statements)
    return services.beginnings.counted(owner, more, check)


def _check_counts(services: Services, owner: str, more: int, models: Sequence[str], pairs: int, statements: int) -> None:
    """What can be checked without the database."""
    share, going = limits().quota_for(owner), services.going(owner)
    if going + more > share.runs_going:
        raise Mistake(
            f"You have {going} unfinished runs; this server allows {share.runs_going:,.0f}.",
            "Wait for some to end, or stop some.",
        )
    if services.going() + more > limits().in_all.runs_going:
        raise Mistake("The server's queue is full.", "Try again in a few minutes.")
    if pairs > share.pairs_a_run:
        raise Mistake(
            f"{pairs:,} true facts are chosen.",
            f"Choose at most {share.pairs_a_run:,.0f} on this server; false facts of a file's own count, too.",
        )
    if statements > share.statements_a_run:
        raise too_many_statements(share.statements_a_run)
    if any(map(is_local, models)) and services.jobs.local_minutes_left(owner) <= 0:
        raise minutes_are_used_up(owner)
    _check_neighbours(services, owner, more, models)
    if models:
        services.neighbours.begins(owner)


def _check_hour(services: Services, owner: str, most: float) -> None:
    """Raises Mistake where a visitor has begun runs of as many statements within an hour as this server allows."""
    if isinf(most):
        return
    hour_ago = (datetime.now(UTC) - timedelta(hours=1)).isoformat(timespec="milliseconds")
    if (begun := services.store.disk.statements_begun(owner, hour_ago)) >= most:
        raise Mistake(
            f"Your runs of the last hour ask {begun:,} statements; this server begins no more after {most:,.0f}.",
            "Wait up to an hour, or export a run and go on with medfact on your own machine.",
        )


def _check_neighbours(services: Services, owner: str, more: int, models: Sequence[str]) -> None:
    """Raises Mistake where the visitors of one network address, whoever they say they are, have no room for more runs."""
    share = limits().quota_for(owner)
    going, most = services.neighbours.going(owner, services.going), share.runs_going * ADDRESS_TIMES
    if going + more > most:
        raise Mistake(
            f"Visitors at your network address have {going} unfinished runs; this server allows {most:,.0f}.",
            "Wait for some to end.",
        )
    minutes = share.local_minutes_a_day * ADDRESS_TIMES
    if isinf(minutes) or not any(map(is_local, models)):
        return
    if services.neighbours.minutes(owner, lambda one: _minutes_used(services, one)) >= minutes:
        raise Mistake(
            f"Visitors at your network address have used today's {minutes:,.0f} minutes of models on this server.",
            "Go on after midnight (UTC), or choose a model behind a service.",
        )


def _minutes_used(services: Services, owner: str) -> float:
    left = services.jobs.local_minutes_left(owner)
    return 0.0 if isinf(left) else limits().quota_for(owner).local_minutes_a_day - left


KeyOf = Callable[[RunSpec], str | None]
"""The key that was typed for a spec's service; None where none was."""


def begin(
    services: Services, owner: str, setup: Setup, key_of: KeyOf | None = None, reviewers: tuple[str, ...] = ()
) -> list[str]:
    """Records the runs for a visitor and queues them; returns their ids. Raises MedfactError on a mistake.

    What is slow comes first, while others may begin runs too: reading files, planning, looking up the names of hosts.
    """
    check_room(services, owner, 1)
    for one in setup.chosen:
        if one.address:
            parsed_address(one.address)  # as it was typed: a spec keeps no user name
    asked = planned_runs(services, owner, setup, reviewers)
    return begin_planned(services, owner, asked, setup, key_of or (lambda _: None))


def check_planned(services: Services, owner: str, asked: Sequence[PlannedRun], setup: Setup, key_of: KeyOf) -> None:
    """Raises MedfactError where planned runs may not be begun: a file is not the visitor's, or a service may not be asked."""
    for spec, plan, own_pool in asked:
        check_settings(spec)
        if own_pool is not None:
            own_pool.keep(services, owner)
        if opens_files(spec, plan):
            services.check_files(owner, spec)
        if (service := service_of(spec.model, spec.service)) is not None:
            agreed = setup.agrees_to(spec.service.base_url)
            if not (key := key_of(spec)) and (key := lent_key(spec)):
                check_left(services, owner)
            check_new_run(replace(service, key=key or None), own_facts=bool(spec.facts or spec.corpus), agreed=agreed)


def begin_planned(services: Services, owner: str, asked: Sequence[PlannedRun], setup: Setup, key_of: KeyOf) -> list[str]:
    """Records runs that were planned for a set-up, and queues them; returns their ids. Raises MedfactError."""
    check_planned(services, owner, asked, setup, key_of)
    pairs = max(setup.pairs, *(pairs_of(spec, len(plan.facts)) for spec, plan, _ in asked))
    racing = setup.race and len(setup.chosen) > 1
    specs = [one.spec for one in asked]
    specs = racing_specs(specs) if racing else specs
    store = services.store.of(owner)
    models = [one.spec.model for one in asked]
    calls = [calls_of(spec.pressure, len(plan.statements)) for spec, plan, _ in asked]
    with services.beginnings.alone(owner), room_for(services, owner, len(asked), models, pairs, max(calls)):
        services.quota.check_statements(owner, sum(calls))
        runs = [start_planned(spec, one.plan, store) for spec, one in zip(specs, asked, strict=True)]
        asking: dict[str, Asking] = {run: (key_for(one.model, key_of(one)), None) for run, one in zip(runs, specs, strict=True)}
        submit(services, asking, runs if racing else [])
        return runs


# ------------------------------------------------------------------------------------------------ buttons


def evaluate(visitor: Visitor, show: EvaluateShow, _: Action) -> tuple[EvaluateShow, Message]:
    """Records one run for each model and language and queues them. An untested service is called once before; where that
    fails, the form stays.
    """
    services, owner, chosen = visitor.services, visitor.owner, setup_in(visitor, show)
    if chosen.pending or show.uploading:
        raise Mistake(chosen.pending or f"{show.uploading} is being uploaded.", "Wait, or use the bundled facts.")
    check_room(services, owner, 1)
    asked = planned_runs(services, owner, chosen, visitor.reviewers)

    def key_of(spec: RunSpec) -> str | None:
        row = chosen.row_of(spec.model, spec.service.base_url)
        return key_in(services, owner, row) if row else None

    check_planned(services, owner, asked, chosen, key_of)
    if problem := tried_rows(services, owner, chosen):
        return show, Message(problem, "warn")
    runs = begin_planned(services, owner, asked, chosen, key_of)
    return show.model_copy(update={"run": ",".join(runs), "chosen": 0, "page": 0, "fact": -1}), Message()


def again(visitor: Visitor, show: EvaluateShow, _: Action) -> tuple[EvaluateShow, Message]:
    """Records the shown runs anew, from their records, and queues them; those that raced race again. Models behind a service
    are set up again instead.
    """
    services = visitor.services
    records = [record for record in map(services.run, _shown(visitor, show)) if not provider_of(record.model).is_remote]
    for record in records:
        check_source(record)
        check_spec(record.model)
        # a repeated run opens nothing that only a run's file, or another visitor, has named
        if (
            record.owner not in visitor.owners
            and files_of(record.spec)
            and opens_files(record.spec, recorded_plan(record, services.store))
        ):
            services.check_files(visitor.owner, record.spec)
    raced = of_one_race(records)
    specs = [record.spec.override(race=None, racers=0) for record in records]
    specs = racing_specs(specs) if raced else specs
    store = services.store.of(visitor.owner)
    calls = sum(calls_of(record.spec.pressure, record.statements) for record in records)
    with services.beginnings.alone(visitor.owner), _room_for(visitor, visitor.owner, records):
        services.quota.check_statements(visitor.owner, calls)
        new = [start_again(record.run, store, spec) for record, spec in zip(records, specs, strict=True)]
        submit(services, dict.fromkeys(new, (None, None)), new if raced else [])
    return show.model_copy(update={"run": ",".join(new) or show.run, "page": 0, "fact": -1}), Message()


def _shown(visitor: Visitor, show: EvaluateShow) -> list[str]:
    """The runs that are shown and there."""
    shown = [run for run in dict.fromkeys(show.run.split(",")) if run][:MOST_MODELS]
    return [run for run in shown if visitor.services.asked(run)]


def _room_for(visitor: Visitor, owner: str, records: Sequence[Run]) -> AbstractContextManager[None]:
    pairs = max((pairs_of(record.spec, record.facts) for record in records), default=0)
    statements = max((calls_of(record.spec.pressure, record.statements) for record in records), default=0)
    return room_for(visitor.services, owner, len(records), [record.model for record in records], pairs, statements)


def submit(services: Services, asking: Mapping[str, Asking], racing: Sequence[str] = ()) -> None:
    """Queues runs, each with the key and the budget of its service; some of them race."""
    jobs, asking = services.jobs, with_lent_keys(services, asking)
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
    budget = _dollars(action.fields.get("budget", ""))
    with ExitStack() as room:
        room.enter_context(visitor.services.beginnings.alone(visitor.owner))
        lives = [visitor.services.reports.live(run) for run in _own(visitor, show)]
        records = [live.run for live in lives if live.resumable]
        for owner in dict.fromkeys(record.owner for record in records):
            room.enter_context(_room_for(visitor, owner, [record for record in records if record.owner == owner]))
        typed = {one.runs: action.fields.get(one.field, "").strip() or None for one in services_of(records)}
        key_of = {run: key for runs, key in typed.items() for run in runs}
        keys = {one.run: key_of.get(one.run) or visitor.services.token_for(visitor.owner, one.spec) for one in records}
        asking = {record.run: (key_for(record.model, keys[record.run]), budget) for record in records}
        submit(visitor.services, asking, [record.run for record in still_racing(records)])
    return show, Message()


@dataclass(frozen=True)
class AskedService:
    """A service that runs ask. host: with its port where that is no usual one. field: in which its key is typed."""

    host: str
    field: str
    runs: tuple[str, ...]


def services_of(records: Sequence[Run]) -> list[AskedService]:
    """The services that runs ask, each once: a key that is typed for one goes to no other."""
    by_address: dict[str, list[Run]] = {}
    for record in records:
        if (service := service_of(record.model, record.spec.service)) is not None:
            by_address.setdefault(service.base_url or "", []).append(record)
    return [
        AskedService(_host(runs[0]), f"key-{digest(address)}", tuple(run.run for run in runs))
        for address, runs in by_address.items()
    ]


def _host(record: Run) -> str:
    try:
        service = service_of(record.model, record.spec.service)
        return urlsplit(address_of(service).base).netloc if service else ""
    except ModelError:  # a run's file may hold what is no address
        return "a service without an address"


def set_up(visitor: Visitor, show: EvaluateShow, _: Action) -> tuple[EvaluateShow, Message]:
    """Leads to the set-up with the models of the shown runs, where addresses and keys can be changed; the facts stay as they
    were chosen last.
    """
    records = [visitor.services.run(run) for run in _own(visitor, show)]
    remote = [record for record in records if provider_of(record.model).is_remote]
    asked = dict.fromkeys((record.model, record.spec.service.base_url or "") for record in remote)  # in each language, once
    rows = [ModelRow.of(model, address, id=secrets.token_hex(4)) for model, address in asked]
    own = [record.model for record in records if record not in remote and not record.imported]  # a file may name a folder
    return changed(visitor, show, models=list(dict.fromkeys(own)), rows=rows).model_copy(update={"run": ""}), Message()


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


ACTIONS: dict[str, Act] = {"evaluate": evaluate, "again": again, "stop": stop, "resume": resume, "set_up": set_up}
