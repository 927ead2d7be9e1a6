"""Power of facts before they are asked: the differences between two models that they can show.

It follows from the heads and tails of the facts and from what is usual of models; nothing has been answered yet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy import special

from medfact.facts import Fact
from medfact.metrics import codes
from medfact.metrics.clusters import Clusters
from medfact.metrics.uncertainty import LEVEL, has_too_few_clusters, prior_design_effect


def points_in_words(facts: Sequence[Fact], statements: int) -> str:
    """The smallest differences between two models that such facts find 4 times in 5, by score.

    statements: of each fact; of one alone, both scores are the same.
    """
    clusters = Clusters(codes([fact.head for fact in facts]), codes([fact.tail_key for fact in facts]))
    if has_too_few_clusters(clusters.heads):
        return "too few diseases for an interval"
    right = f"finds {_points(least_difference(expected_error(clusters, max(1, statements))))} points in right answers"
    mastery = f", {_points(least_mastery_difference(clusters))} in facts all right" if statements > 1 else ""
    return f"{right}{mastery}, 4 times in 5"


def _points(difference: float) -> str:
    """Points, with a decimal below 5: of 2.4 points 80 % are found, of 2 points 58 %."""
    return f"{100 * difference:.{int(difference < 0.0495)}f}"


POWER = 0.8
"""How often a difference should be found that is there."""

_RIGHT, _WITHIN_FACT, _BETWEEN_MODELS = 0.75, 0.3, 0.2
"""Of two usual models: the share of right answers, and how far they are alike within a fact, and between the models."""


def expected_error(clusters: Clusters, statements: int) -> float:
    """Standard error of the difference of two models' average accuracies. statements: of each fact.

    A fact's share of right answers has the variance a (1 − a) (1 / K + (1 − 1 / K) ρ) for K answers, alike by ρ.
    """
    return _error(clusters, _RIGHT * (1 - _RIGHT) * (1 / statements + (1 - 1 / statements) * _WITHIN_FACT))


def _error(clusters: Clusters, of_fact: float) -> float:
    """The difference of two models that are alike by r has 2 (1 − r) of a fact's variance, and the mean over the facts that
    times the usual design effect.
    """
    facts = len(clusters.heads)
    return math.sqrt(2 * (1 - _BETWEEN_MODELS) * of_fact * prior_design_effect(clusters, facts) / facts)


def power(difference: float, error: float) -> float:
    """Share of tests at 5 % with this standard error that find a difference of this size."""
    half_width = float(special.ndtri(0.5 + LEVEL / 2))
    return float(special.ndtr(abs(difference) / error - half_width) + special.ndtr(-abs(difference) / error - half_width))


def least_difference(error: float) -> float:
    """The smallest difference that is found 4 times in 5."""
    return error * float(special.ndtri(0.5 + LEVEL / 2) + special.ndtri(POWER))


def least_mastery_difference(clusters: Clusters) -> float:
    """The smallest difference of two models' joint accuracies that is found 4 times in 5, at worst: half of the facts are
    mastered. Half a fact is lost to the ties of a sign-flip test.
    """
    return least_difference(_error(clusters, 0.25)) + 0.5 / len(clusters.heads)
