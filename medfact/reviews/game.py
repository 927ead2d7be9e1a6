"""“Beat the model”: a person judges the statements that a model was asked, and compares the scores."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from medfact.facts import digest
from medfact.metrics.records import UNREADABLE, Records
from medfact.reviews.queues import at_random, shuffled
from medfact.reviews.scores import Scores, scores_of
from medfact.reviews.verdicts import CANNOT, FALSE, GAME, TRUE
from medfact.statements import Statement
from medfact.store import Verdict

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
