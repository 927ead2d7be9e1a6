"""The parameters sent to a service, and how they change when it refuses one, in the words of many services."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from medfact.models.prompt import REPLY_TOKENS, THINKING_TOKENS, Message, Prompt
from medfact.models.services.settings import ServiceSettings

FEWER_ALTERNATIVES = 5
"""Alternatives requested next, when a service wants fewer but does not say how many."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """What is sent with a prompt. None leaves a parameter to the service.

    max_tokens: set by the user; None takes the prompt's own limit. limit_name: the service's name for that parameter.
    messages:   the model takes messages; otherwise it completes a text.
    stop:       the service is told where a completed text ends. In a chat it never is: it would stop within the thinking.
    """

    temperature: float | None
    top_logprobs: int | None
    max_tokens: int | None
    seed: int | None
    limit_name: str | None = "max_tokens"
    messages: bool = True
    stop: bool = True

    @property
    def path(self) -> str:
        """Where prompts go, after the base URL."""
        return "/chat/completions" if self.messages else "/completions"

    def body(self, prompt: Prompt, repeat: int = 0) -> dict[str, Any]:
        """The body of a request, without the model's name. Each repeat has its own seed."""
        body: dict[str, Any] = {"messages": messages_of(prompt)} if self.messages else {"prompt": _text_of(prompt)}
        body["temperature"] = self.temperature
        if self.top_logprobs is not None:
            alternatives = {"logprobs": True, "top_logprobs": self.top_logprobs}
            body |= alternatives if self.messages else {"logprobs": self.top_logprobs}
        if self.limit_name:
            body[self.limit_name] = self.token_limit(prompt)
        if self.seed is not None:
            body["seed"] = self.seed + repeat
        if self.sends_stop(prompt):
            body["stop"] = [prompt.stop]
        return {name: value for name, value in body.items() if value is not None}

    def sends_stop(self, prompt: Prompt) -> bool:
        return self.stop and bool(prompt.stop) and not self.messages

    def token_limit(self, prompt: Prompt) -> int:
        """Most tokens in a reply: in a chat REPLY_TOKENS, and more where thinking counts too; of a completed text at first as
        many as are mostly enough.
        """
        if self.max_tokens is not None:
            return self.max_tokens
        if not self.messages:
            return prompt.enough_tokens or prompt.max_tokens
        least = THINKING_TOKENS if self.limit_name == "max_completion_tokens" else REPLY_TOKENS
        return max(least, prompt.max_tokens)


def messages_of(prompt: Prompt) -> list[Message]:
    """A prompt as messages; a text becomes one user message."""
    return [{"role": "user", "content": prompt.content}] if isinstance(prompt.content, str) else [*prompt.content]


def _text_of(prompt: Prompt) -> str:
    return prompt.content if isinstance(prompt.content, str) else "\n".join(turn["content"] for turn in prompt.content)


def parameters_of(settings: ServiceSettings) -> Parameters:
    """The parameters to try first. Repeated answers are sampled, so they use the service's own temperature."""
    sampled = bool(settings.repeats)
    return Parameters(
        temperature=None if sampled else settings.temperature,
        top_logprobs=None if sampled else settings.top_logprobs or None,
        max_tokens=settings.max_tokens,
        seed=settings.seed,
        messages=not settings.completions,
    )


# --------------------------------------------------------------------------------------------------------------- refused ones

PARAMETER = re.compile(
    r"(?:top[ _-]?)?(?:num[ _-]?)?log[ _-]?prob(?:abilitie)?s?|top_n_tokens|n_probs"
    r"|max[ _-]?(?:new|output|completion)?[ _-]?tokens"
    r"|(?<![a-z])(?:temperature|seed|stop)(?![a-z])",
    re.IGNORECASE,
)
"""Parameters named in a refusal that can be left out, lowered or replaced."""

TOO_LONG = re.compile(r"context.{0,20}length|too (?:long|many tokens)|maximum context", re.IGNORECASE)
"""A complaint about the length of the prompt, whichever parameters it mentions."""

