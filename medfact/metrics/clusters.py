"""What stands or falls together, and how much of a mean's variance comes of it, from arrays alone.

The eight statements of a fact, a fact and its negatives, and facts of one head stand or fall together; tails repeat over
heads too. Standard errors are therefore clustered by head and by tail (two-way, Cameron, Gelbach and Miller 2011). Tails are
few and unequal: thirty whose frequencies follow Zipf are worth ten, and the errors and their degrees of freedom say so. Where
each statement was asked after several draws of demonstrations, the spread between the draws is added.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Bools = NDArray[np.bool_]


class IntraclassCorrelation(NamedTuple):
    """How far facts of one head, and facts of one tail, stand or fall together, from 0 to 1."""

    head: float
    tail: float


USUAL = IntraclassCorrelation(0.06, 0.02)
"""What is taken for granted before anything is seen; of tails less, since a tail is shared by more facts."""


class Clusters(NamedTuple):
    """What stands or falls together: codes from 0, one for each value.

    tails: one of each value, or (values, k) where one has several, such as a pair its true and its false partner, −1 where
    there is none; None where tails say nothing. draws: of demonstrations; None: all are of one. both: heads and tails crossed,
    where they are known already. intraclass: correlations of facts of one
    head, and of one tail.

    unseen: for a mean over a finite population, of each value the share of its stratum (a relation) that was not asked, 0
    where all of it was; values with equal shares are taken for one stratum. None: a mean over all heads and tails like these.
    """

    heads: Codes
    tails: Codes | None = None
    draws: Codes | None = None
    both: Codes | None = None
    intraclass: IntraclassCorrelation = USUAL
    unseen: Floats | None = None

    def of(self, rows: Bools | Codes) -> Clusters:
        """The clusters of some values."""
        tails, draws, both = (None if codes is None else codes[rows] for codes in (self.tails, self.draws, self.both))
        unseen = None if self.unseen is None else self.unseen[rows]
        return Clusters(self.heads[rows], tails, draws, both, self.intraclass, unseen)


def unseen_share(clusters: Clusters) -> float:
    """The share of what a mean is about that was not seen: nearly all of it where that is facts like these."""
    return 1.0 if clusters.unseen is None else float(clusters.unseen.mean())


def effective_number(clusters: Codes) -> float:
    """The effective number of these clusters, which is how many equal ones say as much: 1 / Σ share², the inverse of Simpson’s
    index; needs at least one row.
    """
    shares = shares_of(clusters)
    return float(1 / np.square(shares).sum())


def shares_of(clusters: Codes) -> Floats:
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
    shares = shares_of(clusters)
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

    tails: one of each row, or (rows, k) where a row has several, such as a pair its true and its false partner; −1: none.

    As by Cameron, Gelbach and Miller (2011) the variance by tail less that by head and tail, which both parts hold. It is
    estimated by moments: sums of tails show `_kept_of_tails` of what differs between them, and k − Σ share² of what differs
    within them. So it is 0 on average where tails have no effect, and without bias where they have, however unequal they are.
    """
    if both is None:
        both = (
            crossed(heads, tails)
            if tails.ndim == 1
            else np.unique(np.column_stack([heads, tails]), axis=0, return_inverse=True)[1]
        )
    row, tail = entries(tails)
    n = len(values)
    shares = np.bincount(tail)[np.bincount(tail) > 0] / n
    each, squares, within = len(tail) / n, float(np.square(shares).sum()), 1 / effective_number(both)
    seen = _kept_of_tails(row, tail, n) - (each - squares) * within * each
    if squares * LEAST_WORTH > each**2 or squares <= each * within or seen <= 0:
        return 0.0
    sums = np.bincount(tail, weights=(values - values.mean())[row])
    shown = float(np.square(sums).sum()) / n**2 - (each - squares) * _squares(values, both)
    return max(0.0, shown) * (squares - each * within) / seen


def entries(tails: Codes) -> tuple[Codes, Codes]:
    """Rows and their tails, one entry for each tail of a row."""
    if tails.ndim == 1:
        return np.arange(len(tails)), tails
    rows, columns = np.nonzero(tails >= 0)
    return rows, tails[rows, columns]


