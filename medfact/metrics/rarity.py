"""A line through shares of right answers against the logarithm of a frequency, with clustered intervals; arrays alone.

Ordinary least squares, one point a fact. Its errors are clustered by head and by tail (Cameron, Gelbach and Miller 2011): by
the jackknife over clusters (CR3), with the degrees of freedom of Bell and McCaffrey (2002). Frequencies are uneven, so that a
few tails decide the slope, and residuals at such tails are too small. Plain clustered errors cover the slope in 87 to 96% of
simulated runs, and these in 94 to 97% (`benchmarks/rarity.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from medfact.metrics.clusters import Codes, Floats, Part, count_of, crossed, sum_of_parts
from medfact.metrics.uncertainty import NOTHING, Estimate, t_quantile

FEWEST_FREQUENCIES = 3  # through two frequencies every line fits

FEWEST_CLUSTERS = 4  # with fewer heads, or fewer tails, there is no line: an interval would be wider than any share

BAND_POINTS = 25  # places at which the band is known, from the lowest frequency to the highest

_NONE = 1e-9  # what counts as 0 among numbers about 1


@dataclass(frozen=True)
class Place:
    """A place on a line: x, the fitted share there, and the bounds of its pointwise 95% band; None where there is no interval.

    The share is the line's, so that it may lie below 0 or above 1.
    """

    x: float
    share: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class FittedLine:
    """A line: share = intercept + slope · x, where x = log10(frequency + 1).

    slope: change of the share for a tenfold frequency, with its 95% interval; n: points. intercept: the share at x = 0, a
    frequency of 0, with its interval. band: places from the lowest x to the highest. Nothing and () where there is no line.
    """

    slope: Estimate
    intercept: Estimate
    band: tuple[Place, ...]


NO_LINE = FittedLine(NOTHING, NOTHING, ())


def log_frequency(counts: Floats) -> Floats:
    """log10(count + 1): 0 for what is never named, 1 for about ten times, 2 for about a hundred."""
    return np.log10(counts + 1)


def line(x: Floats, shares: Floats, heads: Codes, tails: Codes) -> FittedLine:
    """The line through points (x, share), all of one length; heads, tails: codes of the clusters of each point.

    No line where there are fewer than FEWEST_FREQUENCIES different x, or fewer than FEWEST_CLUSTERS heads or tails. A line
    through all points has no interval, since nothing shows how far others would be off. Nor has one that a single head or tail
    decides, without which all x are the same.
    """
    few = min(count_of(heads), count_of(tails)) < FEWEST_CLUSTERS if len(x) else True
    if few or len(np.unique(x)) < FEWEST_FREQUENCIES:
        return FittedLine(NOTHING._replace(n=len(x)), NOTHING._replace(n=len(x)), ())
    fit = _Fit(x, shares, heads, tails)
    places = np.linspace(x.min(), x.max(), BAND_POINTS)
    band = tuple(Place(float(at), *fit.at(float(at))[:3]) for at in places)  # type: ignore[arg-type]
    return FittedLine(fit.slope(), fit.at(0.0), band)


class _Fit:
    """A fitted line on an orthonormal basis: a constant, and x about its mean. All estimates are contrasts of the basis."""

    def __init__(self, x: Floats, shares: Floats, heads: Codes, tails: Codes) -> None:
        self.n, self.mean = len(x), float(x.mean())
        self.spread = math.sqrt(float(np.square(x - self.mean).sum()))
        basis = np.stack([np.full(self.n, 1 / math.sqrt(self.n)), (x - self.mean) / self.spread], axis=1)
        self.coefficients = basis.T @ shares
        errors = shares - basis @ self.coefficients
        self._by = [_Clusters(basis, errors, codes) for codes in (heads, tails, crossed(heads, tails))]
        self._exact = bool(np.abs(errors).max() < _NONE)
        self._has_interval = not self._exact and not any(clusters.one_decides for clusters in self._by)

    def slope(self) -> Estimate:
        return self._estimate(np.array([0.0, 1 / self.spread]))

    def at(self, x: float) -> Estimate:
        """The fitted share at x."""
        return self._estimate(np.array([1 / math.sqrt(self.n), (x - self.mean) / self.spread]))

    def _estimate(self, contrast: Floats) -> Estimate:
        value = float(contrast @ self.coefficients)
        if not self._has_interval:
            return Estimate(round(value, 9) + 0.0 if self._exact else value, None, None, self.n)  # no slope of −1e−17
        by_head, by_tail, by_both = (clusters.part(contrast) for clusters in self._by)
        # never below the variance by head alone, as everywhere: a negative difference is noise
        added = Part(max(0.0, by_tail.variance - by_both.variance), by_tail.degrees_of_freedom)
        variance, degrees = sum_of_parts([by_head, added])
        half = t_quantile(degrees) * math.sqrt(variance)
        return Estimate(value, value - half, value + half, self.n)


class _Clusters:
    """The errors of a fit, summed over clusters. With Q_g the rows of the orthonormal basis of cluster g, P_g = Q_g' Q_g.

    scores: (clusters, 2), (1 − P_g)^−1 Q_g' e_g, by which the coefficients move where the cluster is left out. hats: (clusters,
    2, 2), P_g. inverses: the same shape, (1 − P_g)^−1. one_decides: whether there is no line without one of them.
    """

    def __init__(self, basis: Floats, errors: Floats, codes: Codes) -> None:
        place = np.unique(codes, return_inverse=True)[1]
        count = int(place.max()) + 1

        def sum_of_parts(values: Floats) -> Floats:
            return np.bincount(place, weights=values, minlength=count).astype(float)

        self.hats = np.array([[sum_of_parts(basis[:, i] * basis[:, j]) for i in range(2)] for j in range(2)]).transpose(2, 0, 1)
        sizes, axes = np.linalg.eigh(np.eye(2) - self.hats)
        self.one_decides = bool(sizes.min() < _NONE)
        inverse = np.where(sizes > _NONE, 1 / np.maximum(sizes, _NONE), 0.0)
        self.inverses = np.einsum("gij,gj,gkj->gik", axes, inverse, axes)
        sums = np.stack([sum_of_parts(basis[:, i] * errors) for i in range(2)], axis=1)
        self.scores = np.einsum("gij,gj->gi", self.inverses, sums)

    def part(self, contrast: Floats) -> Part:
        """The variance of a contrast, and its degrees of freedom for independent errors of one variance.

        The variance is Σ (a_g' e)², with a_g = Q_g (1 − P_g)^−1 c. For independent errors e it has the moments of Σ λ χ²; the λ
        are the eigenvalues of the matrix with a_g' a_h − (Q' a_g)' (Q' a_h) at (g, h).
        """
        variance = float(np.square(self.scores @ contrast).sum())
        leaning = np.einsum("gij,gjk,k->gi", self.hats, self.inverses, contrast)
        diagonal = np.einsum("i,gij,gj->g", contrast, self.inverses, leaning)
        squares = np.square(leaning).sum(axis=1)
        trace = float((diagonal - squares).sum())
        norm = float((np.square(diagonal) - 2 * diagonal * squares).sum() + np.square(leaning.T @ leaning).sum())
        return Part(variance, max(1.0, trace**2 / norm) if norm > 0 else 1.0)
