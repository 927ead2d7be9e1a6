"""LLMEval: eight statements that a model wrote about a triplet, one per line (PretextTrans, Section 4.1.2 and Appendix D)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from medfact.answers.prompts import LLM_EVAL_STATEMENTS

MOST_WORDS = 60
"""A longer line is prose, not a statement."""

_BULLET = re.compile(
    r"^\s*(?:[-*•–—>]+\s+|\(?\d{1,2}[.):]\s*|\d{1,2}\s+(?=[A-Z])|[a-h][.)]\s+|(?:statement|sentence)\s+\d{1,2}\s*[:.)-]\s*)+",
    re.IGNORECASE,
)
_INTRODUCES = re.compile(
    r":\s*$|^\s*(?:here (?:are|is)|sure\b|certainly\b|of course\b|below (?:are|is)|the following\b|these are\b|based on the\b|"
    r"note\b|i hope\b|let me\b|knowledge triplet\b)",
    re.IGNORECASE,
)
_QUOTES = "\"'“”‘’«»`*_ \t"


def usable_lines(reply: str) -> tuple[str, ...]:
    """The statements in a reply: its lines without numbers, bullets and quotation marks. Left out are empty lines,
    introductions, questions, what has fewer than three words or more than MOST_WORDS, and what stands there twice.
    """
    return tuple(dict.fromkeys(_statements(reply)))


def eight_of(reply: str) -> tuple[str, ...] | None:
    """The first eight statements of a reply, or None if it has fewer: then its fact is left out."""
    lines = usable_lines(reply)
    return lines[:LLM_EVAL_STATEMENTS] if len(lines) >= LLM_EVAL_STATEMENTS else None


def without_bullet(line: str) -> str:
    """A line without its number or bullet, and without quotation marks around it."""
    return _BULLET.sub("", line).strip(_QUOTES)


def _statements(reply: str) -> Iterator[str]:
    for line in reply.replace("\\n", "\n").splitlines():
        if _INTRODUCES.search(line):
            continue
        text = " ".join(without_bullet(line).split())
        if text and "?" not in text and 3 <= len(text.split()) <= MOST_WORDS:
            yield text if text.endswith((".", "!")) else f"{text}."
