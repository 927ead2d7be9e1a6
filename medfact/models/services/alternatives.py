"""P(True) from the log-probabilities that a service returns for each token."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, zip_longest
from typing import Any

from medfact.models.prompt import answer_position, bare, plain

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
    counted: Callable[[str], str] = str,
) -> AnswerProbability:
    """P(True) at the token that gives the reply's answer (`answer_position`).

    Args:
        positions: `logprobs.content` of a reply: per position a token, its log-probability and its likeliest alternatives.
        choices: the True words and the False words. place: as in `Prompt`. counted: as much of a reply's text as counts.

    Unseen alternatives hold u = 1 − what is seen. They may all be False words, or all True words: with t and f the seen masses,
    P(True) lies between t / (t + f + u) and (t + u) / (t + f + u).
    """
    true, false = ({word.lower() for word in side} for side in choices)
    readable = [position for position in positions if isinstance(position, dict)]
    tokens = [plain(str(position.get("token"))) for position in readable]
    at = answer_position(tokens, counted("".join(tokens)), place, choices)
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


# ------------------------------------------------------------------------------------------------ positions


def positions_in(logprobs: object) -> list[Any]:
    """The positions in the log-probabilities of a choice, in either format of the protocol; empty where there are none."""
    if not isinstance(logprobs, dict):
        return []
    positions = logprobs.get("content")
    if positions is None and isinstance(logprobs.get("tokens"), list):
        return _legacy_positions(logprobs)
    return positions if isinstance(positions, list) else []


def _legacy_positions(logprobs: dict[str, Any]) -> list[dict[str, Any]]:
    """The positions of /completions, which keeps the protocol's first format: parallel lists, alternatives as a mapping."""
    chosen, alternatives = (
        column if isinstance(column := logprobs.get(name), list) else [] for name in ("token_logprobs", "top_logprobs")
    )
    return [
        {
            "token": token,
            "logprob": logprob,
            "top_logprobs": [{"token": other, "logprob": p} for other, p in others.items()] if isinstance(others, dict) else [],
        }
        for token, logprob, others in zip_longest(logprobs["tokens"], chosen, alternatives)
        if token is not None
    ]


def positions_of(said: str, positions: Sequence[Any], *, after_thinking: bool) -> Sequence[Any]:
    """The positions of a message's text. Many services list the tokens of the thinking before them, although they serve it
    apart or not at all, and some mark its end with tokens that have no text.

    after_thinking: whether there was thinking. Then nothing is returned where the tokens do not hold the text: nobody knows
    where it begins.
    """
    tokens = [plain(str(position.get("token"))) if isinstance(position, dict) else "" for position in positions]
    whole, text = "".join(tokens), said.strip()
    begin = 0 if whole.lstrip().startswith(text) and not after_thinking else whole.rfind(text)
    if begin < 0:
        return [] if after_thinking else positions
    ends = accumulate(map(len, tokens))
    return positions[next((index for index, end in enumerate(ends) if end > begin), 0) :]
