"""P(True) from the tokens that a service shows with their log-probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from medfact.models.prompt import answer_position, bare, plain, until

ROUNDING = 1e-3
"""So much more than 1 may probabilities add up to that a service rounded."""

ALL_SEEN = 1e-6
"""Unseen probability up to which nothing is hidden but rounding."""


@dataclass(frozen=True, slots=True)
class Chances:
    """P(True), the mass of True and False words, and bounds of P(True) where alternatives are unseen (see `Completion`)."""

    p_true: float | None = None
    p_mass: float | None = None
    p_low: float | None = None
    p_high: float | None = None


def chances(
    positions: Sequence[Any],
    choices: tuple[tuple[str, ...], tuple[str, ...]],
    place: Callable[[str], int | None] = lambda reply: None,
    stop: str = "",
) -> Chances:
    """What the token says at which the reply says its answer (`answer_position`).

    Args:
        positions: `logprobs.content` of a reply: each a token, its log-probability and its most likely alternatives.
        choices: the True words and the False words. place, stop: as a prompt's.

    Unseen alternatives hold u = 1 − what is seen. At worst they are all False words, or all True words: with t and f the seen
    masses, P(True) lies from t / (t + f + u) to (t + u) / (t + f + u).
    """
    true, false = ({word.lower() for word in side} for side in choices)
    said = [position for position in positions if isinstance(position, dict)]
    tokens = [plain(str(position.get("token"))) for position in said]
    at = answer_position(tokens, until(stop, "".join(tokens)), place, choices)
    if at is None:
        return Chances()
    seen = _seen(said[at])
    t = math.fsum(p for token, p in seen if bare(token) in true)
    f = math.fsum(p for token, p in seen if bare(token) in false)
    if t + f <= 0:
        return Chances(p_mass=0.0)
    unseen = max(0.0, 1.0 - math.fsum(p for _, p in seen))
    mass = min(1.0, t + f)
    if unseen < ALL_SEEN:
        return Chances(t / (t + f), mass)
    return Chances(t / (t + f), mass, t / (t + f + unseen), (t + unseen) / (t + f + unseen))


def _seen(position: dict[str, Any]) -> list[tuple[str, float]]:
    """The alternatives of a position with their probabilities, the token that was said among them."""
    shown = position.get("top_logprobs")
    entries = [entry for entry in shown if isinstance(entry, dict)] if isinstance(shown, list) else []
    seen = [(str(entry.get("token")), _probability(entry.get("logprob"))) for entry in entries]
    said = (str(position.get("token")), _probability(position.get("logprob")))
    fits = math.fsum(p for _, p in seen) + said[1] <= 1 + ROUNDING  # else it is there under another spelling
    return [*seen, said] if fits and said[0] not in {token for token, _ in seen} else seen


def _probability(logprob: object) -> float:
    """Services write very unlikely as -9999, as minus infinity, or not at all."""
    return math.exp(min(0.0, logprob)) if isinstance(logprob, int | float) and not math.isnan(logprob) else 0.0
