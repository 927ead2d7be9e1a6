"""Text for a terminal: without what moves its cursor, paints over what it shows, or turns the direction of a line. Names and
replies may come from anybody.
"""

from __future__ import annotations

import codecs
import re
import unicodedata

REPLACED = "medfact.replaced"
"""Name of the error handler of a stream whose encoding lacks some characters: others that look alike take their place."""

_ALIKE = {
    **dict.fromkeys("−–—‐‑‒―─├└", "-"), **dict.fromkeys("“”„«»", '"'), **dict.fromkeys("‘’ʼ´", "'"),
    "│": "|", "·": ".", "×": "x", "→": "->", "⇒": "=>", "≤": "<=", "≥": ">=", "±": "+/-", "¬": "not ", "✓": "yes", "✗": "no",
}  # fmt: skip

_ENDS_OF_LINES = "\\x85\u2028\u2029"
_DIRECTIONS = "\u202a-\u202e\u2066-\u2069"

_CONTROL = re.compile(f"[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f{_ENDS_OF_LINES}{_DIRECTIONS}]")
"""All but tabs and line feeds."""

_SPACE = re.compile(f"[\\t\\n\\x0b\\x0c\\r{_ENDS_OF_LINES}]+")


def printable(text: str) -> str:
    """A text without such characters; its lines and tabs stay."""
    return text if text.isprintable() else _CONTROL.sub("", text)


def one_line(text: str) -> str:
    """The same on one line."""
    return text if text.isprintable() else _CONTROL.sub("", _SPACE.sub(" ", text))


def escaped(json_text: str) -> str:
    """JSON that says the same, in which such characters stand as escapes."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found.group()):04x}", json_text)


def _replaced(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    missing = error.object[error.start : error.end]
    return "".join(map(_alike, missing)), error.end


def _alike(character: str) -> str:
    """A character in ASCII: one that looks like it, its letter without accents, or a question mark."""
    plain = _ALIKE.get(character) or unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return plain or ("" if unicodedata.combining(character) else "?")


codecs.register_error(REPLACED, _replaced)
