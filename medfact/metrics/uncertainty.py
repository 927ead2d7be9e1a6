"""Intervals for shares, and the paired comparison of two runs, from arrays alone.

The eight statements of a fact, a fact and its negatives, and facts of one head stand or fall together; tails repeat over
heads too. Standard errors are therefore clustered by head and by tail (two-way, Cameron, Gelbach and Miller 2011). Tails are
few and unequal: thirty whose frequencies follow Zipf are worth ten, and the errors and their degrees of freedom say so. Where
each statement was asked after several draws of demonstrations, the spread between the draws is added.

Two runs on the same facts are compared by their differences, whole heads at a time: a bootstrap that draws heads (Field and
Welsh 2007) for the interval, and flipped signs of heads for p; both are widened by what shared tails add, since a model that
knows a tail knows it for all of its heads. McNemar's test, which takes every fact for a trial of its own, raises false alarms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

LEVEL = 0.95
"""Coverage that every interval aims at."""

_Z = float(special.ndtri(0.5 + LEVEL / 2))

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
    z = _Z
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # the bounds hold the share itself, whatever rounding does at 0 and 1
    return max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))


def worth(clusters: Codes) -> float:
    """How many equal clusters these are worth: 1 / Σ share², the inverse of Simpson's index; needs at least one row."""
    shares = _shares(clusters)
    return float(1 / np.square(shares).sum())


def _shares(clusters: Codes) -> Floats:
    counts = np.bincount(clusters)
    return counts[counts > 0] / len(clusters)


def _squares(values: Floats, clusters: Codes) -> float:
    """Σ over clusters of (the sum of its deviations from the mean)², by n²: the variance of the mean, biased downwards."""
    return float(np.square(np.bincount(clusters, weights=values - values.mean())).sum() / len(values) ** 2)


def _kept(shares: Floats) -> float:
    """What `_squares` shows, on average, of effects of variance 1, one a cluster; the mean's own variance is Σ share²."""
    squares, cubes = float((shares**2).sum()), float((shares**3).sum())
    return squares - 2 * cubes + squares**2


def clustered_variance(values: Floats, clusters: Codes) -> float:
    """Variance of the mean of `values`, clustered, without bias for effects of one variance, one a cluster; NaN with one.

    The factor is C / (C − 1) for C equal clusters, and larger for unequal ones: the mean leans to what large ones say.
    """
    shares = _shares(clusters)
    if len(shares) < 2:
        return math.nan
    return _squares(values, clusters) * float(np.square(shares).sum()) / _kept(shares)


def crossed(a: Codes, b: Codes) -> Codes:
    """Codes from 0, one for each different pair of codes."""
    return np.unique(a * (b.max(initial=0) + 1) + b, return_inverse=True)[1].astype(np.int64)


LEAST_WORTH = 2.0
"""Tails that are worth fewer than so many say nothing about other tails: then only heads are taken for a sample."""


def variance_by_tail(values: Floats, heads: Codes, tails: Codes, both: Codes | None = None) -> float:
    """What tails that several heads share add to the variance of the mean by head; at least 0. `both`: their crossed codes.

    As by Cameron, Gelbach and Miller (2011) the variance by tail less that by head and tail, which both parts hold. It is
    estimated by moments: sums of tails show 1 − Σ share² of what differs within tails, and `_kept` of what differs between
    them. So it is 0 on average where tails have no effect, and without bias where they have, however unequal they are.
    """
    both = crossed(heads, tails) if both is None else both
    shares = _shares(tails)
    squares, within = float(np.square(shares).sum()), 1 / worth(both)
    seen = _kept(shares) - (1 - squares) * within
    if squares * LEAST_WORTH > 1 or squares <= within or seen <= 0:
        return 0.0
    return max(0.0, _squares(values, tails) - (1 - squares) * _squares(values, both)) * (squares - within) / seen


def two_way_variance(values: Floats, heads: Codes, tails: Codes, both: Codes | None = None) -> float:
    """Variance of the mean, clustered by head and by tail; never below that by head alone. `both`: their crossed codes."""
    return clustered_variance(values, heads) + variance_by_tail(values, heads, tails, both)


def count_of(clusters: Codes) -> int:
    return int(np.count_nonzero(np.bincount(clusters)))


def draw_variance(values: Floats, heads: Codes, draws: Codes) -> float:
    """What draws of demonstrations add to the variance of the mean: that by draw less that by head within draws; at least 0."""
    return max(0.0, clustered_variance(values, draws) - clustered_variance(values, crossed(heads, draws)))


class Part(NamedTuple):
    """A part of a variance, and the degrees of freedom of its estimate."""

    variance: float
    free: float


def parts_of(values: Floats, heads: Codes, tails: Codes | None, draws: Codes | None, both: Codes | None) -> list[Part]:
    """The variance of the mean: by head, what tails add, and what draws add. Each has the worth of its clusters less one."""
    parts = [Part(clustered_variance(values, heads), max(worth(heads) - 1, 1.0))]
    if tails is not None:
        parts.append(Part(variance_by_tail(values, heads, tails, both), max(worth(tails) - 1, 1.0)))
    if draws is not None and count_of(draws) > 1:
        parts.append(Part(draw_variance(values, heads, draws), float(count_of(draws) - 1)))
    return parts


def together(parts: Sequence[Part]) -> Part:
    """The sum of independent parts, with Welch and Satterthwaite's degrees of freedom."""
    total = sum(part.variance for part in parts)
    if not total > 0:
        return Part(total, parts[0].free)
    return Part(total, total**2 / sum(part.variance**2 / part.free for part in parts))


def t_quantile(free: float, level: float = LEVEL) -> float:
    """How many standard errors an interval reaches to each side."""
    return float(special.stdtrit(free, 0.5 + level / 2))


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
    variance, free = together(parts_of(values, heads, tails, draws, both))
    if math.isnan(variance):
        return Estimate(value, None, None, n)
    half = t_quantile(free) * math.sqrt(variance)
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
        return Estimate(value, *wilson(value, count_of(heads)), n)
    return Estimate(value, max(0.0, low), min(1.0, high), n)


def share_interval(
    values: Floats, heads: Codes, tails: Codes, draws: Codes | None = None, both: Codes | None = None
) -> Estimate:
    """A share of facts (values 0 or 1), with Wilson's interval at the number of trials that the clusters are worth.

    Few clusters are worth fewer trials, by as much as t reaches further with them than with n facts (Korn and Graubard 1998).
    """
    if len(values) == 0:
        return NOTHING
    value, n = float(values.mean()), len(values)
    if count_of(heads) < 2:
        return Estimate(value, None, None, n)
    variance, free = together(parts_of(values, heads, tails, draws, both))
    # the same facts after several draws of demonstrations are not more facts
    most = n / (1 if draws is None else count_of(draws))
    trials = (
        value * (1 - value) / variance * (t_quantile(max(most - 1, 1)) / t_quantile(free)) ** 2
        if variance > 0
        else count_of(heads)
    )
    return Estimate(value, *wilson(value, min(trials, most)), n)


DESIGN_EFFECT = 1.57
"""How much wider than for independent statements the error of an average accuracy is, measured by simulation."""


def expected_half_width(facts: int, statements_per_fact: int = 8) -> float:
    """Half the width, at worst, of the interval of an average accuracy over so many positive facts, and as many negative."""
    independent = 0.5 / math.sqrt(2 * facts * statements_per_fact)
    return _Z * DESIGN_EFFECT * independent
