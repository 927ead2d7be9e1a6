"""Reading the medical terms in a model's reply (MKJ, Section 3.2 and Figure 6), however loosely it keeps to JSON."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

from medfact.facts import name_key

KEY = "medical_terminologies"

MOST_TERMS = 10
"""Terms of one question that are used; the instruction asks for 3 to 5."""

MOST_CHARACTERS = 200
"""Of a term; a longer one is a sentence."""

_LONGEST_REPLY = 50_000
_LONGEST_LITERAL = 10_000
"""Characters that are read with Python's grammar, which is slow on long ones."""

_TRAILING = re.compile(r",(\s*[\]}])")
_QUOTES = str.maketrans("“”„«»‘’", '"""""\'\'')


class NoTerms(ValueError):
    """A reply without terms; says what came instead."""


def terms_in(reply: str | None) -> tuple[str, ...]:
    """The terms in a reply, each once, in order. Raises NoTerms, which says what came instead, where there are none."""
    if reply is None or not reply.strip():
        raise NoTerms("the model wrote nothing")
    named = re.search(KEY, reply[:_LONGEST_REPLY], re.IGNORECASE) is not None
    for read in _objects(reply[:_LONGEST_REPLY]):
        found = list(_terms(read))
        if found:
            different: dict[str, str] = {}
            for term in found:
                different.setdefault(name_key(term), term)
            return tuple(different.values())[:MOST_TERMS]
    if named:
        raise NoTerms("the JSON cannot be read, or lists no term")
    raise NoTerms("there is no JSON with medical_terminologies in it")


def _objects(reply: str) -> Iterator[Any]:
    """What the reply holds as JSON or nearly so: the widest pieces between brackets first, then the list after the key."""
    spans = [(reply.find(opening), reply.rfind(closing)) for opening, closing in ("[]", "{}")]
    pieces = [reply[start : end + 1] for start, end in sorted(spans) if 0 <= start < end]
    pieces += re.findall(rf"\{{[^{{}}]*{KEY}[^{{}}]*\}}", reply, re.IGNORECASE)
    lists = re.findall(rf"{KEY}\W{{1,8}}?(\[[^\[\]]*\]?)", reply, re.IGNORECASE)
    pieces += [part if part.endswith("]") else f"{part.rsplit(',', 1)[0]}]" for part in lists]
    for piece in pieces:
        yield from _readings(piece)


def _readings(piece: str) -> Iterator[Any]:
    """A piece as JSON; with plain quotes and without trailing commas; with single quotes."""
    mended = _TRAILING.sub(r"\1", piece.translate(_QUOTES))
    for text in (piece, mended):
        try:
            yield json.loads(text)
            return
        except (ValueError, RecursionError):
            continue
    if len(mended) <= _LONGEST_LITERAL:
        try:
            yield ast.literal_eval(mended)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return


def _terms(read: Any, depth: int = 0) -> Iterator[str]:
    """The terms under the key, in objects and lists of objects; those of a bare list of texts."""
    if depth > 4:
        return
    if isinstance(read, dict):
        for key, value in read.items():
            if isinstance(key, str) and name_key(key) == name_key(KEY):
                yield from _texts(value)
            elif isinstance(value, list | dict):
                yield from _terms(value, depth + 1)
    elif isinstance(read, list):
        if depth == 0 and all(isinstance(one, str) for one in read):
            yield from _texts(read)
        for one in read:
            if isinstance(one, dict | list):
                yield from _terms(one, depth + 1)


def _texts(value: Any) -> Iterator[str]:
    """The usable texts of a list, or of one text with commas."""
    listed = value if isinstance(value, list | tuple) else value.split(",") if isinstance(value, str) else []
    for one in listed:
        text = " ".join(one.split()) if isinstance(one, str) else ""
        if text and len(text) <= MOST_CHARACTERS and text.isprintable() and name_key(text) and text != "...":
            yield text
