"""Sections about P(True): calibration, coherence with the negation, selective accuracy, and its quality in figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from medfact.metrics.measures import Calibration
from medfact.metrics.probability import COVERAGES, DEFECTS, Discrimination, Miscalibration, Probabilities
from medfact.results import findings
from medfact.results.blocks import ABSENT, Block, Cell, Note, Panel, Point, Row, Section, Shares, Square, Table
from medfact.results.findings import Reports
from medfact.results.report import Report
from medfact.results.sections.answers import NOT_IN_A_PAPER, share_of
from medfact.results.sections.registry import Figures, section
from medfact.results.wording import count, counted, describe_source, percent, plain_value
from medfact.statements import VARIANTS
from medfact.words import say


def of_one_source(reports: Reports) -> dict[str, Report]:
    """Reports with P(True) from the same kind of source as the first one; log-probabilities of services are a model's own."""
    same_kind = {"first token": "logprobs"}
    sources = {name: same_kind.get(r.p_true_source, r.p_true_source) for name, r in reports.items() if r.calibration.n}
    first = next(iter(sources.values()), None)
    return {name: reports[name] for name, source in sources.items() if source == first}


def _left_out(reports: Reports) -> tuple[Note, ...]:
    """Note of the runs that a plot leaves out, for the source of their P(True)."""
    drawn = of_one_source(reports)
    lines = tuple(
        say("probability.left_out", name=name, source=describe_source(report.p_true_source))
        for name, report in reports.items()
        if report.calibration.n and name not in drawn
    )
    return (Note(lines=lines),) if lines else ()


# ------------------------------------------------------------------------------------------------ squares


@section("calibration", 110, tab="confidence", where=NOT_IN_A_PAPER)
def calibration(figures: Figures) -> Section | None:
    """Reliability diagrams. Models with P(True) from another source than the first one's are not drawn: they do not compare."""
    reports, drawn = figures.reports, of_one_source(figures.reports)
    panels = {
        name: Panel(
            _points(report.calibration),
            list(reports).index(name),
            findings.of_calibration({name: report}),
            band_of(report.calibration),
            tuple((bin_.low, bin_.high, bin_.n) for bin_ in report.calibration.bins if bin_.n),
        )
        for name, report in drawn.items()
    }
    lines = tuple(_calibration_line(name, report, name in drawn) for name, report in reports.items() if report.answered)
    square = Square(
        name="calibration",
        label=say("probability.diagram.label"),
        finding=findings.of_calibration(drawn) if drawn else "",
        panels=panels,
        axes=("the model’s probability of true", "share that is true"),
        rising=True,
        curve=True,
    )
    blocks: list[Block] = [Note(lines=lines or (say("scores.nothing_asked"),)), square]
    if any(panel.band for panel in panels.values()):
        blocks.append(Note(lines=(say("probability.diagram.about"),), quiet=True))
    return Section("Does the model know when it knows?", tuple(blocks))


def _points(calibration: Calibration) -> tuple[Point, ...]:
    """Points of a reliability diagram, one a bin that holds a statement."""
    return tuple(
        Point(
            bin_.mean_p_true or 0.0,
            bin_.positive_rate or 0.0,
            bin_.n,
            say(
                f"probability.point.{'bare' if bin_.least is None else 'with_band'}",
                p=f"{bin_.mean_p_true:.2f}",
                rate=f"{bin_.positive_rate:.0%}",
                statements=counted(bin_.n, "statement"),
                least=f"{bin_.least or 0.0:.0%}",
                most=f"{bin_.most or 0.0:.0%}",
            ),
        )
        for bin_ in calibration.bins
        if bin_.n
    )


def band_of(calibration: Calibration) -> tuple[tuple[float, float, float], ...]:
    """Consistency band: (mean P(True), least, most) by bin; () with too few heads."""
    band = [
        (bin_.mean_p_true, bin_.least, bin_.most)
        for bin_ in calibration.bins
        if bin_.n and bin_.mean_p_true is not None and bin_.least is not None and bin_.most is not None
    ]
    return tuple(band) if len(band) > 1 else ()


def _calibration_line(name: str, report: Report, is_drawn: bool) -> str:
    """Sentence of a run's calibration error, or of the reason why none is drawn."""
    calibration, source = report.calibration, describe_source(report.p_true_source)
    errors = {"ece": calibration.ece, "coherent": calibration.ece_floor_coherent, "unrelated": calibration.ece_floor}
    slots = {key: f"{100 * (error or 0):.1f}" for key, error in errors.items()}
    kind = "none" if not calibration.n else "off_by" if is_drawn else "not_compared"
    return say(f"probability.line.{kind}", name=name, source=source, statements=count(calibration.n), **slots)


@section("coherence", 111, tab="confidence", where=NOT_IN_A_PAPER)
def coherence(figures: Figures) -> Section | None:
    """P(True) of a statement's negation against its own. Models without P(True) are left out."""
    drawn = {name: report for name, report in of_one_source(figures.reports).items() if report.coherence.couples}
    if not drawn:
        return None
    panels = {
        name: Panel(_couples(report), list(figures.reports).index(name), findings.of_coherence({name: report}))
        for name, report in drawn.items()
    }
    square = Square(
        name="coherence",
        label=say("probability.opposites.label"),
        finding=findings.of_coherence(drawn),
        panels=panels,
        axes=("probability of true of a statement", "of its negation"),
        rising=False,
        curve=False,
        folded=say("probability.opposites.folded"),
    )
    notes = (*_left_out(figures.reports), Note(lines=(say("probability.opposites.about"),), quiet=True))
    return Section("Does it believe a statement and its opposite?", (Note(lines=(square.finding,)), square, *notes))


