"""The parts of a reply in the words and shapes of many services: text, thinking and refusal, why it ended, and its tokens.

Some services send a stream of events although none is requested; its events are put together to one reply.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from medfact.models.prompt import CONTENT_FILTER, LENGTH
from medfact.models.services.alternatives import positions_in

TEXT, THINKING, REFUSAL = "text", "thinking", "refusal"

_THINKING_FIELDS = (
    "reasoning_content",
    "reasoning",
    "reasoning_text",
    "reasoning_details",
    "thinking",
    "thinking_content",
    "thinking_blocks",
    "thought",
    "thoughts",
)
"""Fields beside `content`. Where several are filled, they repeat each other."""

_INNER = ("text", "content", "value", "output_text", "parts", "summary", *_THINKING_FIELDS, "refusal")
"""Where a part of a message keeps its text."""


class MessageParts(NamedTuple):
    """What a message says."""

    text: str = ""
    thinking: str = ""
    refusal: str = ""

    def followed_by(self, more: MessageParts) -> MessageParts:
        """What two parts of a message say, one after the other."""
        return MessageParts(self.text + more.text, self.thinking + more.thinking, self.refusal + more.refusal)


class NoText(ValueError):
    """A message without text where its text should be."""


def parts_of_message(message: Any) -> MessageParts:
    """What a message says: of a chat, of an event, or of a completed text.

    Raises NoText where the content is of a shape that no text can be found in.
    """
    if not isinstance(message, Mapping):
        return _joined(message, TEXT)
    content = message.get("content", message.get("text"))
    if isinstance(content, bool | int | float):
        raise NoText("a content that is no text")
    parts = _joined(content, TEXT)
    if isinstance(content, Mapping) and content and parts == MessageParts():
        raise NoText("a content without text")
    thinking = next((found for name in _THINKING_FIELDS if (found := _joined(message.get(name), THINKING).thinking)), "")
    return parts.followed_by(MessageParts("", thinking, _joined(message.get("refusal"), REFUSAL).refusal))


def _joined(content: object, kind: str) -> MessageParts:
    """What a content says. kind: what it is where its parts do not say otherwise."""
    texts: dict[str, list[str]] = {TEXT: [], THINKING: [], REFUSAL: []}
    for part_kind, text in _parts(content, kind):
        texts[part_kind].append(text)
    return MessageParts("".join(texts[TEXT]), "".join(texts[THINKING]), "".join(texts[REFUSAL]))


def _parts(content: object, kind: str) -> Iterator[tuple[str, str]]:
    """The texts of a content, each with its kind. Only strings are texts."""
    if isinstance(content, str):
        yield kind, content
    elif isinstance(content, list):
        parts = [part for part in content if not isinstance(part, str)]
        for part in parts or content:  # beside parts, a bare string is none of them
            yield from _parts(part, kind)
    elif isinstance(content, Mapping):
        name = next((name for name in _INNER if content.get(name) and not isinstance(content[name], bool)), None)
        if name is not None:
            yield from _parts(content[name], _kind(content, name, kind))


def _kind(part: Mapping[str, Any], name: str, kind: str) -> str:
    """What a part of a message is. name: of its text. kind: of the whole."""
    named = str(part.get("type", "")).lower()
    if name in _THINKING_FIELDS or part.get("thought") is True or any(word in named for word in ("think", "reason", "thought")):
        return THINKING
    return REFUSAL if name == "refusal" or named == "refusal" else kind


# -------------------------------------------------------------------------------------------------------------------- endings

NORMAL, FAILED = "normal", "failed"
"""Beside LENGTH and CONTENT_FILTER: the model ended by itself; the service could not go on."""

_NORMAL_WORDS = re.compile(
    r"(?:stop|stopped|eos|eod|eot|eom|end|ended)(?:_(?:turn|sequences?|token|words?|str|string|id|found|limit))*(?:_of_\w+)?"
    r"|im_end|endoftext|complete|completed|completion|done|final|finish|finished|success|succeeded|ok|normal|natural"
    r"|unspecified|none|null|tool_(?:calls?|use)|function_calls?"
)
"""A call of a tool is an end, too: the model said nothing that could be read."""

_FILTER = re.compile(
    r"filter|sensitiv|safety|unsafe|recitation|prohibit|block|\bspii\b|refus|guard|moderat|flagged|policy|violat|censor|armor|"
    r"risk|\blanguage\b"
)
_LENGTH = re.compile(
    r"length|max_(?:\w{1,40}_)?tokens?|tokens?_(?:limit|cap|count|budget|exceeded|reached)|context|truncat|too_long|too_many_tokens"
)
_PREFIX = re.compile(r"\A(?:finish|stop|done)_?reason_")


def ending_of(reason: object) -> str:
    """NORMAL, LENGTH, CONTENT_FILTER or FAILED. An older service gives no reason where a reply is complete.

    An unknown reason counts as FAILED: such a reply may lack its end, so it must not be scored.
    """
    name = _reason_name(reason)
    if name is None or _NORMAL_WORDS.fullmatch(name):
        return NORMAL
    if _FILTER.search(name):
        return CONTENT_FILTER
    return LENGTH if _LENGTH.search(name) else FAILED


def _reason_name(reason: object) -> str | None:
    """A reason in lower case, with underscores between its words; None where there is none."""
    if isinstance(reason, dict):
        reason = next((reason[key] for key in ("type", "reason", "name", "finish_reason") if reason.get(key)), "unknown")
    if reason is None or reason == "":
        return None
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(reason))
    return _PREFIX.sub("", re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")) or None


# --------------------------------------------------------------------------------------------------------------------- tokens

MAX_TOKENS = 10_000_000
"""More tokens than any call can use: a larger count is an error of the service."""

_PROMPT = ("prompt_tokens", "input_tokens", "promptTokens", "promptTokenCount", "prompt_eval_count")
_COMPLETION = ("completion_tokens", "output_tokens", "completionTokens", "candidatesTokenCount", "eval_count")
_TOTAL = ("total_tokens", "totalTokens", "totalTokenCount")
_THINKING = ("reasoning_tokens", "thinking_tokens", "reasoningTokens", "thoughtsTokenCount", "reasoning_token_count")
_DETAILS = ("completion_tokens_details", "output_tokens_details", "completionTokensDetails")


class Counted(NamedTuple):
    """The tokens of a call as its reply counts them; None for what it does not count. thinking: a part of completion."""

    prompt: int | None
    completion: int | None
    thinking: int | None


def counted_tokens(reply: dict[str, Any]) -> Counted:
    """The tokens of a call. Some services leave thinking out of the completion, and count it in the total alone."""
    usage = next((found for name in ("usage", "usageMetadata") if isinstance(found := reply.get(name), dict)), reply)
    prompt, completion, total = (_first_count(usage, names) for names in (_PROMPT, _COMPLETION, _TOTAL))
    details = next((found for name in _DETAILS if isinstance(found := usage.get(name), dict)), {})
    thinking = _first_count({**usage, **details}, _THINKING)
    if prompt and total and total > prompt + (completion or 0):
        if completion is not None and thinking is None:
            thinking = total - prompt - completion
        completion = total - prompt
    elif completion is None and prompt and total:
        completion = 0
    elif thinking and completion is not None and thinking > completion:
        completion += thinking
    return Counted(prompt or None, completion, thinking)  # no prompt has 0 tokens


def _first_count(counts: Mapping[str, Any], names: Sequence[str]) -> int | None:
    return next((count for name in names if (count := _count(counts.get(name))) is not None), None)


def _count(value: object) -> int | None:
    """A number of tokens, which some services write as 30.0 or "30"; None for anything that cannot be one."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_TOKENS or value != int(value):
        return None
    return int(value)


