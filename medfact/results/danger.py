"""Ranks false facts that a model affirms, contraindications first.

Ranking all affirmed false facts by confidence mostly finds wrong labels. So the list has only facts that are judged false, by
a source or by reviewers. The others are counted, for review.
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
from medfact.metrics.uncertainty import Estimate, mean_interval
from medfact.negatives import JUDGED
from medfact.results.report import board_of
from medfact.store import Run, Store

SHOWN = 10  # facts in the list

_ADDRESS = re.compile(r"https?://\S+")


@dataclass(frozen=True)
class Accepted:
    """A judged false fact that a model affirms."""

    fact: Fact
    number: int  # of the fact in its run
    affirmed: int  # affirmative statements that the model calls true
    asked: int  # affirmative statements with an answer
    p_true: float | None  # their mean P(True)
    shrunk: float  # share affirmed, shrunk towards that of all judged false facts (empirical Bayes)
    contraindicated: bool  # by its source
    words: str  # of that source, or ""


@dataclass(frozen=True)
class Danger:
    """Judged false facts of which a model calls more than half of the affirmative statements true."""

    accepted: Estimate  # share of the judged false facts with answers
    contraindicated: Estimate  # the same share of contraindications
    by_specialty: Mapping[str, Estimate]
    board: tuple[Accepted, ...]
    unjudged: int  # other accepted false facts, which only rules call false


def danger_of(store: Store, run: Run, held: Held) -> Danger:
    """Returns the accepted false facts of a run. held: reviewers' verdicts on facts."""
    return danger(board_of(store, run.run).records(), store.answers.false_facts(run.run), held, run.spec.shot_draws)


def danger(records: Records, facts: Mapping[int, Fact], held: Held, draws: int = 1, most: int | None = SHOWN) -> Danger:
    """Returns the accepted false facts from a run's records and its false facts by number.

    draws: of shots, which are pooled. most: maximum number of listed facts; None for all.
    """
    records = records.as_committed
    number = records.fact // draws
    count = int(number.max(initial=-1)) + 1
    rows = np.flatnonzero(~records.positive & ~records.negated & records.scored)
    answers = np.bincount(number[rows], minlength=count)
    affirmed = np.bincount(number[rows], weights=records.answer[rows] == 1, minlength=count).astype(np.int64)
    with_p = rows[~np.isnan(records.p_true[rows])]
    p_count = np.bincount(number[with_p], minlength=count)
    p_sum = np.bincount(number[with_p], weights=records.p_true[with_p], minlength=count)
    is_accepted = affirmed > answers / 2
    judged = [n for n in np.flatnonzero(answers).tolist() if is_judged(facts[n], held)]
    contraindicated = {n for n in judged if "contraindicated" in (facts[n].source or "").lower()}
    shrunk = dict(zip(judged, _shrunk(affirmed[judged], answers[judged]).tolist(), strict=True))
    board = [
        Accepted(
            fact=facts[n],
            number=n,
            affirmed=int(affirmed[n]),
            asked=int(answers[n]),
            p_true=float(p_sum[n] / p_count[n]) if p_count[n] else None,
            shrunk=shrunk[n],
            contraindicated=n in contraindicated,
            words=_source_text(facts[n]) if n in contraindicated else "",
        )
        for n in judged
        if is_accepted[n]
    ]
    board.sort(key=lambda row: (not row.contraindicated, -row.shrunk, -(row.p_true or 0.0), row.fact.fact_id))

    specialties = sorted({facts[n].specialty or "" for n in judged} - {""})
    return Danger(
        accepted=_share(is_accepted, facts, judged),
        contraindicated=_share(is_accepted, facts, sorted(contraindicated)),
        by_specialty={
            name: _share(is_accepted, facts, [n for n in judged if facts[n].specialty == name]) for name in specialties
        },
        board=tuple(board[:most]),
        unjudged=int(is_accepted.sum()) - len(board),
    )


def _share(is_accepted: Bools, facts: Mapping[int, Fact], numbers: Sequence[int]) -> Estimate:
    heads, tails = (codes([getattr(facts[n], name) or "" for n in numbers]) for name in ("head", "tail"))
    return mean_interval(is_accepted[list(numbers)].astype(float), Clusters(heads, tails))


def is_judged(fact: Fact, held: Held) -> bool:
    """Returns True if reviewers hold a false fact false, or a source says so and they do not disagree."""
    return held.get(fact.fact_id, fact.difficulty != JUDGED) is False


def not_answered(records: Records, numbers: Sequence[int], draws: int = 1) -> list[int]:
    """Returns the facts of these numbers with an affirmative statement that was not asked or whose call failed."""
    return sorted({*numbers} & {*(records.fact // draws)[~records.negated & ~records.scored].tolist()})


def _source_text(fact: Fact) -> str:
    """Text of the label at the address in `source_id`; users' files have the text there instead of an address."""
    source = fact.source_id or ""
    return label_words().get((fact.head, fact.tail or ""), "") if _ADDRESS.fullmatch(source) else source


def _shrunk(affirmed: Codes, answers: Codes) -> Floats:
    """Shares shrunk towards the common one: posterior means of a beta-binomial model whose prior is fitted by moments.

    With m = Σk/Σn, the variance of the shares beyond chance gives the prior's weight w; each becomes (k + w·m) / (n + w).
    """
    if not len(answers):
        return np.zeros(0)
    shares, common = affirmed / answers, affirmed.sum() / answers.sum()
    by_chance = common * (1 - common)
    size = answers.sum() - (answers**2).sum() / answers.sum()
    spread = float((answers * (shares - common) ** 2).sum())
    if by_chance <= 0 or size <= 0:
        return np.full(len(answers), common)
    rho = (spread / by_chance - (len(answers) - 1)) / (size - (len(answers) - 1)) if size > len(answers) - 1 else 1.0
    rho = min(max(rho, 1e-6), 1.0)
    weight = (1 - rho) / rho
    return np.asarray((affirmed + weight * common) / (answers + weight))
