"""What goes into a model and what comes out."""

from __future__ import annotations

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
    """

    content: str | tuple[Message, ...]
    choices: tuple[tuple[str, ...], tuple[str, ...]]
    statement: str = ""
    stop: str = ""
    max_tokens: int = 16
    settled_after: int | None = 1


@dataclass(frozen=True, slots=True)
class Served:
    """What a service said of a call.

    model:             the name by which it calls the model that answered. fingerprint: its name for the model's set-up.
    prompt_tokens, completion_tokens: as it counts them; over several calls for one prompt, their sum. None: not counted.
    seconds:           how long the call that gave the answer took, or the last one.
    attempts:          how many calls it took; 0, with no tokens, where the answer to an identical prompt was taken.
    """

    model: str | None = None
    fingerprint: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    seconds: float = 0.0
    attempts: int = 1


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
    cut:     why a service ended the reply before it was whole, "length" or "content_filter": such a reply is unreadable.
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
