"""The scores that a method shows first, how mastery falls with each further statement, and the passages of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medfact.metrics.pressure import HELD
from medfact.metrics.uncertainty import Estimate
from medfact.results.blocks import ABSENT, Cell, Curve, Note, Row, Section, Table
from medfact.results.means import WIDE, curves_of_means
from medfact.results.pressed import loss_in_words
from medfact.results.recall import about_setting
from medfact.results.report import Report
from medfact.results.sections.answers import NOT_IN_A_PAPER, share_of
from medfact.results.sections.registry import EVERYWHERE, PAGE, Figures, section
from medfact.results.wording import (
    Score,
    about_intervals,
    count,
    counted,
    first_scores,
    in_draws,
    percent,
    score,
    share,
    ways_of,
)
from medfact.store import GOING

CLUSTERED = "They are clustered by disease and finding, because statements about the same one are not independent."


_OPENS: Mapping[str, Mapping[str, Any]] = {
    "pressure": {"tab": "confidence"},
    "passages": {"tab": "evidence"},
    "confidence": {"tab": "confidence"},
}
"""Setting → what a page shows when it is clicked; the others stand in “Statistics”, beside other runs."""


@section("chosen", -1, tab="summary")
def what_was_chosen(figures: Figures) -> Section | None:
    """Language, pressure, passages, worked examples, confidence and effort, where one is not as usual; a row each."""
    reports = figures.reports
    named, beside = (True, {"tab": "statistics", "statistics": "runs"}) if len(reports) > 1 else (False, None)
    rows = tuple(
        Row(words, {"with it": _effect(setting, one, reports)}, run * named, run * named, _OPENS.get(setting, beside))
        for run, one in reports.items()
        for setting, words in (one.chosen or {}).items()
    )
    table = Table(name="chosen", label="what was chosen, and its effect", heading="setting", rows=rows)
    return Section("What was chosen", (table,)) if rows else None


def _effect(setting: str, report: Report, reports: Mapping[str, Report]) -> Cell:
    """The right answers after the push that costs most; of another setting, beside the same model's without it."""
    if setting == "pressure" and report.pressure:
        after = report.pressure.after
        worst = min(
            (push for push in after if HELD in push.less_control),
            key=lambda push: push.less_control[HELD].value or 0.0,
            default=after[0],
        )
        again = report.pressure.of(after[0].kind, worst.round) or after[0]
        control = f"{share(again.held)} when merely asked again"
        told = f"still right after the costliest push, {control}; {loss_in_words(report.pressure)}"
        return share_of(worst.held, "right answer", told)
    chosen = {name: words for name, words in (report.chosen or {}).items() if name != setting}
    asked = (report.model, report.dataset, report.protocol, report.seed, chosen)
    without = [
        f"; {'in English' if setting == 'language' else 'without'}: {share(other.average_accuracy)}"
        for other in reports.values()
        if (other.model, other.dataset, other.protocol, other.seed, other.chosen or {}) == asked
    ]
    return share_of(report.average_accuracy, "statement", f"right answers{''.join(without[:1])}")


@section("scores", 0, tab="scores", where=EVERYWHERE - {PAGE})
def scores(figures: Figures) -> Section:
    """The scores of runs. The page has a table of its own for them, which sorts."""
    reports, first = figures.reports, first_scores(figures.reports.values())
    rows = [_score(score(name, ways_of(of)), reports, of) for name, of in first.items()]
    for name, how in (("unreadable", "counted as wrong"), ("failed", "not counted")):
        rows.append(Row(name, {run: Cell(text=count(getattr(one, name))) for run, one in reports.items()}, how, how))
    table = Table(name="scores", label="scores by run", heading="score", rows=tuple(rows))
    about = Note(lines=(f"{about_intervals(list(reports.values()))} {CLUSTERED}",), quiet=True)
    return Section("Scores", (table, about))


def _score(of: Score, reports: Mapping[str, Report], shown: Sequence[Report]) -> Row:
    cells = {run: score_cell(of, one) if any(one is other for other in shown) else ABSENT for run, one in reports.items()}
    return Row(of.heading, cells, f"{of.explained}; a coin: {of.by_chance(shown[0].chance)}", of.term)


