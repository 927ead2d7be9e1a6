"""Intervals for shares and other means of values that stand or fall together.

A mean's error is clustered by head and by tail (`clusters`). A share's interval is Wilson's with as many trials as its facts
are worth, so that it holds where harm is rare too; under ten heads there is none.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import special

from medfact.metrics.clusters import (
    USUAL,
    Clusters,
    Codes,
    Floats,
    IntraclassCorrelation,
    Part,
    clustered_variance,
    count_of,
    effective_number,
    entries,
    parts_of,
    shares_of,
    sum_of_parts,
    unseen_errors,
    unseen_share,
    variance_by_tail,
)

LEVEL = 0.95
"""Coverage that every interval aims at."""

_Z = float(special.ndtri(0.5 + LEVEL / 2))


class Estimate(NamedTuple):
    """A share with its interval, all from 0 to 1, and how many it is a share of; None where there is no value."""

    value: float | None
    low: float | None
    high: float | None
    n: int


NOTHING = Estimate(None, None, None, 0)


def is_above(more: Estimate, less: Estimate, family: int) -> bool:
    """Returns true if one share is shown to be above another: their intervals, widened for so many pairs, do not meet.

    That holds however the two depend on each other: shares of one run are of the same facts.
    """
    if more.value is None or less.value is None or more.low is None or less.high is None:
        return False
    wider = float(special.ndtri(1 - (1 - LEVEL) / (2 * family)) / _Z)
    return more.value - wider * (more.value - more.low) > less.value + wider * (less.high - less.value)


def wilson(share: float, n: float) -> tuple[float, float]:
    """Wilson's interval of a share of n independent trials; n need not be whole. Needs n > 0."""
    z = _Z
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # the bounds hold the share itself, whatever rounding does at 0 and 1
    return max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))


def t_quantile(degrees_of_freedom: float, level: float = LEVEL) -> float:
    """How many standard errors an interval reaches to each side."""
    return float(special.stdtrit(degrees_of_freedom, 0.5 + level / 2))


def linear_interval(values: Floats, clusters: Clusters) -> Estimate:
    """The mean of values, with a t interval of two-way clustered errors (and of draws, where given); none under ten heads.

    The values may be the linear parts of any statistic, such as a mean over groups or a difference of two means.
    """
    if len(values) == 0:
        return NOTHING
    value, n = float(values.mean()), len(values)
    if is_known(clusters):
        return Estimate(value, value, value, n)
    if too_few(clusters.heads):
        return Estimate(value, None, None, n)
    variance, degrees = sum_of_parts(parts_of(values, clusters))
    half = t_quantile(degrees) * math.sqrt(variance)
    return Estimate(value, value - half, value + half, n)


def widened(value: float, low: float, high: float, linear: Floats, clusters: Clusters) -> tuple[float, float]:
    """An interval from a bootstrap over heads, made as much wider as shared tails and drawn demonstrations ask: independent
    doubts, whose squares add. linear: the linear parts of the statistic, one a row, of which it is the mean.
    """
    by_head, *added = parts_of(linear, clusters)
    variance = sum(part.variance for part in added)
    if not variance > 0:
        return low, high
    half = t_quantile(sum_of_parts([by_head, *added]).degrees_of_freedom) * math.sqrt(variance)
    return value - math.hypot(value - low, half), value + math.hypot(high - value, half)


_USUAL_WEIGHT = 10.0
"""The usual correlation counts as so many heads."""


def intraclass_correlation(values: Floats, clusters: Clusters) -> IntraclassCorrelation:
    """How far values of one head, and of one tail, are alike: as far as seen, and for few heads nearly the usual.

    values: one a fact. A figure that is near 0 or 1 borrows it: there too few facts differ to see it in the figure itself.
    """
    heads, tails = clusters.heads, clusters.tails
    seen = count_of(heads)
    if too_few(heads) or tails is None or not (spread := float(values.var())) > 0:
        return USUAL
    most = _facts(clusters)

    def of(variance: float, codes: Codes, usual: float) -> float:
        size = most * float(np.square(shares_of(codes)).sum())
        found = (variance * most / spread - 1) / (size - 1) if size > 1 else usual
        return (seen * min(max(found, 0.0), 1.0) + _USUAL_WEIGHT * usual) / (seen + _USUAL_WEIGHT)

    by_tail = variance_by_tail(values, heads, tails, clusters.both) + spread / most
    return IntraclassCorrelation(of(clustered_variance(values, heads), heads, USUAL.head), of(by_tail, tails, USUAL.tail))


