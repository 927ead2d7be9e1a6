"""Reports and comparisons as text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medfact.datasets.printable import one_line
from medfact.metrics.coherence import AGREES, SelfAgreement
from medfact.metrics.contrasts import Contrasted
from medfact.metrics.diagnosis import Diagnosis
from medfact.metrics.discrimination import Probabilities
from medfact.metrics.measures import TypeAccuracy
from medfact.metrics.miscalibration import DEFECTS
from medfact.metrics.paired import Paired
from medfact.metrics.uncertainty import Estimate
from medfact.results.compare import METRICS, Comparison, Pair, verdict
from medfact.results.contrasts import ABOUT, Across, in_words, lines_of
from medfact.results.danger import Danger
from medfact.results.endings import how_it_ended
from medfact.results.evidence import Change
from medfact.results.over_models import OverModels
from medfact.results.over_models_text import over_models_lines
from medfact.results.race_words import race_in_words
from medfact.results.rarity import Fit, Rarity
from medfact.results.recall import SETTINGS, Evidence
from medfact.results.remarks import false_on_purpose, remarks
from medfact.results.report import Report
from medfact.results.wording import (
    MINUS,
    NO_VALUE,
    SCORES,
    TOO_FEW,
    about_intervals,
    count,
    counted,
    first_scores,
    marked,
    nothing_stands_out,
    p_value,
    percent,
    plain_value,
    points,
    score,
    share,
    shortened,
    stands_out,
    ways_of,
)
from medfact.runs.costs import bill_in_words, cut_in_words
from medfact.statements import VARIANTS


def report_text(report: Report, danger: Danger | None = None) -> str:
    """A report for a person: plain names, every share with its interval and n. danger: the false facts that it accepts."""
    lines = [
        f"run {report.run} ({report.state}): {marked(report.model, report.imported)} on {report.dataset}, pool {report.pool}, "
        f"{report.shots} shots, seed {report.seed}",
        f"{report.answered} of {report.statements} statements answered: {report.right} right, {report.wrong} wrong, "
        f"{report.unreadable} unreadable (counted as wrong); {report.failed} failed (not counted)",
        *filter(None, [how_it_ended(report.state, report.reason)]),
        "",
        *score_lines(report),
        "",
        *(_line(f"{VARIANTS[key].plain} ({key})", estimate, "statement") for key, estimate in report.by_variant.items()),
        "",
        *(_line(name, estimate, "statement") for name, estimate in report.by_relation.items()),
        "",
        *(_line(name, estimate, "statement") for name, estimate in report.by_category.items()),
        "",
        f"what stands out: {first}" if (first := stands_out(report)) else nothing_stands_out([report]),
        *(diagnosis_lines(report.diagnosis, report) if report.diagnosis else ()),
        *(self_agreement_lines(report.self_agreement) if report.self_agreement else ()),
        *(contrast_lines(report.contrasts) if report.contrasts else ()),
        *(
            _line(f"{difficulty} false partners: all right, both", of.pair_joint_accuracy, "pair", report)
            for difficulty, of in report.by_difficulty.items()
        ),
        *(
            _line(f"{difficulty} false partners: right answers to them", of.negative_accuracy, "statement")
            for difficulty, of in report.by_difficulty.items()
        ),
        "",
        *(probability_lines(report.probabilities) if report.probabilities else ()),
        *(danger_lines(danger) if danger else ()),
        *(evidence_lines(report.evidence) if report.evidence else ()),
        *(bill_in_words(dict(report.service)) if report.service else ()),
        *cut_in_words(report.cut),
        *(f"note: {note}" for note in (*report.notes, *remarks(report))),
        f"{about_intervals([report])} {false_on_purpose([report])} Mastery of a fact is not competence. Not for clinical use.",
    ]
    return "\n".join(map(one_line, lines))


def score_lines(report: Report) -> list[str]:
    """The scores that a run's method shows first, under the names of its paper."""
    lines = []
    for name in first_scores([report]):
        of = score(name, ways_of([report]))
        many = in_draws(getattr(report, name).n, of.of, report) if of.of in {"fact", "pair"} else None
        lines.append(f"{of.titled:<51} {of.of_report(report)} of {many or counted(getattr(report, name).n, of.of)}")
    return lines


