"""What the cells of a table say: values as text, and texts that are no names, or something else written as a text. A note
counts each kind of cell that was decoded, or is kept though it may be no name.
"""

from __future__ import annotations

import ast
import html
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache

from medfact import facts
from medfact.assets import table_words
from medfact.facts import Fact

_MONTH = "(?:jan|feb|mar|mrz|mär|apr|may|mai|jun|jul|aug|sept?|oct|okt|nov|dec|dez)"
_CLOCK = r"\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?(?: ?[ap]m)?"
_DAY = (
    r"(?:\d{4}-\d{2}-\d{2}|\d{4}/\d{1,2}/\d{1,2}|\d{1,2}/\d{1,2}/(?:\d{4}|\d{2})|\d{1,2}\.\d{1,2}\.\d{4}"
    rf"|\d{{1,2}}(?:-|\. ?){_MONTH}(?:[-. ]\d{{2,4}})?|{_MONTH}-(?:\d{{4}}|\d{{2}}))"
)
_STRING = r"""(?<!\\)b?(?:'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")"""
_SPACE_OR_COMMA = r"(?:\s*+,\s*+|\s++)"

_ERROR = re.compile(r"#(?:n/?a(?: n/a)?|nv|n/[dv]|getting_data|[¡¿]?[\w/]+[!?])|err:\d{3}", re.IGNORECASE)
"""The errors of spreadsheets, in the languages in which these write them."""

_TIME = re.compile(rf"{_DAY}(?:[t ]{_CLOCK}(?:z|[+-]\d{{2}}:?\d{{2}})?)?|(?:-?\d+ days?,? )?{_CLOCK}", re.IGNORECASE)
_BYTES = re.compile(r"""b(?:'.*'|".*")""", re.DOTALL)
_LIST = re.compile(rf"[\[({{]\s*{_STRING}(?:{_SPACE_OR_COMMA}{_STRING})*+\s*+(?:,\s*+)?[\])}}]", re.DOTALL)
_LIKE_LIST = re.compile(r"""(?:[\[(]|array\(\[)\s*b?['"]|[\[(]\{['"]""")
_RECORD = re.compile(r"""\{\s*['"]""")
_MAY_BE_CODE = re.compile(r"""\A(?:\s*(?:[\[({]|b['"]|set\()|[^&]*&)""")
_SIGN = re.compile(r"&(?:[a-zA-Z]\w*|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});")

_MAY_BE_NONE = re.compile(rf"#|err:|-?\d|{_MONTH}[-.]|true$|false$|b['\"]|[\[({{]|array", re.IGNORECASE)
"""How those begin that are no names, looked for first: most names are none of them."""

_NUMBER = re.compile(r"[+−-]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:[.,]\d+)?|[.,]\d+)(?:e[+-]?\d+)?\s?%?", re.IGNORECASE)
_SEVERAL = re.compile(
    r"\S\s*\|+\s*\S|\S; \S|\S / \S|\w、\w|[^,，]{2}(?:, |，)[^,，]{2,40}(?:, |，)[^,，]{2}|[a-z]{3}/[a-z]{3,40}/[a-z]{3}|"
    r"\A[a-z]{4,40}/[a-z]{4,40}\Z"
)
_SPLIT, _HUMP = re.compile(r"[\W_]+"), re.compile(r"(?<=[a-z])(?=[A-Z])")
_ORDINARY = re.compile(r"[A-Za-z]*(?:[ '-][A-Za-z]+)*")
_LISTING = re.compile("[;|/、,，]")
_IN_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_MARKUP = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]*(?:\s[^<>]*)?/?>")

_SYMBOL = "[\x80-\xbf€‚ƒ„…†‡ˆ‰Š‹Œ‘’“”•–—˜™š›œžŸŽ]"
_TWICE = re.compile(f"[ÂÃÎÏÐÑ]{_SYMBOL}|[âãäåæçèéïð]{_SYMBOL}{_SYMBOL}")
"""The characters of UTF-8 that was read as Windows-1252 or Latin-1: "Ã¶" for "ö"."""
_LOST = re.compile(r"\ufffd|[^\W\d]\?[^\W\d]")

MISSING, NUMBER, SEVERAL, MARKUP, IDENTIFIER = "missing", "number", "several", "markup", "identifier"
TWICE, LOST, SENTENCE, TAG = "decoded twice", "characters lost", "sentence", "tag"
"""What may be no name, and is kept."""

EMPTIED = "emptied"
"""Words for a missing value that are read as an empty cell."""

UNCOMPUTED = "#FORMULA!"
"""The text of a cell that holds a formula whose value the workbook lacks."""


class Listed(str):
    """The text of a cell that holds a list. texts: the elements' texts."""

    texts: tuple[str, ...]

    @classmethod
    def of(cls, values: Iterable[object]) -> Listed:
        values = list(values)
        listed = cls(values)
        listed.texts = tuple(as_text(value) for value in values if value is not None)
        return listed


