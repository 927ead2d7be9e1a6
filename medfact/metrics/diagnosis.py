"""Why a fact fails: one diagnosis from which of its eight answers are right, and how often each occurs beyond independence.

A model that says True to nearly everything fails by chance in the same way again and again. So a share stands beside what
answers that are independent of each other would give at the model's own rate for each way of asking, with the excess over it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from medfact.metrics.clusters import Clusters, Codes, Floats, count_of, redrawn, unseen_share
from medfact.metrics.records import UNREADABLE, Records
from medfact.metrics.uncertainty import Estimate, is_known, mean_interval, too_few, widened
from medfact.statements import IMPLICATIONS

MASTERED, OPPOSITE, BLIND, YES, NO = "mastered", "opposite", "negation-blind", "always-yes", "always-no"
DIRECTION, CASE, CHANCE, MIXED = "direction-bound", "case-bound", "by-chance", "mixed"
TAKES_TRUE, TAKES_FALSE = "takes-all-true", "takes-all-false"  # the opposite, of nearly only false, or only true, facts

DIAGNOSES = {
    MASTERED: "all eight answers are right",
    OPPOSITE: "it believes the opposite: at most one of the eight answers is right",
    BLIND: "it overlooks “not”: right wherever the fact is affirmed, wrong where it is denied",
    YES: "it says “true” to a false fact, affirmed or denied",
    NO: "it says “false” to a true fact, affirmed or denied",
    DIRECTION: "it knows the fact in one direction alone: right that way round, wrong the other way",
    CASE: "it knows the fact in general alone, or in a patient alone",
    CHANCE: "three to five of the eight answers are right, in none of these ways: as by chance",
    MIXED: "two, six or seven of the eight answers are right, in none of these ways",
}
"""Diagnosis → what it means; exclusive and exhaustive. “Wrong” on one side of four means that at most one of them is right."""

PLAIN = {
    MASTERED: "mastered",
    OPPOSITE: "believes the opposite",
    BLIND: "overlooks “not”",
    YES: "says “true”, affirmed or denied",
    NO: "says “false”, affirmed or denied",
    DIRECTION: "right in one direction alone",
    CASE: "right in general alone, or in a patient alone",
    CHANCE: "no clear pattern, about half right",
    MIXED: "no clear pattern, more or fewer right",
}
"""Diagnosis → its name in figures."""

_OF_ONE_FACT = {
    True: "it says “true” to this true fact, affirmed or denied: it overlooks “not”, or says “true” to everything",
    False: "it says “false” to this false fact, affirmed or denied: it overlooks “not”, or says “false” to everything",
}
"""Whether a fact holds → what *negation-blind* means there: one fact alone cannot tell the two apart."""

STANDS_OUT = {
    BLIND: (BLIND, BLIND, "of {of} {it} overlooks “not”", "{it} overlook “not” (of {of})"),
    OPPOSITE: (OPPOSITE, OPPOSITE, "of {of} {it} believes the opposite", "{it} believe the opposite (of {of})"),
    YES: (BLIND, YES, "{it} says “true” to {of}, affirmed and denied", "{it} say “true”, affirmed and denied (to {of})"),
    NO: (NO, BLIND, "{it} says “false” to {of}, affirmed and denied", "{it} say “false”, affirmed and denied (to {of})"),
    DIRECTION: (
        DIRECTION,
        DIRECTION,
        "{it} knows {of} in one direction alone",
        "{it} know facts in one direction alone ({of})",
    ),
    CASE: (
        CASE,
        CASE,
        "{it} knows {of} in general or in a patient alone",
        "{it} know facts in general or a patient alone ({of})",
    ),
    TAKES_TRUE: ("", OPPOSITE, "{it} takes {of} for true", "{it} take false facts for true ({of})"),
    TAKES_FALSE: (OPPOSITE, "", "{it} takes {of} for false", "{it} take true facts for false ({of})"),
}
"""Failing → the diagnoses of true and of false facts that show it, and clauses about one model and about several."""

_VARIANTS = tuple(IMPLICATIONS)
_DENIED = tuple(IMPLICATIONS[key].negated for key in _VARIANTS)
_REVERSED = tuple("inv" in key.split("+") for key in _VARIANTS)
_IN_PATIENT = tuple("ins" in key.split("+") for key in _VARIANTS)

PATTERNS = np.array(list(product((False, True), repeat=len(_VARIANTS))), dtype=bool)
"""All 256 patterns of right answers, in the order of the variants; the place of one is its binary number."""

_RESAMPLES = 400

FEWEST_FACTS = 100
"""Of fewer facts no failing is named."""


def diagnose(right: Sequence[bool], positive: bool) -> str:
    """The diagnosis of a fact. right: for each of PretextTrans' eight variants, in their order; positive: whether it holds."""
    if sum(right) == len(_VARIANTS):
        return MASTERED
    if sum(right) <= 1:
        return OPPOSITE
    if _bound(right, _DENIED, to=False):
        return BLIND
    if _bound(right, _DENIED, to=True):
        return NO if positive else YES
    for sides, name in ((_REVERSED, DIRECTION), (_IN_PATIENT, CASE)):
        if _bound(right, sides, to=False) or _bound(right, sides, to=True):
            return name
    return CHANCE if 3 <= sum(right) <= 5 else MIXED


