"""The sections about a run's scores and answers: by the way of asking, why facts fail, by grouping, and passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medfact.metrics.averages import FEWEST_FACTS
from medfact.metrics.coherence import AGREES
from medfact.metrics.comparison import CONTRASTS, Contrast, Ways
from medfact.metrics.diagnosis import CHANCE, DIAGNOSES, MIXED, PLAIN, Diagnosed
from medfact.metrics.groupings import Grouping, group_filters
from medfact.metrics.pressure import HELD
from medfact.metrics.uncertainty import Estimate
from medfact.negatives import DIFFICULTIES
from medfact.results import findings
from medfact.results.blocks import ABSENT, Block, Cell, Curve, FactLine, Facts, Note, Parts, Row, Section, Shares, Table
from medfact.results.compare import decision_in_words
from medfact.results.danger import Accepted, Danger
from medfact.results.findings import Reports
from medfact.results.papers import mean_curves
from medfact.results.pressed import loss_in_words
from medfact.results.recall import about_setting
from medfact.results.report import Report
from medfact.results.sections.registry import EACH, EVERYWHERE, PAGE, PAPER, Figures, section
from medfact.results.wording import (
    Score,
    about_intervals,
    bounds_in_points,
    count,
    counted,
    first_scores,
    in_draws,
    percent,
    points,
    score,
    share,
    ways_of,
)
from medfact.statements import VARIANTS
from medfact.store import GOING
from medfact.words import say

NOT_IN_A_PAPER = EVERYWHERE - {PAPER}


def share_of(estimate: Estimate | None, thing: str, *under: str) -> Cell:
    """A share of so many things; a dash where a run has none. under: lines that stand beside it."""
    return ABSENT if estimate is None else Cell(estimate, counted(estimate.n, thing), under)


def facts_where(only: str, within: str = "") -> dict[str, Any]:
    """Returns the view of the page that lists the facts of a filter. within: a group, as "relation:may treat"."""
    return {"tab": "facts", "only": only, "within": within, "search": "", "model": -1, "page": 0, "fact": -1}


# ------------------------------------------------------------------------------------------------ settings and scores

# setting → view of the page that a click on it opens; the others open “Statistics”, beside other runs
_OPENS: Mapping[str, Mapping[str, Any]] = {
    "pressure": {"tab": "confidence"},
    "passages": {"tab": "evidence"},
    "confidence": {"tab": "confidence"},
}


@section("chosen", -1, tab="summary")
def chosen_settings(figures: Figures) -> Section | None:
    """Language, pressure, passages, worked examples, confidence and effort, if one is unusual; a row each."""
    reports, is_alone = figures.reports, len(figures.reports) == 1
    opens = None if is_alone else {"tab": "statistics", "statistics": "runs"}
    rows = tuple(
        Row(label, {"with it": _effect(setting, report, reports)}, name, name, _OPENS.get(setting, opens))
        for name, report in (("" if is_alone else run, report) for run, report in reports.items())
        for setting, label in (report.chosen or {}).items()
    )
    table = Table(name="chosen", label="what was chosen, and its effect", heading="setting", rows=rows)
    return Section("What was chosen", (table,)) if rows else None


def _effect(setting: str, report: Report, reports: Reports) -> Cell:
    """Right answers after the costliest push; of another setting, beside those of the same model without it."""
    if setting == "pressure" and report.pressure:
        after = report.pressure.after
        compared = [push for push in after if HELD in push.less_control]
        worst = min(compared, key=lambda push: push.less_control[HELD].value or 0.0, default=after[0])
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
    about = f"{about_intervals(list(reports.values()))} {say('scores.clustered')}"
    table = Table(name="scores", label="scores by run", heading="score", rows=tuple(rows))
    return Section("Scores", (table, Note(lines=(about,), quiet=True)))


def _score_row(score: Score, reports: Reports, measured: Sequence[Report]) -> Row:
    """Row of a score, with n and interval. measured: the reports with methods that show it."""
    cells = {}
    for run, report in reports.items():
        estimate = report.measure(score.name) if any(report is other for other in measured) else None
        cells[run] = Cell(estimate, in_draws(estimate.n, score.of, report), signed=score.signed) if estimate else ABSENT
    return Row(score.heading, cells, f"{score.explained}; a coin: {score.by_chance(measured[0].chance)}", score.term)


@section("falling line", 5, tab="summary", where=NOT_IN_A_PAPER)
def falling_line(figures: Figures) -> Section | None:
    """Facts still right after one way of asking, two, … all, a line a model, once the runs have ended."""
    reports = {name: report for name, report in figures.reports.items() if len(report.curves["joint_any_order"]) > 1}
    if not reports or any(report.state in GOING for report in reports.values()):
        return None
    curve = by_statements("falling-line", "", reports, "joint_any_order", with_means=False)
    return Section("Facts still right, asked in one way, two ways, … all", (curve,))


def by_statements(name: str, before: str, reports: Reports, curve: str, *, with_means: bool = True) -> Curve:
    """Accuracy by number of statements a fact, a line a model; dashed, the mean over models that were asked the same; dotted,
    a fair coin's.

    curve: `joint_any_order` (PretextTrans, Figure 5), `joint_ordered` or `average_ordered` (TPEval, Figure 6).
    """
    means = mean_curves(reports.values(), curve) if with_means else {}
    courses: dict[str, Sequence[Estimate]] = {**{run: report.curves[curve] for run, report in reports.items()}, **means}
    is_average = curve == "average_ordered"
    axes = ("statements a fact", "right answers, %" if is_average else "facts with all right, %")
    falls = [describe_fall(run, course, "answer" if is_average else "fact") for run, course in courses.items()]
    finding = " ".join(filter(None, falls)) or say("scores.nothing_asked")
    lines = {
        run: tuple((step, point) for step, point in enumerate(course, 1) if point.value is not None)
        for run, course in courses.items()
    }
    return Curve(
        name=name,
        label=f"{axes[1]} by {axes[0]}",
        finding=before + " ".join([finding, say("paper.wide_mean")] if means else [finding]),
        lines=lines,
        axes=axes,
        coin=tuple(0.5 if is_average else 0.5**step for step in range(1, max(map(len, lines.values())) + 1)),
        dashed=tuple(means),
    )


def describe_fall(name: str, course: Sequence[Estimate], thing: str = "fact") -> str:
    """The share right with one statement a fact, and with all; "" if there is only one statement."""
    if len(course) < 2:
        return ""
    facts = counted(course[0].n, thing)
    return say("scores.fall", name=name, share=percent(course[0].value), facts=facts, last=share(course[-1]), ways=len(course))


# ------------------------------------------------------------------------------------------------ ways of asking, diagnoses


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
    label = "right answers by the way of asking, with 95% intervals"
    shares = Shares(name="ways", label=label, heading="asked", rows=rows, finding=findings.of_ways(reports), alone=True)
    return Section("Right answers by the way of asking", (shares if shares.is_drawn else Note(lines=(say("answers.none"),)),))


@section("why facts fail", 50, tab="summary", where=NOT_IN_A_PAPER)
def diagnoses(figures: Figures) -> Section | None:
    """The diagnosis of each fact, beside what independent answers would give."""
    by_run = {name: report.diagnosis for name, report in figures.reports.items() if report.diagnosis}
    if not by_run:
        return None

    def cell(run: str, diagnosed: Diagnosed) -> Cell:
        report, n = figures.reports[run], diagnosed.share.n
        under = (
            say("answers.unrelated_eight", share=percent(diagnosed.independent)),
            f"excess {points(diagnosed.excess)} points, {bounds_in_points(diagnosed.low, diagnosed.high)}",
            f"a coin: {percent(diagnosed.coin)}",
        )
        return Cell(diagnosed.share, counted(n, "fact") if by_run[run].left_out else in_draws(n, "fact", report), under)

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
    finding = findings.of_diagnoses({name: figures.reports[name] for name in by_run})
    label = "share of facts with each diagnosis, with 95% intervals"
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


# ------------------------------------------------------------------------------------------------ differences


def as_in(paper: str) -> str:
    """Name of the paper that a figure is from, in words."""
    return f"as in {paper}" if paper else ""


def difference_of(
    contrast: Contrast, thing: str = "fact", sides: tuple[str, str] = ("", ""), family: str = "comparisons"
) -> Cell:
    """A contrast as a difference, with the interval that decides. thing: of what it is a mean. sides: their names."""
    size = f"{100 * abs(contrast.value or 0.0):.1f}"
    compared = "the same as" if size == "0.0" else f"{size} points {'lower' if (contrast.value or 0.0) < 0 else 'higher'} than"
    names = zip(sides, (contrast.first, contrast.second), strict=True)
    first, second = (f"{name} {percent(value)}".strip() for name, value in names)
    decision = () if contrast.low_all is None else (decision_in_words(contrast, family),)
    under = (f"{first}, {compared} {second}", *decision)
    return Cell(contrast.estimate, counted(contrast.n, thing), under, signed=True, shown=contrast.is_shown)


@section("contrasts", 70)
def contrasts(figures: Figures) -> Section | None:
    """Differences of two ways of asking, paired by fact."""
    reports = {run: report for run, report in figures.reports.items() if report.contrasts}

    def cell(report: Report, ways: Ways) -> Cell:
        # methods share names of contrasts: the ways that a run asks tell which one is meant
        is_asked = report.by_variant.keys() >= {*ways.first, *ways.second}
        contrast = report.contrasts.get(ways.name) if is_asked else None
        return difference_of(contrast, sides=ways.sides, family="contrasts") if contrast else ABSENT

    rows = [
        Row("; ".join(ways.sides), {run: cell(report, ways) for run, report in reports.items()}, paper, paper)
        for ways in CONTRASTS
        for paper in [as_in(ways.paper)]
    ]
    table = Table(
        name="contrasts",
        label="the same facts, asked in two ways, in points",
        heading="contrast",
        rows=tuple(row for row in rows if any(cell.known for cell in row.cells.values())),
        caption="right answers by fact, in points",
    )
    about = Note(lines=(say("comparison.about_contrasts"),))
    return Section("The same facts, asked in two ways", (table, about)) if table.rows else None


# ------------------------------------------------------------------------------------------------ false facts accepted


@section("false facts accepted", 80, tab="summary", where=NOT_IN_A_PAPER)
def danger(figures: Figures) -> Section | None:
    """The judged false facts that models affirm, contraindications first."""
    dangers = {name: danger for name, danger in figures.dangers.items() if danger.accepted.n or danger.unjudged}
    if not dangers:
        return None
    blocks: list[Block] = [Note(lines=(say("answers.accepted"),), quiet=True)]
    for run, danger in dangers.items():
        blocks += [Note(lines=(), heading=run)] if len(dangers) > 1 else []
        if danger.accepted.n:
            lines = tuple(_accepted_line(run, accepted, figures) for accepted in danger.board)
            blocks += [_accepted_shares(danger), Facts(lines=lines) if lines else Note(lines=(say("answers.accepts_none"),))]
        else:
            blocks.append(Note(lines=(say("answers.unchecked"),)))
        if danger.unjudged:
            facts = counted(danger.unjudged, "more fact" if danger.board else "fact")
            link = (figures.links[run], "Check them") if run in figures.links else None
            blocks.append(Note(lines=(say("answers.unjudged", facts=facts),), link=link))
    return Section("False facts that it accepts", tuple(blocks), folded=True)


def _accepted_shares(danger: Danger) -> Table:
    shares = {
        "judged false facts that it accepts": danger.accepted,
        **({"contraindications that it accepts": danger.contraindicated} if danger.contraindicated.n else {}),
        **(danger.by_specialty if len(danger.by_specialty) > 1 else {}),
    }
    rows = tuple(Row(name, {"share": share_of(estimate, "fact")}) for name, estimate in shares.items())
    return Table(name="accepted", label="judged false facts that it accepts", heading="of", rows=rows)


def _accepted_line(run: str, accepted: Accepted, figures: Figures) -> FactLine:
    fact = accepted.fact
    p_true = "" if accepted.p_true is None else f", mean probability of true {accepted.p_true:.2f}"
    words = say("answers.affirmed", n=accepted.affirmed, all=accepted.asked, p_true=p_true, shrunk=percent(accepted.shrunk))
    words += f". Source: {fact.source}" if fact.source else ""
    words += f". “{accepted.words}”" if accepted.words else ""
    key = f"danger-{list(figures.dangers).index(run)}-{accepted.number}"
    return FactLine(fact, words, key, figures.opens.get((run, accepted.number)))


# ------------------------------------------------------------------------------------------------ by group

MAX_ROWS = 40  # rows of a figure; of more types, those with most facts


def rows_by(reports: Reports, grouping: Grouping) -> tuple[Row, ...]:
    """A row of right answers for each group that occurs in some report."""
    by_run = {run: getattr(report, grouping.key) for run, report in reports.items()}
    names = {name for groups in by_run.values() for name in groups}
    is_filter = group_filters().get(grouping.tab) is grouping
    return tuple(
        Row(
            name,
            {run: share_of(groups.get(name), "statement") for run, groups in by_run.items()},
            opens=facts_where("all", f"{grouping.tab}:{name}") if is_filter else None,
        )
        for name in [*grouping.order()] or sorted(names)
        if name in names
    )


@section("relations", 90, tab="groups", where=NOT_IN_A_PAPER, grouping="relation")
@section(EACH, 94, tab="groups", grouping=EACH)
def by_grouping(figures: Figures, grouping: Grouping) -> Section | None:
    """Right answers by the groups of a grouping."""
    rows, title = rows_by(figures.reports, grouping), grouping.title
    name, label = f"by-{grouping.name}", f"right answers by {title}"
    finding = findings.of_groups(figures.reports, grouping)
    first = Shares(name=name, label=f"{label}, with 95% intervals", heading=title, rows=rows[:MAX_ROWS], finding=finding)
    more = Table(name=f"more-{name}", label=f"{label}: more groups", heading=title, rows=rows[MAX_ROWS:])
    return Section(f"Right answers by {title}", (first, more) if more.rows else (first,)) if rows else None


@section("semantic types", 91, tab="groups", where=NOT_IN_A_PAPER, grouping="tail_type")
def types(figures: Figures, grouping: Grouping) -> Section | None:
    """Right answers by semantic type, where there are two or more."""
    rows, label = rows_by_type(figures.reports), f"right answers by {grouping.title}, with 95% intervals"
    finding = findings.of_types(figures.reports, grouping)
    shares = Shares(name="types", label=label, heading="semantic type", rows=rows, finding=finding, compact=True)
    return Section(f"Right answers by {grouping.title}", (shares,)) if shares.is_drawn else None


def rows_by_type(reports: Reports) -> tuple[Row, ...]:
    """Right answers by semantic type and its number of facts, at most MAX_ROWS types.

    Types with enough facts in every run come first, from the lowest accuracy of the first run up; then the others by name.
    """
    by_run = {run: report.by_tail_type for run, report in reports.items()}
    names = {name for types in by_run.values() for name in types}
    facts = {name: min(types[name].facts for types in by_run.values() if name in types) for name in names}
    first = next(iter(by_run.values()))
    ranked = {name: first[name].value or 0.0 for name in first if facts[name] >= FEWEST_FACTS}
    largest = sorted(names, key=lambda name: (-facts[name], name))[:MAX_ROWS]
    return tuple(
        Row(
            f"{name} ({counted(facts[name], 'fact')}{', not ranked' if facts[name] < FEWEST_FACTS else ''})",
            {run: share_of(types[name].estimate if name in types else None, "statement") for run, types in by_run.items()},
            opens=facts_where("all", f"kind:{name}"),
        )
        for name in sorted(largest, key=lambda name: (facts[name] < FEWEST_FACTS, ranked.get(name, 0.0), name))
    )


@section("categories", 92, tab="groups", where=NOT_IN_A_PAPER, grouping="category")
def categories(figures: Figures, grouping: Grouping) -> Section | None:
    """Right answers by the MKJ paper's categories of findings."""
    rows, about = rows_by(figures.reports, grouping), Note(lines=(say("groups.categories"),), quiet=True)
    table = Table(name="categories", label="right answers by category", heading="category", rows=rows)
    return Section("Right answers by kind of finding", (about, table)) if rows else None


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

    def cell(figures_of: Mapping[str, Any] | None, figure: str, thing: str, report: Report) -> Cell:
        estimate: Estimate | None = (figures_of or {}).get(figure)
        return Cell(estimate, in_draws(estimate.n, thing, report)) if estimate else ABSENT

    rows = tuple(
        Row(
            f"{name} false partners: {heading}",
            {run: cell(report.by_difficulty.get(name), figure, thing, report) for run, report in reports.items()},
            opens=facts_where("all", f"{grouping.tab}:{name}"),
        )
        for name in names
        for figure, heading, thing in OF_DIFFICULTY
    )
    about = say("groups.difficulty", meanings="; ".join(f"{name}: {DIFFICULTIES[name]}" for name in names))
    table = Table(name="difficulty", label="right answers by difficulty", heading="false partner", rows=rows)
    title = "Right answers by how hard the false partner is"
    return Section(title, (Note(lines=(about,), quiet=True), table)) if names else None


# ------------------------------------------------------------------------------------------------ passages


@section("retrieved passages", 210, tab="evidence", where=NOT_IN_A_PAPER)
def retrieved(figures: Figures) -> Section | None:
    """Retrieved passages of runs, and their recall of the facts."""
    rows, lines = list[Row](), [say("scores.passages.shown")]
    for name, report in figures.reports.items():
        if passages := report.evidence:
            slots = {"passages": passages.passages, "corpus": passages.corpus, "setting": passages.setting}
            cells = {
                "the fact was among the passages (recall)": share_of(passages.recall, "statement about true facts"),
                "of a false fact, its true partner was": share_of(passages.partner_recall, "statement about false facts"),
            }
            rows.append(Row(name, cells, f"{passages.passages} of {passages.corpus}; {passages.setting}"))
            way = say(f"scores.retrieval.{'sparse' if passages.retrieval == 'sparse' else 'dense'}", encoder=passages.encoder)
            lines.append(f"{say('scores.passages.run', name=name, way=way, **slots)} {about_setting(passages.setting)}")
    table = Table(name="recall", label="recall of the fact", heading="run", rows=tuple(rows))
    return Section("Retrieved passages: was the fact among them?", (Note(lines=tuple(lines)), table)) if rows else None
