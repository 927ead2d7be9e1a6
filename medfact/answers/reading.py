"""Reads replies as True, False, or unreadable (None), in three ways: the project's own, PretextTrans', and MKJ's."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial

from medfact.answers.committed import committed
from medfact.answers.spoken import FLAGS, UNREADABLE, WORDS, ReadAnswer, meaning, spoken
from medfact.models.thinking import without_thinking

SHORT = 200
"""Characters of a reply whose reading is kept."""

COMMITTED, KEYWORD, LAST_WORD = "committed", "keyword", "last-word"

_TURNED = r"(?:\b(?:not|never|cannot|hardly)|n['’]t)(?:\s+(?:a|at|all|be|considered|\w+ly)){0,3}\s+"
_NEGATED = re.compile(rf"(?P<negation>{_TURNED})?\b(?P<word>{WORDS})\b", FLAGS)
_TRUE_OR_FALSE = re.compile(r"(?<![A-Za-z0-9])(?P<word>true|false)(?![A-Za-z0-9])", re.IGNORECASE)


def _verdict(found: re.Match[str]) -> ReadAnswer:
    """The answer of a matched keyword, reversed if the match includes its negation."""
    return ReadAnswer(meaning(found["word"]) != (found.groupdict().get("negation") is not None), found.start("word"))


def _agreed(verdicts: Sequence[ReadAnswer]) -> ReadAnswer:
    """The first of several verdicts, if all have the same answer."""
    return verdicts[0] if len({verdict.answer for verdict in verdicts}) == 1 else UNREADABLE


def _keyword(reply: str) -> ReadAnswer:
    """PretextTrans: whole True or False words anywhere; unreadable if words of both sides occur, or none.

    A keyword after "not" counts for the other side.
    """
    return _agreed([_verdict(found) for found in _NEGATED.finditer(spoken(reply))])


def _last_word(reply: str) -> ReadAnswer:
    """MKJ: the last "true" or "false" of the reply. Without either, MKJ's code read False; here the reply is unreadable."""
    found = [*_TRUE_OR_FALSE.finditer(without_thinking(reply))]
    return _verdict(found[-1]) if found else UNREADABLE


READINGS: dict[str, Callable[[str], ReadAnswer]] = {COMMITTED: committed, KEYWORD: _keyword, LAST_WORD: _last_word}
"""Name → a function from a reply's text to its verdict."""


def read_answer(reply: str, reading: str = COMMITTED) -> bool | None:
    """The answer of a reply; None if it is unreadable: no answer, both answers, a refusal, or empty."""
    return _short_answer(reply, reading) if len(reply) <= SHORT else READINGS[reading](reply).answer


@lru_cache(maxsize=4096)
def _short_answer(reply: str, reading: str) -> bool | None:
    """Models give the same short replies again and again: reading them took a fifth of a small run's time."""
    return READINGS[reading](reply).answer


def _place(reading: str, reply: str) -> int | None:
    return READINGS[reading](reply).at


PLACES: dict[str, Callable[[str], int | None]] = {name: partial(_place, name) for name in READINGS}
"""Name → a function from a reply to the index where its deciding word starts, or None."""
