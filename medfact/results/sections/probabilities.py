"""The sections about P(True): calibration, a statement beside its negation, the most confident answers, and its use."""

from __future__ import annotations

from collections.abc import Mapping

from medfact.metrics.measures import Bin, Calibration
from medfact.metrics.probability import COVERAGES, DEFECTS, Discrimination, Miscalibration, Probabilities
from medfact.results import findings
from medfact.results.blocks import ABSENT, Block, Cell, Note, Panel, Point, Row, Section, Shares, Square, Table
from medfact.results.findings import Reports
from medfact.results.report import Report
from medfact.results.sections.answers import NOT_IN_A_PAPER, share_of
from medfact.results.sections.registry import Figures, section
from medfact.results.wording import count, counted, describe_source, percent, plain_value
from medfact.statements import VARIANTS


def of_one_source(reports: Reports) -> dict[str, Report]:
    """The reports whose P(True) comes from where the first one's does; a service's log-probabilities are a model's own."""
    own = {"first token": "logprobs"}
    sources = {m: own.get(r.p_true_source, r.p_true_source) for m, r in reports.items() if r.calibration.n}
    first = next(iter(sources.values()), None)
    return {model: reports[model] for model, source in sources.items() if source == first}


@section("calibration", 110, tab="confidence", where=NOT_IN_A_PAPER)
def calibration(figures: Figures) -> Section | None:
    """Whether the models' probabilities mean what they say. Models whose P(True) comes from another source than the first
    one's are not drawn: the two do not compare."""
    reports, drawn = figures.reports, of_one_source(figures.reports)
    said = [_off_by(name, report, name in drawn) for name, report in reports.items() if report.answered]
    blocks: list[Block] = [Note(lines=tuple(said) or ("Nothing has been asked yet.",))]
    order = list(reports)
    panels = {
        name: Panel(
            _points(report.calibration),
            order.index(name),
            findings.of_calibration({name: report}),
            band_of(report.calibration),
            tuple((one.low, one.high, one.n) for one in report.calibration.bins if one.n),
        )
        for name, report in drawn.items()
    }
    blocks.append(
        Square(
            name="calibration",
            label="share of true statements against the model’s probability of true",
            finding=findings.of_calibration(drawn) if drawn else "",
            panels=panels,
            axes=("the model’s probability of true", "share that is true"),
            rising=True,
            curve=True,
        )
    )
    if any(panel.band for panel in panels.values()):
        about = (
            "Below each square: how many statements got which P(True), the model’s probability of “true”. Grey: where a "
            "calibrated model’s dots would lie in 95 of 100 tests on similar diseases and facts. Statements "
            "about one fact share its truth, so dots stray together. On the dashed line probabilities mean what they say."
        )
        blocks.append(Note(lines=(about,), quiet=True))
    return Section("Does the model know when it knows?", tuple(blocks))


def _points(found: Calibration) -> tuple[Point, ...]:
    return tuple(
        Point(one.mean_p_true, one.positive_rate, one.n, _bin_in_words(one))
        for one in found.bins
        if one.mean_p_true is not None and one.positive_rate is not None
    )


def _bin_in_words(one: Bin) -> str:
    words = f"probability of true {one.mean_p_true:.2f}: {one.positive_rate:.0%} of {counted(one.n, 'statement')} are true"
    if one.least is None or one.most is None:
        return words
    return f"{words}; calibrated, {one.least:.0%} to {one.most:.0%} would be"


def band_of(found: Calibration) -> tuple[tuple[float, float, float], ...]:
    """Where a calibrated model's points lie; nothing where there are too few heads to say."""
    known = [
        (one.mean_p_true, one.least, one.most)
        for one in found.bins
        if one.n and one.mean_p_true is not None and one.least is not None and one.most is not None
    ]
    return tuple(known) if len(known) > 1 else ()


