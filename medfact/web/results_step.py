"""Step 4: the papers' tables and curves for the runs that the page shows, beside the papers' own figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medfact.results import plots
from medfact.results.live import Live
from medfact.results.papers import CHANCE, NOT_THE_SAME, PAPERS, PUBLISHED, Cell, Row, Table, fits, tables
from medfact.results.report import in_words
from medfact.spec import PROTOCOLS
from medfact.web import live_views
from medfact.web.view import Heading, Place, Text, message

FIRST = "pretexttrans"
"""The paper whose tables are shown for runs of the project's own method, which has PretextTrans' variants."""

FIGURES = 3
"""Places for figures, each under a sentence that reads it; a paper may fill fewer."""

NOTHING = "No run here has the statements that this needs."


PLACES = (
    Heading("4 · Results", level=2),
    Text(
        "Each paper's tables and curves by their names, with your models as rows. Grey rows are the paper's own figures, on "
        "other facts: they say what was published, not how your models compare."
    ),
    Place("paper", "choice"),
    *(
        Place(f"{what}-{number}", view)
        for number in range(FIGURES)
        for what, view in (("said", "message"), ("curve", "figure"))
    ),
    Place("tables", "tables"),
)
"""What stands under each other in this step."""


def choice_of_paper(paper: str) -> dict[str, Any]:
    """The papers that have tables."""
    options = [{"text": PROTOCOLS[name].title, "value": name} for name in PAPERS]
    return {"label": "Tables and curves of", "options": options, "chosen": paper}


def results_of(lives: Sequence[Live], paper: str) -> dict[str, Any]:
    """A paper's figures and tables with these runs as rows, by where they are shown."""
    reports = {label: live.figures for label, live in live_views.by_label(lives).items()}
    curves = _curves(reports, paper)
    curves += [(message(""), {})] * (FIGURES - len(curves))
    shown = {}
    for number, (said, figure) in enumerate(curves):
        shown |= {f"said-{number}": said, f"curve-{number}": figure}
    return {**shown, "tables": {"tables": [_table(table) for table in tables(list(reports.values()), paper)]}}


def _curves(reports: Mapping[str, Mapping[str, Any]], paper: str) -> list[tuple[dict[str, str], dict[str, Any]]]:
    """What the paper draws beside its tables, of the runs that have its statements: sentences, and the figures they read."""
    reports = {model: report for model, report in reports.items() if fits(report, paper)}
    if paper == "mkj":
        said = "MKJ draws calibration curves (its Figure 4): see “Does the model know when it knows?” above."
        return [(message(said), {})]
    if not reports:
        return [(message(f"{NOTHING} Choose the paper's method in step 2, and evaluate."), {})]
    if paper == "tpeval":
        before = "With the first statement alone, then the first two, and so on"
        joint = _said_of_curve(reports, "joint_ordered", f"Figure 6, left. {before}: ")
        average = _said_of_curve(reports, "average_ordered", f"Figure 6, right. {before}, over all statements: ")
        views = f"Figure 7, three views: by whether the fact holds, by polarity, by form. {_said_of_views(reports)}"
        return [
            (joint, plots.by_statements(reports, "joint_ordered")),
            (average, plots.by_statements(reports, "average_ordered")),
            (message(views), plots.three_views(reports)),
        ]
    any_order = _said_of_curve(reports, "joint_any_order", "Figure 5. With any so many of a fact's statements: ")
    return [(any_order, plots.by_statements(reports, "joint_any_order"))]


def _said_of_curve(reports: Mapping[str, Mapping[str, Any]], curve: str, before: str) -> dict[str, str]:
    """One sentence per model: how mastery falls from one statement a fact to all."""
    sentences = []
    for model, report in reports.items():
        points = report["curves"][curve]
        of = "answers" if curve == "average_ordered" else "facts"
        if len(points) > 1:
            sentences.append(
                f"{model} is right on {in_words(points[0])} of {points[0]['n']:,} {of} when one statement a fact counts, and "
                f"on {in_words(points[-1])} of {points[-1]['n']:,} when all {len(points)} count."
            )
    return message(before + " ".join(sentences) if sentences else "Nothing has been asked yet.")


def _said_of_views(reports: Mapping[str, Mapping[str, Any]]) -> str:
    return " ".join(
        f"{model}: {in_words(report['positive_accuracy'])} right on facts that hold, "
        f"{in_words(report['negative_accuracy'])} on false ones."
        for model, report in reports.items()
    )


# --------------------------------------------------------------------------------------------------- tables


def _table(table: Table) -> dict[str, Any]:
    return {
        "title": f"{table.paper}, {table.name}",
        "what": table.title,
        "reading": table.reading,
        "heading": table.heading,
        "columns": list(table.columns),
        "rows": [_row(row) for row in table.rows],
        "none": "" if any(row.origin not in {CHANCE, PUBLISHED} for row in table.rows) else f"{NOTHING} {table.needs}",
        "file": f"medfact-{table.paper}-{table.name}.csv".lower().replace(" ", "-"),
        "csv": list(table.as_rows()),
    }


def _row(row: Row) -> dict[str, Any]:
    detail = f"{NOT_THE_SAME} · {row.detail}" if row.origin == PUBLISHED else row.detail
    name = row.semantic_type or row.model
    detail = f"{row.model}: {detail}" if row.semantic_type else detail
    return {"model": name, "origin": row.origin, "detail": detail, "cells": [_cell(cell) for cell in row.cells]}


def _cell(cell: Cell) -> dict[str, str]:
    if cell is None or cell["value"] is None:
        return {"value": "", "of": ""}
    value = f"{100 * cell['value']:.1f} %"
    if cell["n"] is None:
        return {"value": value, "of": ""}
    interval = f", {100 * cell['low']:.1f} to {100 * cell['high']:.1f}" if cell["low"] is not None else ", no interval"
    return {"value": value, "of": f"n = {cell['n']:,}{interval}"}
