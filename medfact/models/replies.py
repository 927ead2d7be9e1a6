"""What a service's reply says: text, P(True), why it ended, what it cost."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from medfact.models.alternatives import Chances, chances
from medfact.models.prompt import Completion, Prompt, Served

LENGTH, CONTENT_FILTER = "length", "content_filter"

_THOUGHTS = re.compile(r"\A.*</(?:think|thinking|reasoning)>|<(?:think|thinking|reasoning)>.*\Z", re.DOTALL | re.IGNORECASE)
_OPENING = re.compile(r"\W*(?:answer\b(?:\s+is\b)?\W*)?(\w+)", re.IGNORECASE)


class Malformed(ValueError):
    """A body that is no reply. `page`: it is a web page."""

    def __init__(self, reason: str, *, page: bool = False) -> None:
        super().__init__(reason)
        self.page = page


def completion_of(body: bytes, prompt: Prompt) -> Completion:
    """The completion that a body holds.

    Raises:
        Malformed: it is cut short, a web page, or something else.
    """
    if body.lstrip()[:1] == b"<":
        raise Malformed("a web page in place of an answer", page=True)
    try:
        reply = json.loads(body)
        choice = reply["choices"][0]
        message = choice["message"]
        text = _text(message.get("content"))
        refusal = _text(message.get("refusal"))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise Malformed("a reply that is not whole") from None
    found = _chances(choice.get("logprobs"), prompt)
    return Completion(
        text or refusal,
        found.p_true,
        found.p_mass,
        p_low=found.p_low,
        p_high=found.p_high,
        cut=_cut(choice.get("finish_reason"), bool(refusal)),
        served=_served(reply),
    )


def _text(content: object) -> str:
    """Some services give a reply in parts; nothing at all is an empty reply."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _cut(reason: object, refused: bool) -> str | None:
    if refused or reason == CONTENT_FILTER:
        return CONTENT_FILTER
    return LENGTH if reason == LENGTH else None


def _chances(logprobs: object, prompt: Prompt) -> Chances:
    positions = logprobs.get("content") if isinstance(logprobs, dict) else None
    return chances(positions, prompt.choices) if isinstance(positions, list) else Chances()


def _served(reply: dict[str, Any]) -> Served:
    usage = reply.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Served(
        _name(reply.get("model")),
        _name(reply.get("system_fingerprint")),
        _count(usage.get("prompt_tokens")),
        _count(usage.get("completion_tokens")),
    )


def _name(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and value >= 0 else None


# ------------------------------------------------------------------------------------------------ repeated answers


def opening_word(text: str, choices: tuple[tuple[str, ...], tuple[str, ...]]) -> bool | None:
    """Whether a reply opens with a True word (True) or a False word (False), whole and in any case; None: with neither.

    Thoughts, signs, and an "Answer:" or "Answer is" in front of the word do not count. A word further on never does.
    """
    found = _OPENING.match(_THOUGHTS.sub("", text))
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
