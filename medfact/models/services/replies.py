"""What a service's reply contains: text, P(True), why it ended, and its tokens."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from medfact.models.prompt import CONTENT_FILTER, LENGTH, Completion, Prompt, Served, until
from medfact.models.services.alternatives import AnswerProbability, answer_probability
from medfact.models.services.parameters import Parameters, parameters_of
from medfact.models.services.settings import DEFAULTS

DEFAULT_PARAMETERS = parameters_of(DEFAULTS)

MAX_BODY_BYTES = 1_000_000
"""Most bytes read of a reply, decompressed."""

MAX_REPLY_CHARACTERS, MAX_NAME_CHARACTERS = 20_000, 200
"""Most characters kept of a reply, and of a service's name for a model."""

MAX_TOKENS = 10_000_000
"""More tokens than any call can use: a larger count is an error of the service."""

_THINKING = re.compile(r"\A.*</(?:think|thinking|reasoning)>|<(?:think|thinking|reasoning)>.*\Z", re.DOTALL | re.IGNORECASE)
_OPENING = re.compile(r"\W*(?:answer\b(?:\s+is\b)?\W*)?(\w+)", re.IGNORECASE)
_CONTENT = re.compile(r'"(?:content|text)"\s*:\s*"((?:[^"\\]|\\.)*)')


class Malformed(ValueError):
    """A body that is not a reply. `is_web_page`: it is a web page."""

    def __init__(self, reason: str, *, is_web_page: bool = False) -> None:
        super().__init__(reason)
        self.is_web_page = is_web_page


def completion_of(
    body: bytes,
    prompt: Prompt,
    parameters: Parameters = DEFAULT_PARAMETERS,
    *,
    whole: bool = True,
    scrub: Callable[[str], str] = str,
) -> Completion:
    """The completion in a body: one JSON object, or the events of a stream.

    Args:
        whole: the body was read to its end. scrub: removes from a text what nobody may see.

    Raises:
        Malformed: the body is incomplete, a web page, or something else.
    """
    if body.lstrip()[:1] == b"<":
        raise Malformed("a web page instead of a reply", is_web_page=True)
    if not whole:
        return _beginning(body, prompt, scrub)
    try:
        reply = _from_events(body) if body.lstrip().startswith((b"data:", b"event:", b":")) else json.loads(body)
        choice = reply["choices"][0]
        message = choice["message"] if parameters.messages or "text" not in choice else {"content": choice["text"]}
        text = _text(message.get("content"))
        refusal = _text(message.get("refusal"))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise Malformed("an incomplete reply") from None
    probability = _probability(choice.get("logprobs"), prompt)
    # a text completion that reaches the prompt's own limit ends as it would on this machine: it was not truncated
    at_own_limit = not parameters.messages and parameters.token_limit(prompt) == prompt.max_tokens
    return Completion(
        shortened(scrub(until(prompt.stop, text or refusal))),
        probability.p_true,
        probability.p_mass,
        p_low=probability.p_low,
        p_high=probability.p_high,
        cut=_cut(choice.get("finish_reason"), bool(refusal), at_own_limit),
        served=_served(reply, scrub),
    )


def _from_events(body: bytes) -> dict[str, Any]:
    """The reply assembled from the events of a stream, which some services always send."""
    parts: list[str] = []
    positions: list[Any] = []
    reply: dict[str, Any] = {}
    choice: dict[str, Any] = {}
    for line in body.decode().splitlines():
        data = line.removeprefix("data:").strip()
        if not line.startswith("data:") or data == "[DONE]":
            continue
        event = json.loads(data)
        reply |= {name: value for name, value in event.items() if name != "choices" and value is not None}
        for part in event.get("choices") or ():
            parts.append(_text((part.get("delta") or part.get("message") or {}).get("content")) or _text(part.get("text")))
            logprobs = part.get("logprobs")
            positions += (logprobs.get("content") or []) if isinstance(logprobs, dict) else []
            choice |= {"finish_reason": part.get("finish_reason") or choice.get("finish_reason")}
    if not choice:
        raise ValueError("no event contains a choice")
    text = "".join(parts)
    logprobs = {"content": positions} if positions else None
    return {**reply, "choices": [{**choice, "message": {"content": text}, "text": text, "logprobs": logprobs}]}


