"""Power of facts before they are asked: the differences between two models that they can show.

It follows from the heads and tails of the facts and from the usual accuracy of models.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy import special

from medfact.facts import Fact
from medfact.metrics import codes
from medfact.metrics.clusters import Clusters
from medfact.metrics.uncertainty import LEVEL, has_too_few_clusters, prior_design_effect
from medfact.words import say

POWER = 0.8  # probability of finding a difference

_RIGHT, _WITHIN_FACT, _BETWEEN_MODELS = 0.75, 0.3, 0.2  # usual share of right answers, and usual correlations


def describe_power(facts: Sequence[Fact], statements: int) -> str:
    """States the smallest differences between two models that these facts find 4 times in 5, by score.

    statements: of each fact; with one, both scores are the same.
    """
    clusters = Clusters(codes([fact.head for fact in facts]), codes([fact.tail_key for fact in facts]))
    if has_too_few_clusters(clusters.heads):
        return say("power.too_few")
    differences = least_difference(expected_error(clusters, max(1, statements))), least_mastery_difference(clusters)
    # with a decimal below 5: of 2.4 points 80 % are found, of 2 points 58 %
    right, mastery = (f"{100 * difference:.{int(difference < 0.0495)}f}" for difference in differences)
    return say("power.scores" if statements > 1 else "power.score", right=right, mastery=mastery)


def expected_error(clusters: Clusters, statements: int) -> float:
    """Standard error of the difference of two models' average accuracies. statements: of each fact.

    A fact's share of right answers has the variance a (1 − a) (1 / K + (1 − 1 / K) ρ) for K answers, alike by ρ.
    """
    return _error(clusters, _RIGHT * (1 - _RIGHT) * (1 / statements + (1 - 1 / statements) * _WITHIN_FACT))


def _error(clusters: Clusters, fact_variance: float) -> float:
    """Standard error of a mean difference over facts, with the usual design effect.

    The difference of two models correlated by r has 2 (1 − r) times a fact's variance.
    """
    facts = len(clusters.heads)
    return math.sqrt(2 * (1 - _BETWEEN_MODELS) * fact_variance * prior_design_effect(clusters, facts) / facts)


def power(difference: float, error: float) -> float:
    """Probability that a test at 5 % with this standard error finds a difference of this size."""
    half_width = float(special.ndtri(0.5 + LEVEL / 2))
    return float(special.ndtr(abs(difference) / error - half_width) + special.ndtr(-abs(difference) / error - half_width))


def least_difference(error: float) -> float:
    """Smallest difference that is found 4 times in 5."""
    return error * float(special.ndtri(0.5 + LEVEL / 2) + special.ndtri(POWER))


def least_mastery_difference(clusters: Clusters) -> float:
    """Smallest difference of two joint accuracies that is found 4 times in 5, at worst: if half of the facts are mastered.

    Half a fact is lost to the ties of a sign-flip test.
    """
    return least_difference(_error(clusters, 0.25)) + 0.5 / len(clusters.heads)
