"""What a service's reply says: text, P(True), why it ended, what it cost."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from medfact.models.prompt import CONTENT_FILTER, LENGTH, Completion, Prompt, Served, until
from medfact.models.services.alternatives import Chances, chances
from medfact.models.services.parameters import Terms, terms_of
from medfact.models.services.settings import DEFAULTS

DEFAULT_TERMS = terms_of(DEFAULTS)

MOST_BYTES = 1_000_000
"""Of an answer, unpacked; what comes after them is not read."""

LONGEST_REPLY, LONGEST_NAME = 20_000, 200
"""Characters of a reply, and of a service's name for a model, that are kept."""

MOST_TOKENS = 10_000_000
"""More than any call can take: what a service counts beyond that is no count."""

_THOUGHTS = re.compile(r"\A.*</(?:think|thinking|reasoning)>|<(?:think|thinking|reasoning)>.*\Z", re.DOTALL | re.IGNORECASE)
_OPENING = re.compile(r"\W*(?:answer\b(?:\s+is\b)?\W*)?(\w+)", re.IGNORECASE)


class Malformed(ValueError):
    """A body that is no reply. `page`: it is a web page."""

    def __init__(self, reason: str, *, page: bool = False) -> None:
        super().__init__(reason)
        self.page = page


def completion_of(
    body: bytes, prompt: Prompt, terms: Terms = DEFAULT_TERMS, *, whole: bool = True, scrub: Callable[[str], str] = str
) -> Completion:
    """The completion that a body holds: one JSON object, or the events of a stream.

    Args:
        whole: whether the body was read to its end. scrub: takes out of a text what nobody may see.

    Raises:
        Malformed: it is cut short, a web page, or something else.
    """
    if body.lstrip()[:1] == b"<":
        raise Malformed("a web page in place of an answer", page=True)
    if not whole:
        return _beginning(body, prompt, scrub)
    try:
        reply = _from_events(body) if body.lstrip().startswith((b"data:", b"event:", b":")) else json.loads(body)
        choice = reply["choices"][0]
        message = choice["message"] if terms.messages or "text" not in choice else {"content": choice["text"]}
        text = _text(message.get("content"))
        refusal = _text(message.get("refusal"))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise Malformed("a reply that is not whole") from None
    # a text that is completed ends as one on this machine does
    as_here = not terms.messages and terms.tokens(prompt) == prompt.max_tokens
    found = _chances(choice.get("logprobs"), prompt)
    return Completion(
        as_kept(scrub(until(prompt.stop, text or refusal))),
        found.p_true,
        found.p_mass,
        p_low=found.p_low,
        p_high=found.p_high,
        cut=_cut(choice.get("finish_reason"), bool(refusal), as_here),
        served=_served(reply, scrub),
    )


def _from_events(body: bytes) -> dict[str, Any]:
    """The reply that the events of a stream make up: what a service sends that only streams."""
    parts: list[str] = []
    positions: list[Any] = []
    reply: dict[str, Any] = {}
    choice: dict[str, Any] = {}
    for line in body.decode().splitlines():
        event = line.removeprefix("data:").strip()
        if not line.startswith("data:") or event == "[DONE]":
            continue
        told = json.loads(event)
        reply |= {name: value for name, value in told.items() if name != "choices" and value is not None}
        for part in told.get("choices") or ():
            parts.append(_text((part.get("delta") or part.get("message") or {}).get("content")) or _text(part.get("text")))
            logprobs = part.get("logprobs")
            positions += (logprobs.get("content") or []) if isinstance(logprobs, dict) else []
            choice |= {"finish_reason": part.get("finish_reason") or choice.get("finish_reason")}
    if not choice:
        raise ValueError("no event holds a choice")
    text = "".join(parts)
    logprobs = {"content": positions} if positions else None
    return {**reply, "choices": [{**choice, "message": {"content": text}, "text": text, "logprobs": logprobs}]}


_CONTENT = re.compile(r'"(?:content|text)"\s*:\s*"((?:[^"\\]|\\.)*)')


def _beginning(body: bytes, prompt: Prompt, scrub: Callable[[str], str]) -> Completion:
    """What can be told of a reply that is too long to be read whole: how it begins."""
    found = _CONTENT.search(body.decode(errors="replace"))
    with contextlib.suppress(ValueError):
        text = json.loads(f'"{found[1]}"', strict=False) if found else ""
        said = scrub(until(prompt.stop, text))[:LONGEST_REPLY]
        return Completion(f"{said}… [cut here: the service's answer is longer than {MOST_BYTES:,} bytes]", cut=LENGTH)
    raise Malformed("a reply that is not whole")