def _line(name: str, estimate: Estimate, of: str, report: Report | None = None) -> str:
    """A figure with its interval and n. report: given where n counts a fact or a pair once for each draw of demonstrations."""
    many = counted(estimate.n, of) if report is None else in_draws(estimate.n, of, report)
    return f"{name:<51} {share(estimate)} of {many}"


def in_draws(number: int, thing: str, report: Report) -> str:
    """What a figure counts once for each draw of demonstrations: 30 facts of three draws → "10 facts in 3 draws"."""
    draws = report.shot_draws
    if draws < 2:
        return counted(number, thing)
    if report.answered == report.statements and number % draws == 0:
        return f"{counted(number // draws, thing)} in {draws} draws"
    return f"{counted(number, thing)}, each of {draws} draws counted"


def diagnosis_lines(diagnosis: Diagnosis, report: Report) -> list[str]:
    """Why facts fail, for a person: every diagnosis beside what independent answers give."""
    rows = []
    for name, one in diagnosis.by_name.items():
        bounds = "" if one.low is None or one.high is None else f", {points(one.low)} to {points(one.high)}"
        excess = f"{points(one.excess)} points{bounds}"
        beside = f"independent answers: {percent(one.independent)} (excess {excess}); a coin: {percent(one.coin)}"
        many = in_draws(one.share.n, "fact", report) if not diagnosis.left_out else counted(one.share.n, "fact")
        rows.append(f"  {name:<17} {share(one.share)} of {many}; {beside}")
    return [*rows, ""]


def self_agreement_lines(found: SelfAgreement) -> list[str]:
    """Over which implications a model agrees with itself, for a person."""
    rows = [
        f"  {AGREES[name]}: {share(one.share)} of {count(one.share.n)} couples; independent answers: {percent(one.independent)}"
        for name, one in found.by_implication.items()
    ]
    both = (("true", found.affirms_both), ("false", found.denies_both))
    rows += [
        f"  a statement and its negation are both called {word}: {share(of)} of {count(of.n)} couples"
        for word, of in both
        if of.n
    ]
    return ["does it agree with itself?", *rows, ""]


def contrast_lines(found: Mapping[str, Contrasted]) -> list[str]:
    """How much better one way of asking is answered than another, for a person."""
    return ["the same facts, asked in two ways", *(f"  {in_words(line)}" for line in lines_of(found)), f"  {ABOUT}", ""]


def probability_lines(found: Probabilities) -> list[str]:
    """How good P(True) is, for a person."""
    lines = []
    for name, one in (("all", found.overall), ("affirmed", found.affirmed)):
        if one is not None:
            lines.append(_line(f"P(True) ranks true over false, {name} (AUROC)", one.auroc, "statement"))
            lines.append(f"{f'Brier score, {name} (0 is best)':<51} {plain_value(one.brier)} of {counted(one.n, 'statement')}")
    for name, off in (("all", found.off), ("affirmed", found.off_affirmed)):
        if off is not None:
            lines.append(_line(f"P(True) is off by (ECE), {name}", off.ece, "statement"))
            lines.append(f"  without what chance adds: {percent(off.debiased)}; smooth ECE: {percent(off.smooth)}")
            lines.append(f"  {DEFECTS[off.defect] if off.defect else 'no more than chance explains'}")
    for kept in found.overall.selective[1:]:
        lines.append(_line(f"right among the surest {percent(kept.coverage)}", kept.accuracy, "statement"))
    return [*lines, ""]


def danger_lines(danger: Danger) -> list[str]:
    """Which false facts a model accepts, for a person; nothing where none was asked whose falsehood is judged."""
    if not danger.accepted.n:
        return []
    lines = [_line("judged false facts that it accepts", danger.accepted, "fact")]
    if danger.contraindicated.n:
        lines.append(_line("contraindications that it accepts", danger.contraindicated, "fact"))
    for one in danger.board:
        p_true = "" if one.p_true is None else f", mean P(True) {one.p_true:.2f}"
        words = f" “{shortened(one.words, 200)}”" if one.words else ""
        fact = f"{one.fact.head} — {one.fact.relation} → {one.fact.tail}"
        lines.append(f"  FALSE (test statement): {fact}; affirmed {one.affirmed} of {one.asked}{p_true}.{words}")
    return [*lines, ""]


