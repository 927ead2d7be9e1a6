"""The sections about a run's answers: by the way of asking, why facts fail, by relation and kind, and false facts accepted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from medfact.metrics.averages import FEWEST_FACTS
from medfact.metrics.coherence import AGREES
from medfact.metrics.comparison import CONTRASTS, Contrast, Ways
from medfact.metrics.diagnosis import CHANCE, DIAGNOSES, MIXED, PLAIN, Diagnosed, Diagnosis
from medfact.metrics.uncertainty import Estimate
from medfact.negatives import DIFFICULTIES
from medfact.results import findings
from medfact.results.blocks import ABSENT, Block, Cell, FactLine, Facts, Note, Parts, Row, Section, Shares, Table
from medfact.results.compare import decision_in_words
from medfact.results.danger import Accepted, Danger
from medfact.results.findings import Reports
from medfact.results.report import Report
from medfact.results.sections.registry import EVERYWHERE, PAGE, PAPER, Figures, section
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

MOST_ROWS = 40
"""Rows of a figure; of more types, those with most facts."""


def share_of(estimate: Estimate | None, thing: str, *under: str) -> Cell:
    """A share of so many things; a dash where a run has none. under: lines that stand beside it."""
    return ABSENT if estimate is None else Cell(estimate, counted(estimate.n, thing), under)


def by_group(reports: Reports, group: str, names: Sequence[str], within: str = "") -> tuple[Row, ...]:
    """A row of right answers for each of the names in this field of reports. within: what a page calls the group."""
    return tuple(
        Row(
            name,
            {run: share_of(getattr(report, group).get(name), "statement") for run, report in reports.items()},
            opens=facts_within(within, name) if within else None,
        )
        for name in names
    )


def facts_where(only: str) -> dict[str, Any]:
    """What a page shows for the facts that pass a filter."""
    return {"tab": "facts", "only": only, "within": "", "search": "", "model": -1, "page": 0, "fact": -1}


def facts_within(group: str, name: str) -> dict[str, Any]:
    """What a page shows for the facts of one group."""
    return facts_where("all") | {"within": f"{group}:{name}"}


def heads_of(reports: Reports, group: str) -> list[str]:
    """The names in this field of some report, in their order."""
    return list(dict.fromkeys(name for report in reports.values() for name in getattr(report, group)))


@section("ways of asking", 10, tab="summary")
def ways(figures: Figures) -> Section:
    reports = figures.reports
    asked = [key for key in VARIANTS if any(key in report.by_variant for report in reports.values())]
    rows = tuple(
        Row(
            VARIANTS[key].plain,
            {run: share_of(report.by_variant.get(key), "statement") for run, report in reports.items()},
            term=key,
            opens=facts_where(f"wrong {key}"),
        )
        for key in asked
    )
    title = "Right answers by the way of asking"
    if not any(cell.known for row in rows for cell in row.cells.values()):
        return Section(title, (Note(lines=("Nothing has been answered yet.",)),))
    label = "right answers by the way of asking, with 95% intervals"
    finding = findings.of_ways(reports)
    return Section(title, (Shares(name="ways", label=label, heading="asked", rows=rows, finding=finding, alone=True),))


@section("why facts fail", 50, tab="summary", where=NOT_IN_A_PAPER)
def diagnoses(figures: Figures) -> Section | None:
    """The diagnosis of each fact, beside what independent answers would give."""
    reports = {name: report for name, report in figures.reports.items() if report.diagnosis}
    found = {name: report.diagnosis for name, report in reports.items() if report.diagnosis}
    if not found:
        return None

    def cell(run: str, one: Diagnosed) -> Cell:
        report, left_out = reports[run], found[run].left_out
        many = counted(one.share.n, "fact") if left_out else in_draws(one.share.n, "fact", report)
        excess = f"excess {points(one.excess)} points, {bounds_in_points(one.low, one.high)}"
        return Cell(
            one.share,
            many,
            (f"eight unrelated answers as often right would give {percent(one.independent)}", excess, coin(one)),
        )

    def coin(one: Diagnosed) -> str:
        return f"a coin: {percent(one.coin)}"

    rows = tuple(
        Row(
            PLAIN[name],
            {run: cell(run, of.by_name[name]) for run, of in found.items()},
            meaning,
            term=name,
            opens=None if name in (CHANCE, MIXED) else facts_where(name),
        )
        for name, meaning in DIAGNOSES.items()
    )
    label, finding = "share of facts with each diagnosis, with 95% intervals", findings.of_diagnoses(reports)
    parts = Parts(name="diagnoses", label=label, heading="diagnosis", rows=rows, finding=finding)
    return Section("Why facts fail", (parts, _about_independence(found.values())))


def _about_independence(found: Iterable[Diagnosis]) -> Note:
    lines = [
        "Each fact has one diagnosis from its eight answers. “Unrelated answers”: what this model's own "
        "rate of right answers for each way of asking would give by chance. A model that says “true” 80% of the time says "
        "“true” to some facts, affirmed and denied, by chance; only the excess shows more."
    ]
    for one in found:
        if one.left_out:
            verb = "is" if one.left_out == 1 else "are"
            lines.append(f"{counted(one.left_out, 'fact')} with an unreadable answer {verb} left out.")
    return Note(lines=(" ".join(lines),), quiet=True)


@section("agreement with itself", 60, where=NOT_IN_A_PAPER)
def self_agreement(figures: Figures) -> Section | None:
    """Over which implications a model agrees with itself."""
    found = {name: report.self_agreement for name, report in figures.reports.items() if report.self_agreement}
    if not found:
        return None
    couple = "pair of statements"

    def agrees(implication: str, run: str) -> Cell:
        one = found[run].by_implication.get(implication)
        if one is None:
            return Cell(text="not asked")
        return share_of(one.share, couple, f"unrelated answers as often right would give {percent(one.independent)}")

    rows = [
        Row(name, {run: agrees(name, run) for run in found}, meaning, term=meaning)
        for name, meaning in AGREES.items()
        if any(name in of.by_implication for of in found.values())
    ]
    note = "a statement and its negation"
    rows += [
        Row(name, {run: share_of(getattr(of, field), couple) for run, of in found.items()}, note, term=note)
        for name, field in (("both called true", "affirms_both"), ("both called false", "denies_both"))
    ]
    table = Table(name="agreement", label="does it agree with itself", heading="implication", rows=tuple(rows))
    about = (
        "Nobody has to know what is true to see this. A model that says “true” to everything agrees with every inversion and "
        "with no negation, so read each share beside what independent answers at its own rate of “true” would give."
    )
    return Section("Does it agree with itself?", (table, Note(lines=(about,), quiet=True)))


def as_in(paper: str) -> str:
    """Whose figure it is."""
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
    """How much better one way of asking is answered than another."""
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
    found = {name: of for name, of in figures.dangers.items() if of.accepted.n or of.unjudged}
    if not found:
        return None
    about = (
        "Accepted: “true” to more than half of the affirmed statements about a false fact. Only checked false facts "
        "stand here: a source or reviewers call them false. Contraindications come first; then those affirmed most often, "
        "with shares shrunk towards their mean, so that one unlucky fact does not top the list."
    )
    blocks: list[Block] = [Note(lines=(about,), quiet=True)]
    for name, of in found.items():
        blocks += _accepted(name if len(found) > 1 else "", of, figures, name)
    return Section("False facts that it accepts", tuple(blocks), folded=True)


def _accepted(heading: str, of: Danger, figures: Figures, run: str) -> list[Block]:
    blocks: list[Block] = [Note(lines=(), heading=heading)] if heading else []
    if of.accepted.n:
        shares = {"judged false facts that it accepts": of.accepted}
        shares |= {"contraindications that it accepts": of.contraindicated} if of.contraindicated.n else {}
        shares |= of.by_specialty if len(of.by_specialty) > 1 else {}
        rows = tuple(Row(name, {"share": share_of(one, "fact")}) for name, one in shares.items())
        blocks.append(Table(name="accepted", label="judged false facts that it accepts", heading="of", rows=rows))
        lines = tuple(_accepted_line(run, one, figures) for one in of.board)
        blocks.append(Facts(lines=lines) if lines else Note(lines=("It accepts none of them.",)))
    else:
        blocks.append(
            Note(
                lines=(
                    "Nobody has checked the false facts asked here: no source calls one of them false, and no reviewer has.",
                )
            )
        )
    if of.unjudged:
        link = (figures.links[run], "Check them") if run in figures.links else None
        blocks.append(Note(lines=(unjudged_in_words(of),), link=link))
    return blocks


def unjudged_in_words(of: Danger) -> str:
    """That a model accepts false facts which nobody has judged."""
    return f"The model accepted {counted(of.unjudged, 'more fact' if of.board else 'fact')} that we believe false."


def _accepted_line(run: str, one: Accepted, figures: Figures) -> FactLine:
    p_true = "" if one.p_true is None else f", mean probability of true {one.p_true:.2f}"
    source = f". Source: {one.fact.source}" if one.fact.source else ""
    words = f". “{one.words}”" if one.words else ""
    told = f"affirmed {one.affirmed} of {one.asked} times{p_true}; allowing for chance, {percent(one.shrunk)}{source}{words}"
    opens = figures.opens.get((run, one.number))
    place = list(figures.dangers).index(run)
    return FactLine(one.fact, told, f"danger-{place}-{one.number}", opens)


GROUPS = {"relation": "relation", "kind": "kind of finding", "specialty": "specialty", "difficulty": "difficulty of the twin"}
"""By what right answers are told apart → what a person reads."""


def _is_asked_for(figures: Figures, group: str) -> bool:
    return figures.group in ("", group)


@section("relations", 90, tab="groups", where=NOT_IN_A_PAPER)
def relations(figures: Figures) -> Section | None:
    names = sorted(heads_of(figures.reports, "by_relation"))
    if not names or not _is_asked_for(figures, "relation"):
        return None
    rows = by_group(figures.reports, "by_relation", names[:MOST_ROWS], "relation")
    label, finding = "right answers by relation, with 95% intervals", findings.of_relations(figures.reports)
    blocks: list[Block] = [Shares(name="relations", label=label, heading="relation", rows=rows, finding=finding)]
    if rest := by_group(figures.reports, "by_relation", names[MOST_ROWS:], "relation"):
        blocks.append(Table(name="more-relations", label="right answers by more relations", heading="relation", rows=rest))
    return Section("Right answers by relation", tuple(blocks))


@section("semantic types", 91, tab="groups", where=NOT_IN_A_PAPER)
def types(figures: Figures) -> Section | None:
    rows = rows_by_type(figures.reports)
    if len(rows) < 2 or not _is_asked_for(figures, "kind"):
        return None
    label, finding = "right answers by semantic type of the finding, with 95% intervals", findings.of_types(figures.reports)
    shares = Shares(name="types", label=label, heading="semantic type", rows=rows, finding=finding, compact=True)
    return Section("Right answers by semantic type of the finding", (shares,) if shares.is_drawn else ())


def rows_by_type(reports: Reports) -> tuple[Row, ...]:
    """Semantic type and its number of facts → right answers: first those of enough facts in every run that asks them, from the
    fewest right answers of the first model up, then the others, by the alphabet. Types without a name are left out.
    """
    facts: dict[str, int] = {}
    for report in reports.values():
        for name, found in report.by_tail_type.items():
            facts[name] = min(facts.get(name, found.facts), found.facts)
    facts.pop("", None)
    names = sorted(facts, key=lambda name: (-facts[name], name))[:MOST_ROWS]
    first = next(iter(reports.values()))
    values = {name: of.value or 0.0 for name, of in first.by_tail_type.items()}
    enough = sorted((n for n in names if facts[n] >= FEWEST_FACTS), key=lambda name: (values.get(name, 0.0), name))
    rest = sorted(name for name in names if facts[name] < FEWEST_FACTS)
    labels = {name: f"{name} ({counted(facts[name], 'fact')})" for name in enough}
    labels |= {name: f"{name} ({counted(facts[name], 'fact')}, not ranked)" for name in rest}

    def cell(name: str, run: str) -> Cell:
        found = reports[run].by_tail_type.get(name)
        return ABSENT if found is None else share_of(found.estimate, "statement")

    return tuple(
        Row(label, {run: cell(name, run) for run in reports}, opens=facts_within("kind", name))
        for name, label in labels.items()
    )


@section("categories", 92, tab="groups", where=NOT_IN_A_PAPER)
def categories(figures: Figures) -> Section | None:
    """Right answers by the MKJ paper's categories of findings."""
    names = heads_of(figures.reports, "by_category")
    if not names or not _is_asked_for(figures, "kind"):
        return None
    about = "The finding's semantic type in the UMLS, in the three categories of the MKJ paper; the assignment is medfact's."
    rows = by_group(figures.reports, "by_category", names)
    table = Table(name="categories", label="right answers by category", heading="category", rows=rows)
    return Section("Right answers by kind of finding", (Note(lines=(about,), quiet=True), table))


