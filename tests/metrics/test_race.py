"""The race of two models: how often it is wrong, however often one looks."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from records import RIGHT, make_records

from medfact.metrics import FAILED, PENDING
from medfact.metrics.averages import FEWEST_FACTS
from medfact.metrics.comparison import SIGNIFICANT, RunRecords
from medfact.metrics.probability import BINS
from medfact.metrics.race import NEXT_LOOK, SURER, Differences, Race, band, confidence_sequence, order_of, race, raced
from medfact.runs.racing import LEAST_ELSEWHERE, LEAST_HERE


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


def race_of(differences: np.ndarray, head: np.ndarray, heads: int, counted: int, tail: np.ndarray) -> Race:
    """The race over heads of four facts each."""
    return race(Differences(differences, differences, head, np.full(heads, 4), counted, tail))


@pytest.mark.parametrize("effect", [0.0, 0.5])
def test_equal_models_are_told_apart_in_a_twentieth_of_cases_at_most(effect: float) -> None:
    claimed = 0
    for seed in range(100):
        differences, head, tail = models(seed, 60, 0.0, effect)
        claimed += race_of(differences, head, 60, 60, tail).decided_at is not None
    assert claimed <= 10


def test_a_clear_difference_ends_the_race_early() -> None:
    made = [race_of(d, head, 125, 125, tail) for d, head, tail in (models(seed, 125, 0.1) for seed in range(20))]
    assert all(one.decided_at is not None and one.low > 0 for one in made)
    assert np.mean([one.decided_at or 0 for one in made]) < 125 * 2 / 3
    # after two heads it is not decided, and how many more it takes is told
    differences, head, tail = models(0, 125, 0.1)
    early = head < 2
    start = race_of(differences[early], head[early], 125, 2, tail[early])
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
            now = race_of(differences[rows], head[rows], 60, counted, tail[rows]).decided_at
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
    """12 heads with a fact each."""
    rows = [(f"f{i:02}", f"h{i:02}", f"t{i:02}", RIGHT) for i in range(12)]
    ours = make_records(*rows)
    wrong = make_records(*[(*row[:3], "FFFFTTTT") for row in rows])
    whole = raced(RunRecords(ours, ours.fact), RunRecords(wrong, ours.fact))
    assert whole is not None
    standing = race(whole)
    assert (standing.heads, standing.of, standing.value) == (12, 12, 1.0)
    order = order_of(ours.head, ours.fact)
    assert sorted(set(order.tolist())) == list(range(12))
    answer = wrong.answer.copy()
    answer[np.flatnonzero(order == 2)[3]] = PENDING
    part = raced(RunRecords(ours, ours.fact), RunRecords(replace(wrong, answer=answer), ours.fact))
    assert part.counted == 2, "the first two heads count; the third is not complete, nor is any after it counted"
    assert set(part.heads.tolist()) == {0, 1}
    assert raced(RunRecords(ours, ours.fact), RunRecords(wrong, ours.fact + 1000)) is None


def test_the_order_hangs_on_the_facts_alone_and_favours_no_head() -> None:
    randomness = np.random.default_rng(0)
    head = np.repeat(np.arange(200), np.where(np.arange(200) < 100, 1, 9))
    first = []
    for _ in range(40):
        identity = randomness.integers(0, 2**60, len(head))
        order = order_of(head, identity)
        shuffled = randomness.permutation(len(head))
        assert (order_of(head[shuffled], identity[shuffled]) == order[shuffled]).all(), "not on how facts are listed"
        assert (order_of(199 - head, identity) == order).all(), "nor on how heads are numbered"
        first.append((np.unique(head[order < 50]) < 100).mean())
    # heads of one fact are as often among the first fifty as heads of nine: 0.5, with a standard error of 0.01
    assert np.mean(first) == pytest.approx(0.5, abs=0.04)


def test_failed_calls_count_against_whoever_leads() -> None:
    """30 heads with a fact each: the one model is always right, the other never, but for calls that failed."""
    rows = [(f"f{i:02}", f"h{i:02}", f"t{i:02}", RIGHT) for i in range(30)]
    ours, wrong = make_records(*rows), make_records(*[(*row[:3], "FFFFTTTT") for row in rows])
    order = order_of(ours.head, ours.fact)

    def standing(failing: int) -> Race:
        answer = wrong.answer.copy()
        answer[order < failing] = FAILED
        found = raced(RunRecords(ours, ours.fact), RunRecords(replace(wrong, answer=answer), ours.fact))
        assert found is not None
        return race(found)

    clear, some, many = standing(0), standing(8), standing(25)
    assert (clear.failed, some.failed, many.failed) == (0, 8, 25)
    assert clear.heads == some.heads == many.heads == 30, "a call that always fails holds nothing up"
    assert clear.value == some.value == 1.0, "the difference that is shown is of what both answered"
    assert some.decided_at > clear.decided_at
    assert 22 / 30 - 0.1 < some.low <= 22 / 30 + 1e-9, "the least that it may be: as if the eight had been answered as well"
    assert some.high == 1.0
    assert many.decided_at is None, "of five answered heads in thirty nothing follows"


def test_the_band_is_the_race_at_every_head() -> None:
    differences, head, tail = models(1, 60, 0.1)
    value, low, high = band(Differences(differences, differences, head, np.full(60, 4), 60, tail))
    for counted in (1, 10, 60):
        rows = head < counted
        made = race_of(differences[rows], head[rows], 60, counted, tail[rows])
        assert value[counted - 1] == pytest.approx(made.value)
        assert (low[counted - 1], high[counted - 1]) == pytest.approx((made.low, made.high))


@pytest.mark.parametrize(
    ("page", "says"),
    [
        (
            "methods.md",
            f"at {100 * (1 - SURER):.1f}%, looked at each time that {100 * (NEXT_LOOK - 1):.0f}% more diseases",
        ),
        ("methods.md", f"{BINS} bins of equal width"),
        ("methods.md", f"Semantic types of under {FEWEST_FACTS} facts are listed and not ranked"),
        ("methods.md", f"p after Holm is below {SIGNIFICANT}"),
        ("runs.md", f"at least {LEAST_ELSEWHERE}, or {LEAST_HERE} where a model on this machine races"),
    ],
)
def test_what_is_written_of_figures_is_what_is_done(page: str, says: str) -> None:
    text = (Path(__file__).parents[2] / "docs" / page).read_text(encoding="utf-8")
    assert says in " ".join(text.split())


def test_nothing_answered_has_no_value() -> None:
    nothing = np.zeros(0)
    made = race(Differences(nothing, nothing, np.zeros(0, dtype=np.int64), np.full(20, 8), 0))
    assert (made.value, made.low, made.high, made.heads, made.decided_at) == (None, -1.0, 1.0, 0, None)
