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
    """Exactly what a model gets: plain text, or messages. `choices` are its True words and its False words."""

    content: str | tuple[Message, ...]
    choices: tuple[tuple[str, ...], tuple[str, ...]]

    @property
    def question(self) -> str:
        """The part that asks: the last line of the text, or of the last message."""
        text = self.content if isinstance(self.content, str) else self.content[-1]["content"]
        return text.rsplit("\n", 1)[-1]


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model said.

    text:    its words, untouched; None when the call failed.
    p_true:  probability, from 0 to 1, of its True words over that of its True and False words at the answer position;
             None where the model gives no probabilities.
    p_mass:  probability that the True and the False words hold together.
    failure: why the call failed, or None. A failure is not an answer.
    """

    text: str | None
    p_true: float | None = None
    p_mass: float | None = None
    failure: str | None = None
