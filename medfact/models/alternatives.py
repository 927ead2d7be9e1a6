"""P(True) from the tokens that a service shows with their log-probabilities."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_THOUGHT_ENDS = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)
_THOUGHT_OPENS = re.compile(r"<(?:think|thinking|reasoning)>", re.IGNORECASE)
_SPACE_SIGNS = "▁Ġ"
"""What tokenizers write for a space in front of a word."""

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


def chances(positions: Sequence[Any], choices: tuple[tuple[str, ...], tuple[str, ...]]) -> Chances:
    """What the first answer token says: the first one after any thinking that is a True or a False word, else the first one.

    Args:
        positions: `logprobs.content` of a reply: each a token, its log-probability and its most likely alternatives.
        choices: the True words and the False words.

    Unseen alternatives hold u = 1 − what is seen. At worst they are all False words, or all True words: with t and f the seen
    masses, P(True) lies from t / (t + f + u) to (t + u) / (t + f + u).
    """
    true, false = ({_bare(word) for word in side} for side in choices)
    said = [position for position in _after_thinking(positions) if isinstance(position, dict)]
    if not said:
        return Chances()
    answer = next((position for position in said if _bare(str(position.get("token"))) in true | false), said[0])
    seen = _seen(answer)
    t = math.fsum(p for token, p in seen if _bare(token) in true)
    f = math.fsum(p for token, p in seen if _bare(token) in false)
    if t + f <= 0:
        return Chances(p_mass=0.0)
    unseen = max(0.0, 1.0 - math.fsum(p for _, p in seen))
    mass = min(1.0, t + f)
    if unseen < ALL_SEEN:
        return Chances(t / (t + f), mass)
    return Chances(t / (t + f), mass, t / (t + f + unseen), (t + unseen) / (t + f + unseen))


def _bare(token: str) -> str:
    return token.strip().lstrip(_SPACE_SIGNS).strip().lower()


def _after_thinking(positions: Sequence[Any]) -> Sequence[Any]:
    """Positions behind the end of the last thought; none where a thought never ends."""
    tokens = [str(position.get("token")) if isinstance(position, dict) else "" for position in positions]
    text = "".join(tokens)
    ends = [found.end() for found in _THOUGHT_ENDS.finditer(text)]
    start = ends[-1] if ends else 0
    if _THOUGHT_OPENS.search(text, start):
        return []
    at = 0
    for place, token in enumerate(tokens):
        if at >= start:
            return positions[place:]
        at += len(token)
    return [] if start else positions


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
