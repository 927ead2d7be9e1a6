"""Intervals for shares, from arrays alone.

The eight statements of a fact, a fact and its negatives, and facts of one head stand or fall together; tails repeat over
heads too. Standard errors are therefore clustered by head and by tail (two-way, Cameron, Gelbach and Miller 2011).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

LEVEL = 0.95
"""Coverage that every interval aims at."""

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


class Estimate(NamedTuple):
    """A share with its interval, all from 0 to 1, and how many it is a share of; None where there is no value."""

    value: float | None
    low: float | None
    high: float | None
    n: int


NOTHING = Estimate(None, None, None, 0)


def wilson(share: float, n: float) -> tuple[float, float]:
    """Wilson's interval of a share of n independent trials; n need not be whole. Needs n > 0."""
    z = float(stats.norm.ppf(0.5 + LEVEL / 2))
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def clustered_variance(values: Floats, clusters: Codes) -> float:
    """Variance of the mean of `values`, clustered, with the small-sample factor C / (C − 1); NaN with one cluster."""
    sums = np.bincount(clusters, weights=values - values.mean())
    count = _count(clusters)
    if count < 2:
        return math.nan
    return float(np.square(sums).sum() / len(values) ** 2 * count / (count - 1))


def two_way_variance(values: Floats, heads: Codes, tails: Codes) -> float:
    """Variance of the mean, clustered by head and by tail; never below that by head alone."""
    by_head = clustered_variance(values, heads)
    both = np.unique(heads * (tails.max() + 1) + tails, return_inverse=True)[1]
    total = by_head + clustered_variance(values, tails) - clustered_variance(values, both)
    return by_head if math.isnan(total) else max(total, by_head)


def _count(clusters: Codes) -> int:
    return len(np.unique(clusters))


def linear_interval(values: Floats, heads: Codes, tails: Codes) -> Estimate:
    """The mean of values, with a t interval of two-way clustered errors; no interval with one head.

    The values may be the linear parts of any statistic, such as a mean over groups or a difference of two means.
    """
    if len(values) == 0:
        return NOTHING
    value, n = float(values.mean()), len(values)
    variance = two_way_variance(values, heads, tails)
    if math.isnan(variance):
        return Estimate(value, None, None, n)
    free = max(min(_count(heads), _count(tails)) - 1, 1)
    half = float(stats.t.ppf(0.5 + LEVEL / 2, free)) * math.sqrt(variance)
    return Estimate(value, value - half, value + half, n)


def mean_interval(values: Floats, heads: Codes, tails: Codes) -> Estimate:
    """The mean of values from 0 to 1, with a t interval of two-way clustered errors, kept within 0 and 1.

    Where all values are 0 or all are 1 the error collapses; then it is Wilson's interval with as many trials as heads.
    """
    value, low, high, n = linear_interval(values, heads, tails)
    if value is None or low is None or high is None:
        return Estimate(value, low, high, n)
    if low == high:
        return Estimate(value, *wilson(value, _count(heads)), n)
    return Estimate(value, max(0.0, low), min(1.0, high), n)


def share_interval(values: Floats, heads: Codes, tails: Codes) -> Estimate:
    """A share of facts (values 0 or 1), with Wilson's interval at the number of trials that the clusters are worth."""
    if len(values) == 0:
        return NOTHING
    value, n = float(values.mean()), len(values)
    if _count(heads) < 2:
        return Estimate(value, None, None, n)
    variance = two_way_variance(values, heads, tails)
    worth = value * (1 - value) / variance if variance > 0 else _count(heads)
    return Estimate(value, *wilson(value, min(worth, n)), n)


DESIGN_EFFECT = 1.57
"""How much wider than for independent statements the error of an average accuracy is, measured by simulation."""


def expected_half_width(facts: int, statements_per_fact: int = 8) -> float:
    """Half the width, at worst, of the interval of an average accuracy over so many positive facts, and as many negative."""
    independent = 0.5 / math.sqrt(2 * facts * statements_per_fact)
    return float(stats.norm.ppf(0.5 + LEVEL / 2)) * DESIGN_EFFECT * independent
