"""How large a table may be: the user's own, or a visitor's on a server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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
