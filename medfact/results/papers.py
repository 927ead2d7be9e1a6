"""The papers' tables, filled from reports, next to the papers' published figures.

`assets/published/tables.yaml` declares the tables. This module fills their rows: of runs, of a fair coin, of the papers, and
means over models that were asked the same. Arrows show how far a figure is from that of the table's base column.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import yaml

from medfact.answers.prompts import LLM_EVAL
from medfact.assets import ASSETS
from medfact.datasets import read_table
from medfact.metrics.averages import FEWEST_FACTS, error_prone
from medfact.metrics.comparison import Contrast
from medfact.metrics.measures import TypeAccuracy
from medfact.metrics.uncertainty import Estimate
from medfact.models import provider_of
from medfact.results.compare import Pair
from medfact.results.report import Report
from medfact.results.wording import bounds_in_points, counted, model_of
from medfact.spec import NO_RETRIEVAL, PROTOCOLS
from medfact.statements import IMPLICATIONS, TRUTH_PRESERVING
from medfact.words import say

FOLDER = ASSETS / "published"

PAPERS = ("pretexttrans", "tpeval", "mkj")  # names of their protocols

RUN, CHANCE, PUBLISHED = "run", "chance", "published"  # origins of a row: a run, the expectation of a coin, a paper

ZERO_SHOT = "zero-shot"  # base of MKJ's Table 3: the same model's run without passages

MIN_MODELS = 2  # of a mean


class PaperFigure(NamedTuple):
    """A figure in a table. A published one has no interval."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None


Cell = PaperFigure | Estimate | None  # None if a row has no figure in this column


@dataclass(frozen=True)
class PaperRow:
    """Figures of one model, in the order of the table's columns."""

    model: str
    origin: str
    detail: str  # data set and setting
    cells: tuple[Cell, ...]
    semantic_type: str | None = None
    runs: tuple[str, ...] = ()  # run of each figure, "" for an empty cell; () for rows of no run
    arrows: tuple[Cell, ...] = ()  # differences from the table's base; () if it has none


class Column(NamedTuple):
    """A column of a table, as `tables.yaml` declares it."""

    figure: str = ""  # path in a report, such as by_implications.none
    chance: float = 0.5
    published: str = ""  # key in the paper's file
    condition: str = ""  # name in CONDITIONS: runs that fill it; "" for all of the table


@dataclass(frozen=True, kw_only=True)
class PaperTable:
    """A paper's table, as `tables.yaml` declares it, and its rows."""

    protocol: str
    name: str
    title: str
    reading: str  # a hint for readers
    columns: Mapping[str, Column]
    runs: str = "method"  # name in CONDITIONS: runs with a row
    curve: str = ""  # path in a report, of the figures of all columns
    published: str = ""  # file with the paper's rows
    key: str = ""  # pattern of a column's key in that file
    merged: bool = False  # True if all data sets of a model share a published row
    means: bool = False  # True if means over models and series follow the runs
    types: bool = False  # True if rows are semantic types
    heading: str = "model"
    needs: str = ""  # runs that fill an empty table
    base: str = ""  # column from which arrows start
    rows: tuple[PaperRow, ...] = ()

    @property
    def paper(self) -> str:
        return PROTOCOLS[self.protocol].title

    def as_rows(self) -> Iterator[dict[str, Any]]:
        """One row per figure, for files."""
        for row in self.rows:
            detail = f"published; not the same facts: {row.detail}" if row.origin == PUBLISHED else row.detail
            subject = {"paper": self.paper, "table": self.name, "model": row.model, "semantic_type": row.semantic_type}
            for column, cell, arrow in zip(self.columns, row.cells, row.arrows or (None,) * len(row.cells), strict=True):
                figure = dict(zip(PaperFigure._fields, cell or (None,) * 4, strict=True))
                ends = dict(zip(_ARROW, arrow or (None,) * 4, strict=True)) | {"less": self.base if arrow else None}
                yield subject | {"from": row.origin, "detail": detail, "column": column} | figure | ends


_ARROW = ("difference", "difference_low", "difference_high", "difference_n")  # columns of an arrow in files