def _off_by(name: str, report: Report, drawn: bool) -> str:
    found = report.calibration
    if not found.n:
        return f"{name} has no probabilities of True and False, so there is nothing to draw."
    source = describe_source(report.p_true_source)
    if not drawn:
        return f"{name} is not drawn: its probabilities are {source}, which does not compare."
    return (
        f"{name}: its probability of “true”, {source}, is off by {100 * (found.ece or 0):.1f} points on average (ECE, n = "
        f"{count(found.n)} statements). A perfectly calibrated model would be off by "
        f"{100 * (found.ece_floor_coherent or 0):.1f} by chance ({100 * (found.ece_floor or 0):.1f} if its statements were "
        "unrelated)."
    )


@section("coherence", 111, tab="confidence", where=NOT_IN_A_PAPER)
def coherence(figures: Figures) -> Section | None:
    """P(True) of a statement's negation against its own. Models without P(True) are left out."""
    order = list(figures.reports)
    drawn = {name: report for name, report in of_one_source(figures.reports).items() if report.coherence.couples}
    panels = {
        name: Panel(_couples(report), order.index(name), findings.of_coherence({name: report}))
        for name, report in drawn.items()
    }
    if not panels:
        return None
    square = Square(
        name="coherence",
        label="probability of true of a statement’s negation against its own",
        finding=findings.of_coherence(drawn),
        panels=panels,
        axes=("probability of true of a statement", "of its negation"),
        rising=False,
        curve=False,
        folded="Both probabilities of each pair of opposites",
    )
    about = (
        "Each dot is a group of statements with their negations, placed by the two probabilities; larger dots hold more. On "
        "the dashed line the two probabilities add up to 1; at the upper right both are called true, at the lower left both "
        "false."
    )
    notes = (*_left_out(figures.reports), Note(lines=(about,), quiet=True))
    return Section("Does it believe a statement and its opposite?", (Note(lines=(square.finding,)), square, *notes))


def _left_out(reports: Reports) -> tuple[Note, ...]:
    """Which runs a plot leaves out, since their P(True) comes from another source than that of those it shows."""
    drawn = of_one_source(reports)
    others = {name: report for name, report in reports.items() if report.calibration.n and name not in drawn}
    lines = (
        f"{name} is not drawn: its probabilities are {describe_source(one.p_true_source)}." for name, one in others.items()
    )
    return (Note(lines=tuple(lines)),) if others else ()


def _couples(report: Report) -> tuple[Point, ...]:
    return tuple(
        Point(
            one.p_true,
            one.p_negated,
            one.n,
            f"probability of true {one.p_true:.2f}, of the negation about {one.p_negated:.2f}: "
            f"{counted(one.n, 'pair')} of opposites",
        )
        for one in report.coherence.couples
    )


def _probabilities(reports: Reports) -> dict[str, Probabilities]:
    return {name: report.probabilities for name, report in reports.items() if report.probabilities}


@section("surest answers", 112, tab="confidence", where=NOT_IN_A_PAPER)
def surest(figures: Figures) -> Section | None:
    found = _probabilities(of_one_source(figures.reports))
    if not found:
        return None
    rows = tuple(
        Row(
            f"most confident {share:.0%}" if share < 1 else "all answers",
            {run: share_of(of.overall.selective[place].accuracy, "statement") for run, of in found.items()},
            term="" if share < 1 else "right",
        )
        for place, share in enumerate(COVERAGES)
    )
    label = "right answers among the most confident, against the share of the answers that is kept"
    finding = findings.of_sureness(of_one_source(figures.reports))
    shares = Shares(name="coverage", label=label, heading="kept", rows=rows, finding=finding)
    about = "Most confident: those whose probability of true is farthest from ½."
    return Section("Are sure answers right?", (shares, *_left_out(figures.reports), Note(lines=(about,), quiet=True)))


