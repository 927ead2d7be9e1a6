"""Step 4: the papers' tables and curves for the runs that the page shows, beside the papers' own figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import gradio as gr

from medfact import figures
from medfact.papers import CHANCE, NOT_THE_SAME, PAPERS, PUBLISHED, Cell, Row, Table, tables
from medfact.report import in_words
from medfact.spec import PROTOCOLS
from medfact.ui.services import Services
from medfact.ui.view import message, view

FIRST = "pretexttrans"
"""The paper whose tables are shown for runs of the project's own method, which has PretextTrans' variants."""

NOTHING = "No run here has the statements that this needs. Choose the paper's method in step 2, and evaluate."


def build(services: Services, runs: gr.State, changed: gr.State) -> None:
    """Lays the step out. `runs` are the runs that the page shows; `changed` is set whenever there is something new of them."""
    gr.Markdown(
        "## 4 · Results\nEach paper's tables and curves by their names, with your models as rows. Grey rows are the paper's own "
        "figures, on other facts: they say what was published, not how your models compare."
    )
    paper = gr.Radio(
        [(PROTOCOLS[name].title, name) for name in PAPERS], value=FIRST, label="Tables and curves of", elem_id="paper"
    )
    curve_said = view("message", message(""), elem_id="curve-said")
    curve = view("figure", {}, elem_id="curve")
    second_said = view("message", message(""), elem_id="second-said")
    second = view("figure", {}, elem_id="second")
    shown = view("tables", {"tables": []}, elem_id="tables")
    outputs = [curve_said, curve, second_said, second, shown]
    options: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private", "trigger_mode": "always_last"}
    changed.change(partial(_results, services), [runs, paper], outputs, api_name="results", **options)
    paper.input(partial(_results, services), [runs, paper], outputs, api_name="choose_paper", **options)


def _results(services: Services, runs: Sequence[str], paper: str) -> list[Any]:
    lives = [services.reports.live(run) for run in runs]
    reports = {live.run.model: live.figures for live in lives}
    made = {"tables": [_table(table) for table in tables(list(reports.values()), paper)]}
    return [*_curves(reports, paper), made]


def _curves(reports: Mapping[str, Mapping[str, Any]], paper: str) -> list[Any]:
    """Two figures, each after a sentence that reads it: what the paper draws beside its tables."""
    if paper == "mkj":
        said = "MKJ draws calibration curves (its Figure 4): see “Does the model know when it knows?” above."
        return [message(said), {}, message(""), {}]
    if paper == "tpeval":
        views = (
            figures.three_views(reports) if any(r["average_accuracy"]["value"] is not None for r in reports.values()) else {}
        )
        return [
            _said_of_curve(
                reports, "joint_ordered", "Figure 6. With the first statement alone, then the first two, and so on: "
            ),
            figures.by_statements(reports, "joint_ordered"),
            message(f"Figure 7, three views: by whether the fact holds, by polarity, by form. {_said_of_views(reports)}"),
            views,
        ]
    return [
        _said_of_curve(reports, "joint_any_order", "Figure 5. With any so many of a fact's statements: "),
        figures.by_statements(reports, "joint_any_order"),
        message(""),
        {},
    ]


def _said_of_curve(reports: Mapping[str, Mapping[str, Any]], curve: str, before: str) -> dict[str, str]:
    """One sentence per model: how mastery falls from one statement a fact to all."""
    sentences = []
    for model, report in reports.items():
        points = report["curves"][curve]
        if len(points) > 1:
            sentences.append(
                f"{model} looks right on {in_words(points[0])} of {points[0]['n']:,} facts when one statement counts, and on "
                f"{in_words(points[-1])} when all {len(points)} must be right."
            )
    return message(before + " ".join(sentences) if sentences else NOTHING)


def _said_of_views(reports: Mapping[str, Mapping[str, Any]]) -> str:
    return " ".join(
        f"{model}: {in_words(report['positive_accuracy'])} on facts that hold, {in_words(report['negative_accuracy'])} on false "
        f"ones."
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
        "none": "" if any(row.origin not in {CHANCE, PUBLISHED} for row in table.rows) else NOTHING,
        "file": f"medfact-{table.paper}-{table.name}.csv".lower().replace(" ", "-"),
        "csv": list(table.as_rows()),
    }


def _row(row: Row) -> dict[str, Any]:
    detail = f"{NOT_THE_SAME} · {row.detail}" if row.origin == PUBLISHED else row.detail
    return {"model": row.model, "origin": row.origin, "detail": detail, "cells": [_cell(cell) for cell in row.cells]}


def _cell(cell: Cell) -> dict[str, str]:
    if cell is None or cell["value"] is None:
        return {"value": "", "of": ""}
    value = f"{100 * cell['value']:.1f} %"
    if cell["n"] is None:
        return {"value": value, "of": ""}
    interval = f", {100 * cell['low']:.1f} to {100 * cell['high']:.1f}" if cell["low"] is not None else ", no interval"
    return {"value": value, "of": f"n = {cell['n']:,}{interval}"}
