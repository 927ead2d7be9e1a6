"""Intervals for shares, from arrays alone.

The eight statements of a fact, a fact and its negatives, and facts of one head stand or fall together; tails repeat over
heads too. Standard errors are therefore clustered by head and by tail (two-way, Cameron, Gelbach and Miller 2011). Where each
statement was asked after several draws of demonstrations, the spread between the draws is added.
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
    # the bounds hold the share itself, whatever rounding does at 0 and 1
    return max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))


def clustered_variance(values: Floats, clusters: Codes) -> float:
    """Variance of the mean of `values`, clustered, with the small-sample factor C / (C − 1); NaN with one cluster."""
    sums = np.bincount(clusters, weights=values - values.mean())
    count = _count(clusters)
    if count < 2:
        return math.nan
    return float(np.square(sums).sum() / len(values) ** 2 * count / (count - 1))


def crossed(a: Codes, b: Codes) -> Codes:
    """Codes from 0, one for each different pair of codes."""
    return np.unique(a * (b.max(initial=0) + 1) + b, return_inverse=True)[1].astype(np.int64)


def two_way_variance(values: Floats, heads: Codes, tails: Codes, both: Codes | None = None) -> float:
    """Variance of the mean, clustered by head and by tail; never below that by head alone. `both`: their crossed codes."""
    by_head = clustered_variance(values, heads)
    both = crossed(heads, tails) if both is None else both
    total = by_head + clustered_variance(values, tails) - clustered_variance(values, both)
    return by_head if math.isnan(total) else max(total, by_head)


def _count(clusters: Codes) -> int:
    return int(np.count_nonzero(np.bincount(clusters)))


def draw_variance(values: Floats, heads: Codes, draws: Codes) -> float:
    """What draws of demonstrations add to the variance of the mean: that by draw less that by head within draws; at least 0."""
    return max(0.0, clustered_variance(values, draws) - clustered_variance(values, crossed(heads, draws)))


def _variance(values: Floats, heads: Codes, tails: Codes, draws: Codes | None, both: Codes | None) -> tuple[float, float]:
    """The variance of the mean and its degrees of freedom (of two parts: Welch and Satterthwaite's)."""
    variance = two_way_variance(values, heads, tails, both)
    free = float(max(min(_count(heads), _count(tails)) - 1, 1))
    if draws is None or _count(draws) < 2:
        return variance, free
    added = draw_variance(values, heads, draws)
    total = variance + added
    if total == 0:
        return total, free
    return total, total**2 / (variance**2 / free + added**2 / (_count(draws) - 1))


def linear_interval(
    values: Floats, heads: Codes, tails: Codes, draws: Codes | None = None, both: Codes | None = None
) -> Estimate:
    """The mean of values, with a t interval of two-way clustered errors (and of draws, where given); none with one head.

    `both`: the crossed codes of heads and tails, where they are known already.

    The values may be the linear parts of any statistic, such as a mean over groups or a difference of two means.
    """
    if len(values) == 0:
        return NOTHING
    value, n = float(values.mean()), len(values)
    variance, free = _variance(values, heads, tails, draws, both)
    if math.isnan(variance):
        return Estimate(value, None, None, n)
    half = float(stats.t.ppf(0.5 + LEVEL / 2, free)) * math.sqrt(variance)
    return Estimate(value, value - half, value + half, n)


def mean_interval(
    values: Floats, heads: Codes, tails: Codes, draws: Codes | None = None, both: Codes | None = None
) -> Estimate:
    """The mean of values from 0 to 1, with a t interval of two-way clustered errors, kept within 0 and 1.

    Where all values are 0 or all are 1 the error collapses; then it is Wilson's interval with as many trials as heads.
    """
    value, low, high, n = linear_interval(values, heads, tails, draws, both)
    if value is None or low is None or high is None:
        return Estimate(value, low, high, n)
    if low == high:
        return Estimate(value, *wilson(value, _count(heads)), n)
    return Estimate(value, max(0.0, low), min(1.0, high), n)


def share_interval(
    values: Floats, heads: Codes, tails: Codes, draws: Codes | None = None, both: Codes | None = None
) -> Estimate:
    """A share of facts (values 0 or 1), with Wilson's interval at the number of trials that the clusters are worth."""
    if len(values) == 0:
        return NOTHING
    value, n = float(values.mean()), len(values)
    if _count(heads) < 2:
        return Estimate(value, None, None, n)
    variance, _ = _variance(values, heads, tails, draws, both)
    worth = value * (1 - value) / variance if variance > 0 else _count(heads)
    # the same facts after several draws of demonstrations are not more facts
    most = n / (1 if draws is None else _count(draws))
    return Estimate(value, *wilson(value, min(worth, most)), n)


DESIGN_EFFECT = 1.57
"""How much wider than for independent statements the error of an average accuracy is, measured by simulation."""


def expected_half_width(facts: int, statements_per_fact: int = 8) -> float:
    """Half the width, at worst, of the interval of an average accuracy over so many positive facts, and as many negative."""
    independent = 0.5 / math.sqrt(2 * facts * statements_per_fact)
    return float(stats.norm.ppf(0.5 + LEVEL / 2)) * DESIGN_EFFECT * independent
