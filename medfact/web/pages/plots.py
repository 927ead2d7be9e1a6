"""The tabs of results that draw: an overview by way of asking, calibration, and the papers' tables and curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from medfact.answers.instructions import LLM_EVAL
from medfact.metrics.coherence import AGREES
from medfact.metrics.diagnosis import DIAGNOSES
from medfact.metrics.discrimination import Probabilities
from medfact.metrics.uncertainty import Estimate
from medfact.negatives import DIFFICULTIES
from medfact.results import arrows, evidence_plots, findings, plots, probability_plots
from medfact.results.contrasts import ABOUT, Across, lines_of_runs
from medfact.results.live import Live
from medfact.results.means import WIDE, curves_of_means
from medfact.results.paper_rows import CHANCE, PUBLISHED
from medfact.results.papers import PAPERS, fits, tables
from medfact.results.report import Report
from medfact.results.wording import count, counted, nothing_stands_out, percent, share, stands_out
from medfact.spec import PROTOCOLS
from medfact.views.fragments import render

DIFFICULTY_FIGURES = (
    ("negative_accuracy", "right answers about the false partner", "statement"),
    ("pair_joint_accuracy", "all right, the true fact too", "pair"),
)
BESIDE = ("pretexttrans", LLM_EVAL)
"""A paper, and the pool of sentences whose curve it draws beside its own."""

NOTHING = "No run here has the statements that this needs."


def _reports(lives: Mapping[str, Live]) -> dict[str, Report]:
    return {name: live.report for name, live in lives.items()}


def overview_tab(lives: Mapping[str, Live]) -> Markup:
    """Right answers by the way of asking, and by relation."""
    reports = _reports(lives)
    relations = sorted({name for report in reports.values() for name in report.by_relation})
    categories = dict.fromkeys(name for report in reports.values() for name in report.by_category)
    asked = {name for report in reports.values() for name in report.by_difficulty}
    return render(
        "overview",
        plot=plots.ways_of_asking(reports),
        diagnosed=plots.diagnoses(reports),
        by_relation=evidence_plots.by_relation(reports),
        by_type=evidence_plots.by_tail_type(reports),
        findings=findings,
        reports=reports,
        relations=relations,
        diagnoses={name: report.diagnosis for name, report in reports.items() if report.diagnosis},
        meanings=DIAGNOSES,
        contrasted=lines_of_runs(reports),
        about_contrasts=ABOUT,
        agreements={name: report.self_agreement for name, report in reports.items() if report.self_agreement},
        agrees=AGREES,
        stands_out={name: stands_out(report) for name, report in reports.items()},
        nothing={name: nothing_stands_out([report]) for name, report in reports.items()},
        categories=list(categories),
        difficulties={name: meaning for name, meaning in DIFFICULTIES.items() if name in asked},
        difficulty_figures=DIFFICULTY_FIGURES,
    )


def calibration_tab(lives: Mapping[str, Live], _: Any) -> Markup:
    """Whether the models' probabilities mean what they say."""
    reports = _reports(lives)
    drawn = probability_plots.of_one_source(reports)
    sentences = [_calibration_sentence(name, report, name in drawn) for name, report in reports.items() if report.answered]
    found = {name: report.probabilities for name, report in reports.items() if report.probabilities}
    return render(
        "calibration",
        plot=probability_plots.calibration(reports),
        coherent=probability_plots.coherence(reports),
        findings=findings,
        drawn=drawn,
        banded=any(probability_plots.has_band(report.calibration) for report in drawn.values()),
        reports=reports,
        coverage=plots.risk_coverage(reports),
        surest=[_surest_sentence(name, one) for name, one in found.items()],
        sentences=sentences or ["Nothing has been asked yet."],
        found=found,
    )


def _surest_sentence(name: str, found: Probabilities) -> str:
    whole, *_, least = found.overall.selective
    every, sure = percent(whole.accuracy.value), percent(least.accuracy.value)
    return f"{name} is right on {every} of all its answers, and on {sure} of the surest {percent(least.coverage)}."