def evidence_lines(evidence: Evidence) -> list[str]:
    """What was retrieved for a run, for a person."""
    how = f"{evidence.retrieval} retrieval: {evidence.passages} passages of {evidence.corpus}; {evidence.setting}"
    return [
        f"{how}. {SETTINGS[evidence.setting]}",
        _line(f"the fact among the {evidence.passages} passages (recall)", evidence.recall, "statement of true facts"),
        _line("the true partner among them", evidence.partner_recall, "statement of false facts"),
        "",
    ]


RACE = "bounds hold however often one looks"

CHANGES = {"average_accuracy": "Acc", "positive_accuracy": "Acc_pos", "negative_accuracy": "Acc_neg"}
"""Figure → the papers' name for it."""


MOVED = {
    "p_true_of_true": "P(True) of true statements",
    "p_true_of_false": "P(True) of false statements",
    "brier": "Brier score (less is better)",
}
"""What passages do to P(True): figure → what it is."""


def moved_in_words(found: Paired) -> str:
    """A change of P(True) or of the Brier score, in hundredths: "+0.12 (+0.08 to +0.16) of 80 statements, higher in 60"."""
    if found.difference is None:
        return NO_VALUE
    low, high = found.low_all, found.high_all
    bounds = TOO_FEW if low is None or high is None else f"{low:+.3f} to {high:+.3f}"
    said = f"{found.difference:+.3f} ({bounds}) of {counted(found.n, 'statement')}, higher in {count(found.only_a)}"
    return said.replace("-", MINUS)


def change_lines(change: Change, names: Mapping[str, str], questions: Mapping[str, Any]) -> list[str]:
    """What passages change for a model, for a person. names: run → what to call it. questions: run → how it asks, where runs
    differ in that.
    """
    asked, before = questions.get(change.with_), questions.get(change.without)
    lines = [f"{names[change.with_]} less {names[change.without]} ({change.setting}):"]
    for metric, name in CHANGES.items():
        found = change.metrics[metric]
        lines.append(f"  {name:<8} {difference(found)} of {counted(found.n, 'statement')}")
    for metric, name in MOVED.items():
        if metric in change.probabilities:
            lines.append(f"  {name}: {moved_in_words(change.probabilities[metric])}")
    return [
        *lines,
        f"  answers right only with passages: {count(len(change.helped))}; only without: {count(len(change.harmed))}",
        *([f"  The question changes too (from {before} to {asked}): this is the effect of both."] if asked != before else []),
    ]


def comparison_text(
    comparison: Comparison,
    reports: Sequence[Report],
    found: Sequence[Change] = (),
    together: OverModels | None = None,
    across: Sequence[Across] = (),
) -> str:
    """A comparison for a person: what differs, each run's scores, and every pair of runs. found: what passages change;
    together: what all models show of the facts; across: runs that ask the same facts in different statements.
    """
    names = {run.run: f"{run.run[:8]} {run.name.replace(f' ({run.run[:8]})', '')}" for run in comparison.runs}
    of = ", ".join(map(str, comparison.facts_of))
    lines = [f"{counted(comparison.shared_facts, 'fact')} in all runs, which have {of}."]
    lines += [f"{names[report.run]}: {ended}" for report in reports if (ended := how_it_ended(report.state, report.reason))]
    lines += [f"DIFFERENT {setting}: {', '.join(map(str, values))}" for setting, values in comparison.differs.items()]
    lines += [f"the same {setting}: {value}" for setting, value in comparison.same.items()]
    for name in first_scores(reports).keys() - METRICS.keys():
        lines += ["", SCORES[name].titled]
        lines += [f"  {names[one.run]}: {SCORES[name].of_report(one)} of {count(getattr(one, name).n)}" for one in reports]
    for metric, title in METRICS.items():
        lines += ["", title]
        for report in reports:
            estimate = getattr(report, metric)
            lines.append(f"  {names[report.run]}: {share(estimate)} of {count(estimate.n)}")
        lines += [f"  {_pair(pair)} {verdict(pair, names)}" for pair in comparison.pairs if pair.metric == metric]
    lines += [
        "",
        f"race (facts with all answers right; {RACE})",
        *(f"  {race_in_words(one.a, one.b, one.race, names)}" for one in comparison.races),
    ]
    if across:
        lines += ["", "right answers by fact, whatever each run asks of it"]
        lines += [f"  {in_words(one.line(names))}" for one in across]
    if found:
        questions = dict(zip(names, comparison.differs.get("question", ()), strict=False))
        lines += ["", "With retrieved passages", *(line for change in found for line in change_lines(change, names, questions))]
    lines += ["", *over_models_lines(together)] if together else []
    lines += ["", "Differences are paired: statements that both runs answered. Intervals and p are clustered by head and tail."]
    return "\n".join(map(one_line, lines))


