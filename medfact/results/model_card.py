"""A snippet for a model's page on the Hub: a table in Markdown, and the same figures as `model-index` metadata in YAML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from medfact.metrics.uncertainty import Estimate
from medfact.results.report import Report
from medfact.results.wording import counted, false_on_purpose, how_it_ended, model_of, share, signed_share
from medfact.spec import PROTOCOLS

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
    shown = (*PROTOCOLS[report.protocol].first, *_HARM)
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
        if ended := how_it_ended(report.state, report.reason):
            yield ""
            yield _cell(ended)
    yield ""
    yield f"{LIMITS} {false_on_purpose(reports)}"


def _cell(text: str) -> str:
    """A text as it stands in Markdown: nothing in it is markup or ends a cell."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>()#+-.!|" else " " if c in "\r\n" else c for c in text)
