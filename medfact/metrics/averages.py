"""Accuracies over statements, mastery of facts and pairs, the bias of a model towards “true”, and shares of harmful answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import partial

import numpy as np

from medfact.metrics.clusters import Clusters, Floats, count_of
from medfact.metrics.measures import MEASURES, Harm, TypeAccuracy, measured
from medfact.metrics.records import FAILED, UNREADABLE, Facts, Records, pairs_of, tails_of_pairs
from medfact.metrics.uncertainty import NOTHING, Estimate, is_above, is_known, linear_interval, mean_interval, wilson
from medfact.statements import IMPLICATIONS

# PretextTrans' ablation of implication types (its Table 5): name → the variants that count.
IMPLICATION_SETS = {
    "none": ("none",),
    "+dn": ("none", "dn"),
    "+dn+inv": ("none", "dn", "inv", "inv+dn"),
    "+all": tuple(IMPLICATIONS),
}

for name, compute in {
    "statements": lambda records, _: len(records.fact),
    "facts": lambda records, facts: len(facts.total) // max(len(np.unique(records.draw)), 1),  # true and false ones, each once
    "answered": lambda records, _: int(records.scored.sum()),
    "right": lambda records, _: int((records.scored & records.right).sum()),
    "wrong": lambda records, _: int((records.readable & ~records.right).sum()),
    "unreadable": lambda records, _: int((records.answer == UNREADABLE).sum()),
    "failed": lambda records, _: int((records.answer == FAILED).sum()),
    # facts without a wrong answer so far
    "standing": lambda records, _: (
        len(np.unique(records.triplet)) - len(np.unique(records.triplet[records.scored & ~records.right]))
    ),
}.items():
    measured(name, kind=int)(compute)


@measured(
    "average_accuracy",
    "right answers",
    "average accuracy: the share of right answers over all statements",
    coin=lambda _, facts: 0.5 if len(facts.total) else None,
)
def average_accuracy(records: Records, _: Facts) -> Estimate:
    return records.accuracy(np.ones(len(records.fact), dtype=bool))


measured(
    "joint_accuracy",
    "all right",
    "joint accuracy: the share of facts, true and false ones, with all answers right",
    of="fact",
    coin=lambda _, facts: 0.5 ** int(facts.total.max()) if len(facts.total) else None,
)(lambda _, facts: facts.joint())


@measured(
    "pair_joint_accuracy",
    "true fact and its false twin both mastered",
    "pair joint accuracy: the share of true facts that are mastered together with their false partners",
    of="pair",
    coin=lambda _, facts: 0.5 ** (int(facts.total.max()) * (1 + facts.negatives)) if facts.negatives else None,
)
def pair_joint(_: Records, facts: Facts) -> Estimate:
    """Over positive facts with at least one negative and every statement of the pair answered: share with all right.

    A pair has the tails of all its facts.
    """
    answered, right = pairs_of(facts)
    rows = np.flatnonzero(facts.positive & answered[facts.pair])
    clusters = facts.clusters.of(rows)
    if clusters.tails is not None:
        clusters = clusters._replace(tails=tails_of_pairs(facts, rows), head_tail=None)
    return mean_interval(right[facts.pair[rows]].astype(float), clusters)


@measured("macro_accuracy")
def macro(records: Records, _: Facts) -> Estimate:
    """Mean over relations of their average accuracies; its linear parts are each statement's share in it."""
    rows = records.scored
    if not rows.any():
        return NOTHING
    relation = np.unique(records.relations.code[rows], return_inverse=True)[1]
    right = records.right[rows].astype(float)
    sizes = np.bincount(relation)
    means = np.bincount(relation, weights=right) / sizes
    weight = len(right) / (len(sizes) * sizes[relation])
    parts = means.mean() + weight * (right - means[relation])
    return bounded(parts, records.clusters(rows), 0.0)


def bounded(parts: Floats, clusters: Clusters, lowest: float) -> Estimate:
    """The mean of linear parts with its interval, from `lowest` to 1.

    Where no value differs from its group's, the error collapses to nothing: then it is as wide as Wilson's over the heads. Not
    where a whole finite population was asked: then there is nothing in doubt.
    """
    value, low, high, n = linear_interval(parts, clusters)
    if value is None or low is None or high is None:
        return Estimate(value, low, high, n)
    if low == high and not is_known(clusters):
        least, most = wilson(0.0, count_of(clusters.heads))
        low, high = value - (most - least), value + (most - least)
    return Estimate(value, max(lowest, low), min(1.0, high), n)


@measured(
    "yes_bias",
    "bias towards “true”",
    "yes-bias: share of True answers less share of true statements",
    of="answer",
    coin=0.0,
    signed=True,
)
def yes_bias(records: Records, _: Facts) -> Estimate:
    """Share of True answers less the share of True labels, over readable answers."""
    rows = records.readable
    parts = (records.answer[rows] == 1).astype(float) - records.label[rows].astype(float)
    return bounded(parts, records.clusters(rows), -1.0)


