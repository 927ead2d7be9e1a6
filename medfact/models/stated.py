"""P(True) as a model states it: after its answer it is asked, in a second turn, how sure it is."""

from __future__ import annotations

import re
from dataclasses import replace

from medfact.models.prompt import Completion, Message, Prompt, is_whole
from medfact.models.thinking import without_thinking

NUMBER_TOKENS = 16
"""Most tokens of a number that a text goes on with."""

LONGEST = 200
"""Characters kept of what a model says of how sure it is."""

_SCALE = re.compile(r"(?:\bout of|/|\bof)\s*100\b|\b(?:from\s+)?0\s*(?:to|and|[-–])\s*100\b", re.IGNORECASE)
"""The scale, which some models repeat."""

_NUMBER = re.compile(r"(?<![\w.,+–-])\d{1,3}(?:\.\d+)?(?![\w,–-]|\.\d)")
_ANY_DIGITS = re.compile(r"\d+")


def sureness_in(reply: str) -> float | None:
    """The number from 0 to 100 in a reply; None where there is none, or more than one. A fraction of 1 such as
    “0.85” may mean either scale, so that it is none.
    """
    text = _SCALE.sub(" ", without_thinking(reply))
    numbers = _NUMBER.findall(text)
    if len(numbers) != 1 or len(_ANY_DIGITS.findall(text.replace(numbers[0], "", 1))) > 0:
        return None
    value = float(numbers[0])
    is_fraction = "." in numbers[0] and value <= 1
    return None if is_fraction or value > 100 else value


def answer_of(prompt: Prompt, reply: Completion) -> bool | None:
    """The answer of a reply; None where it cannot be read, or there is none."""
    return read_text(prompt, reply.text, reply.cut)


def read_text(prompt: Prompt, text: str | None, cut: str | None) -> bool | None:
    """The same of a reply's text. cut: as in `Completion`."""
    return prompt.reads(text) if text is not None and is_whole(text, cut, prompt.settles) else None


def second_turn(prompt: Prompt, reply: Completion, *, chat: bool) -> Prompt | None:
    """The prompt that asks how sure a model is of its answer; None where that is not asked, or there is no answer.

    chat: it takes messages; otherwise the text goes on with the question.
    """
    if not prompt.second or answer_of(prompt, reply) is None:
        return None
    said = without_thinking(reply.text or "").strip()
    asked = replace(
        prompt,
        second="",
        stop="",
        settled_after=None,
        enough_tokens=None,
        place=lambda reply: None,
        reads=lambda said: None if sureness_in(said) is None else True,
    )
    if chat:
        first: tuple[Message, ...] = (
            ({"role": "user", "content": prompt.content},) if isinstance(prompt.content, str) else prompt.content
        )
        turns: tuple[Message, ...] = ({"role": "assistant", "content": said}, {"role": "user", "content": prompt.second})
        return replace(asked, content=(*first, *turns))
    content = prompt.content if isinstance(prompt.content, str) else "\n".join(turn["content"] for turn in prompt.content)
    text = f"{content.rstrip()} {said}\n{prompt.second}\nAnswer:"
    return replace(asked, content=text, stop="\n", max_tokens=NUMBER_TOKENS)


def with_stated(prompt: Prompt, reply: Completion, told: Completion | None) -> Completion:
    """A reply with the P(True) that the model states of it: sure by 80 of “true” is 0.8, and of “false” 0.2. What it does not
    say is not known, whatever else would give a probability. told: its second reply, None where it was not asked.
    """
    sure = sureness_in(told.text) if told is not None and told.text is not None and told.cut is None else None
    p_true = None if sure is None else (sure if answer_of(prompt, reply) else 100 - sure) / 100
    said = None if told is None or told.text is None else without_thinking(told.text).strip()[:LONGEST]
    mass = None if p_true is None else 1.0
    return replace(reply, p_true=p_true, p_mass=mass, p_low=None, p_high=None, stated=said)