@cache
def declared_tables(paper: str) -> tuple[PaperTable, ...]:
    """Tables of a paper without rows, from `tables.yaml`."""
    tables = []
    for name, table in yaml.safe_load((FOLDER / "tables.yaml").read_text(encoding="utf-8"))[paper].items():
        table["columns"] = {head: Column(**column) for head, column in table["columns"].items()}
        table["reading"] = table["reading"].format(fewest=FEWEST_FACTS)
        tables.append(PaperTable(protocol=paper, name=name, **{"needs": say("paper.needs")} | table))
    return tuple(tables)


def tables(reports: Sequence[Report], paper: str | None = None, across: Sequence[Pair] = ()) -> list[PaperTable]:
    """Tables of a paper, or of all papers, with the rows of these runs.

    A run fills the columns that its statements allow. A table that no run fills has the rows of the paper and of the coin.

    Args:
        across: differences between runs, for the arrows (`across_of_papers`).
    """
    by_run, filled = {report.run: report for report in reports}, list[PaperTable]()
    for table in (table for name in ([paper] if paper else PAPERS) for table in declared_tables(name)):
        of_table = [report for report in reports if CONDITIONS[table.runs](report, table.protocol)]
        rows = [
            *(_type_rows(of_table) if table.types else _run_rows(table, of_table)),
            *(_model_mean_rows(table, of_table) if table.means else ()),
            PaperRow(
                "Random", CHANCE, say("paper.coin"), tuple(PaperFigure(column.chance) for column in table.columns.values())
            ),
            *(_published_rows(table) if table.published else ()),
        ]
        rows = [replace(row, arrows=_arrows(table, row, by_run, across)) for row in rows]
        filled.append(replace(table, rows=tuple(_with_means(rows, by_run) if table.base == ZERO_SHOT else rows)))
    return filled


# ------------------------------------------------------------------------------------------------ rows of runs


def fits(report: Report, paper: str) -> bool:
    """Returns True if a run has the statements of a paper's method: its variants, or MKJ's single statement."""
    variants: dict[str, Iterable[str]] = {"pretexttrans": IMPLICATIONS, "tpeval": TRUTH_PRESERVING}
    return set(variants[paper]) <= set(report.by_variant) if paper in variants else bool(report.protocol == paper)


CONDITIONS: Mapping[str, Callable[[Report, str], bool]] = {
    # other methods may ask sentences of the same variants
    "method": lambda run, paper: fits(run, paper) and (run.retrieval, run.protocol) == (NO_RETRIEVAL, paper),
    "statements": fits,
    "statements without passages": lambda run, paper: fits(run, paper) and run.retrieval == NO_RETRIEVAL,
    "no passages": lambda run, _: run.retrieval == NO_RETRIEVAL,
    "origin": lambda run, _: run.pool == "origin",
    "llmeval": lambda run, _: run.pool == LLM_EVAL,
    "rephrased": lambda run, paper: fits(run, paper) and bool(run.rephraser),
    "not rephrased": lambda run, paper: not run.rephraser and run.protocol == paper,
    "sparse": lambda run, _: run.retrieval == "sparse",
    "dense": lambda run, _: run.retrieval == "dense",
    "": lambda *_: True,
}  # conditions of `tables.yaml` on a run and a paper


def _cells(table: PaperTable, report: Report) -> tuple[Cell, ...]:
    def figure(path: str) -> Any:
        value: Any = report
        for name in path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else getattr(value, name)
        return value

    if table.curve:  # complete only if all facts have a statement for each column
        curve = figure(table.curve)
        return tuple(curve) if len(curve) == len(table.columns) else (None,) * len(table.columns)
    return tuple(
        figure(column.figure) if CONDITIONS[column.condition](report, table.protocol) else None
        for column in table.columns.values()
    )


