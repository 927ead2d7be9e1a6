"""Inter-rater agreement for nominal categories: raw, Cohen's and Fleiss' kappa, Gwet's AC1 and Krippendorff's alpha.

Labels are skewed: nearly all verdicts confirm them. Then kappa is small even if agreement is high (Feinstein & Cicchetti,
1990), so AC1 (Gwet, 2008) stands beside it. Intervals are a jackknife over clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from medfact.metrics.clusters import Bools, Codes, effective_number
from medfact.metrics.uncertainty import NOTHING, Estimate, t_quantile, wilson
from medfact.words import say

MISSING = -1  # in a table of ratings: the rater did not judge the item


@dataclass(frozen=True)
class Agreement:
    """Coefficients of agreement from −1 to 1 (raw: from 0), over items that two raters judged."""

    items: int
    raters: int
    raw: Estimate  # chance that two random raters of an item agree
    cohen: Estimate
    fleiss: Estimate
    ac1: Estimate
    alpha: Estimate
    why_not: dict[str, str]  # coefficient without a value → reason


def agreement(ratings: Codes, clusters: Codes | None = None) -> Agreement:
    """Agreement of raters.

    ratings: (items, raters), a category from 0 or MISSING. clusters: labels of the items for the jackknife, such as their
    heads; by default each item is a cluster.
    """
    clusters = np.arange(len(ratings)) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    judged = ratings != MISSING
    pairable, raters = judged.sum(axis=1) >= 2, int(judged.any(axis=0).sum())
    estimates = {name: _estimate(coefficient, ratings, clusters, pairable) for name, coefficient in _COEFFICIENTS.items()}
    why_not = {name: _why_not(name, pairable, raters) for name, estimate in estimates.items() if estimate.value is None}
    return Agreement(int(pairable.sum()), raters, **estimates, why_not=why_not)


def _why_not(name: str, pairable: Bools, raters: int) -> str:
    if not pairable.any():
        return say("agreement.one_rater")
    return say("agreement.not_two_raters" if name == "cohen" and raters != 2 else "agreement.one_category")


_Coefficient = Callable[[Codes], tuple[float, float] | None]
"""Table of ratings → observed agreement, and agreement by chance; None if the coefficient is not defined."""


def _beyond_chance(observed: float, chance: float) -> float:
    return (observed - chance) / (1 - chance)


def _estimate(coefficient: _Coefficient, ratings: Codes, clusters: Codes, pairable: Bools) -> Estimate:
    """Coefficient with a jackknife interval, or Wilson's if nothing varies; none if a cluster decides that it is defined."""
    pair = coefficient(ratings) if pairable.any() else None
    if pair is None:
        return NOTHING
    (observed, chance), n = pair, int(pairable.sum())
    value, names = _beyond_chance(observed, chance), np.unique(clusters[pairable])
    left = [coefficient(ratings[clusters != name]) for name in names] if len(names) > 1 else []
    values = np.array([_beyond_chance(*pair) for pair in left if pair is not None])
    m = len(values)
    if m < 2 or m < len(left):
        return Estimate(value, None, None, n)
    half_width = t_quantile(m - 1) * float(np.sqrt((m - 1) / m * np.square(values - values.mean()).sum()))
    if half_width > 1e-9:
        low, high = value - half_width, value + half_width
    else:  # nothing varies, which makes nothing certain
        ends = wilson(observed, min(n, effective_number(clusters[pairable])))
        low, high = (_beyond_chance(end, chance) for end in ends)
    return Estimate(value, max(-1.0, low), min(1.0, high), n)


def _counts(ratings: Codes, raters: int = 1) -> tuple[Codes, Codes]:
    """Raters by item and category, (items, categories), and by item; of items with so many raters at least."""
    categories = np.unique(ratings[ratings != MISSING])
    counts = np.stack([(ratings == category).sum(axis=1) for category in categories], axis=1)
    enough = counts.sum(axis=1) >= raters
    return counts[enough], counts.sum(axis=1)[enough]


def _raw(ratings: Codes) -> tuple[float, float] | None:
    """Mean over items of the share of their pairs of raters that agree (Fleiss, 1971)."""
    counts, raters = _counts(ratings, 2)
    if not len(raters):
        return None
    return float(((counts * (counts - 1)).sum(axis=1) / (raters * (raters - 1))).mean()), 0.0


def _with_chance(chance_of: Callable[[NDArray[np.float64]], float]) -> _Coefficient:
    """(raw − chance) / (1 − chance), with shares of categories over all judged items, as in Gwet (2014)."""

    def coefficient(ratings: Codes) -> tuple[float, float] | None:
        raw, (counts, raters) = _raw(ratings), _counts(ratings)
        if raw is None or counts.shape[1] < 2:
            return None
        return raw[0], chance_of((counts / raters[:, None]).mean(axis=0))

    return coefficient


def _cohen(ratings: Codes) -> tuple[float, float] | None:
    """Two raters, over the items that both judged (Cohen, 1960)."""
    ratings = ratings[:, (ratings != MISSING).any(axis=0)]
    if ratings.shape[1] != 2:
        return None
    first, second = ratings[(ratings != MISSING).all(axis=1)].T
    if not len(first):
        return None
    chance = sum(float((first == category).mean() * (second == category).mean()) for category in np.unique(ratings))
    return None if chance >= 1 else (float((first == second).mean()), chance)


def _alpha(ratings: Codes) -> tuple[float, float] | None:
    """Krippendorff's alpha for nominal categories, from coincidences (Krippendorff, 2011)."""
    counts, raters = _counts(ratings, 2)
    totals = counts.sum(axis=0)
    n = int(totals.sum())
    expected = (n**2 - np.square(totals).sum()) / (n * (n - 1)) if n else 0
    if not expected:
        return None
    observed = ((raters[:, None] - counts) * counts / (raters - 1)[:, None]).sum() / n
    return float(1 - observed), float(1 - expected)


_COEFFICIENTS: dict[str, _Coefficient] = {
    "raw": _raw,
    "cohen": _cohen,
    "fleiss": _with_chance(lambda shares: float(np.square(shares).sum())),
    "ac1": _with_chance(lambda shares: float((shares * (1 - shares)).sum() / (len(shares) - 1))),
    "alpha": _alpha,
}
