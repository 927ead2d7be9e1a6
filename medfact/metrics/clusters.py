"""Cluster labels of values, and the clustered variance of their mean, from arrays alone.

The eight statements of a fact, a fact and its negatives, and facts of one head are correlated; tails repeat over heads too.
So standard errors are clustered by head and by tail (two-way; Cameron, Gelbach and Miller 2011). Tails are few and unequal:
thirty with Zipf's frequencies are worth ten, and the errors and their degrees of freedom reflect that. If statements were asked
after several draws of demonstrations, the variance between draws is added.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Bools = NDArray[np.bool_]


class IntraclassCorrelation(NamedTuple):
    """Intraclass correlations of facts of one head, and of facts of one tail, from 0 to 1."""

    head: float
    tail: float


PRIOR = IntraclassCorrelation(0.06, 0.02)  # before any answer; lower by tail, since more facts share a tail


class Clusters(NamedTuple):
    """Cluster labels, 0-based, one per value."""

    heads: Codes
    tails: Codes | None = None  # (values,), or (values, k) for pairs, whose true and false partners differ; −1: no tail
    draws: Codes | None = None  # draws of demonstrations; None: one draw
    head_tail: Codes | None = None  # heads and tails crossed, if they are computed already
    intraclass: IntraclassCorrelation = PRIOR
    unseen: Floats | None = None  # of a finite population: the unsampled fraction of each value's stratum (its relation)

    def of(self, rows: Bools | Codes) -> Clusters:
        """Returns the cluster labels of some values."""
        labels: dict[str, Any] = {
            name: column[rows] for name, column in self._asdict().items() if isinstance(column, np.ndarray)
        }
        return self._replace(**labels)

    @property
    def draw_count(self) -> int:
        """Number of draws of demonstrations, at least 1."""
        return 1 if self.draws is None else max(1, count_of(self.draws))


def unsampled_fraction(clusters: Clusters) -> float:
    """Unsampled fraction of the target population; 1 for a superpopulation (facts like these)."""
    return 1.0 if clusters.unseen is None else float(clusters.unseen.mean())


def effective_number(clusters: Codes) -> float:
    """Effective number of clusters: 1 / Σ share², the inverse of Simpson’s index. Needs a value."""
    return float(1 / np.square(cluster_shares(clusters)).sum())


def cluster_shares(clusters: Codes) -> Floats:
    """Shares of the values by cluster, which add up to 1."""
    counts = np.bincount(clusters)
    return counts[counts > 0] / len(clusters)


def count_of(clusters: Codes) -> int:
    """Number of clusters."""
    return int(np.count_nonzero(np.bincount(clusters)))


def crossed(a: Codes, b: Codes) -> Codes:
    """Labels from 0, one for each different pair of labels."""
    return np.unique(a * (b.max(initial=0) + 1) + b, return_inverse=True)[1].astype(np.int64)


def tail_entries(tails: Codes) -> tuple[Codes, Codes]:
    """Rows and their tails, an entry for each tail of a row. tails: as in `Clusters`."""
    if tails.ndim == 1:
        return np.arange(len(tails)), tails
    rows, columns = np.nonzero(tails >= 0)
    return rows, tails[rows, columns]


# ------------------------------------------------------------------------------------------------ variance by cluster


def clustered_variance(values: Floats, clusters: Codes) -> float:
    """Clustered variance of the mean, unbiased for cluster effects of equal variance; NaN with one cluster.

    The correction is C / (C − 1) for C equal clusters, and larger for unequal ones, since large clusters pull the mean.
    """
    shares = cluster_shares(clusters)
    if len(shares) < 2:
        return math.nan
    return _squared_sums(values, clusters) * float(np.square(shares).sum()) / _expected_squares(shares)


def _squared_sums(values: Floats, clusters: Codes) -> float:
    """Σ over clusters of (sum of deviations from the mean)² / n²: the variance of the mean, biased downwards."""
    return float(np.square(np.bincount(clusters, weights=values - values.mean())).sum() / len(values) ** 2)


def _expected_squares(shares: Floats) -> float:
    """Expected value of `_squared_sums` if cluster effects have variance 1; the variance of the mean itself is Σ share²."""
    squares, cubes = float((shares**2).sum()), float((shares**3).sum())
    return squares - 2 * cubes + squares**2


FEWEST_TAILS = 2.0  # effective tails that a variance by tail needs; with fewer, only heads are taken for a sample


def variance_by_tail(values: Floats, heads: Codes, tails: Codes, head_tail: Codes | None = None) -> float:
    """Variance that tails of several heads add to the variance of the mean by head; at least 0.

    The variance by tail less that by head and tail, which both parts contain (Cameron, Gelbach and Miller 2011). It is
    estimated by moments: squared sums by tail expect `_expected_tail_squares` times the variance between tails, and
    k − Σ share² times that within them. The estimate is unbiased, however unequal the tails are, with or without an effect.
    tails, head_tail: as in `Clusters`.
    """
    if head_tail is None:
        head_tail = (
            crossed(heads, tails)
            if tails.ndim == 1
            else np.unique(np.column_stack([heads, tails]), axis=0, return_inverse=True)[1]
        )
    row, tail = tail_entries(tails)
    n, counts = len(values), np.bincount(tail)
    per_row, squares = len(tail) / n, float(np.square(counts[counts > 0] / n).sum())
    within = 1 / effective_number(head_tail)
    expected = _expected_tail_squares(row, tail, n) - (per_row - squares) * within * per_row
    if squares * FEWEST_TAILS > per_row**2 or squares <= per_row * within or expected <= 0:
        return 0.0
    sums = np.bincount(tail, weights=(values - values.mean())[row])
    observed = float(np.square(sums).sum()) / n**2 - (per_row - squares) * _squared_sums(values, head_tail)
    return max(0.0, observed) * (squares - per_row * within) / expected


def _expected_tail_squares(row: Codes, tail: Codes, n: int) -> float:
    """Expected value of Σ (sums by tail)² / n² if tail effects have variance 1: ‖C − m m' / n‖² / n².

    m: rows by tail. C: rows that two tails share. With one tail a row it is `_expected_squares`.
    """
    counts = np.bincount(tail).astype(float)
    if len(row) == n:
        return _expected_squares(counts[counts > 0] / n)
    order = np.argsort(row, kind="stable")
    by_row = np.split(tail[order], np.flatnonzero(np.diff(row[order])) + 1)
    first = np.concatenate([np.repeat(tails, len(tails)) for tails in by_row])
    second = np.concatenate([np.tile(tails, len(tails)) for tails in by_row])
    shared = np.bincount(crossed(first, second)).astype(float)
    cross = float((counts[first] * counts[second]).sum())
    return (float(np.square(shared).sum()) - 2 * cross / n + float(np.square(counts).sum()) ** 2 / n**2) / n**2


# ------------------------------------------------------------------------------------------------ parts of a variance


class Part(NamedTuple):
    """A component of a variance, with the degrees of freedom of its estimate."""

    variance: float
    degrees_of_freedom: float


def parts_of(values: Floats, clusters: Clusters) -> list[Part]:
    """Variance components of the mean: by head, then those that tails and draws of demonstrations add."""
    heads, tails, draws = clusters.heads, clusters.tails, clusters.draws
    errors = sampling_errors(values, clusters.unseen)
    parts = [Part(clustered_variance(values.mean() + errors, heads), _degrees_of_freedom(errors, heads))]
    if tails is not None:
        row, tail = tail_entries(tails)
        effective = max(effective_number(tail), 1.5)
        # few tails dominate their own mean, which hides a part of their variance
        inflation = (effective / (effective - 1)) ** 2
        by_tail = variance_by_tail(values, heads, tails, clusters.head_tail)
        parts.append(Part(by_tail * inflation, _degrees_of_freedom(errors[row], tail)))
    if draws is not None and clusters.draw_count > 1:
        by_draw = clustered_variance(values, draws) - clustered_variance(values, crossed(heads, draws))
        parts.append(Part(max(0.0, by_draw), float(clusters.draw_count - 1)))
    return parts


def sampling_errors(values: Floats, unseen: Floats | None) -> Floats:
    """Deviations from the mean; in a finite population from the stratum's mean, times √(unsampled fraction)."""
    if unseen is None:
        return np.asarray(values - values.mean())
    stratum = np.unique(unseen, return_inverse=True)[1]
    means = np.bincount(stratum, weights=values) / np.bincount(stratum)
    return np.asarray((values - means[stratum]) * np.sqrt(unseen))


