"""Diagnosis of each fact's failure from the pattern of its eight answers, and the excess of each over independent answers.

A model that says “true” to nearly everything fails in the same way again and again by chance. So a share stands beside that of
independent answers at the model's rate for each way of asking, with the excess over it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from medfact.metrics.clusters import Clusters, Codes, Floats, bootstrap_counts, unsampled_fraction
from medfact.metrics.records import UNREADABLE, Records
from medfact.metrics.uncertainty import (
    Estimate,
    has_too_few_clusters,
    interval_estimate,
    is_known,
    mean_interval,
    widen_bootstrap,
)
from medfact.statements import IMPLICATIONS
from medfact.words import say, sayings

MASTERED, OPPOSITE, BLIND, YES, NO = "mastered", "opposite", "negation-blind", "always-yes", "always-no"
DIRECTION, CASE, CHANCE, MIXED = "direction-bound", "case-bound", "by-chance", "mixed"
TAKES_TRUE, TAKES_FALSE = "takes-all-true", "takes-all-false"  # the opposite, of nearly only false, or only true, facts

DIAGNOSES = sayings("diagnosis.meaning")  # exclusive and exhaustive, in order
PLAIN = sayings("diagnosis.name")  # diagnosis → its name in figures

# failing → the diagnoses of true and of false facts that show it
STANDS_OUT = {
    BLIND: (BLIND, BLIND),
    OPPOSITE: (OPPOSITE, OPPOSITE),
    YES: (BLIND, YES),
    NO: (NO, BLIND),
    DIRECTION: (DIRECTION, DIRECTION),
    CASE: (CASE, CASE),
    TAKES_TRUE: ("", OPPOSITE),
    TAKES_FALSE: (OPPOSITE, ""),
}

_VARIANTS = tuple(IMPLICATIONS)
_SIDES = {
    BLIND: tuple(IMPLICATIONS[key].negated for key in _VARIANTS),
    DIRECTION: tuple("inv" in key.split("+") for key in _VARIANTS),
    CASE: tuple("ins" in key.split("+") for key in _VARIANTS),
}  # diagnosis → the four variants on the other side of it: denied, reversed, in a patient

# all 256 patterns of right answers, in the order of the variants; a pattern's index is its binary number
PATTERNS = np.array(list(product((False, True), repeat=len(_VARIANTS))), dtype=bool)

FEWEST_FACTS = 100  # for naming a failing


def diagnose(right: Sequence[bool], positive: bool) -> str:
    """Diagnosis of a fact. right: answers to PretextTrans' eight variants, in order. positive: True if the fact holds.

    An answer is bound to a side if all four answers there are right, and at most one of the other four.
    """
    if sum(right) == len(_VARIANTS):
        return MASTERED
    if sum(right) <= 1:
        return OPPOSITE
    for name, side in _SIDES.items():
        across = sum(answer for answer, is_across in zip(right, side, strict=True) if is_across)
        along = sum(right) - across
        if max(along, across) == 4 and min(along, across) <= 1:
            return name if name != BLIND or along == 4 else NO if positive else YES
    return CHANCE if 3 <= sum(right) <= 5 else MIXED


def meaning(diagnosis: str, positive: bool) -> str:
    """Meaning of a single fact's diagnosis. One fact cannot tell an overlooked “not” from the same word to everything."""
    return say(f"diagnosis.blind_to_a_{'true' if positive else 'false'}_fact") if diagnosis == BLIND else DIAGNOSES[diagnosis]


_NAMES = list(DIAGNOSES)
_CODE_OF = np.array(
    [[_NAMES.index(diagnose(pattern.tolist(), positive)) for pattern in PATTERNS] for positive in (False, True)]
)  # (2, 256): index of the diagnosis, by whether the fact holds
_ONE_HOT = np.eye(len(_NAMES))
_COIN = _ONE_HOT[_CODE_OF].mean(axis=1)  # (2, diagnoses): shares of a fair coin


@dataclass(frozen=True)
class Diagnosed:
    """Frequency of a diagnosis over the facts of a run, and its excess over independent answers."""

    share: Estimate
    independent: float  # share of independent answers at the model's rate for each variant, for true and false facts apart
    excess: float  # share − independent
    low: float | None  # 95 % bounds of the excess: bootstrap over heads, widened for shared tails; None below ten heads
    high: float | None
    coin: float  # share of a fair coin
    true_facts: int
    false_facts: int