def _beginning(body: bytes, prompt: Prompt, scrub: Callable[[str], str]) -> Completion:
    """The beginning of a reply that is too long to be read whole."""
    content = _CONTENT.search(body.decode(errors="replace"))
    with contextlib.suppress(ValueError):
        text = json.loads(f'"{content[1]}"', strict=False) if content else ""
        kept = scrub(until(prompt.stop, text))[:MAX_REPLY_CHARACTERS]
        return Completion(f"{kept}… [cut here: the service's reply is longer than {MAX_BODY_BYTES:,} bytes]", cut=LENGTH)
    raise Malformed("an incomplete reply")


def shortened(text: str) -> str:
    """A reply, at most MAX_REPLY_CHARACTERS of it."""
    if len(text) <= MAX_REPLY_CHARACTERS:
        return text
    return f"{text[:MAX_REPLY_CHARACTERS]}… [cut here: the reply has {len(text):,} characters]"


def _text(content: object) -> str:
    """The text of a message. Some services send it in parts; no content is an empty reply."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _cut(reason: object, refused: bool, at_own_limit: bool) -> str | None:
    if refused or reason == CONTENT_FILTER:
        return CONTENT_FILTER
    return LENGTH if reason == LENGTH and not at_own_limit else None


def _probability(logprobs: object, prompt: Prompt) -> AnswerProbability:
    if not isinstance(logprobs, dict):
        return AnswerProbability()
    positions = logprobs.get("content")
    if positions is None and isinstance(logprobs.get("tokens"), list):
        positions = _legacy_positions(logprobs)
    if not isinstance(positions, list):
        return AnswerProbability()
    return answer_probability(positions, prompt.choices, prompt.place, prompt.stop)


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


def _served(reply: dict[str, Any], scrub: Callable[[str], str]) -> Served:
    usage = reply.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Served(
        _name(reply.get("model"), scrub),
        _name(reply.get("system_fingerprint"), scrub),
        _count(usage.get("prompt_tokens")),
        _count(usage.get("completion_tokens")),
    )


def _name(value: object, scrub: Callable[[str], str]) -> str | None:
    return scrub(value)[:MAX_NAME_CHARACTERS] if isinstance(value, str) and value else None


def _count(value: object) -> int | None:
    """A number of tokens; None for anything that cannot be one."""
    return value if type(value) is int and 0 <= value <= MAX_TOKENS else None


# ------------------------------------------------------------------------------------------------ several calls, one prompt


def without_thinking(text: str) -> str:
    """A reply without its thinking."""
    return _THINKING.sub("", text)


def with_tokens_of(earlier: Served | None, served: Served | None) -> Served | None:
    """What a service reported of a call, plus the tokens of an earlier call whose reply was discarded."""
    if served is None or earlier is None:
        return served
    prompt = _sum([served.prompt_tokens, earlier.prompt_tokens])
    return replace(served, prompt_tokens=prompt, completion_tokens=_sum([served.completion_tokens, earlier.completion_tokens]))


def opening_word(text: str, choices: tuple[tuple[str, ...], tuple[str, ...]]) -> bool | None:
    """Whether a reply opens with a True word (True) or a False word (False), whole and in any case; None for neither.

    Thinking, punctuation, and a leading "Answer:" or "Answer is" are skipped. A later word never counts.
    """
    opening = _OPENING.match(without_thinking(text))
    word = opening[1].lower() if opening else ""
    for side, meaning in zip(choices, (True, False), strict=True):
        if word in {choice.lower() for choice in side}:
            return meaning
    return None


def combined(replies: Sequence[Completion], prompt: Prompt) -> Completion:
    """One completion from repeated answers: the text of the first, and P(True) from all that open with a True or False word.

    With t True and f False ones, P(True) is (t + 1/2) / (t + f + 1). `p_mass` is the share of replies that open with one. The
    completion has failed if all calls did.
    """
    answered = [reply for reply in replies if reply.text is not None]
    served = _total([reply.served for reply in replies if reply.served is not None])
    if not answered:
        return Completion(None, failure=replies[0].failure, served=served)
    words = [opening_word(reply.text or "", prompt.choices) for reply in answered if reply.cut is None]
    true, false = words.count(True), words.count(False)
    p_true = (true + 0.5) / (true + false + 1) if true + false else None
    return Completion(answered[0].text, p_true, (true + false) / len(answered), cut=answered[0].cut, served=served)


def _total(served: Sequence[Served]) -> Served | None:
    if not served:
        return None
    return replace(
        next((one for one in served if one.model), served[0]),
        prompt_tokens=_sum([one.prompt_tokens for one in served]),
        completion_tokens=_sum([one.completion_tokens for one in served]),
        attempts=sum(one.attempts for one in served),
        wasted_tokens=sum(one.wasted_tokens for one in served),
    )


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
