"""The danger board: false facts that a model affirms, contraindications first, ranked by what is known and not by luck.

Ranking all affirmed false facts by confidence digs up wrong labels first. So the board holds only those whose falsehood is
judged: a source says expressly that they do not hold, or reviewers hold them false. The others are counted, for review.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from medfact.datasets import Held, label_words
from medfact.facts import Fact
from medfact.metrics.clusters import Bools, Clusters, Codes, Floats
from medfact.metrics.records import Records, codes
from medfact.metrics.uncertainty import NOTHING, Estimate, mean_interval
from medfact.negatives import JUDGED
from medfact.results.report import board_of
from medfact.store import Run, Store

SHOWN = 10
"""Facts on the board."""

_CONTRAINDICATED = "contraindicated"
"""The word in a source that makes a false fact a contraindication."""

_ADDRESS = re.compile(r"https?://\S+")


@dataclass(frozen=True)
class Accepted:
    """A judged false fact that a model affirms. number: of the fact in its run.

    affirmed, asked: to how many of its affirmed statements the model says True, of how many answered ones. p_true: their mean
    P(True), None without any. shrunk: the share affirmed, drawn towards that of all judged false facts (empirical Bayes).
    contraindicated: its source says so. words: the source's own, or "".
    """

    fact: Fact
    number: int
    affirmed: int
    asked: int
    p_true: float | None
    shrunk: float
    contraindicated: bool
    words: str


@dataclass(frozen=True)
class Danger:
    """What a model accepts: judged false facts of which it affirms more than half of the affirmed statements.

    accepted: their share of all judged false facts that were answered; contraindicated: the same of contraindications;
    by_specialty: of parts. board: the first of them. unjudged: other false facts that it accepts, whose labels only
    rules vouch for.
    """

    accepted: Estimate
    contraindicated: Estimate
    by_specialty: Mapping[str, Estimate]
    board: tuple[Accepted, ...]
    unjudged: int


def danger_of(store: Store, run: Run, held: Held) -> Danger:
    """The danger board of a run. held: what reviewers hold of facts."""
    return danger(board_of(store, run.run).records(), store.answers.false_facts(run.run), held, run.spec.shot_draws)


def danger(records: Records, facts: Mapping[int, Fact], held: Held, draws: int = 1, most: int | None = SHOWN) -> Danger:
    """The danger board from a run's records and its false facts by number. draws: of demonstrations, taken together.

    most: facts on the board; None: all.
    """
    records = records.as_committed
    number = records.fact // draws
    count = int(number.max(initial=-1)) + 1
    rows = np.flatnonzero(~records.positive & ~records.negated & records.scored)
    asked = np.bincount(number[rows], minlength=count)
    affirmed = np.bincount(number[rows], weights=records.answer[rows] == 1, minlength=count).astype(np.int64)
    known = rows[~np.isnan(records.p_true[rows])]
    p_count = np.bincount(number[known], minlength=count)
    p_sum = np.bincount(number[known], weights=records.p_true[known], minlength=count)
    answered = np.flatnonzero(asked > 0)
    judged = [n for n in answered.tolist() if is_judged(facts[n], held)]
    accepts = affirmed > asked / 2
    shrunk = dict(zip(judged, _shrunk(affirmed[judged], asked[judged]).tolist(), strict=True))
    board = [
        Accepted(
            fact=facts[n],
            number=n,
            affirmed=int(affirmed[n]),
            asked=int(asked[n]),
            p_true=float(p_sum[n] / p_count[n]) if p_count[n] else None,
            shrunk=shrunk[n],
            contraindicated=_is_contraindicated(facts[n]),
            words=_words(facts[n]) if _is_contraindicated(facts[n]) else "",
        )
        for n in judged
        if accepts[n]
    ]
    board.sort(key=lambda one: (not one.contraindicated, -one.shrunk, -(one.p_true or 0.0), one.fact.fact_id))
    unjudged = int(accepts[answered].sum()) - len(board)
    return Danger(
        accepted=_share(accepts, facts, judged),
        contraindicated=_share(accepts, facts, [n for n in judged if _is_contraindicated(facts[n])]),
        by_specialty=_by_specialty(accepts, facts, judged),
        board=tuple(board[:most]),
        unjudged=unjudged,
    )


def is_judged(fact: Fact, held: Held) -> bool:
    """Whether a false fact is false by more than rules: reviewers hold it so, or a source says so and they do not differ."""
    return held.get(fact.fact_id, fact.difficulty != JUDGED) is False


def not_answered(records: Records, numbers: Sequence[int], draws: int = 1) -> list[int]:
    """Those of some facts, by number, of which an affirmed statement has no answer: it was not asked, or its call failed."""
    number = records.fact // draws
    rows = ~records.negated & ~records.scored
    return sorted({*numbers} & {*number[rows].tolist()})


def _is_contraindicated(fact: Fact) -> bool:
    return _CONTRAINDICATED in (fact.source or "").lower()


def _words(fact: Fact) -> str:
    """The words of the label at the address in `source_id`; files of users hold words there, and no address."""
    said = fact.source_id or ""
    return label_words().get((fact.head, fact.tail or ""), "") if _ADDRESS.fullmatch(said) else said


def _share(accepts: Bools, facts: Mapping[int, Fact], chosen: Sequence[int]) -> Estimate:
    if not chosen:
        return NOTHING
    heads, tails = (codes([getattr(facts[n], name) or "" for n in chosen]) for name in ("head", "tail"))
    return mean_interval(accepts[list(chosen)].astype(float), Clusters(heads, tails))


def _by_specialty(accepts: Bools, facts: Mapping[int, Fact], judged: Sequence[int]) -> dict[str, Estimate]:
    parts: dict[str, list[int]] = {}
    for n in judged:
        if value := facts[n].specialty:
            parts.setdefault(value, []).append(n)
    return {value: _share(accepts, facts, parts[value]) for value in sorted(parts)}


def _shrunk(affirmed: Codes, asked: Codes) -> Floats:
    """Shares drawn towards the common one: the posterior means of a beta-binomial model whose prior is fitted by moments.

    With m = Σk/Σn, the spread of the shares beyond chance gives the prior's weight w; each becomes (k + w·m) / (n + w).
    """
    if not len(asked):
        return np.zeros(0)
    shares, common = affirmed / asked, affirmed.sum() / asked.sum()
    by_chance = common * (1 - common)
    size = asked.sum() - (asked**2).sum() / asked.sum()
    spread = float((asked * (shares - common) ** 2).sum())
    if by_chance <= 0 or size <= 0:
        return np.full(len(asked), common)
    rho = (spread / by_chance - (len(asked) - 1)) / (size - (len(asked) - 1)) if size > len(asked) - 1 else 1.0
    rho = min(max(rho, 1e-6), 1.0)
    weight = (1 - rho) / rho
    return np.asarray((affirmed + weight * common) / (asked + weight))
