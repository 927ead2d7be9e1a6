"""The section about one model in several languages: what it knows in all of them, and what only in one."""

from __future__ import annotations

from medfact.assets import ENGLISH
from medfact.results.blocks import Block, Cell, Note, Row, Section, Shares, Table
from medfact.results.languages import InLanguages, title
from medfact.results.sections.answers import NOT_IN_A_PAPER, difference_of, share_of
from medfact.results.sections.registry import Figures, section
from medfact.results.wording import count, counted, model_name, percent, share
from medfact.statements import VARIANTS

ABOUT = (
    "Over facts, true and false ones, all of whose statements are answered in every language. The same facts, partners and "
    "ways are asked in each; names and sentences in other languages than English are medfact’s own where no vocabulary has "
    "them, and no clinician has checked them. Intervals are clustered by disease and finding; those of a table of "
    "differences hold for all of its differences together. A model may fail in a language because a name is unusual there."
)


@section("languages", 12, tab="compare", where=NOT_IN_A_PAPER)
def languages(figures: Figures) -> Section | None:
    """What each model knows in several languages."""
    found = figures.beside.languages if figures.beside is not None else ()
    if not found:
        return None
    blocks = [block for number, one in enumerate(found, start=1) for block in _of_model(number, one)]
    return Section("One fact, several languages", (*blocks, Note(lines=(ABOUT,), quiet=True)))


def _of_model(number: int, one: InLanguages) -> list[Block]:
    if not one.found.facts:
        return [Note(lines=(f"{model_name(one.model)}: no fact is answered whole in all of its languages.",))]
    blocks: list[Block] = [_shares(number, one), _changes(number, one), _ways(number, one)]
    if len(one.found.by_relation) > 1:
        blocks.append(_relations(number, one))
    of = one.found
    lines = (
        f"Answered alike in all languages, right or wrong: {share(of.consistent)} of {counted(of.consistent.n, 'statement')} "
        "that can be read in all.",
        *(
            f"Asked in {title(language)}, it answered in {title(ENGLISH)}: {count(number)} of {count(readable)} replies."
            for language, (number, readable) in one.in_english.items()
        ),
    )
    return [*blocks, Note(lines=lines, listed=True)]


def _shares(number: int, one: InLanguages) -> Shares:
    """All right in each language, in couples where there are more than two, and in all of them."""
    of = one.found
    every = f"in {'both' if len(of.languages) == 2 else f'all {len(of.languages)}'} languages"
    several = of.couples if len(of.languages) > 2 else {}
    rows = [
        *(Row(title(language), {"all right": share_of(each, "fact")}) for language, each in of.each.items()),
        *(Row(f"{title(a)} and {title(b)}", {"all right": share_of(both, "fact")}) for (a, b), both in several.items()),
        Row(every, {"all right": share_of(of.everywhere, "fact")}),
    ]
    known = ", ".join(f"{percent(each.value)} in {title(language)}" for language, each in of.each.items())
    whole = f"{percent(of.everywhere.value)} of {counted(of.everywhere.n, 'fact')}"
    return Shares(
        name=f"languages-{number}",
        label=f"{model_name(one.model)}: facts with all answers right, by language",
        heading="language",
        rows=tuple(rows),
        finding=f"{model_name(one.model)}: {whole} all right {every}; {known}",
        axis="all right, %",
        coin=False,
    )


def _changes(number: int, one: InLanguages) -> Table:
    of = one.found
    first = title(of.languages[0])
    compared_with = {of.languages[0]: Cell(text=f"the others are compared with {first}")}
    changes = compared_with | {
        language: difference_of(change, sides=(title(language), first), family="languages")
        for language, change in of.less.items()
    }
    rows = [
        Row(title(language), {f"less {first}": change, "known only in it": share_of(of.alone[language], "fact")})
        for language, change in changes.items()
    ]
    return Table(
        name=f"languages-change-{number}",
        label=f"{model_name(one.model)}: each language against {first}",
        heading="language",
        rows=tuple(rows),
        caption=f"Facts all right, less those in {first}, paired by fact, in points; facts all right in one language alone.",
    )


def _relations(number: int, one: InLanguages) -> Table:
    first = title(one.found.languages[0])
    rows = (
        Row(relation, {title(language): difference_of(of, sides=(title(language), first)) for language, of in by.items()})
        for relation, by in one.found.by_relation.items()
    )
    return Table(
        name=f"languages-relations-{number}",
        label=f"{model_name(one.model)}: change against {first}, by relation",
        heading="relation",
        rows=tuple(rows),
        caption=f"Change against {first} within each relation, paired by fact, in points.",
        folded="Which relations fall",
    )


def _ways(number: int, one: InLanguages) -> Shares:
    """Right answers by way, in each language beside each other."""
    by = one.found.by_variant
    rows = (
        Row(variant.plain, {title(language): share_of(right, "statement") for language, right in by[key].items()})
        for key, variant in VARIANTS.items()
        if key in by
    )
    return Shares(
        name=f"languages-ways-{number}",
        label=f"{model_name(one.model)}: right answers by way and language",
        heading="way of stating",
        rows=tuple(rows),
        finding=f"{model_name(one.model)}: right answers by way, in each language",
        axis="right answers, %",
    )
