"""Records of calibrated models."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from records import make_records

from medfact.metrics import Records
from medfact.statements import IMPLICATIONS

Floats = np.ndarray

NEGATED = np.array([implication.negated for implication in IMPLICATIONS.values()])
"""True for each of the eight variants that negates its fact, in the order of IMPLICATIONS."""


def draw_calibrated_answers(
    seed: int, coherent: bool, draw_beliefs: Callable[[np.random.Generator, int], Floats]
) -> tuple[Floats, np.ndarray]:
    """Returns P(True) of a calibrated model for the eight statements of 150 facts, and their labels.

    Both have shape (150, 8). A label is True with the probability that the model states. coherent: True for one belief per
    fact, False for an independent one per statement. draw_beliefs: (randomness, number) → so many probabilities.
    """
    randomness = np.random.default_rng(seed)
    if not coherent:
        p = draw_beliefs(randomness, 1200).reshape(150, 8)
        return p, randomness.random((150, 8)) < p
    belief = draw_beliefs(randomness, 150)
    holds = randomness.random(150) < belief
    return np.where(NEGATED, 1 - belief[:, None], belief[:, None]), holds[:, None] != NEGATED


def make_probability_records(p_true: Floats, labels: np.ndarray) -> Records:
    """Returns records in which each fact has its own head and tail; an answer is True if P(True) is above 0.5.

    p_true: P(True) of the statements, of shape (facts, 8). labels: their truth, of the same shape.
    """
    signs = np.where(p_true > 0.5, "T", "F")
    rows = [(f"f{i}", f"h{i}", f"t{i}", "".join(row)) for i, row in enumerate(signs)]
    records = make_records(*rows, p_true=p_true.ravel().tolist())
    return Records(**{name: getattr(records, name) for name in records.__dataclass_fields__} | {"label": labels.ravel()})


def draw_uniform(randomness: np.random.Generator, n: int) -> Floats:
    """Draws n probabilities from the uniform distribution on 0 to 1."""
    return randomness.random(n)


def draw_u_shaped(randomness: np.random.Generator, n: int) -> Floats:
    """Draws n probabilities from Beta(0.3, 0.3): most are near 0 or 1."""
    return randomness.beta(0.3, 0.3, n)
