"""Inter-rater agreement for nominal categories: raw, Cohen's and Fleiss' kappa, Gwet's AC1 and Krippendorff's alpha.

Labels are skewed: nearly all verdicts confirm them. Then kappa is small even if agreement is high (Feinstein & Cicchetti,
1990), so AC1 (Gwet, 2008) stands beside it. Intervals are a jackknife over clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from medfact.metrics.clusters import Codes, effective_number
from medfact.metrics.uncertainty import NOTHING, Estimate, t_quantile, wilson
from medfact.words import say

MISSING = -1  # in a table of ratings: the rater did not judge the item
NAMES = ("raw", "cohen", "fleiss", "ac1", "alpha")


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
    clusters = np.arange(len(ratings)) if clusters is None else clusters
    judged = ratings != MISSING
    pairable, raters = judged.sum(axis=1) >= 2, int(judged.any(axis=0).sum())
    names, labels = np.unique(clusters[pairable]), clusters[pairable]
    defined = _coefficients(ratings) if len(names) else {}
    left_out = [_coefficients(ratings[clusters != name]) for name in names] if len(names) > 1 else []
    estimates, why_not = dict.fromkeys(NAMES, NOTHING), {}
    for name in NAMES:
        if name in defined:
            estimates[name] = _estimate(
                *defined[name], [pair[name] for pair in left_out if name in pair], len(left_out), labels
            )
        else:
            two_raters = name != "cohen" or raters == 2
            reason = "one_rater" if not len(names) else "one_category" if two_raters else "not_two_raters"
            why_not[name] = say(f"agreement.{reason}")
    return Agreement(int(pairable.sum()), raters, **estimates, why_not=why_not)


def _beyond_chance(observed: float, chance: float) -> float:
    return (observed - chance) / (1 - chance)


def _estimate(
    observed: float, chance: float, left_out: Sequence[tuple[float, float]], clusters: int, labels: Codes
) -> Estimate:
    """Coefficient with a jackknife interval, or Wilson's if nothing varies; no interval if it is not always defined.

    left_out: the same without each cluster. labels: clusters of the items with two raters.
    """
    value, n, m = _beyond_chance(observed, chance), len(labels), len(left_out)
    if m < 2 or m < clusters:
        return Estimate(value, None, None, n)
    values = np.array([_beyond_chance(*pair) for pair in left_out])
    half_width = t_quantile(m - 1) * float(np.sqrt((m - 1) / m * np.square(values - values.mean()).sum()))
    low, high = value - half_width, value + half_width
    if half_width <= 1e-9:  # nothing varies, which makes nothing certain
        low, high = (_beyond_chance(end, chance) for end in wilson(observed, min(n, effective_number(labels))))
    return Estimate(value, max(-1.0, low), min(1.0, high), n)


def _coefficients(ratings: Codes) -> dict[str, tuple[float, float]]:
    """Observed agreement and that by chance, of each coefficient that is defined.

    raw: mean over items of the share of their pairs of raters that agree (Fleiss, 1971). fleiss, ac1: shares of categories are
    over all judged items, as in Gwet (2014). alpha: of nominal categories, from coincidences (Krippendorff, 2011).
    """
    categories = np.unique(ratings[ratings != MISSING])
    counts = (ratings[:, :, None] == categories).sum(axis=1)
    raters = counts.sum(axis=1)
    shares = (counts[raters > 0] / raters[raters > 0, None]).mean(axis=0)
    counts, raters = counts[raters >= 2], raters[raters >= 2]
    pairs = _cohen(ratings)
    if not len(raters):
        return pairs
    raw = float(((counts * (counts - 1)).sum(axis=1) / (raters * (raters - 1))).mean())
    pairs["raw"] = raw, 0.0
    if len(categories) > 1:
        pairs["fleiss"] = raw, float(np.square(shares).sum())
        pairs["ac1"] = raw, float((shares * (1 - shares)).sum() / (len(shares) - 1))
    n, squares = int(counts.sum()), np.square(counts.sum(axis=0)).sum()
    if expected := (n**2 - squares) / (n * (n - 1)):
        disagreement = ((raters[:, None] - counts) * counts / (raters - 1)[:, None]).sum() / n
        pairs["alpha"] = float(1 - disagreement), float(1 - expected)
    return pairs


def _cohen(ratings: Codes) -> dict[str, tuple[float, float]]:
    """Two raters, over the items that both judged (Cohen, 1960)."""
    ratings = ratings[:, (ratings != MISSING).any(axis=0)]
    pairs = ratings[(ratings != MISSING).all(axis=1)]
    if ratings.shape[1] != 2 or not len(pairs):
        return {}
    first, second = pairs.T
    chance = sum(float((first == category).mean() * (second == category).mean()) for category in np.unique(ratings))
    return {"cohen": (float((first == second).mean()), chance)} if chance < 1 else {}
