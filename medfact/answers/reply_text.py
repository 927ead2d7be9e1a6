"""The visible text of a reply: without thinking, markup, echoes of the question, and further statements that the model wrote.

Ignored parts are overwritten with spaces, not removed, so that indices stay valid.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from medfact.models.thinking import without_thinking

TRUE_WORDS = ("True", "Entailed", "Correct", "Yes")
FALSE_WORDS = ("False", "Contradicted", "Wrong", "No")
"""PretextTrans, Table 7. Only whole words count: not the "no" in "diagnosis"; "incorrect" is a separate word."""

FLAGS = re.IGNORECASE | re.ASCII
"""ASCII makes a keyword next to another script ("答案是True。") a whole word."""

WORDS = "|".join((*TRUE_WORDS, *FALSE_WORDS, "Incorrect", "Untrue"))

_TRUE = frozenset(word.lower() for word in TRUE_WORDS)

RUN_ON = re.compile(r"(?<=\S)(?=\s*?\n)\s++Statement\s*:.*", re.DOTALL | FLAGS)
"""A further statement, and the model's answer to it."""

_MARKUP = re.compile(r"[*_`#]+")
_WITHIN_A_WORD = re.compile(r"(?<![^\W_])[^\W_]++(?:[*_`#]++[^\W_]++)++")
_ECHO = re.compile(r"true\s+(?:or|and|/)\s+false|true/false|false\s+(?:or|and|/)\s+true|yes\s+or\s+no", FLAGS)


class ReadAnswer(NamedTuple):
    """The answer of a reply, and the index of the deciding word; both None if it is unreadable."""

    answer: bool | None
    at: int | None


UNREADABLE = ReadAnswer(None, None)

MAX_PARSED_LENGTH = 2_000
"""Maximum length of a reply without thinking; of longer ones start and end are parsed."""

_MAX_BOXES = 3
_BRACE = re.compile(
    r"(?:\\(?:boxed|fbox|framebox)|\x08oxed|\x0cbox)\s{0,9}(?:\[[^\[\]{}\n]{0,40}\]\s{0,9})?\{|[{}]", re.IGNORECASE
)
"""Start of a box, also with "\\b" or "\\f" decoded as a control character; and braces."""

_LATEX = re.compile(
    r"\\(?:text)?color\s{0,9}\{\w{0,20}\}|\\[a-z]{1,20}\*?|\text[a-z]{0,4}(?=\{)|\\[^\w\s]|[{}$\\]", re.IGNORECASE
)
_LETTERS = {
    number: plain
    for number in (*range(0xFF10, 0xFF5B), *range(0x1D400, 0x1D800))
    if len(plain := unicodedata.normalize("NFKC", chr(number))) == 1 and plain.isalnum()
}
"""Full-width and mathematical letters and digits → ASCII."""

_RUN = re.compile(r"\S+|(?P<space>\s+)")
_SENTENCE_END = re.compile(r"[.!?;\n。！？；]")


def is_true_word(word: str) -> bool:
    """Returns True for a True word, False for a False word of WORDS."""
    return word.lower() in _TRUE


def blank_out(pattern: re.Pattern[str], text: str) -> str:
    """Overwrites all matches of the pattern with spaces."""
    return pattern.sub(lambda match: " " * len(match.group()), text)


def blank_markup(text: str) -> str:
    """Overwrites markup with spaces. For markup within a word ("in**correct**"), the spaces precede the word."""
    joined = _WITHIN_A_WORD.sub(lambda word: _MARKUP.sub("", word.group()).rjust(len(word.group())), text)
    return blank_out(_MARKUP, joined)


def collapse_whitespace(text: str) -> tuple[str, Sequence[int]]:
    """Collapses white space to one space or line break; returns the text and the original index of each character."""
    parts, indices = list[str](), list[int]()
    for run in _RUN.finditer(text):
        if run.lastgroup is None:
            indices += range(run.start(), run.end())
            parts.append(run.group())
        else:
            indices.append(max(run.start(), text.rfind("\n", run.start(), run.end())))
            parts.append(text[indices[-1]])
    return "".join(parts), indices


def truncate_reply(reply: str) -> tuple[str, Sequence[int]]:
    """Removes thinking, and truncates a long reply in the middle. Returns the text and the index of each character."""
    text = without_thinking(reply).translate(_LETTERS)
    if len(text) <= MAX_PARSED_LENGTH:
        return text, range(len(text))
    text, indices = collapse_whitespace(text)
    if len(text) <= MAX_PARSED_LENGTH:
        return text, indices
    first = max((end.end() for end in _SENTENCE_END.finditer(text, 0, MAX_PARSED_LENGTH // 2)), default=MAX_PARSED_LENGTH // 2)
    sentence = _SENTENCE_END.search(text, len(text) - MAX_PARSED_LENGTH // 2, len(text) - 1)
    last = sentence.end() if sentence else len(text) - MAX_PARSED_LENGTH // 2
    return f"{text[:first]}\n{text[last:]}", [*indices[:first], indices[first], *indices[last:]]


def box_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yields start and end of the contents of the last LaTeX boxes (\\boxed{…}, \\fbox{…}), in reverse order."""
    closed: list[tuple[int, int]] = []
    opened: list[int | None] = []
    for brace in _BRACE.finditer(text):
        if brace.group() != "}":
            opened.append(brace.end() if len(brace.group()) > 1 else None)
        elif opened and (begin := opened.pop()) is not None:
            closed.append((begin, brace.start()))
    unclosed = [(begin, len(text)) for begin in opened if begin is not None]
    yield from sorted(closed + unclosed, reverse=True)[:_MAX_BOXES]


def blank_latex(text: str) -> str:
    return blank_out(_LATEX, text)


def visible_text(reply: str) -> str:
    """Overwrites thinking, markup, echoes and further statements in a reply with spaces."""
    return blank_out(_ECHO, blank_markup(blank_out(RUN_ON, without_thinking(reply))))
