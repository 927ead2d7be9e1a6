"""Records of calibrated models."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from records import make_records

from medfact.metrics import Records
from medfact.statements import IMPLICATIONS

Floats = np.ndarray


NEGATED = np.array([implication.negated for implication in IMPLICATIONS.values()])


def draw_calibrated_answers(
    seed: int, coherent: bool, shape: Callable[[np.random.Generator, int], Floats]
) -> tuple[Floats, np.ndarray]:
    """Draws P(True) of a calibrated model for the eight statements of 150 facts, and their labels; both of shape (150, 8).

    coherent: True for one belief per fact, False for an independent one per statement. shape: draws the beliefs.
    """
    randomness = np.random.default_rng(seed)
    if not coherent:
        p = shape(randomness, 1200).reshape(150, 8)
        return p, randomness.random((150, 8)) < p
    belief = shape(randomness, 150)
    holds = randomness.random(150) < belief
    return np.where(NEGATED, 1 - belief[:, None], belief[:, None]), holds[:, None] != NEGATED


def make_probability_records(p: Floats, truth: np.ndarray) -> Records:
    """Returns records of facts with a head each. p: P(True) of the statements. truth: their labels."""
    signs = np.where(p > 0.5, "T", "F")
    rows = [(f"f{i}", f"h{i}", f"t{i}", "".join(row)) for i, row in enumerate(signs)]
    records = make_records(*rows, p_true=p.ravel().tolist())
    return Records(**{name: getattr(records, name) for name in records.__dataclass_fields__} | {"label": truth.ravel()})


def draw_uniform(randomness: np.random.Generator, n: int) -> Floats:
    """Draws n probabilities from 0 to 1."""
    return randomness.random(n)


def draw_u_shaped(randomness: np.random.Generator, n: int) -> Floats:
    """Draws n probabilities, most of them near 0 or 1."""
    return randomness.beta(0.3, 0.3, n)
