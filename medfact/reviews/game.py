"""“Beat the model” (a person judges the statements that a model was asked), and the queues in which facts are reviewed."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from medfact.facts import Fact, digest
from medfact.metrics.records import UNREADABLE, Records
from medfact.reviews.scores import Scores, scores_of
from medfact.reviews.verdicts import CANNOT, FALSE, GAME, TRUE, Opinion, judged
from medfact.statements import Statement
from medfact.store import Verdict


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


VISITOR = "visitor"
"""Reviewer in the log of verdicts: nobody gives a name for a game."""

NO_CLOCK = "no clock"
"""Comment on answers that were given without the clock."""

SECONDS_PER_STATEMENT = 2.5

Answers = Mapping[str, bool | None]
"""Statement id → answer, in the order of the answers; None where time ran out."""


def packets(
    statements: Iterable[Statement], owner: str, answers: Answers = MappingProxyType({})
) -> list[tuple[Statement, ...]]:
    """Statements of each fact, in the person's own random order, even over relations. Facts that were answered come first.

    Of a true fact and its false partners only the first is asked: the result of one gives the others away.
    """
    turns = {statement_id: turn for turn, statement_id in enumerate(answers)}
    by_fact: defaultdict[str, dict[str, Statement]] = defaultdict(dict)
    for statement in statements:
        by_fact[statement.fact.fact_id][statement.statement_id] = statement
    seed = int(digest("game", owner), 16)
    order = at_random([next(iter(rows.values())).fact for rows in by_fact.values()], seed)
    order.sort(key=lambda fact: min((turns.get(name, len(turns)) for name in by_fact[fact.fact_id]), default=0))
    first = {fact.negative_of or fact.fact_id: fact for fact in reversed(order)}
    chosen = [fact for fact in order if first[fact.negative_of or fact.fact_id] is fact]
    return [tuple(shuffled(list(by_fact[fact.fact_id].values()), seed, owner)) for fact in chosen]


def is_played(packet: Sequence[Statement], answers: Answers) -> bool:
    return any(statement.statement_id in answers for statement in packet)


def verdicts_of(
    packet: Sequence[Statement], fields: Mapping[str, str], seconds: float | None, *, clock: bool, blind: bool
) -> list[Verdict]:
    """Verdicts for the log, also on statements without an answer. fields: of the form, by statement id; seconds: in all."""
    answers = {statement.statement_id: fields.get(statement.statement_id) for statement in packet}
    return [
        Verdict(
            VISITOR,
            statement.fact.fact_id,
            answer if (answer := answers[statement.statement_id]) in (TRUE, FALSE) else CANNOT,
            statement_id=statement.statement_id,
            comment="" if clock else NO_CLOCK,
            blind=blind,
            queue=GAME,
            seconds=seconds,
        )
        for statement in packet
    ]


def answers_in(log: Iterable[Verdict]) -> Answers:
    """Answers of one person's games. The first answer to a statement counts: after it the label was shown."""
    answers: dict[str, bool | None] = {}
    for verdict in log:
        if verdict.queue == GAME and verdict.reviewer == VISITOR:
            answers.setdefault(verdict.statement_id, {TRUE: True, FALSE: False}.get(verdict.verdict))
    return answers


def outcome(records: Records, statement_ids: Sequence[str], answers: Answers) -> tuple[Scores, Scores]:
    """Scores of the person and of the model on facts whose statements were all shown.

    records: the model's; statement_ids: of their rows. No answer counts like an unreadable one.
    """
    answered = np.array([statement_id in answers for statement_id in statement_ids], dtype=bool)
    rows = answered & ~np.isin(records.fact, records.fact[~answered])
    replies = [UNREADABLE if (reply := answers.get(name)) is None else reply for name in statement_ids]
    person = replace(records, answer=np.array(replies, dtype=np.int8))
    return scores_of(person.only(rows)), scores_of(records.only(rows))