def meaning(diagnosis: str, positive: bool) -> str:
    """What a diagnosis means where it is one fact's. positive: whether that fact holds."""
    return _OF_ONE_FACT[positive] if diagnosis == BLIND else DIAGNOSES[diagnosis]


def _bound(right: Sequence[bool], sides: Sequence[bool], to: bool) -> bool:
    """Whether all answers of one side are right, and at most one of the other."""
    here = [answer for answer, side in zip(right, sides, strict=True) if side is to]
    there = [answer for answer, side in zip(right, sides, strict=True) if side is not to]
    return all(here) and sum(there) <= 1


_NAMES = list(DIAGNOSES)
_CODE_OF = np.array(
    [[_NAMES.index(diagnose(pattern.tolist(), positive)) for pattern in PATTERNS] for positive in (False, True)]
)
"""Whether a fact holds (0, 1) × pattern → the place of its diagnosis."""

_EACH = np.eye(len(_NAMES))
"""Diagnoses × diagnoses: 1 where they are the same."""


@dataclass(frozen=True)
class Diagnosed:
    """A diagnosis over the facts of a run. share: of the facts, with its interval.

    independent: the share that independent answers would give, at the model's own rate for each variant, true and false facts
    apart. excess: share − independent; low, high: its 95 % interval, drawn over heads and widened for shared tails; None
    with fewer than ten. coin: the share that a fair coin would have. true_facts, false_facts: how many have the diagnosis.
    """

    share: Estimate
    independent: float
    excess: float
    low: float | None
    high: float | None
    coin: float
    true_facts: int
    false_facts: int


@dataclass(frozen=True)
class Diagnosis:
    """facts: those with all eight answers readable; left_out: those with an unreadable one. by_name: in the order of DIAGNOSES.

    first: the failing that stands out, of STANDS_OUT; None where none does (`_first`).
    """

    facts: int
    left_out: int
    by_name: Mapping[str, Diagnosed]
    first: str | None


@dataclass(frozen=True)
class _Facts:
    """Per fact: the number of its pattern, whether it holds, and its clusters."""

    pattern: Codes
    positive: Codes
    clusters: Clusters

    @property
    def code(self) -> Codes:
        return np.asarray(_CODE_OF[self.positive, self.pattern], dtype=np.int64)


