"""What a service's reply contains: text, P(True), why it ended, and its tokens; and what several calls come to."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from medfact.models.prompt import (
    CONTENT_FILTER,
    LENGTH,
    Completion,
    Prompt,
    Served,
    is_cut_in_thinking,
    until,
)
from medfact.models.services.alternatives import answer_probability, positions_in, positions_of
from medfact.models.services.contents import (
    FAILED,
    NORMAL,
    MessageParts,
    counted_tokens,
    ending_of,
    is_stream,
    parts_of_message,
    reply_in,
)
from medfact.models.services.parameters import Parameters, parameters_of
from medfact.models.services.prices import tokens_in
from medfact.models.services.refusals import ErrorBody, error_in
from medfact.models.services.settings import DEFAULTS
from medfact.models.stated import answer_of
from medfact.models.thinking import BEGINNING, end_of_thinking, shows_thinking

DEFAULT_PARAMETERS = parameters_of(DEFAULTS)

MAX_BODY_BYTES = 1_000_000
"""Most bytes read of a reply, decompressed."""

MAX_REPLY_CHARACTERS, MAX_NAME_CHARACTERS = 20_000, 200
"""Most characters kept of a reply, and of a service's name for a model."""

LONGEST_MARK = 200
"""Characters before an answer that hold the end mark of its thinking."""

READ_IN_THINKING = (
    "The service returns answers as thinking alone (reasoning_content), without a text. medfact reads them there; check some "
    "of them."
)
TOKENS_ESTIMATED = "The service does not count the tokens of all its replies, so medfact estimates them from the texts."

THINKING_ALONE = (
    "The service returns thinking alone in some replies (reasoning_content), without an answer: they cannot be read. Allow for "
    "more with a higher --max-tokens, or ask for less thinking with --effort low or none."
)
"""Notes for the reader of a run."""

_WORD = re.compile(r"[\W_]*+(?:(?:[^\W_]\w{0,19}\s){0,2}[^\W_]\w{0,19}\W{0,9}[:：][\W_]*+)?[^\W_]{1,20}[\W_]*+")
_FINAL = re.compile(
    r"\\(?:boxed|fbox|framebox)\b|<(?:final_)?answer>"
    r"|\b(?:(?:final|my)\s+answer|respuesta\s+final|r[ée]ponse\s+finale|(?:endgültige|finale)\s+antwort)\W{0,9}[:：]|(?:最终|最后)答案\W{0,9}[:：]",
    re.IGNORECASE,
)
"""An answer that thinking marks as its last word; the last mark counts."""

_CONTENT = re.compile(r'"(?:content|text)"\s*:\s*"((?:[^"\\]|\\.)*)')


class Malformed(ValueError):
    """A body that is not a reply. `is_web_page`: it is a web page."""

    def __init__(self, reason: str, *, is_web_page: bool = False) -> None:
        super().__init__(reason)
        self.is_web_page = is_web_page


class GenerationFailed(Malformed):
    """A reply that its service reports as failed. began: whether there was a generation, which may be billed. headers: of the
    reply, once they are known.
    """

    def __init__(self, error: ErrorBody, *, began: bool) -> None:
        super().__init__(error.message)
        self.error, self.began = error, began
        self.headers: Mapping[str, str] = {}


def completion_of(
    body: bytes,
    prompt: Prompt,
    parameters: Parameters = DEFAULT_PARAMETERS,
    *,
    whole: bool = True,
    headers: Mapping[str, str] = MappingProxyType({}),
    scrub: Callable[[str], str] = str,
    note: Callable[[str], None] = lambda note: None,
) -> Completion:
    """The completion in a body: one JSON object, or the events of a stream.

    whole: it was read to its end. headers: of the reply. scrub: removes what nobody may see. note: gets notes on the service.

    Raises Malformed for a body that is incomplete, a web page, or something else, and GenerationFailed where the service says
    that it could not reply.
    """
    if body.lstrip()[:1] == b"<":
        raise Malformed("a web page instead of a reply", is_web_page=True)
    if not whole:
        return _beginning(body, prompt, parameters, scrub, note)
    reply, choice, parts, ending = _parsed(body, parameters)
    _check_ending(choice, ending, parts, reply)
    ending = _true_ending(ending, parts, reply, prompt, parameters)
    text, after_thinking = _answer(parts, ending, note)
    positions = positions_of(text, positions_in(choice.get("logprobs")), after_thinking=after_thinking)
    read = answer_probability(positions, prompt.choices, prompt.place, lambda joined: _as_counts(joined, prompt, parameters))
    # a router's host: OpenRouter names it in the body, Hugging Face in a header
    upstream = choice.get("provider") or reply.get("provider") or headers.get("x-inference-provider")
    served = _served(reply, parts, prompt, scrub, note, upstream)
    return Completion(
        shortened(scrub(_as_counts(text, prompt, parameters))),
        read.p_true,
        read.p_mass,
        p_low=read.p_low,
        p_high=read.p_high,
        cut=CONTENT_FILTER if parts.refusal else None if ending == NORMAL else ending,
        served=served,
        thinks=bool(parts.thinking.strip() or served.reasoning_tokens) or shows_thinking(text),
    )


