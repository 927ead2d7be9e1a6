"""How far reviewers agree: raw, Cohen's and Fleiss' kappa, Gwet's AC1 and Krippendorff's alpha, for nominal categories.

Labels are skewed (nearly all verdicts say that the label is right), and kappa is small then whatever the agreement (Feinstein
& Cicchetti, 1990); AC1 (Gwet, 2008) is shown beside it for that. Intervals leave out one cluster at a time (the jackknife).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from medfact.metrics.clusters import Codes, effective_number
from medfact.metrics.uncertainty import NOTHING, Estimate, t_quantile, wilson

MISSING = -1
"""In a table of ratings: this rater did not judge this item."""

ONE_RATER = "no item was judged by two reviewers"
ONE_CATEGORY = "all verdicts are the same"
NOT_TWO = "there are not exactly two reviewers"

_COLLAPSED = 1e-9
"""A narrower interval comes from nothing varying."""

Counts = NDArray[np.int64]
"""Items × categories: how many raters chose each."""


@dataclass(frozen=True)
class Agreement:
    """Figures of agreement from −1 to 1 (raw: from 0), each of the items that two raters judged; and why one has no value.

    raw: of two raters of an item drawn at random, how often they agree.
    """

    items: int
    raters: int
    raw: Estimate
    cohen: Estimate
    fleiss: Estimate
    ac1: Estimate
    alpha: Estimate
    why_not: dict[str, str]


def agreement(ratings: Codes, clusters: Codes | None = None) -> Agreement:
    """The agreement of raters.

    ratings: items × raters; a category from 0, or MISSING. clusters: of the items, for the intervals (such as their heads);
    by default each item is one.
    """
    clusters = np.arange(len(ratings)) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    whole = (ratings != MISSING).sum(axis=1) >= 2
    raters = int((ratings != MISSING).any(axis=0).sum())
    estimates = {name: _estimate(figure, ratings, clusters, whole) for name, figure in _FIGURES.items()}
    why_not = {name: _why_not(name, whole, raters) for name, one in estimates.items() if one.value is None}
    return Agreement(int(whole.sum()), raters, **estimates, why_not=why_not)


def _why_not(name: str, whole: NDArray[np.bool_], raters: int) -> str:
    if not whole.any():
        return ONE_RATER
    return NOT_TWO if name == "cohen" and raters != 2 else ONE_CATEGORY


class _Found(NamedTuple):
    """Observed agreement, and that which chance would give."""

    observed: float
    chance: float

    def beyond_chance(self, observed: float) -> float:
        """The figure at some observed agreement."""
        return (observed - self.chance) / (1 - self.chance)

    @property
    def value(self) -> float:
        return self.beyond_chance(self.observed)


_Figure = Callable[[Codes], _Found | None]


def _estimate(figure: _Figure, ratings: Codes, clusters: Codes, whole: NDArray[np.bool_]) -> Estimate:
    found = figure(ratings) if whole.any() else None
    if found is None:
        return NOTHING
    n = int(whole.sum())
    names = np.unique(clusters[whole])
    left = [figure(ratings[clusters != name]) for name in names] if len(names) > 1 else []
    values = np.array([one.value for one in left if one is not None])
    if len(values) < 2 or len(values) < len(left):
        return Estimate(found.value, None, None, n)
    m = len(values)
    half = t_quantile(m - 1) * float(np.sqrt((m - 1) / m * np.square(values - values.mean()).sum()))
    low, high = (found.value - half, found.value + half) if half > _COLLAPSED else _at_an_end(found, clusters[whole])
    return Estimate(found.value, max(-1.0, low), min(1.0, high), n)


def _at_an_end(found: _Found, clusters: Codes) -> tuple[float, float]:
    """Bounds where all agree, or none: that nothing varies makes nothing certain. Wilson's, of what the clusters are worth."""
    low, high = wilson(found.observed, min(len(clusters), effective_number(clusters)))
    return found.beyond_chance(low), found.beyond_chance(high)


def _counts(ratings: Codes) -> Counts:
    categories = np.unique(ratings[ratings != MISSING])
    return np.stack([(ratings == category).sum(axis=1) for category in categories], axis=1)


def _raw(ratings: Codes) -> _Found | None:
    """Mean over items with two raters or more of the share of their pairs that agree (Fleiss, 1971)."""
    counts = _counts(ratings)
    raters = counts.sum(axis=1)
    counts, raters = counts[raters >= 2], raters[raters >= 2]
    if not len(raters):
        return None
    return _Found(float(((counts * (counts - 1)).sum(axis=1) / (raters * (raters - 1))).mean()), 0.0)


def _with_chance(chance_of: Callable[[NDArray[np.float64]], float]) -> _Figure:
    """(raw − chance) / (1 − chance). Shares of categories are over all judged items, as in Gwet (2014)."""

    def figure(ratings: Codes) -> _Found | None:
        raw, counts = _raw(ratings), _counts(ratings)
        raters = counts.sum(axis=1)
        if raw is None or counts.shape[1] < 2:
            return None
        return _Found(raw.observed, chance_of((counts[raters > 0] / raters[raters > 0, None]).mean(axis=0)))

    return figure


def _cohen(ratings: Codes) -> _Found | None:
    """Of two raters, over the items that both judged (Cohen, 1960)."""
    ratings = ratings[:, (ratings != MISSING).any(axis=0)]
    if ratings.shape[1] != 2:
        return None
    one, other = ratings[(ratings != MISSING).all(axis=1)].T
    if not len(one):
        return None
    chance = sum(float((one == category).mean() * (other == category).mean()) for category in np.unique(ratings))
    return None if chance >= 1 else _Found(float((one == other).mean()), chance)


def _alpha(ratings: Codes) -> _Found | None:
    """Krippendorff's alpha of nominal categories, from coincidences (Krippendorff, 2011)."""
    counts = _counts(ratings)
    raters = counts.sum(axis=1)
    counts, raters = counts[raters >= 2], raters[raters >= 2]
    if not len(raters):
        return None
    totals = counts.sum(axis=0)
    number = int(totals.sum())
    expected = (number**2 - np.square(totals).sum()) / (number * (number - 1))
    if not expected:
        return None
    disagreed = ((raters[:, None] - counts) * counts / (raters - 1)[:, None]).sum() / number
    return _Found(float(1 - disagreed), float(1 - expected))


_FIGURES: dict[str, _Figure] = {
    "raw": _raw,
    "cohen": _cohen,
    "fleiss": _with_chance(lambda shares: float(np.square(shares).sum())),
    "ac1": _with_chance(lambda shares: float((shares * (1 - shares)).sum() / (len(shares) - 1))),
    "alpha": _alpha,
}
