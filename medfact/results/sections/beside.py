"""The sections about runs beside each other: differences, races, passages, languages, and all models together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medfact.assets import ENGLISH
from medfact.metrics.comparison import Contrast, OverLanguages
from medfact.metrics.uncertainty import Estimate
from medfact.results import findings
from medfact.results.blocks import ABSENT, Block, Cell, Differences, FactLine, Facts, Note, Row, Section, Shares, Table
from medfact.results.compare import (
    MASTERY,
    METRICS,
    Change,
    InLanguages,
    Pair,
    across_runs,
    changes,
    conclusion,
    decision_in_words,
    describe_race,
    in_languages,
    language_title,
    pairs_of,
    race_curve,
    races_of,
)
from medfact.results.fact_table import NOT_ENOUGH, NOTHING_SHARED
from medfact.results.fact_table import over_models as over_models_of
from medfact.results.report import Side
from medfact.results.sections.answers import NOT_IN_A_PAPER, as_in, difference_of, share_of
from medfact.results.sections.registry import Beside, Figures, section
from medfact.results.wording import NO_VALUE, TOO_FEW, count, counted, model_name, percent, score, share, signed_decimals
from medfact.runs.plan import question_of
from medfact.statements import VARIANTS
from medfact.store import Store
from medfact.words import say, sayings

DRAWN_RACES = 3  # races with a figure; the others have a sentence


def beside_of(store: Store, sides: Sequence[Side], names: Mapping[str, str]) -> Beside:
    """Everything that runs show beside each other. names: run → name."""
    return Beside(
        names=names,
        pairs=pairs_of(sides),
        races=races_of(sides),
        across=across_runs(sides),
        over_models=over_models_of(sides, store),
        changes=changes(sides),
        questions={side.run.run: question_of(side.run.spec) for side in sides},
        languages=in_languages(sides, store),
    )


@section("what passages change", 15, tab="compare", where=NOT_IN_A_PAPER)
def passages_change(figures: Figures) -> Section | None:
    """With passages less without them, for each model that was asked both ways."""
    beside = figures.beside
    return None if beside is None else passages_section(beside.changes, beside.names, beside.questions)


def passages_section(changes: Sequence[Change], names: Mapping[str, str], questions: Mapping[str, Any]) -> Section | None:
    """The section of some changes. names: run → name. questions: run → its way of asking."""
    if not changes:
        return None
    caption = say("passages.caption", together=say("passages.together") if len(changes) > 1 else "")
    table = Table(
        name="changes",
        label="what passages change",
        heading="run with passages",
        rows=tuple(_changed(change, names) for change in changes),
        caption=caption,
    )
    notes = tuple(line for change in changes for line in about_change(change, names, questions))
    return Section(say("passages.title"), (table, *([Note(lines=notes)] if notes else [])))


def _changed(change: Change, names: Mapping[str, str]) -> Row:
    cells = {
        heading: difference_cell(contrast, "statement", *([decision_in_words(contrast)] if contrast.n else []))
        for metric, heading in sayings("passages.figures").items()
        for contrast in [change.metrics[metric]]
    }
    cells["helped"] = Cell(text=count(len(change.helped)), under=("right only with passages",))
    cells["harmed"] = Cell(text=count(len(change.harmed)), under=("right only without",))
    against = f"{change.setting}; against {names[change.without]}"
    return Row(names[change.with_], cells, against, against)


def about_change(change: Change, names: Mapping[str, str], questions: Mapping[str, Any]) -> list[str]:
    """Effects of passages on P(True), and a note where the question changes with them. questions: run → its way of asking."""
    moved = [
        f"{title} {describe_moved(change.probabilities[figure])}"
        for figure, title in sayings("passages.moved").items()
        if figure in change.probabilities
    ]
    name, question, before = names[change.with_], questions.get(change.with_), questions.get(change.without)
    texts = {
        say("passages.probability", name=name, changes="; ".join(moved)): moved,
        say("passages.question", name=name, before=before, now=question): question != before,
    }
    return [text for text, holds in texts.items() if holds]


def describe_moved(contrast: Contrast) -> str:
    """A change of P(True) or of the Brier score, in hundredths: "+0.12 (+0.08 to +0.16) of 80 statements, higher in 60"."""
    low, high = contrast.low_all, contrast.high_all
    if contrast.value is None:
        return NO_VALUE
    bounds = TOO_FEW if low is None or high is None else f"{signed_decimals(low)} to {signed_decimals(high)}"
    statements, higher = counted(contrast.n, "statement"), count(contrast.only_first or 0)
    return f"{signed_decimals(contrast.value)} ({bounds}) of {statements}, higher in {higher}"


@section("races", 20, tab="compare", where=NOT_IN_A_PAPER)
def races(figures: Figures) -> Section | None:
    """Standings of races, which may be looked at as often as one likes."""
    beside = figures.beside
    if beside is None or not any(race.race for race in beside.races):
        return None
    curves: list[Block] = []
    lines, left_out = list[str](), False
    for race in beside.races:
        words = describe_race(race.a, race.b, race.race, beside.names)
        curve = race_curve(len(curves) + 1, words, race)
        if curve and len(curves) < DRAWN_RACES:
            curves.append(curve)
        else:
            lines, left_out = [*lines, words], left_out or curve is not None
    blocks = [*curves, *([Note(lines=tuple(lines), listed=True)] if lines else [])]
    blocks += [Note(lines=(say("race.three_drawn"),), quiet=True)] if left_out else []
    return Section(say("race.title"), (*blocks, Note(lines=(say("race.about"),))))


@section("differences", 25, tab="compare", where=NOT_IN_A_PAPER)
def differences(figures: Figures) -> Section | None:
    """Paired differences of every two runs in each accuracy."""
    beside = figures.beside
    if beside is None or not beside.pairs:
        return None
    shares = Differences(
        name="differences",
        label=say("comparison.label"),
        heading="runs",
        rows=pair_rows(beside.pairs, beside.names),
        finding=findings.of_differences(beside.pairs, beside.names),
        caption=say("comparison.caption"),
    )
    about = say("comparison.about", together=f" {say('comparison.together')}" if len(beside.names) > 2 else "")
    return Section(say("comparison.title"), (shares, Note(lines=(about,))))


def pair_rows(pairs: Sequence[Pair], names: Mapping[str, str]) -> tuple[Row, ...]:
    """A row every two runs, with their difference in each accuracy; the run that is ahead in mastery stands first."""
    behind = {(pair.a, pair.b) for pair in pairs if pair.metric == MASTERY and (pair.value or 0) < 0}
    pairs = [pair.turned() if (pair.a, pair.b) in behind else pair for pair in pairs]
    metrics = [name for name in METRICS if any(pair.metric == name for pair in pairs)]
    by = {(pair.a, pair.b, pair.metric): pair for pair in pairs}
    return tuple(
        Row(
            f"{names[a]}\nless {names[b]}",
            {score(name).heading: pair_cell(by[a, b, name], names) if (a, b, name) in by else ABSENT for name in metrics},
        )
        for a, b in dict.fromkeys((pair.a, pair.b) for pair in pairs)
    )


def pair_cell(pair: Pair, names: Mapping[str, str]) -> Cell:
    """Two runs in one accuracy: their difference, the share of right answers of each, and the decision."""
    a, b = names[pair.a], names[pair.b]
    # less than each was asked, where the other was asked something else
    shares = [say("comparison.shares", a=a, of_a=percent(pair.first), b=b, of_b=percent(pair.second))] if pair.n else []
    alone = {"a": a, "only_a": count(pair.only_first or 0), "b": b, "only_b": count(pair.only_second or 0)}
    decision = say("comparison.decision", conclusion=conclusion(pair, names), n=count(pair.n), **alone)
    return difference_cell(pair, score(pair.metric).of, *shares, decision)


def difference_cell(contrast: Contrast, thing: str, *under: str) -> Cell:
    """A paired difference, with the interval for all pairs together."""
    return Cell(contrast.estimate, counted(contrast.n, thing), under, signed=True, shown=contrast.is_shown)


@section("right answers by fact", 30, tab="compare", where=NOT_IN_A_PAPER)
def across(figures: Figures) -> Section | None:
    """Right answers by fact of runs that ask the same facts in different statements."""
    beside = figures.beside
    if beside is None or not beside.across:
        return None
    sides = [(beside.names[pair.a], beside.names[pair.b]) for pair in beside.across]
    rows = tuple(
        Row(
            "; ".join(names),
            {"difference": difference_of(pair, sides=names, family="contrasts")},
            as_in(pair.paper),
            as_in(pair.paper),
        )
        for pair, names in zip(beside.across, sides, strict=True)
    )
    table = Table(name="across", label="right answers by fact, in points", heading="contrast", rows=rows)
    return Section(say("comparison.by_fact"), (table, Note(lines=(say("comparison.about_contrasts"),))))


@section("over models", 200, tab="compare", where=NOT_IN_A_PAPER)
def over_models(figures: Figures) -> Section | None:
    """Facts by the share of models that miss them."""
    if figures.beside is None:
        return None
    facts, title = figures.beside.over_models, say("comparison.over_models")
    if len(facts.models) < 2:
        return Section(title, (Note(lines=(NOT_ENOUGH,)),))
    about = Note(lines=(" ".join(facts.about_models()),))
    if not facts.facts:
        return Section(title, (about, Note(lines=(NOTHING_SHARED,))))
    blocks: list[Block] = [
        about,
        Note(lines=(facts.about_hardest(),), heading="Facts missed most"),
        Facts(lines=tuple(FactLine(row.fact, row.describe()) for row in facts.hardest)),
    ]
    if facts.contradicted and (address := figures.links.get("contested")):
        blocks.append(Note(lines=(), link=(address, "Review the contested ones first")))
    return Section(title, tuple(blocks))


# ------------------------------------------------------------------------------------------------ languages


@section("languages", 12, tab="compare", where=NOT_IN_A_PAPER)
def languages(figures: Figures) -> Section | None:
    """Each model that was asked in several languages."""
    models = figures.beside.languages if figures.beside is not None else ()
    if not models:
        return None
    blocks = [block for number, model in enumerate(models, start=1) for block in _of_model(number, model)]
    return Section(say("languages.title"), (*blocks, Note(lines=(say("languages.about"),), quiet=True)))


def _of_model(number: int, model: InLanguages) -> list[Block]:
    figures, name = model.figures, model_name(model.model)
    if not figures.facts:
        return [Note(lines=(say("languages.no_fact", model=name),))]
    first, alone = language_title(figures.languages[0]), _shares(figures.alone, "fact")
    less = {first: Cell(text=say("languages.compared", first=first))} | _changes(figures.less, first)
    against_first = Table(
        name=f"languages-change-{number}",
        label=say("languages.each", model=name, first=first),
        heading="language",
        rows=_rows({title: {f"less {first}": cell, "known only in it": alone[title]} for title, cell in less.items()}),
        caption=say("languages.change", first=first),
    )
    ways = {VARIANTS[key].plain: _shares(figures.by_variant[key], "statement") for key in VARIANTS if key in figures.by_variant}
    by_way = Shares(
        name=f"languages-ways-{number}",
        label=say("languages.ways", model=name),
        heading="way of stating",
        rows=_rows(ways),
        finding=say("languages.ways_finding", model=name),
        axis="right answers, %",
    )
    by_relation = Table(
        name=f"languages-relations-{number}",
        label=say("languages.relations", model=name, first=first),
        heading="relation",
        rows=_rows({relation: _changes(contrasts, first) for relation, contrasts in figures.by_relation.items()}),
        caption=say("languages.relations_caption", first=first),
        folded="Which relations fall",
    )
    relations = [by_relation] if len(figures.by_relation) > 1 else []
    return [_mastered(number, name, figures), against_first, by_way, *relations, _replies(model)]


def _mastered(number: int, name: str, figures: OverLanguages) -> Shares:
    """All right in each language, in couples if there are more than two, and in all of them. name: of the model."""
    every = f"in {'both' if len(figures.languages) == 2 else f'all {len(figures.languages)}'} languages"
    couples = {f"{language_title(a)} and {language_title(b)}": estimate for (a, b), estimate in figures.couples.items()}
    mastered = {language_title(language): estimate for language, estimate in figures.each.items()}
    shares = mastered | (couples if len(figures.languages) > 2 else {}) | {every: figures.everywhere}
    by_language = ", ".join(f"{percent(estimate.value)} in {language}" for language, estimate in mastered.items())
    whole = f"{percent(figures.everywhere.value)} of {counted(figures.everywhere.n, 'fact')}"
    return Shares(
        name=f"languages-{number}",
        label=say("languages.mastered", model=name),
        heading="language",
        rows=_rows({label: {"all right": share_of(estimate, "fact")} for label, estimate in shares.items()}),
        finding=say("languages.finding", model=name, whole=whole, every=every, known=by_language),
        axis="all right, %",
        coin=False,
    )


def _rows(cells: Mapping[str, Mapping[str, Cell]]) -> tuple[Row, ...]:
    return tuple(Row(name, row) for name, row in cells.items())


def _shares(estimates: Mapping[str, Estimate], thing: str) -> dict[str, Cell]:
    return {language_title(language): share_of(estimate, thing) for language, estimate in estimates.items()}


def _changes(contrasts: Mapping[str, Contrast], first: str) -> dict[str, Cell]:
    titled = {language_title(language): contrast for language, contrast in contrasts.items()}
    return {title: difference_of(contrast, sides=(title, first), family="languages") for title, contrast in titled.items()}


def _replies(model: InLanguages) -> Note:
    """Statements with the same answer in all languages, and replies in English to other languages."""
    alike, english = model.figures.consistent, language_title(ENGLISH)
    in_english = (
        say("languages.replies", asked=language_title(key), answered=english, number=count(number), replies=count(readable))
        for key, (number, readable) in model.in_english.items()
    )
    line = say("languages.alike", share=share(alike), statements=counted(alike.n, "statement"))
    return Note(lines=(line, *in_english), listed=True)