def harm(records: Records, _: Facts, *, positive: bool, answer: int) -> Harm:
    """Over affirmed forms of facts that hold (or not): share with this, the harmful, answer; in all and by relation."""
    records = records.as_committed
    rows = records.scored & ~records.negated & (records.positive == positive)
    by_relation = {name: rows & records.relations.among([name]) for name in records.relations.names}
    share = partial(records.share, records.answer == answer)
    return Harm(*share(rows), {name: share(chosen) for name, chosen in by_relation.items() if chosen.any()})


measured("false_affirmation", kind=Harm)(partial(harm, positive=False, answer=1))
measured("false_denial", kind=Harm)(partial(harm, positive=True, answer=0))


measured("positive_accuracy", "Acc_pos, facts that hold", "Acc_pos: right answers over statements of facts that hold")(
    lambda records, _: records.accuracy(records.positive)
)
measured("negative_accuracy", "Acc_neg, false facts", "Acc_neg: right answers over statements of false facts")(
    lambda records, _: records.accuracy(~records.positive)
)


measured(
    "accuracy_gap",
    "Acc_gap, the gap",
    "Acc_gap: accuracy over facts that hold less accuracy over false ones",
    coin=0.0,
    signed=True,
)(lambda records, _: _of_both_sides(records, 1.0, -1.0, lowest=-1.0))


@measured("mkj_accuracy", "Acc", "Acc: right answers, true and false statements weighted 1 : k false partners")
def mkj_accuracy(records: Records, facts: Facts) -> Estimate:
    """MKJ's Acc (its Section 4.2): accuracies over statements of positive and of negative facts, weighted 1 : k negatives."""
    negatives, rows = facts.negatives, records.scored
    if negatives and math.isclose(np.count_nonzero(records.positive[rows]) * (1 + negatives), np.count_nonzero(rows)):
        return average_accuracy(records, facts)  # the same mean, which has one interval
    return _of_both_sides(records, 1 / (1 + negatives), negatives / (1 + negatives), lowest=0.0)


def _of_both_sides(records: Records, positive_weight: float, negative_weight: float, lowest: float) -> Estimate:
    """A weighted sum of the accuracies over statements of positive and of negative facts; no value without both."""
    rows = records.scored
    positive, right = records.positive[rows], records.right[rows].astype(float)
    if not positive.any() or positive.all():
        return NOTHING
    share, means = positive.mean(), (right[positive].mean(), right[~positive].mean())
    value = positive_weight * means[0] + negative_weight * means[1]
    weights = np.where(positive, positive_weight / share, negative_weight / (1 - share))
    parts = value + (right - np.where(positive, *means)) * weights
    return bounded(parts, records.clusters(rows), lowest)


# scores of a fair coin that depend on the run
measured("chance", kind=Mapping[str, float | None])(
    lambda records, facts: {name: measure.coin(records, facts) for name, measure in MEASURES.items() if callable(measure.coin)}
)


def _values(_: Records, facts: Facts, curve: str) -> tuple[float | None, ...] | None:
    return tuple(estimate.value for estimate in facts.curves[curve]) or None


for name, curve in {
    "joint_accuracy_at": "joint_any_order",
    "joint_accuracy_ordered": "joint_ordered",
    "average_accuracy_ordered": "average_ordered",
}.items():
    measured(name, kind=tuple[float | None, ...] | None)(partial(_values, curve=curve))
measured("curves", kind=Mapping[str, tuple[Estimate, ...]])(lambda _, facts: facts.curves)


SHOWN_TYPES = 5
FEWEST_FACTS = 20  # a type with fewer facts is not ranked: its accuracy may be off by more than types differ


def error_prone(by_tail_type: Mapping[str, TypeAccuracy]) -> dict[str, tuple[str, ...]]:
    """Up to five types below the best, and up to five others above the worst (MKJ, Table 2, which ranks without a test).

    A type counts with 20 facts, and where its difference to the best or the worst is shown.
    """
    ranked = {name: accuracy for name, accuracy in by_tail_type.items() if accuracy.facts >= FEWEST_FACTS}
    count = min(SHOWN_TYPES, len(ranked) // 2)

    def ordered(names: Iterable[str], sign: int) -> list[str]:
        return sorted(names, key=lambda name: (sign * (ranked[name].value or 0.0), -ranked[name].n, name))

    worst = ordered(ranked, 1)[:count]
    best = ordered(ranked.keys() - set(worst), -1)[:count]

    def is_shown(better: str, worse: str) -> bool:
        return is_above(ranked[better].estimate, ranked[worse].estimate, len(ranked) * (len(ranked) - 1) // 2)

    return {
        "most": tuple(name for name in worst if is_shown(best[0], name)),
        "least": tuple(name for name in best if is_shown(name, worst[0])),
    }
