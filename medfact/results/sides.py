"""The runs that are compared: each with its record and its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from medfact.errors import Mistake
from medfact.metrics.clusters import Codes
from medfact.results.report import Board, board_of
from medfact.store import Run, Store

FEWEST, MOST = 2, 8
"""So many runs are compared."""


@dataclass(frozen=True)
class Side:
    """One of the runs that are compared: its record and its rows."""

    run: Run
    board: Board

    @property
    def identity(self) -> Codes:
        """Of each statement, a number that names its fact in every run."""
        return self.board.sheet.identity[self.board.sheet.fact]


def sides_of(store: Store, runs: Sequence[str]) -> list[Side]:
    """The runs of these ids, or beginnings of ids, as they stand. Raises Mistake and UnknownName."""
    return checked([Side(record, board_of(store, record.run)) for record in map(store.run, runs)])


def checked(sides: list[Side]) -> list[Side]:
    """The same sides. Raises Mistake where they are too few or too many, or one stands twice."""
    if not FEWEST <= len(sides) <= MOST:
        raise Mistake(f"{len(sides)} {'run is' if len(sides) == 1 else 'runs are'} given.", f"Compare {FEWEST} to {MOST}.")
    if len({side.run.run for side in sides}) < len(sides):
        raise Mistake("A run is given twice.", "Compare different runs.")
    return sides
