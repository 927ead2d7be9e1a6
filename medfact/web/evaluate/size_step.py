"""The third step of the set-up: how many facts are asked, what that takes and shows; and the bar with the button."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cachetools import LRUCache
from markupsafe import Markup

from medfact.assets import ENGLISH, language_names
from medfact.caching import shared_cache
from medfact.errors import MedfactError
from medfact.facts import Fact
from medfact.models import LOCAL, provider_of
from medfact.models.local import zero_gpu
from medfact.models.pressure import calls_of, most_pushes
from medfact.results.power import describe_power
from medfact.results.wording import count, counted, duration, with_plain_columns
from medfact.runs.costs import costs, dollars
from medfact.runs.plan import select_facts
from medfact.spec import RunSpec
from medfact.views.fragments import render
from medfact.web.evaluate.facts_step import any_plan
from medfact.web.evaluate.form import DEFAULT_PAIRS, MOST_PAIRS, EvaluateShow, Setup
from medfact.web.evaluate.models_step import consents
from medfact.web.evaluate.spec import EditedPool, PlannedRun, edited_of, planned_runs, source_of
from medfact.web.pages import Visitor
from medfact.web.services import collection_of, collection_of_spec, seconds_for, spec_of

STANDARD_PAIRS = 300


@dataclass(frozen=True)
class Size:
    """A choice of how many pairs are asked. value: that number; pairs: as many as there are of them; takes: time and cost."""

    name: str
    value: int
    pairs: int
    takes: str
    detects: str


def sizes(visitor: Visitor, setup: Setup) -> Markup:
    """Three sizes, each with what it takes and what it can show, and a number of one's own: no more than there are."""
    typed = setup.unfit.get("pairs", (setup.pairs, ""))[0]
    listed: list[Size] = []
    with suppress(MedfactError):  # said beside the button
        listed = _listed(visitor, setup)
    most = listed[-1].pairs if listed else MOST_PAIRS
    pairs = min(setup.pairs, most)
    fits = typed == setup.pairs
    chosen = next((size.value for size in listed if size.pairs == pairs and fits), None)
    return render("sizes_choice", sizes=listed, chosen=chosen, pairs=pairs if fits else typed, most=most)


def _listed(visitor: Visitor, setup: Setup) -> list[Size]:
    """Quick, standard and all, without those that the facts are too few for."""
    plan = any_plan(visitor, setup)
    ways = len(plan.statements) // max(len(plan.facts), 1)
    pairs = max(_positive(plan.facts), 1)
    draws = len(plan.statements) / pairs
    runs: list[PlannedRun] = []
    with suppress(MedfactError):  # none can begin yet
        runs = planned_runs(visitor.services, visitor.owner, setup, visitor.reviewers)
    every = _tested(visitor, setup, MOST_PAIRS)
    fewer = (value for value in (DEFAULT_PAIRS, STANDARD_PAIRS) if value < _positive(every))
    facts_of = {value: _tested(visitor, setup, value) for value in fewer} | {MOST_PAIRS: every}
    names = {DEFAULT_PAIRS: "Quick", STANDARD_PAIRS: "Standard", MOST_PAIRS: "All"}
    collection = collection_of(source_of(visitor.services, visitor.owner, setup))
    if _positive(every) == MOST_PAIRS < _positive(collection.facts):
        names[MOST_PAIRS] = "Most"
    return [
        Size(
            names[value],
            value,
            count := _positive(facts),
            " · ".join(_takes(visitor, runs, count / pairs, round(draws * count))),
            describe_power(facts, ways),
        )
        for value, facts in facts_of.items()
        if value == MOST_PAIRS or _positive(facts) == value
    ]


def _positive(facts: Sequence[Fact]) -> int:
    return sum(fact.positive for fact in facts)


def _tested(visitor: Visitor, setup: Setup, pairs: int) -> tuple[Fact, ...]:
    """The facts of so many pairs."""
    services, owner = visitor.services, visitor.owner
    own_pool = edited_of(services, owner, setup)
    spec = spec_of(
        source_of(services, owner, setup),
        protocol=setup.protocol,
        pool=None if own_pool else services.pool(owner, setup.pool) or None,
        limit=pairs,
        shots=setup.demonstrations,
        negative_difficulty=setup.difficulty or None,
        reviewed=setup.reviewed,
        sourced=setup.sourced,
    )
    held = tuple(sorted(services.held(visitor.reviewers).items())) if setup.reviewed else ()
    return _selected(spec, held, own_pool)


@shared_cache(100_000, len)
def _selected(spec: RunSpec, held: tuple[tuple[str, bool], ...], own_pool: EditedPool | None) -> tuple[Fact, ...]:
    pool = own_pool.pool() if own_pool else None
    return tuple(select_facts(spec, collection_of_spec(spec), held=dict(held), pool=pool).test)


# ------------------------------------------------------------------------------------------------ time and money