@section("what probabilities are good for", 113, tab="confidence", where=NOT_IN_A_PAPER)
def good_for(figures: Figures) -> Section | None:
    """AUROC, Brier score and ECE, over all statements and over affirmed ones alone."""
    found = _probabilities(figures.reports)
    if not found:
        return None
    sources = {run: Cell(text=describe_source(figures.reports[run].p_true_source)) for run in found}
    rows = [Row("where the probabilities come from", sources)]
    asked = [("overall", "all statements"), ("affirmed", "affirmed statements alone")]
    if all(one.affirmed is None or one.affirmed.n == one.overall.n for one in found.values()):
        del asked[1]  # nothing is denied: both are the same
    for field, title in asked:
        term = "all" if field == "overall" else "affirmed"
        of: Mapping[str, Discrimination | None] = {run: getattr(one, field) for run, one in found.items()}
        ranks = {run: share_of(one.auroc if one else None, "statement") for run, one in of.items()}
        rows.append(Row("ranks true over false (AUROC)", ranks, f"{title}; 50% is a coin", term))
        scores = {run: brier_cell(one) if one else ABSENT for run, one in of.items()}
        rows.append(Row("Brier score", scores, f"{title}; 0 is best, a probability of ½ throughout gives 0.25", term))
    for field, (_, title) in zip(("off", "off_affirmed"), asked, strict=False):
        off: Mapping[str, Miscalibration | None] = {run: getattr(one, field) for run, one in found.items()}
        cells = {run: _off(one) if one else ABSENT for run, one in off.items()}
        rows.append(Row("probability of true is off by (ECE)", cells, title, "all" if field == "off" else "affirmed"))
    label = "how good the probabilities are"
    about = (
        "AUROC: how often a true statement gets a higher probability of true than a false one. Miscalibration and ECE are "
        "above 0 by chance even of a perfect model (CORP: isotonic regression, no bins); a defect is named where the "
        "probability of true, or the confidence, is off by more than chance explains, as it is for 5 in 100 perfect models."
    )
    table = Table(name="probabilities", label=label, heading="measure", rows=tuple(rows))
    blocks = (table, Note(lines=(about,), quiet=True), _by_part(found))
    return Section("How useful is its confidence?", blocks)


def brier_cell(one: Discrimination) -> Cell:
    """A Brier score, which is no percentage, and its parts."""
    parts = (
        f"miscalibration {one.miscalibration:.3f} − discrimination {one.discrimination:.3f} + uncertainty {one.uncertainty:.3f}"
    )
    return Cell(text=plain_value(one.brier), under=(f"of {counted(one.n, 'statement')}", parts))


def _off(one: Miscalibration) -> Cell:
    if not one.defect:
        return share_of(one.ece, "statement", *(() if one.shift.low is None else ("not shown to be more than chance",)))
    by = one.shift if one.defect.startswith("too") else one.overconfidence
    low, high = sorted(abs(100 * (end or 0.0)) for end in (by.low, by.high))
    by_points = f"by {abs(100 * (by.value or 0.0)):.1f} points ({low:.1f} to {high:.1f})"
    return share_of(one.ece, "statement", f"{DEFECTS[one.defect]}, {by_points}")


def _by_part(found: Mapping[str, Probabilities]) -> Table:
    parts = list(dict.fromkeys(part for one in found.values() for part in _parts(one)))
    rows = tuple(
        Row(
            VARIANTS[part].plain if part in VARIANTS else part,
            {run: _part(_parts(one).get(part)) for run, one in found.items()},
        )
        for part in parts
    )
    title = "ECE without what chance adds, smooth ECE, and ECE by way of asking, relation and difficulty"
    return Table(name="off-by-part", label=title, heading="part", rows=rows, folded=title, compact=True)


def _parts(one: Probabilities) -> dict[str, Miscalibration]:
    return {"all statements": one.off, **one.by_variant, **one.by_relation, **one.by_difficulty}


def _part(one: Miscalibration | None) -> Cell:
    if one is None:
        return ABSENT
    return share_of(
        one.ece, "statement", f"without what chance adds: {percent(one.debiased)}", f"smooth ECE: {percent(one.smooth)}"
    )