def _kept_of_tails(row: Codes, tail: Codes, n: int) -> float:
    """What Σ (sums of tails)² / n² shows, on average, of effects of variance 1, one a tail: ‖C − m m' / n‖² / n², where m are
    the tails' counts of rows, and C counts the rows that two tails share. With one tail a row it is `_kept`.
    """
    counts = np.bincount(tail).astype(float)
    if len(row) == n:
        return _kept(counts[counts > 0] / n)
    order = np.argsort(row, kind="stable")
    row, tail = row[order], tail[order]
    first, sizes = np.unique(row, return_index=True, return_counts=True)[1:]
    ones = [np.repeat(tail[at : at + size], size) for at, size in zip(first, sizes, strict=True)]
    others = [np.tile(tail[at : at + size], size) for at, size in zip(first, sizes, strict=True)]
    one, other = np.concatenate(ones), np.concatenate(others)
    together = np.bincount(crossed(one, other)).astype(float)
    cross = float((counts[one] * counts[other]).sum())
    return (float(np.square(together).sum()) - 2 * cross / n + float(np.square(counts).sum()) ** 2 / n**2) / n**2


def count_of(clusters: Codes) -> int:
    return int(np.count_nonzero(np.bincount(clusters)))


def draw_variance(values: Floats, heads: Codes, draws: Codes) -> float:
    """What draws of demonstrations add to the variance of the mean: that by draw less that by head within draws; at least 0."""
    return max(0.0, clustered_variance(values, draws) - clustered_variance(values, crossed(heads, draws)))


class Part(NamedTuple):
    """A part of a variance, and the degrees of freedom of its estimate."""

    variance: float
    degrees_of_freedom: float


_LEANING = 2
"""Few tails say more of themselves than of others: their part grows by (w / (w − 1))², w being their effective number."""


def parts_of(values: Floats, clusters: Clusters) -> list[Part]:
    """The variance of the mean: by head, what tails add, and what draws add."""
    heads, tails, draws = clusters.heads, clusters.tails, clusters.draws
    errors = unseen_errors(values, clusters.unseen)
    parts = [Part(clustered_variance(values.mean() + errors, heads), _freedom(errors, heads))]
    if tails is not None:
        row, tail = entries(tails)
        effective = max(effective_number(tail), 1.5)
        variance = variance_by_tail(values, heads, tails, clusters.both)
        leaning = (effective / (effective - 1)) ** _LEANING
        parts.append(Part(variance * leaning, _freedom(errors[row], tail)))
    if draws is not None and count_of(draws) > 1:
        parts.append(Part(draw_variance(values, heads, draws), float(count_of(draws) - 1)))
    return parts


def unseen_errors(values: Floats, unseen: Floats | None) -> Floats:
    """Deviations from the mean; in a finite population from that of the stratum, as large as what was not asked leaves them."""
    if unseen is None:
        return np.asarray(values - values.mean())
    stratum = np.unique(unseen, return_inverse=True)[1]
    means = np.bincount(stratum, weights=values) / np.bincount(stratum)
    return np.asarray((values - means[stratum]) * np.sqrt(unseen))


def _freedom(errors: Floats, clusters: Codes) -> float:
    """Degrees of freedom of a clustered variance: the effective number of clusters less one, and fewer where a few of them say
    nearly all.

    The variance of a sample variance is (kurtosis − 1) / C of its square, and that of a χ² with f degrees 2 / f.
    """
    count, squares = effective_number(clusters), np.square(np.bincount(clusters, weights=errors))
    if not squares.any():
        return max(count - 1, 1.0)
    excess = float(np.square(squares).sum() / squares.sum() ** 2) - 1 / count
    return max(1.0, min(count - 1, 2 / excess if excess > 0 else math.inf))


def sum_of_parts(parts: Sequence[Part]) -> Part:
    """The sum of independent parts, with Welch and Satterthwaite's degrees of freedom."""
    total = sum(part.variance for part in parts)
    if not total > 0:
        return Part(total, parts[0].degrees_of_freedom)
    return Part(total, total**2 / sum(part.variance**2 / part.degrees_of_freedom for part in parts))


def batch_sizes(rows: int, columns: int, limit: int) -> Iterator[int]:
    """Sizes of the batches in which `rows` rows of `columns` numbers are drawn: at most `limit` numbers, or one row."""
    size = max(1, limit // columns)
    yield from (min(size, rows - start) for start in range(0, rows, size))


@lru_cache(8)
def redrawn(heads: int, draws: int) -> Codes:
    """Heads drawn with replacement, as a bootstrap draws them: how often each head comes up in each draw of as many as there
    are: (draw, head). The same draws at every call.
    """
    times = np.random.default_rng(0).multinomial(heads, np.full(heads, 1 / heads), draws)
    times.setflags(write=False)
    return np.asarray(times)
