"""The arrows of PretextTrans' tables: how far a figure is from that of the column which the paper compares it with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from medfact.metrics.contrasts import Contrasted
from medfact.results.contrasts import Across
from medfact.results.paper_rows import PUBLISHED, Cell, PaperFigure, PaperRow, PaperTable
from medfact.results.report import Report
from medfact.results.wording import TOO_FEW, counted, points

ABOUT = (
    "Arrows: the difference from “{}”, in points. Of your models it is paired by fact, over the facts that both sides answered "
    "whole, with its 95% interval; the paper's own is that of its two figures."
)

_WITHIN = {
    "−LogImp": ("plain_less_all", 1),
    "+DN": ("none_less_+dn", -1),
    "+DN+Inv": ("none_less_+dn+inv", -1),
    "+All": ("plain_less_all", -1),
}
"""Column → the contrast within a run that is its arrow, and 1, or −1 where the contrast is the other way round."""


def pointed(table: PaperTable, reports: Sequence[Report], across: Sequence[Across]) -> PaperTable:
    """The table with the arrows of its rows; as it is where the paper's has none. across: of every two runs of a row."""
    if not table.base:
        return table
    base = table.columns.index(table.base)
    known = {report.run: report for report in reports}
    rows = (
        replace(row, arrows=tuple(_arrow(table, row, place, base, known, across) for place in range(len(table.columns))))
        for row in table.rows
    )
    return replace(table, rows=tuple(rows))


def _arrow(
    table: PaperTable, row: PaperRow, place: int, base: int, known: Mapping[str, Report], across: Sequence[Across]
) -> Cell:
    cell, less = row.cells[place], row.cells[base]
    if place == base or cell is None or less is None or cell.value is None or less.value is None:
        return None
    if row.origin == PUBLISHED:
        return PaperFigure(cell.value - less.value)
    if not row.runs:
        return None
    run, other = row.runs[place], row.runs[base]
    if run != other:
        return _between(run, other, across)
    name, sign = _WITHIN[table.columns[place]]
    return _signed(known[run].contrasts.get(name), sign)


def _between(run: str, less: str, across: Sequence[Across]) -> Cell:
    signs = ((one, 1 if (one.a, one.b) == (run, less) else -1) for one in across if {one.a, one.b} == {run, less})
    return next((_signed(one.found, sign) for one, sign in signs), None)


def _signed(found: Contrasted | None, sign: int) -> Cell:
    """A contrast, or the same the other way round: its bounds change places."""
    if found is None or found.value is None:
        return None
    ends = (found.low, found.high) if sign > 0 else (found.high, found.low)
    low, high = (None if end is None else sign * end for end in ends)
    return PaperFigure(sign * found.value, low, high, found.n)


def in_words(arrow: Cell) -> str:
    """An arrow as the paper prints it, "↓9.7"; of a run "↓9.7 points (−12.1 to −7.2), n = 120 facts"; "" for none."""
    if arrow is None or arrow.value is None:
        return ""
    size = f"{abs(100 * arrow.value):.1f}"
    pointing = "" if size == "0.0" else "↓" if arrow.value < 0 else "↑"
    if arrow.n is None:
        return f"{pointing}{size}"
    bounds = TOO_FEW if arrow.low is None or arrow.high is None else f"{points(arrow.low)} to {points(arrow.high)}"
    return f"{pointing}{size} points ({bounds}), n = {counted(arrow.n, 'fact')}"