def _degrees_of_freedom(errors: Floats, clusters: Codes) -> float:
    """Degrees of freedom of a clustered variance: effective clusters less one, and fewer if a few clusters dominate it.

    A sample variance has the relative variance (kurtosis − 1) / C, and a χ² with f degrees of freedom 2 / f.
    """
    count, squares = effective_number(clusters), np.square(np.bincount(clusters, weights=errors))
    if not squares.any():
        return max(count - 1, 1.0)
    excess = float(np.square(squares).sum() / squares.sum() ** 2) - 1 / count
    return max(1.0, min(count - 1, 2 / excess if excess > 0 else math.inf))


def sum_of_parts(parts: Sequence[Part]) -> Part:
    """Sum of independent components, with Welch and Satterthwaite's degrees of freedom."""
    total = sum(part.variance for part in parts)
    if not total > 0:
        return Part(total, parts[0].degrees_of_freedom)
    return Part(total, total**2 / sum(part.variance**2 / part.degrees_of_freedom for part in parts))


# ------------------------------------------------------------------------------------------------ resampling


def batch_sizes(rows: int, columns: int, limit: int) -> Iterator[int]:
    """Batch sizes for drawing `rows` rows of `columns` numbers: at most `limit` numbers a batch, or one row."""
    size = max(1, limit // columns)
    yield from (min(size, rows - start) for start in range(0, rows, size))


@lru_cache(8)
def bootstrap_counts(heads: int, draws: int) -> Codes:
    """Bootstrap draws of heads with replacement: (draws, heads), the number of copies of each head; always the same draws."""
    counts = np.random.default_rng(0).multinomial(heads, np.full(heads, 1 / heads), draws)
    counts.setflags(write=False)
    return np.asarray(counts)