def score_cell(of: Score, report: Report) -> Cell:
    """The score of a run, with n and interval."""
    estimate: Estimate = report.measure(of.name)
    return Cell(estimate, in_draws(estimate.n, of.of, report), signed=of.signed)


# ------------------------------------------------------------------------------------------------ one statement a fact to all


@section("falling line", 5, tab="summary", where=NOT_IN_A_PAPER)
def falling_line(figures: Figures) -> Section | None:
    """Facts still right after one way of asking, two, … all, a line a model, once the runs have ended."""
    reports = {name: report for name, report in figures.reports.items() if len(report.curves.joint_any_order) > 1}
    if not reports or any(report.state in GOING for report in reports.values()):
        return None
    curve = by_statements("falling-line", "", reports, "joint_any_order", with_means=False)
    return Section("Facts still right, asked in one way, two ways, … all", (curve,))


def by_statements(name: str, before: str, reports: Mapping[str, Report], curve: str, *, with_means: bool = True) -> Curve:
    """Accuracy against the number of statements a fact, one line a model, with intervals; dashed, the mean over models that
    were asked the same; dotted, a fair coin's.

    curve: `joint_any_order` (PretextTrans, Figure 5), `joint_ordered` or `average_ordered` (TPEval, Figure 6).
    """
    means = curves_of_means(reports.values(), curve) if with_means else {}
    points: dict[str, Sequence[Estimate]] = {name: getattr(report.curves, curve) for name, report in reports.items()}
    lines = {
        of: tuple((step, point) for step, point in enumerate(found, 1) if point.value is not None)
        for of, found in (points | means).items()
    }
    average = curve == "average_ordered"
    coin = tuple(0.5 if average else 0.5**step for step in range(1, max(map(len, lines.values())) + 1))
    axes = ("statements a fact", "right answers, %" if average else "facts with all right, %")
    falls = [falls_in_words(of, found, "answer" if average else "fact") for of, found in (points | means).items()]
    told = " ".join(filter(None, falls)) or "Nothing has been asked yet."
    return Curve(
        name=name,
        label=f"{axes[1]} by {axes[0]}",
        finding=f"{before}{told}{f' A mean has {WIDE}.' if means else ''}",
        lines=lines,
        axes=axes,
        coin=coin,
        dashed=tuple(means),
    )


def falls_in_words(name: str, points: Sequence[Estimate], of: str = "fact") -> str:
    """The share right with one statement a fact, and with all; "" where there is one statement alone."""
    if len(points) < 2:
        return ""
    first, *_, last = points
    return (
        f"{name}: {percent(first.value)} of {counted(first.n, of)} right, asked in one way; {share(last)} in all {len(points)}."
    )


@section("retrieved passages", 210, tab="evidence", where=NOT_IN_A_PAPER)
def retrieved(figures: Figures) -> Section | None:
    """What was retrieved for runs, and how often the fact was among it."""
    found = {name: report.evidence for name, report in figures.reports.items() if report.evidence}
    if not found:
        return None
    rows = tuple(
        Row(
            name,
            {
                "the fact was among the passages (recall)": share_of(one.recall, "statement about true facts"),
                "of a false fact, its true partner was": share_of(one.partner_recall, "statement about false facts"),
            },
            f"{one.passages} of {one.corpus}; {one.setting}",
        )
        for name, one in found.items()
    )
    about = Note(
        lines=(
            "Before each statement the model was shown passages that were retrieved for it.",
            *(
                f"{name}: {one.passages} passages of {one.corpus}, "
                f"{'by shared words (BM25)' if one.retrieval == 'sparse' else f'by meaning ({one.encoder})'}; {one.setting}. "
                f"{about_setting(one.setting)}"
                for name, one in found.items()
            ),
        )
    )
    table = Table(name="recall", label="recall of the fact", heading="run", rows=rows)
    return Section("Retrieved passages: was the fact among them?", (about, table))
