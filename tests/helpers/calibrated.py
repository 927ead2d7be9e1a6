"""Records of models that are calibrated, or too sure."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from records import records_of

from medfact.metrics import Records
from medfact.statements import IMPLICATIONS

Floats = np.ndarray


NEGATED = np.array([implication.negated for implication in IMPLICATIONS.values()])


def sure(seed: int, coherent: bool, shape: Callable[[np.random.Generator, int], Floats]) -> tuple[Floats, np.ndarray]:
    """P(True) of a calibrated model for the eight statements of 150 facts, and whether each fact holds, or each statement."""
    randomness = np.random.default_rng(seed)
    if not coherent:
        p = shape(randomness, 1200).reshape(150, 8)
        return p, randomness.random((150, 8)) < p
    belief = shape(randomness, 150)
    holds = randomness.random(150) < belief
    return np.where(NEGATED, 1 - belief[:, None], belief[:, None]), holds[:, None] != NEGATED


def of(p: Floats, truth: np.ndarray) -> Records:
    """Records of facts with a head each. `truth` holds the labels of the statements."""
    signs = np.where(p > 0.5, "T", "F")
    rows = [(f"f{i}", f"h{i}", f"t{i}", "".join(row)) for i, row in enumerate(signs)]
    records = records_of(*rows, p_true=p.ravel().tolist())
    return Records(**{name: getattr(records, name) for name in records.__dataclass_fields__} | {"label": truth.ravel()})


def uniform(randomness: np.random.Generator, n: int) -> Floats:
    return randomness.random(n)


def u_shaped(randomness: np.random.Generator, n: int) -> Floats:
    return randomness.beta(0.3, 0.3, n)