# ---------------------------------------------------------------------------------------------------- streams of events

_FIELD = re.compile(rb"\s*(?:(?:data|event|id|retry)\s*:|:)")
"""How the lines of a stream begin; a lone colon begins a comment."""

_LINE_END = re.compile(r"\r\n|\n|\r")
"""Only these end a line: a text may hold other line separators."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

END = "[DONE]"


def is_stream(body: bytes) -> bool:
    """Whether a body is a stream of events."""
    return _FIELD.match(body.removeprefix(_BYTE_ORDER_MARK)) is not None


def reply_in(body: bytes) -> dict[str, Any]:
    """The reply that the events of a stream make up. An error that one of them reports is the reply's.

    Raises ValueError if there is no choice, or the stream ends before its end.
    """
    reply: dict[str, Any] = {}
    choice: dict[str, Any] = {}
    parts, positions, is_whole = MessageParts(), list[Any](), False
    for name, data in _events(body):
        if data == END:
            is_whole = True
            continue
        event = json.loads(data)
        if name == "error" and not event.get("error"):
            event = {"error": event}
        reply |= {name: value for name, value in event.items() if name != "choices" and value is not None}
        for part in (part for part in event.get("choices") or () if part.get("index") in (None, 0)):
            parts = parts.followed_by(
                parts_of_message(part.get("delta") or part.get("message") or {"content": part.get("text")})
            )
            positions += positions_in(part.get("logprobs"))
            choice |= {name: part[name] for name in ("finish_reason", "error", "provider") if part.get(name) is not None}
            choice.setdefault("finish_reason", None)
    if not (choice or reply.get("error")):
        raise ValueError("no event contains a choice")
    if not (is_whole or choice.get("finish_reason") or choice.get("error") or reply.get("error")):
        raise ValueError("the stream breaks off")
    message = {"content": parts.text, "reasoning": parts.thinking, "refusal": parts.refusal}
    logprobs = {"content": positions} if positions else None
    return {**reply, "choices": [{**choice, "message": message, "text": parts.text, "logprobs": logprobs}]}


def _events(body: bytes) -> Iterator[tuple[str, str]]:
    """The name and the data of each event. An event ends at an empty line."""
    name, data = "", list[str]()
    for line in [*_LINE_END.split(body.removeprefix(_BYTE_ORDER_MARK).decode()), ""]:
        field, _, value = line.strip(" ").partition(":")
        if field == "event":
            name = value.strip()
        elif field == "data":
            data.append(value.strip())
        elif not line.strip():
            yield from ((name, text) for text in _as_sent(data))
            name, data = "", []


def _as_sent(lines: list[str]) -> list[str]:
    """The data of an event: its lines are one text, but some services leave out the empty lines between their events."""
    whole = "\n".join(lines)
    if len(lines) > 1:
        with contextlib.suppress(ValueError):
            json.loads(whole)
            return [whole]
    return lines
