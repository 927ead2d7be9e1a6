"""Figures for the Hub: a table and `model-index` metadata for a model's page, `.eval_results/*.yaml` for leaderboards."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from medfact.datasets.text import one_line
from medfact.errors import Mistake, UnknownName
from medfact.metrics.uncertainty import Estimate
from medfact.results.report import Report
from medfact.results.wording import FROM_FILE, counted, describe_ending, false_on_purpose, model_of, share, signed_share
from medfact.spec import PROTOCOLS
from medfact.store import Run
from medfact.version import VERSION

_FIGURES = {
    "joint_accuracy": ("all statements of a fact right (joint accuracy)", "fact"),
    "average_accuracy": ("right answers (average accuracy)", "statement"),
    "pair_joint_accuracy": ("true fact and its false twin both mastered (pair joint accuracy)", "pair"),
    "mkj_accuracy": ("Acc: right answers, true and false facts weighted 1 : k false partners", "statement"),
    "positive_accuracy": ("Acc_pos: right answers on facts that hold", "statement"),
    "negative_accuracy": ("Acc_neg: right answers on false facts", "statement"),
    "accuracy_gap": ("Acc_gap: the first of these less the second", "statement"),
    "false_affirmation": ("false facts affirmed", "affirmed statement about false facts"),
    "false_denial": ("true facts denied", "affirmed statement about true facts"),
}
"""Figure → what it is, and of what. A run has those that its method shows first, and the two directions of harm."""

_HARM = ("false_affirmation", "false_denial")

LIMITS = (
    "Mastery of a list of facts is not clinical competence; not for clinical use. Intervals are 95%, clustered by disease "
    "and finding."
)


def model_card(reports: Sequence[Report]) -> str:
    """The snippet for runs of one model or several: YAML between lines of dashes, to stand at the top, and Markdown below it.

    A figure without a value is left out.
    """
    by_model: dict[str, list[Report]] = {}
    for report in reports:
        by_model.setdefault(model_of(report), []).append(report)
    index = [{"name": name, "results": [_result(r) for r in of]} for name, of in by_model.items()]
    metadata = yaml.safe_dump({"model-index": index}, allow_unicode=True, sort_keys=False, width=1_000)
    return "\n".join(["---", metadata.rstrip(), "---", "", *_markdown(reports)]) + "\n"


def _result(report: Report) -> dict[str, Any]:
    return {
        "task": {"type": "text-classification", "name": "judging medical statements true or false"},
        "dataset": {"name": f"medfact {report.dataset}", "type": "medfact", "config": report.method},
        "metrics": [
            {"type": name, "value": round(figure.value, 4), "name": f"{title}, {_bounds(figure)}of {counted(figure.n, of)}"}
            for name, title, of, figure in figures_of(report)
        ],
    }


def _bounds(figure: Estimate) -> str:
    return "" if figure.low is None or figure.high is None else f"95% interval {figure.low:.4f} to {figure.high:.4f}, "


def figures_of(report: Report) -> Iterator[tuple[str, str, str, Any]]:
    """(name, what it is, of what, its value) of each score that a run's method shows first, and of the two harms."""
    shown = (*PROTOCOLS[report.protocol].headline_metrics, *_HARM)
    for name, (title, of) in _FIGURES.items():
        found = getattr(report, name)
        if name in shown and found.value is not None:
            yield name, title, of, Estimate(found.value, found.low, found.high, found.n)


def share_or_points(name: str, figure: Estimate) -> str:
    """A figure in words, with its interval."""
    return signed_share(figure) if name == "accuracy_gap" else share(figure)


def _markdown(reports: Sequence[Report]) -> Iterator[str]:
    """A table a run."""
    yield "## Medical facts (medfact)"
    for report in reports:
        shots = f"{report.shots}-shot" if report.shots else "zero-shot"
        yield ""
        asked = ", ".join(map(_cell, (f"{model_of(report)} on {report.dataset}", report.method, shots)))
        yield f"{asked}, seed {report.seed}, run {report.run}:"
        yield ""
        yield "| score | value and 95% interval | of |"
        yield "|---|---|---|"
        for name, title, of, figure in figures_of(report):
            yield f"| {title} | {share_or_points(name, figure)} | {counted(figure.n, of)} |"
        if ended := describe_ending(report.state, report.reason):
            yield ""
            yield _cell(ended)
    yield ""
    yield f"{LIMITS} {false_on_purpose(reports)}"


def _cell(text: str) -> str:
    """A text as it stands in Markdown: nothing in it is markup or ends a cell."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>()#+-.!|" else " " if c in "\r\n" else c for c in text)


# ------------------------------------------------------------------------------------------------ leaderboards

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
    ended = filter(None, (FROM_FILE if report.imported else "", describe_ending(report.state, report.reason)))
    return one_line("; ".join([f"{model_of(report)} on {report.dataset}", *figures, asked, f"medfact {VERSION}", *ended]))
