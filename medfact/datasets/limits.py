"""How large a table may be: a person's own, and one that a stranger brings to a server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from medfact.errors import FactsError

LONGEST_CELL = 100_000
"""Characters."""

Row = tuple[int, dict[str, str]]
"""A row's number, as a spreadsheet counts (the header is row 1), and its cells' texts by the names of their columns."""


@dataclass(frozen=True)
class Limits:
    """characters: of all cells. unpacked: bytes of the parts of a workbook."""

    columns: int
    rows: int
    characters: int
    relations: int
    unpacked: int

    def counted(self, file: str, rows: Iterator[Row]) -> Iterator[Row]:
        """The same rows. Raises FactsError where they are more, or longer, than they may be."""
        characters = 0
        for count, (number, cells) in enumerate(rows, 1):
            characters += sum(map(len, cells.values()))
            if count > self.rows:
                raise FactsError(f"{file} has more than {self.rows:,} rows.", "Split it, or take a part of it.")
            if characters > self.characters:
                problem = f"{file}, row {number}: the file holds more than {self.characters:,} characters."
                raise FactsError(problem, "Leave out columns that are not used.")
            yield number, cells

    def check_columns(self, file: str, columns: int) -> None:
        """Raises FactsError where there are more columns than there may be."""
        if columns > self.columns:
            raise FactsError(f"{file} has more than {self.columns:,} columns.", "Leave out those that are not used.")

    def check_relations(self, file: str, relations: int) -> None:
        """Raises FactsError where there are more relations than there may be."""
        if relations > self.relations:
            raise FactsError(f"{file} has more than {self.relations:,} relations.", "Check which column holds the relation.")


OWN = Limits(columns=10_000, rows=10_000_000, characters=10**10, relations=10_000, unpacked=4 << 30)
"""Of a file on one's own machine."""

VISITOR = Limits(columns=1_000, rows=100_000, characters=100_000_000, relations=500, unpacked=150 << 20)
"""Of a file that comes over the page."""
