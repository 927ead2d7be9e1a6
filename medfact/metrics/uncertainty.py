"""Confidence intervals of means of clustered values.

Standard errors are clustered by head and by tail (`clusters`). A proportion has Wilson's interval with its effective sample
size for n, so the interval holds for rare harms too. Fewer than ten heads have no interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special

from medfact.metrics.clusters import (
    PRIOR,
    Clusters,
    Codes,
    Floats,
    IntraclassCorrelation,
    Part,
    cluster_shares,
    clustered_variance,
    count_of,
    effective_number,
    parts_of,
    sampling_errors,
    sum_of_parts,
    tail_entries,
    unsampled_fraction,
    variance_by_tail,
)

LEVEL = 0.95  # default coverage of every interval


class Estimate(NamedTuple):
    """A proportion, from 0 to 1, or another mean, with its interval and its number of values; None if there is no value."""

    value: float | None
    low: float | None
    high: float | None
    n: int


NOTHING = Estimate(None, None, None, 0)


def is_above(more: Estimate, less: Estimate, family: int) -> bool:
    """Returns True if one proportion is significantly above another: their intervals, at Bonferroni's level, do not overlap.

    This holds however the two are correlated. family: number of pairs that are compared.
    """
    if more.value is None or less.value is None or more.low is None or less.high is None:
        return False
    wider = float(special.ndtri(1 - (1 - LEVEL) / (2 * family)) / normal_quantile())
    return more.value - wider * (more.value - more.low) > less.value + wider * (less.high - less.value)


def normal_quantile(level: float = LEVEL) -> float:
    """Half-width of a normal interval, in standard errors: 1.96 at 95 %."""
    return float(special.ndtri(0.5 + level / 2))


def t_quantile(degrees_of_freedom: float, level: float = LEVEL) -> float:
    """Half-width of Student's t interval, in standard errors."""
    return float(special.stdtrit(degrees_of_freedom, 0.5 + level / 2))


def wilson(share: float, n: float, level: float = LEVEL) -> tuple[float, float]:
    """Wilson's score interval (1927) of a proportion of n > 0 independent trials; n may be a fraction.

    Example: `wilson(0.5, 100)` is (0.404, 0.596).
    """
    z = normal_quantile(level)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half_width = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # the bounds contain the proportion itself, however they are rounded at 0 and 1
    return max(0.0, min(share, centre - half_width)), min(1.0, max(share, centre + half_width))


def interval_estimate(value: float, n: int, clusters: Clusters, bounds: Callable[[], tuple[float, float]]) -> Estimate:
    """Estimate with the interval that `bounds` computes: none with too few heads, and the value of a whole population."""
    if is_known(clusters):
        return Estimate(value, value, value, n)
    low, high = (None, None) if has_too_few_clusters(clusters.heads) else bounds()
    return Estimate(value, low, high, n)


def linear_interval(values: Floats, clusters: Clusters, level: float = LEVEL) -> Estimate:
    """Mean with a t interval of two-way clustered errors, and of draws of demonstrations; no interval below ten heads.

    values: of any size; also the linear parts (influence values) of a statistic, such as a difference of two means.
    level: coverage; for the bounds of a family of k means at once, 1 − (1 − LEVEL) / k (Bonferroni).
    """
    if not len(values):
        return NOTHING
    value = float(values.mean())

    def bounds() -> tuple[float, float]:
        variance, degrees_of_freedom = sum_of_parts(parts_of(values, clusters))
        half_width = t_quantile(degrees_of_freedom, level) * math.sqrt(variance)
        return value - half_width, value + half_width

    return interval_estimate(value, len(values), clusters, bounds)


def mean_interval(values: Floats, clusters: Clusters, level: float = LEVEL) -> Estimate:
    """Mean of values from 0 to 1, such as a proportion, with an interval that holds near 0 and 1; none below ten heads.

    values: one a fact (or a fact and draw of demonstrations), or the linear parts of such a mean. The interval is Wilson's
    with the effective sample size for n. level: as of `linear_interval`. Coverage: `benchmarks/intervals.py`.
    """
    if not len(values):
        return NOTHING
    value = min(1.0, max(0.0, float(values.mean())))
    return interval_estimate(
        value, len(values), clusters, lambda: wilson(value, effective_sample_size(values, clusters, level=level), level)
    )


def widen_bootstrap(
    value: float, low: float, high: float, linear: Floats, clusters: Clusters, level: float = LEVEL
) -> tuple[float, float]:
    """Bootstrap interval over heads, widened for shared tails and draws of demonstrations: independent errors add in squares.

    linear: the linear parts of the statistic, one a row, with `value` as their mean.
    """
    by_head, *added = parts_of(linear, clusters)
    variance = sum(part.variance for part in added)
    if not variance > 0:
        return low, high
    half_width = t_quantile(sum_of_parts([by_head, *added]).degrees_of_freedom, level) * math.sqrt(variance)
    return value - math.hypot(value - low, half_width), value + math.hypot(high - value, half_width)