def _calibration_sentence(name: str, report: Report, drawn: bool) -> str:
    found = report.calibration
    if not found.n:
        return f"{name} gives no probabilities, so there is nothing to draw."
    if not drawn:
        return f"{name} is not drawn: its probabilities come from repeated answers, which do not compare."
    return (
        f"{name}: its probability of “true” is off by {100 * (found.ece or 0):.1f} points on average (n = {count(found.n)} "
        f"statements). By chance alone a perfectly calibrated model would show {100 * (found.ece_floor_coherent or 0):.1f} if "
        "it is coherent, one truth deciding all statements of a fact, and "
        f"{100 * (found.ece_floor or 0):.1f} if each statement were true or false by itself."
    )


def papers_tab(lives: Mapping[str, Live], show: Any, case: Markup, across: Sequence[Across]) -> Markup:
    """A paper's tables and curves with these runs as rows, beside the paper's own figures. case: its case study, or nothing.
    across: the differences of runs that the tables' arrows show.
    """
    reports = _reports(lives)
    found = tables(list(reports.values()), show.paper, across)
    return render(
        "papers",
        papers=[(name, PROTOCOLS[name].title) for name in PAPERS],
        paper=show.paper,
        curves=_curves(reports, show.paper),
        case=case,
        tables=[(table, all(row.origin in {CHANCE, PUBLISHED} for row in table.rows)) for table in found],
        nothing=NOTHING,
        arrow=arrows.in_words,
        about_arrows=arrows.ABOUT,
        ids=",".join(live.run.run for live in lives.values()),
    )


def _curves(reports: Mapping[str, Report], paper: str) -> list[tuple[str, plots.Plot]]:
    """What the paper draws beside its tables: sentences, each with its figure or {}."""
    own = {name: report for name, report in reports.items() if fits(report, paper) or (paper, report.pool) == BESIDE}
    if paper == "mkj":
        return [("MKJ draws calibration curves (its Figure 4): see the tab “Calibration”.", {})]
    if not own:
        return [(f"{NOTHING} Choose the paper's method, and evaluate.", {})]
    if paper == "tpeval":
        before = "With the first statement alone, then the first two, and so on"
        views = "".join(
            f" {name}: {share(r.positive_accuracy)} right on facts that hold, {share(r.negative_accuracy)} on false ones."
            for name, r in own.items()
        )
        return [
            (f"Figure 6, left. {before}: {_sentence(own, 'joint_ordered')}", plots.by_statements(own, "joint_ordered")),
            (f"Figure 6, right. {before}: {_sentence(own, 'average_ordered')}", plots.by_statements(own, "average_ordered")),
            (f"Figure 7, three views: by whether the fact holds, by polarity, by form.{views}", plots.three_views(own)),
        ]
    before = "Figures 5, 9 (PretextTrans) and 10 (LLMEval). With any so many of a fact's statements"
    wide = f" A mean has {WIDE}." if curves_of_means(own.values(), "joint_any_order") else ""
    said = f"{before}: {_sentence(own, 'joint_any_order')}{wide}"
    return [(said, plots.by_statements(own, "joint_any_order"))]


def _sentence(reports: Mapping[str, Report], curve: str) -> str:
    """How mastery falls from one statement a fact to all, a sentence a model."""
    of = "answer" if curve == "average_ordered" else "fact"
    curves: dict[str, tuple[Estimate, ...]] = {name: getattr(report.curves, curve) for name, report in reports.items()}
    sentences = []
    for name, points in (curves | curves_of_means(reports.values(), curve)).items():
        if len(points) > 1:
            subject = f"The {name}" if name not in curves else name
            sentences.append(
                f"{subject} is right on {percent(points[0].value)} of {counted(points[0].n, of)} when one statement a fact "
                f"counts, and on {percent(points[-1].value)} of {count(points[-1].n)} when all {len(points)} count."
            )
    return " ".join(sentences) or "Nothing has been asked yet."
