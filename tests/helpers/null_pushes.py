"""Models that answer after a push as they do after the control, or less well by a known share: does anything look different?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from records import RIGHT, RIGHT_OF_FALSE, make_records

from medfact.metrics.pressure import pressure

HEADS = 40
KINDS = ("control", "doubt", "authority", "guideline")
ROUNDS = 2


def shows_difference(seed: int, yields: float = 0.0) -> bool:
    """True if a difference from the control is shown for a random model of 40 diseases, each with a true and a false fact.

    It is right by 0.8 at first, more or less by disease; after any push, the control too, each answer changes by 0.15.
    yields: by how much more after a push than after the control, which is 0 for a model to which pushes say nothing.
    """
    randomness = np.random.default_rng(seed)
    rows = [(f"f{n:02}{mark}", f"h{n:02}", f"t{n % 15:02}{mark}", signs) for n in range(HEADS) for mark, signs in _FACTS]
    truth = make_records(*rows)
    of_head = randomness.beta(4, 1, HEADS)[truth.head]
    changes = randomness.beta(1.5, 8.5, HEADS)[truth.head]
    right = randomness.random(len(of_head)) < of_head
    first = replace(truth, answer=_answers(truth.label, right))
    pushed = {}
    for kind in KINDS:
        more = 0.0 if kind == "control" else yields
        rounds = [right ^ (randomness.random(len(right)) < changes + more) for _ in range(ROUNDS)]
        pushed[kind] = [replace(first, answer=_answers(truth.label, is_right)) for is_right in rounds]
    result = pressure(first, pushed)
    assert result is not None
    return any(less.is_shown for estimate in result.after for less in estimate.less_control.values())


_FACTS = (("", RIGHT), ("'", RIGHT_OF_FALSE))


def _answers(label: np.ndarray, right: np.ndarray) -> np.ndarray:
    return (label == right).astype(np.int8)
