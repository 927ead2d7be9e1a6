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
from collections.abc import Iterator, Sequence
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


def _count(clusters: Codes) -> int:
    return int(np.count_nonzero(np.bincount(clusters)))


def draw_variance(values: Floats, heads: Codes, draws: Codes) -> float:
    """What draws of demonstrations add to the variance of the mean: that by draw less that by head within draws; at least 0."""
    return max(0.0, clustered_variance(values, draws) - clustered_variance(values, crossed(heads, draws)))


class Part(NamedTuple):
    """A part of a variance, and the degrees of freedom of its estimate."""

    variance: float
    free: float


def _parts_of(values: Floats, heads: Codes, tails: Codes | None, draws: Codes | None, both: Codes | None) -> list[Part]:
    """The variance of the mean: by head, what tails add, and what draws add. Each has the worth of its clusters less one."""
    parts = [Part(clustered_variance(values, heads), max(worth(heads) - 1, 1.0))]
    if tails is not None:
        parts.append(Part(variance_by_tail(values, heads, tails, both), max(worth(tails) - 1, 1.0)))
    if draws is not None and _count(draws) > 1:
        parts.append(Part(draw_variance(values, heads, draws), float(_count(draws) - 1)))
    return parts


def _together(parts: Sequence[Part]) -> Part:
    """The sum of independent parts, with Welch and Satterthwaite's degrees of freedom."""
    total = sum(part.variance for part in parts)
    if not total > 0:
        return Part(total, parts[0].free)
    return Part(total, total**2 / sum(part.variance**2 / part.free for part in parts))


def _t(free: float) -> float:
    """How many standard errors an interval reaches to each side."""
    return float(special.stdtrit(free, 0.5 + LEVEL / 2))


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
    variance, free = _together(_parts_of(values, heads, tails, draws, both))
    if math.isnan(variance):
        return Estimate(value, None, None, n)
    half = _t(free) * math.sqrt(variance)
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
    """A share of facts (values 0 or 1), with Wilson's interval at the number of trials that the clusters are worth.

    Few clusters are worth fewer trials, by as much as t reaches further with them than with n facts (Korn and Graubard 1998).
    """
    if len(values) == 0:
        return NOTHING
    value, n = float(values.mean()), len(values)
    if _count(heads) < 2:
        return Estimate(value, None, None, n)
    variance, free = _together(_parts_of(values, heads, tails, draws, both))
    # the same facts after several draws of demonstrations are not more facts
    most = n / (1 if draws is None else _count(draws))
    trials = value * (1 - value) / variance * (_t(max(most - 1, 1)) / _t(free)) ** 2 if variance > 0 else _count(heads)
    return Estimate(value, *wilson(value, min(trials, most)), n)


DESIGN_EFFECT = 1.57
"""How much wider than for independent statements the error of an average accuracy is, measured by simulation."""


def expected_half_width(facts: int, statements_per_fact: int = 8) -> float:
    """Half the width, at worst, of the interval of an average accuracy over so many positive facts, and as many negative."""
    independent = 0.5 / math.sqrt(2 * facts * statements_per_fact)
    return _Z * DESIGN_EFFECT * independent


class Difference(NamedTuple):
    """A mean of paired differences with its interval, from −1 to 1, its p, and how many it is a mean of.

    p: the chance, above 0, of a difference as large or larger, either way, if both were alike. None where there is no value.
    """

    value: float | None
    low: float | None
    high: float | None
    p: float | None
    n: int


RESAMPLES = 5_000
"""Draws of heads behind an interval; half of them are of a − b and half of b − a, so that one mirrors the other."""

FLIPS = 10_000
"""Random flips behind a p, where there are too many heads to try all."""

EXACT_HEADS = 13
"""Up to so many heads that differ, all flips are tried: 2¹³ of them, fewer than the random ones."""

AT_ONCE = 2_000_000
"""Numbers drawn at a time: 16 MB an array, however many heads there are."""

ROUNDING = 1e-9
"""Sums that differ by less than this share of their terms are equal."""


def paired_difference(
    differences: Floats, heads: Codes, tails: Codes | None = None, draws: Codes | None = None, seed: int = 0
) -> Difference:
    """The mean of differences a − b, each from −1 to 1, one for each statement, fact or pair, clustered by head and by tail.

    heads, tails, draws: codes from 0, one for each difference; tails None: no two differences share one; draws None: all are
    of one draw of demonstrations. By head, the interval comes from a bootstrap that draws heads, each with all it has, and p
    from a test that flips the signs of heads. What tails and draws add (`variance_by_tail`, `draw_variance`) widens the
    interval: independent doubts, whose squares add. p is then that of a t test with all parts, where it is the larger.

    One head alone has neither. The order of the rows and the numbering of the heads do not matter; b − a gives the mirror
    image. Heads with equal sums are drawn together, so time grows with the number of different sums: quick for right less
    right, whose sums are whole, and slow for thousands of heads with fractions.
    """
    if len(differences) == 0:
        return Difference(None, None, None, None, 0)
    value, n = float(differences.mean()), len(differences)
    sizes = np.bincount(heads)
    present = sizes > 0
    sums, sizes = np.bincount(heads, weights=differences)[present].astype(np.float64), sizes[present]
    if len(sums) < 2:
        return Difference(value, None, None, None, n)
    low, high = _opened(value, *_bootstrapped(sums, sizes, seed), sums / sizes)
    by_head, *added = _parts_of(differences, heads, tails, draws, None)
    half = math.hypot(*(_t(part.free) * math.sqrt(part.variance) for part in added))
    p = max(_flipped(sums, seed), _p_of_t(value, _together([by_head, *added])) if half else 0.0)
    low, high = value - math.hypot(value - low, half), value + math.hypot(high - value, half)
    return Difference(value, max(-1.0, low), min(1.0, high), p, n)


