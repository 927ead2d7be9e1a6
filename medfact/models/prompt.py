"""What goes into a model and what comes out."""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypedDict


class Message(TypedDict):
    """One turn for a chat model."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """Exactly what a model gets, and how long it may answer.

    content:       plain text, or messages.
    choices:       the True words and the False words whose probabilities are read.
    statement:     the text of the statement that is asked about.
    stop:          the reply ends before this text; empty where nothing ends it.
    max_tokens:    tokens that the reply may take.
    settled_after: an opening True or False is the answer once so many tokens are known (two show that it is no echo of "True
                   or False"); None where the whole reply must be read.
    answers:       what a demonstration says after a true and after a false statement, to the letter.
    place:         where in a reply the word begins by which it is read, as the index of a character; None where there is none.
    """

    content: str | tuple[Message, ...]
    choices: tuple[tuple[str, ...], tuple[str, ...]]
    statement: str = ""
    stop: str = ""
    max_tokens: int = 16
    settled_after: int | None = 1
    answers: tuple[str, str] = (" True", " False")
    place: Callable[[str], int | None] = lambda reply: None


_THOUGHT_OPENS = re.compile(r"<(?:think|thinking|reasoning)>", re.IGNORECASE)
_THOUGHT_ENDS = re.compile(r"</(?:think|thinking|reasoning)>", re.IGNORECASE)


def answer_position(
    tokens: Sequence[str], text: str, place: Callable[[str], int | None], choices: Sequence[Sequence[str]]
) -> int | None:
    """At which of a reply's tokens its answer is said, from 0: where P(True) is read, whoever computed the reply.

    It is the token in which the word begins by which the reply is read; where it cannot be read, the first token after any
    thinking that is one of the choices' words, else the first token there; None where the thinking never ends.

    Args:
        tokens: what each token says. text: as much of them, joined, as counts.
    """
    ends = [0, *itertools.accumulate(map(len, tokens))]
    at = place(text)
    if at is not None and at < ends[-1]:
        return bisect.bisect_right(ends, at) - 1
    whole = "".join(tokens)
    thought = [found.end() for found in _THOUGHT_ENDS.finditer(whole)]
    begin = thought[-1] if thought else 0
    after = [number for number in range(len(tokens)) if ends[number] >= begin]
    if not after or _THOUGHT_OPENS.search(whole, begin):
        return None
    words = {word.lower() for side in choices for word in side}
    return next((number for number in after if bare(tokens[number]) in words), after[0])


LENGTH, CONTENT_FILTER = "length", "content_filter"
"""Why a service ends a reply before it is whole (`Completion.cut`)."""

CONTINUES = r"\s*(?:or\b|/)|\w"
"""What follows an answer word that is no answer: an echo of "True or False", or the rest of a longer word ("Falsehood")."""

_SETTLED = re.compile(rf"\W*(?:true|false)\b(?!{CONTINUES})", re.IGNORECASE)


def is_settled(reply: str) -> bool:
    """Whether a reply opens with True or False, and what follows leaves it at that: then the rest of it need not be known."""
    thoughts = [found.end() for found in _THOUGHT_ENDS.finditer(reply)]
    return _SETTLED.match(reply, thoughts[-1] if thoughts else 0) is not None


_SPACE_SIGNS = {"▁": " ", "Ġ": " ", "Ċ": "\n"}
"""What tokenizers write for white space, and services show."""


def plain(token: str) -> str:
    """A token as it is written in a text."""
    return "".join(_SPACE_SIGNS.get(character, character) for character in token)


def bare(token: str) -> str:
    """What a token says: without white space and bytes that are no character, in lower case."""
    return plain(token).strip(" \t\n\r\ufffd").lower()


def until(stop: str, text: str) -> str:
    """The text up to where `stop` stands after something else than white space and thoughts."""
    thoughts = [found.end() for found in _THOUGHT_ENDS.finditer(text)]
    begin = thoughts[-1] if thoughts else 0
    if not stop or _THOUGHT_OPENS.search(text, begin):
        return text
    said = text[begin:]
    at = said.find(stop, len(said) - len(said.lstrip()))
    return text if at < 0 else text[: begin + at]


@dataclass(frozen=True, slots=True)
class Served:
    """What a service said of a call.

    model:             the name by which it calls the model that answered. fingerprint: its name for the model's set-up.
    prompt_tokens, completion_tokens: as it counts them; over several calls for one prompt, their sum. None: not counted.
    in_vain:           of the prompt_tokens, those of calls that brought nothing and may have to be paid for, as estimated here.
    seconds:           how long the call that gave the answer took, or the last one.
    attempts:          how many calls it took; 0, with no tokens, where the answer to an identical prompt was taken.
    """

    model: str | None = None
    fingerprint: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float = 0.0
    attempts: int = 1
    in_vain: int = 0


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model said.

    text:    its words, untouched; None when the call failed.
    p_true:  probability, from 0 to 1, of its True words over that of its True and False words at the answer position;
             None where the model gives no probabilities.
    p_mass:  probability that the True and the False words hold together.
    failure: why the call failed, or None. A failure is not an answer.
    p_low, p_high: between them lies `p_true`, whatever the alternatives are that a service did not show; None where all are
             known.
    cut:     why a service ended the reply before it was whole: LENGTH, or CONTENT_FILTER.
    served:  what a service said of the call; None for a model on this machine.
    """

    text: str | None
    p_true: float | None = None
    p_mass: float | None = None
    failure: str | None = None
    p_low: float | None = None
    p_high: float | None = None
    cut: str | None = None
    served: Served | None = None