def diagnosis(records: Records) -> Diagnosis | None:
    """The diagnoses of a run; None where no fact has all of PretextTrans' eight variants, answered and readable."""
    facts, _, left_out = _facts_of(records)
    if not len(facts.pattern):
        return None
    code, count = facts.code, len(facts.pattern)
    expected, coin = _independent(facts, np.ones((1, count)))[0], _coin(facts)
    enough = is_known(facts.clusters) or not too_few(facts.clusters.heads)
    drawn, linear = _drawn_excess(facts) if enough else None, _excess_by_fact(facts)
    by_name = {}
    for place, name in enumerate(_NAMES):
        mine = (code == place).astype(float)
        low, high = (None, None) if drawn is None else _bounds(drawn[:, place], linear[:, place], facts.clusters)
        share = mean_interval(mine, facts.clusters)
        by_chance, true = float(expected[place]), int(mine @ facts.positive)
        excess = float(mine.mean()) - by_chance
        by_name[name] = Diagnosed(share, by_chance, excess, low, high, float(coin[place]), true, int(mine.sum()) - true)
    return Diagnosis(count, left_out, by_name, _first(facts, by_name))


def _bounds(drawn: Floats, linear: Floats, clusters: Clusters) -> tuple[float, float]:
    """The interval of an excess over drawn heads, widened for shared tails. linear: its linear parts, one a fact."""
    low, high = np.quantile(drawn, [0.025, 0.975])
    value = float(linear.mean())
    return (value, value) if is_known(clusters) else widened(value, float(low), float(high), linear, clusters)


def _facts_of(records: Records) -> tuple[_Facts, Codes, int]:
    """The facts with all eight variants readable, their codes, and how many have all answered but some unreadable."""
    place = {name: number for number, name in enumerate(_VARIANTS)}
    variant = records.variants.map(lambda key: place.get(key, -1)).astype(np.int64)
    facts = int(records.fact.max(initial=-1)) + 1
    eight = variant >= 0
    scored = np.bincount(records.fact[eight & records.scored], minlength=facts) == len(_VARIANTS)
    unreadable = np.bincount(records.fact[eight & (records.answer == UNREADABLE)], minlength=facts) > 0
    whole = np.flatnonzero(scored & ~unreadable)
    weight = np.where(eight & records.right, 2 ** (len(_VARIANTS) - 1 - variant.clip(min=0)), 0)
    pattern = np.bincount(records.fact, weights=weight, minlength=facts).astype(np.int64)
    first = np.full(facts, -1, dtype=np.int64)
    first[records.fact[::-1]] = np.arange(len(records.fact))[::-1]
    rows = first[whole]
    made = _Facts(pattern[whole], records.positive[rows].astype(np.int64), records.clusters(rows))
    return made, whole, int((scored & unreadable).sum())


def _independent(facts: _Facts, weights: Floats) -> Floats:
    """Draws × diagnoses: the share that independent answers would have. weights: draws × facts, how often each counts."""
    right = PATTERNS[facts.pattern].astype(float)
    total = weights.sum(axis=1)
    shares = np.zeros((len(weights), len(_NAMES)))
    for side in (0, 1):
        own = weights[:, facts.positive == side]
        count = own.sum(axis=1)
        rate = (own @ right[facts.positive == side]) / np.maximum(count, 1)[:, None]
        chance = np.ones((len(weights), len(PATTERNS)))
        for place in range(len(_VARIANTS)):
            chance *= np.where(PATTERNS[:, place], rate[:, place, None], 1 - rate[:, place, None])
        shares += (chance @ _EACH[_CODE_OF[side]]) * (count / total)[:, None]
    return shares