def _pair(pair: Pair) -> str:
    p = "" if pair.p_holm is None else f", {p_value(pair.p_holm)}"
    alone = f"{count(pair.only_a)} right only by the first, {count(pair.only_b)} only by the second"
    sides = f": {sides_of_pair(pair)}" if pair.n else ""
    return f"{difference(pair)}{p}{sides}; {alone}, of {count(pair.n)}."


def sides_of_pair(pair: Paired) -> str:
    """What each run has right of what was compared, which is less than it asked where the other asked something else."""
    return f"{percent(pair.share_a)} less {percent(pair.share_b)} of what both answered"


def difference(pair: Paired) -> str:
    """A difference in points with bounds that hold for all pairs together: "+3.2 points (+1.0 to +5.4)"; else "no value"."""
    if pair.difference is None:
        return "no value"
    value = f"{points(pair.difference)} points"
    if pair.low_all is None or pair.high_all is None:
        return f"{value} ({TOO_FEW})"
    return f"{value} ({points(pair.low_all)} to {points(pair.high_all)})"


RARITY_OF = {"by_tail": "the tail", "by_head": "the head", "by_rarer": "the rarer of the two", "by_together": "both together"}
"""The fields of `Rarity` with a fit → whose frequency it is about."""


def rarity_text(rarity: Rarity) -> str:
    """The rarity view for a person: the slope per tenfold frequency, and the semantic types from rare to common."""
    lines = [
        f"run {rarity.run}: {marked(rarity.model, rarity.imported)} on {rarity.dataset}; frequencies from {rarity.source}",
        f"{counted(rarity.facts, 'fact')} answered, true and false ones, each with its own tail",
        "",
        "right answers for a tenfold frequency of",
        *(
            f"  {name:<24}{fit_in_words(fit)}"
            for field, name in RARITY_OF.items()
            if (fit := getattr(rarity, field)) is not None
        ),
    ]
    if rarity.types:
        lines += ["", "semantic types of tails, from rare to common (geometric mean of the frequencies + 1; right answers)"]
    for name, of in rarity.types.items():
        times = NO_VALUE if of.mean_log_frequency is None else f"{10**of.mean_log_frequency:,.1f}"
        facts = f"{count(of.with_frequency)} of {counted(of.accuracy.facts, 'fact')}"
        right = f"{share(_estimate(of.accuracy))} of {counted(of.accuracy.n, 'statement')}"
        lines.append(f"  {name:<40}{times:>12} ({facts}); {right}")
    if rarity.types_line.slope.value is not None:
        lines.append(f"  across types, for a tenfold frequency: {slope_in_words(rarity.types_line.slope, 'type')}")
    lines += ["", *(f"note: {note}" for note in rarity.notes)]
    lines.append("Intervals are 95%, clustered by head and tail. A slope is no cause. Not for clinical use.")
    return "\n".join(map(one_line, lines))


def fit_in_words(fit: Fit) -> str:
    """A slope, of how many facts, and which names have no frequency."""
    without = f"; {count(fit.without)} without a frequency, such as {', '.join(fit.missing)}" if fit.without else ""
    return f"{slope_in_words(fit.line.slope, 'fact')}{without}"


def slope_in_words(slope: Estimate, of: str) -> str:
    """A slope in points with its interval: "+4.8 points (+2.1 to +7.5) of 120 facts"; else why there is none."""
    if slope.value is None:
        return f"{NO_VALUE}: too few facts with different frequencies (n = {count(slope.n)})"
    if slope.low is None or slope.high is None:
        return f"{points(slope.value)} points (no interval) of {counted(slope.n, of)}"
    return f"{points(slope.value)} points ({points(slope.low)} to {points(slope.high)}) of {counted(slope.n, of)}"


def _estimate(accuracy: TypeAccuracy) -> Estimate:
    return Estimate(accuracy.value, accuracy.low, accuracy.high, accuracy.n)
