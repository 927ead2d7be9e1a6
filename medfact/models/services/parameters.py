"""The parameters sent to a service, and how they change when it refuses one, in the words of many services."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from medfact.models.effort import THINKING_BUDGETS, Forms, effort_forms
from medfact.models.prompt import MOST_THINKING_TOKENS, REPLY_TOKENS, THINKING_STEP, THINKING_TOKENS, Message, Prompt
from medfact.models.services.named import seed_name_at
from medfact.models.services.policy import address_of
from medfact.models.services.prices import tokens_in
from medfact.models.services.reply_limits import named_limit
from medfact.models.services.settings import ServiceSettings

CUT_BEFORE_ANSWER = (
    "Replies were cut off before they answered, as of a model that thinks: medfact asks these again, and allows longer ones. "
    "The calls for them are counted, too."
)
"""A note for the reader of a run."""

NO_ROOM = "The service has no room for longer replies, and does not say how long they may be: medfact tries how long."
"""The same."""

LEAST_REPLY_TOKENS = 16
"""Tokens that a reply needs: a prompt that leaves fewer is too long."""

CLOSE_ENOUGH = 16
"""A limit is sought until it is known to one part in this many."""

WORTH_A_CALL = 64
"""A reply that was cut is not asked again for less than one part more in this many."""

EFFORT_REFUSED = "The service does not accept an effort for this model"
"""How a note begins where nothing could be said of the effort."""

LIMIT_NAMES = ("max_tokens", "max_completion_tokens")

FEWER_ALTERNATIVES = 5
"""Alternatives requested next, when a service wants fewer but does not say how many."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """What is sent with a prompt. None leaves a parameter to the service.

    max_tokens: set by the user; None takes the prompt's own limit. limit_name, seed_name: the service's
                names for these parameters.
    messages:   the model takes messages; otherwise it completes a text.
    stop:       the service is told where a completed text ends. In a chat it never is: it would stop within the thinking.
    effort:     the ways to say how much the model is to think, the first of which is sent.
    thinking_tokens: the limit of a reply as it was raised for thinking, or lowered where there was no room; 0 before that.
    most_thinking:   how far it may be raised.
    context:         most tokens of prompt and reply together, as the service named it; 0 before that.
    uncounted:       tokens that prompts have beyond their estimate, as the service counts them.
    prompt_tokens:   those of this prompt, as the service has counted them; 0 where it has not.
    used_up, refused: the longest limit that a reply has used up, and the shortest that was refused and is no room that the
                     service named; 0 for none.
    """

    temperature: float | None
    top_logprobs: int | None
    max_tokens: int | None
    seed: int | None
    limit_name: str | None = "max_tokens"
    seed_name: str = "seed"
    messages: bool = True
    stop: bool = True
    effort: Forms = field(default=(), hash=False)
    thinking_tokens: int = 0
    most_thinking: int = MOST_THINKING_TOKENS
    context: int = 0
    uncounted: int = 0
    prompt_tokens: int = 0
    used_up: int = 0
    refused: int = 0

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Parameters:
        """Parameters from their JSON record."""
        return cls(**{**record, "effort": tuple(record.get("effort", ()))})

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
            body[self.seed_name] = self.seed + repeat
        if self.sends_stop(prompt):
            body["stop"] = [prompt.stop]
        if self.messages and self.effort:
            body |= self.effort[0]
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
        limit = min(max(self.least_tokens, prompt.max_tokens), self.most_thinking)
        tokens = self.prompt_tokens or tokens_in(prompt.content) + self.uncounted
        room = self.context - tokens if self.context else limit
        return min(limit, room) if room >= LEAST_REPLY_TOKENS else limit

    @property
    def least_tokens(self) -> int:
        """The limit of a chat's reply, unless its prompt takes more."""
        usual = THINKING_TOKENS if self.limit_name == "max_completion_tokens" else REPLY_TOKENS
        return self.thinking_tokens or usual

    @property
    def without_limits(self) -> Parameters:
        """The same for replies of any length."""
        shortest = replace(self.of_any_prompt, thinking_tokens=0, most_thinking=MOST_THINKING_TOKENS)
        return replace(shortest, context=0, uncounted=0, used_up=0, refused=0)

    @property
    def of_any_prompt(self) -> Parameters:
        return replace(self, prompt_tokens=0)

    def with_room(self, prompt: Prompt, *, thinks: bool, prompt_tokens: int = 0) -> tuple[Parameters, str] | None:
        """The parameters with a higher limit, after one that cut a reply, and a note; None where it is not raised.

        thinks: the reply shows thinking; otherwise it may be thinking in the open, which is given less. prompt_tokens: as the
        service counts them.
        """
        limit, most = self.token_limit(prompt), self.most_thinking if thinks else min(self.most_thinking, THINKING_TOKENS)
        if self.max_tokens is not None or not self.messages or self.limit_name is None or limit >= most:
            return None
        longer = (limit + self.refused) // 2 if self.refused else limit * THINKING_STEP
        if self.refused and longer - limit < limit // CLOSE_ENOUGH:
            return None
        uncounted = max(prompt_tokens - tokens_in(prompt.content), 0)
        raised = replace(self, prompt_tokens=prompt_tokens, uncounted=uncounted, used_up=max(self.used_up, limit))
        raised = replace(raised, thinking_tokens=max(min(longer, most), self.thinking_tokens))
        gain = raised.token_limit(prompt) - limit
        return (raised, CUT_BEFORE_ANSWER) if gain > limit // WORTH_A_CALL else None

    def with_less_room(self, prompt: Prompt, message: str) -> tuple[Parameters, str] | None:
        """The parameters with a lower limit, after one that was refused, and a note: the room that the refusal names, else half
        way down to a limit that was accepted. None where the prompt alone is too long.
        """
        limit = self.token_limit(prompt)
        reply, context, tokens = named_limit(message, limit)
        if reply is not None and LEAST_REPLY_TOKENS <= reply < limit:
            return self._at_most(reply), f"The service allows at most {reply:,} tokens in a reply."
        if context is not None:
            estimate = tokens_in(prompt.content)
            beyond = max(self.uncounted, (tokens or 0) - estimate)
            room = context - (tokens or self.prompt_tokens or estimate + beyond)
            note = f"The service has room for {context:,} tokens of prompt and reply together."
            if tokens and room < LEAST_REPLY_TOKENS:
                return None
            if LEAST_REPLY_TOKENS <= room < limit and (self.max_tokens is not None or not self.messages):
                return self._at_most(room), note
            if LEAST_REPLY_TOKENS <= room < limit:
                return replace(self, context=context, uncounted=beyond, prompt_tokens=tokens or self.prompt_tokens), note
        return self._half_way_down(limit)

    def _at_most(self, limit: int) -> Parameters:
        if self.max_tokens is not None or not self.messages:
            return replace(self, max_tokens=limit)
        return replace(self, thinking_tokens=limit, most_thinking=limit)

    def _half_way_down(self, limit: int) -> tuple[Parameters, str] | None:
        if self.max_tokens is not None or not self.messages or limit <= REPLY_TOKENS:
            return None
        accepted = self.used_up if self.used_up < limit else REPLY_TOKENS
        half = (accepted + limit) // 2
        lower = half if half - accepted >= accepted // CLOSE_ENOUGH else accepted
        return replace(self, thinking_tokens=lower, most_thinking=limit - 1, refused=limit), NO_ROOM


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
        seed_name="seed" if settings.seed is None else seed_name_at(address_of(settings).base),
        messages=not settings.completions,
        effort=effort_forms(address_of(settings).base, settings.effort) if settings.effort else (),
        thinking_tokens=room_for(settings.effort),
    )


