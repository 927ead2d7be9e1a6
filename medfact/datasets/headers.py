"""Which row of a table is its header: below a title and comments, if it has the columns that are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import NamedTuple

from medfact.errors import FactsError

MAX_CELL = 100_000
"""Characters of one cell of a CSV, TSV or Parquet file."""

MAX_NAME = 1_000
"""Characters of a head, relation or tail; a longer one is a paragraph."""

Row = tuple[int, dict[str, str]]
"""A row's number, as in a spreadsheet (the header is row 1), and its cells: column name → text."""


@dataclass(frozen=True)
class Limits:
    """The largest table allowed. characters: of all cells together. unpacked: bytes of a workbook's unpacked parts."""

    columns: int
    rows: int
    characters: int
    relations: int
    unpacked: int

    def counted(self, file: str, rows: Iterator[Row]) -> Iterator[Row]:
        """Passes the rows on. Raises FactsError at the first row beyond the limits."""
        characters = 0
        for count, (number, cells) in enumerate(rows, 1):
            characters += sum(map(len, cells.values()))
            if count > self.rows:
                raise FactsError(f"{file} has more than {self.rows:,} rows.", "Split it, or use a part of it.")
            if characters > self.characters:
                problem = f"{file}, row {number}: the file holds more than {self.characters:,} characters."
                raise FactsError(problem, "Remove unused columns.")
            yield number, cells

    def check_columns(self, file: str, columns: int) -> None:
        """Raises FactsError if there are too many columns."""
        if columns > self.columns:
            raise FactsError(f"{file} has more than {self.columns:,} columns.", "Remove the unused ones.")

    def check_relations(self, file: str, relations: int) -> None:
        """Raises FactsError if there are too many relations."""
        if relations > self.relations:
            raise FactsError(f"{file} has more than {self.relations:,} relations.", "Check which column holds the relation.")


OWN = Limits(columns=10_000, rows=10_000_000, characters=10**10, relations=10_000, unpacked=4 << 30)
"""For files on the user's own machine."""

VISITOR = Limits(columns=1_000, rows=100_000, characters=100_000_000, relations=500, unpacked=150 << 20)
"""For files uploaded to the page."""


Record = tuple[int, list[str]]
"""A row's number, from 1, and its cells."""

MOST_ABOVE, LAST_HEADER_ROW, LOOKED_AT = 20, 1_000, 200
"""Rows with text among which a header is looked for; rows with and without text, as a file may have no end; and rows below the
header from which its columns are guessed.
"""


@dataclass(frozen=True)
class Columns:
    """The columns that a table needs. fit: whether these names are such columns. fewest: how many cells a row must have to be
    taken for the header where none fits.
    """

    fit: Callable[[list[str]], bool]
    fewest: int = 1


ANY = Columns(lambda names: True)
"""Of a table whose first row is its header."""


class Table(NamedTuple):
    """place: the file, and the sheet where it has several. fits: whether the columns are those that are needed."""

    place: str
    columns: list[str]
    rows: Iterator[Row]
    fits: bool
    notes: tuple[str, ...] = ()


def table_of(place: str, records: Iterator[Record], needed: Columns) -> Table | None:
    """The table in these rows; None where none of them has text."""
    top = islice(records, LAST_HEADER_ROW)
    first = list(islice(_filled(top), MOST_ABOVE))
    if not first:
        return None
    named = [_names(cells, needed) for _, cells in first]
    fitting = next((at for at, names in enumerate(named) if needed.fit(names)), None)
    at = _likely(first, needed.fewest) if fitting is None else fitting
    is_told = any(not _is_comment(cells) for _, cells in first[:at])
    notes: tuple[str, ...] = (
        (f"{place}: the header is row {first[at][0]}; what stands above it is not read.",) if is_told else ()
    )
    below = _filled(chain(top, records))
    begun = [*first[at + 1 :], *islice(below, MOST_ABOVE)]
    columns = named[at]
    if _are_numbered(columns, begun):
        columns = ["", *columns]
        notes += (f"{place}: each row has one cell more than the header, a number in front, which is not read.",)
    return Table(place, columns, _named(place, columns, chain(begun, below)), fitting is not None, notes)


def _are_numbered(columns: list[str], begun: list[Record]) -> bool:
    """Whether each of the first rows begins with a number of its own, for which the header has no name, as R writes them."""
    numbers = [cells[0].strip() for _, cells in begun if len(cells) == len(columns) + 1 and cells[-1].strip()]
    return 0 < len(begun) == len(numbers) == len(set(numbers)) and all(map(str.isdecimal, numbers))


def _filled(records: Iterator[Record]) -> Iterator[Record]:
    """The rows that have some text."""
    return (record for record in records if any(cell.strip() for cell in record[1]))


def _names(cells: list[str], needed: Columns) -> list[str]:
    """The names in a header; without the sign of a comment before the first, unless they fit with it."""
    names = [cell.strip().lstrip("\ufeff") for cell in cells]
    bare = names[0].lstrip("#").lstrip()
    return [bare, *names[1:]] if bare and not needed.fit(names) else names


def _likely(first: list[Record], fewest: int) -> int:
    """The place of the header where no row fits: the first that is no comment, and has so many cells if any has."""
    plain = [at for at, (_, cells) in enumerate(first) if not _is_comment(cells)] or [0]
    return next((at for at in plain if sum(bool(cell.strip()) for cell in first[at][1]) >= fewest), plain[0])


def _is_comment(cells: list[str]) -> bool:
    return cells[0].lstrip().startswith("#")


def _named(place: str, columns: list[str], records: Iterator[Record]) -> Iterator[Row]:
    for number, cells in records:
        if any(cell.strip() for cell in cells[len(columns) :]):
            raise FactsError(
                f"{place}, row {number}: it has {len(cells)} cells where the header has {len(columns)}.",
                "Put a cell that contains the separator in quotation marks, without a space before them; where each row begins "
                "with a name of its own, give it a header, too.",
            )
        yield number, dict(zip(columns, [*cells, *[""] * (len(columns) - len(cells))], strict=False))
