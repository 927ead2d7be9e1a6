"""The section about one model in several languages: facts mastered in all of them, and in one alone."""

from __future__ import annotations

from collections.abc import Mapping

from medfact.assets import ENGLISH
from medfact.metrics.comparison import Contrast
from medfact.metrics.uncertainty import Estimate
from medfact.results.blocks import Block, Cell, Note, Row, Section, Shares, Table
from medfact.results.languages import InLanguages, title
from medfact.results.sections.answers import NOT_IN_A_PAPER, difference_of, share_of
from medfact.results.sections.registry import Figures, section
from medfact.results.wording import count, counted, model_name, percent, share
from medfact.statements import VARIANTS
from medfact.words import say


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
    first, ways = title(figures.languages[0]), {VARIANTS[key].plain: key for key in VARIANTS if key in figures.by_variant}
    by_way = Shares(
        name=f"languages-ways-{number}",
        label=say("languages.ways", model=name),
        heading="way of stating",
        rows=_rows({way: _shares(figures.by_variant[key], "statement") for way, key in ways.items()}),
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
    return [_mastered(number, model), _against_first(number, model), by_way, *relations, _replies(model)]


def _mastered(number: int, model: InLanguages) -> Shares:
    """All right in each language, in couples where there are more than two, and in all of them."""
    figures, name = model.figures, model_name(model.model)
    every = f"in {'both' if len(figures.languages) == 2 else f'all {len(figures.languages)}'} languages"
    couples = {f"{title(a)} and {title(b)}": estimate for (a, b), estimate in figures.couples.items()}
    mastered = {title(language): estimate for language, estimate in figures.each.items()}
    shares = mastered | (couples if len(figures.languages) > 2 else {}) | {every: figures.everywhere}
    known = ", ".join(f"{percent(estimate.value)} in {language}" for language, estimate in mastered.items())
    whole = f"{percent(figures.everywhere.value)} of {counted(figures.everywhere.n, 'fact')}"
    return Shares(
        name=f"languages-{number}",
        label=say("languages.mastered", model=name),
        heading="language",
        rows=_rows({label: {"all right": share_of(estimate, "fact")} for label, estimate in shares.items()}),
        finding=say("languages.finding", model=name, whole=whole, every=every, known=known),
        axis="all right, %",
        coin=False,
    )


def _against_first(number: int, model: InLanguages) -> Table:
    first = title(model.figures.languages[0])
    changes = {first: Cell(text=say("languages.compared", first=first))} | _changes(model.figures.less, first)
    alone = _shares(model.figures.alone, "fact")
    return Table(
        name=f"languages-change-{number}",
        label=say("languages.each", model=model_name(model.model), first=first),
        heading="language",
        rows=_rows({name: {f"less {first}": cell, "known only in it": alone[name]} for name, cell in changes.items()}),
        caption=say("languages.change", first=first),
    )


def _rows(cells: Mapping[str, Mapping[str, Cell]]) -> tuple[Row, ...]:
    return tuple(Row(name, row) for name, row in cells.items())


def _shares(estimates: Mapping[str, Estimate], thing: str) -> dict[str, Cell]:
    return {title(language): share_of(estimate, thing) for language, estimate in estimates.items()}


def _changes(contrasts: Mapping[str, Contrast], first: str) -> dict[str, Cell]:
    return {
        title(language): difference_of(contrast, sides=(title(language), first), family="languages")
        for language, contrast in contrasts.items()
    }


def _replies(model: InLanguages) -> Note:
    """Statements with the same answer in all languages, and replies in English to other languages."""
    alike = model.figures.consistent
    in_english = (
        say("languages.replies", asked=title(language), answered=title(ENGLISH), number=count(number), replies=count(readable))
        for language, (number, readable) in model.in_english.items()
    )
    line = say("languages.alike", share=share(alike), statements=counted(alike.n, "statement"))
    return Note(lines=(line, *in_english), listed=True)
