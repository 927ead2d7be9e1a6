"""Sections about right answers by group: one for each grouping (`metrics.groupings`), some of them with more to show."""

from __future__ import annotations

from medfact.metrics.averages import FEWEST_FACTS
from medfact.metrics.groupings import Grouping, group_filters
from medfact.metrics.uncertainty import Estimate
from medfact.negatives import DIFFICULTIES
from medfact.results import findings
from medfact.results.blocks import ABSENT, Cell, Note, Row, Section, Shares, Table
from medfact.results.findings import Reports
from medfact.results.report import Report
from medfact.results.sections.answers import NOT_IN_A_PAPER, facts_within, share_of
from medfact.results.sections.registry import EACH, PAGE, Figures, section
from medfact.results.wording import counted, in_draws
from medfact.words import say

MOST_ROWS = 40
"""Rows of a figure; of more types, those with most facts."""


def rows_by(reports: Reports, grouping: Grouping) -> tuple[Row, ...]:
    """A row of right answers for each group that occurs in some report."""
    by_run = {run: getattr(report, grouping.key) for run, report in reports.items()}
    names = {name for groups in by_run.values() for name in groups}
    is_filter = group_filters().get(grouping.tab) is grouping
    return tuple(
        Row(
            name,
            {run: share_of(groups.get(name), "statement") for run, groups in by_run.items()},
            opens=facts_within(grouping.tab, name) if is_filter else None,
        )
        for name in [*grouping.order()] or sorted(names)
        if name in names
    )


@section("relations", 90, tab="groups", where=NOT_IN_A_PAPER, grouping="relation")
@section("specialties", 92.5, tab="groups", where=frozenset({PAGE}), grouping="specialty")
@section(EACH, 94, tab="groups", grouping=EACH)
def by_grouping(figures: Figures, grouping: Grouping) -> Section | None:
    """Right answers by the groups of a grouping."""
    rows, title = rows_by(figures.reports, grouping), grouping.title
    if not rows:
        return None
    name, label = f"by-{grouping.name}", f"right answers by {title}"
    finding = findings.of_groups(figures.reports, grouping)
    first = Shares(name=name, label=f"{label}, with 95% intervals", heading=title, rows=rows[:MOST_ROWS], finding=finding)
    more = Table(name=f"more-{name}", label=f"{label}: more groups", heading=title, rows=rows[MOST_ROWS:])
    return Section(f"Right answers by {title}", (first, more) if more.rows else (first,))


@section("semantic types", 91, tab="groups", where=NOT_IN_A_PAPER, grouping="tail_type")
def types(figures: Figures, grouping: Grouping) -> Section | None:
    rows = rows_by_type(figures.reports)
    if len(rows) < 2:
        return None
    label, finding = f"right answers by {grouping.title}, with 95% intervals", findings.of_types(figures.reports, grouping)
    shares = Shares(name="types", label=label, heading="semantic type", rows=rows, finding=finding, compact=True)
    return Section(f"Right answers by {grouping.title}", (shares,) if shares.is_drawn else ())


def rows_by_type(reports: Reports) -> tuple[Row, ...]:
    """Right answers by semantic type and its number of facts, at most MOST_ROWS types.

    Types with enough facts in every run come first, from the lowest accuracy of the first run up; then the others by name.
    """
    facts: dict[str, int] = {}
    for report in reports.values():
        for name, accuracy in report.by_tail_type.items():
            facts[name] = min(facts.get(name, accuracy.facts), accuracy.facts)
    by_run = {run: {name: of.estimate for name, of in report.by_tail_type.items()} for run, report in reports.items()}
    first = next(iter(by_run.values()))
    few = {name for name in facts if facts[name] < FEWEST_FACTS}

    def place(name: str) -> tuple[bool, float, str]:
        return name in few, (first[name].value or 0.0) if name in first and name not in few else 0.0, name

    return tuple(
        Row(
            f"{name} ({counted(facts[name], 'fact')}{', not ranked' if name in few else ''})",
            {run: share_of(types.get(name), "statement") for run, types in by_run.items()},
            opens=facts_within("kind", name),
        )
        for name in sorted(sorted(facts, key=lambda name: (-facts[name], name))[:MOST_ROWS], key=place)
    )


@section("categories", 92, tab="groups", where=NOT_IN_A_PAPER, grouping="category")
def categories(figures: Figures, grouping: Grouping) -> Section | None:
    """Right answers by the MKJ paper's categories of findings."""
    rows = rows_by(figures.reports, grouping)
    if not rows:
        return None
    table = Table(name="categories", label="right answers by category", heading="category", rows=rows)
    return Section("Right answers by kind of finding", (Note(lines=(say("groups.categories"),), quiet=True), table))


OF_DIFFICULTY = (
    ("negative_accuracy", "right answers about the false partner", "statement"),
    ("pair_joint_accuracy", "true fact and its false twin both mastered", "pair"),
)
"""Figure of `DifficultyFigures`, its heading, and its unit."""


@section("difficulty", 93, tab="groups", where=NOT_IN_A_PAPER, grouping="difficulty")
def difficulty(figures: Figures, grouping: Grouping) -> Section | None:
    """Right answers by the difficulty of false partners, with their true facts."""
    reports = figures.reports
    names = [name for name in grouping.order() if any(name in report.by_difficulty for report in reports.values())]
    if not names:
        return None

    def cell(name: str, figure: str, thing: str, report: Report) -> Cell:
        if name not in report.by_difficulty:
            return ABSENT
        estimate: Estimate = getattr(report.by_difficulty[name], figure)
        return Cell(estimate, in_draws(estimate.n, thing, report))

    rows = tuple(
        Row(
            f"{name} false partners: {heading}",
            {run: cell(name, figure, thing, report) for run, report in reports.items()},
            opens=facts_within(grouping.tab, name),
        )
        for name in names
        for figure, heading, thing in OF_DIFFICULTY
    )
    about = say("groups.difficulty", meanings="; ".join(f"{name}: {DIFFICULTIES[name]}" for name in names))
    table = Table(name="difficulty", label="right answers by difficulty", heading="false partner", rows=rows)
    return Section("Right answers by how hard the false partner is", (Note(lines=(about,), quiet=True), table))
