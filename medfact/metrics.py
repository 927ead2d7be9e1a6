"""Every figure of a run, from arrays alone.

Four fates of a statement are never mixed: right, wrong, unreadable (scored as wrong, as the papers' indicator does) and
failed (never scored). Nothing to measure gives no value, never zero.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medfact.statements import FORM_NAMES, IMPLICATIONS, VARIANTS
from medfact.uncertainty import (
    NOTHING,
    Codes,
    Estimate,
    Floats,
    crossed,
    linear_interval,
    mean_interval,
    share_interval,
    wilson,
)

UNREADABLE, FAILED, PENDING = -1, -2, -3
"""Values of `Records.answer` beside 1 (True) and 0 (False)."""

BINS = 20
LEAST_MASS = 0.5
"""Answers whose True and False words hold less of the probability than this say nothing about calibration."""

Bools = NDArray[np.bool_]

IMPLICATION_SETS = {
    "none": ("none",),
    "+dn": ("none", "dn"),
    "+dn+inv": ("none", "dn", "inv", "inv+dn"),
    "+all": tuple(IMPLICATIONS),
}
"""PretextTrans' ablation of implication types (its Table 5): name → the variants that count."""


@dataclass(frozen=True)
class Records:
    """One row per statement of a run, in parallel arrays.

    fact, pair, head, tail, draw: codes from 0; `pair` joins a positive fact and its negatives; a fact that is asked after
    several draws of demonstrations has a code for each.
    variant, relation, tail_type: text. positive: does the fact hold? label: is the statement true?
    answer: 1, 0, UNREADABLE, FAILED or PENDING. p_true, p_mass: from 0 to 1, or NaN.
    """

    fact: Codes
    pair: Codes
    head: Codes
    tail: Codes
    draw: Codes
    variant: NDArray[np.str_]
    relation: NDArray[np.str_]
    tail_type: NDArray[np.str_]
    positive: Bools
    label: Bools
    answer: NDArray[np.int8]
    p_true: Floats
    p_mass: Floats

    @cached_property
    def scored(self) -> Bools:
        """Statements with an answer, readable or not."""
        return self.answer >= UNREADABLE

    @cached_property
    def readable(self) -> Bools:
        return self.answer >= 0

    @cached_property
    def right(self) -> Bools:
        return np.asarray(self.answer == self.label.astype(np.int8), dtype=bool)

    @cached_property
    def negated(self) -> Bools:
        return self.variants.map(lambda key: VARIANTS[key].negated).astype(bool)

    @cached_property
    def forms(self) -> Names:
        """The form of each statement, affirmed and denied ones alike."""
        return self.variants.renamed(lambda key: VARIANTS[key].form)

    @cached_property
    def variants(self) -> Names:
        return Names.of(self.variant)

    @cached_property
    def relations(self) -> Names:
        return Names.of(self.relation)

    @cached_property
    def _head_and_tail(self) -> Codes:
        return crossed(self.head, self.tail)

    def clusters(self, rows: Bools | Codes) -> tuple[Codes, Codes, Codes, Codes]:
        """Heads, tails, draws, and heads and tails crossed, of the chosen statements: what stands or falls together."""
        return self.head[rows], self.tail[rows], self.draw[rows], self._head_and_tail[rows]

    def accuracy(self, chosen: Bools) -> Estimate:
        """Share of right answers among the scored ones of the chosen statements."""
        rows = np.flatnonzero(chosen & self.scored)
        return mean_interval(self.right[rows].astype(float), *self.clusters(rows))


class Names:
    """Names of rows: the different ones, sorted, and each row's place among them."""

    def __init__(self, names: Sequence[str], code: Codes) -> None:
        self.names, self.code = names, code

    @classmethod
    def of(cls, values: NDArray[Any]) -> Names:
        """The names of an array of text, one per row."""
        listed = values.tolist()
        names = sorted(set(listed))
        place = {name: number for number, name in enumerate(names)}
        return cls(names, np.fromiter(map(place.__getitem__, listed), dtype=np.int64, count=len(listed)))

    def renamed(self, new: Callable[[str], str]) -> Names:
        """The same rows under other names, where several may become one."""
        made = Names.of(np.array([new(name) for name in self.names], dtype=object))
        return Names(made.names, made.code[self.code] if self.names else self.code)

    def among(self, names: Sequence[str]) -> Bools:
        """Which rows have one of these names."""
        return self.map(lambda name: name in names).astype(bool)

    def map(self, of: Callable[[str], Any]) -> NDArray[Any]:
        """A value of each row, by its name."""
        return np.array([of(name) for name in self.names])[self.code] if self.names else np.zeros(0)


