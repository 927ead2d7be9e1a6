"""The sections about a run's answers: by the way of asking, why facts fail, by relation and kind, and false facts accepted."""

from __future__ import annotations

from typing import Any

from medfact.metrics.averages import FEWEST_FACTS
from medfact.metrics.coherence import AGREES
from medfact.metrics.comparison import CONTRASTS, Contrast, Ways
from medfact.metrics.diagnosis import CHANCE, DIAGNOSES, MIXED, PLAIN, Diagnosed
from medfact.metrics.groupings import Grouping, group_filters
from medfact.metrics.uncertainty import Estimate
from medfact.negatives import DIFFICULTIES
from medfact.results import findings
from medfact.results.blocks import ABSENT, Block, Cell, FactLine, Facts, Note, Parts, Row, Section, Shares, Table
from medfact.results.compare import decision_in_words
from medfact.results.danger import Accepted, Danger
from medfact.results.findings import Reports
from medfact.results.report import Report
from medfact.results.sections.registry import EACH, EVERYWHERE, PAGE, PAPER, Figures, section
from medfact.results.wording import (
    bounds_in_points,
    counted,
    in_draws,
    percent,
    points,
)
from medfact.statements import VARIANTS
from medfact.words import say

NOT_IN_A_PAPER = EVERYWHERE - {PAPER}


def share_of(estimate: Estimate | None, thing: str, *under: str) -> Cell:
    """A share of so many things; a dash where a run has none. under: lines that stand beside it."""
    return ABSENT if estimate is None else Cell(estimate, counted(estimate.n, thing), under)


def facts_where(only: str) -> dict[str, Any]:
    """Returns the view of the page that lists the facts of a filter."""
    return {"tab": "facts", "only": only, "within": "", "search": "", "model": -1, "page": 0, "fact": -1}


def facts_within(group: str, name: str) -> dict[str, Any]:
    """Returns the view of the page that lists the facts of a group."""
    return facts_where("all") | {"within": f"{group}:{name}"}


@section("ways of asking", 10, tab="summary")
def ways(figures: Figures) -> Section:
    """Right answers by the way of asking."""
    reports = figures.reports
    rows = tuple(
        Row(
            VARIANTS[key].plain,
            {run: share_of(report.by_variant.get(key), "statement") for run, report in reports.items()},
            term=key,
            opens=facts_where(f"wrong {key}"),
        )
        for key in VARIANTS
        if any(key in report.by_variant for report in reports.values())
    )
    title = "Right answers by the way of asking"
    if not any(cell.known for row in rows for cell in row.cells.values()):
        return Section(title, (Note(lines=(say("answers.none"),)),))
    label, finding = "right answers by the way of asking, with 95% intervals", findings.of_ways(reports)
    return Section(title, (Shares(name="ways", label=label, heading="asked", rows=rows, finding=finding, alone=True),))


@section("why facts fail", 50, tab="summary", where=NOT_IN_A_PAPER)
def diagnoses(figures: Figures) -> Section | None:
    """The diagnosis of each fact, beside what independent answers would give."""
    reports = {name: report for name, report in figures.reports.items() if report.diagnosis}
    by_run = {name: report.diagnosis for name, report in reports.items() if report.diagnosis}
    if not by_run:
        return None

    def cell(run: str, diagnosed: Diagnosed) -> Cell:
        n = diagnosed.share.n
        excess = f"excess {points(diagnosed.excess)} points, {bounds_in_points(diagnosed.low, diagnosed.high)}"
        under = (
            say("answers.unrelated_eight", share=percent(diagnosed.independent)),
            excess,
            f"a coin: {percent(diagnosed.coin)}",
        )
        return Cell(diagnosed.share, counted(n, "fact") if by_run[run].left_out else in_draws(n, "fact", reports[run]), under)

    rows = tuple(
        Row(
            PLAIN[name],
            {run: cell(run, diagnosis.by_name[name]) for run, diagnosis in by_run.items()},
            meaning,
            term=name,
            opens=None if name in (CHANCE, MIXED) else facts_where(name),
        )
        for name, meaning in DIAGNOSES.items()
    )
    label, finding = "share of facts with each diagnosis, with 95% intervals", findings.of_diagnoses(reports)
    parts = Parts(name="diagnoses", label=label, heading="diagnosis", rows=rows, finding=finding)
    left_out = [
        say("answers.left_out_one" if count == 1 else "answers.left_out", facts=counted(count, "fact"))
        for count in (diagnosis.left_out for diagnosis in by_run.values())
        if count
    ]
    return Section("Why facts fail", (parts, Note(lines=(" ".join([say("answers.diagnoses"), *left_out]),), quiet=True)))


@section("agreement with itself", 60, where=NOT_IN_A_PAPER)
def self_agreement(figures: Figures) -> Section | None:
    """Agreement of a model with itself over each implication."""
    by_run = {name: report.self_agreement for name, report in figures.reports.items() if report.self_agreement}
    if not by_run:
        return None
    couple, note = "pair of statements", "a statement and its negation"

    def cell(implication: str, run: str) -> Cell:
        agrees = by_run[run].by_implication.get(implication)
        if agrees is None:
            return Cell(text="not asked")
        return share_of(agrees.share, couple, say("answers.unrelated", share=percent(agrees.independent)))

    rows = [
        Row(name, {run: cell(name, run) for run in by_run}, meaning, term=meaning)
        for name, meaning in AGREES.items()
        if any(name in agreement.by_implication for agreement in by_run.values())
    ]
    rows += [
        Row(name, {run: share_of(getattr(by_run[run], figure), couple) for run in by_run}, note, term=note)
        for name, figure in (("both called true", "affirms_both"), ("both called false", "denies_both"))
    ]
    table = Table(name="agreement", label="does it agree with itself", heading="implication", rows=tuple(rows))
    return Section("Does it agree with itself?", (table, Note(lines=(say("answers.agreement"),), quiet=True)))


