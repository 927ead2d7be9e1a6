"""Mastery: facts with all their answers right, alone, with their negatives, and against the number of statements."""

from __future__ import annotations

import numpy as np

from medfact.metrics.clusters import Bools, Clusters, Codes
from medfact.metrics.measures import Curves, measured
from medfact.metrics.records import Facts as Facts
from medfact.metrics.records import Records
from medfact.metrics.records import facts_of as facts_of
from medfact.metrics.uncertainty import NOTHING, Estimate, mean_interval
from medfact.statements import VARIANTS


def pairs_of(facts: Facts) -> tuple[Bools, Bools]:
    """Per pair: whether it has a negative and every statement of it was answered; and whether all its answers are right."""
    pairs = int(facts.pair.max(initial=-1)) + 1
    members = np.bincount(facts.pair, minlength=pairs)
    complete = np.bincount(facts.pair, weights=facts.complete, minlength=pairs) == members
    right = np.bincount(facts.pair, weights=facts.complete & facts.mastered, minlength=pairs) == members
    return (members >= 2) & complete, right


def pair_clusters(facts: Facts, positives: Codes) -> Clusters:
    """The clusters of the pairs of these positive facts: a pair has the tails of all its facts."""
    chosen = facts.clusters.of(positives)
    if chosen.tails is None:
        return chosen
    return chosen._replace(tails=tails_of_pairs(facts, positives), head_tail=None)


def tails_of_pairs(facts: Facts, positives: Codes) -> Codes:
    """(pairs, most facts of a pair): the tails of each pair of these positive facts, −1 where it has fewer."""
    place = np.full(int(facts.pair.max(initial=-1)) + 1, -1)
    place[facts.pair[positives]] = np.arange(len(positives))
    members = np.flatnonzero(place[facts.pair] >= 0)
    members = members[np.argsort(place[facts.pair[members]], kind="stable")]
    pair = place[facts.pair[members]]
    number = np.arange(len(pair)) - np.searchsorted(pair, pair)
    tails = np.full((len(positives), int(number.max(initial=0)) + 1), -1, dtype=np.int64)
    tails[pair, number] = facts.tail[members]
    return tails


@measured(
    "joint_accuracy",
    "all right",
    "joint accuracy: the share of facts, true and false ones, with all answers right",
    of="fact",
    coin=lambda _, facts: 0.5 ** int(facts.total.max()) if facts.count else None,
)
def joint(_: Records, facts: Facts) -> Estimate:
    return facts.joint()


def pair_coin(_: Records, facts: Facts) -> float | None:
    """Score of a fair coin: all statements right of a true fact and of its false partners."""
    return 0.5 ** (int(facts.total.max()) * (1 + facts.negatives)) if facts.count and facts.negatives else None


@measured(
    "pair_joint_accuracy",
    "true fact and its false twin both mastered",
    "pair joint accuracy: the share of true facts that are mastered together with their false partners",
    of="pair",
    coin=pair_coin,
)
def pair_joint(records: Records, facts: Facts) -> Estimate:
    """Over positive facts with at least one negative and every statement of the pair answered: share with all right."""
    if not facts.count:
        return NOTHING
    answered, right = pairs_of(facts)
    rows = facts.positive & answered[facts.pair]
    return mean_interval(right[facts.pair[rows]].astype(float), pair_clusters(facts, np.flatnonzero(rows)))


def curves_of(records: Records, facts: Facts) -> Curves:
    """Accuracy against the number of statements a fact, over complete facts.

    Joint accuracy in any order; joint and average accuracy with the first, the first two, … variants (TPEval, Figure 6).
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
        joint.append(mean_interval(alive[whole].astype(float), facts.clusters.of(whole)))
        average.append(records.accuracy(so_far))
    return Curves(tuple(facts.joint_at()), tuple(joint), tuple(average))