def _run_rows(table: PaperTable, reports: Sequence[Report]) -> Iterator[PaperRow]:
    """Rows of runs. Runs of one model on one data set that fill different columns share a row."""
    rows: list[list[tuple[Report, tuple[Cell, ...]]]] = []
    for report in reports:
        cells = _cells(table, report)
        if any(cell and cell.value is not None for cell in cells):
            alike = (row for row in rows if _row_key(row[0][0]) == _row_key(report))
            taken = [place for place, cell in enumerate(cells) if cell]
            free = (row for row in alike if not any(others[place] for _, others in row for place in taken))
            if (row := next(free, None)) is None:
                rows.append(row := [])
            row.append((report, cells))
    for row in rows:
        first, detail = row[0][0], _setting(row[0][0])
        if len(row) > 1 or table.base == ZERO_SHOT:  # the columns name pools and retrieval
            facts = "/".join(dict.fromkeys(f"{report.facts:,}" for report, _ in row))
            passages = f", {first.evidence.setting}" if first.evidence else ""
            detail = f"{first.dataset}, {facts} facts, {_shots(first)}, {PROTOCOLS[first.protocol].title}{passages}"
        columns = zip(*([(report.run, cell) for cell in cells] for report, cells in row), strict=True)
        runs, filled = zip(*(next((item for item in column if item[1]), ("", None)) for column in columns), strict=True)
        yield PaperRow(model_of(first), RUN, detail, filled, runs=runs)


def _row_key(report: Report) -> tuple[object, ...]:
    """Settings that the runs of one row share."""
    corpus = report.evidence and (report.evidence.setting, report.evidence.corpus)
    return report.model, report.imported, report.dataset, report.shots, report.protocol, corpus


def _shots(report: Report) -> str:
    return f"{report.shots}-shot" if report.shots else "zero-shot"


def _setting(report: Report) -> str:
    return f"{report.dataset}, {counted(report.facts, 'fact')}, {_shots(report)}, {report.method}"


def _type_rows(reports: Sequence[Report]) -> Iterator[PaperRow]:
    """Semantic types of each model and of means over models: the most and least error-prone, then others of the paper's ten."""
    by_model = [(model_of(report), report, report.by_tail_type) for report in reports]
    by_model += [(name, group[0], _mean_types(group)) for name, group in _groups(reports)]
    for model, report, by_type in by_model:
        ranked = error_prone(by_type)
        labels = {name: f"{side} error-prone" for side in ("most", "least") for name in ranked[side]}
        others = by_type.keys() - labels.keys()
        labels |= {row["group"]: say("paper.one_of_ten") for row in published("mkj_table2") if row["group"] in others}
        for name, label in labels.items():
            yield PaperRow(model, RUN, f"{label}; {_setting(report)}", (by_type[name].estimate,), name)


# ------------------------------------------------------------------------------------------------ published rows


@cache
def published(file: str) -> tuple[Mapping[str, str], ...]:
    """Rows of a file of `assets/published/`: a figure each."""
    _, rows = read_table(FOLDER / f"{file}.csv")
    return tuple(row for _, row in rows)


def _published_rows(table: PaperTable) -> Iterator[PaperRow]:
    """Rows of a paper, in the order of the print: one per model and data set, or per semantic type."""
    if table.types:
        for row in published(table.published):
            figure, detail = PaperFigure(float(row["value"])), f"{table.paper}; {row['method']} error-prone"
            yield PaperRow(row["model"], PUBLISHED, detail, (figure,), row["group"])
        return
    by_row: dict[tuple[str, str], dict[str, Mapping[str, str]]] = {}
    for row in published(table.published):
        if row["model"] != "Random":
            place = row["model"], "" if table.merged else row["dataset"]
            by_row.setdefault(place, {})[table.key.format_map(row)] = row
    keys = [column.published or head for head, column in table.columns.items()]
    for (model, _), by_key in by_row.items():
        first = next(iter(by_key.values()))
        is_rephrased = first["rephraser"] not in {"", "none"} and "−LMReph" not in table.columns
        setting = (
            first["dataset"],
            f"n = {int(first['n']):,}" if first["n"] else "",
            {"": "", "0": "zero-shot"}.get(first["shots"], f"{first['shots']}-shot"),
            f"rephrased by {first['rephraser']}" if is_rephrased else "",
        )
        values = (by_key.get(key, {}).get("value") for key in keys)
        cells = tuple(PaperFigure(float(value)) if value else None for value in values)
        # MKJ prints its differences; PretextTrans' own are those of the printed figures
        arrows = [PaperFigure(float(by_key[key]["interval"])) for key in keys if table.base == ZERO_SHOT]
        yield PaperRow(model, PUBLISHED, ", ".join(filter(None, setting)), cells, arrows=tuple(arrows))


