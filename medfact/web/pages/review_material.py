"""What can be reviewed: the facts of a data set in the project's own sentences, or what some runs have asked, word for word."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from medfact.assets import language_of_pools
from medfact.datasets import grouping
from medfact.datasets.sources import has_source
from medfact.errors import Mistake
from medfact.facts import Fact
from medfact.kept import keep
from medfact.models import provider_of
from medfact.prototypes import in_direction
from medfact.results.over_models import against_in_words
from medfact.reviews.queues import at_random, contested, unanimous
from medfact.runs.pool import pool_of
from medfact.spec import PROTOCOLS, RunSpec
from medfact.statements import Statement
from medfact.store import COMPLETE, Run
from medfact.web.pages import Visitor
from medfact.web.services import Services, Source, collection_of_spec, spec_of

SEED = 0
MOST_RUNS = 8

MOST_STATEMENTS = 24
"""Of one fact: runs in several wordings have more."""


@dataclass(frozen=True)
class Material:
    """Facts in the order of the random queue, and the statements of each. runs: those whose answers show what is contested.
    language: of the statements; English where they are in several.
    """

    facts: tuple[Fact, ...]
    statements: Callable[[Fact], Sequence[Statement]]
    runs: Callable[[], Sequence[Run]]
    language: str

    def fact(self, fact_id: str) -> Fact:
        """The fact of an id. Raises Mistake."""
        found = next((fact for fact in self.facts if fact.fact_id == fact_id), None)
        if found is None:
            raise Mistake("There is no such fact in this queue.", "Load the page again.")
        return found


def of_runs(visitor: Visitor, ids: str) -> Material:
    """What runs have asked. Raises Mistake where there is no such run."""
    runs = [visitor.services.run(run) for run in dict.fromkeys(ids.split(",")[:MOST_RUNS]) if visitor.services.asked(run)]
    if not runs:
        raise Mistake("There is no run of that link; it may have been deleted.", "Review a data set instead.")
    runs.sort(key=lambda run: run.imported or run.owner not in visitor.owners)  # one's own first: they name the facts
    by_fact = _asked(visitor.services, tuple(run.run for run in runs))
    facts = tuple(statements[0].fact for statements in by_fact.values())
    return Material(facts, lambda fact: by_fact[fact.fact_id], lambda: runs, language_of_pools(run.pool for run in runs))


@keep(16)
def _asked(services: Services, runs: tuple[str, ...]) -> Mapping[str, tuple[Statement, ...]]:
    """The statements of runs by fact, the facts in the order of the random queue. A run's statements never change."""
    found: dict[str, dict[str, Statement]] = {}
    for run in runs:
        for item in services.store.answers.asked(run):
            found.setdefault(item.statement.fact.fact_id, {}).setdefault(item.statement.statement_id, item.statement)
    order = at_random([next(iter(of.values())).fact for of in found.values()], SEED)
    return {fact.fact_id: tuple(found[fact.fact_id].values())[:MOST_STATEMENTS] for fact in order}


def of_source(visitor: Visitor, source: Source, language: str) -> Material:
    """The facts of a source that our own sentences state in a language, each with its false partner."""
    spec = spec_of(source, asked_in=language)
    pool = pool_of(spec, collection_of_spec(spec))
    return Material(_facts(spec), lambda fact: list(pool.statements([fact])), lambda: _runs_on(visitor, spec), language)


def _runs_on(visitor: Visitor, spec: RunSpec) -> list[Run]:
    """The visitor's last complete runs on the facts of a spec."""
    runs = [
        run
        for run in reversed(visitor.services.store.runs(*visitor.owners))
        if run.state == COMPLETE and (run.spec.dataset, run.spec.facts) == (spec.dataset, spec.facts)
    ]
    return runs[:MOST_RUNS]


@keep(16)
def _facts(spec: RunSpec) -> tuple[Fact, ...]:
    """In the order of the queue: first the pairs whose true fact no source states, then the others. A false partner goes with
    its true fact, so that its place tells nothing of it.
    """
    read = collection_of_spec(spec)
    pool = pool_of(spec, read)
    collection = in_direction(read, pool)
    protocol = PROTOCOLS[spec.protocol]
    group = grouping(collection, protocol.negatives, SEED, protocol.negative_difficulty)
    groups = [pool.statable(group(fact)) for fact in collection.facts if fact.positive and pool.states(fact)]
    parts = ([members for members in groups if members and has_source(members[0]) is stated] for stated in (False, True))
    return tuple(
        fact for part in parts for fact in at_random([one for members in part for one in members if pool.states(one)], SEED)
    )


def contested_facts(services: Services, material: Material) -> dict[str, str]:
    """Ids of the facts on which models contest a label, or each other, each with the reason, or "": first those whose label all
    models contradict in every way of asking, the most telling first. Baselines are no models.
    """
    answers: dict[str, dict[str, bool]] = {}
    for run in reversed(material.runs()):
        if not provider_of(run.model).is_rule:
            answers.setdefault(run.model, {}).update(answers_of(services, run.run, run.changed))
    asked = set().union(*answers.values())
    by_fact = {fact.fact_id: [one for one in material.statements(fact) if one.statement_id in asked] for fact in material.facts}
    by_fact = {fact_id: of for fact_id, of in by_fact.items() if of}
    found = {fact_id: against_in_words(*of) for fact_id, of in unanimous(answers, by_fact).items()}
    statements = {one.statement_id: one for of in by_fact.values() for one in of}
    for name in contested(answers, {name: one.label for name, one in statements.items()}):
        found.setdefault(statements[name].fact.fact_id, "")
    return found


@keep(32)
def answers_of(services: Services, run: str, _: int) -> Mapping[str, bool]:
    """Statement id → what a run answered, where it could be read. Kept for each version of a run's answers."""
    asked = services.store.answers.asked(run)
    return {item.statement.statement_id: item.answer.answer for item in asked if item.answer and item.answer.answer is not None}
