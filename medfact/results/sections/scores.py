"""The scores that a method shows first, each with what it counts and what a coin gets; and what was retrieved for a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from medfact.metrics.uncertainty import Estimate
from medfact.results.blocks import ABSENT, Cell, Note, Row, Section, Table
from medfact.results.recall import SETTINGS, Evidence
from medfact.results.report import Report
from medfact.results.sections.answers import NOT_IN_A_PAPER, share_of
from medfact.results.sections.registry import EVERYWHERE, PAGE, Figures, section
from medfact.results.wording import Score, about_intervals, count, first_scores, in_draws, score, ways_of

CLUSTERED = "They are clustered by disease and finding, because statements about the same one are not independent."


@section("scores", 0, tab="scores", where=EVERYWHERE - {PAGE})
def scores(figures: Figures) -> Section:
    """The scores of runs. The page has a table of its own for them, which sorts."""
    reports, first = figures.reports, first_scores(figures.reports.values())
    rows = [_score(score(name, ways_of(of)), reports, of) for name, of in first.items()]
    rows.append(_counts("unreadable", "counted as wrong", {run: one.unreadable for run, one in reports.items()}))
    rows.append(_counts("failed", "not counted", {run: one.failed for run, one in reports.items()}))
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


def _counts(name: str, how: str, counts: Mapping[str, int]) -> Row:
    cells = {run: Cell(text=count(number)) for run, number in counts.items()}
    return Row(name, cells, how, how)


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
            *(f"{name}: {_how(one)}" for name, one in found.items()),
        )
    )
    table = Table(name="recall", label="recall of the fact", heading="run", rows=rows)
    return Section("Retrieved passages: was the fact among them?", (about, table))


def _how(one: Evidence) -> str:
    by = "by shared words (BM25)" if one.retrieval == "sparse" else f"by meaning ({one.encoder})"
    return f"{one.passages} passages of {one.corpus}, {by}; {one.setting}. {SETTINGS[one.setting]}"
