"""The scores that a method shows first, how mastery falls with each further statement, and the passages of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medfact.metrics.pressure import HELD
from medfact.metrics.uncertainty import Estimate
from medfact.results.blocks import ABSENT, Cell, Curve, Note, Row, Section, Table
from medfact.results.papers import mean_curves
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
from medfact.words import say

# setting → view of the page that a click on it opens; the others open “Statistics”, beside other runs
_OPENS: Mapping[str, Mapping[str, Any]] = {
    "pressure": {"tab": "confidence"},
    "passages": {"tab": "evidence"},
    "confidence": {"tab": "confidence"},
}


@section("chosen", -1, tab="summary")
def what_was_chosen(figures: Figures) -> Section | None:
    """Language, pressure, passages, worked examples, confidence and effort, if one is unusual; a row each."""
    reports, is_one = figures.reports, len(figures.reports) == 1
    opens = None if is_one else {"tab": "statistics", "statistics": "runs"}
    names = {run: "" if is_one else run for run in reports}
    rows = tuple(
        Row(words, {"with it": _effect(setting, report, reports)}, names[run], names[run], _OPENS.get(setting, opens))
        for run, report in reports.items()
        for setting, words in (report.chosen or {}).items()
    )
    table = Table(name="chosen", label="what was chosen, and its effect", heading="setting", rows=rows)
    return Section("What was chosen", (table,)) if rows else None


def _effect(setting: str, report: Report, reports: Mapping[str, Report]) -> Cell:
    """Right answers after the costliest push; of another setting, beside those of the same model without it."""
    if setting == "pressure" and report.pressure:
        after = report.pressure.after
        worst = min(
            (push for push in after if HELD in push.less_control),
            key=lambda push: push.less_control[HELD].value or 0.0,
            default=after[0],
        )
        again = share((report.pressure.of(after[0].kind, worst.round) or after[0]).held)
        return share_of(worst.held, "right answer", say("scores.after_push", again=again, loss=loss_in_words(report.pressure)))
    others = {name: words for name, words in (report.chosen or {}).items() if name != setting}
    same = [
        share(other.average_accuracy)
        for other in reports.values()
        if all(getattr(other, name) == getattr(report, name) for name in ("model", "dataset", "protocol", "seed"))
        and (other.chosen or {}) == others
    ]
    without = f"; {'in English' if setting == 'language' else 'without'}: {same[0]}" if same else ""
    return share_of(report.average_accuracy, "statement", f"right answers{without}")


@section("scores", 0, tab="scores", where=EVERYWHERE - {PAGE})
def scores(figures: Figures) -> Section:
    """The scores of runs. The page has a sortable table of its own for them."""
    reports = figures.reports
    rows = [
        _score_row(score(name, ways_of(measured)), reports, measured)
        for name, measured in first_scores(reports.values()).items()
    ]
    for name, note in (("unreadable", "counted as wrong"), ("failed", "not counted")):
        rows.append(Row(name, {run: Cell(text=count(getattr(r, name))) for run, r in reports.items()}, note, note))
    table = Table(name="scores", label="scores by run", heading="score", rows=tuple(rows))
    about = f"{about_intervals(list(reports.values()))} {say('scores.clustered')}"
    return Section("Scores", (table, Note(lines=(about,), quiet=True)))


def _score_row(score: Score, reports: Mapping[str, Report], measured: Sequence[Report]) -> Row:
    """Row of a score, with n and interval. measured: the reports with methods that show it."""
    estimates = {run: r.measure(score.name) for run, r in reports.items() if any(r is report for report in measured)}
    cells = dict.fromkeys(reports, ABSENT) | {
        run: Cell(estimate, in_draws(estimate.n, score.of, reports[run]), signed=score.signed)
        for run, estimate in estimates.items()
    }
    return Row(score.heading, cells, f"{score.explained}; a coin: {score.by_chance(measured[0].chance)}", score.term)


# ------------------------------------------------------------------------------------------------ one statement a fact to all


@section("falling line", 5, tab="summary", where=NOT_IN_A_PAPER)
def falling_line(figures: Figures) -> Section | None:
    """Facts still right after one way of asking, two, … all, a line a model, once the runs have ended."""
    reports = {name: report for name, report in figures.reports.items() if len(report.curves["joint_any_order"]) > 1}
    if not reports or any(report.state in GOING for report in reports.values()):
        return None
    curve = by_statements("falling-line", "", reports, "joint_any_order", with_means=False)
    return Section("Facts still right, asked in one way, two ways, … all", (curve,))


def by_statements(name: str, before: str, reports: Mapping[str, Report], curve: str, *, with_means: bool = True) -> Curve:
    """Accuracy by number of statements a fact, a line a model; dashed, the mean over models that were asked the same; dotted,
    a fair coin's.

    curve: `joint_any_order` (PretextTrans, Figure 5), `joint_ordered` or `average_ordered` (TPEval, Figure 6).
    """
    means = mean_curves(reports.values(), curve) if with_means else {}
    points: dict[str, Sequence[Estimate]] = {model: report.curves[curve] for model, report in reports.items()}
    lines = {
        model: tuple((step, point) for step, point in enumerate(line, 1) if point.value is not None)
        for model, line in (points | means).items()
    }
    is_average = curve == "average_ordered"
    coin = tuple(0.5 if is_average else 0.5**step for step in range(1, max(map(len, lines.values())) + 1))
    axes = ("statements a fact", "right answers, %" if is_average else "facts with all right, %")
    falls = [falls_in_words(model, line, "answer" if is_average else "fact") for model, line in (points | means).items()]
    finding = " ".join(filter(None, falls)) or say("scores.nothing_asked")
    return Curve(
        name=name,
        label=f"{axes[1]} by {axes[0]}",
        finding=before + " ".join([finding, say("paper.wide_mean")] if means else [finding]),
        lines=lines,
        axes=axes,
        coin=coin,
        dashed=tuple(means),
    )


def falls_in_words(name: str, points: Sequence[Estimate], thing: str = "fact") -> str:
    """The share right with one statement a fact, and with all; "" if there is only one statement."""
    if len(points) < 2:
        return ""
    facts = counted(points[0].n, thing)
    return say("scores.fall", name=name, share=percent(points[0].value), facts=facts, last=share(points[-1]), ways=len(points))


@section("retrieved passages", 210, tab="evidence", where=NOT_IN_A_PAPER)
def retrieved(figures: Figures) -> Section | None:
    """Retrieved passages of runs, and their recall of the facts."""
    evidence = {name: report.evidence for name, report in figures.reports.items() if report.evidence}
    if not evidence:
        return None
    rows = tuple(
        Row(
            name,
            {
                "the fact was among the passages (recall)": share_of(retrieval.recall, "statement about true facts"),
                "of a false fact, its true partner was": share_of(retrieval.partner_recall, "statement about false facts"),
            },
            f"{retrieval.passages} of {retrieval.corpus}; {retrieval.setting}",
        )
        for name, retrieval in evidence.items()
    )
    lines = [say("scores.passages.shown")]
    for name, retrieval in evidence.items():
        way = say(f"scores.retrieval.{'sparse' if retrieval.retrieval == 'sparse' else 'dense'}", encoder=retrieval.encoder)
        slots = {"passages": retrieval.passages, "corpus": retrieval.corpus, "way": way, "setting": retrieval.setting}
        lines.append(f"{say('scores.passages.run', name=name, **slots)} {about_setting(retrieval.setting)}")
    table = Table(name="recall", label="recall of the fact", heading="run", rows=rows)
    return Section("Retrieved passages: was the fact among them?", (Note(lines=tuple(lines)), table))
