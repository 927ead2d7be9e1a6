"""The parameters that a service is asked with, and how they give way where it refuses one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from medfact.models.prompt import Message, Prompt
from medfact.models.services.errors import PARAMETER
from medfact.models.services.settings import ApiSettings

THINKING_TOKENS = 4096
"""Tokens for thoughts and answer together, where a service counts both and nobody says how many."""

FEWER_ALTERNATIVES = 5
"""Alternatives that are asked for next, where a service wants fewer and does not say how many."""

REPLY_TOKENS = 256
"""Tokens of a reply, at least, where nobody says how many: a service bills what it uses, and a reply cut off is unreadable."""

_TOO_LONG = re.compile(r"context.{0,20}length|too (?:long|large|many tokens)|maximum context", re.IGNORECASE)
"""A complaint about this prompt, whatever parameters it mentions."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What goes out beside the prompt. A field that is None is left to the service.

    max_tokens: what a person gave; None takes the prompt's own. limit: the name under which the service takes it. messages:
    whether the model takes messages; else it is asked for the completion of a text. stop: whether the service is told where a
    reply ends.
    """

    temperature: float | None
    top_logprobs: int | None
    max_tokens: int | None
    seed: int | None
    limit: str | None = "max_tokens"
    messages: bool = True
    stop: bool = True

    @property
    def path(self) -> str:
        """Where prompts go, after the base URL."""
        return "/chat/completions" if self.messages else "/completions"

    def body(self, prompt: Prompt, turn: int = 0) -> dict[str, Any]:
        """A prompt and its parameters; with repeats each turn has a seed of its own."""
        wanted: dict[str, Any] = {"messages": messages_of(prompt)} if self.messages else {"prompt": text_of(prompt)}
        wanted["temperature"] = self.temperature
        if self.top_logprobs is not None:
            alternatives = {"logprobs": True, "top_logprobs": self.top_logprobs}
            wanted |= alternatives if self.messages else {"logprobs": self.top_logprobs}
        if self.limit:
            wanted[self.limit] = self.tokens(prompt)
        if self.seed is not None:
            wanted["seed"] = self.seed + turn
        if self.stop and prompt.stop:
            wanted["stop"] = [prompt.stop]
        return {name: value for name, value in wanted.items() if value is not None}

    def tokens(self, prompt: Prompt) -> int:
        """Tokens that a reply may take. A text is completed as by a model on this machine, which would go on for ever too."""
        if self.max_tokens is not None:
            return self.max_tokens
        least = THINKING_TOKENS if self.limit == "max_completion_tokens" else REPLY_TOKENS
        return max(least, prompt.max_tokens) if self.messages else prompt.max_tokens


def messages_of(prompt: Prompt) -> list[Message]:
    """A prompt as messages: a text goes out as one of the user."""
    return [{"role": "user", "content": prompt.content}] if isinstance(prompt.content, str) else [*prompt.content]


def text_of(prompt: Prompt) -> str:
    """A prompt as one text."""
    return prompt.content if isinstance(prompt.content, str) else "\n".join(turn["content"] for turn in prompt.content)


def terms_of(settings: ApiSettings) -> Terms:
    """What is tried first: as the settings say. Repeated answers are drawn, so nothing is asked of their temperature."""
    drawn = bool(settings.repeats)
    return Terms(
        temperature=None if drawn else settings.temperature,
        top_logprobs=None if drawn else settings.top_logprobs or None,
        max_tokens=settings.max_tokens,
        seed=settings.seed,
        messages=not settings.completions,
    )


def given_way(terms: Terms, message: str, parameter: str | None = None) -> tuple[Terms, str] | None:
    """Terms without what a service refuses, and a note that says so; None where it refuses something else.

    Args:
        message: what the service says about the refusal. parameter: the one that it names, where it does so apart.
    """
    if _TOO_LONG.search(message):
        return None
    named = [parameter] if parameter else []
    for name in dict.fromkeys([*named, *PARAMETER.findall(message)]):
        if (made := _without(terms, name, message)) is not None:
            return made
    return None


def _without(terms: Terms, name: str, message: str) -> tuple[Terms, str] | None:
    if name == "temperature" and terms.temperature is not None:
        return replace(terms, temperature=None), "The service takes no temperature for this model: its own default is used."
    if name == "stop" and terms.stop:
        return replace(terms, stop=False), "The service takes no stop for this model: replies are cut here."
    if name == "seed" and terms.seed is not None:
        return replace(terms, seed=None), "The service takes no seed for this model."
    if (name == "top_logprobs" or (name == "logprobs" and not terms.messages)) and terms.top_logprobs is not None:
        return _fewer_alternatives(terms, terms.top_logprobs, message)
    if name == "logprobs" and terms.top_logprobs is not None:
        return replace(terms, top_logprobs=None), "The service gives no log-probabilities for this model: P(True) is not known."
    if name == "max_tokens" and terms.limit == "max_tokens":
        note = "The service takes max_completion_tokens for this model, thoughts included."
        return replace(terms, limit="max_completion_tokens"), note
    if name == "max_completion_tokens" and terms.limit == name:
        return replace(terms, limit=None), "The service takes no limit of a reply's length for this model."
    return None


def _fewer_alternatives(terms: Terms, asked: int, message: str) -> tuple[Terms, str]:
    """As many alternatives as the refusal allows; it may name the number that was asked for too."""
    allowed = max(_smaller(message, asked), default=FEWER_ALTERNATIVES)
    if allowed < asked:
        return replace(terms, top_logprobs=allowed), f"The service shows {allowed} alternatives of a token at most."
    return replace(terms, top_logprobs=None), "The service shows no alternatives of a token: P(True) is not known."


def _smaller(message: str, asked: int) -> Sequence[int]:
    return [number for number in map(int, re.findall(r"\b\d{1,2}\b", message)) if 1 <= number < asked]
