"""The events of a stream, which some services send although they are not asked to, put together to one reply."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from typing import Any

from medfact.models.services.alternatives import positions_in
from medfact.models.services.contents import MessageParts, parts_of_message

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