def _parsed(body: bytes, parameters: Parameters) -> tuple[Any, Any, MessageParts, str]:
    """A reply, its first choice, the parts of its message, and how it ended."""
    try:
        reply = reply_in(body) if is_stream(body) else json.loads(body)
        _check_error(reply)
        choice = reply["choices"][0]
        return reply, choice, _message_parts(choice, parameters), ending_of(_reason(choice))
    except GenerationFailed:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise Malformed("an incomplete reply") from None


# ------------------------------------------------------------------------------------------------ failed generations


def _check_error(reply: Any) -> None:
    """Raises GenerationFailed where a reply, or its choice, reports an error in place of an answer."""
    choices = reply.get("choices") if isinstance(reply, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None
    for part in filter(None, (reply, choice)):
        if isinstance(part, dict) and part.get("error"):
            began = choice is not None and bool(choice.get("message") or choice.get("text"))
            raise GenerationFailed(error_in(part), began=began)
    if choice is None and isinstance(reply, dict | list) and (error := error_in(reply)).message:
        raise GenerationFailed(error, began=False)


def _check_ending(choice: dict[str, Any], ending: str, parts: MessageParts, reply: dict[str, Any]) -> None:
    """Raises GenerationFailed where a reply did not come to its end, or has nothing in it."""
    if ending == FAILED:
        words = f"the reply ended with finish_reason {json.dumps(_reason(choice))[:60]}"
        raise GenerationFailed(ErrorBody(words), began=True)
    empty = not any(part.strip() for part in parts)
    if empty and ending == NORMAL and counted_tokens(reply).completion == 0:
        raise GenerationFailed(ErrorBody("an empty reply of 0 tokens"), began=True)


def _true_ending(ending: str, parts: MessageParts, reply: dict[str, Any], prompt: Prompt, parameters: Parameters) -> str:
    """How a reply ended. One without an answer that has used up its limit was cut, whatever its service says."""
    limit = parameters.token_limit(prompt) if parameters.limit_name else None
    is_full = limit is not None and (counted_tokens(reply).completion or 0) >= limit
    return LENGTH if ending == NORMAL and is_full and is_cut_in_thinking(parts.text or parts.refusal) else ending


def _reason(choice: dict[str, Any]) -> object:
    """Why a reply ended. native_finish_reason: what a gateway's provider says where the gateway says nothing."""
    return choice.get("finish_reason") or choice.get("native_finish_reason")


# ------------------------------------------------------------------------------------------------ texts


def _message_parts(choice: dict[str, Any], parameters: Parameters) -> MessageParts:
    """What a choice says: in its message, or, of a completed text, itself."""
    if not parameters.messages and "text" in choice:
        return parts_of_message(choice)
    name = next((name for name in ("message", "delta") if name in choice), None)
    message = choice[name] if name else choice if "text" in choice else None
    if message is None and ending_of(_reason(choice)) == LENGTH:
        return MessageParts()  # all of it was thinking, which is not served
    if message is None:
        raise ValueError("a choice without a message")
    return parts_of_message(message)


def _answer(parts: MessageParts, ending: str, note: Callable[[str], None]) -> tuple[str, bool]:
    """The text that answers, and whether it follows thinking that is served apart. Where the model ended by itself and there
    is nothing but thinking, that counts if it is a word alone, or from where it marks its final answer.
    """
    text, thinks = parts.text or parts.refusal, bool(parts.thinking.strip())
    if not thinks or text.strip() or ending != NORMAL:
        return text, thinks
    final = max((mark.start() for mark in _FINAL.finditer(parts.thinking)), default=None)
    if final is None and not _WORD.fullmatch(parts.thinking):
        note(THINKING_ALONE)
        return f"{BEGINNING}{parts.thinking}", True
    note(READ_IN_THINKING)
    return parts.thinking[final or 0 :], final is not None


def _as_counts(text: str, prompt: Prompt, parameters: Parameters) -> str:
    """As much of a text as counts. A completed text ends at the prompt's stop. A chat's reply does where the words before it
    answer: else they are an introduction, or thinking in the open, and the whole reply counts.
    """
    first = until(prompt.stop, text)
    if not parameters.messages:
        return first
    answers = prompt.settles(first) if prompt.settled_after is not None else prompt.place(first) is not None
    return first if answers else text


def shortened(text: str) -> str:
    """A reply, at most about MAX_REPLY_CHARACTERS of it. Of long thinking, the middle is left out and the answer is kept."""
    if len(text) <= MAX_REPLY_CHARACTERS:
        return text
    half, answer = MAX_REPLY_CHARACTERS // 2, end_of_thinking(text) or 0
    gap = f"… [cut here: the reply has {len(text):,} characters]"
    if answer - LONGEST_MARK < half:
        return text[:MAX_REPLY_CHARACTERS] + gap
    return text[:half] + gap + text[answer - LONGEST_MARK : answer + half]


def _beginning(
    body: bytes, prompt: Prompt, parameters: Parameters, scrub: Callable[[str], str], note: Callable[[str], None]
) -> Completion:
    """The beginning of a reply that is too long to be read whole."""
    content = _CONTENT.search(body.decode(errors="replace"))
    with contextlib.suppress(ValueError):
        text = json.loads(f'"{content[1]}"', strict=False) if content else ""
        kept = scrub(_as_counts(text, prompt, parameters))[:MAX_REPLY_CHARACTERS]
        kept += f"… [cut here: the service's reply is longer than {MAX_BODY_BYTES:,} bytes]"
        return Completion(kept, cut=LENGTH, served=_served({}, MessageParts(text), prompt, scrub, note))
    raise Malformed("an incomplete reply")


# ------------------------------------------------------------------------------------------------ probabilities, tokens


def _served(
    reply: dict[str, Any],
    parts: MessageParts,
    prompt: Prompt,
    scrub: Callable[[str], str],
    note: Callable[[str], None],
    upstream: object = None,
) -> Served:
    """What the service reported of a call. Tokens that it does not count are estimated."""
    entering, leaving, thinking = counted_tokens(reply)
    texts = "".join(parts)
    if entering is None or leaving is None or (leaving == 0 and texts):
        note(TOKENS_ESTIMATED)
    return Served(
        _name(reply.get("model"), scrub),
        _name(reply.get("system_fingerprint"), scrub),
        entering or tokens_in(prompt.content),
        leaving or (tokens_in(texts) if texts or leaving is None else 0),
        reasoning_tokens=thinking,
        upstream=_name(upstream, scrub),
    )


def _name(value: object, scrub: Callable[[str], str]) -> str | None:
    return scrub(value)[:MAX_NAME_CHARACTERS] if isinstance(value, str) and value else None


# ------------------------------------------------------------------------------------------------ several calls


def combined(replies: Sequence[Completion], prompt: Prompt) -> Completion:
    """One completion from repeated answers: the text of the first, and P(True) from all that can be read.

    With t True and f False ones, P(True) is (t + 1/2) / (t + f + 1). `p_mass` is the share of replies that can be read. The
    completion has failed if all calls did.
    """
    answered = [reply for reply in replies if reply.text is not None]
    served = total([reply.served for reply in replies if reply.served is not None])
    if not answered:
        return Completion(None, failure=replies[0].failure, served=served)
    answers = [answer_of(prompt, reply) for reply in answered]
    true, false = answers.count(True), answers.count(False)
    p_true = (true + 0.5) / (true + false + 1) if true + false else None
    upstreams = dict.fromkeys(reply.served.upstream for reply in answered if reply.served and reply.served.upstream)
    served = served and replace(served, upstream=", ".join(filter(None, upstreams)) or None)
    return Completion(answered[0].text, p_true, (true + false) / len(answered), cut=answered[0].cut, served=served)


def total(served: Sequence[Served]) -> Served | None:
    """What a service reported of several calls; None where it reported nothing."""
    if not served:
        return None
    return replace(
        next((one for one in served if one.model), served[0]),
        prompt_tokens=_sum([one.prompt_tokens for one in served]),
        completion_tokens=_sum([one.completion_tokens for one in served]),
        attempts=sum(one.attempts for one in served),
        wasted_tokens=sum(one.wasted_tokens for one in served),
        wasted_completion=sum(one.wasted_completion for one in served),
        reasoning_tokens=_sum([one.reasoning_tokens for one in served]),
    )


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
