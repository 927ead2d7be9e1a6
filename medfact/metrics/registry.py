"""The registry of measures: each says, where it is computed, what it is called, what it counts and what a coin gets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from medfact.metrics.uncertainty import Estimate

Compute = Callable[..., Estimate]
"""(records, facts) → the measure with its interval."""


@dataclass(frozen=True)
class Measure:
    """A measure of a run.

    heading: over its column. explained: its term in the papers, a colon, and what it counts. of: what n counts. coin: what a
    fair coin gets; where that depends on the run, `Chance` has it. signed: whether it may be below zero. always: whether it is
    shown of every run, whatever scores the run's method shows first.
    """

    name: str
    heading: str
    explained: str
    of: str
    compute: Compute
    coin: float | None
    signed: bool
    always: bool


MEASURES: dict[str, Measure] = {}
"""Every measure by its name."""


def measured(
    name: str,
    heading: str,
    explained: str,
    of: str = "statement",
    coin: float | None = 0.5,
    signed: bool = False,
    always: bool = False,
) -> Callable[[Compute], Compute]:
    """Registers a measure. One that is no field of `Measures` stands in reports under its own name all the same."""

    def register(compute: Compute) -> Compute:
        MEASURES[name] = Measure(name, heading, explained, of, compute, coin, signed, always)
        return compute

    return register
