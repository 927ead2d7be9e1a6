"""From specs to plans: what each run would ask. A plan is made once for all who would ask the same, and handed on."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import NamedTuple

from medfact.caching import shared_cache
from medfact.datasets.pairing import PartnerDecisions
from medfact.datasets.selection import Held
from medfact.errors import Mistake
from medfact.limits import limits
from medfact.models.services.settings import DEFAULTS
from medfact.runs.plan import NOTHING_HELD, plan, too_many_statements
from medfact.runs.pool import decoded_as_published
from medfact.runs.start import as_decided
from medfact.spec import RunSpec, check_numbers
from medfact.store import Plan
from medfact.web.evaluate.form import MOST_MODELS, Setup
from medfact.web.evaluate.spec import EditedPool, edited_of, source_of, specs_of
from medfact.web.services import Services, Source, collection_of_spec, source_in, spec_of
from medfact.writing.runs import ORIGINALS, PROTOTYPES, asked_set


class PlannedRun(NamedTuple):
    """A run that could be recorded: its spec, what it would ask, and the visitor's own pool that this is made with."""

    spec: RunSpec
    plan: Plan
    own_pool: EditedPool | None = None


def planned_runs(services: Services, owner: str, setup: Setup, reviewers: tuple[str, ...]) -> list[PlannedRun]:
    """What would be evaluated: a run for each model and language, or for each model and set of written sentences. Raises
    MedfactError.

    reviewers: whose verdicts confirm facts, () for everybody's.
    """
    own_pool = edited_of(services, owner, setup)
    specs, most = specs_of(services, owner, setup, own_pool), limits().quota_of(owner).statements_a_run
    if not setup.sets:
        source, decided = source_of(services, owner, setup), services.store.of(owner).decisions.of_partners()
        held = services.held(reviewers) if setup.reviewed else {}
        plans = [planned(spec, source, decided, held, most, own_pool) for spec in specs]
        return [PlannedRun(decoded_as_published(spec), plan, own_pool) for spec, plan in zip(specs, plans, strict=True)]
    if len(specs) * len(setup.sets) > MOST_MODELS:
        raise Mistake(
            f"{len(specs)} models and {len(setup.sets)} sets of sentences are {len(specs) * len(setup.sets)} runs.",
            f"Choose fewer: {MOST_MODELS} runs are the most at once.",
        )
    return [_asking(services, owner, name, spec, setup) for spec in specs for name in setup.sets]


def _asking(services: Services, owner: str, name: str, spec: RunSpec, setup: Setup) -> PlannedRun:
    """A model asked a set of sentences."""
    first = services.writing(setup.sets[0])
    if name in (PROTOTYPES, ORIGINALS) and first.spec.facts and first.owner != owner:
        raise Mistake("These facts are a file of somebody else's.", "Ask what was written alone, or upload the file.")
    name = name if name in (PROTOTYPES, ORIGINALS) else services.writing(name).run
    most = limits().quota_of(owner).statements_a_run
    asked, plan = asked_set(name, first, spec.model, services.store, lambda other: plan_again(services, owner, other, most))
    plan = as_decided(plan, services.store.of(owner).decisions.of_partners())
    if len(plan.statements) > most:
        raise too_many_statements(most)
    if setup.shots == 0:
        asked, plan = asked.override(shots=0), replace(plan, shots=0, demonstrations={})
    return PlannedRun(decoded_as_published(asked.override(model=spec.model, service=spec.service, budget=spec.budget)), plan)


def planned(
    spec: RunSpec,
    source: Source,
    decided: PartnerDecisions,
    held: Held = NOTHING_HELD,
    most: float = inf,
    own_pool: EditedPool | None = None,
) -> Plan:
    """What a run of this spec asks of the facts of a source, and of whatever model: several models at once ask the same, and
    many visitors do. most: statements that it may ask. own_pool: what the spec's pool is. Raises MedfactError.
    """
    check_numbers(spec)
    of_any_model = replace(spec, model="", service=DEFAULTS, budget=None)
    return _planned(of_any_model, spec_of(source), decided, most, tuple(sorted(held.items())), own_pool)


def plan_again(services: Services, owner: str, spec: RunSpec, most: float) -> Plan:
    """The plan of a recorded spec for a visitor, whose own files are all that it may name. most: statements that it may ask.
    Raises MedfactError.
    """
    services.check_files(owner, spec)
    decided = services.store.of(owner).decisions.of_partners()
    return _planned(replace(spec, model="", service=DEFAULTS, budget=None), source_in(spec), decided, most)


@shared_cache(100_000, lambda made: len(made.statements))
def _planned(
    spec: RunSpec,
    source: RunSpec,
    decided: PartnerDecisions,
    most: float,
    held: tuple[tuple[str, bool], ...] = (),
    own_pool: EditedPool | None = None,
) -> Plan:
    return plan(spec, collection_of_spec(source), decided, dict(held), most, own_pool.pool() if own_pool else None)