@dataclass(frozen=True)
class Diagnosis:
    """Diagnoses of a run, in the order of DIAGNOSES."""

    facts: int  # with all eight answers readable
    left_out: int  # with an unreadable answer
    by_name: Mapping[str, Diagnosed]
    first: str | None  # the failing of STANDS_OUT to name first, if any (`_main_failing`)


@dataclass(frozen=True)
class _Facts:
    """Facts as arrays: number of the pattern, 1 if the fact holds, index of the diagnosis, and cluster labels."""

    pattern: Codes
    positive: Codes
    code: Codes
    clusters: Clusters


def diagnosis(records: Records) -> Diagnosis | None:
    """Diagnoses of a run; None if no fact has readable answers to all of PretextTrans' eight variants."""
    facts, left_out = _facts_of(records)
    code, count, clusters = facts.code, len(facts.pattern), facts.clusters
    if not count:
        return None
    independent, linear = _independent(facts, np.ones((1, count)))[0], _linear_excess(facts)
    positive = float(facts.positive.mean())
    coin = (1 - positive) * _COIN[0] + positive * _COIN[1]
    has_interval = is_known(clusters) or not has_too_few_clusters(clusters.heads)
    ends = np.quantile(_drawn_excess(facts), [0.025, 0.975], axis=0).T.tolist() if has_interval else [(0.0, 0.0)] * len(_NAMES)
    by_name = {}
    for index, (name, (lower, upper)) in enumerate(zip(_NAMES, ends, strict=True)):
        is_it, effects = (code == index).astype(float), linear[:, index]
        excess = float(effects.mean())
        bounds = partial(widen_bootstrap, excess, lower, upper, effects, clusters)
        _, low, high, _ = interval_estimate(excess, count, clusters, bounds)
        true, by_chance = int(is_it @ facts.positive), float(independent[index])
        by_name[name] = Diagnosed(
            share=mean_interval(is_it, clusters),
            independent=by_chance,
            excess=float(is_it.mean()) - by_chance,
            low=low,
            high=high,
            coin=float(coin[index]),
            true_facts=true,
            false_facts=int(is_it.sum()) - true,
        )
    return Diagnosis(count, left_out, by_name, _main_failing(facts, by_name))


def _facts_of(records: Records) -> tuple[_Facts, int]:
    """Facts with all eight variants readable, and the number of those answered in full with an unreadable answer."""
    index = {key: number for number, key in enumerate(_VARIANTS)}
    variant = records.variants.map(lambda key: index.get(key, -1)).astype(np.int64)
    is_variant, facts = variant >= 0, len(records.first_of_fact)
    answered = np.bincount(records.fact[is_variant & records.scored], minlength=facts) == len(_VARIANTS)
    unreadable = np.bincount(records.fact[is_variant & (records.answer == UNREADABLE)], minlength=facts) > 0
    bits = np.where(is_variant & records.right, 2 ** (len(_VARIANTS) - 1 - variant.clip(min=0)), 0)
    chosen = answered & ~unreadable
    rows = records.first_of_fact[chosen]
    pattern = np.bincount(records.fact, weights=bits, minlength=facts).astype(np.int64)[chosen]
    positive = records.positive[rows].astype(np.int64)
    whole = _Facts(pattern, positive, _CODE_OF[positive, pattern], records.clusters(rows))
    return whole, int((answered & unreadable).sum())


def _independent(facts: _Facts, weights: Floats) -> Floats:
    """Shares of independent answers, (draws, diagnoses). weights: (draws, facts), the number of copies of each fact."""
    right, total = PATTERNS[facts.pattern].astype(float), weights.sum(axis=1)
    shares = np.zeros((len(weights), len(_NAMES)))
    for side in (0, 1):
        chosen = weights[:, facts.positive == side]
        count = chosen.sum(axis=1)
        rate = (chosen @ right[facts.positive == side]) / np.maximum(count, 1)[:, None]
        chance = np.ones((len(weights), len(PATTERNS)))
        for variant in range(len(_VARIANTS)):
            chance *= np.where(PATTERNS[:, variant], rate[:, variant, None], 1 - rate[:, variant, None])
        shares += (chance @ _ONE_HOT[_CODE_OF[side]]) * (count / total)[:, None]
    return shares


