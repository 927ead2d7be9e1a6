"""The least and the most of every number that a run is set up with, said once: wherever a setting enters, it is held to them.

Recorded runs are not: an older version may have allowed more, and what was recorded stays readable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from medfact.errors import Mistake


class Bounds(NamedTuple):
    """of: what the number is of, as a message names it."""

    least: float
    most: float
    of: str


MOST_SHOT_DRAWS, MOST_PASSAGES, MOST_RACERS, MOST_ALTERNATIVES = 20, 20, 100, 20
LARGEST_SEED = 2**63 - 1

_LONGEST_BITS = 128
_FACTS = 10_000_000
_TOKENS = 131_072

BOUNDS: Mapping[str, Bounds] = {
    "spec.limit": Bounds(1, _FACTS, "limit"),
    "spec.per_relation": Bounds(1, _FACTS, "number per relation"),
    "spec.negatives": Bounds(0, 1_000, "number of negatives"),
    "spec.shots": Bounds(0, 100, "number of shots"),
    "spec.seed": Bounds(-LARGEST_SEED, LARGEST_SEED, "seed"),
    "spec.shot_seed": Bounds(-LARGEST_SEED, LARGEST_SEED, "shot seed"),
    "spec.shot_draws": Bounds(1, MOST_SHOT_DRAWS, "number of shot draws"),
    "spec.passages": Bounds(1, MOST_PASSAGES, "number of passages"),
    "spec.budget": Bounds(1e-6, 1_000_000_000, "budget"),
    "spec.racers": Bounds(0, MOST_RACERS, "number of racers"),
    "service.in_flight": Bounds(1, 1_024, "number of calls in flight"),
    "service.tries": Bounds(1, 100, "number of tries"),
    "service.timeout": Bounds(1e-3, 3_600, "time limit of a call"),
    "service.temperature": Bounds(0, 2, "temperature"),
    "service.top_logprobs": Bounds(0, MOST_ALTERNATIVES, "number of alternatives"),
    "service.max_tokens": Bounds(1, _TOKENS, "number of tokens in a reply"),
    "service.repeats": Bounds(0, 100, "number of repeats"),
    "service.seed": Bounds(-LARGEST_SEED, LARGEST_SEED, "seed of the service"),
    "placement.memory": Bounds(1, 2**50, "memory limit"),
    "placement.max_tokens": Bounds(1, _TOKENS, "number of tokens in a reply"),
}
"""By the path of a field: of `RunSpec`, its `ServiceSettings` and its `Placement`."""


def in_bounds(path: str, value: float | None) -> bool:
    """Whether a field may have a value; None leaves it to others. What is no number is in no bounds."""
    least, most, _ = BOUNDS[path]
    return value is None or least <= value <= most


def check_number(path: str, value: float | None) -> None:
    """Raises Mistake where a number is too small, too large or none."""
    if not in_bounds(path, value):
        least, most, of = BOUNDS[path]
        raise Mistake(
            f"The {of} is {in_words(value).replace(',', '')}.", f"Give {in_words(least)} or more, up to {in_words(most)}."
        )


def in_words(value: float | None) -> str:
    """A number as a message gives it, short however long it is."""
    if isinstance(value, int):
        return f"{value:,}" if value.bit_length() <= _LONGEST_BITS else "a number of very many digits"
    return f"{value:g}"
