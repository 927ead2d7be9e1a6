"""Facts up for review, of a data set in our own sentences or of runs, word for word; and what the end of a packet shows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from medfact.assets import common_language
from medfact.caching import shared_cache
from medfact.datasets import grouping
from medfact.datasets.sources import has_source
from medfact.errors import Mistake
from medfact.facts import Fact
from medfact.models import provider_of
from medfact.prototypes import orient_facts
from medfact.results.fact_table import describe_contradiction
from medfact.results.wording import run_name
from medfact.reviews.invitations import OWNERS, invited_by
from medfact.reviews.queues import at_random, contested, contradicted
from medfact.reviews.verdicts import REVIEWER, Opinion, opinions
from medfact.runs.pool import pool_of
from medfact.spec import PROTOCOLS, RunSpec
from medfact.statements import Statement
from medfact.store import COMPLETE, Run
from medfact.web.pages import Visitor
from medfact.web.pages.results import summary_of
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
    return Material(
        tuple(statements[0].fact for statements in by_fact.values()),
        lambda fact: by_fact[fact.fact_id],
        lambda: runs,
        common_language(run.pool for run in runs),
    )


@shared_cache(16)
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
    return [
        run
        for run in reversed(visitor.services.store.runs(*visitor.owners))
        if run.state == COMPLETE and (run.spec.dataset, run.spec.facts) == (spec.dataset, spec.facts)
    ][:MOST_RUNS]


@shared_cache(16)
def _facts(spec: RunSpec) -> tuple[Fact, ...]:
    """In the order of the queue: first the pairs whose true fact no source states, then the others. A false partner goes with
    its true fact, so that its place tells nothing of it.
    """
    read = collection_of_spec(spec)
    pool = pool_of(spec, read)
    collection = orient_facts(read, pool)
    protocol = PROTOCOLS[spec.protocol]
    group = grouping(collection, protocol.negatives, SEED, protocol.negative_difficulty)
    groups = [pool.statable_facts(group(fact)) for fact in collection.facts if fact.positive and pool.states(fact)]
    parts = ([members for members in groups if members and has_source(members[0]) is stated] for stated in (False, True))
    return tuple(
        fact for part in parts for fact in at_random([one for members in part for one in members if pool.states(one)], SEED)
    )


def contested_facts(services: Services, material: Material) -> dict[str, str]:
    """Ids of the facts on which models contest a label, or each other, each with the reason, or "": first those whose label all
    models contradict in every way of asking, by the number of models. Baselines are no models.
    """
    answers: dict[str, dict[str, bool]] = {}
    for run in reversed(material.runs()):
        if not provider_of(run.model).is_rule:
            said = answers_of(services, run.run, run.changed).items()
            answers.setdefault(run.model, {}).update({name: answer for name, answer in said if answer is not None})
    asked = set().union(*answers.values())
    by_fact = {fact.fact_id: [one for one in material.statements(fact) if one.statement_id in asked] for fact in material.facts}
    by_fact = {fact_id: of for fact_id, of in by_fact.items() if of}
    found = {fact_id: describe_contradiction(*of) for fact_id, of in contradicted(answers, by_fact).items()}
    statements = {one.statement_id: one for of in by_fact.values() for one in of}
    for name in contested(answers, {name: one.label for name, one in statements.items()}):
        found.setdefault(statements[name].fact.fact_id, "")
    return found


@shared_cache(32)
def answers_of(services: Services, run: str, _: int) -> Mapping[str, bool | None]:
    """Statement id → a run's answer, None where it is unreadable, of the facts without a failed call. Kept for each version."""
    items = services.store.answers.asked(run)
    failed = {item.fact for item in items if item.answer is None or item.answer.failure is not None}
    return {item.statement.statement_id: item.answer.answer for item in items if item.answer and item.fact not in failed}


# ------------------------------------------------------------------------------------------------ the end of a packet


