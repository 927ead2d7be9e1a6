"""What facts can show, by hand and against simulated models that are as usual as the prediction takes them to be."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import optimize, stats

from medfact.facts import Fact
from medfact.metrics.clusters import Clusters
from medfact.metrics.comparison import paired_difference
from medfact.results.power import (
    describe_power,
    expected_error,
    least_difference,
    least_mastery_difference,
    power,
)


def test_expected_error_by_hand() -> None:
    """One fact a head, eight statements: 2 · 0.8 · (3/16) · (1/8 + 7/8 · 0.3) / 400 = 0.3 · 0.3875 / 400."""
    error = expected_error(Clusters(np.arange(400), np.arange(400)), 8)
    assert error == pytest.approx(math.sqrt(0.3 * 0.3875 / 400))
    assert least_difference(error) == pytest.approx((1.959964 + 0.841621) * error, rel=1e-5)
    assert power(least_difference(error), error) == pytest.approx(0.8, abs=1e-4)
    assert power(0, error) == pytest.approx(0.05)


def answers(randomness: np.random.Generator, bounds: Sequence[float], facts: int) -> np.ndarray:
    """Of two models which of eight answers to each fact are right, two facts a head, alike within a fact, a head and between
    models: models × facts × 8.

    On the probit scale; a model's answers are right where a sum of normal effects is below its bound.
    """
    head = np.repeat(np.arange(facts // 2), 2)
    of_head, both, own = (
        randomness.normal(0, 1, (2, facts // 2)),
        randomness.normal(0, 1, facts),
        randomness.normal(0, 1, (2, facts)),
    )
    noise = randomness.normal(0, 1, (2, facts, 8))
    parts = {"head": 0.05, "both": 0.14, "own": 0.28}
    total = (math.sqrt(parts["head"]) * of_head[:, head] + math.sqrt(parts["both"]) * both + math.sqrt(parts["own"]) * own)[
        :, :, None
    ] + math.sqrt(1 - sum(parts.values())) * noise
    return np.asarray(total < np.array(bounds)[:, None, None])


def test_in_words_they_are_points() -> None:
    """100 heads of two facts find smaller differences than 60; 18 facts of 9 heads are too few for an interval."""
    facts = [Fact(f"head {n // 2}", "symptoms", f"sign {n}") for n in range(200)]
    error = expected_error(Clusters(np.arange(200) // 2, np.arange(200)), 8)
    found = 100 * least_difference(error), 100 * least_mastery_difference(Clusters(np.arange(200) // 2))
    said = "finds {:.0f} points in right answers, {:.0f} in facts all right, 4 times in 5".format(*found)
    assert describe_power(facts, 8) == said
    assert describe_power(facts[:18], 8) == "too few diseases for an interval"
    # of one statement a fact, right answers are facts all right
    assert describe_power(facts, 1).count("points") == 1
    pairs = [Fact(f"head {n // 2}", "symptoms", f"sign {n}") for n in range(120)]
    assert describe_power(pairs, 8) == "finds 9 points in right answers, 17 in facts all right, 4 times in 5"
    # 20 times as many facts: a whole point would be a quarter too much or too little
    pairs = [Fact(f"head {n // 2}", "symptoms", f"sign {n}") for n in range(2400)]
    assert describe_power(pairs, 8) == "finds 2.0 points in right answers, 3.7 in facts all right, 4 times in 5"


def test_the_named_differences_of_sixty_pairs_are_found_four_times_in_five() -> None:
    """300 seeds of 60 heads with two facts each: 75 to 85 % find 9 points more right answers, and 17 more facts all right.

    Models with 75 % right answers have a third of the facts all right: on the probit scale a fact's eight answers are right
    below a bound c with the chance ∫ Φ((c − √.47 z) / √.53)⁸ φ(z) dz.
    """
    points, weights = np.polynomial.hermite_e.hermegauss(80)

    def mastered(bound: float) -> float:
        whole = stats.norm.cdf((bound - math.sqrt(0.47) * points) / math.sqrt(0.53)) ** 8
        return float((whole * weights).sum() / weights.sum())

    clusters, third = Clusters(np.repeat(np.arange(60), 2), np.arange(120)), mastered(stats.norm.ppf(0.75))
    right, mastery = least_difference(expected_error(clusters, 8)), least_mastery_difference(clusters)
    of_right = stats.norm.ppf([0.75 + right / 2, 0.75 - right / 2])
    of_mastery = [
        optimize.brentq(lambda bound, to=to: mastered(bound) - third - to, -3, 4) for to in (mastery / 2, -mastery / 2)
    ]
    found = np.zeros(2)
    for seed in range(300):
        a, b = answers(np.random.default_rng(seed), of_right, 120).mean(axis=2)
        found[0] += stats.ttest_1samp((a - b).reshape(60, 2).sum(axis=1), 0).pvalue <= 0.05
        a, b = answers(np.random.default_rng(seed), of_mastery, 120).all(axis=2).astype(float)
        p = paired_difference(a - b, clusters.heads).p
        found[1] += p is not None and p <= 0.05
    assert ((found / 300 >= 0.75) & (found / 300 <= 0.85)).all()