def room_for(effort: str | None) -> int:
    """The limit of a reply to begin with where a model is told to think; 0 where it is not."""
    return THINKING_BUDGETS[effort] + THINKING_TOKENS if effort in THINKING_BUDGETS else 0


# --------------------------------------------------------------------------------------------------------------- refused ones

PARAMETER = re.compile(
    r"(?:top[ _-]?)?(?:num[ _-]?)?log[ _-]?prob(?:abilitie)?s?|top_n_tokens|n_probs"
    r"|max[ _-]?(?:new|output|completion)?[ _-]?tokens"
    r"|(?<![a-z])(?:temperature|seed|stop)(?![a-z])|reasoning[ _-]effort|chat_template_kwargs",
    re.IGNORECASE,
)
"""Parameters named in a refusal that can be left out, lowered or replaced."""

TOO_LONG = re.compile(
    r"context.{0,20}(?:length|window|size|limit)|too (?:long|many tokens)|maximum (?:context|sequence)|token limit"
    r"|sequence length|(?:number of|total) tokens",
    re.IGNORECASE,
)
"""A complaint about the length of the prompt or of its reply, whichever parameters it mentions."""

REQUEST_TOO_LARGE = re.compile(
    r"request (?:body )?(?:is |was )?too large|tokens must be reduced|reduce (?:your|the) (?:message size|length|prompt)"
    r"|context.{0,20}length",
    re.IGNORECASE,
)
"""The same, where it is sent with a status that may pass: no later call would do better."""

