"""`.eval_results/*.yaml`: a run's score as the Hub shows it on a model's page and on the leaderboard of a benchmark."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import yaml

from medfact.datasets.text import one_line
from medfact.errors import Mistake, UnknownName
from medfact.results.model_card import figures_of, share_or_points
from medfact.results.report import Report
from medfact.results.wording import FROM_FILE, counted, how_it_ended, model_of
from medfact.store import Run
from medfact.version import VERSION

HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*", re.ASCII)
"""OWNER/NAME, as the Hub names what it holds."""

WHERE = ".eval_results/medfact.yaml"
"""Where the file belongs in the repository of the model."""


def eval_results(scored: Sequence[tuple[Run, Report]], benchmark: str, task: str, source: str | None) -> str:
    """The text of the file for runs of one model. benchmark: OWNER/NAME of a data set, or OWNER/NAME@REVISION; task: the id of
    one of its tasks, which is the name of a score; source: the address of what stands behind it.

    Raises Mistake or UnknownName.
    """
    name, _, revision = benchmark.partition("@")
    if not HUB_NAME.fullmatch(name):
        raise Mistake(f"{benchmark!r} names no data set of the Hub.", "Write it as OWNER/NAME, or as OWNER/NAME@REVISION.")
    if source is not None and not source.startswith("https://"):
        raise Mistake(f"{source!r} is no address of a source.", "Begin it with https://.")
    if len({report.model for _, report in scored}) > 1:
        raise Mistake("These runs are of several models.", "Such a file belongs to one model: name runs of one.")
    data_set = {"id": name, "task_id": task} | ({"revision": revision} if revision else {})
    entries = [_entry(run, report, data_set, source) for run, report in scored]
    return yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=1_000)


def _entry(run: Run, report: Report, data_set: dict[str, str], source: str | None) -> dict[str, Any]:
    figures = {name: figure for name, _, _, figure in figures_of(report)}
    if (task := data_set["task_id"]) not in figures:
        raise UnknownName("score of this run", task, figures)
    return {
        "dataset": dict(data_set),
        "value": round(figures[task].value, 4),
        "date": (run.finished_at or run.started_at)[:10],
        **({"source": {"url": source, "name": "medfact"}} if source else {}),
        "notes": _notes(report),
    }


def _notes(report: Report) -> str:
    """What is to be known beside the value: every figure with its n and interval, and how it came about."""
    figures = [
        f"{name} {share_or_points(name, figure)} of {counted(figure.n, of)}" for name, _, of, figure in figures_of(report)
    ]
    asked = (
        f"{report.method}, pool {report.pool}, {counted(report.shots, 'demonstration')}, seed {report.seed}, run {report.run}"
    )
    ended = filter(None, (FROM_FILE if report.imported else "", how_it_ended(report.state, report.reason)))
    return one_line("; ".join([f"{model_of(report)} on {report.dataset}", *figures, asked, f"medfact {VERSION}", *ended]))
