"""The sections about runs beside each other: which is better, whether that is decided, and what they show together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medfact.metrics.paired import Paired
from medfact.metrics.uncertainty import Estimate
from medfact.results import findings
from medfact.results.blocks import (
    ABSENT,
    Block,
    Cell,
    Differences,
    FactLine,
    Facts,
    Note,
    Row,
    Section,
    Table,
)
from medfact.results.compare import (
    ABOUT_RACES,
    MASTERY,
    METRICS,
    Pair,
    pairs_of,
    questions_of,
    race_curve,
    race_in_words,
    races_of,
    verdict,
)
from medfact.results.contrasts import ABOUT, across_runs, decision_in_words
from medfact.results.evidence import Change, changes
from medfact.results.fact_table import NOT_ENOUGH, NOTHING_SHARED
from medfact.results.fact_table import over_models as over_models_of
from medfact.results.languages import in_languages
from medfact.results.report import Side
from medfact.results.sections.answers import NOT_IN_A_PAPER, as_in, difference_of
from medfact.results.sections.registry import Beside, Figures, section
from medfact.results.wording import NO_VALUE, TOO_FEW, count, counted, percent, score, signed_decimals
from medfact.store import Store

DRAWN_RACES = 3
"""So many races are drawn; the others are told in words."""

MOVED = {
    "p_true_of_true": "probability of true of true statements",
    "p_true_of_false": "probability of true of false statements",
    "brier": "Brier score (less is better)",
}
"""What passages do to P(True): figure → what it is."""

CHANGED = {
    "average_accuracy": ("right answers", "Acc: over all statements, true and false ones"),
    "positive_accuracy": ("about facts that hold", "Acc_pos: over statements about facts that hold"),
    "negative_accuracy": ("about false facts", "Acc_neg: over statements about false facts"),
}
"""Figure → its heading, and what it is."""


def beside_of(store: Store, sides: Sequence[Side], names: Mapping[str, str]) -> Beside:
    """What runs beside each other show. names: run → what to call it."""
    return Beside(
        names=names,
        pairs=pairs_of(sides),
        races=races_of(sides),
        across=across_runs(sides),
        over_models=over_models_of(sides, store),
        changes=changes(sides),
        questions=questions_of(sides),
        languages=in_languages(sides, store),
    )


@section("what passages change", 15, tab="compare", where=NOT_IN_A_PAPER)
def passages_change(figures: Figures) -> Section | None:
    """With passages less without them, for each model that was asked both ways."""
    beside = figures.beside
    return None if beside is None else told_changes(beside.changes, beside.names, beside.questions)


def told_changes(changes: Sequence[Change], names: Mapping[str, str], questions: Mapping[str, Any]) -> Section | None:
    """The same of these changes. names: run → what to call it; questions: run → how it asks."""
    if not changes:
        return None
    rows = tuple(_changed(change, names) for change in changes)
    several = ", that hold for all rows together" if len(rows) > 1 else ""
    caption = (
        "With passages less without, in points, over the statements that both runs answered; 95% intervals, clustered by "
        f"disease and finding{several}."
    )
    table = Table(name="changes", label="what passages change", heading="run with passages", rows=rows, caption=caption)
    notes = tuple(line for change in changes for line in about_change(change, names, questions))
    return Section("What the passages change", (table, *([Note(lines=notes)] if notes else [])))


def _changed(change: Change, names: Mapping[str, str]) -> Row:
    cells = {
        CHANGED[metric][0]: difference_cell(found, "statement", *([decision_in_words(found)] if found.n else []))
        for metric in CHANGED
        for found in [change.metrics[metric]]
    }
    cells["helped"] = Cell(text=count(len(change.helped)), under=("right only with passages",))
    cells["harmed"] = Cell(text=count(len(change.harmed)), under=("right only without",))
    against = f"{change.setting}; against {names[change.without]}"
    return Row(names[change.with_], cells, against, against)


def about_change(change: Change, names: Mapping[str, str], questions: Mapping[str, Any]) -> list[str]:
    """What passages do to P(True), and whether the question changes with them. questions: run → how it asks."""
    found = change.probabilities
    moved = [f"{name} {moved_in_words(found[metric])}" for metric, name in MOVED.items() if metric in found]
    name = names[change.with_]
    lines = [f"{name}, what passages do to the probability of true, with less without: {'; '.join(moved)}."] if moved else []
    asked, before = questions.get(change.with_), questions.get(change.without)
    if asked != before:
        lines.append(f"{name}: the question changes too (from {before} to {asked}): this is the effect of both.")
    return lines


def moved_in_words(found: Paired) -> str:
    """A change of P(True) or of the Brier score, in hundredths: "+0.12 (+0.08 to +0.16) of 80 statements, higher in 60"."""
    if found.difference is None:
        return NO_VALUE
    low, high = found.low_all, found.high_all
    bounds = TOO_FEW if low is None or high is None else f"{signed_decimals(low)} to {signed_decimals(high)}"
    return f"{signed_decimals(found.difference)} ({bounds}) of {counted(found.n, 'statement')}, higher in {count(found.only_a)}"


@section("races", 20, tab="compare", where=NOT_IN_A_PAPER)
def races(figures: Figures) -> Section | None:
    """Whether it is decided which of two runs is better: lines that may be looked at as often as one likes."""
    beside = figures.beside
    if beside is None or not any(one.race for one in beside.races):
        return None
    blocks: list[Block] = []
    rest: list[str] = []
    left = False
    for one in beside.races:
        words = race_in_words(one.a, one.b, one.race, beside.names)
        curve = race_curve(len(blocks) + 1, words, one)
        if curve and len(blocks) < DRAWN_RACES:
            blocks.append(curve)
        else:
            rest.append(words)
            left = left or curve is not None
    if rest:
        blocks.append(Note(lines=tuple(rest), listed=True))
    if left:
        blocks.append(Note(lines=("Three races are drawn; the others are said in words alone.",), quiet=True))
    why = "Stopping at the first difference misleads; this figure holds however often you look."
    blocks.append(Note(lines=(f"{why} {ABOUT_RACES}",)))
    return Section("Is it decided which is better?", tuple(blocks))


@section("differences", 25, tab="compare", where=NOT_IN_A_PAPER)
def differences(figures: Figures) -> Section | None:
    """Paired differences of every two runs in each accuracy."""
    beside = figures.beside
    if beside is None or not beside.pairs:
        return None
    several = len(beside.names) > 2
    label = "paired differences in points, with intervals that hold for all pairs together"
    finding, rows = findings.of_differences(beside.pairs, beside.names), pair_rows(beside.pairs, beside.names)
    caption = "The first run less the second, in points; a bold frame where a difference is shown."
    all_pairs = " and hold for all pairs of a score together" if several else ""
    about = (
        "Differences are paired, of what both runs answered, in points. Intervals are clustered by disease and finding"
        f"{all_pairs}; shown: 0 lies outside. “Not shown” does not mean that they are equal."
    )
    shares = Differences(name="differences", label=label, heading="runs", rows=rows, finding=finding, caption=caption)
    return Section("Which is better?", (shares, Note(lines=(about,))))


def pair_rows(pairs: Sequence[Pair], names: Mapping[str, str]) -> tuple[Row, ...]:
    """A row every two runs, with their difference in each accuracy; the run that is ahead in the first of them stands first."""
    pairs = _ahead_first(pairs)
    couples = dict.fromkeys((pair.a, pair.b) for pair in pairs)
    metrics = [name for name in METRICS if any(pair.metric == name for pair in pairs)]
    by = {(pair.a, pair.b, pair.metric): pair for pair in pairs}
    return tuple(
        Row(
            f"{names[a]}\nless {names[b]}",
            {score(name).heading: pair_cell(by[a, b, name], names) if (a, b, name) in by else ABSENT for name in metrics},
        )
        for a, b in couples
    )


def _ahead_first(pairs: Sequence[Pair]) -> list[Pair]:
    """The same, those of two runs turned round where the second is ahead in mastery."""
    behind = {(pair.a, pair.b) for pair in pairs if pair.metric == MASTERY and (pair.difference or 0) < 0}
    return [pair.turned if (pair.a, pair.b) in behind else pair for pair in pairs]


def pair_cell(pair: Pair, names: Mapping[str, str]) -> Cell:
    """Two runs in one accuracy: their difference, what each has right, and what that shows."""
    a, b = names[pair.a], names[pair.b]
    # less than each was asked, where the other was asked something else
    sides = [f"{a} {percent(pair.share_a)}, {b} {percent(pair.share_b)} of what both answered"] if pair.n else []
    alone = f"{count(pair.only_a)} right by {a} alone, {count(pair.only_b)} by {b} alone"
    return difference_cell(pair, score(pair.metric).of, *sides, f"{verdict(pair, names)} Of {count(pair.n)}, {alone}.")


def difference_cell(pair: Paired, thing: str, *under: str) -> Cell:
    """A paired difference, with the interval for all pairs together."""
    estimate = Estimate(pair.difference, pair.low_all, pair.high_all, pair.n)
    return Cell(estimate, counted(pair.n, thing), under, signed=True, shown=pair.is_shown)


@section("right answers by fact", 30, tab="compare", where=NOT_IN_A_PAPER)
def across(figures: Figures) -> Section | None:
    """Right answers by fact of runs that ask the same facts in different statements."""
    beside = figures.beside
    if beside is None or not beside.across:
        return None
    rows = tuple(
        Row("; ".join(sides), {"difference": difference_of(one.found, sides=sides, family="contrasts")}, paper, paper)
        for one in beside.across
        for sides, paper in [((beside.names[one.a], beside.names[one.b]), as_in(one.paper))]
    )
    table = Table(name="across", label="right answers by fact, in points", heading="contrast", rows=rows)
    return Section("Right answers by fact, whatever each run asks of it", (table, Note(lines=(ABOUT,))))


@section("over models", 200, tab="compare", where=NOT_IN_A_PAPER)
def over_models(figures: Figures) -> Section | None:
    """Facts by the share of models that miss them."""
    if figures.beside is None:
        return None
    found, title = figures.beside.over_models, "What all models together show"
    if len(found.models) < 2:
        return Section(title, (Note(lines=(NOT_ENOUGH,)),))
    about = Note(lines=(" ".join(found.about_models()),))
    if not found.facts:
        return Section(title, (about, Note(lines=(NOTHING_SHARED,))))
    address = figures.links.get("contested") if found.contradicted else None
    return Section(
        title,
        (
            about,
            Note(lines=(found.about_hardest(),), heading="Facts missed most"),
            Facts(lines=tuple(FactLine(row.fact, row.describe()) for row in found.hardest)),
            *([Note(lines=(), link=(address, "Review the contested ones first"))] if address else []),
        ),
    )
