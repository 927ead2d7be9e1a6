"""Intervals and paired differences: against definitions written out term by term, and by seeded simulations of how often
intervals hold the truth and tests raise a false alarm.
"""

import math
from collections.abc import Sequence
from itertools import pairwise, product

import clusters
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from records import two_way_variance
from scipy import stats

from medfact.metrics.clusters import (
    PRIOR,
    Clusters,
    IntraclassCorrelation,
    clustered_variance,
    effective_number,
    variance_by_tail,
)
from medfact.metrics.comparison import FLIPS, Contrast, holm, paired_difference
from medfact.metrics.uncertainty import (
    NOTHING,
    Estimate,
    has_too_few_clusters,
    intraclass_correlation,
    linear_interval,
    mean_interval,
    wilson,
)


def array(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)


def codes(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_one_cluster_has_no_variance() -> None:
    assert math.isnan(clustered_variance(array(1, 0, 1), codes(0, 0, 0)))


def test_the_factor_of_unequal_clusters_by_hand() -> None:
    # shares ½, ¼, ¼: Σ share² = 3/8, Σ share³ = 5/32; kept 3/8 − 10/32 + 9/64 = 13/64; factor 3/8 · 64/13 = 24/13, not 3/2
    values, heads = array(1, 1, 1, 0), codes(0, 0, 1, 2)
    # mean ¾; sums ½, ¼, −¾; squares (4 + 1 + 9) / 16 / 4² = 7/128
    assert clustered_variance(values, heads) == pytest.approx(7 / 128 * 24 / 13)
    assert effective_number(heads) == pytest.approx(8 / 3)


def test_a_clustered_variance_has_no_bias_however_unequal_the_clusters() -> None:
    randomness = np.random.default_rng(1)
    clusters = np.repeat(np.arange(6), [40, 20, 10, 5, 3, 2])
    effects = randomness.normal(0, 1, (4000, 6))
    means = [float(effect[clusters].mean()) for effect in effects]
    shown = [clustered_variance(effect[clusters], clusters) for effect in effects]
    assert np.mean(shown) == pytest.approx(np.var(means), rel=0.06)


def shared_tails(randomness: np.random.Generator, effect: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """400 values of 100 heads and eight unequal tails: noise, and what a tail adds to all that have it."""
    heads, tails = np.repeat(np.arange(100), 4), randomness.choice(8, 400, p=np.array([8, 4, 3, 2, 2, 1, 1, 1]) / 22)
    return randomness.normal(0, 1, 400) + randomness.normal(0, effect, 8)[tails], heads, tails


@pytest.mark.parametrize("effect", [0.0, 0.5])
def test_what_tails_add_has_no_bias(effect: float) -> None:
    randomness = np.random.default_rng(2)
    drawn = (shared_tails(randomness, effect) for _ in range(3000))
    made = [(float(values.mean()), two_way_variance(values, *of)) for values, *of in drawn]
    means, variances = zip(*made, strict=True)
    # what is below 0 counts as 0: so a little too much where tails have no effect
    assert 0.95 < np.mean(variances) / np.var(means) < 1.35


@pytest.mark.parametrize("seed", range(8))
def test_a_two_way_interval_is_that_of_plain_loops(seed: int) -> None:
    randomness = np.random.default_rng(seed)
    heads, tails = np.repeat(np.arange(12), 10), randomness.integers(0, 9, 120)
    values = (randomness.random(120) < 0.6).astype(float)
    half = clusters.half_width(values.tolist(), list(zip(map(str, heads), map(str, tails), strict=True)))
    assert linear_interval(values, Clusters(heads, tails)) == pytest.approx(
        (values.mean(), values.mean() - half, values.mean() + half, 120)
    )


def test_tails_that_are_worth_fewer_than_two_say_nothing_of_others() -> None:
    values, heads, tails = array(1, 1, 1, 1, 1, 0, 1, 0), codes(0, 1, 2, 3, 4, 5, 6, 7), codes(0, 0, 0, 0, 0, 0, 0, 1)
    assert two_way_variance(values, heads, tails) == clustered_variance(values, heads)


def test_an_interval_is_a_t_interval_of_the_clusters() -> None:
    values, heads = np.tile(array(1, 1, 1, 0), 6), np.repeat(np.arange(12), 2)
    # mean 3/4; sums ½ and −½, six each: 12 · ¼ / 24² · 12 / 11 = 1 / 176; t with 11 degrees of freedom = 2.2010
    half = 2.200985160082949 * math.sqrt(1 / 176)
    assert linear_interval(values, Clusters(heads, np.arange(24))) == pytest.approx((0.75, 0.75 - half, 0.75 + half, 24))


def test_where_few_clusters_say_nearly_all_there_are_fewer_degrees_of_freedom() -> None:
    values, heads = array(*([1] * 2 + [0] * 38)), np.arange(40)
    # deviations 0.95, twice, and −0.05: Σ e² = 1.9, Σ e⁴ = 1.62925
    # excess: 1.62925 / 3.61 − 1/40 = 0.42632; 2 / 0.42632 = 4.6913
    variance = 1.9 / 40**2 * 40 / 39
    half = stats.t.ppf(0.975, 4.6913) * math.sqrt(variance)
    assert linear_interval(values, Clusters(heads)).high == pytest.approx(0.05 + half, abs=1e-5)


def test_nothing_has_no_value_and_fewer_than_ten_heads_no_interval() -> None:
    empty = array(), Clusters(codes(), codes())
    assert linear_interval(*empty) == mean_interval(*empty) == NOTHING == Estimate(None, None, None, 0)
    nine = np.tile(array(1, 0, 1, 1), 9), Clusters(np.repeat(np.arange(9), 4), np.arange(36))
    for interval in (linear_interval, mean_interval):
        assert interval(*nine) == (0.75, None, None, 36)


@pytest.mark.parametrize("value", [0, 1])
def test_where_all_are_equal_the_usual_likeness_says_what_the_facts_are_worth(value: int) -> None:
    heads = np.repeat(np.arange(10), 8)
    estimate = mean_interval(np.full(80, float(value)), Clusters(heads, np.arange(80)))
    # eight facts a head: 1 + 7 · 0.06 = 1.42; 80 / 1.42 = 56.34 trials
    assert PRIOR == (0.06, 0.02)
    assert estimate == pytest.approx((value, *wilson(value, 56.338), 80), abs=1e-5)


def test_a_figure_near_0_borrows_the_likeness_that_others_show() -> None:
    heads = np.repeat(np.arange(10), 8)
    alike, none = Clusters(heads, np.arange(80), intraclass=IntraclassCorrelation(0.5, 0)), Clusters(heads, np.arange(80))
    # 1 + 7 · 0.5 = 4.5 against 1.42
    assert mean_interval(np.zeros(80), alike).high > 2 * mean_interval(np.zeros(80), none).high


@pytest.mark.parametrize(("heads", "facts"), [(50, 4), (200, 1), (20, 10)])
def test_bounds_grow_with_the_count(heads: int, facts: int) -> None:
    head, order = np.repeat(np.arange(heads), facts), np.random.default_rng(0).permutation(200)
    bounds = []
    for count in range(201):
        values = np.zeros(200)
        values[order[:count]] = 1
        bounds.append(mean_interval(values, Clusters(head, np.arange(200))))
    assert bounds[0].high < 0.033  # 0 of 200
    for less, more in pairwise(bounds):
        # in the middle an interval may shrink a little, since the heads happen to be more alike
        least = 0 if less.value < 0.1 else -5e-3
        assert more.low - less.low >= least
        assert more.high - less.high >= least


def test_likeness_is_what_facts_of_one_head_share() -> None:
    randomness = np.random.default_rng(3)
    heads = np.repeat(np.arange(400), 5)
    # effects of variance 1 of heads and 3 of facts: 1 / 4
    values = randomness.normal(0, 1, 400)[heads] + randomness.normal(0, 3**0.5, 2000)
    assert intraclass_correlation(values, Clusters(heads, np.arange(2000))).head == pytest.approx(0.25, abs=0.05)
    assert intraclass_correlation(np.zeros(2000), Clusters(heads, np.arange(2000))) == PRIOR
    assert intraclass_correlation(values[:30], Clusters(heads[:30], np.arange(30))) == PRIOR  # six heads


def test_a_share_of_independent_facts_is_near_wilsons_and_of_repeated_ones_wider() -> None:
    values = array(*([1] * 12 + [0] * 28))
    alone = mean_interval(values, Clusters(np.arange(40)))
    # the design effect is variance · n / (p (1 − p)) = 40 / 39, twelve times, and 1 once: 39.029 trials
    assert alone[:2] == pytest.approx((0.3, wilson(0.3, 39.03)[0]), abs=1e-3)
    in_fours = mean_interval(values, Clusters(np.arange(40) // 4))  # ten heads that stand or fall together
    # sums: three heads of 4 · 0.7, seven of −4 · 0.3; (3 · 7.84 + 7 · 1.44) / 1600 · 10 / 9 = 0.02333; · 40 / 0.21 = 4.444
    # three heads have a 1: (3 · 4.444 + 1 + 3 · 0.06) / 4 = 3.628, so 40 / 3.628 = 11.02 trials
    # degrees of freedom 9 · (1 + 1.18 / 13.333)² = 10.66: (2.0227 / 2.2096)² · 11.02 = 9.236
    assert in_fours == pytest.approx((0.3, *wilson(0.3, 9.236), 40), abs=1e-3)


def test_wilsons_interval_at_another_level_by_hand() -> None:
    # z = 2 at 2 Φ(2) − 1 = 95.45 %: half of 4 trials, (½ + 4/8) / (1 + 1) ± 2 / 2 · √(1/16 + 4/64) = ½ ± √(1/8)
    level = 2 * stats.norm.cdf(2) - 1
    assert wilson(0.5, 4, level) == pytest.approx((0.5 - math.sqrt(1 / 8), 0.5 + math.sqrt(1 / 8)))
    assert wilson(0.5, 4) == wilson(0.5, 4, 0.95)


def test_bounds_of_a_family_are_those_of_a_higher_level_by_hand() -> None:
    """Five means at once have 99 % intervals each (Bonferroni: 1 − 0.05 / 5), so the least one has the least bounds."""
    values = array(*([1] * 20 + [0] * 20))
    alone, in_family = (linear_interval(values, Clusters(np.arange(40)), level) for level in (0.95, 0.99))
    # variance ¼ / 39, with 39 degrees of freedom: t = 2.0227 and 2.7079
    assert alone == pytest.approx((0.5, 0.5 - 2.0227 / math.sqrt(156), 0.5 + 2.0227 / math.sqrt(156), 40), abs=1e-4)
    assert in_family == pytest.approx((0.5, 0.5 - 2.7079 / math.sqrt(156), 0.5 + 2.7079 / math.sqrt(156), 40), abs=1e-4)
    assert linear_interval(values, Clusters(np.arange(40))) == alone
    # as in the test of repeated facts: 11.02 trials before, and t at 39 and at 10.66 degrees of freedom, now of 99 %
    share = mean_interval(array(*([1] * 12 + [0] * 28)), Clusters(np.arange(40) // 4), 0.99)
    trials = 11.02 * (2.7079 / stats.t.ppf(0.995, 10.66)) ** 2
    assert share == pytest.approx((0.3, *wilson(0.3, trials, 0.99), 40), abs=1e-3)


def test_a_whole_finite_population_leaves_no_doubt_and_a_part_of_it_less() -> None:
    randomness = np.random.default_rng(5)
    values, units = (randomness.random(60) < 0.7).astype(float), np.arange(60)
    value = values.mean()
    for interval in (mean_interval, linear_interval):
        assert interval(values, Clusters(units, unseen=np.zeros(60))) == pytest.approx((value, value, value, 60))
    part, all_ = (mean_interval(values, Clusters(units, unseen=unseen)) for unseen in (np.full(60, 0.25), None))
    assert (part.high - part.low) / (all_.high - all_.low) == pytest.approx(0.5, abs=0.03)  # √0.25


def test_a_stratum_that_was_asked_whole_adds_no_doubt() -> None:
    # relation one: 20 of 20 asked; relation two: 20 of 40. Only the spread within the second counts, halved
    values, unseen = array(*([1, 0] * 20)), np.repeat([0.0, 0.5], 20)
    found = linear_interval(values, Clusters(np.arange(40), unseen=unseen))
    # Σ e² = 20 · ¼ · ½ = 2.5, / 40² · 40 / 39; half of the rows say it all, so fewer than 39 degrees of freedom
    variance = 2.5 / 1600 * 40 / 39
    assert (found.high - found.low) / 2 == pytest.approx(stats.t.ppf(0.975, 39) * math.sqrt(variance), rel=0.01)


def test_a_pair_stands_with_all_pairs_that_share_one_of_its_tails() -> None:
    randomness = np.random.default_rng(4)
    means, shown = [], []
    for _ in range(1500):
        heads, tails = np.arange(150), np.array([randomness.choice(15, 2, replace=False) for _ in range(150)])
        values = randomness.normal(0, 0.5, 15)[tails].sum(axis=1) + randomness.normal(0, 1, 150)
        means.append(values.mean())
        shown.append(two_way_variance(values, heads, tails))
    assert 0.85 < np.mean(shown) / np.var(means) < 1.2


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
        estimate = mean_interval(values, Clusters(heads, tails))
        hits += estimate.low <= 0.5 <= estimate.high  # by symmetry the truth is ½
        naive_hits += abs(estimate.value - 0.5) <= 1.96 * 0.5 / math.sqrt(len(values))
    assert 0.91 < hits / runs < 0.99
    assert naive_hits / runs < 0.75  # as if all statements were independent


# ------------------------------------------------------------------------- paired differences

HEADS_OF_DIFFERENCES = st.lists(st.lists(st.sampled_from([-1, 0, 0, 1]), min_size=1, max_size=5), min_size=2, max_size=8)
"""Of each head, the differences of its facts."""


def by_head(groups: Sequence[Sequence[float]]) -> tuple[np.ndarray, np.ndarray]:
    """Differences and their heads."""
    return array(*(d for group in groups for d in group)), codes(*(head for head, group in enumerate(groups) for _ in group))


def p_by_all_flips(groups: Sequence[Sequence[int]]) -> float:
    """Every head's differences with their signs as they are or turned, 2^heads ways: how many give as large a sum?"""
    sums = [sum(group) for group in groups]
    flipped = [abs(sum(sign * s for sign, s in zip(signs, sums, strict=True))) for signs in product((1, -1), repeat=len(sums))]
    return sum(f >= abs(sum(sums)) for f in flipped) / len(flipped)


def figures_of(contrast: Contrast) -> tuple[float | None, ...]:
    """Value, interval, p and n."""
    return contrast.value, contrast.low, contrast.high, contrast.p, contrast.n


def test_a_paired_difference_by_hand() -> None:
    # sums 2, 1, −1 of 2 + 2 + 1 units: 2 / 5. Flips: ±2 ± 1 ± 1 = 4, 2, 2, 0, 0, −2, −2, −4: six of eight are 2 or further
    made = paired_difference(*by_head([[1, 1], [1, 0], [-1]]))
    assert (made.value, made.p, made.n) == (pytest.approx(2 / 5), 6 / 8, 5)
    assert made.low is made.high is made.low_all is None  # three heads are too few to say


@given(HEADS_OF_DIFFERENCES)
@settings(max_examples=60)
def test_p_is_that_of_all_flips(groups: list[list[int]]) -> None:
    assert paired_difference(*by_head(groups)).p == p_by_all_flips(groups)


@pytest.mark.parametrize(
    "groups", [[[0.1, 0.2], [-0.3], [0.3]], [[0.1] * 3, [0.3], [-0.6]], [[0.7, 0.1], [0.8], [-0.8], [-0.8]]]
)
def test_sums_that_only_rounding_tells_apart_are_ties(groups: list[list[float]]) -> None:
    # 0.1 + 0.2 is more than 0.3, to a computer; by hand all flips reach 0.3 in the first case, and 0 in the others
    assert paired_difference(*by_head(groups)).p == 1


def test_with_many_heads_random_flips_come_near_all() -> None:
    for only_a, only_b in ((30, 20), (60, 40), (30, 30)):
        expected = stats.binomtest(only_a, only_a + only_b).pvalue
        made = paired_difference(array(*([1] * only_a + [-1] * only_b)), np.arange(only_a + only_b))
        assert made.p == pytest.approx(expected, abs=4 * 0.5 / math.sqrt(FLIPS))
    # sums of several sizes: 14 heads, all 2^14 flips counted out
    groups = [[1] * size for size in (1, 1, 1, 2, 2, 2, 2, 3, 3)] + [[-1] * size for size in (1, 1, 2, 2, 3)]
    assert paired_difference(*by_head(groups)).p == pytest.approx(p_by_all_flips(groups), abs=0.02)


def test_p_is_never_0() -> None:
    assert paired_difference(np.ones(500), np.arange(500)).p == 1 / (1 + FLIPS)


@pytest.mark.parametrize(
    ("count", "t", "share"),
    # t with count − 1 degrees of freedom, times √(count / (count − 1)), and the share of a normal distribution beyond it
    [(14, 2.160369, 0.01248), (30, 2.045230, 0.0188)],
)
def test_the_interval_is_a_bootstrap_that_draws_heads(count: int, t: float, share: float) -> None:
    randomness = np.random.default_rng(5)
    sizes = randomness.integers(5, 20, count)
    groups = [randomness.choice([-1, 0, 1], size, p=[0.25, 0.5, 0.25]) for size in sizes]
    drawn = []
    for _ in range(8000):
        chosen = randomness.integers(count, size=count)
        drawn.append(sum(groups[head].sum() for head in chosen) / sum(sizes[head] for head in chosen))
    tail = stats.norm.cdf(-t * math.sqrt(count / (count - 1)))
    made = paired_difference(*by_head(groups))
    assert tail == pytest.approx(share, abs=5e-5)
    assert (made.low, made.high) == pytest.approx(tuple(np.quantile(drawn, [tail, 1 - tail])), abs=0.012)
    assert made.high - made.low > 0.1


def test_no_difference_anywhere_is_no_certainty() -> None:
    made = paired_difference(np.zeros(80), np.repeat(np.arange(10), 8))
    # ten heads are the trials: 3.841 / (10 + 3.841) = 0.2775
    assert figures_of(made) == pytest.approx((0, -0.2775, 0.2775, 1, 80), abs=1e-4)


def test_where_all_heads_move_alike_the_interval_is_open_and_within_1() -> None:
    heads = np.repeat(np.arange(10), 8)
    assert figures_of(paired_difference(np.ones(80), heads)) == pytest.approx((1, 1 - 0.2775, 1, 2 / 2**10, 80), abs=1e-4)
    half = np.tile([1.0, 0.0], 40)
    assert figures_of(paired_difference(half, heads)) == pytest.approx((0.5, 0.2225, 0.7775, 2 / 2**10, 80), abs=1e-4)


def test_where_all_heads_that_differ_speak_for_one_run_the_other_may_still_be_the_better() -> None:
    # One head of 20 differs, in 2 of its 4 facts, and is not drawn at the low end: 2/80 down to 0. Unseen are up to
    # 3.841 / 23.841 of the heads, with half of their facts each: 0.0806. Together √(0.025² + 0.0806²) = 0.0843.
    made = paired_difference(*by_head([[1, 1, 0, 0], *[[0] * 4] * 19]))
    assert (made.value, made.p) == (2 / 80, 1)
    assert made.low == pytest.approx(0.025 - 0.0843, abs=1e-4)
    assert 2 / 80 < made.high < 5 * 2 / 80
    both_ways = paired_difference(*by_head([[1, 1, 0, 0], [-1, 0, 0, 0], *[[0] * 4] * 18]))
    assert both_ways.low > -4 / 80  # nothing to open


def test_the_interval_leaves_out_0_where_enough_heads_speak_for_one_run() -> None:
    for heads, is_shown in ((3, False), (5, False), (6, True), (8, True)):  # p = 2 / 2^heads: 0.25, 0.0625, 0.031, 0.008
        made = paired_difference(*by_head([*[[1, 0, 0, 0]] * heads, *[[0] * 4] * 30]))
        assert (made.p <= 0.05, made.low > 0) == (is_shown, is_shown)


def test_nothing_has_no_difference_and_one_head_no_interval() -> None:
    assert paired_difference(array(), codes()) == Contrast()
    assert paired_difference(array(1, 0, 1, -1), codes(3, 3, 3, 3)) == Contrast(value=0.25, n=4)


@given(
    st.lists(st.lists(st.sampled_from([-1, 0, 0, 1]), min_size=4, max_size=5), min_size=11, max_size=14),
    st.randoms(use_true_random=False),
)
@settings(max_examples=40)
def test_neither_order_nor_numbering_matters_and_the_other_way_round_is_the_mirror_image(groups: list, chance: object) -> None:
    differences, heads = by_head(groups)
    made = paired_difference(differences, heads)
    assert -1 <= made.low <= made.value <= made.high <= 1
    assert made.low < made.high
    assert 0 < made.p <= 1
    turn = chance.sample(range(len(heads)), len(heads))
    renumbered = np.array(chance.sample(range(20), len(groups)), dtype=np.int64)[heads]
    assert vars(paired_difference(differences[turn], renumbered[turn])) == pytest.approx(vars(made))
    assert vars(paired_difference(-differences, renumbered).turned()) == pytest.approx(vars(made))


def test_drawing_in_parts_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    randomness = np.random.default_rng(6)
    differences, heads = randomness.choice([-1.0, 0, 1], 300), randomness.integers(0, 40, 300)
    made = paired_difference(differences, heads)
    assert paired_difference(differences, heads) == made
    assert paired_difference(differences, heads, seed=1) != made
    monkeypatch.setattr("medfact.metrics.comparison.AT_ONCE", 1000)
    assert paired_difference(differences, heads) == made


def test_the_interval_of_many_statements() -> None:
    randomness = np.random.default_rng(7)
    differences, heads = randomness.choice([-1.0, 0, 1], 272_000), randomness.integers(0, 17_000, 272_000)
    made = paired_difference(differences, heads)
    # alone, a statement's variance is 2/3
    assert made.high - made.low == pytest.approx(2 * 1.96 * math.sqrt(2 / 3 / 272_000), rel=0.06)


def simulated_pairs(randomness: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two equally good runs on 60 heads of 8 facts: a head lies more to the one or to the other, in all its facts."""
    lean = randomness.normal(0, 1, 60)[:, None]
    a, b = (randomness.random((60, 8)) < 1 / (1 + np.exp(-side * lean)) for side in (1, -1))
    return (a.astype(float) - b).ravel(), np.repeat(np.arange(60), 8)


def test_false_alarms_are_as_rare_as_they_should_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medfact.metrics.comparison.FLIPS", 1000)
    monkeypatch.setattr("medfact.metrics.comparison.RESAMPLES", 1000)
    randomness = np.random.default_rng(9)
    runs, alarms, of_mcnemar, hits = 500, 0, 0, 0
    for _ in range(runs):
        differences, heads = simulated_pairs(randomness)
        made = paired_difference(differences, heads)
        alarms += made.p <= 0.05
        hits += made.low <= 0 <= made.high
        only_a, only_b = int((differences > 0).sum()), int((differences < 0).sum())
        of_mcnemar += stats.binomtest(only_a, only_a + only_b).pvalue <= 0.05
    assert 0.025 < alarms / runs < 0.075
    assert 0.92 < hits / runs < 0.98
    assert of_mcnemar / runs > 0.15  # every fact as a trial of its own


def simulated_models(randomness: np.random.Generator, of_tail: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Differences of two equally good models on 200 heads of 4 facts with 30 tails that follow Zipf.

    of_tail: the variance, on the probit scale, of what a model knows more or less about a tail than about others.
    """
    heads = np.repeat(np.arange(200), 4)
    frequency = 1 / np.arange(1, 31)
    tails = randomness.choice(30, 800, p=frequency / frequency.sum())
    ease = 0.5 + randomness.normal(0, 0.5, 200)[heads]
    a, b = (ease + randomness.normal(0, of_tail**0.5, 30)[tails] + randomness.normal(0, 1, 800) > 0 for _ in range(2))
    return a.astype(float) - b, heads, tails


@pytest.mark.parametrize("of_tail", [0, 0.1, 0.3])
def test_models_that_know_other_tails_raise_no_more_false_alarms(of_tail: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medfact.metrics.comparison.FLIPS", 1000)
    monkeypatch.setattr("medfact.metrics.comparison.RESAMPLES", 500)
    randomness, runs = np.random.default_rng(11), 300
    alarms = misses = by_head_alone = 0
    for _ in range(runs):
        differences, heads, tails = simulated_models(randomness, of_tail)
        made = paired_difference(differences, heads, tails)
        alarms += made.p <= 0.05
        misses += not made.low <= 0 <= made.high
        by_head_alone += paired_difference(differences, heads).p <= 0.05
    # 5 % of 300 are 15, give or take twice 3.8
    assert 5 <= alarms <= 27
    assert 5 <= misses <= 27
    assert by_head_alone > {0: 5, 0.1: 60, 0.3: 120}[of_tail]


def test_what_shared_tails_add_widens_the_interval_and_raises_p_by_hand() -> None:
    # ten heads of two facts; the one tail is for a, the other against: heads say nothing but 0, tails disagree wholly
    differences, heads, tails = np.tile(array(1, -1), 10), np.repeat(np.arange(10), 2), np.tile(codes(0, 1), 10)
    made = paired_difference(differences, heads, tails)
    assert made.value == 0
    # tails: sums 10 and −10, squares 200 / 400 = ½; within: 20 / 400 = 1/20; Σ share² = ½, Σ share³ = ¼, kept ½ − ½ + ¼ = ¼
    # added (½ − ½ · 1/20) · (½ − 1/20) / (¼ − ½ · 1/20) = 0.475 · 0.45 / 0.225 = 0.95, far beyond ±1 with 1 degree
    assert variance_by_tail(differences, heads, tails) == pytest.approx(0.95)
    assert (made.low, made.high, made.p) == (-1, 1, 1)


# ------------------------------------------------------------------------- several comparisons


@pytest.mark.parametrize("family", [1, 3, 12])
def test_an_interval_leaves_out_zero_only_where_p_does(family: int) -> None:
    """Whatever the differences are: what is called shown by the printed interval has a p below 0.05 by the number of
    comparisons, and the interval for all of them holds that of one.
    """
    shown = 0
    for seed in range(60):
        draw = np.random.default_rng(seed)
        heads = np.repeat(np.arange(24), 2)
        differences = draw.choice([-1.0, 0.0, 1.0], 48, p=[0.1, 0.5, 0.4])
        found = paired_difference(differences, heads, draw.integers(0, 12, 48), family=family)
        assert found.low_all <= found.low <= found.high <= found.high_all
        if found.low_all > 0 or found.high_all < 0:
            shown += 1
            assert found.p < 0.05 / family
    assert 5 < shown < 60


@given(st.lists(st.none() | st.integers(1, 40).map(lambda p: p / 40), max_size=8))
def test_holm_rejects_what_his_procedure_rejects(ps: list[float | None]) -> None:
    """From the smallest on, reject while the k-th of m is at most level / (m − k + 1); at the first that is not, stop."""
    adjusted = holm(ps)
    known = sorted(p for p in ps if p is not None)
    for level in (0.013, 0.052, 0.11, 0.31, 0.77):
        rejected = 0
        while rejected < len(known) and known[rejected] <= level / (len(known) - rejected):
            rejected += 1
        assert sum(p is not None and p <= level for p in adjusted) == rejected
    assert [p is None for p in adjusted] == [p is None for p in ps]
    assert all(p is None or p <= q <= 1 for p, q in zip(ps, adjusted, strict=True))


def test_unequal_heads_that_are_worth_fewer_than_ten_get_no_interval() -> None:
    # 12 heads, one of 11 facts and eleven of 4: shares 11/55 and 4/55; worth 1 / (0.0400 + 11 · 0.0053) = 10.2
    # with 12 facts instead of 11: shares 12/56 and 4/56; worth 1 / (0.0459 + 11 · 0.0051) = 9.8
    # 10 heads, one of 9 facts and nine of 8: shares 9/81 and 8/81; worth 1 / (0.0123 + 9 · 0.0098) = 9.99, as good as ten
    enough, few = (np.repeat(np.arange(12), [largest, *[4] * 11]) for largest in (11, 12))
    nearly = np.repeat(np.arange(10), [9, *[8] * 9])
    assert [effective_number(heads) for heads in (enough, few, nearly)] == pytest.approx([10.19, 9.8, 9.99], abs=0.01)
    assert [has_too_few_clusters(heads) for heads in (enough, few, nearly, codes(*range(10)), codes(*range(9)), codes())] == [
        False,
        True,
        False,
        False,
        True,
        True,
    ]
    assert mean_interval(few % 2.0, Clusters(few)).low is None
    assert mean_interval(enough % 2.0, Clusters(enough)).low is not None