def as_text(value: object) -> str:
    """A cell's value as text; empty for a missing one."""
    if value is None or (isinstance(value, float) and value != value):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return _text_of(value)
    return Listed.of(value) if isinstance(value, list | tuple) else str(value)


def _text_of(value: bytes) -> str:
    """Bytes as the text that they are in UTF-8; else as Python writes them."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return str(value)


def meant(text: str) -> str:
    """What is surely meant by the cell of a name: bytes and lists that were written as texts, and the characters that signs of
    HTML stand for.
    """
    if isinstance(text, Listed) or not _MAY_BE_CODE.match(text):
        return text
    written = " ".join(text.split())
    if written in ("[]", "()", "{}", "set()"):
        return ""
    if _BYTES.fullmatch(written):
        return _literal(written)
    if _LIST.fullmatch(written):
        return Listed.of(_elements(written))
    return _SIGN.sub(lambda sign: html.unescape(sign[0]), text) if "&" in text else text


def _literal(written: str) -> str:
    """The text in quotation marks, or in those of bytes; unchanged where it is neither."""
    try:
        return as_text(ast.literal_eval(written))
    except (ValueError, SyntaxError):
        return written


def _elements(written: str) -> list[str]:
    """The texts of a list: in JSON, or as Python or numpy write it."""
    try:
        return [str(text) for text in json.loads(written)]
    except (ValueError, RecursionError):
        return [_literal(string) for string in re.findall(_STRING, written, re.DOTALL)]


@lru_cache(maxsize=1 << 14)
def fault(text: str) -> str:
    """Why a cell is no name, after "the tail", and what to do; "" where it may be one."""
    if not _MAY_BE_NONE.match(text):
        return ""
    if text == UNCOMPUTED:
        return "is a formula without a stored value; open the file in a spreadsheet, save it, and choose it again"
    if _ERROR.fullmatch(text):
        return "is a spreadsheet's error, such as #N/A, and no name; type the name, or delete the row"
    if _TIME.fullmatch(text):
        return (
            "is a date or a time, and no name; spreadsheets make dates of names such as MARCH1: format the column as text, and "
            "type the name again"
        )
    if text.lower() in ("true", "false"):
        return "is true or false, and no name; type the name, or delete the row"
    if _BYTES.fullmatch(text):
        return "holds bytes that are no text; export the file again, with names as text"
    if _RECORD.match(text):
        return "holds a record, and no name; write the name alone"
    if _LIKE_LIST.match(text):
        return "holds a list that cannot be read; write one row for each of its elements"
    return ""


@lru_cache(maxsize=1 << 14)
def doubt(text: str) -> str:
    """Why a name that is kept may be none or damaged, such as MISSING or NUMBER; "" where nothing suggests that."""
    if is_missing(text):
        return MISSING
    if _ORDINARY.fullmatch(text) and not facts.may_have_affixes(text):
        return SENTENCE if text.count(" ") >= 3 and _is_sentence(text) else ""
    if _NUMBER.fullmatch(text):
        return NUMBER
    if facts.IDENTIFIER.fullmatch(text):
        return IDENTIFIER
    if "<" in text and _MARKUP.search(text):
        return MARKUP
    if not text.isascii() and _TWICE.search(text):
        return TWICE
    if ("\ufffd" in text or "?" in text) and _LOST.search(text):
        return LOST
    if _is_sentence(text):
        return SENTENCE
    if facts.first_affix(text):
        return TAG
    return SEVERAL if _LISTING.search(text) and _SEVERAL.search(_IN_BRACKETS.sub("", text)) else ""


@cache
def _missing() -> frozenset[str]:
    return frozenset(map(str.lower, table_words()["missing"]))


def is_missing(text: str) -> bool:
    """Whether a text is a word for a missing value."""
    return len(text) < 20 and text.lower() in _missing()


def _is_sentence(text: str) -> bool:
    """Whether a text is a sentence, and no name: of several words, with a verb or a stop at the end."""
    words = text.casefold().split()
    return (len(words) >= 5 and text[-1] in ".!。") or (len(words) >= 4 and not _verbs().isdisjoint(words[1:-1]))


@cache
def _verbs() -> frozenset[str]:
    return frozenset(table_words()["verbs"])


DECODED, LISTS = "decoded", "lists"

_WORDS: Mapping[str, tuple[str, str]] = {
    MISSING: ("Words for a missing value", "They count as names; where nothing is meant, leave the cell empty."),
    NUMBER: ("Bare numbers", "They count as names; if they are identifiers, give the names in their place."),
    SEVERAL: (
        "Several names in one cell",
        "Each cell counts as one name; if it is a list, write one row for each, or add --column split==;.",
    ),
    MARKUP: ("Markup", "It counts as a part of the name; remove it if it is none."),
    IDENTIFIER: ("Identifiers", "They count as names; give the names in their place."),
    TWICE: ("Text that was decoded twice", "It counts as it stands; save the file anew as UTF-8 from its source."),
    LOST: ("Lost characters", "They count as they stand; save the file anew as UTF-8 from its source."),
    SENTENCE: ("Sentences", "Each counts as a name, and would stand in other sentences; write the name alone."),
    TAG: ("Tags or codes beside names", "They would stand in each sentence; take them off."),
    EMPTIED: ("Words for a missing value", "They are read as an empty cell."),
    DECODED: ("Names written in code", "They are read as the text that they stand for."),
    LISTS: ("Lists written as text", "Each element counts as a fact of its own."),
}

_EXAMPLES, _EXAMPLE_LENGTH = 3, 60

_FILLED = frozenset({"head", "relation", "tail", "positive"})
"""Columns in which a word for a missing value is not read as an empty cell."""


class Doubts:
    """Counts such cells. Columns are those of facts."""

    def __init__(self) -> None:
        self._columns: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
        self._examples: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._of_names: dict[str, None] = {}

    def add_columns(self, unread: Iterable[str]) -> None:
        """Adds columns of a table that no fact has, some of which may hold names."""
        words = frozenset(table_words()["of_names"])
        self._of_names |= dict.fromkeys(name for name in unread if words & set(_SPLIT.split(_HUMP.sub(" ", name).lower())))

    def meant(self, column: str, text: str) -> str:
        """What is surely meant by a cell (`cells.meant`)."""
        read = meant(text)
        if isinstance(read, Listed) and not isinstance(text, Listed):
            self._add(LISTS, column, text)
        elif read and read != text:
            self._add(DECODED, column, text)
        return read

    def look_at(self, cells: Mapping[str, str], texts: Mapping[str, str]) -> None:
        """Counts what may be no name among the cells of a row that is kept. texts: the same with their line ends."""
        for column in ("head", "relation", "tail"):
            kind = doubt(cells[column])
            if column == "tail" and not kind and "\n" in texts[column].strip():
                kind = SEVERAL
            if kind == SENTENCE and column == "relation":  # "disease has finding"
                continue
            if kind and (kind != SEVERAL or column == "tail"):  # the names of diseases hold semicolons
                tag = facts.first_affix(cells[column]) if kind == TAG else ""
                self._add(kind, column, tag or cells[column])

    def emptied(self, cells: dict[str, str]) -> dict[str, str]:
        """The cells of a row, without words for a missing value in columns that may be empty."""
        words = [name for name, text in cells.items() if text and name not in _FILLED and is_missing(text)]
        for name in words:
            self._add(EMPTIED, name, cells[name])
        return cells | dict.fromkeys(words, "") if words else cells

    def _add(self, kind: str, column: str, text: str) -> None:
        self._columns[kind][column] += 1
        if len(self._examples[kind]) <= _EXAMPLES:
            self._examples[kind].setdefault(" ".join(text.split()))

    def notes(self) -> Iterator[str]:
        """A note for each kind of which there is any."""
        for kind, (what, advice) in _WORDS.items():
            if columns := self._columns.get(kind):
                places = ", ".join(
                    f"the {name} of {count} {'row' if count == 1 else 'rows'}" for name, count in columns.items()
                )
                beside = ", ".join(map(repr, self._of_names)) if kind in (IDENTIFIER, NUMBER) else ""
                columns_of_names = f" The file also has {beside}: name such a column as head or tail." if beside else ""
                yield f"{what} ({', '.join(self._shown(kind))}): {places}. {advice}{columns_of_names}"

    def _shown(self, kind: str) -> list[str]:
        texts = [f"{text[:_EXAMPLE_LENGTH]}…" if len(text) > _EXAMPLE_LENGTH else text for text in self._examples[kind]]
        return texts if len(texts) <= _EXAMPLES else [*texts[:_EXAMPLES], "…"]


SpellingKey = tuple[bool, str, str, str]
"""Whether a fact is true, and its names under one spelling."""


def spelling_note(tested: Sequence[Fact], keys: Sequence[SpellingKey]) -> Iterator[str]:
    """Says how many facts are others in other capitals or another spelling."""
    first: dict[SpellingKey, Fact] = {}
    again: list[Fact] = []
    for fact, key in zip(tested, keys, strict=True):
        one = first.setdefault(key, fact)
        if (one.head, one.relation, one.tail) != (fact.head, fact.relation, fact.tail):
            again.append(fact)
    if again:
        example = f"{again[0].head}, {again[0].relation}, {again[0].tail}"
        say, each = ("1 fact says", "Both count") if len(again) == 1 else (f"{len(again)} facts say", "Each counts")
        other = "in other capitals or spelling"
        yield f"{say} the same as another one {other}, such as {example}. {each}; delete one if it is a slip."
