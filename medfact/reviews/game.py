"""“Beat the model”: a person judges the sentences of a few facts against the clock, beside a model, a coin and other people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from medfact.facts import Fact, digest
from medfact.metrics.clusters import Bools, Clusters, Floats
from medfact.metrics.joint import facts_of
from medfact.metrics.records import UNREADABLE, Records
from medfact.metrics.uncertainty import NOTHING, Estimate, mean_interval
from medfact.reviews.queues import at_random, shuffled
from medfact.reviews.scores import Scores, scores_of
from medfact.reviews.verdicts import CANNOT, FALSE, GAME, TRUE, who
from medfact.statements import VARIANTS, Statement
from medfact.store import Verdict

VISITOR = "visitor"
"""The reviewer's name in the log: nobody gives a name for a game."""

NO_CLOCK = "no clock"
"""The comment on answers that were given without the clock."""

SECONDS_A_STATEMENT = 2.5
FACTS_LATER = 2
"""Facts of every packet but the first, which has one: all eight statements of a fact are needed to say that it is mastered."""

Answers = Mapping[str, bool | None]
"""Statement id → what was answered; None: it was shown, and time ran out."""


@dataclass(frozen=True)
class Packet:
    """Statements that are judged at one go, in the order of the person's own. number: from 1."""

    number: int
    facts: tuple[Fact, ...]
    statements: tuple[Statement, ...]

    @property
    def seconds(self) -> int:
        """What the clock gives: 20 for eight statements."""
        return round(SECONDS_A_STATEMENT * len(self.statements))


def packets(statements: Iterable[Statement], owner: str, answers: Answers = MappingProxyType({})) -> list[Packet]:
    """All packets of a person, from the statements of a run: random, and even over relations; what the person has played comes
    first, as it was played.

    Of a true fact and its false partners only the one drawn first is played: the result of one gives the others away.
    """
    turns = {statement_id: turn for turn, statement_id in enumerate(answers)}
    of_fact: defaultdict[str, dict[str, Statement]] = defaultdict(dict)
    for statement in statements:
        of_fact[statement.fact.fact_id][statement.statement_id] = statement
    seed = int(digest("game", owner), 16)
    order = at_random([next(iter(of.values())).fact for of in of_fact.values()], seed)
    order.sort(key=lambda fact: min((turns.get(name, len(turns)) for name in of_fact[fact.fact_id]), default=0))
    pairs = {fact.negative_of or fact.fact_id: fact for fact in reversed(order)}
    order = [fact for fact in order if pairs[fact.negative_of or fact.fact_id] is fact]
    parts = [order[:1], *(order[at : at + FACTS_LATER] for at in range(1, len(order), FACTS_LATER))]
    return [
        Packet(number, tuple(part), tuple(shuffled([s for fact in part for s in of_fact[fact.fact_id].values()], seed, owner)))
        for number, part in enumerate(parts, 1)
        if part
    ]


def is_played(packet: Packet, answers: Answers) -> bool:
    """Whether a person has had this packet."""
    return any(statement.statement_id in answers for statement in packet.statements)


def answers_from(packet: Packet, fields: Mapping[str, str]) -> Answers:
    """What a form's fields (named by statement ids) say of the packet's statements, and of nothing else."""
    read = {TRUE: True, FALSE: False}
    return {one.statement_id: read.get(fields.get(one.statement_id, "")) for one in packet.statements}


def verdicts_of(
    packet: Packet, answers: Answers, seconds: float | None, *, clock: bool, seen: Collection[str]
) -> list[Verdict]:
    """A packet's answers for the log, those that are missing too. seconds: of the whole packet. seen: ids of facts whose
    label the person has seen."""
    words = {True: TRUE, False: FALSE, None: CANNOT}
    return [
        Verdict(
            VISITOR,
            one.fact.fact_id,
            words[answers[one.statement_id]],
            statement_id=one.statement_id,
            comment="" if clock else NO_CLOCK,
            blind=one.fact.fact_id not in seen,
            queue=GAME,
            seconds=seconds,
        )
        for one in packet.statements
    ]


def answers_in(log: Iterable[Verdict]) -> dict[str, Answers]:
    """Person → answers in games. The first answer to a statement counts: after it the label was shown."""
    read = {TRUE: True, FALSE: False}
    found: defaultdict[str, dict[str, bool | None]] = defaultdict(dict)
    for one in log:
        if one.queue == GAME and one.statement_id:
            found[who(one)].setdefault(one.statement_id, read.get(one.verdict))
    return dict(found)