def _facts(clusters: Clusters) -> float:
    """How many facts: the same ones after several draws of demonstrations are not more."""
    return len(clusters.heads) / (1 if clusters.draws is None else count_of(clusters.draws))


FEWEST_HEADS = 10
"""Fewer heads, or unequal ones that are worth fewer, are too few to say anything of others: there is no interval."""


def too_few(heads: Codes) -> bool:
    """Whether the heads of some values are worth fewer than FEWEST_HEADS equal ones, but for a tenth of one."""
    return not len(heads) or effective_number(heads) < FEWEST_HEADS - 0.1


def mean_interval(values: Floats, clusters: Clusters) -> Estimate:
    """The mean of values from 0 to 1, such as a share, with an interval that holds near 0 and 1 too; none under ten heads.

    values: one a fact (or in each draw of demonstrations), or the linear parts of such a mean. It is Wilson's interval with as
    many trials as the facts are worth (`trials`). Coverage: `benchmarks/intervals.py`.
    """
    if len(values) == 0:
        return NOTHING
    value, n = min(1.0, max(0.0, float(values.mean()))), len(values)
    if is_known(clusters):
        return Estimate(value, value, value, n)
    if too_few(clusters.heads):
        return Estimate(value, None, None, n)
    return Estimate(value, *wilson(value, trials(values, clusters)), n)


def trials(values: Floats, clusters: Clusters, uneven: float = 1.0) -> float:
    """How many independent trials a mean of values from 0 to 1 is worth. Needs ten heads.

    It is n over a design effect, and fewer by as much as t reaches further with so few clusters than with n facts (Korn and
    Graubard 1998). The design effect is that of two-way clustered errors. Where few heads have
    anything else than 0 (or than 1) it is hardly seen, and would be smallest where there is nothing to see: so it is drawn
    towards 1 + (m − 1) · ρ, for m facts a head with correlation ρ, which counts as one such head.
    uneven: what unequal weights of the values add to that, as a factor from 1 on.
    """
    value = min(1.0, max(0.0, float(values.mean())))
    facts, heads = _facts(clusters), clusters.heads
    # facts of one head are never taken for less alike than independent ones
    independent = Part(float(np.square(unseen_errors(values, clusters.unseen)).mean()) / facts, max(facts - 1, 1.0))
    clustered = sum_of_parts(parts_of(values, clusters))
    variance, degrees = independent if independent.variance >= clustered.variance else clustered
    rarer = np.bincount(heads, weights=values if value <= 0.5 else 1 - values).clip(min=0)
    seen = float(rarer.sum() ** 2 / np.square(rarer).sum()) if rarer.any() else 0.0
    effect = usual_effect(clusters, facts) * uneven
    if 0 < value < 1:
        found = seen * variance * facts / (value * (1 - value))
        # what is taken for granted is not in doubt, so that there are more degrees of freedom
        degrees *= (1 + effect / found) ** 2 if found else 1.0
        effect = (found + effect) / (seen + 1)
    wider = t_quantile(max(facts - 1, 1)) / t_quantile(degrees)
    return float(facts / effect * wider**2)


def is_known(clusters: Clusters) -> bool:
    """Whether a whole finite population was asked, and nothing but its facts could have been different."""
    of_one_draw = clusters.draws is None or count_of(clusters.draws) == 1
    return clusters.unseen is not None and not clusters.unseen.any() and of_one_draw


def usual_effect(clusters: Clusters, facts: float) -> float:
    """The design effect of a share near 0 or 1: 1 + (m − 1) · ρ for m facts a head with correlation ρ, and so on for
    tails. Where a row has several tails, such as a pair, each counts for that much less.
    """
    effect = 1 + _beyond_one(clusters.heads, facts) * clusters.intraclass.head
    if clusters.tails is not None:
        row, tail = entries(clusters.tails)
        effect += _beyond_one(tail, facts * len(row) / len(clusters.heads)) * clusters.intraclass.tail
    return effect * unseen_share(clusters)


def _beyond_one(clusters: Codes, facts: float) -> float:
    """By how many facts the cluster of a fact, drawn at random, is more than that fact."""
    return max(0.0, facts * float(np.square(shares_of(clusters)).sum()) - 1)