_LIMIT = re.compile(
    r"(?:<=?|≤|less than(?: or equal to)?|at most|no more than|not exceed|up to|max(?:imum)?(?: \w+){0,3}?(?: is)?"
    r"|(?:between|from) \d+ (?:and|to)|\[\d+,)\W{0,3}(\d{1,6})\b",
    re.IGNORECASE,
)
"""A phrase that says how much is allowed."""


def parameters_named(words: str, field: str | None = None) -> list[str]:
    """The parameters that a refusal names, by the protocol's names. field: the one that stands in a field of its own."""
    found = [*([field] if field else []), *PARAMETER.findall(words)]
    return list(dict.fromkeys(map(_protocol_name, found)))


def _protocol_name(found: str) -> str:
    name = re.sub(r"[^a-z]", "", found.lower())
    if "prob" in name or name == "topntokens":
        return "top_logprobs" if name.startswith(("top", "nprobs", "num")) else "logprobs"
    if name.startswith("max") and name.endswith("tokens"):
        return "max_completion_tokens" if "completion" in name else "max_tokens"
    return name


def limit_in(words: str, requested: int) -> int | None:
    """The number below the one requested that a refusal says is allowed; None where it says none. It may quote both."""
    return max((number for number in map(int, _LIMIT.findall(words)) if number < requested), default=None)


def without_refused(parameters: Parameters, message: str, named: str | None = None) -> tuple[Parameters, str] | None:
    """The parameters without the one that a service refuses, and a note for the user; None if it refuses something else.

    Args:
        message: the service's words. named: the parameter that it names in a field of its own.
    """
    if TOO_LONG.search(message):
        return None
    for name in parameters_named(message, named):
        if (change := _without(parameters, name, message)) is not None:
            return change
    return None


def _without(parameters: Parameters, name: str, message: str) -> tuple[Parameters, str] | None:
    alternatives = parameters.top_logprobs
    if name == "temperature" and parameters.temperature is not None:
        note = "The service does not accept a temperature for this model, so its default is used."
        return replace(parameters, temperature=None), note
    if name == "stop" and parameters.stop:
        note = "The service does not accept a stop sequence for this model, so medfact cuts the replies itself."
        return replace(parameters, stop=False), note
    if name == "seed" and parameters.seed is not None:
        return replace(parameters, seed=None), "The service does not accept a seed for this model."
    if name in ("top_logprobs", "logprobs") and alternatives is not None:
        says_how_many = limit_in(message, alternatives) is not None
        if name == "top_logprobs" or says_how_many or not parameters.messages:
            return _fewer_alternatives(parameters, alternatives, message)
        return without_logprobs(parameters)
    if name == parameters.limit_name and "too large" in message.lower():
        allowed = limit_in(message, parameters.max_tokens or THINKING_TOKENS)
        note = f"The service allows at most {allowed} tokens in a reply."
        return (replace(parameters, max_tokens=allowed), note) if allowed else None
    if name == "max_tokens" and parameters.limit_name == name:
        note = "For this model, the service limits replies by max_completion_tokens, which includes thinking."
        return replace(parameters, limit_name="max_completion_tokens"), note
    if name == "max_completion_tokens" and parameters.limit_name == name:
        return replace(parameters, limit_name=None), "The service does not accept a limit on reply length for this model."
    return None


def without_logprobs(parameters: Parameters) -> tuple[Parameters, str]:
    """The parameters without log-probabilities, and a note for the user."""
    note = "The service returns no log-probabilities for this model, so P(True) is unknown."
    return replace(parameters, top_logprobs=None), note


def _fewer_alternatives(parameters: Parameters, requested: int, message: str) -> tuple[Parameters, str]:
    """As many alternatives as the refusal allows; it may also quote the number requested."""
    allowed = limit_in(message, requested)
    if allowed is None:
        numbers = map(int, re.findall(r"\b\d{1,2}\b", message))
        allowed = max((number for number in numbers if 1 <= number < requested), default=FEWER_ALTERNATIVES)
    if 0 < allowed < requested:
        return replace(parameters, top_logprobs=allowed), f"The service returns at most {allowed} alternatives per token."
    return replace(parameters, top_logprobs=None), "The service returns no alternative tokens, so P(True) is unknown."
