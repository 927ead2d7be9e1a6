"""How hard facts are over models: difficulties that are known beforehand, an independent optimiser, and heads drawn anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize, special

from medfact.metrics.alikeness import alike
from medfact.metrics.hardness import Rasch, rasch

Array = np.ndarray[Any, np.dtype[Any]]


def simulated(seed: int, models: int = 6, heads: int = 100, each: int = 4, testlet: float = 0.5) -> tuple[Array, Array, Array]:
    """Answers of models to the eight statements of facts, which are alike by 0.2; heads; and the true difficulties."""
    drawn = np.random.default_rng(seed)
    head = np.repeat(np.arange(heads), each)
    ability, difficulty = drawn.normal(0.8, 0.6, models), drawn.normal(0, 1, len(head))
    p = special.expit(ability[:, None] - difficulty + drawn.normal(0, testlet, (models, heads))[:, head])
    return drawn.binomial(8, drawn.beta(4 * p, 4 * (1 - p))).astype(float), head, difficulty


def test_known_difficulties_come_back_with_intervals_that_hold() -> None:
    """Ten simulated tables. A shrunk estimate has a correlation of √reliability with the truth."""
    covered, squared, reliable = [], [], []
    for seed in range(10):
        right, head, difficulty = simulated(seed)
        found = rasch(right, np.full(right.shape, 8.0), head)
        off = (found.difficulty - found.difficulty.mean()) - (difficulty - difficulty.mean())
        covered.append(float((np.abs(off) < 1.96 * found.error).mean()))
        squared.append(float(np.corrcoef(found.difficulty, difficulty)[0, 1] ** 2))
        reliable.append(found.reliability)
        assert 0.8 < found.spread < 1.1
        assert 1.6 < found.dispersion < 2.6  # 1 + 7 · 0.2 = 2.4, less what testlets take up
    assert 0.9 < np.mean(covered) < 0.97
    assert np.mean(reliable) == pytest.approx(np.mean(squared), abs=0.05)


def minimised(found: Rasch, right: Array, asked: Array, head: Array) -> tuple[Array, Array]:
    """Difficulties and their errors by a general optimiser of the same penalised likelihood, and numerical curvature."""
    models, facts = right.shape
    heads = int(head.max()) + 1

    def loss(x: Array) -> float:
        difficulty, testlet = x[:facts], x[facts:].reshape(models, heads)
        logit = found.ability[:, None] - difficulty + testlet[:, head]
        likelihood = (right * logit - asked * np.logaddexp(0, logit)).sum() / found.dispersion
        return float(-likelihood + (difficulty**2).sum() / 2 / found.spread**2 + (testlet**2).sum() / 2 / found.testlet**2)

    best = optimize.minimize(loss, np.zeros(facts + models * heads), method="BFGS", options={"gtol": 1e-7}).x
    step, size = 1e-3, len(best)
    unit = np.eye(size) * step
    curve = np.array(
        [
            [(loss(best + a + b) - loss(best + a - b) - loss(best - a + b) + loss(best - a - b)) / (4 * step**2) for b in unit]
            for a in unit
        ]
    )
    return best[:facts], np.sqrt(np.diag(np.linalg.inv(curve))[:facts])


def test_an_independent_optimiser_finds_the_same() -> None:
    """Heads of one, two and three facts, of which one model left some out."""
    drawn = np.random.default_rng(3)
    head = np.array([2, 0, 1, 2, 1, 2, 3])
    asked = np.full((3, 7), 8.0)
    asked[1, 2] = 0
    right = np.minimum(drawn.binomial(8, 0.6, (3, 7)), asked)
    found = rasch(right, asked, head)
    difficulty, error = minimised(found, right, asked, head)
    assert found.difficulty == pytest.approx(difficulty, abs=2e-3)
    assert found.error == pytest.approx(error, rel=5e-3)


def test_what_no_model_has_right_is_hardest_and_nothing_runs_away() -> None:
    right, head, _ = simulated(1, models=5, heads=20, each=2)
    right[:, 7], right[:, 8] = 0, 8
    found = rasch(right, np.full(right.shape, 8.0), head)
    assert int(found.difficulty.argmax()) == 7
    assert found.difficulty[8] == pytest.approx(found.difficulty.min(), abs=0.2)
    share = found.middling(7, 40)
    assert share.low is not None
    assert share.value is not None
    assert share.high is not None
    assert 0 < share.low < share.value < share.high < 0.5


def test_two_models_are_alike_by_heads_or_beyond_them() -> None:
    """Both follow the same 60 heads and nothing else: alike in all, not within heads. Then both know the same facts."""
    drawn = np.random.default_rng(0)
    head, positive = np.repeat(np.arange(60), 4), np.tile([True, False], 120)
    own = [drawn.normal(size=240) for _ in range(3)]
    of_head = drawn.normal(size=60)[head]
    overall, within = alike(of_head + own[0], of_head + own[1], positive, head)
    assert overall.low is not None
    assert overall.low > 0.2
    assert within.low is not None
    assert within.high is not None
    assert within.low < 0 < within.high
    same = alike(own[2] + own[0], own[2] + own[1], positive, head).within_heads
    assert same.low is not None
    assert same.high is not None
    assert 0.25 < same.low < 0.5 < same.high + 0.1


def test_models_that_know_the_same_tails_are_alike_by_as_few_as_there_are() -> None:
    """Ten tails decide what both models know of 200 heads: an interval over heads alone is far too narrow."""
    drawn = np.random.default_rng(2)
    tails, heads, positive = np.arange(400) % 10, np.arange(400) // 2, np.arange(400) % 2 == 0
    of_tail = drawn.normal(size=10)[tails]
    sides = [of_tail + drawn.normal(size=400) for _ in range(2)]
    apart, together = alike(*sides, positive, heads).overall, alike(*sides, positive, heads, tails).overall
    assert apart.value == together.value
    assert (together.high or 0) - (together.low or 0) > 1.5 * ((apart.high or 0) - (apart.low or 0))
    assert alike(*sides, positive, heads, np.arange(400)).overall == pytest.approx(apart)


def test_leaning_to_true_alone_is_no_likeness_and_few_heads_say_nothing() -> None:
    drawn = np.random.default_rng(1)
    head, positive = np.repeat(np.arange(50), 2), np.tile([True, False], 50)
    leaning = [0.5 + 0.3 * positive + 0.1 * drawn.normal(size=100) for _ in range(2)]
    low, high = alike(*leaning, positive, head).overall[1:3]  # type: ignore[call-arg]
    assert low < 0 < high
    few = alike(leaning[0], leaning[1], positive, head // 10).overall
    assert few.value is not None
    assert few.low is None
    flat = alike(np.ones(100), leaning[1], positive, head)
    assert flat.overall.value is None
    assert flat.within_heads.value is None
