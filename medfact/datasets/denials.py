"""Columns that may deny facts: those of known names are read, others are refused or noted. Their words are in TABLE_WORDS."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache

from medfact.assets import table_words
from medfact.datasets.columns import CONSTANT
from medfact.errors import FactsError
from medfact.facts import COLUMNS

TRUE, FALSE, ZERO, EMPTY, OTHER = "true", "false", "zero", "missing", "other"
AFFIRMS, DENIES, MAY_DENY, UNDECIDED, RETIRED = "affirms", "denies", "may_deny", "undecided", "retired"
"""Meanings of a value."""

NEGATION, POLARITY, FREQUENCY, CURRENT, NO_LONGER = "negation", "polarity", "frequency", "current", "no_longer"
DECISION, RANK, CLAIM, OF_DENIAL, SCORE = "decision", "rank", "claim", "of_denial", "score"
LIKE_CLAIM, LIKE_DENIAL, UNNAMED = "like a claim", "like a denial", "unnamed"
"""Kinds of columns, by their names; the last three by a word of the name, or by none."""

FALSE_FACT, LEFT_OUT = "false", "left out"
"""Effects of a value on its row."""

_LONGEST = 60
"""Characters of a value that may be such a word."""

_ZERO = re.compile(r"0+(?:[.,]0+)? ?%|0+ ?(?:/|of|out of|von|de|sur|aus|auf) ?\d+(?: ?\(0 ?%\))?")
_NUMBER = re.compile(r"[+-]?\d*+(?:[.,]\d++)?(?<=\d)")
_ENDS_OF_NUMBERS = "0123456789%)"
_MARKS = ("x", "X", "*", "•", "●", "■")
_DASHES = ("-", "−", "–")
_PARTS = re.compile(r"[|;:]")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NO_WORD = re.compile(r"[\W_]+")

_EFFECTS: Mapping[str, Mapping[str, str]] = {
    NEGATION: dict.fromkeys((TRUE, DENIES, MAY_DENY), FALSE_FACT),
    POLARITY: dict.fromkeys((FALSE, ZERO, DENIES, MAY_DENY), FALSE_FACT),
    FREQUENCY: dict.fromkeys((FALSE, ZERO, DENIES, MAY_DENY), FALSE_FACT),
    CURRENT: dict.fromkeys((FALSE, ZERO, DENIES, MAY_DENY, RETIRED), LEFT_OUT),
    NO_LONGER: dict.fromkeys((TRUE, OTHER, AFFIRMS, DENIES, MAY_DENY, UNDECIDED, RETIRED), LEFT_OUT),
    DECISION: dict.fromkeys((FALSE, ZERO, DENIES, MAY_DENY, UNDECIDED, RETIRED), LEFT_OUT),
    RANK: dict.fromkeys((DENIES, MAY_DENY, RETIRED), LEFT_OUT),
    OF_DENIAL: dict.fromkeys((TRUE, OTHER, DENIES, MAY_DENY, UNDECIDED, RETIRED), LEFT_OUT),
}
"""Kind of column → meaning of a value → its effect."""

_UNCLEAR: Mapping[str, frozenset[str]] = {NEGATION: frozenset({OTHER, UNDECIDED, RETIRED})}
"""Meanings that a column of a kind cannot have: what it denies is unknown then."""

_DENYING = frozenset({FALSE, ZERO, DENIES, MAY_DENY})


@cache
def _meanings() -> Mapping[str, str]:
    """Word → its meaning; of a word in several lists, the first of these."""
    lists = (TRUE, FALSE, MAY_DENY, EMPTY, DENIES, RETIRED, UNDECIDED, AFFIRMS)
    return {_plain(word): name for name in reversed(lists) for word in table_words()[name]}


def _plain(text: str) -> str:
    plain = (text if text.isascii() else unicodedata.normalize("NFKC", text)).casefold().replace("_", " ")
    return " ".join(plain.split()).rstrip(".!") or plain


@lru_cache(maxsize=1 << 14)
def meaning(text: str) -> str:
    """The meaning of a value, such as TRUE or DENIES; OTHER of what is no such word."""
    if len(text) > _LONGEST:
        return OTHER
    if not text.strip():
        return EMPTY
    words, plain = _meanings(), _plain(text.rpartition("/")[2] if text.startswith("http") else text)
    if plain in words:
        return words[plain]
    if plain[-1:] in _ENDS_OF_NUMBERS:
        if _NUMBER.fullmatch(plain):
            return {0.0: FALSE, 1.0: TRUE}.get(float(plain.replace(",", ".")), OTHER)
        if _ZERO.fullmatch(plain):
            return ZERO
    parts = {words.get(part.strip(), OTHER) for part in _PARTS.split(plain)}
    first = words.get(plain.partition(" ")[0], OTHER)
    return next((told for told in (DENIES, RETIRED) if told in parts or told == first), OTHER)


def truth(text: str) -> bool | None:
    """Whether a cell says true or false, None where it says neither: a dash may mean that nothing is known."""
    told = OTHER if text.strip() in _DASHES else meaning(text)
    return True if told in (TRUE, AFFIRMS) else False if told in _DENYING else None


def is_mark(text: str) -> bool:
    """Whether a cell marks that something is so: true, a cross or a dot."""
    return text.strip() in _MARKS or truth(text) is True


@lru_cache(maxsize=1 << 12)
def _kind(name: str) -> str:
    """The kind of a column, by its name."""
    words, of = _NO_WORD.sub(" ", _plain(_HUMP.sub(" ", name))).split(), _kinds()
    rest = [word for word in words if word not in of["passed_over"]]
    for spelled in (" ".join(words), " ".join(rest)):
        if kind := next((kind for kind in (*_EFFECTS, CLAIM, SCORE) if spelled in of[kind]), ""):
            return kind
    denials = of[NEGATION] | of[NO_LONGER] | of[OF_DENIAL]
    return LIKE_DENIAL if denials & set(rest) else LIKE_CLAIM if of[CLAIM] & set(rest) else UNNAMED


def is_read(name: str) -> bool:
    """Whether a column of this name is read as one that denies facts."""
    return _kind(name) in _EFFECTS


@cache
def _kinds() -> Mapping[str, frozenset[str]]:
    names = (*_EFFECTS, CLAIM, SCORE, "passed_over")
    return {kind: frozenset(_NO_WORD.sub(" ", _plain(name)).strip() for name in table_words()[kind]) for kind in names}


class _Column:
    """A column that no fact has: its kind, the meanings that its values have, and the values that may deny a fact."""

    def __init__(self, name: str) -> None:
        self.name, self.kind = name, _kind(name)
        self.meanings: set[str] = set()
        self.counts: Counter[str] = Counter()
        self.effects: Counter[str] = Counter()

    def effect(self, text: str) -> str:
        """The effect of a value on its row; "" of none."""
        told = OTHER if len(text) > 1 and text[0] in "23456789" and text.isdecimal() else meaning(text)
        self.meanings.add(told)
        if told == OTHER and self.kind == UNNAMED:
            return ""
        effect = _EFFECTS.get(self.kind, {}).get(told, "")
        self.effects[effect] += 1
        is_telling = told in _DENYING or told in (TRUE, RETIRED)
        if effect or told in _UNCLEAR.get(self.kind, ()) or (is_telling and self.kind not in _EFFECTS):
            self.counts[text.strip()[:_LONGEST]] += 1
        return effect

    @property
    def is_refused(self) -> bool:
        """Whether its values deny facts, as a column that is not read must not."""
        if self.meanings & _UNCLEAR.get(self.kind, frozenset()):
            return True
        if self.kind in _EFFECTS or self.kind == SCORE:
            return False
        if self.kind == LIKE_DENIAL and self.meanings & {TRUE, DENIES, MAY_DENY, RETIRED}:
            return True
        denying = {DENIES} if self.kind == UNNAMED else _DENYING
        return OTHER not in self.meanings and bool(denying & self.meanings)

    @property
    def may_deny(self) -> bool:
        """Whether its values may deny facts."""
        if self.kind == SCORE:
            return bool(self.meanings & {FALSE, ZERO})
        has_both = {TRUE, FALSE} <= self.meanings and OTHER not in self.meanings
        return has_both or bool(self.meanings & {DENIES, MAY_DENY, RETIRED, ZERO})

    def values(self) -> str:
        """Its telling values, the most frequent first."""
        shown = ", ".join(f"{value!r} in {rows_of(count)}" for value, count in self.counts.most_common(3))
        return f"{shown}, …" if len(self.counts) > 3 else shown


def rows_of(count: int) -> str:
    """A number of rows in words."""
    return "1 row" if count == 1 else f"{count:,} rows"


class Denials:
    """Watches the columns of a table that no fact has, where the person does not say that all facts are true."""

    def __init__(self, file: str, names: Iterable[str], column_of: Mapping[str, str]) -> None:
        is_constant = column_of.get("positive", "").startswith(CONSTANT)
        unread = [] if is_constant else [name for name in names if name not in column_of.values() and name not in COLUMNS]
        columns = [_Column(name) for name in dict.fromkeys(unread)]
        self._file = file
        self._columns = [one for one in columns if one.kind in _EFFECTS] if "positive" in column_of else columns
        if _kind(column_of.get("positive", "")) in (NEGATION, OF_DENIAL, NO_LONGER):
            raise FactsError(
                f"{file}: the column {column_of['positive']!r} denies facts; as positive it would call them true.",
                "Name no column positive: such a column is read by itself.",
            )

    def effect(self, row: Mapping[str, str]) -> str:
        """The effect of all columns on a row: LEFT_OUT, FALSE_FACT or ""."""
        effects = {column.effect(row.get(column.name, "")) for column in self._columns}
        return LEFT_OUT if LEFT_OUT in effects else FALSE_FACT if FALSE_FACT in effects else ""

    def notes(self) -> Iterator[str]:
        """Notes on what was read so, and on columns that may deny facts. Raises FactsError where false facts would be true."""
        for column in self._columns:
            if column.is_refused:
                says = "says true or false" if column.meanings <= {TRUE, FALSE, EMPTY} else "may deny facts"
                raise FactsError(
                    f"{self._file}: column {column.name!r} {says} and is not read: its false facts would count as true "
                    f"({column.values()}).",
                    "Rename it to positive; if it says something else, give it another name. On the command line, add --column "
                    f"positive={column.name}, or --column positive==true where all facts are true.",
                )
        for column in self._columns:
            yield from self._note(column)

    def _note(self, column: _Column) -> Iterator[str]:
        place, effects = f"{self._file}: the column {column.name!r}", column.effects
        if count := effects[FALSE_FACT]:
            count_as = "this is a false fact" if count == 1 else "these are false facts"
            yield f"{place} says {column.values()}: {count_as}."
        if effects[LEFT_OUT]:
            yield (
                f"{place} says {column.values()}, left out. Rename it to positive to ask them as false facts, or delete it to "
                "ask them as true ones."
            )
        if column.kind in _EFFECTS:
            return
        if column.kind == CLAIM and OTHER in column.meanings:
            yield (
                f"{place} is not used. If it says whether a fact holds, rename it to positive and write true or false in it."
            )
        elif column.may_deny:
            yield f"{place} says {column.values()}, and is not used. If it denies facts, rename it to positive."
