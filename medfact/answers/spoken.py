"""What a reply says for itself: without thinking, markup, an echo of the question, or a further statement that the model wrote.

Parts that do not count are overwritten with spaces, not removed, so that positions in the reply stay valid.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
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

LONGEST = 2_000
"""Characters of a reply without its thinking that are read: its two ends, where answers stand."""

_MOST_BOXES = 3
_BRACE = re.compile(
    r"(?:\\(?:boxed|fbox|framebox)|\x08oxed|\x0cbox)\s{0,9}(?:\[[^\[\]{}\n]{0,40}\]\s{0,9})?\{|[{}]", re.IGNORECASE
)
"""A box's beginning, also where "\\b" or "\\f" was taken for a control character; and braces."""

_LATEX = re.compile(
    r"\\(?:text)?color\s{0,9}\{\w{0,20}\}|\\[a-z]{1,20}\*?|\text[a-z]{0,4}(?=\{)|\\[^\w\s]|[{}$\\]", re.IGNORECASE
)
_LETTERS = {
    number: plain
    for number in (*range(0xFF10, 0xFF5B), *range(0x1D400, 0x1D800))
    if len(plain := unicodedata.normalize("NFKC", chr(number))) == 1 and plain.isalnum()
}
"""Full-width and mathematical letters and digits → what they are else."""

_RUN = re.compile(r"\S+|(?P<space>\s+)")
_SENTENCE_END = re.compile(r"[.!?;\n。！？；]")


def meaning(word: str) -> bool:
    """Whether one of WORDS says True."""
    return word.lower() in _TRUE


def without(pattern: re.Pattern[str], text: str) -> str:
    """The text with spaces in place of all matches of the pattern."""
    return pattern.sub(lambda found: " " * len(found.group()), text)


def without_markup(text: str) -> str:
    return without(_MARKUP, _WITHIN_A_WORD.sub(_joined, text))


def condensed(text: str) -> tuple[str, Sequence[int]]:
    """A text with one space or line break for each run of them, and the index of each character in the text before."""
    parts, places = list[str](), list[int]()
    for run in _RUN.finditer(text):
        if run.lastgroup is None:
            places += range(run.start(), run.end())
            parts.append(run.group())
        else:
            places.append(max(run.start(), text.rfind("\n", run.start(), run.end())))
            parts.append(text[places[-1]])
    return "".join(parts), places


def ends_of(reply: str) -> tuple[str, Sequence[int]]:
    """A reply without thinking, a long one from sentence to sentence at its two ends; and the index of each character in it."""
    text = without_thinking(reply).translate(_LETTERS)
    if len(text) <= LONGEST:
        return text, range(len(text))
    text, places = condensed(text)
    if len(text) <= LONGEST:
        return text, places
    first = max((end.end() for end in _SENTENCE_END.finditer(text, 0, LONGEST // 2)), default=LONGEST // 2)
    sentence = _SENTENCE_END.search(text, len(text) - LONGEST // 2, len(text) - 1)
    last = sentence.end() if sentence else len(text) - LONGEST // 2
    return f"{text[:first]}\n{text[last:]}", [*places[:first], places[first], *places[last:]]


def boxes(text: str) -> Iterator[tuple[int, int]]:
    """Where the contents of the last boxes of a text begin and end, the last one first: \\boxed{…}, \\fbox{…}."""
    found: list[tuple[int, int]] = []
    opened: list[int | None] = []
    for brace in _BRACE.finditer(text):
        if brace.group() != "}":
            opened.append(brace.end() if len(brace.group()) > 1 else None)
        elif opened and (begin := opened.pop()) is not None:
            found.append((begin, brace.start()))
    found += [(begin, len(text)) for begin in opened if begin is not None]
    yield from sorted(found, reverse=True)[:_MOST_BOXES]


def without_latex(text: str) -> str:
    return without(_LATEX, text)


def spoken(reply: str) -> str:
    """The reply without what does not count, as long as before."""
    return without(_ECHO, without_markup(without(RUN_ON, without_thinking(reply))))


def _joined(found: re.Match[str]) -> str:
    """A word without inner markup ("in**correct**"), padded on the left to its old length."""
    return _MARKUP.sub("", found.group()).rjust(len(found.group()))
