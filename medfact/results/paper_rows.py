"""Rows of the papers' tables: of runs, of a coin, and the papers' own; and PretextTrans' arrows, which say how far a figure is
from that of the column which the paper compares it with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

from medfact.assets import ASSETS
from medfact.datasets import read_table
from medfact.metrics.comparison import Contrast
from medfact.metrics.uncertainty import Estimate
from medfact.results.compare import Pair
from medfact.results.report import Report
from medfact.results.wording import bounds_in_points, counted, model_of
from medfact.spec import PROTOCOLS

FOLDER = ASSETS / "published"


class PaperFigure(NamedTuple):
    """A figure in a table; a paper's own has no interval."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None


Cell = PaperFigure | Estimate | None
"""None where a row has no figure in this column."""

RUN, CHANCE, PUBLISHED = "run", "chance", "published"
"""Where a row comes from: a run of the user's, a coin's expectation, or a paper."""

NOT_THE_SAME = "published; not the same facts"

ZERO_SHOT = "zero-shot"
"""The base of MKJ's Table 3: the same model's run without passages."""


@dataclass(frozen=True)
class PaperRow:
    """One model's figures, in the order of the table's columns; `detail` says on what and how.

    runs: which run each figure is of, "" where there is none; empty where it is of no run. arrows: the difference of each
    figure from that of the table's `base`; empty where the table has none.
    """

    model: str
    origin: str
    detail: str
    cells: tuple[Cell, ...]
    semantic_type: str | None = None
    runs: tuple[str, ...] = ()
    arrows: tuple[Cell, ...] = ()


@dataclass(frozen=True)
class PaperTable:
    """A paper's table: its name there, what it shows, its columns, and a sentence on how to read it. base: the column from
    which its arrows start, "" where it has none.
    """

    paper: str
    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[PaperRow, ...]
    reading: str
    heading: str = "model"
    needs: str = "Choose the paper's method in step 2, and evaluate."
    base: str = ""

    def as_rows(self) -> Iterator[dict[str, Any]]:
        """One row per figure, for files."""
        for row in self.rows:
            detail = f"{NOT_THE_SAME}: {row.detail}" if row.origin == PUBLISHED else row.detail
            told = {"paper": self.paper, "table": self.name, "model": row.model, "semantic_type": row.semantic_type}
            for column, cell, arrow in zip(self.columns, row.cells, row.arrows or (None,) * len(row.cells), strict=True):
                figure = dict(zip(("value", "low", "high", "n"), cell or (None,) * 4, strict=True))
                ends = dict(zip(_ARROW, arrow or (None,) * 4, strict=True)) | {"less": self.base if arrow else None}
                yield (told | {"from": row.origin, "detail": detail, "column": column} | figure | ends)


_ARROW = ("difference", "difference_low", "difference_high", "difference_n")
"""What files call an arrow, its bounds, and of how many facts it is."""


def detail_of(report: Report) -> str:
    shots = f"{report.shots}-shot" if report.shots else "zero-shot"
    return f"{report.dataset}, {counted(report.facts, 'fact')}, {shots}, {report.method}"


def rows_of_runs(reports: Sequence[Report], cells: Callable[[Report], Sequence[Cell]]) -> Iterator[PaperRow]:
    for report in reports:
        made = tuple(cells(report))
        if any(cell and cell.value is not None for cell in made):
            yield PaperRow(model_of(report), RUN, detail_of(report), made, runs=(report.run,) * len(made))


def rows_side_by_side(reports: Sequence[Report], cells: Callable[[Report], Sequence[Cell]]) -> Iterator[PaperRow]:
    """A row for the runs of one model on one data set that differ in their sentences: each fills its own columns."""
    together: list[list[tuple[Report, tuple[Cell, ...]]]] = []
    for report in reports:
        made = tuple(cells(report))
        if not any(cell and cell.value is not None for cell in made):
            continue
        row = next((row for row in together if _is_beside(report, made, row)), None)
        if row is None:
            together.append(row := [])
        row.append((report, made))
    for row in together:
        first = row[0][0]
        shots = f"{first.shots}-shot" if first.shots else "zero-shot"
        facts = "/".join(dict.fromkeys(f"{report.facts:,}" for report, _ in row))
        setting = f", {first.evidence.setting}" if first.evidence else ""  # the column names the retrieval
        method = f"{PROTOCOLS[first.protocol].title}{setting}"
        detail = f"{first.dataset}, {facts} facts, {shots}, {method}" if len(row) > 1 or first.evidence else detail_of(first)
        columns = [[(report.run, made[place]) for report, made in row] for place in range(len(row[0][1]))]
        filled = [next((one for one in column if one[1]), ("", None)) for column in columns]
        runs = tuple(run for run, _ in filled)
        yield PaperRow(model_of(first), RUN, detail, tuple(cell for _, cell in filled), runs=runs)


def _is_beside(report: Report, cells: Sequence[Cell], row: Sequence[tuple[Report, Sequence[Cell]]]) -> bool:
    """Whether a run may stand in a row: of the same model, facts and method, in columns that are still free."""
    same = all(_setting(one) == _setting(report) for one, _ in row)
    return same and not any(cell and there for _, of in row for cell, there in zip(cells, of, strict=True))