def _couples(report: Report) -> tuple[Point, ...]:
    return tuple(
        Point(
            p,
            negated,
            n,
            say("probability.opposites.point", p=f"{p:.2f}", negated=f"{negated:.2f}", pairs=counted(n, "pair")),
        )
        for p, negated, n in ((couples.p_true, couples.p_negated, couples.n) for couples in report.coherence.couples)
    )


# ------------------------------------------------------------------------------------------------ tables


@section("surest answers", 112, tab="confidence", where=NOT_IN_A_PAPER)
def surest(figures: Figures) -> Section | None:
    """Selective accuracy: right answers among the most confident, by coverage."""
    reports = of_one_source(figures.reports)
    selective = {name: report.probabilities.overall.selective for name, report in reports.items() if report.probabilities}
    if not selective:
        return None
    rows = tuple(
        Row(
            f"most confident {coverage:.0%}" if coverage < 1 else "all answers",
            {run: share_of(by_coverage[number].accuracy, "statement") for run, by_coverage in selective.items()},
            term="" if coverage < 1 else "right",
        )
        for number, coverage in enumerate(COVERAGES)
    )
    shares = Shares(
        name="coverage",
        label=say("probability.confident.label"),
        heading="kept",
        rows=rows,
        finding=findings.of_sureness(reports),
    )
    about = Note(lines=(say("probability.confident.about"),), quiet=True)
    return Section("Are sure answers right?", (shares, *_left_out(figures.reports), about))


@section("what probabilities are good for", 113, tab="confidence", where=NOT_IN_A_PAPER)
def good_for(figures: Figures) -> Section | None:
    """AUROC, Brier score and ECE, over all statements and over affirmed ones; and errors of parts."""
    qualities = {name: report.probabilities for name, report in figures.reports.items() if report.probabilities}
    if not qualities:
        return None
    only_affirmed = all(quality.affirmed is None or quality.affirmed.n == quality.overall.n for quality in qualities.values())
    sides = _SIDES[: 1 if only_affirmed else 2]

    def row(name: str, note: str, term: str, field: str, cell: Callable[[Any], Cell]) -> Row:
        values = {run: getattr(quality, field) for run, quality in qualities.items()}
        return Row(name, {run: ABSENT if value is None else cell(value) for run, value in values.items()}, note, term)

    sources = {run: Cell(text=describe_source(figures.reports[run].p_true_source)) for run in qualities}
    rows = [Row("where the probabilities come from", sources)]
    for term, over, field, _ in sides:
        auroc, brier = say("probability.quality.auroc", over=over), say("probability.quality.brier", over=over)
        rows.append(
            row("ranks true over false (AUROC)", auroc, term, field, lambda quality: share_of(quality.auroc, "statement"))
        )
        rows.append(row("Brier score", brier, term, field, brier_cell))
    rows += [row("probability of true is off by (ECE)", over, term, field, _ece_cell) for term, over, _, field in sides]
    table = Table(name="probabilities", label=say("probability.quality.label"), heading="measure", rows=tuple(rows))
    blocks = (table, Note(lines=(say("probability.quality.about"),), quiet=True), _by_part(qualities))
    return Section("How useful is its confidence?", blocks)


# name in a terminal, title, and fields of `Probabilities`
_SIDES = (("all", "all statements", "overall", "off"), ("affirmed", "affirmed statements alone", "affirmed", "off_affirmed"))


def brier_cell(discrimination: Discrimination) -> Cell:
    """Brier score, which is no percentage, and its parts."""
    names = ("miscalibration", "discrimination", "uncertainty")
    parts = say("probability.quality.parts", **{name: f"{getattr(discrimination, name):.3f}" for name in names})
    return Cell(text=plain_value(discrimination.brier), under=(f"of {counted(discrimination.n, 'statement')}", parts))


def _ece_cell(error: Miscalibration) -> Cell:
    """ECE, with the defect that is significant and its size."""
    if not error.defect:
        under = () if error.shift.low is None else (say("probability.quality.no_defect"),)
        return share_of(error.ece, "statement", *under)
    size = error.shift if error.defect.startswith("too") else error.overconfidence
    low, high = sorted(abs(100 * (end or 0.0)) for end in (size.low, size.high))
    points = {"points": f"{abs(100 * (size.value or 0.0)):.1f}", "low": f"{low:.1f}", "high": f"{high:.1f}"}
    return share_of(error.ece, "statement", say("probability.quality.defect", defect=DEFECTS[error.defect], **points))


def _by_part(qualities: Mapping[str, Probabilities]) -> Table:
    """Calibration errors over all statements, by way of asking, by relation and by difficulty."""
    parts = {
        run: {"all statements": quality.off, **quality.by_variant, **quality.by_relation, **quality.by_difficulty}
        for run, quality in qualities.items()
    }
    rows = tuple(
        Row(
            VARIANTS[name].plain if name in VARIANTS else name,
            {run: _part_cell(errors[name]) if name in errors else ABSENT for run, errors in parts.items()},
        )
        for name in dict.fromkeys(name for errors in parts.values() for name in errors)
    )
    title = say("probability.quality.by_part")
    return Table(name="off-by-part", label=title, heading="part", rows=rows, folded=title, compact=True)


def _part_cell(error: Miscalibration) -> Cell:
    debiased = say("probability.quality.debiased", error=percent(error.debiased))
    return share_of(error.ece, "statement", debiased, f"smooth ECE: {percent(error.smooth)}")