def codes(values: Sequence[str]) -> Codes:
    """Codes from 0, one for each different value."""
    return Names.of(np.array(values, dtype=object)).code


def measure(records: Records) -> dict[str, Any]:
    """All figures of a run under the names that a report gives them."""
    everything = np.ones(len(records.fact), dtype=bool)
    facts = _facts(records)
    curves = _curves(records, facts)
    return {
        "statements": len(records.fact),
        "facts": facts.count,
        "answered": int(records.scored.sum()),
        "unreadable": int((records.answer == UNREADABLE).sum()),
        "failed": int((records.answer == FAILED).sum()),
        "average_accuracy": records.accuracy(everything)._asdict(),
        "joint_accuracy": facts.joint()._asdict(),
        "pair_joint_accuracy": _pair_joint(records, facts)._asdict(),
        "macro_accuracy": _macro(records)._asdict(),
        "yes_bias": _yes_bias(records)._asdict(),
        "false_affirmation": _harm(records, positive=False, answer=1),
        "false_denial": _harm(records, positive=True, answer=0),
        "positive_accuracy": records.accuracy(records.positive)._asdict(),
        "negative_accuracy": records.accuracy(~records.positive)._asdict(),
        "accuracy_gap": _gap(records)._asdict(),
        "mkj_accuracy": _mkj_accuracy(records)._asdict(),
        "chance": _chance(records, facts),
        "joint_accuracy_at": _values(curves["joint_any_order"]),
        "joint_accuracy_ordered": _values(curves["joint_ordered"]),
        "average_accuracy_ordered": _values(curves["average_ordered"]),
        "curves": {name: [estimate._asdict() for estimate in curve] for name, curve in curves.items()},
        "by_variant": _by(records, records.variants, list(VARIANTS)),
        "by_relation": _by(records, records.relations),
        "by_polarity": _by_polarity(records),
        "by_form": _by(records, records.forms, list(FORM_NAMES)),
        "by_implications": _by_implications(records),
        "by_tail_type": (by_tail_type := _by_tail_type(records)),
        "error_prone": _error_prone(by_tail_type),
        "calibration": calibration(records),
        "coherence": _coherence(records),
    }


def _chance(records: Records, facts: _Facts) -> dict[str, float | None]:
    """What a fair coin is expected to score: joint accuracy over K statements, pair joint over the negatives' too."""
    if not facts.count:
        return {"average_accuracy": None, "joint_accuracy": None, "pair_joint_accuracy": None}
    statements, members = int(facts.total.max()), 1 + _negatives(records)
    return {
        "average_accuracy": 0.5,
        "joint_accuracy": 0.5**statements,
        "pair_joint_accuracy": 0.5 ** (statements * members) if members > 1 else None,
    }


def _negatives(records: Records) -> int:
    """Negative facts per positive one, where a positive one has most."""
    pairs = np.unique(np.stack([records.pair, records.fact])[:, ~records.positive], axis=1)[0]
    return int(np.bincount(pairs).max()) if len(pairs) else 0


def headline(records: Records) -> dict[str, Any]:
    """The three figures shown first, and the counts, for a page that moves while a run goes on."""
    facts = _facts(records)
    everything = np.ones(len(records.fact), dtype=bool)
    return {
        "average_accuracy": records.accuracy(everything)._asdict(),
        "joint_accuracy": facts.joint()._asdict(),
        "pair_joint_accuracy": _pair_joint(records, facts)._asdict(),
    }


# ------------------------------------------------------------------------------------------------ joint


@dataclass(frozen=True)
class _Facts:
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


def _facts(records: Records) -> _Facts:
    count = int(records.fact.max()) + 1 if len(records.fact) else 0
    first = np.unique(records.fact, return_index=True)[1]
    total = np.bincount(records.fact, minlength=count)
    return _Facts(
        total=total,
        right=np.bincount(records.fact, weights=records.scored & records.right, minlength=count).astype(np.int64),
        complete=np.bincount(records.fact, weights=records.scored, minlength=count).astype(np.int64) == total,
        pair=records.pair[first],
        head=records.head[first],
        tail=records.tail[first],
        draw=records.draw[first],
        positive=records.positive[first],
    )


def _pair_joint(records: Records, facts: _Facts) -> Estimate:
    """Over positive facts with at least one negative and every statement of the pair answered: share with all right."""
    if not facts.count:
        return NOTHING
    pairs = int(facts.pair.max()) + 1
    members = np.bincount(facts.pair, minlength=pairs)
    complete = np.bincount(facts.pair, weights=facts.complete, minlength=pairs) == members
    right = np.bincount(facts.pair, weights=facts.complete & facts.mastered, minlength=pairs) == members
    rows = facts.positive & (members >= 2)[facts.pair] & complete[facts.pair]
    return share_interval(right[facts.pair[rows]].astype(float), facts.head[rows], facts.tail[rows], facts.draw[rows])


