"""Pressure: after its answer a model is pushed, in one or two further turns, and asked again.

A push says nothing of the fact and goes against whatever was answered, so that yielding to the truth and giving it up can be
told apart. The texts stand in `assets/pressure.yaml`, each with its source.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import yaml

from medfact.assets import ASSETS
from medfact.models.prompt import Message, Prompt
from medfact.models.thinking import without_thinking

POOL = ASSETS / "pressure.yaml"

CONTROL = "control"
"""The push that pushes nowhere: the answer is asked for once more."""

PRESSURES: Mapping[str, str] = {
    "doubt": "“Are you sure?”",
    "authority": "“My professor says otherwise”",
    "guideline": "“Current guidelines say otherwise”",
}
"""Kind of pressure → what it says, in short, for the page."""

ROUNDS = 2
"""Pushes in a row, each after the reply to the one before."""


@dataclass(frozen=True, slots=True)
class Push:
    """A turn that pushes. kind: of PRESSURES, or CONTROL. round: from 1. text: as it is said. source: whose words they are."""

    kind: str
    round: int
    text: str
    source: str


@dataclass(frozen=True, slots=True)
class Replied:
    """A reply of the conversation so far. text: as the model gave it. answer: what was read of it, None if it is unreadable."""

    text: str
    answer: bool | None

    @property
    def is_empty(self) -> bool:
        """Whether nothing but thinking is there, so that no turn can follow."""
        return not without_thinking(self.text).strip()


@cache
def pushes(file: Path = POOL) -> Mapping[str, tuple[Push, ...]]:
    """Kind → its pushes, a round each, the control first. Raises ValueError where the pool lacks a kind or a round."""
    pool = yaml.safe_load(file.read_text(encoding="utf-8"))
    made = {
        kind: tuple(Push(kind, turn, f"{row['text']} {pool['request']}", row["source"]) for turn, row in enumerate(rows, 1))
        for kind, rows in pool["kinds"].items()
    }
    if list(made) != [CONTROL, *PRESSURES] or {len(rounds) for rounds in made.values()} != {ROUNDS}:
        raise ValueError(f"{file.name} must hold {ROUNDS} rounds of {CONTROL}, {', '.join(PRESSURES)}, in this order.")
    return made


def kinds_asked(chosen: Collection[str]) -> tuple[str, ...]:
    """The kinds of pushes that a run asks, the control first; none where no pressure is chosen."""
    return (CONTROL, *(kind for kind in PRESSURES if kind in chosen)) if chosen else ()


def most_pushes(chosen: Collection[str], statements: int) -> int:
    """How many pushes a run of so many statements asks, at most: an answer that cannot be read is not pushed."""
    return statements * len(kinds_asked(chosen)) * ROUNDS


def calls_of(chosen: Collection[str], statements: int) -> int:
    """How often a model is asked in a run of so many statements, at most: once each, and after each push."""
    return statements + most_pushes(chosen, statements)


def pressed(prompt: Prompt, replies: Sequence[Replied], said: Sequence[Push], *, chat: bool) -> Prompt:
    """The prompt of a push: the conversation so far, and the push.

    Args:
        prompt: of the statement. replies: those so far, of which the last is pushed. said: as many pushes, of which the last is
            still to come.
        chat: whether the push is a turn of a chat. Otherwise the text goes on as a demonstration would, with the answer in the
            format's own words.
    """
    if not chat:
        return replace(prompt, content=_text(prompt, replies, said))
    first: tuple[Message, ...] = (
        ({"role": "user", "content": prompt.content},) if isinstance(prompt.content, str) else prompt.content
    )
    turns: list[Message] = []
    for reply, push in zip(replies, said, strict=True):
        turns.append({"role": "assistant", "content": without_thinking(reply.text).strip()})
        turns.append({"role": "user", "content": push.text})
    return replace(prompt, content=(*first, *turns))


_LEAD = "\nAnswer:"
"""What some questions end with: the answer follows it."""


def _text(prompt: Prompt, replies: Sequence[Replied], said: Sequence[Push]) -> str:
    text = prompt.content if isinstance(prompt.content, str) else "\n".join(turn["content"] for turn in prompt.content)
    lead = _LEAD if text.endswith(_LEAD) else ""
    for reply, push in zip(replies, said, strict=True):
        text += f"{_answered(prompt, reply)}\n{push.text}{lead}"
    return text


def _answered(prompt: Prompt, reply: Replied) -> str:
    """A reply as a demonstration writes it; of an unreadable one its first line."""
    if reply.answer is not None:
        return prompt.answers[0 if reply.answer else 1]
    return f" {without_thinking(reply.text).strip().partition(chr(10))[0].strip()}"
