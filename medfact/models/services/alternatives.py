"""P(True) from the log-probabilities that a service returns for each token."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from medfact.models.prompt import answer_position, bare, plain, until

ROUNDING = 1e-3
"""How far rounded probabilities may add up to more than 1."""

ALL_SEEN = 1e-6
"""Unseen probability up to which only rounding is hidden."""


@dataclass(frozen=True, slots=True)
class AnswerProbability:
    """P(True), the mass of True and False words, and bounds of P(True) if some alternatives are unseen (see `Completion`)."""

    p_true: float | None = None
    p_mass: float | None = None
    p_low: float | None = None
    p_high: float | None = None


def answer_probability(
    positions: Sequence[Any],
    choices: tuple[tuple[str, ...], tuple[str, ...]],
    place: Callable[[str], int | None] = lambda reply: None,
    stop: str = "",
) -> AnswerProbability:
    """P(True) at the token that gives the reply's answer (`answer_position`).

    Args:
        positions: `logprobs.content` of a reply: per position a token, its log-probability and its likeliest alternatives.
        choices: the True words and the False words. place, stop: as in `Prompt`.

    Unseen alternatives hold u = 1 − what is seen. They may all be False words, or all True words: with t and f the seen masses,
    P(True) lies between t / (t + f + u) and (t + u) / (t + f + u).
    """
    true, false = ({word.lower() for word in side} for side in choices)
    readable = [position for position in positions if isinstance(position, dict)]
    tokens = [plain(str(position.get("token"))) for position in readable]
    at = answer_position(tokens, until(stop, "".join(tokens)), place, choices)
    if at is None:
        return AnswerProbability()
    seen = _seen(readable[at])
    t = math.fsum(p for token, p in seen if bare(token) in true)
    f = math.fsum(p for token, p in seen if bare(token) in false)
    if t + f <= 0:
        return AnswerProbability(p_mass=0.0)
    unseen = max(0.0, 1.0 - math.fsum(p for _, p in seen))
    mass = min(1.0, t + f)
    if unseen < ALL_SEEN:
        return AnswerProbability(t / (t + f), mass)
    return AnswerProbability(t / (t + f), mass, t / (t + f + unseen), (t + unseen) / (t + f + unseen))


def _seen(position: dict[str, Any]) -> list[tuple[str, float]]:
    """The alternatives of a position with their probabilities, including the token chosen."""
    shown = position.get("top_logprobs")
    entries = [entry for entry in shown if isinstance(entry, dict)] if isinstance(shown, list) else []
    seen = [(str(entry.get("token")), _probability(entry.get("logprob"))) for entry in entries]
    token, p = str(position.get("token")), _probability(position.get("logprob"))
    fits = math.fsum(p for _, p in seen) + p <= 1 + ROUNDING  # otherwise it is listed under another spelling
    return [*seen, (token, p)] if fits and token not in {listed for listed, _ in seen} else seen


def _probability(logprob: object) -> float:
    """Services write a tiny probability as -9999 or minus infinity, or leave it out."""
    return math.exp(min(0.0, logprob)) if isinstance(logprob, int | float) and not math.isnan(logprob) else 0.0
