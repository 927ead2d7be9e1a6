"""A model with a known defect: the page and the report name that defect first, with noise, and from a hundred facts on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from records import make_records

from medfact.metrics import Records
from medfact.metrics.diagnosis import diagnosis
from medfact.metrics.probability import probabilities
from medfact.results.report import named_first
from medfact.statements import IMPLICATIONS

NEGATED = np.array([one.negated for one in IMPLICATIONS.values()])
REVERSED = np.array(["inv" in key.split("+") for key in IMPLICATIONS])


def records(holds: np.ndarray, p: np.ndarray) -> Records:
    """Facts in pairs of one head, which hold or not; answers are True where P(True), of each of the eight, is above a half."""
    rows = [
        (f"f{i:03}" if true else f"f{i:03}'", f"h{i // 2}", f"t{i}", "".join("T" if one > 0.5 else "F" for one in p[i]))
        for i, true in enumerate(holds)
    ]
    return make_records(*rows, p_true=p.ravel().tolist())


def named(made: Records) -> str | None:
    return named_first(diagnosis(made), probabilities(made))


ANSWERS = {
    "always-yes": lambda holds, truth: np.ones_like(truth),
    "always-no": lambda holds, truth: np.zeros_like(truth),
    "negation-blind": lambda holds, truth: np.broadcast_to(holds[:, None], truth.shape),
    "direction-bound": lambda holds, truth: truth != REVERSED,
}


@pytest.mark.parametrize("defect", ANSWERS)
@pytest.mark.parametrize(("facts", "noise"), [(100, 0.0), (100, 0.1), (400, 0.1)])
@pytest.mark.parametrize("seed", range(3))
def test_what_answers_follow(defect: str, facts: int, noise: float, seed: int) -> None:
    """Sure of each answer by 0.6 to 1; so many answers are the other one."""
    randomness = np.random.default_rng(seed)
    holds = np.arange(facts) % 2 == 0
    says = ANSWERS[defect](holds, holds[:, None] != NEGATED) != (randomness.random((facts, 8)) < noise)
    sure = randomness.uniform(0.6, 1, (facts, 8))
    assert named(records(holds, np.where(says, sure, 1 - sure))) == defect


def too_high(p: np.ndarray) -> np.ndarray:
    return np.minimum(p + 0.1, 1)


def overconfident(p: np.ndarray) -> np.ndarray:
    return np.asarray(p**3 / (p**3 + (1 - p) ** 3))


@pytest.mark.parametrize("facts", [100, 200, 400])
@pytest.mark.parametrize("coherent", [True, False])
@pytest.mark.parametrize(("alter", "defect"), [(too_high, "too-high"), (overconfident, "overconfident")])
def test_how_p_true_misleads(alter: Callable[[np.ndarray], np.ndarray], defect: str, coherent: bool, facts: int) -> None:
    """A calibrated model's P(True), altered: uniform beliefs, of a fact or of each statement. In at least nine cases of ten."""
    right = 0
    for seed in range(10):
        randomness = np.random.default_rng(seed)
        holds = np.arange(facts) % 2 == 0
        truth = holds[:, None] != NEGATED
        if coherent:  # given the truth, a uniform belief that is calibrated has the density 2 b or 2 (1 − b)
            belief = np.where(holds, randomness.beta(2, 1, facts), randomness.beta(1, 2, facts))[:, None]
            p = np.where(NEGATED, 1 - belief, belief)
        else:
            p = np.where(truth, randomness.beta(2, 1, (facts, 8)), randomness.beta(1, 2, (facts, 8)))
        right += named(records(holds, alter(p))) == defect
    assert right >= 9
