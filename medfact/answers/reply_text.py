"""Text of a reply without thinking, markup, echoes of the question ("true or false"), and statements that the model added.

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
"""Answer words of PretextTrans, Table 7. Only whole words count: not "no" in "diagnosis", nor "correct" in "incorrect"."""

FLAGS = re.IGNORECASE | re.ASCII
"""ASCII makes a keyword next to another script ("答案是True。") a whole word."""

WORDS = "|".join((*TRUE_WORDS, *FALSE_WORDS, "Incorrect", "Untrue"))  # alternatives in a regular expression

_TRUE = frozenset(word.lower() for word in TRUE_WORDS)

RUN_ON = re.compile(r"(?<=\S)(?=\s*?\n)\s++Statement\s*:.*", re.DOTALL | FLAGS)
"""A further "Statement: …" that a model wrote after its answer, and all that follows."""

_MARKUP = re.compile(r"[*_`#]+")
_WITHIN_A_WORD = re.compile(r"(?<![^\W_])[^\W_]++(?:[*_`#]++[^\W_]++)++")
_ECHO = re.compile(r"true\s+(?:or|and|/)\s+false|true/false|false\s+(?:or|and|/)\s+true|yes\s+or\s+no", FLAGS)


class ReadAnswer(NamedTuple):
    """The parsed answer of a reply; both fields are None if it is unreadable."""

    answer: bool | None
    at: int | None  # index of the deciding word in the reply, in characters


UNREADABLE = ReadAnswer(None, None)

MAX_PARSED_LENGTH = 2_000
"""Maximum length in characters, without thinking, of a reply that is parsed wholly; of others only start and end are parsed."""

_MAX_BOXES = 3
_BOX_OR_BRACE = re.compile(
    r"(?:\\(?:boxed|fbox|framebox)|\x08oxed|\x0cbox)\s{0,9}(?:\[[^\[\]{}\n]{0,40}\]\s{0,9})?\{|[{}]", re.IGNORECASE
)
"""Start of a LaTeX box, also with "\\b" or "\\f" decoded as a control character; or a brace."""

_LATEX = re.compile(
    r"\\(?:text)?color\s{0,9}\{\w{0,20}\}|\\[a-z]{1,20}\*?|\text[a-z]{0,4}(?=\{)|\\[^\w\s]|[{}$\\]", re.IGNORECASE
)
_PLAIN_CHARACTERS = {
    number: plain
    for number in (*range(0xFF10, 0xFF5B), *range(0x1D400, 0x1D800))
    if len(plain := unicodedata.normalize("NFKC", chr(number))) == 1 and plain.isalnum()
}
"""Code points of full-width and mathematical letters and digits → their plain characters."""

_WORD_OR_SPACE = re.compile(r"\S+|(?P<space>\s+)")
_SENTENCE_END = re.compile(r"[.!?;\n。！？；]")


def is_true_word(word: str) -> bool:
    """Returns True for a True word of WORDS, False for a False word."""
    return word.lower() in _TRUE


def blank_out(pattern: re.Pattern[str], text: str) -> str:
    """Overwrites all matches of the pattern with spaces."""
    return pattern.sub(lambda match: " " * len(match.group()), text)


def blank_markup(text: str) -> str:
    """Overwrites markup with spaces. For markup within a word ("in**correct**"), the spaces precede the word."""
    joined = _WITHIN_A_WORD.sub(lambda word: _MARKUP.sub("", word.group()).rjust(len(word.group())), text)
    return blank_out(_MARKUP, joined)


def collapse_whitespace(text: str) -> tuple[str, Sequence[int]]:
    """Collapses white space to one space or line break. Returns the text, and the index of each character in the original."""
    parts, indices = list[str](), list[int]()
    for run in _WORD_OR_SPACE.finditer(text):
        if run.lastgroup is None:
            indices += range(run.start(), run.end())
            parts.append(run.group())
        else:
            indices.append(max(run.start(), text.rfind("\n", run.start(), run.end())))
            parts.append(text[indices[-1]])
    return "".join(parts), indices


def truncate_reply(reply: str) -> tuple[str, Sequence[int]]:
    """Removes thinking, and the middle of a long reply. Returns the text, and the index of each character in the original."""
    text = without_thinking(reply).translate(_PLAIN_CHARACTERS)
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
    """Yields start and end of the contents of the last _MAX_BOXES LaTeX boxes (\\boxed{…}, \\fbox{…}), the last box first."""
    closed: list[tuple[int, int]] = []
    opened: list[int | None] = []
    for brace in _BOX_OR_BRACE.finditer(text):
        if brace.group() != "}":
            opened.append(brace.end() if len(brace.group()) > 1 else None)
        elif opened and (begin := opened.pop()) is not None:
            closed.append((begin, brace.start()))
    unclosed = [(begin, len(text)) for begin in opened if begin is not None]
    yield from sorted(closed + unclosed, reverse=True)[:_MAX_BOXES]


def blank_latex(text: str) -> str:
    """Overwrites LaTeX commands, braces and dollar signs with spaces."""
    return blank_out(_LATEX, text)


def visible_text(reply: str) -> str:
    """Overwrites thinking, markup, echoes of the question, and added statements in a reply with spaces."""
    return blank_out(_ECHO, blank_markup(blank_out(RUN_ON, without_thinking(reply))))