_TOO_MUCH = re.compile(
    r"too (?:large|high|big|long|much|many)|exceed|beyond|at most|up to|no more|maximum|limit|range"
    r"|between|\boutside\b|allowed|[<>≤]"
    r"|(?:less|greater|larger|lower|higher|smaller|fewer) than",
    re.IGNORECASE,
)
"""A complaint about a number, rather than about a parameter's name."""

_NAME_REFUSED = re.compile(
    r"unsupported|(?:not|n't|no longer) (?:be )?(?:supported|support|recogni[sz]ed|permitted|accepted|known|exist"
    r"|valid for|implemented)"
    r"|\bunknown|unrecogni[sz]ed|unexpected|deprecated|\binstead\b|\bextra\b|\buse\b.{0,12}max_completion_tokens",
    re.IGNORECASE,
)
"""A complaint about a parameter's name."""

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
    if name.endswith("seed"):
        return "seed"
    if name.startswith("max") and name.endswith("tokens"):
        return "max_completion_tokens" if "completion" in name else "max_tokens"
    return name


def limit_in(words: str, requested: int) -> int | None:
    """The number below the one requested that a refusal says is allowed; None where it says none. It may quote both."""
    return max((number for number in map(int, _LIMIT.findall(words)) if number < requested), default=None)


_NO_PROMPT = Prompt("", ((), ()))


def without_refused(
    parameters: Parameters, message: str, named: str | None = None, prompt: Prompt = _NO_PROMPT
) -> tuple[Parameters, str] | None:
    """The parameters without the one that a service refuses, and a note for the user; None if it refuses something else.

    Args:
        message: the service's words. named: the parameter that it names in a field of its own. prompt: of the call.
    """
    if TOO_LONG.search(message) or REQUEST_TOO_LARGE.search(message):
        return parameters.with_less_room(prompt, message)
    if named in _keys_of_effort(parameters):
        return _without_effort(parameters)
    for name in parameters_named(message, named):
        if (change := _without(parameters, name, message, prompt)) is not None:
            return change
    return _without_effort(parameters) if any(key in message for key in _keys_of_effort(parameters)) else None


def _keys_of_effort(parameters: Parameters) -> set[str]:
    """What a refusal may name of the effort that is sent."""
    sent = parameters.effort[0] if parameters.effort else {}
    inner = {f"{name}.{key}" for name, value in sent.items() if isinstance(value, Mapping) for key in value}
    return {*sent, *inner}


def _without_effort(parameters: Parameters) -> tuple[Parameters, str]:
    """The next way to say how much the model is to think, or none."""
    refused, *others = parameters.effort
    names = " and ".join(refused)
    if others:
        return replace(parameters, effort=tuple(others)), f"The service does not accept {names}; medfact says it otherwise."
    return replace(parameters, effort=()), f"{EFFORT_REFUSED} ({names}), so the model thinks as much as it does by itself."


def _without(parameters: Parameters, name: str, message: str, prompt: Prompt) -> tuple[Parameters, str] | None:
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
    if name in LIMIT_NAMES and parameters.limit_name:
        return _without_limit(parameters, name, message, prompt)
    return None


def _without_limit(parameters: Parameters, name: str, message: str, prompt: Prompt) -> tuple[Parameters, str] | None:
    """A lower limit where a refusal is about its number, else its other name, or none. One that does not say what it minds is
    about the number as long as that can be lowered.
    """
    was_taken = parameters.used_up > 0
    is_of_name = name == parameters.limit_name and not was_taken and _NAME_REFUSED.search(message) is not None
    if not is_of_name and (shorter := parameters.with_less_room(prompt, message)) is not None:
        return shorter
    if name != parameters.limit_name or (_TOO_MUCH.search(message) and not is_of_name):
        return None
    if name == "max_tokens":
        note = "For this model, the service limits replies by max_completion_tokens, which includes thinking."
        return replace(parameters, limit_name="max_completion_tokens"), note
    return replace(parameters, limit_name=None), "The service does not accept a limit on reply length for this model."


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
