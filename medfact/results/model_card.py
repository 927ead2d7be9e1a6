"""Figures for the Hub: a table and `model-index` metadata for a model's page, `.eval_results/*.yaml` for leaderboards."""

from __future__ import annotations

import re
from collections import defaultdict
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
from medfact.words import say, sayings

HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*", re.ASCII)  # OWNER/NAME of a repository of the Hub

WHERE = ".eval_results/medfact.yaml"  # path in the repository of the model


def model_card(reports: Sequence[Report]) -> str:
    """The snippet for runs of one or several models: YAML metadata between lines of dashes, and Markdown below it.

    A figure without a value is left out.
    """
    by_model: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for report in reports:
        by_model[model_of(report)].append(_result(report))
    index = [{"name": name, "results": results} for name, results in by_model.items()]
    metadata = yaml.safe_dump({"model-index": index}, allow_unicode=True, sort_keys=False, width=1_000)
    limits = f"{say('card.limits')} {false_on_purpose(reports)}"
    return "\n\n".join([f"---\n{metadata}---", say("card.heading"), *map(_markdown, reports), limits]) + "\n"


def _result(report: Report) -> dict[str, Any]:
    """An entry of the `model-index` metadata."""
    metrics = []
    for name, title, unit, figure in figures_of(report):
        bounds = "" if figure.low is None or figure.high is None else f"95% interval {figure.low:.4f} to {figure.high:.4f}, "
        metrics.append(
            {"type": name, "value": round(figure.value, 4), "name": f"{title}, {bounds}of {counted(figure.n, unit)}"}
        )
    return {
        "task": {"type": "text-classification", "name": say("card.task")},
        "dataset": {"name": f"medfact {report.dataset}", "type": "medfact", "config": report.method},
        "metrics": metrics,
    }


def _markdown(report: Report) -> str:
    """A table of one run."""
    shots = f"{report.shots}-shot" if report.shots else "zero-shot"
    subject = ", ".join(map(_escape, (f"{model_of(report)} on {report.dataset}", report.method, shots)))
    rows = (
        f"| {title} | {describe_figure(name, figure)} | {counted(figure.n, unit)} |"
        for name, title, unit, figure in figures_of(report)
    )
    table = "\n".join([say("card.columns"), "|---|---|---|", *rows])
    ending = _escape(describe_ending(report.state, report.reason))
    return "\n\n".join([f"{subject}, seed {report.seed}, run {report.run}:", table, *([ending] if ending else [])])


def _escape(text: str) -> str:
    """Escapes Markdown and the end of a table's cell."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>()#+-.!|" else " " if c in "\r\n" else c for c in text)


def figures_of(report: Report) -> Iterator[tuple[str, str, str, Any]]:
    """Yields (name, title, unit, estimate) of each headline score of a run's method, and of the two harms."""
    units = sayings("card.unit")
    for name, title in sayings("card.title").items():
        figure = getattr(report, name)
        is_listed = name in (*PROTOCOLS[report.protocol].headline_metrics, "false_affirmation", "false_denial")
        if is_listed and figure.value is not None:
            yield name, title, units[name], Estimate(figure.value, figure.low, figure.high, figure.n)


def describe_figure(name: str, figure: Estimate) -> str:
    """A figure with its interval, in percent or in points."""
    return signed_share(figure) if name == "accuracy_gap" else share(figure)


# ------------------------------------------------------------------------------------------------ leaderboards


def eval_results(scored: Sequence[tuple[Run, Report]], benchmark: str, task: str, source: str | None) -> str:
    """Content of the file for runs of one model. Raises Mistake or UnknownName.

    Args:
        benchmark: OWNER/NAME of a data set, or OWNER/NAME@REVISION.
        task: the id of one of its tasks, which is the name of a score.
        source: address of the evidence.
    """
    name, _, revision = benchmark.partition("@")
    if not HUB_NAME.fullmatch(name):
        raise Mistake(f"{benchmark!r} names no data set of the Hub.", "Write it as OWNER/NAME, or as OWNER/NAME@REVISION.")
    if source is not None and not source.startswith("https://"):
        raise Mistake(f"{source!r} is no address of a source.", "Begin it with https://.")
    if len({report.model for _, report in scored}) > 1:
        raise Mistake("These runs are of several models.", "Such a file belongs to one model: name runs of one.")
    data_set = {"id": name, "task_id": task} | ({"revision": revision} if revision else {})
    entries = []
    for run, report in scored:
        figures = {name: figure for name, _, _, figure in figures_of(report)}
        if task not in figures:
            raise UnknownName("score of this run", task, figures)
        entries.append(
            {
                "dataset": dict(data_set),
                "value": round(figures[task].value, 4),
                "date": (run.finished_at or run.started_at)[:10],
                **({"source": {"url": source, "name": "medfact"}} if source else {}),
                "notes": _notes(report),
            }
        )
    return yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=1_000)


def _notes(report: Report) -> str:
    """Every figure with its n and interval, and the settings of the run."""
    figures = (
        f"{name} {describe_figure(name, figure)} of {counted(figure.n, unit)}" for name, _, unit, figure in figures_of(report)
    )
    shots = counted(report.shots, "demonstration")
    setting = f"{report.method}, pool {report.pool}, {shots}, seed {report.seed}, run {report.run}"
    ending = filter(None, (FROM_FILE if report.imported else "", describe_ending(report.state, report.reason)))
    return one_line("; ".join([f"{model_of(report)} on {report.dataset}", *figures, setting, f"medfact {VERSION}", *ending]))
