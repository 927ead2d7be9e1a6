"""Intervals: against definitions written out term by term, and by a seeded simulation of how often they hold the truth."""

import math

import numpy as np
import pytest
from scipy import stats

from medfact.uncertainty import (
    NOTHING,
    Estimate,
    clustered_variance,
    expected_half_width,
    linear_interval,
    mean_interval,
    share_interval,
    two_way_variance,
    wilson,
)


def array(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)


def codes(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def pairwise_variance(values: np.ndarray, same: np.ndarray) -> float:
    """Σ over pairs (i, j) of one cluster of e_i · e_j / n²: the clustered variance before the small-sample factor."""
    errors = values - values.mean()
    return (
        float(sum(errors[i] * errors[j] for i in range(len(values)) for j in range(len(values)) if same[i, j]))
        / len(values) ** 2
    )


def test_wilson_is_scipys() -> None:
    for right, n in ((0, 10), (3, 10), (5, 10), (10, 10), (61, 100)):
        expected = stats.binomtest(right, n).proportion_ci(method="wilson")
        assert wilson(right / n, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_wilson_of_none_wrong_of_60_still_allows_6_per_cent() -> None:
    low, high = wilson(0, 60)
    assert low == 0
    assert high == pytest.approx(0.0602, abs=5e-4)  # z² / (n + z²) = 3.841 / 63.841


def test_a_variance_clustered_by_head_by_hand() -> None:
    # mean 1/2; errors +½ +½ | −½ −½ | +½ −½; sums 1, −1, 0; (1 + 1 + 0) / 6² · 3 / 2 = 1/12
    values, heads = array(1, 1, 0, 0, 1, 0), codes(0, 0, 1, 1, 2, 2)
    assert clustered_variance(values, heads) == pytest.approx(1 / 12)


def test_a_variance_with_one_row_per_cluster_is_the_textbooks() -> None:
    values = array(1, 0, 1, 1, 0)
    assert clustered_variance(values, codes(0, 1, 2, 3, 4)) == pytest.approx(values.var(ddof=1) / 5)


def test_one_cluster_has_no_variance() -> None:
    assert math.isnan(clustered_variance(array(1, 0, 1), codes(0, 0, 0)))


@pytest.mark.parametrize("seed", range(8))
def test_a_two_way_variance_is_by_head_plus_by_tail_less_by_both(seed: int) -> None:
    randomness = np.random.default_rng(seed)
    heads, tails = randomness.integers(0, 6, 40), randomness.integers(0, 5, 40)
    values = (randomness.random(40) < 0.6).astype(float)
    same_head, same_tail = heads[:, None] == heads, tails[:, None] == tails

    def with_factor(same: np.ndarray) -> float:
        clusters = len(np.unique(same, axis=0))
        return pairwise_variance(values, same) * clusters / (clusters - 1)

    by_head = with_factor(same_head)
    expected = max(by_head + with_factor(same_tail) - with_factor(same_head & same_tail), by_head)
    assert two_way_variance(values, heads, tails) == pytest.approx(expected)


def test_an_interval_is_a_t_interval_of_the_fewer_clusters() -> None:
    values, heads, tails = array(1, 1, 0, 0, 1, 0), codes(0, 0, 1, 1, 2, 2), codes(0, 1, 2, 3, 4, 5)
    # by head 1/12 (above); by tail and by both are the same, and cancel; 3 heads: t with 2 degrees = 4.3027
    half = 4.302652729749464 * math.sqrt(1 / 12)
    assert linear_interval(values, heads, tails) == pytest.approx((0.5, 0.5 - half, 0.5 + half, 6))
    assert mean_interval(values, heads, tails) == pytest.approx((0.5, 0, 1, 6))  # kept within 0 and 1


def test_nothing_has_no_value_and_one_head_no_interval() -> None:
    empty = array(), codes(), codes()
    assert (
        linear_interval(*empty) == mean_interval(*empty) == share_interval(*empty) == NOTHING == Estimate(None, None, None, 0)
    )
    one_head = array(1, 0, 1, 1), codes(0, 0, 0, 0), codes(0, 1, 2, 3)
    for interval in (linear_interval, mean_interval, share_interval):
        assert interval(*one_head) == (0.75, None, None, 4)


@pytest.mark.parametrize("interval", [mean_interval, share_interval])
@pytest.mark.parametrize("value", [0, 1])
def test_where_all_are_equal_heads_are_the_trials(interval: object, value: int) -> None:
    heads = np.repeat(np.arange(10), 8)
    estimate = interval(np.full(80, float(value)), heads, np.arange(80))
    assert estimate == pytest.approx((value, *wilson(value, 10), 80))
    assert estimate.high - estimate.low > 0.2  # 80 independent trials would give 0.05


def test_a_share_of_independent_facts_is_near_wilsons_and_of_repeated_ones_wider() -> None:
    values = array(*([1] * 12 + [0] * 28))
    alone = share_interval(values, np.arange(40), np.arange(40))
    # p (1 − p) / variance = n − 1 = 39 trials
    assert alone == pytest.approx((0.3, *wilson(0.3, 39), 40))
    in_fours = share_interval(values, np.arange(40) // 4, np.arange(40))  # ten heads that stand or fall together
    # sums: three heads of 4 · 0.7, seven of −4 · 0.3; (3 · 7.84 + 7 · 1.44) / 1600 · 10 / 9 = 0.02333; 0.21 / 0.02333 = 9
    assert in_fours == pytest.approx((0.3, *wilson(0.3, 9), 40))


def test_expected_half_width() -> None:
    # 100 positive and 100 negative facts, 8 statements each: 1.96 · 1.57 · 0.5 / √1600 = 0.0385
    assert expected_half_width(100) == pytest.approx(0.0385, abs=1e-4)
    assert expected_half_width(400) == pytest.approx(expected_half_width(100) / 2)


def simulated(randomness: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """40 heads of 2 facts of 8 statements, 15 tails shared; a head's, a tail's and a fact's ease move its statements."""
    fact = np.repeat(np.arange(80), 8)
    heads, tails = fact // 2, randomness.integers(0, 15, 80)[fact]
    ease = randomness.normal(0, 0.7, 40)[heads] + randomness.normal(0, 0.5, 15)[tails] + randomness.normal(0, 0.7, 80)[fact]
    return (randomness.random(640) < 1 / (1 + np.exp(-ease))).astype(float), heads, tails


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    randomness = np.random.default_rng(7)
    hits = naive_hits = 0
    runs = 400
    for _ in range(runs):
        values, heads, tails = simulated(randomness)
        estimate = mean_interval(values, heads, tails)
        hits += estimate.low <= 0.5 <= estimate.high  # by symmetry the truth is ½
        naive_hits += abs(estimate.value - 0.5) <= 1.96 * 0.5 / math.sqrt(len(values))
    assert 0.91 < hits / runs < 0.99
    assert naive_hits / runs < 0.75  # as if all statements were independent


def test_joint_shares_hold_the_truth_as_often_as_they_say() -> None:
    randomness = np.random.default_rng(8)
    hits = 0
    for _ in range(400):
        ease = np.repeat(randomness.beta(1, 4, 50), 3)  # 50 heads of 3 facts; the mean of a beta(1, 4) is 0.2
        estimate = share_interval((randomness.random(150) < ease).astype(float), np.repeat(np.arange(50), 3), np.arange(150))
        hits += estimate.low <= 0.2 <= estimate.high
    assert 0.91 < hits / 400 < 0.99