def _curves(records: Records, facts: _Facts) -> dict[str, list[Estimate]]:
    """Accuracy against the number of statements a fact, over complete facts: joint in any order; joint and average with the
    first, the first two, … variants in their fixed order (TPEval, Figure 6).
    """
    done = facts.complete[records.fact] if facts.count else np.zeros(0, dtype=bool)
    curves: dict[str, list[Estimate]] = {"joint_any_order": facts.joint_at(), "joint_ordered": [], "average_ordered": []}
    alive = np.ones(facts.count, dtype=bool)
    so_far = np.zeros(len(records.fact), dtype=bool)
    whole = facts.complete
    for key in [key for key in VARIANTS if key in records.variants.names and done.any()]:
        rows = done & records.variants.among([key])
        alive[records.fact[rows & ~records.right]] = False
        so_far |= rows
        joint = share_interval(alive[whole].astype(float), facts.head[whole], facts.tail[whole], facts.draw[whole])
        curves["joint_ordered"].append(joint)
        curves["average_ordered"].append(records.accuracy(so_far))
    return curves


def _values(curve: Sequence[Estimate]) -> list[float | None] | None:
    return [estimate.value for estimate in curve] or None


# ------------------------------------------------------------------------------------------------ averages


def _by(records: Records, names: Names, order: Sequence[str] = ()) -> dict[str, Any]:
    """Accuracy by name, in this order, or else sorted; nameless rows are left out."""
    chosen = [name for name in order or names.names if name and name in names.names]
    return {name: records.accuracy(names.among([name]))._asdict() for name in chosen}


def _by_polarity(records: Records) -> dict[str, Any]:
    sides = {"affirmed": ~records.negated, "negated": records.negated}
    return {name: records.accuracy(rows)._asdict() for name, rows in sides.items() if rows.any()}


def _by_tail_type(records: Records) -> dict[str, Any]:
    """Accuracy by semantic type of the tail; a tail of several types ("A; B") counts for each."""
    types = Names.of(records.tail_type)
    holders: defaultdict[str, list[str]] = defaultdict(list)
    for text in types.names:
        for name in text.split("; "):
            holders[name].append(text)
    return {name: records.accuracy(types.among(holders[name]))._asdict() for name in sorted(holders) if name}


SHOWN_TYPES = 5


def _error_prone(by_tail_type: dict[str, Any]) -> dict[str, list[str]]:
    """The five types with the lowest and with the highest accuracy, as far as there are so many (MKJ, Table 2)."""
    scored = [(name, e) for name, e in by_tail_type.items() if e["value"] is not None]
    order = [name for name, e in sorted(scored, key=lambda item: (item[1]["value"], -item[1]["n"], item[0]))]
    most = order[:SHOWN_TYPES]
    least = sorted(order[len(most) :], key=lambda name: (-by_tail_type[name]["value"], -by_tail_type[name]["n"], name))
    return {"most": most, "least": least[:SHOWN_TYPES]}


def _by_implications(records: Records) -> dict[str, Any]:
    present = set(records.variants.names)
    return {
        name: records.accuracy(records.variants.among(keys))._asdict()
        for name, keys in IMPLICATION_SETS.items()
        if present.issuperset(keys)
    }


def _macro(records: Records) -> Estimate:
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
    estimate = linear_interval(parts, *records.clusters(rows))
    return _within(_open(estimate, records.head[rows]), 0.0)


def _gap(records: Records) -> Estimate:
    """Accuracy over statements of positive facts less that over statements of negative ones."""
    return _of_both_sides(records, 1.0, -1.0, lowest=-1.0)


def _mkj_accuracy(records: Records) -> Estimate:
    """MKJ's Acc (its Section 4.2): accuracies over statements of positive and of negative facts, weighted 1 : k negatives."""
    k = _negatives(records)
    return _of_both_sides(records, 1 / (1 + k), k / (1 + k), lowest=0.0)


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
    return _within(_open(linear_interval(parts, *records.clusters(rows)), records.head[rows]), lowest)


def _within(estimate: Estimate, lowest: float) -> Estimate:
    if estimate.low is None or estimate.high is None:
        return estimate
    return estimate._replace(low=max(lowest, estimate.low), high=min(1.0, estimate.high))


def _open(estimate: Estimate, heads: Codes) -> Estimate:
    """Where no value differs from its group's, the error collapses to nothing: then as wide as Wilson's over the heads."""
    if estimate.value is None or estimate.low is None or estimate.high is None or estimate.low < estimate.high:
        return estimate
    low, high = wilson(0.0, len(np.unique(heads)))
    return estimate._replace(low=estimate.value - (high - low), high=estimate.value + (high - low))