def least_p(heads: Codes) -> float | None:
    """The smallest p that `paired_difference` can give with so few heads: the 2 of all 2 ** heads flips that go one way."""
    return 2.0 ** (1 - _count(heads)) if _count(heads) > 1 else None


def _p_of_t(value: float, error: Part) -> float:
    """The two-sided p of a t test."""
    return 2 * float(special.stdtr(error.free, -abs(value) / math.sqrt(error.variance)))


def _bootstrapped(sums: Floats, sizes: Codes, seed: int) -> tuple[float, float]:
    """The percentile interval of Σ sums / Σ sizes over drawn heads, as much wider as t is for so few (Hesterberg 2015)."""
    heads = len(sums)
    tail = float(special.ndtr(-math.sqrt(heads / (heads - 1)) * _t(heads - 1)))
    drawn = np.concatenate([_resampled(sums, sizes, seed), -_resampled(-sums, sizes, seed)])
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return float(low), float(high)


def _resampled(sums: Floats, sizes: Codes, seed: int) -> Floats:
    """Σ sums / Σ sizes over as many heads as there are, drawn with replacement, RESAMPLES / 2 times.

    Heads with equal sums and sizes are interchangeable, so what is drawn is how many there are of each kind.
    """
    kinds, times = np.unique(np.stack([sums, sizes]), axis=1, return_counts=True)
    randomness = np.random.default_rng(seed)
    drawn = (randomness.multinomial(len(sums), times / len(sums), rows) for rows in _parts(RESAMPLES // 2, len(times)))
    return np.concatenate([(counts @ kinds[0]) / (counts @ kinds[1]) for counts in drawn])


def _parts(rows: int, columns: int) -> Iterator[int]:
    """So many rows, in parts of at most AT_ONCE numbers."""
    most = max(1, AT_ONCE // columns)
    yield from (min(most, rows - start) for start in range(0, rows, most))


def _opened(value: float, low: float, high: float, means: Floats) -> tuple[float, float]:
    """Opens an interval on a side that no head speaks for, by Wilson's upper bound for 0 of as many heads.

    A bootstrap draws nothing that it has not seen. Where all heads have the same mean it collapses: then on both sides. Where
    all heads that differ do so in one direction, some may differ in the other, by as much as those seen; without that, the
    interval held the truth in 84 % of simulations of 60 heads of which 2 % differ in one direction and 1 % in the other, and
    left out 0 where p was far from small. The two doubts are independent: squares add (as in Newcombe 1998, method 10).
    """
    unseen = wilson(0.0, len(means))[1]
    if high - low < ROUNDING:
        return value - unseen, value + unseen
    unseen *= float(np.abs(means).max())
    below, above = unseen * float(means.min() >= 0), unseen * float(means.max() <= 0)
    return value - math.hypot(value - low, below), value + math.hypot(high - value, above)


def _flipped(sums: Floats, seed: int) -> float:
    """Share of the flips of heads' signs that give a sum as far from 0 or further: the two-sided sign-flip test."""
    sizes = np.abs(sums[sums != 0])
    least = abs(float(sums.sum())) - ROUNDING * float(sizes.sum())
    if len(sizes) > EXACT_HEADS:
        # the signs as they are count as one flip more, so that p is never 0
        return (1 + int((np.abs(_randomly_flipped(sizes, seed)) >= least).sum())) / (1 + FLIPS)
    signs = 1 - 2 * (np.arange(2 ** len(sizes))[:, None] >> np.arange(len(sizes)) & 1)
    return float((np.abs(signs @ sizes) >= least).mean())


def _randomly_flipped(sizes: Floats, seed: int) -> Floats:
    """Sums of the sizes with random signs, FLIPS of them; of equal sizes it is drawn how many are positive."""
    kinds, times = np.unique(sizes, return_counts=True)
    randomness = np.random.default_rng(seed)
    positive = (randomness.binomial(times, 0.5, (rows, len(kinds))) for rows in _parts(FLIPS, len(kinds)))
    return np.concatenate([(2 * counts - times) @ kinds for counts in positive])


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """The p of several comparisons, adjusted for their number (Holm 1979); each in the place where it stood.

    The smallest of m is multiplied by m, the next by m − 1, and so on; none is smaller than one before it, or above 1.
    None, a comparison that could not be made, stays None and does not count.
    """
    order = sorted((p, place) for place, p in enumerate(ps) if p is not None)
    adjusted: list[float | None] = [None] * len(ps)
    largest = 0.0
    for rank, (p, place) in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p))
        adjusted[place] = largest
    return adjusted
