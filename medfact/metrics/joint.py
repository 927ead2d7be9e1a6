"""Mastery: facts with all their answers right, alone, with their negatives, and against the number of statements."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from medfact.metrics.measures import Curves
from medfact.metrics.records import Bools, Records
from medfact.metrics.uncertainty import NOTHING, Codes, Estimate, mean_interval, share_interval
from medfact.statements import VARIANTS


@dataclass(frozen=True)
class Facts:
    """Per fact: how many statements it has, how many are right, and whether all of them were answered."""

    total: Codes
    right: Codes
    complete: Bools
    pair: Codes
    head: Codes
    tail: Codes
    draw: Codes
    positive: Bools

    @property
    def count(self) -> int:
        return len(self.total)

    @property
    def mastered(self) -> Bools:
        return np.asarray(self.right == self.total, dtype=bool)

    @property
    def negatives(self) -> int:
        """Negative facts that go with a positive one, where one has most."""
        of_positive = np.isin(self.pair, self.pair[self.positive]) & ~self.positive
        return int(np.bincount(self.pair[of_positive]).max(initial=0))

    def joint(self) -> Estimate:
        done = self.complete
        return share_interval(self.mastered[done].astype(float), self.head[done], self.tail[done], self.draw[done])

    def joint_at(self) -> list[Estimate]:
        """Expected joint accuracy with any i of the K statements: mean over facts of C(right, i) / C(K, i), i = 1 … K.

        This is the mean over all K! orders in closed form (PretextTrans, Figure 5). Empty where facts differ in K.
        """
        done = self.complete
        if not done.any() or len(set(self.total[done])) != 1:
            return []
        k = int(self.total[done][0])
        table = np.array([[math.comb(c, i) / math.comb(k, i) for i in range(1, k + 1)] for c in range(k + 1)])
        clusters = self.head[done], self.tail[done], self.draw[done]
        return [mean_interval(column, *clusters) for column in table[self.right[done]].T]


def facts_of(records: Records) -> Facts:
    count = int(records.fact.max()) + 1 if len(records.fact) else 0
    first = np.unique(records.fact, return_index=True)[1]
    total = np.bincount(records.fact, minlength=count)
    return Facts(
        total=total,
        right=np.bincount(records.fact, weights=records.scored & records.right, minlength=count).astype(np.int64),
        complete=np.bincount(records.fact, weights=records.scored, minlength=count).astype(np.int64) == total,
        pair=records.pair[first],
        head=records.head[first],
        tail=records.tail[first],
        draw=records.draw[first],
        positive=records.positive[first],
    )


def pairs_of(facts: Facts) -> tuple[Bools, Bools]:
    """Per pair: whether it has a negative and every statement of it was answered; and whether all its answers are right."""
    pairs = int(facts.pair.max(initial=-1)) + 1
    members = np.bincount(facts.pair, minlength=pairs)
    complete = np.bincount(facts.pair, weights=facts.complete, minlength=pairs) == members
    right = np.bincount(facts.pair, weights=facts.complete & facts.mastered, minlength=pairs) == members
    return (members >= 2) & complete, right


def pair_joint(records: Records, facts: Facts) -> Estimate:
    """Over positive facts with at least one negative and every statement of the pair answered: share with all right."""
    if not facts.count:
        return NOTHING
    answered, right = pairs_of(facts)
    rows = facts.positive & answered[facts.pair]
    return share_interval(right[facts.pair[rows]].astype(float), facts.head[rows], facts.tail[rows], facts.draw[rows])


def curves_of(records: Records, facts: Facts) -> Curves:
    """Accuracy against the number of statements a fact, over complete facts: joint in any order; joint and average with the
    first, the first two, … variants in their fixed order (TPEval, Figure 6).
    """
    done = facts.complete[records.fact] if facts.count else np.zeros(0, dtype=bool)
    joint, average = [], []
    alive = np.ones(facts.count, dtype=bool)
    so_far = np.zeros(len(records.fact), dtype=bool)
    whole = facts.complete
    for key in [key for key in VARIANTS if key in records.variants.names and done.any()]:
        rows = done & records.variants.among([key])
        alive[records.fact[rows & ~records.right]] = False
        so_far |= rows
        joint.append(share_interval(alive[whole].astype(float), facts.head[whole], facts.tail[whole], facts.draw[whole]))
        average.append(records.accuracy(so_far))
    return Curves(tuple(facts.joint_at()), tuple(joint), tuple(average))
