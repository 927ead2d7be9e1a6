"""How often names occur: from a table of terms and counts, or counted in a corpus. Keys are those of `name_key`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from medfact.datasets.collection import Problem
from medfact.datasets.headers import OWN, Columns, Limits
from medfact.datasets.table_reader import read_table
from medfact.datasets.text import open_text
from medfact.errors import FactsError
from medfact.facts import fold_text, name_key
from medfact.table_formats import FORMATS

TERM = ("term", "name", "entity")
COUNT = ("count", "frequency", "n")
"""What the two columns may be called, in any case; the first that a table has counts."""

LARGEST_COUNT = 10**15
"""More is a slip of the keyboard."""

MAX_PASSAGE = 1_000_000
"""Characters of a passage; a longer one counts as several."""

CORPUS = replace(OWN, rows=10**9, characters=10**13)
"""A corpus is read once, a passage at a time, so that its size costs only time."""

_WORDS = re.compile(r"\w+|[^\w\s]")
_WHOLE = re.compile(r"\d+(\.0+)?|\d{1,3}(,\d{3})+|\d+(\.\d+)?[eE]\+?\d{1,2}")


Couple = tuple[str, str]
"""Two name keys, the lesser first."""


@dataclass(frozen=True)
class Frequencies:
    """How often names occur. source: the file, or who was asked. counts: name key → count. A name without one is unknown.

    together: (name key, name key), the lesser first → how often both stand in one passage or article; {} where the source
    cannot tell. problems: rows that were left out. notes: what a reader of the figures should know.
    """

    source: str
    counts: Mapping[str, int]
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    together: Mapping[Couple, int] = field(default_factory=dict)

    def of(self, name: str | None) -> int | None:
        """The count of a name in any spelling; None where it is unknown."""
        return None if name is None else self.counts.get(name_key(name))

    def of_both(self, head: str, tail: str | None) -> int | None:
        """How often two names stand together; None where that is unknown."""
        return None if tail is None else self.together.get(couple_of(head, tail))


def couple_of(head: str, tail: str) -> Couple:
    """What two names are counted under, whichever comes first."""
    first, second = sorted((name_key(head), name_key(tail)))
    return first, second


# ------------------------------------------------------------------------------------------------ a table


def read_frequencies(path: Path, limits: Limits = OWN) -> Frequencies:
    """The frequencies in a table with the columns `term` (or name, entity) and `count` (or frequency, n), in any case.

    Of several rows about one name the largest count is taken: they are spellings of one thing, whose counts may overlap. Rows
    that cannot be used become problems. Raises FactsError where the file cannot be read or holds no usable row.
    """
    names, rows = read_table(path, limits, NEEDED)
    term, count = _column(path.name, names, TERM), _column(path.name, names, COUNT)
    counts: dict[str, int] = {}
    problems: list[Problem] = []
    repeated: set[str] = set()
    for number, row in rows:
        key, value = name_key(row.get(term, "")), _whole(row.get(count, ""))
        if not key:
            problems.append(Problem(number, f"the {term} is empty"))
        elif value is None:
            problems.append(Problem(number, f"the {count} is not a whole number from 0"))
        else:
            if key in counts:
                repeated.add(key)
            counts[key] = max(value, counts.get(key, 0))
    if not counts:
        first = f" ({problems[0]})" if problems else ""
        raise FactsError(f"{path.name} holds no usable frequency{first}.", "Give each row a term and a whole number.")
    several = f"{len(repeated):,} names stand in several rows of {path.name}; the largest count is taken."
    return Frequencies(path.name, counts, tuple(problems), (several,) if repeated else ())


def _has_counts(names: list[str]) -> bool:
    known = {name.lower() for name in names}
    return not known.isdisjoint(TERM) and not known.isdisjoint(COUNT)


NEEDED = Columns(_has_counts, fewest=2)


def _column(file: str, names: list[str], wanted: tuple[str, ...]) -> str:
    """The file's name of a column."""
    for ours in wanted:
        found = [name for name in names if name.strip().lower() == ours]
        if len(found) > 1:
            raise FactsError(f"{file}, row 1: the column {found[0]!r} occurs twice.", "Rename one of them.")
        if found:
            return found[0]
    raise FactsError(
        f"{file}, row 1: the column {wanted[0]} is missing; the file has {', '.join(names)[:200]}.",
        "Name the columns term and count.",
    )


