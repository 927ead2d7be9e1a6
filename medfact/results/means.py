"""Means over several models of one's own: all that were asked the same, and the models of one series (MKJ, Table 1)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from medfact.metrics.measures import TypeAccuracy
from medfact.metrics.uncertainty import Estimate
from medfact.models import provider_of
from medfact.results.paper_rows import CHANCE, PUBLISHED, RUN, Cell, PaperFigure, PaperRow, PaperTable, detail_of
from medfact.results.report import Report
from medfact.results.wording import counted, model_of

FEWEST = 2
"""With fewer models there is nothing to average."""

WIDE = "an interval as wide as if all models erred alike"
"""The mean of the models' bounds: errors of different models partly cancel, so that it is never too narrow for these models."""


def groups_of(reports: Sequence[Report]) -> Iterator[tuple[str, list[Report]]]:
    """What a mean is called, and its runs: of all models that were asked the same, then of each series among them.

    A model counts once, with its first run; baselines do not count.
    """
    for of in _asked_alike(reports):
        if len(of) >= FEWEST:
            yield f"mean of {counted(len(of), 'model')}", of
        series: dict[str, list[Report]] = {}
        for report in of:
            series.setdefault(series_of(model_of(report)), []).append(report)
        for name, members in series.items():
            if FEWEST <= len(members) < len(of):
                yield f"{name} series, mean of {len(members)}", members


def _asked_alike(reports: Iterable[Report]) -> list[list[Report]]:
    """The runs that were asked the same, together: one of each model."""
    asked: dict[tuple[object, ...], dict[str, Report]] = {}
    for report in reports:
        if not provider_of(report.model).is_rule:
            setting = (
                *(report.dataset, report.facts, report.statements, report.seed, report.method, report.pool, report.shots),
                *(report.question, report.retrieval, report.imported),
            )
            asked.setdefault(setting, {}).setdefault(report.model, report)
    return [list(of.values()) for of in asked.values()]


def curves_of_means(reports: Iterable[Report], curve: str) -> dict[str, tuple[Estimate, ...]]:
    """What a mean is called → the mean curve of all models that were asked the same (PretextTrans, Figure 5, top)."""
    groups = [of for of in _asked_alike(reports) if len(of) >= FEWEST]
    found = {}
    for of in groups:
        name = f"mean of {counted(len(of), 'model')}"
        if len(groups) > 1:
            name += f", {of[0].method} on {of[0].dataset}"
        steps = zip(*(getattr(report.curves, curve) for report in of), strict=False)
        found[name] = tuple(point for step in steps if (point := mean_of(step)) is not None)
    return {name: points for name, points in found.items() if points}


def series_of(model: str) -> str:
    """The series of a model, as its name begins: "Qwen2.5-0.5B-Instruct" → "Qwen2.5"; "gpt-4o-mini" → "gpt"."""
    return re.split(r"[-_: ]", model.strip(), maxsplit=1)[0] or model


def rows_of_means(reports: Sequence[Report], cells: Callable[[Report], Sequence[Cell]]) -> Iterator[PaperRow]:
    """A row for each group of models, with the means of their figures."""
    for name, of in groups_of(reports):
        columns = zip(*(cells(report) for report in of), strict=True)
        detail = f"{', '.join(map(model_of, of))}; {detail_of(of[0])}; {WIDE}"
        yield PaperRow(name, RUN, detail, tuple(mean_of(column) for column in columns))


def with_means(table: PaperTable, reports: Sequence[Report]) -> PaperTable:
    """The table with a row of means below the models that were asked the same, the paper's own among them. A model counts once,
    baselines do not count.
    """
    rules = {report.run for report in reports if provider_of(report.model).is_rule}
    rows: list[PaperRow] = []
    for origin in (RUN, CHANCE, PUBLISHED):
        of_origin, alike = [row for row in table.rows if row.origin == origin], defaultdict[str, dict[str, PaperRow]](dict)
        for row in (row for row in of_origin if not rules & {*row.runs}):
            alike[row.detail].setdefault(row.model, row)
        rows += [
            *of_origin,
            *(_mean_row(detail, [*by_model.values()]) for detail, by_model in alike.items() if len(by_model) >= FEWEST),
        ]
    return replace(table, rows=tuple(rows))


def _mean_row(detail: str, rows: Sequence[PaperRow]) -> PaperRow:
    cells = zip(*(row.cells for row in rows), strict=True)
    arrows = zip(*(row.arrows or (None,) * len(row.cells) for row in rows), strict=True)
    means = [tuple(map(_mean_cell, columns)) for columns in (cells, arrows)]
    about = f"{detail}; {WIDE}" if rows[0].origin == RUN else detail
    return PaperRow(f"mean of {counted(len(rows), 'model')}", rows[0].origin, about, means[0], arrows=means[1])


def _mean_cell(cells: Sequence[Cell]) -> Cell:
    mean = mean_of(cells)
    return mean and PaperFigure(mean.value, mean.low, mean.high, mean.n or None)  # a paper's figures have no n


def mean_of(cells: Sequence[Cell]) -> Estimate | None:
    """The mean of figures of several models over the same facts; None where one has none."""
    known = [cell for cell in cells if cell is not None and cell.value is not None]
    if not known or len(known) < len(cells):
        return None
    lows, highs = [cell.low for cell in known], [cell.high for cell in known]
    bounded = None not in lows and None not in highs
    low, high = (_mean(lows), _mean(highs)) if bounded else (None, None)
    return Estimate(_mean([cell.value for cell in known]), low, high, min(cell.n or 0 for cell in known))


def _mean(values: Sequence[float | None]) -> float:
    return sum(value or 0.0 for value in values) / len(values)


def mean_types(of: Sequence[Report]) -> Mapping[str, TypeAccuracy]:
    """Semantic type → the mean accuracy of several models, for the types that all of them have (MKJ, Table 2 and Figure 5)."""
    shared = [name for name in of[0].by_tail_type if all(name in report.by_tail_type for report in of)]
    found = {name: [report.by_tail_type[name] for report in of] for name in shared}
    means = {name: mean_of([one.estimate for one in all_of]) for name, all_of in found.items()}
    return {name: TypeAccuracy(*mean, min(a.facts for a in found[name])) for name, mean in means.items() if mean is not None}
