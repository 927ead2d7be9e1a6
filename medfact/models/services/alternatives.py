"""P(True) from the log-probabilities that a service returns for each token."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, zip_longest
from typing import Any

from medfact.models.prompt import CONTINUES, FIRST_WIDE, answer_position, bare, plain

ROUNDING = 1e-3
"""How far rounded probabilities may add up to more than 1."""

ALL_SEEN = 1e-6
"""Unseen probability up to which only rounding is hidden."""

_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
"""How tokenizers write a token of one byte."""

_SIGNS = re.compile(r"^[\W_]+")


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

    A token counts for the side whose words alone it begins with, or begins: "True. The", "Fal", "T" where no token is a word.

    Unseen alternatives hold u = 1 − what is seen. They may all be False words, or all True words: with t and f the seen masses,
    P(True) lies between t / (t + f + u) and (t + u) / (t + f + u).
    """
    readable = [position for position in positions if isinstance(position, dict)]
    tokens = [_text_of(position) for position in readable]
    text = counted("".join(tokens))
    at = answer_position(tokens, text, place, choices)
    if at is None:
        return AnswerProbability()
    decided = place(text)
    before = tokens[at][: max(0, decided - sum(map(len, tokens[:at])))] if decided is not None else ""
    seen = _seen(readable[at])
    t, f = _masses([(token.removeprefix(before.encode()), p) for token, p in seen], choices)
    if t + f <= 0:
        return AnswerProbability(p_mass=0.0)
    unseen = max(0.0, 1.0 - math.fsum(p for _, p in seen))
    mass = min(1.0, t + f)
    if unseen < ALL_SEEN:
        return AnswerProbability(t / (t + f), mass)
    return AnswerProbability(t / (t + f), mass, t / (t + f + unseen), (t + unseen) / (t + f + unseen))


def _masses(seen: Sequence[tuple[bytes, float]], choices: tuple[tuple[str, ...], tuple[str, ...]]) -> tuple[float, float]:
    """The probability of the tokens that stand for True, and of those for False. A letter begins many other words: it counts
    where no token is a whole word.
    """
    sides = {word.lower(): side for side, words in enumerate(choices) for word in words}
    whole = [(_side_of_word(token, sides), p) for token, p in seen]
    shortest = 2 if any(side is not None for side, _ in whole) else 1
    masses: tuple[list[float], list[float]] = ([], [])
    for (token, p), (side, _) in zip(seen, whole, strict=True):
        side = _side_of_beginning(token, sides, shortest) if side is None else side
        if side is not None:
            masses[side].append(p)
    return math.fsum(masses[0]), math.fsum(masses[1])


def _side_of_word(token: bytes, sides: Mapping[str, int]) -> int | None:
    """The side of the word that a token is, or begins with where it is longer than a word."""
    text = bare(token.decode(errors="replace"))
    if text in sides:
        return sides[text]
    text = _SIGNS.sub("", text)
    begun = [word for word in sides if text.startswith(word) and not _goes_on(word, text[len(word) :])]
    return sides[max(begun, key=len)] if begun else None


def _goes_on(word: str, after: str) -> bool:
    """Whether a text behind a word makes it another one, or undoes it. Scripts without spaces show no end of a word."""
    return not word[-1:] >= FIRST_WIDE and re.match(CONTINUES, after) is not None


def _side_of_beginning(token: bytes, sides: Mapping[str, int], shortest: int) -> int | None:
    """The side whose words alone begin with a token, which may be a part of a character."""
    begin = token.strip().lower()
    if len(begin) < shortest:
        return None
    found = {side for word, side in sides.items() if word.encode().startswith(begin)}
    return found.pop() if len(found) == 1 else None


def _bytes_of(entry: Mapping[str, Any]) -> bytes:
    """A token as it stands in a text. Where it holds a part of a character, only its bytes say which."""
    listed, token = entry.get("bytes"), str(entry.get("token"))
    if isinstance(listed, list) and listed and all(isinstance(byte, int) and 0 <= byte < 256 for byte in listed):
        return plain(bytes(listed).decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    single = _BYTE.fullmatch(token)
    return bytes([int(single[1], 16)]) if single else plain(token).encode("utf-8", "replace")


def _text_of(position: Mapping[str, Any]) -> str:
    single = _BYTE.fullmatch(str(position.get("token")))
    return chr(int(single[1], 16)) if single and int(single[1], 16) < 128 else plain(str(position.get("token")))


def _seen(position: dict[str, Any]) -> list[tuple[bytes, float]]:
    """The alternatives of a position with their probabilities, including the token chosen."""
    shown = position.get("top_logprobs")
    entries = [entry for entry in shown if isinstance(entry, dict)] if isinstance(shown, list) else []
    seen = [(_bytes_of(entry), _probability(entry.get("logprob"))) for entry in entries]
    token, p = _bytes_of(position), _probability(position.get("logprob"))
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
