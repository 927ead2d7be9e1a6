"""Queues of facts for review, in order: drawn at random, evenly over relations; contested by models; or disputed."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence

from medfact.facts import Fact
from medfact.reviews.verdicts import FALSE, TRUE, Opinion, judged
from medfact.statements import Statement


def at_random(facts: Iterable[Fact], seed: int) -> list[Fact]:
    """Facts in a random order, evenly over relations: each round has one of each relation, in an order of its own.

    Whether a fact holds plays no part, so its place tells nothing of that. The order depends on the seed and the facts, not on
    the order in which they come.
    """
    waiting: dict[str, list[Fact]] = {}
    for fact in sorted(facts, key=lambda fact: fact.fact_id):
        waiting.setdefault(fact.relation, []).append(fact)
    generator = random.Random(f"review {seed}")
    for of_relation in waiting.values():
        generator.shuffle(of_relation)
    order: list[Fact] = []
    while waiting:
        turns = generator.sample(sorted(waiting), len(waiting))
        order += [waiting[relation].pop() for relation in turns]
        waiting = {relation: left for relation, left in waiting.items() if left}
    return order


def shuffled(statements: Sequence[Statement], seed: int, reviewer: str) -> list[Statement]:
    """The statements of a fact in an order of the reviewer's own, so that their place tells nothing."""
    made = sorted(statements, key=lambda statement: statement.statement_id)
    random.Random(f"{seed} {reviewer} {made[0].fact.fact_id if made else ''}").shuffle(made)
    return made


STRONG = 0.75
"""The share of right answers from which on a model counts as strong: where weak ones differ, one of them is guessing."""


def contested(answers: Mapping[str, Mapping[str, bool]], labels: Mapping[str, bool]) -> list[str]:
    """Ids of statements on which all models differ from the label, then those on which strong models differ from each other.

    answers: model → statement id → its answer, where it has a readable one. A statement needs two models at least.
    """
    strong = {model for model, said in answers.items() if _right(said, labels) >= STRONG}
    against, split = [], []
    for statement_id, label in labels.items():
        said = [of[statement_id] for of in answers.values() if statement_id in of]
        if len(said) > 1 and all(answer != label for answer in said):
            against.append(statement_id)
        elif len({answers[model][statement_id] for model in strong if statement_id in answers[model]}) > 1:
            split.append(statement_id)
    return [*against, *split]


def contradicted(
    answers: Mapping[str, Mapping[str, bool]], by_fact: Mapping[str, Sequence[Statement]]
) -> dict[str, tuple[int, int]]:
    """Fact id → how many models contradict its label, in how many statements: all models with answers do, two at least, in
    every statement, true and false ones alike. Most models first.

    answers: as for `contested`, of models alone. by_fact: fact id → its statements.
    """
    counts = {}
    for fact_id, statements in by_fact.items():
        labels = {statement.statement_id: statement.label for statement in statements}
        models = [replies for replies in answers.values() if not labels.keys().isdisjoint(replies)]
        opposite = all(replies.get(name) is (not label) for replies in models for name, label in labels.items())
        if len(models) > 1 and opposite and len({*labels.values()}) == 2:
            counts[fact_id] = (len(models), len(statements))
    return dict(sorted(counts.items(), key=lambda item: -item[1][0]))


def _right(said: Mapping[str, bool], labels: Mapping[str, bool]) -> float:
    right = [answer == labels[statement_id] for statement_id, answer in said.items() if statement_id in labels]
    return sum(right) / len(right) if right else 0.0


def disputed_or_wrong(statements: Sequence[Statement], reviewed: Mapping[str, Mapping[str, Opinion]]) -> list[str]:
    """Ids of the facts on which reviewers differ, then of those where a reviewer differs from a label; each once."""
    differ = [
        statement.fact.fact_id
        for statement in statements
        for opinion in reviewed.get(statement.fact.fact_id, {}).values()
        if opinion.says(statement) not in (None, TRUE if statement.label else FALSE)
    ]
    return list(dict.fromkeys([*disputed(statements, reviewed), *differ]))


def disputed(statements: Iterable[Statement], reviewed: Mapping[str, Mapping[str, Opinion]]) -> list[str]:
    """Ids of the facts of which reviewers judge a statement differently, and nobody has adjudicated; each once, in order."""
    ids = (s.fact.fact_id for s in statements if judged(s, reviewed.get(s.fact.fact_id, {})).disputed)
    return list(dict.fromkeys(ids))
