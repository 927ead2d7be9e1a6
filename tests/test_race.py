"""The race of two models: its bounds against brute force, and how often it is wrong, however often one looks."""

import math
from dataclasses import replace

import numpy as np
import pytest
from test_metrics import RIGHT, records_of

from medfact.metrics import PENDING
from medfact.metrics.paired import raced
from medfact.metrics.race import confidence_sequence, race


def bounds_by_brute_force(values: list[float], population: int, error: float) -> tuple[float, float]:
    """The candidates that neither gambler has grown rich against, one candidate and one value at a time."""
    kept = []
    for place in range(801):
        mean, alive, more, less = place / 800, True, 1.0, 1.0
        total = squares = 0.0
        for t, x in enumerate(values):
            left = (population * mean - total) / (population - t)
            if not -1e-9 <= left <= 1 + 1e-9:
                alive = False
                break
            left = min(max(left, 1e-9), 1 - 1e-9)
            guess, variance = (0.5 + total) / (t + 1), (0.25 + squares) / (t + 1)
            bet = (guess - left) / (variance + (guess - left) ** 2)
            more *= 1 + min(max(bet, 0), 0.75 / left) * (x - left)
            less *= 1 - min(max(-bet, 0), 0.75 / (1 - left)) * (x - left)
            alive = alive and more < 2 / error and less < 2 / error
            after = (0.5 + total + x) / (t + 2)
            total, squares = total + x, squares + (x - after) ** 2
        if alive:
            kept.append(mean)
    return kept[0], kept[-1]


@pytest.mark.parametrize("seed", range(4))
def test_the_bounds_are_those_of_plain_loops(seed: int) -> None:
    values = np.random.default_rng(seed).beta(3, 2, 40)
    low, high = confidence_sequence(values, 60, 0.05)
    below, above = bounds_by_brute_force(values.tolist(), 60, 0.05)
    # a step of the grid wider on either side, since the truth may lie between two candidates
    assert low[-1] == pytest.approx(below - 1 / 800, abs=1e-9)
    assert high[-1] == pytest.approx(above + 1 / 800, abs=1e-9)


def test_a_whole_population_leaves_nothing_open() -> None:
    values = np.random.default_rng(1).integers(0, 2, 50).astype(float)
    low, high = confidence_sequence(values, 50, 0.05)
    assert high[-1] - low[-1] < 0.05
    assert low[-1] <= values.mean() <= high[-1]
    assert np.all(np.diff(low) >= 0)
    assert np.all(np.diff(high) <= 0)


def test_the_mean_is_left_out_at_any_time_in_a_twentieth_of_cases_at_most() -> None:
    wrong = 0
    for seed in range(200):
        randomness = np.random.default_rng(seed)
        values = (randomness.permutation(100) < 30).astype(float)
        low, high = confidence_sequence(values, 100, 0.05)
        wrong += bool((low > 0.3).any() or (high < 0.3).any())
    # with a chance of 5 % there are 17 or more in one case of 40
    assert wrong < 17


def models(seed: int, heads: int, difference: float, effect: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Differences of two models in the share of right answers to four facts a head, and heads' places, and tails."""
    randomness = np.random.default_rng(seed)
    facts = 4 * heads
    head = randomness.permutation(heads)[np.repeat(np.arange(heads), 4)]
    weights = 1 / np.arange(1, 31)
    tail = randomness.choice(30, facts, p=weights / weights.sum())
    likes = randomness.normal(0, effect, (2, 30))
    chance = 1 / (1 + np.exp(-(np.array([[1.2], [1.2]]) + likes[:, tail])))
    chance[1] -= difference
    right = randomness.binomial(8, chance) / 8
    return right[0] - right[1], head, tail


@pytest.mark.parametrize("effect", [0.0, 0.5])
def test_equal_models_are_told_apart_in_a_twentieth_of_cases_at_most(effect: float) -> None:
    claimed = 0
    for seed in range(100):
        differences, head, tail = models(seed, 60, 0.0, effect)
        claimed += race(differences, head, np.full(60, 4), 60, tail).decided_at is not None
    assert claimed <= 10


def test_a_clear_difference_ends_the_race_early() -> None:
    made = [race(d, head, np.full(125, 4), 125, tail) for d, head, tail in (models(seed, 125, 0.1) for seed in range(20))]
    assert all(one.decided_at is not None and one.low > 0 for one in made)
    assert np.mean([one.decided_at or 0 for one in made]) < 125 * 2 / 3
    # after two heads it is not decided, and how many more it takes is told
    differences, head, tail = models(0, 125, 0.1)
    early = head < 2
    start = race(differences[early], head[early], np.full(125, 4), 2, tail[early])
    assert start.decided_at is None
    assert (start.heads, start.of) == (2, 125)


def test_what_was_said_once_is_said_ever_after() -> None:
    """However often one looks: at every head, the race is decided where it was the first time, or not yet."""
    decided = 0
    for seed in range(6):
        differences, head, tail = models(seed, 60, 0.09, 0.3)
        said = None
        for counted in range(1, 61):
            rows = head < counted
            now = race(differences[rows], head[rows], np.full(60, 4), counted, tail[rows]).decided_at
            assert said in (None, now)
            assert now in (None, said, counted)
            said = now
        decided += said is not None
    assert decided >= 3


@pytest.mark.parametrize("spread", [0.25, 0.02])
def test_what_is_guessed_of_the_spread_before_makes_no_bounds_wrong(spread: float) -> None:
    wrong = 0
    for seed in range(200):
        values = np.random.default_rng(seed).beta(4, 4, 80)
        low, high = confidence_sequence(values, 80, 0.05, spread)
        wrong += bool((low > values.mean()).any() or (high < values.mean()).any())
    # with a chance of 5 % there are 17 or more in one case of 40
    assert wrong < 17


def test_a_head_counts_once_all_before_it_are_complete() -> None:
    """12 heads with a fact each. The order hangs on the facts' numbers: head i has the number 100 − i, so head 11 is first."""
    rows = [(f"f{i:02}", f"h{i:02}", f"t{i:02}", RIGHT) for i in range(12)]
    ours = records_of(*rows)
    wrong = records_of(*[(*row[:3], "FFFFTTTT") for row in rows])
    identity = 100 - ours.fact
    whole = raced(ours, wrong, identity, identity)
    assert whole is not None
    assert (whole.heads, whole.of, whole.value) == (12, 12, 1.0)
    answer = wrong.answer.copy()
    answer[np.flatnonzero(wrong.fact == 9)[3]] = PENDING
    part = raced(ours, replace(wrong, answer=answer), identity, identity)
    assert part is not None
    assert part.heads == 2, "heads 11 and 10 count; 9 is not complete, nor is any after it counted"
    assert raced(ours, wrong, identity, identity + 1000) is None


def test_nothing_answered_has_no_value() -> None:
    made = race(np.zeros(0), np.zeros(0, dtype=np.int64), np.full(20, 8), 0)
    assert (made.value, made.low, made.high, made.heads, made.decided_at) == (None, -1.0, 1.0, 0, None)
    assert math.isfinite(made.low)