# ------------------------------------------------------------------------------------------------ arrows

_CONTRASTS = {
    "−LogImp": ("plain_less_all", 1),
    "+DN": ("none_less_+dn", -1),
    "+DN+Inv": ("none_less_+dn+inv", -1),
    "+All": ("plain_less_all", -1),
}  # column → contrast within a run that is its arrow, and its sign


def _arrows(table: PaperTable, row: PaperRow, by_run: Mapping[str, Report], across: Sequence[Pair]) -> tuple[Cell, ...]:
    """Differences of a row's figures from that of the base: of two published figures, within a run, or between two runs."""
    if not table.base or row.arrows or row.origin == CHANCE:
        return row.arrows
    if table.base == ZERO_SHOT:
        passages = {(pair.a, {"average_accuracy": "mkj_accuracy"}.get(pair.metric, pair.metric)): pair for pair in across}
        figures = [column.figure for column in table.columns.values()]
        return tuple(_signed(passages.get(place), 1) for place in zip(row.runs, figures, strict=False))
    base = [*table.columns].index(table.base)
    reference = row.cells[base]

    def arrow(index: int, head: str, cell: Cell) -> Cell:
        if index == base or cell is None or reference is None or cell.value is None or reference.value is None:
            return None
        if row.origin == PUBLISHED:
            return PaperFigure(cell.value - reference.value)
        run, other = row.runs[index], row.runs[base]
        if run == other:
            contrast, sign = _CONTRASTS[head]
            return _signed(by_run[run].contrasts.get(contrast), sign)
        pair = next((pair for pair in across if {pair.a, pair.b} == {run, other}), None)
        return _signed(pair, 1 if pair and pair.a == run else -1)

    return tuple(arrow(index, *column) for index, column in enumerate(zip(table.columns, row.cells, strict=True)))


def _signed(contrast: Contrast | None, sign: int) -> Cell:
    """A contrast, or its negative, whose bounds change places."""
    if contrast is None or contrast.value is None:
        return None
    low, high = (None if end is None else sign * end for end in (contrast.low, contrast.high)[::sign])
    return PaperFigure(sign * contrast.value, low, high, contrast.n)


def describe_arrow(arrow: Cell) -> str:
    """An arrow as the paper prints it, "↓9.7"; of a run "↓9.7 points (−12.1 to −7.2), n = 120 facts"; "" for none."""
    if arrow is None or arrow.value is None:
        return ""
    size = f"{abs(100 * arrow.value):.1f}"
    pointer = "" if size == "0.0" else "↓" if arrow.value < 0 else "↑"
    bounds = bounds_in_points(arrow.low, arrow.high)
    return f"{pointer}{size}" if arrow.n is None else f"{pointer}{size} points ({bounds}), n = {counted(arrow.n, 'fact')}"


# ------------------------------------------------------------------------------------------------ means over models


def _asked_alike(reports: Iterable[Report]) -> list[list[Report]]:
    """Groups of runs of several models that were asked the same: the first run of each model, without baselines."""
    groups: dict[tuple[object, ...], dict[str, Report]] = {}
    for report in reports:
        if not provider_of(report.model).is_rule:
            setting = (
                *(report.dataset, report.facts, report.statements, report.seed, report.method, report.pool, report.shots),
                *(report.question, report.retrieval, report.imported),
            )
            groups.setdefault(setting, {}).setdefault(report.model, report)
    return [list(group.values()) for group in groups.values() if len(group) >= MIN_MODELS]


