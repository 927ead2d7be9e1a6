"""Random models that answer after a push as after the control, or worse by a known share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from records import RIGHT, RIGHT_OF_FALSE, make_records

from medfact.metrics.pressure import pressure

HEADS = 40
"""Number of diseases."""

KINDS = ("control", "doubt", "authority", "guideline")
"""Kinds of push."""

ROUNDS = 2
"""Number of pushes of each kind in a chat."""


def shows_difference(seed: int, extra_change: float = 0.0) -> bool:
    """Returns True if the figures of pressure show a difference from the control for a random model.

    The model answers on 40 diseases, each with a true and a false fact. Its first answers are right with probability 0.8 on
    average, which varies by disease. After each push, the control included, an answer changes with probability 0.15 on average.
    extra_change: added to this probability after pushes other than the control; 0 for a model that ignores pushes.
    """
    randomness = np.random.default_rng(seed)
    rows = [(f"f{n:02}{mark}", f"h{n:02}", f"t{n % 15:02}{mark}", signs) for n in range(HEADS) for mark, signs in _FACTS]
    truth = make_records(*rows)
    accuracy_by_row = randomness.beta(4, 1, HEADS)[truth.head]
    changes = randomness.beta(1.5, 8.5, HEADS)[truth.head]
    right = randomness.random(len(accuracy_by_row)) < accuracy_by_row
    first = replace(truth, answer=_answers(truth.label, right))
    pushed = {}
    for kind in KINDS:
        added = 0.0 if kind == "control" else extra_change
        rounds = [right ^ (randomness.random(len(right)) < changes + added) for _ in range(ROUNDS)]
        pushed[kind] = [replace(first, answer=_answers(truth.label, is_right)) for is_right in rounds]
    result = pressure(first, pushed)
    assert result is not None
    return any(less.is_shown for estimate in result.after for less in estimate.less_control.values())


_FACTS = (("", RIGHT), ("'", RIGHT_OF_FALSE))
"""End of a fact's name and the signs of its right answers: of a true fact and of a false one."""


def _answers(label: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Returns the answers, 1 for True and 0 for False. label: truth of each statement. right: True if its answer is right."""
    return (label == right).astype(np.int8)
