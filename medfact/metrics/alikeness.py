"""Whether two models are right and wrong on the same facts, beyond what they share because facts of one head are alike."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from medfact.metrics.clusters import Bools, Clusters, Codes, Floats, redrawn
from medfact.metrics.uncertainty import t_quantile, too_few, widened

_MOST_RESAMPLES, _LEAST_RESAMPLES, _DRAWN = 1_000, 200, 200_000
"""Draws of heads behind an interval: as many as keep within so many heads drawn."""

_MOST = 1 - 1e-9
"""Where a correlation is 1, Fisher's transform has no value."""


class Correlation(NamedTuple):
    """From −1 to 1, None where a side does not vary; low, high: its 95 % interval, None with too few heads; n: facts."""

    value: float | None
    low: float | None
    high: float | None
    n: int


class Alike(NamedTuple):
    """The correlation of two models' shares of right answers over facts: in all, and between facts of the same head alone."""

    overall: Correlation
    within_heads: Correlation


def alike(ours: Floats, theirs: Floats, positive: Bools, heads: Codes, tails: Codes | None = None) -> Alike:
    """How far two models are right on the same facts. ours, theirs: share of right answers of each fact; positive: whether it
    holds, as true and false facts are answered unlike by who leans to True, which is no likeness of knowledge: each is taken
    from the mean of its kind. tails: codes; None: no two facts share one.
    """
    both = np.stack([_less_mean(side, positive.astype(np.int64)) for side in (ours, theirs)])
    code = np.unique(heads, return_inverse=True)[1].astype(np.int64)
    several = np.bincount(code)[code] > 1
    within = np.stack([_less_mean(side, code) for side in both])
    clusters = Clusters(code, tails)
    return Alike(_correlation(both, clusters), _correlation(within[:, several], clusters.of(several)))


def _less_mean(values: Floats, groups: Codes) -> Floats:
    means = np.bincount(groups, weights=values) / np.maximum(np.bincount(groups), 1)
    return np.asarray(values - means[groups])


def _correlation(sides: Floats, clusters: Clusters) -> Correlation:
    """With a t interval on Fisher's scale, whose error is from a bootstrap over heads, each with all its facts, and from shared
    tails.

    sides: 2 × facts, of mean 0.
    """
    n, heads = sides.shape[1], clusters.heads
    a, b = sides
    sums = np.stack([np.bincount(heads, weights=values) for values in (a * a, b * b, a * b)]) if n else np.zeros((3, 1))
    squares = float(sums[0].sum() * sums[1].sum())
    if squares < 1e-12:
        return Correlation(None, None, None, n)
    value = float(sums[2].sum() / squares**0.5)
    there = np.flatnonzero(np.bincount(heads))
    if too_few(heads):
        return Correlation(value, None, None, n)
    draws = int(np.clip(_DRAWN // len(there), _LEAST_RESAMPLES, _MOST_RESAMPLES))
    times = redrawn(len(there), draws)
    of_a, of_b, of_both = sums[:, there] @ times.T
    varied = of_a * of_b > 1e-12
    drawn = np.arctanh((of_both[varied] / np.sqrt(of_a * of_b)[varied]).clip(-_MOST, _MOST))
    middle, half = np.arctanh(np.clip(value, -_MOST, _MOST)), t_quantile(len(there) - 1) * float(drawn.std())
    # each fact's part in the correlation, on Fisher's scale
    parts = (a * b / squares**0.5 - value / 2 * (a * a / sums[0].sum() + b * b / sums[1].sum())) * n / max(1 - value**2, 1e-9)
    low, high = widened(float(middle), float(middle) - half, float(middle) + half, middle + parts, clusters)
    return Correlation(value, float(np.tanh(low)), float(np.tanh(high)), n)