def as_in(paper: str) -> str:
    """Name of the paper that a figure is from, in words."""
    return f"as in {paper}" if paper else ""


def difference_of(found: Contrast, thing: str = "fact", sides: tuple[str, str] = ("", ""), family: str = "comparisons") -> Cell:
    """A contrast as a difference, with the interval that decides. thing: of what it is a mean. sides: their names."""
    higher = f"{100 * abs(found.value or 0.0):.1f} points {'lower' if (found.value or 0.0) < 0 else 'higher'} than"
    first, less = (f"{name} {percent(share)}".strip() for name, share in zip(sides, (found.first, found.second), strict=True))
    decision = () if found.low_all is None else (decision_in_words(found, family),)
    under = (f"{first}, {'the same as' if higher.startswith('0.0 ') else higher} {less}", *decision)
    return Cell(found.estimate, counted(found.n, thing), under, signed=True, shown=found.is_shown)


@section("contrasts", 70)
def contrasts(figures: Figures) -> Section | None:
    """Differences of two ways of asking, paired by fact."""
    reports = {run: report for run, report in figures.reports.items() if report.contrasts}

    def cell(report: Report, contrast: Ways) -> Cell:
        # methods share names of contrasts: the ways that a run asks tell which one is meant
        is_asked = report.by_variant.keys() >= {*contrast.first, *contrast.second}
        found = report.contrasts.get(contrast.name) if is_asked else None
        return difference_of(found, sides=contrast.sides, family="contrasts") if found else ABSENT

    rows = [
        Row("; ".join(contrast.sides), cells, paper, paper)
        for contrast in CONTRASTS
        for cells in [{run: cell(report, contrast) for run, report in reports.items()}]
        if any(cell.known for cell in cells.values())
        for paper in [as_in(contrast.paper)]
    ]
    if not rows:
        return None
    label = "the same facts, asked in two ways, in points"
    table = Table(
        name="contrasts", label=label, heading="contrast", rows=tuple(rows), caption="right answers by fact, in points"
    )
    return Section("The same facts, asked in two ways", (table, Note(lines=(say("comparison.about_contrasts"),))))


@section("false facts accepted", 80, tab="summary", where=NOT_IN_A_PAPER)
def danger(figures: Figures) -> Section | None:
    """The judged false facts that models affirm, contraindications first."""
    dangers = {name: danger for name, danger in figures.dangers.items() if danger.accepted.n or danger.unjudged}
    if not dangers:
        return None
    blocks: list[Block] = [Note(lines=(say("answers.accepted"),), quiet=True)]
    for run, danger in dangers.items():
        blocks += [Note(lines=(), heading=run)] if len(dangers) > 1 else []
        blocks += _accepted(run, danger, figures)
    return Section("False facts that it accepts", tuple(blocks), folded=True)


def _accepted(run: str, danger: Danger, figures: Figures) -> list[Block]:
    blocks: list[Block] = []
    if danger.accepted.n:
        shares = {"judged false facts that it accepts": danger.accepted}
        shares |= {"contraindications that it accepts": danger.contraindicated} if danger.contraindicated.n else {}
        shares |= danger.by_specialty if len(danger.by_specialty) > 1 else {}
        rows = tuple(Row(name, {"share": share_of(share, "fact")}) for name, share in shares.items())
        blocks.append(Table(name="accepted", label="judged false facts that it accepts", heading="of", rows=rows))
        lines = tuple(_accepted_line(run, accepted, figures) for accepted in danger.board)
        blocks.append(Facts(lines=lines) if lines else Note(lines=(say("answers.accepts_none"),)))
    else:
        blocks.append(Note(lines=(say("answers.unchecked"),)))
    if danger.unjudged:
        link = (figures.links[run], "Check them") if run in figures.links else None
        blocks.append(Note(lines=(unjudged_in_words(danger),), link=link))
    return blocks


def unjudged_in_words(danger: Danger) -> str:
    """Returns the sentence about accepted false facts that nobody has judged."""
    return say("answers.unjudged", facts=counted(danger.unjudged, "more fact" if danger.board else "fact"))


def _accepted_line(run: str, accepted: Accepted, figures: Figures) -> FactLine:
    fact = accepted.fact
    p_true = "" if accepted.p_true is None else f", mean probability of true {accepted.p_true:.2f}"
    words = say("answers.affirmed", n=accepted.affirmed, all=accepted.asked, p_true=p_true, shrunk=percent(accepted.shrunk))
    words += f". Source: {fact.source}" if fact.source else ""
    words += f". “{accepted.words}”" if accepted.words else ""
    place = list(figures.dangers).index(run)
    return FactLine(fact, words, f"danger-{place}-{accepted.number}", figures.opens.get((run, accepted.number)))


# ------------------------------------------------------------------------------------------------ by group

MOST_ROWS = 40  # rows of a figure; of more types, those with most facts


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


# Figure by difficulty, its heading, and its unit.
OF_DIFFICULTY = (
    ("negative_accuracy", "right answers about the false partner", "statement"),
    ("pair_joint_accuracy", "true fact and its false twin both mastered", "pair"),
)


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
        estimate: Estimate = report.by_difficulty[name][figure]
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