def _whole(text: str) -> int | None:
    """A count as spreadsheets and people write it: 1200, 1200.0, 1,200 or 1.2E3; None of anything else."""
    text = text.strip()
    if not text.isascii() or len(text) > 30 or not _WHOLE.fullmatch(text):
        return None
    value = float(text.replace(",", ""))
    return int(value) if value.is_integer() and value <= LARGEST_COUNT else None


# ------------------------------------------------------------------------------------------------ a corpus


def counts_in(path: Path, names: Iterable[str], column: str = "text", couples: Iterable[tuple[str, str]] = ()) -> Frequencies:
    """In how many passages of a corpus each name stands as whole words, in any spelling that `name_key` ignores.

    Args:
        path: a .txt file, whose passages are its paragraphs (its lines, where no line is empty), or a table, whose passages
            are its rows.
        column: of a table, the one with the text.
        couples: two names each, which are counted together too.

    Names that stand nowhere have the count 0. Memory does not grow with the corpus. Raises FactsError where it cannot be read.
    """
    wanted = _Wanted(names)
    counts = dict.fromkeys(wanted.keys, 0)
    together = {couple_of(*couple): 0 for couple in couples}
    partners = _partners(together)
    passages = 0
    for passage in _passages(path, column):
        passages += 1
        found = wanted.found_in(passage)
        for key in found:
            counts[key] += 1
            for other in found & partners.get(key, set()):
                together[key, other] += 1
    if not passages:
        raise FactsError(f"{path.name} holds no text.", "Choose a file with at least one passage.")
    return Frequencies(path.name, counts, (), (f"Counts are passages of {path.name}: {passages:,} in all.",), together)


def _partners(couples: Iterable[Couple]) -> dict[str, set[str]]:
    """The first name of couples → the second ones."""
    partners: dict[str, set[str]] = {}
    for first, second in couples:
        partners.setdefault(first, set()).add(second)
    return partners


class _Wanted:
    """Names as words, found by their first word, as they are written and by their key. keys: of all names that have one."""

    def __init__(self, names: Iterable[str]) -> None:
        spellings = {(text, key) for name in names if (key := name_key(name)) for text in (fold_text(name), key)}
        self.keys: set[str] = {key for _, key in spellings}
        self._by_first: dict[str, dict[int, dict[tuple[str, ...], list[str]]]] = {}
        for text, key in sorted(spellings):
            words = tuple(_WORDS.findall(text))
            same_length = self._by_first.setdefault(words[0], {}).setdefault(len(words), {})
            same_length.setdefault(words, []).append(key)  # "a/b" and "a / b" are two keys of the same words

    def found_in(self, passage: str) -> set[str]:
        """The keys of the names that stand in a passage."""
        words = _WORDS.findall(fold_text(passage))
        found: set[str] = set()
        for place, word in enumerate(words):
            for length, same_length in self._by_first.get(word, {}).items():
                found.update(same_length.get(tuple(words[place : place + length]), ()))
        return found


def _passages(path: Path, column: str) -> Iterator[str]:
    if path.suffix.lower() == ".txt":
        return _of_text(path)
    if path.is_file() and path.suffix.lower() not in FORMATS:
        raise FactsError(f"{path.name}: files of this kind are not read.", f"Save it as one of .txt, {', '.join(FORMATS)}.")
    return _of_table(path, column)


def _of_table(path: Path, column: str) -> Iterator[str]:
    names, rows = read_table(path, CORPUS)
    if column not in names:
        raise FactsError(
            f"{path.name} has no column {column!r}.", f"Name the one with the text; it has: {', '.join(names)[:200]}."
        )
    for _, row in rows:
        if text := row.get(column, "").strip():
            yield text


def _of_text(path: Path) -> Iterator[str]:
    if not path.is_file():
        raise FactsError(f"There is no file {str(path)!r}.", "Check the path.")
    with open_text(path) as file:
        by_paragraph = any(not line.strip() for line in iter(lambda: file.readline(MAX_PASSAGE), ""))
    held = ""
    with open_text(path) as file:
        for line in iter(lambda: file.readline(MAX_PASSAGE), ""):
            ends = not line.strip() if by_paragraph else line.endswith(("\n", "\r"))
            held += line
            if len(held) >= MAX_PASSAGE and not ends:
                passage, held = _cut(held)
                yield passage
            elif ends:
                if held.strip():
                    yield held
                held = ""
    if held.strip():
        yield held


def _cut(text: str) -> tuple[str, str]:
    """A passage that is too long, and what is left of it; no word is cut in two if there is any gap."""
    gap = max(text.rfind(" "), text.rfind("\n"))
    return (text[:gap], text[gap:]) if gap > 0 else (text, "")