def _takes(visitor: Visitor, runs: Sequence[PlannedRun], share: float = 1.0, statements: int | None = None) -> list[str]:
    """The time, where it is known of each model, and the cost, where a service is asked. share: of the cost; statements: that
    are asked in place of those of the plans.
    """
    calls = [calls_of(spec.pressure, statements or len(plan.statements)) for spec, plan, _ in runs]
    seconds = [seconds_for(visitor.services.store, run.spec.model, count) for run, count in zip(runs, calls, strict=True)]
    timed = [second for second in seconds if second is not None]
    time = [duration(sum(timed))] if timed and len(timed) == len(seconds) else []
    paid = [usd_of(run) for run in runs if provider_of(run.spec.model).is_paid]
    if not paid:
        return time
    dollars_known = [usd for usd in paid if usd is not None]
    return [*time, dollars(share * sum(dollars_known)) if len(dollars_known) == len(paid) else "price not known"]


_costs: LRUCache[Hashable, float | None] = LRUCache(1_000)
_lock = threading.Lock()


def usd_of(run: PlannedRun) -> float | None:
    """About what a run costs, in US dollars; None where its price is not known."""
    key = (run.spec, run.plan.dataset_fingerprint, run.plan.pool, len(run.plan.statements))
    with _lock:
        if key in _costs:
            return _costs[key]
    usd = costs(run.spec, collection_of_spec(run.spec), run.plan)["usd"]
    with _lock:
        _costs[key] = usd
    return None if usd is None else float(usd)


# ------------------------------------------------------------------------------------------------ the bar


def bar(visitor: Visitor, show: EvaluateShow, setup: Setup) -> Markup:
    """The button, what it will do and what that takes; disabled with the reason where it cannot."""
    problem = (show.uploading and f"{show.uploading} is being uploaded.") or setup.pending
    facts, takes = "", list[str]()
    if not problem:
        try:
            facts, takes = _asked(visitor, setup)
        except MedfactError as error:
            problem = with_plain_columns(error.public)
    asks = consents(visitor, setup)
    return render(
        "go",
        name=_name_of(visitor, setup),
        problem=problem,
        pending=bool(setup.pending),
        takes=takes,
        asked=facts,
        consents=asks,
        unanswered=[consent for consent in asks if not consent.agreed],
        models=len(setup.chosen),
        languages=len(setup.languages),
        race=setup.race,
    )


def _name_of(visitor: Visitor, setup: Setup) -> str:
    """The name of the facts or sentences on the button."""
    if setup.pending:
        return ""
    if setup.sets:
        return "the written sentences"
    with suppress(MedfactError):
        source = source_of(visitor.services, visitor.owner, setup)
        return Path(str(source["facts"])).name if "facts" in source else str(source["dataset"])
    return setup.dataset


def _asked(visitor: Visitor, setup: Setup) -> tuple[str, list[str]]:
    """The facts and their sentences, in which languages, sets and settings each model is asked; and the time and cost."""
    runs = planned_runs(visitor.services, visitor.owner, setup, visitor.reviewers)
    plan = max((run.plan for run in runs), key=lambda plan: len(plan.facts))
    models = f" × {counted(len(setup.chosen), 'model')}" if len(setup.chosen) > 1 else ""
    sets = f" × {counted(len(setup.sets), 'set')} of sentences" if len(setup.sets) > 1 else ""
    if not setup.sets and (settings := len(runs) // len(setup.chosen) // len(setup.languages)) > 1:
        sets = f" × {counted(settings, 'setting')}"
    true = _positive(plan.facts)
    false = f" and {count(len(plan.facts) - true)} false" if len(plan.facts) > true else ""
    sentences = counted(len(plan.statements) // max(len(plan.facts), 1), "sentence")
    most = most_pushes(runs[0].spec.pressure, len(plan.statements))
    whose = "each model’s" if len(setup.chosen) > 1 else "its"
    models += f", and up to {count(most)} pushes against {whose} answers" if most else ""
    facts = f"{count(true)} true{false} {'fact' if len(plan.facts) == 1 else 'facts'}, {sentences} each"
    return f"{facts}{_languages(setup, runs)}{sets}{models}{_quota(visitor, runs)}", _takes(visitor, runs)


def _languages(setup: Setup, runs: Sequence[PlannedRun]) -> str:
    """The languages in words, with the number of true facts that have names in all of them; "" for English alone."""
    titles = [language_names().get(code, code) for code in setup.languages]
    if titles == [language_names()[ENGLISH]]:
        return ""
    askable = [{fact for fact in run.plan.facts if fact.positive} for run in runs]
    shared, most = len(set.intersection(*askable)), max(map(len, askable))
    compared = f" ({count(shared)} of the true facts in all of them)" if shared < most else ""
    return f", in {' and '.join(titles)}{compared}"


def _quota(visitor: Visitor, runs: Sequence[PlannedRun]) -> str:
    """The share of a visitor's quota that the runs take, where a Space lends its GPU by the second."""
    local = [run for run in runs if provider_of(run.spec.model).lane == LOCAL]
    if not local or not zero_gpu.is_there():
        return ""
    takes = _takes(visitor, local)
    return f". Takes {f'about {takes[0]}' if takes else 'some'} of your ZeroGPU quota: {zero_gpu.QUOTA}"