@dataclass(frozen=True)
class JudgedFact:
    """A fact of a packet with the verdicts and answers on it.

    number: in the packet, from 1. true_fact: source of a false fact; None for a true fact. agrees: True where the reviewer
    holds all sentences as labelled, None where they pass. models: name, right answers and sentences asked, of each.
    """

    number: int
    fact: Fact
    true_fact: Fact | None
    opinion: Opinion
    agrees: bool | None
    colleagues: Sequence[Opinion]
    models: Sequence[tuple[str, int, int]]


def colleagues(visitor: Visitor, reviewer: str, facts: Sequence[Fact]) -> dict[str, list[Opinion]]:
    """Fact id → the opinions of other reviewers that this visitor may see.

    An invited reviewer sees none, and an invited colleague's are seen by the visitor who asked, and by nobody else.
    """
    if visitor.owner.startswith(OWNERS):
        return {}
    visible = {invitation.owner for invitation in invited_by(visitor.owners)}
    log = visitor.services.store.verdicts.log([fact.fact_id for fact in facts], visitor.reviewers)
    seen = opinions(verdict for verdict in log if verdict.owner in visible or not verdict.owner.startswith(OWNERS))
    return {
        fact_id: [of for name, of in by_name.items() if name != reviewer and of.fact.role == REVIEWER and of.fact.verdict]
        for fact_id, by_name in seen.items()
    }


def answers_as_held(
    visitor: Visitor, runs: Sequence[Run], statements: Sequence[Statement], truth: Callable[[Statement], bool | None]
) -> list[tuple[str, int, int]]:
    """Model, answers that equal the truth, and statements with a truth, of each run that asked them. Unreadable ones differ."""
    held = {statement.statement_id: holds for statement in statements if (holds := truth(statement)) is not None}
    answered = [(run_name(run, 60), answers_of(visitor.services, run.run, run.changed)) for run in runs]
    same = [(model, [answers[name] is held[name] for name in held if name in answers]) for model, answers in answered]
    return [(model, sum(rows), len(rows)) for model, rows in same if rows]


def outcome(visitor: Visitor, material: Material, packet: Sequence[Fact], said: Mapping[str, Opinion]) -> dict[str, object]:
    """Facts of a packet that was judged whole, the reviewer beside models and colleagues, and the reviews of the models' runs.

    said: fact id → the reviewer's opinion. Returns facts; models: name → for each fact, True if all answers are right;
    differences: reviewer and name of a colleague → for each fact that both judged, its number if they differ, else 0;
    summaries: name and id of a run, and the reviews of it.
    """
    by_id = {fact.fact_id: fact for fact in material.facts}
    runs = {run.model: run for run in reversed(material.runs()) if not visitor.owner.startswith(OWNERS)}  # of each the latest
    others = colleagues(visitor, said[packet[0].fact_id].reviewer, packet)
    facts = []
    models: defaultdict[str, list[bool]] = defaultdict(list)
    differences: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for number, fact in enumerate(packet, 1):
        opinion, statements = said[fact.fact_id], material.statements(fact)
        truths = [opinion.truth(statement) for statement in statements]
        agrees = None if None in truths else truths == [statement.label for statement in statements]
        answers = answers_as_held(visitor, [*runs.values()], statements, lambda statement: statement.label)
        for model, right, total in answers:
            models[model].append(right == total)
        for other in others.get(fact.fact_id, []):
            verdicts = [(opinion.says(statement), other.says(statement)) for statement in statements]
            differ = any(first != second for first, second in verdicts if first and second)
            differences[other.reviewer, other.fact.reviewer].append(number if differ else 0)
        voices = others.get(fact.fact_id, [])
        facts.append(JudgedFact(number, fact, by_id.get(fact.negative_of or ""), opinion, agrees, voices, answers))
    log, version = visitor.services.store.verdicts.version(), visitor.services.reports.version
    summaries = [
        (run_name(run, 60), run.run, summary_of(visitor.services, run.run, visitor.reviewers, log, version(run.run)))
        for run in runs.values()
    ]
    return {"facts": facts, "models": models, "differences": differences, "summaries": [one for one in summaries if one[2]]}