def _excess_by_fact(facts: _Facts) -> Floats:
    """Facts × diagnoses: the linear parts of the excess, whose mean it is: what a fact shows, less what its rights add to what
    independent answers would show.
    """
    parts = _EACH[facts.code]
    for side in (0, 1):
        own = np.flatnonzero(facts.positive == side)
        if not len(own):
            continue
        right = PATTERNS[facts.pattern[own]].astype(float)
        rate = right.mean(axis=0)
        each = np.where(PATTERNS, rate, 1 - rate)
        into = _EACH[_CODE_OF[side]]
        parts[own] -= each.prod(axis=1) @ into
        for place in range(len(_VARIANTS)):
            rest = np.delete(each, place, axis=1).prod(axis=1)
            slope = np.where(PATTERNS[:, place], rest, -rest) @ into
            parts[own] -= (right[:, place] - rate[place])[:, None] * slope
    return parts


def _coin(facts: _Facts) -> Floats:
    """The share that a fair coin would have of each diagnosis."""
    of_side = [np.bincount(_CODE_OF[side], minlength=len(_NAMES)) / len(PATTERNS) for side in (0, 1)]
    positive = float(facts.positive.mean())
    return np.asarray((1 - positive) * of_side[0] + positive * of_side[1])


def _drawn_excess(facts: _Facts) -> Floats:
    """Draws × diagnoses: the excess when heads are drawn with replacement, each with all its facts.

    Of a finite population the draws differ from the excess itself by as much less as less of it was not asked.
    """
    head = np.unique(facts.clusters.heads, return_inverse=True)[1]
    heads = int(head.max()) + 1
    mine = _EACH[facts.code]
    excess = []
    for part in np.array_split(redrawn(heads, _RESAMPLES), 20):
        weights = part[:, head].astype(float)
        excess.append((weights @ mine) / weights.sum(axis=1, keepdims=True) - _independent(facts, weights))
    middle = mine.mean(axis=0) - _independent(facts, np.ones((1, len(mine))))[0]
    return np.asarray(middle + (np.concatenate(excess) - middle) * np.sqrt(unseen_share(facts.clusters)))


def _first(facts: _Facts, by_name: Mapping[str, Diagnosed]) -> str | None:
    """The failing that stands out: one of more than half of the facts, or of the true or the false ones; else the largest
    excess that is shown, of at least five points. None with fewer facts than FEWEST_FACTS, or too few heads.

    A habit that all facts meet alike, such as “true” to everything, has no excess over independence, hence the first rule. One
    fact alone does not tell an overlooked “not” from the same word to everything: of a true fact both affirm all eight
    statements. So *always-yes* takes the *negation-blind* true facts, and *always-no* the false ones.
    """
    draws = 1 if facts.clusters.draws is None else count_of(facts.clusters.draws)
    if len(facts.pattern) < FEWEST_FACTS * draws or too_few(facts.clusters.heads):
        return None
    of_side = np.array([facts.positive == side for side in (0, 1)], dtype=float)
    shares = of_side @ _EACH[facts.code] / np.maximum(of_side.sum(axis=1, keepdims=True), 1)
    false, true = (dict(zip(_NAMES, of, strict=True)) for of in shares.tolist())
    weight = float(facts.positive.mean())
    share = {name: weight * true[of[0]] + (1 - weight) * false[of[1]] for name, of in STANDS_OUT.items() if all(of)}
    shown = {name: of.excess for name, of in by_name.items() if name in share and of.excess >= 0.05 and (of.low or 0.0) > 0}
    of_a_side = {name: max(true[STANDS_OUT[name][0]], false[STANDS_OUT[name][1]]) for name in share}
    most = max(share, key=lambda name: (share[name] > 0.5, of_a_side[name], share[name]))
    first = most if of_a_side[most] > 0.5 else max(shown, key=lambda name: shown[name], default=None)
    one_sided = first and 5 * min(false[first], true[first]) <= max(false[first], true[first])
    if first == OPPOSITE and one_sided and 0 < weight < 1:
        return TAKES_TRUE if false[OPPOSITE] > true[OPPOSITE] else TAKES_FALSE
    same_word = YES if true[BLIND] > false[BLIND] else NO
    return same_word if first == BLIND and one_sided else first