def _yes_bias(records: Records) -> Estimate:
    """Share of True answers less the share of True labels, over readable answers."""
    rows = records.readable
    parts = (records.answer[rows] == 1).astype(float) - records.label[rows].astype(float)
    return _within(_open(linear_interval(parts, *records.clusters(rows)), records.head[rows]), -1.0)


def _harm(records: Records, *, positive: bool, answer: int) -> dict[str, Any]:
    """Over affirmed forms of facts that hold (or not): share with this, the harmful, answer; in all and by relation."""
    rows = records.scored & ~records.negated & (records.positive == positive)

    def share(chosen: Bools) -> dict[str, Any]:
        places = np.flatnonzero(chosen)
        harmful = (records.answer[places] == answer).astype(float)
        return mean_interval(harmful, *records.clusters(places))._asdict()

    of = {name: rows & records.relations.among([name]) for name in records.relations.names}
    return {**share(rows), "by_relation": {name: share(chosen) for name, chosen in of.items() if chosen.any()}}


# ------------------------------------------------------------------------------------------------ P(True)


def calibration(records: Records) -> dict[str, Any]:
    """How well P(True) tells truth: 20 equal bins, and the expected calibration error beside that of a perfect model.

    `coverage` is the share of answers with a P(True) whose True and False words hold at least half of the probability;
    the others are left out.
    """
    given = records.scored & ~np.isnan(records.p_true)
    mass = np.where(np.isnan(records.p_mass), 1.0, records.p_mass)
    rows = given & (mass >= LEAST_MASS)
    p, label = records.p_true[rows], records.label[rows].astype(float)
    right = records.right[rows].astype(float)
    bins = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    none = not len(p)
    return {
        "n": len(p),
        "coverage": float(rows.sum() / given.sum()) if given.any() else None,
        "ece": None if none else _ece(p, label, bins),
        "ece_floor": None if none else _ece_floor(p, bins),
        "ece_confidence": None if none else _ece_of_confidence(np.maximum(p, 1 - p), right),
        "brier": None if none else float(np.square(p - label).mean()),
        "bins": list(_bins(p, label, bins)),
    }


def _bins(p: Floats, label: Floats, bins: Codes) -> Iterator[dict[str, Any]]:
    for b in range(BINS):
        rows = bins == b
        yield {
            "low": b / BINS,
            "high": (b + 1) / BINS,
            "n": int(rows.sum()),
            "mean_p_true": float(p[rows].mean()) if rows.any() else None,
            "positive_rate": float(label[rows].mean()) if rows.any() else None,
        }


def _ece(p: Floats, outcome: Floats, bins: Codes) -> float:
    """Expected calibration error: Σ n_b / n · |mean p − outcome rate| = Σ |sum p − sum outcome| / n."""
    return float(np.abs(np.bincount(bins, weights=p - outcome)).sum() / len(p))


def _ece_of_confidence(confidence: Floats, right: Floats) -> float:
    bins = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    return _ece(confidence, right, bins)


def _ece_floor(p: Floats, bins: Codes) -> float:
    """The error that a perfectly calibrated model with these very P(True) shows by chance: mean over seeded draws.

    With many answers each draw is nearly the mean, so that fewer draws do.
    """
    randomness = np.random.default_rng(0)
    draws = max(10, min(100, 1_000_000 // len(p)))
    return float(np.mean([_ece(p, (randomness.random(len(p)) < p).astype(float), bins) for _ in range(draws)]))


def _coherence(records: Records) -> dict[str, Any]:
    """Needs no label: over forms with both polarities answered, how often the model affirms both, or denies both, and the
    mean of |p(s) + p(¬s) − 1|.
    """
    key = records.fact * max(len(records.forms.names), 1) + records.forms.code
    size = int(key.max()) + 1 if len(key) else 0
    answer = np.full((2, size), PENDING, dtype=np.int8)
    p_true = np.full((2, size), np.nan)
    polarity = records.negated.astype(int)
    answer[polarity, key], p_true[polarity, key] = records.answer, records.p_true
    both = (answer >= 0).all(axis=0)
    gaps = np.abs(p_true.sum(axis=0) - 1)
    gaps = gaps[~np.isnan(gaps)]
    return {
        "n": int(both.sum()),
        "affirms_both": float((answer[:, both] == 1).all(axis=0).mean()) if both.any() else None,
        "denies_both": float((answer[:, both] == 0).all(axis=0).mean()) if both.any() else None,
        "probability_gap": float(gaps.mean()) if len(gaps) else None,
    }