def _linear_excess(facts: _Facts) -> Floats:
    """Linear parts of the excess, (facts, diagnoses): the diagnosis less the effect on the shares of independent answers."""
    parts = _ONE_HOT[facts.code]
    for side in (0, 1):
        chosen = np.flatnonzero(facts.positive == side)
        if not len(chosen):
            continue
        right, one_hot = PATTERNS[facts.pattern[chosen]].astype(float), _ONE_HOT[_CODE_OF[side]]
        rate = right.mean(axis=0)
        chances = np.where(PATTERNS, rate, 1 - rate)
        parts[chosen] -= chances.prod(axis=1) @ one_hot
        for variant in range(len(_VARIANTS)):
            rest = np.delete(chances, variant, axis=1).prod(axis=1)
            slope = np.where(PATTERNS[:, variant], rest, -rest) @ one_hot
            parts[chosen] -= (right[:, variant] - rate[variant])[:, None] * slope
    return parts


def _drawn_excess(facts: _Facts) -> Floats:
    """Excess in 400 bootstrap draws of heads with all their facts, (draws, diagnoses).

    In a finite population its deviations shrink by √(unsampled fraction).
    """
    head, one_hot = np.unique(facts.clusters.heads, return_inverse=True)[1], _ONE_HOT[facts.code]
    excess = []
    for counts in np.array_split(bootstrap_counts(int(head.max()) + 1, 400), 20):
        weights = counts[:, head].astype(float)
        excess.append((weights @ one_hot) / weights.sum(axis=1, keepdims=True) - _independent(facts, weights))
    observed = one_hot.mean(axis=0) - _independent(facts, np.ones((1, len(head))))[0]
    return np.asarray(observed + (np.concatenate(excess) - observed) * np.sqrt(unsampled_fraction(facts.clusters)))


def _main_failing(facts: _Facts, by_name: Mapping[str, Diagnosed]) -> str | None:
    """The failing of more than half of all, of the true or of the false facts; else the largest significant excess.

    An excess counts from five points on. None with fewer facts than FEWEST_FACTS, or too few heads. A habit that all facts
    meet alike, such as “true” to everything, has no excess over independence, hence the first rule. One fact cannot tell an
    overlooked “not” from the same word to everything: a model with either affirms all eight statements of a true fact. So
    *always-yes* takes the *negation-blind* true facts, and *always-no* the false ones.
    """
    if len(facts.pattern) < FEWEST_FACTS * facts.clusters.draw_count or has_too_few_clusters(facts.clusters.heads):
        return None
    sides = np.array([facts.positive == side for side in (0, 1)], dtype=float)
    shares = sides @ _ONE_HOT[facts.code] / np.maximum(sides.sum(axis=1, keepdims=True), 1)
    false, true = (dict(zip(_NAMES, row, strict=True)) for row in shares.tolist())
    positive = float(facts.positive.mean())
    share = {name: positive * true[a] + (1 - positive) * false[b] for name, (a, b) in STANDS_OUT.items() if a and b}
    by_side = {name: max(true[STANDS_OUT[name][0]], false[STANDS_OUT[name][1]]) for name in share}
    significant = {
        name: diagnosed.excess
        for name, diagnosed in by_name.items()
        if name in share and diagnosed.excess >= 0.05 and (diagnosed.low or 0.0) > 0
    }
    largest = max(share, key=lambda name: (share[name] > 0.5, by_side[name], share[name]))
    first = largest if by_side[largest] > 0.5 else max(significant, key=lambda name: significant[name], default=None)
    is_one_sided = first and 5 * min(false[first], true[first]) <= max(false[first], true[first])
    if first == OPPOSITE and is_one_sided and 0 < positive < 1:
        return TAKES_TRUE if false[OPPOSITE] > true[OPPOSITE] else TAKES_FALSE
    same_word = YES if true[BLIND] > false[BLIND] else NO
    return same_word if first == BLIND and is_one_sided else first