_PRIOR_WEIGHT = 10.0  # of the prior correlation, in heads


def intraclass_correlation(values: Floats, clusters: Clusters) -> IntraclassCorrelation:
    """Intraclass correlations by head and by tail, shrunk to the prior ones, which weigh as much as ten heads.

    values: one a fact. Figures near 0 or 1 use the correlations of another figure: too few of their own facts differ.
    """
    heads, tails = clusters.heads, clusters.tails
    if has_too_few_clusters(heads) or tails is None or not (spread := float(values.var())) > 0:
        return PRIOR
    weight, facts = count_of(heads), len(heads) / clusters.draw_count

    def shrunk(variance: float, codes: Codes, prior: float) -> float:
        size = facts * float(np.square(cluster_shares(codes)).sum())
        observed = (variance * facts / spread - 1) / (size - 1) if size > 1 else prior
        return (weight * min(max(observed, 0.0), 1.0) + _PRIOR_WEIGHT * prior) / (weight + _PRIOR_WEIGHT)

    by_tail = variance_by_tail(values, heads, tails, clusters.head_tail) + spread / facts
    return IntraclassCorrelation(
        shrunk(clustered_variance(values, heads), heads, PRIOR.head), shrunk(by_tail, tails, PRIOR.tail)
    )


FEWEST_HEADS = 10  # effective heads that an interval needs


def has_too_few_clusters(heads: Codes) -> bool:
    """Returns True if the effective number of heads is below FEWEST_HEADS (tolerance 0.1)."""
    return not len(heads) or effective_number(heads) < FEWEST_HEADS - 0.1


def effective_sample_size(values: Floats, clusters: Clusters, weighting: float = 1.0, level: float = LEVEL) -> float:
    """Number of independent trials with the precision of a clustered mean of values from 0 to 1. Needs ten heads.

    n / design effect · (t(n − 1) / t(degrees of freedom))², for n facts with two-way clustered errors (Korn and Graubard 1998).
    If few heads have a value other than 0 (or 1), the observed design effect is noise. So it is shrunk to 1 + (m − 1) · ρ, for
    m facts a head with intraclass correlation ρ. This prior weighs as much as one such head.
    weighting: design effect of unequal weights (Kish), at least 1.
    """
    value, facts = min(1.0, max(0.0, float(values.mean()))), len(values) / clusters.draw_count
    # facts of one head never count as less correlated than independent ones
    independent = Part(float(np.square(sampling_errors(values, clusters.unseen)).mean()) / facts, max(facts - 1, 1.0))
    clustered = sum_of_parts(parts_of(values, clusters))
    variance, degrees_of_freedom = independent if independent.variance >= clustered.variance else clustered
    rarer = np.bincount(clusters.heads, weights=values if value <= 0.5 else 1 - values).clip(min=0)
    weight = float(rarer.sum() ** 2 / np.square(rarer).sum()) if rarer.any() else 0.0
    effect = prior_design_effect(clusters, facts) * weighting
    if 0 < value < 1:
        observed = weight * variance * facts / (value * (1 - value))
        # the prior effect has no sampling error, so it adds degrees of freedom
        degrees_of_freedom *= (1 + effect / observed) ** 2 if observed else 1.0
        effect = (observed + effect) / (weight + 1)
    ratio = t_quantile(max(facts - 1, 1), level) / t_quantile(degrees_of_freedom, level)
    return float(facts / effect * ratio**2)


def is_known(clusters: Clusters) -> bool:
    """Returns True if a whole finite population was asked, once: nothing is left to sampling."""
    return clusters.unseen is not None and not clusters.unseen.any() and clusters.draw_count == 1


def prior_design_effect(clusters: Clusters, facts: float) -> float:
    """Design effect of a proportion near 0 or 1: 1 + (m − 1) · ρ for m facts a head with correlation ρ; likewise for tails.

    If a row has several tails, such as a pair, each counts for that much less. facts: number of facts.
    """
    effect = 1 + _added_size(clusters.heads, facts) * clusters.intraclass.head
    if clusters.tails is not None:
        row, tail = tail_entries(clusters.tails)
        effect += _added_size(tail, facts * len(row) / len(clusters.heads)) * clusters.intraclass.tail
    return effect * unsampled_fraction(clusters)


def _added_size(codes: Codes, facts: float) -> float:
    """Number of other facts in the cluster of a random fact."""
    return max(0.0, facts * float(np.square(cluster_shares(codes)).sum()) - 1)