# ------------------------------------------------------------------------------------------------ figures


@dataclass(frozen=True)
class Standing:
    """How many facts have no wrong answer yet, after this way of asking and all before it."""

    variant: str
    person: int
    model: int


@dataclass(frozen=True)
class People:
    """Many people's answers together. people: how many have answered anything."""

    people: int
    average: Estimate
    joint: Estimate


@dataclass(frozen=True)
class Outcome:
    """A person, the model and a coin on the facts that the person has played. The coin's figures are what it can expect."""

    person: Scores
    model: Scores
    coin: Scores
    standing: tuple[Standing, ...]


def outcome(records: Records, statement_ids: Sequence[str], answers: Answers) -> Outcome:
    """The outcome of all that a person has played. records: the model's; statement_ids: of their rows."""
    rows = _shown(records, statement_ids, answers)
    person, model = _answered(records, statement_ids, answers).only(rows), records.only(rows)
    return Outcome(scores_of(person), scores_of(model), coin(person), _standing(person, model))


def people(records: Records, statement_ids: Sequence[str], answers: Mapping[str, Answers]) -> People:
    """What people reach together, over facts of which they answered anything: who left the page did not judge.

    Intervals are clustered by person, and by what shared heads add: one person's facts stand or fall together.
    """
    rows = [
        (number, *of_fact) for number, said in enumerate(answers.values()) for of_fact in _by_fact(records, statement_ids, said)
    ]
    if not rows:
        return People(0, NOTHING, NOTHING)
    person, head, right, total = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    person = np.unique(person, return_inverse=True)[1]
    share: Floats = right / total
    return People(
        len(np.unique(person)),
        mean_interval(share, Clusters(person, head))._replace(n=int(total.sum())),
        mean_interval((right == total).astype(float), Clusters(person, head)),
    )


def _by_fact(records: Records, statement_ids: Sequence[str], answers: Answers) -> list[tuple[int, int, int]]:
    """Head, right answers and statements of each fact of which a person has answered anything."""
    rows = _shown(records, statement_ids, answers)
    own = _answered(records, statement_ids, answers)
    begun = np.unique(own.fact[rows & own.readable])
    heads, right = facts_of(records).head, np.bincount(own.fact[rows], weights=own.right[rows], minlength=own.fact.max() + 1)
    total = np.bincount(own.fact[rows], minlength=own.fact.max() + 1)
    return [(int(heads[fact]), int(right[fact]), int(total[fact])) for fact in begun]


def coin(records: Records) -> Scores:
    """What a coin can expect on these facts: half of the statements, and of facts with eight statements 1 in 256."""
    total = facts_of(records).total
    if not len(total):
        return Scores(0, NOTHING, NOTHING)
    average = Estimate(0.5, None, None, int(total.sum()))
    return Scores(len(total), average, Estimate(float((0.5**total).mean()), None, None, len(total)))


def _shown(records: Records, statement_ids: Sequence[str], answers: Answers) -> Bools:
    """The rows of facts of which a person was shown every statement."""
    shown = np.array([one in answers for one in statement_ids], dtype=bool)
    return shown & ~np.isin(records.fact, records.fact[~shown])


def _answered(records: Records, statement_ids: Sequence[str], answers: Answers) -> Records:
    """The records with a person's answers in the place of the model's; no answer counts like an unreadable one."""
    said = [answers.get(one) for one in statement_ids]
    return replace(records, answer=np.array([UNREADABLE if one is None else one for one in said], dtype=np.int8))


def _standing(person: Records, model: Records) -> tuple[Standing, ...]:
    asked = {person.variants.names[code] for code in np.unique(person.variants.code)}
    ways = [key for key in VARIANTS if key in asked]
    return tuple(
        Standing(key, _left(person, ways[: place + 1]), _left(model, ways[: place + 1])) for place, key in enumerate(ways)
    )


def _left(records: Records, ways: Sequence[str]) -> int:
    """Facts without a wrong answer in these ways of asking."""
    wrong = records.variants.among(ways) & ~records.right
    return len(np.setdiff1d(records.fact, records.fact[wrong]))
