"""The course of a race: the difference between two models with its bounds, over the diseases counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from medfact.metrics.race import band
from medfact.results.compare import Raced

MOST_STEPS = 400
"""Diseases that are drawn; of more, evenly spread ones, the first, the deciding and the last among them."""


@dataclass(frozen=True)
class RaceCourse:
    """How a race went. heads: after how many diseases; value, low, high: the difference a − b so far and its bounds, −1 to 1.

    decided_at: index of the deciding disease among these, None where it is not decided. of: how many diseases there are.
    """

    heads: tuple[int, ...]
    value: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    decided_at: int | None
    of: int


def race_course(raced: Raced) -> RaceCourse | None:
    """The course of a race; None before a disease is complete in both runs."""
    if raced.found is None or raced.race is None or not raced.race.heads:
        return None
    drawn, count, decided = band(raced.found, raced.family), raced.race.heads, raced.race.decided_at
    heads = np.unique(np.linspace(1, count, min(count, MOST_STEPS)).round().astype(int))
    heads = np.union1d(heads, [decided]) if decided else heads
    rows = heads - 1
    value, low, high = (tuple(part[rows].tolist()) for part in drawn)
    at = int(np.searchsorted(heads, decided)) if decided else None
    return RaceCourse(tuple(heads.tolist()), value, low, high, at, raced.race.of)