def _groups(reports: Sequence[Report]) -> Iterator[tuple[str, list[Report]]]:
    """Yields names and runs of means: of all models that were asked the same, then of each series among them (MKJ, Table 1)."""
    for group in _asked_alike(reports):
        yield _name_of_mean(len(group)), group
        series: dict[str, list[Report]] = defaultdict(list)
        for report in group:
            model = model_of(report)
            name = re.split(r"[-_: ]", model.strip(), maxsplit=1)[0] or model  # "gpt-4o-mini" → "gpt"
            series[name].append(report)
        for name, members in series.items():
            if MIN_MODELS <= len(members) < len(group):
                yield say("paper.mean_of_series", series=name, count=len(members)), members


def _model_mean_rows(table: PaperTable, reports: Sequence[Report]) -> Iterator[PaperRow]:
    for name, group in _groups(reports):
        columns = zip(*(_cells(table, report) for report in group), strict=True)
        detail = f"{', '.join(map(model_of, group))}; {_setting(group[0])}; {say('paper.wide')}"
        yield PaperRow(name, RUN, detail, tuple(mean_estimate(column) for column in columns))


def _with_means(rows: Sequence[PaperRow], by_run: Mapping[str, Report]) -> Iterator[PaperRow]:
    """Yields rows by origin, each origin followed by a mean for each setting of several models. Baselines do not count."""
    for origin in (RUN, CHANCE, PUBLISHED):
        alike: defaultdict[str, dict[str, PaperRow]] = defaultdict(dict)
        for row in (row for row in rows if row.origin == origin):
            yield row
            if not any(provider_of(by_run[run].model).is_rule for run in row.runs if run):
                alike[row.detail].setdefault(row.model, row)
        for detail, by_model in alike.items():
            if len(by_model) >= MIN_MODELS:
                cells = zip(*(row.cells for row in by_model.values()), strict=True)
                arrows = zip(*(row.arrows or (None,) * len(row.cells) for row in by_model.values()), strict=True)
                means = [tuple(map(_mean_cell, columns)) for columns in (cells, arrows)]
                about = f"{detail}; {say('paper.wide')}" if origin == RUN else detail
                yield PaperRow(_name_of_mean(len(by_model)), origin, about, means[0], arrows=means[1])


def _mean_cell(cells: Sequence[Cell]) -> Cell:
    mean = mean_estimate(cells)
    return mean and PaperFigure(mean.value, mean.low, mean.high, mean.n or None)  # published figures have no n


def mean_estimate(cells: Sequence[Cell]) -> Estimate | None:
    """Mean of figures of several models over the same facts; None if a model lacks one.

    Its bounds are the means of the models' bounds, as if all models erred alike: errors of different models partly cancel.
    """
    figures = [cell for cell in cells if cell is not None and cell.value is not None]
    if not figures or len(figures) < len(cells):
        return None
    columns = ([cell[index] for cell in figures] for index in range(3))
    value, low, high = (None if None in ends else sum(filter(None, ends)) / len(ends) for ends in columns)
    return Estimate(value, low, high, min(cell.n or 0 for cell in figures))


def _mean_types(group: Sequence[Report]) -> Mapping[str, TypeAccuracy]:
    """Semantic type → mean accuracy of several models, for types that all of them have (MKJ, Table 2 and Figure 5)."""
    shared = [name for name in group[0].by_tail_type if all(name in report.by_tail_type for report in group)]
    types = {name: [report.by_tail_type[name] for report in group] for name in shared}
    means = ((name, mean_estimate([type_.estimate for type_ in types[name]])) for name in shared)
    return {name: TypeAccuracy(*mean, min(type_.facts for type_ in types[name])) for name, mean in means if mean is not None}


def mean_curves(reports: Iterable[Report], curve: str) -> dict[str, tuple[Estimate, ...]]:
    """Name → mean curve of all models that were asked the same (PretextTrans, Figure 5, top)."""
    groups, curves = _asked_alike(reports), {}
    for group in groups:
        setting = f", {group[0].method} on {group[0].dataset}" if len(groups) > 1 else ""
        steps = zip(*(report.curves[curve] for report in group), strict=False)
        curves[f"{_name_of_mean(len(group))}{setting}"] = tuple(filter(None, map(mean_estimate, steps)))
    return {name: points for name, points in curves.items() if points}


def _name_of_mean(models: int) -> str:
    return say("paper.mean", models=counted(models, "model"))