def _setting(report: Report) -> tuple[object, ...]:
    """The settings that the runs of one row share."""
    corpus = report.evidence and (report.evidence.setting, report.evidence.corpus)
    return report.model, report.imported, report.dataset, report.shots, report.protocol, corpus


def coin(*values: float) -> PaperRow:
    """What a fair coin is expected to score."""
    return PaperRow("Random", CHANCE, "a fair coin, expected", tuple(map(PaperFigure, values)))


def figure_of(row: Mapping[str, str]) -> Cell:
    """The figure in a row of such a file."""
    return PaperFigure(float(row["value"])) if row.get("value") else None


@cache
def published(file: str) -> tuple[Mapping[str, str], ...]:
    """The rows of one of the files of `assets/published/`: a figure each."""
    _, rows = read_table(FOLDER / f"{file}.csv")
    return tuple(row for _, row in rows)


def rows_of_paper(
    file: str, column: Callable[[Mapping[str, str]], str], columns: Sequence[str], has_arrows: bool = False
) -> Iterator[PaperRow]:
    """A paper's rows: one per model and data set, in the order of the print. has_arrows: the file's intervals are the arrows
    that the paper prints.
    """
    found: dict[tuple[str, str], dict[str, Mapping[str, str]]] = {}
    for row in published(file):
        if row["model"] != "Random":
            found.setdefault((row["model"], row["dataset"]), {})[column(row)] = row
    for (model, dataset), by_column in found.items():
        any_row = next(iter(by_column.values()))
        shots = {"": "", "0": ", zero-shot"}.get(any_row["shots"], f", {any_row['shots']}-shot")
        n = f", n = {int(any_row['n']):,}" if any_row["n"] else ""
        rephraser = any_row["rephraser"] if any_row["rephraser"] not in {"", "none"} else ""
        by = f", rephrased by {rephraser}" if rephraser and "−LMReph" not in columns else ""
        cells = (figure_of(by_column.get(name, {})) for name in columns)
        arrows = [PaperFigure(float(by_column[name]["interval"])) for name in columns if has_arrows]
        yield PaperRow(model, PUBLISHED, f"{dataset}{n}{shots}{by}", tuple(cells), arrows=tuple(arrows))


# ------------------------------------------------------------------------------------------------ arrows

ABOUT_ARROWS = (
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


def pointed(table: PaperTable, reports: Sequence[Report], across: Sequence[Pair]) -> PaperTable:
    """The table with the arrows of its rows; as it is where the paper's has none. across: of every two runs of a row."""
    if not table.base:
        return table
    if table.base == ZERO_SHOT:
        rows = (replace(row, arrows=row.arrows or _less_zero_shot(row, table.columns, across)) for row in table.rows)
        return replace(table, rows=tuple(rows))
    base = table.columns.index(table.base)
    known = {report.run: report for report in reports}
    rows = (
        replace(row, arrows=tuple(_arrow(table, row, place, base, known, across) for place in range(len(table.columns))))
        for row in table.rows
    )
    return replace(table, rows=tuple(rows))


def _arrow(
    table: PaperTable, row: PaperRow, place: int, base: int, known: Mapping[str, Report], across: Sequence[Pair]
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
        signs = ((one, 1 if (one.a, one.b) == (run, other) else -1) for one in across if {one.a, one.b} == {run, other})
        return next((_signed(one, sign) for one, sign in signs), None)
    name, sign = _WITHIN[table.columns[place]]
    return _signed(known[run].contrasts.get(name), sign)


def _less_zero_shot(row: PaperRow, columns: Sequence[str], across: Sequence[Pair]) -> tuple[Cell, ...]:
    """Accuracies with passages less those of the same model without; () for a row of no run."""
    arrows = {(pair.a, _OF_PASSAGES.get(pair.metric)): _signed(pair, 1) for pair in across}
    return tuple(arrows.get((run, column.split(": ")[1])) for run, column in zip(row.runs, columns, strict=False))


_OF_PASSAGES = {"average_accuracy": "Acc", "positive_accuracy": "Acc_pos", "negative_accuracy": "Acc_neg"}
"""An accuracy in which passages make a difference (`compare.Change`) → its name in MKJ."""


def _signed(found: Contrast | None, sign: int) -> Cell:
    """A contrast, or the same the other way round: its bounds change places."""
    if found is None or found.value is None:
        return None
    ends = (found.low, found.high) if sign > 0 else (found.high, found.low)
    low, high = (None if end is None else sign * end for end in ends)
    return PaperFigure(sign * found.value, low, high, found.n)


def arrow_in_words(arrow: Cell) -> str:
    """An arrow as the paper prints it, "↓9.7"; of a run "↓9.7 points (−12.1 to −7.2), n = 120 facts"; "" for none."""
    if arrow is None or arrow.value is None:
        return ""
    size = f"{abs(100 * arrow.value):.1f}"
    pointing = "" if size == "0.0" else "↓" if arrow.value < 0 else "↑"
    if arrow.n is None:
        return f"{pointing}{size}"
    return f"{pointing}{size} points ({bounds_in_points(arrow.low, arrow.high)}), n = {counted(arrow.n, 'fact')}"