def as_kept(text: str) -> str:
    """As much of a reply as is kept."""
    if len(text) <= LONGEST_REPLY:
        return text
    return f"{text[:LONGEST_REPLY]}… [cut here: the reply has {len(text):,} characters]"


def _text(content: object) -> str:
    """Some services give a reply in parts; nothing at all is an empty reply."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _cut(reason: object, refused: bool, as_here: bool) -> str | None:
    if refused or reason == CONTENT_FILTER:
        return CONTENT_FILTER
    return LENGTH if reason == LENGTH and not as_here else None


def _chances(logprobs: object, prompt: Prompt) -> Chances:
    if not isinstance(logprobs, dict):
        return Chances()
    positions = logprobs.get("content")
    if positions is None and isinstance(logprobs.get("tokens"), list):
        positions = _older_positions(logprobs)
    return chances(positions, prompt.choices, prompt.place, prompt.stop) if isinstance(positions, list) else Chances()


def _older_positions(logprobs: dict[str, Any]) -> list[dict[str, Any]]:
    """The positions of /completions as the protocol first had them: token, its log-probability, and a mapping of others'."""
    said, alternatives = (
        of if isinstance(of := logprobs.get(name), list) else [] for name in ("token_logprobs", "top_logprobs")
    )
    return [
        {
            "token": token,
            "logprob": logprob,
            "top_logprobs": [{"token": other, "logprob": p} for other, p in others.items()] if isinstance(others, dict) else [],
        }
        for token, logprob, others in zip_longest(logprobs["tokens"], said, alternatives)
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
    return scrub(value)[:LONGEST_NAME] if isinstance(value, str) and value else None


def _count(value: object) -> int | None:
    """A number of tokens; None of what can be none."""
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None


# ------------------------------------------------------------------------------------------------ repeated answers


def without_thoughts(text: str) -> str:
    """What a reply says beside its thoughts."""
    return _THOUGHTS.sub("", text)


def added(served: Served | None, before: Served | None) -> Served | None:
    """What a service said of a call, with the tokens of one before it that was asked again."""
    if served is None or before is None:
        return served
    sums = ((served.prompt_tokens, before.prompt_tokens), (served.completion_tokens, before.completion_tokens))
    prompt, completion = (sum(filter(None, pair)) if any(pair) else None for pair in sums)
    return replace(served, prompt_tokens=prompt, completion_tokens=completion)


def opening_word(text: str, choices: tuple[tuple[str, ...], tuple[str, ...]]) -> bool | None:
    """Whether a reply opens with a True word (True) or a False word (False), whole and in any case; None: with neither.

    Thoughts, signs, and an "Answer:" or "Answer is" in front of the word do not count. A word further on never does.
    """
    found = _OPENING.match(without_thoughts(text))
    word = found[1].lower() if found else ""
    for side, meaning in zip(choices, (True, False), strict=True):
        if word in {choice.lower() for choice in side}:
            return meaning
    return None


def together(replies: Sequence[Completion], prompt: Prompt) -> Completion:
    """One completion from repeated answers to one prompt: the words of the first that came, P(True) from all that open with a
    True or a False word.

    With t True and f False ones P(True) is (t + 1/2) / (t + f + 1): where each of k replies opens so, (t + 1/2) / (k + 1).
    `p_mass` is the share of such replies. It failed where no call gave a reply.
    """
    came = [reply for reply in replies if reply.text is not None]
    served = _sum([reply.served for reply in replies if reply.served is not None])
    if not came:
        return Completion(None, failure=replies[0].failure, served=served)
    read = [opening_word(reply.text or "", prompt.choices) for reply in came if reply.cut is None]
    true, false = read.count(True), read.count(False)
    p_true = (true + 0.5) / (true + false + 1) if true + false else None
    return Completion(came[0].text, p_true, (true + false) / len(came), cut=came[0].cut, served=served)


def _sum(served: Sequence[Served]) -> Served | None:
    if not served:
        return None
    first = next((one for one in served if one.model), served[0])
    prompt_tokens = [one.prompt_tokens for one in served if one.prompt_tokens is not None]
    completion_tokens = [one.completion_tokens for one in served if one.completion_tokens is not None]
    return Served(
        first.model,
        first.fingerprint,
        sum(prompt_tokens) if prompt_tokens else None,
        sum(completion_tokens) if completion_tokens else None,
        first.seconds,
        sum(one.attempts for one in served),
    )