@section("specialties", 92.5, tab="groups", where=frozenset({PAGE}))
def specialties(figures: Figures) -> Section | None:
    names = sorted({name for of in figures.specialties.values() for name in of})
    if not names or not _is_asked_for(figures, "specialty"):
        return None
    rows = tuple(
        Row(
            name,
            {run: share_of(of.get(name), "statement") for run, of in figures.specialties.items()},
            opens=facts_within("specialty", name),
        )
        for name in names
    )
    label, finding = "right answers by specialty, with 95% intervals", findings.of_specialties(figures.specialties)
    shares = Shares(name="specialties", label=label, heading="specialty", rows=rows, finding=finding, alone=True)
    return Section("Right answers by specialty", (shares,))


_OF_DIFFICULTY: tuple[tuple[str, str, str], ...] = (
    ("negative_accuracy", "right answers about the false partner", "statement"),
    ("pair_joint_accuracy", "true fact and its false twin both mastered", "pair"),
)


@section("difficulty", 93, tab="groups", where=NOT_IN_A_PAPER)
def difficulty(figures: Figures) -> Section | None:
    reports = figures.reports
    asked = [name for name in DIFFICULTIES if any(name in report.by_difficulty for report in reports.values())]
    if not asked or not _is_asked_for(figures, "difficulty"):
        return None

    def cell(name: str, field: str, thing: str, run: str) -> Cell:
        found = reports[run].by_difficulty.get(name)
        if found is None:
            return ABSENT
        estimate: Estimate = getattr(found, field)
        return Cell(estimate, in_draws(estimate.n, thing, reports[run]))

    rows = tuple(
        Row(
            f"{name} false partners: {heading}",
            {run: cell(name, field, thing, run) for run in reports},
            opens=facts_within("difficulty", name),
        )
        for name in asked
        for field, heading, thing in _OF_DIFFICULTY
    )
    meanings = "; ".join(f"{name}: {DIFFICULTIES[name]}" for name in asked)
    about = f"{meanings}. Each figure is over the true facts together with the false partners of that kind."
    table = Table(name="difficulty", label="right answers by difficulty", heading="false partner", rows=rows)
    return Section("Right answers by how hard the false partner is", (Note(lines=(about,), quiet=True), table))
