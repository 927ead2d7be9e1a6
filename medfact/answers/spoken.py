"""What a reply says for itself: without thinking, markup, an echo of the question, or a further statement that the model wrote.

Parts that do not count are overwritten with spaces, not removed, so that positions in the reply stay valid.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from medfact.models.thinking import without_thinking

TRUE_WORDS = ("True", "Entailed", "Correct", "Yes")
FALSE_WORDS = ("False", "Contradicted", "Wrong", "No")
"""PretextTrans, Table 7. Only whole words count: not the "no" in "diagnosis"; "incorrect" is its own word."""

FLAGS = re.IGNORECASE | re.ASCII
"""ASCII makes a keyword next to another script ("答案是True。") a whole word."""

WORDS = "|".join((*TRUE_WORDS, *FALSE_WORDS, "Incorrect", "Untrue"))

_TRUE = frozenset(word.lower() for word in TRUE_WORDS)

RUN_ON = re.compile(r"(?<=\S)(?=\s*?\n)\s++Statement\s*:.*", re.DOTALL | FLAGS)
"""A further statement, and whatever the model answered to it."""

_MARKUP = re.compile(r"[*_`#]+")
_WITHIN_A_WORD = re.compile(r"(?<![^\W_])[^\W_]++(?:[*_`#]++[^\W_]++)++")
_ECHO = re.compile(r"true\s+(?:or|and|/)\s+false|true/false|false\s+(?:or|and|/)\s+true|yes\s+or\s+no", FLAGS)


class ReadAnswer(NamedTuple):
    """The answer of a reply, and the index where the deciding word starts; both None if it is unreadable."""

    answer: bool | None
    at: int | None


UNREADABLE = ReadAnswer(None, None)


def meaning(word: str) -> bool:
    """Whether one of WORDS says True."""
    return word.lower() in _TRUE


def without(pattern: re.Pattern[str], text: str) -> str:
    """The text with spaces in place of all matches of the pattern."""
    return pattern.sub(lambda found: " " * len(found.group()), text)


def without_markup(text: str) -> str:
    return without(_MARKUP, _WITHIN_A_WORD.sub(_joined, text))


def spoken(reply: str) -> str:
    """The reply without what does not count, as long as before."""
    return without(_ECHO, without_markup(without(RUN_ON, without_thinking(reply))))


def _joined(found: re.Match[str]) -> str:
    """A word without inner markup ("in**correct**"), padded on the left to its old length."""
    return _MARKUP.sub("", found.group()).rjust(len(found.group()))
