"""What the body of an error says: services write its words, its code and the parameter that they refuse in many ways."""

from __future__ import annotations

import html
import json
import re
from typing import Any, NamedTuple

_WORDS = ("message", "detail", "details", "msg", "error_msg", "error_message", "status_msg", "error", "title", "reason")
_CODES = ("code", "type", "status", "error_code", "error_type", "status_code", "http_status")
_FIRST_FAILURE, _LAST_FAILURE = 400, 599

_TITLE = re.compile(r"<title[^>]*>(.{0,200}?)</title>", re.IGNORECASE | re.DOTALL)


class ErrorBody(NamedTuple):
    """The body of an error.

    message: the service's words. codes: its names and numbers for the error, in lower case. status: the HTTP status that the
    body names. parameter: the one that it names in a field of its own. is_page: it is a web page, and the words are its title.
    """

    message: str = ""
    codes: tuple[str, ...] = ()
    status: int | None = None
    parameter: str | None = None
    is_page: bool = False

    @property
    def code(self) -> str:
        """The first code; "" where there is none."""
        return next(iter(self.codes), "")


def error_body(body: bytes) -> ErrorBody:
    """What a body says; nothing where it cannot be read."""
    if body.lstrip()[:1] == b"<":
        title = _TITLE.search(body.decode(errors="replace"))
        return ErrorBody(html.unescape(title[1]).strip() if title else "", is_page=True)
    try:
        return error_in(json.loads(body))
    except (ValueError, RecursionError):
        return ErrorBody()


def error_in(parsed: Any) -> ErrorBody:
    """What a parsed body says, or the error within it."""
    if isinstance(parsed, list):
        parsed = parsed[0] if parsed else {}
    error = (parsed.get("error") or parsed.get("base_resp") or parsed) if isinstance(parsed, dict) else parsed
    if isinstance(error, list):
        error = error[0] if error else {}
    if not isinstance(error, dict):
        outer = _codes(parsed) if isinstance(parsed, dict) else ()
        return ErrorBody(_text(error), outer, _status(outer))
    codes = _codes(error)
    message = next((text for name in _WORDS if (text := _text(error.get(name)))), "")
    inner = _inner(error)
    parameter = error.get("param") or inner.parameter
    return ErrorBody(
        ": ".join(filter(None, (message, inner.message))),
        tuple(dict.fromkeys((*codes, *inner.codes))),
        _status(codes),
        parameter if isinstance(parameter, str) else None,
    )


def _inner(error: dict[str, Any]) -> ErrorBody:
    """What the provider behind a gateway said, or the policy behind a filter."""
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    if isinstance(raw, str) and raw:
        provider = error_body(raw.encode())
        return provider if provider.message else ErrorBody(raw)
    inner = error.get("innererror")
    return ErrorBody(codes=_codes(inner)) if isinstance(inner, dict) else ErrorBody()


def _codes(error: dict[str, Any]) -> tuple[str, ...]:
    found = (error.get(name) for name in _CODES)
    return tuple(str(code).lower() for code in found if isinstance(code, str | int) and code and not isinstance(code, bool))


def _status(codes: tuple[str, ...]) -> int | None:
    """The first code that is an HTTP status of a failure."""
    numbers = (int(code) for code in codes if code.isascii() and code.isdigit() and len(code) == 3)
    return next((number for number in numbers if _FIRST_FAILURE <= number <= _LAST_FAILURE), None)


def _text(words: object) -> str:
    """Words as a text: a list of complaints about fields, as FastAPI writes it, becomes "field: complaint; …"."""
    if isinstance(words, str):
        return words
    if isinstance(words, list):
        return "; ".join(filter(None, map(_text, words)))
    if not isinstance(words, dict):
        return ""
    where = words.get("loc")
    said = next((text for name in (*_WORDS, "text") if (text := _text(words.get(name)))), "")
    return ": ".join(filter(None, (".".join(map(str, where)) if isinstance(where, list) else "", said)))
