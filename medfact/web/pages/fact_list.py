"""The tab Facts: every fact with each model's answers in all ways of asking, worst first; the drawer with one fact's card."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from markupsafe import Markup

from medfact.assets import common_language
from medfact.caching import shared_cache
from medfact.datasets.names import matching_facts
from medfact.facts import Fact
from medfact.languages import names_in
from medfact.metrics.diagnosis import CHANCE, MASTERED, MIXED, meaning
from medfact.metrics.groupings import FACT, STATEMENT, Grouping, group_filters, group_tabs
from medfact.results.fact_table import DIAGNOSED, OF_ONE, SHOWN, WRONG, FactTable, Pairs, fact_table, pairs_of_run
from medfact.results.live import Live, Version
from medfact.results.report import FACTS_KEPT, Side, subjects_of_run
from medfact.results.wording import counted
from medfact.statements import ABSENT, IMPLICATIONS, VARIANTS
from medfact.store import Asked, Run
from medfact.views.fragments import render
from medfact.web.pages import Visitor, paged
from medfact.web.pages.cards import Card, StatementLine, card_of_answers, drawer_of, of_facts
from medfact.web.pages.looked import ResultsShow
from medfact.web.services import Services

FACTS_A_PAGE = 20

Lives = Mapping[str, Live]


def table_of(services: Services, lives: Lives) -> FactTable:
    """The facts of the shown runs beside each other."""
    runs = [(live.run.run, services.reports.version(live.run.run)) for live in lives.values()]
    return _table(services, tuple(runs))


@shared_cache(FACTS_KEPT, lambda table: 1 + table.number.shape[1])
def _table(services: Services, runs: tuple[tuple[str, Version], ...]) -> FactTable:
    """Kept for each version of the runs' answers."""
    return fact_table([Side(services.run(run), services.reports.board(run)) for run, _ in runs])


def facts_of(services: Services, table: FactTable) -> list[Fact]:
    """The fact of each row, from the first run that asks it."""
    facts = [subjects_of_run(services.store, run, FACT) for run in table.runs]
    return [facts[run][number] for run, number in _first_of_rows(table)]


def _first_of_rows(table: FactTable) -> Iterator[tuple[int, int]]:
    """Of each row the place of the first run that asks its fact, and the fact's number there."""
    for row, run in enumerate((table.number >= 0).argmax(axis=0).tolist()):
        yield run, int(table.number[run, row])


def groups_of(services: Services, table: FactTable, grouping: Grouping) -> list[Collection[str]]:
    """The groups of each row's fact; for a grouping of statements, those of all its statements."""
    if grouping.reads != STATEMENT:
        return [grouping.names_of_fact(fact) for fact in facts_of(services, table)]
    names: list[defaultdict[int, set[str]]] = [defaultdict(set) for _ in table.runs]
    for of_fact, run in zip(names, table.runs, strict=True):
        numbers = services.reports.board(run).sheet.fact.tolist()
        for number, statement in zip(numbers, subjects_of_run(services.store, run, STATEMENT), strict=True):
            of_fact[number].update(grouping.names(statement))
    return [names[run][number] for run, number in _first_of_rows(table)]


def with_row(visitor: Visitor, show: Any, lives: Lives) -> Any:
    """The view, in which an open pair of one run is a row of the list."""
    if show.chosen < 0 or show.fact < 0:
        return show.model_copy(update={"chosen": -1})
    run = list(lives.values())[min(show.chosen, len(lives) - 1)].run.run
    table, members = table_of(visitor.services, lives), pairs_of_run(visitor.services.reports.board(run)).members
    number = members[min(show.fact, len(members) - 1)][0]
    (row, *_) = np.flatnonzero(table.number[table.runs.index(run)] == number).tolist()
    return show.model_copy(update={"fact": row, "chosen": -1})


# ------------------------------------------------------------------------------------------------ the list


def fact_list(visitor: Visitor, show: Any, lives: Lives) -> tuple[Markup, Any]:
    """One page of the facts, and the view with its page number kept in range."""
    table, language = table_of(visitor.services, lives), _language(lives)
    facts = facts_of(visitor.services, table)
    listed = paged(matching_rows(visitor.services, table, facts, show, language), show.page, FACTS_A_PAGE)
    fragment = render(
        "fact_list",
        rows=[{"row": row, "fact": facts[row], "strips": list(_strips(table, row, lives))} for row in listed.part],
        of=len(facts),
        language=language,
        **listed.numbers,
        filters=list(_filters(table)),
        groups=list(_groups(visitor.services, table)),
        models=[(-1, "any model"), *enumerate(lives)] if len(lives) > 1 else [],
        patterns=[(pattern, f"{pattern} ({counted(count, 'fact')})") for pattern, count in table.patterns()],
        show=show,
        variants=[VARIANTS[key] for key in table.variants],
    )
    return fragment, show.model_copy(update={"page": listed.page})


def _language(lives: Lives) -> str:
    """The language in which all of the runs were asked; English where they differ."""
    return common_language(live.run.pool for live in lives.values())


def matching_rows(services: Services, table: FactTable, facts: Sequence[Fact], show: ResultsShow, language: str) -> list[int]:
    """The rows that pass the filters, worst first. language: in whose names a search finds facts, too."""
    rows = table.chosen(show.only if show.only in SHOWN else "all", pattern=show.pattern or None)
    if show.only not in SHOWN or 0 <= show.model < len(table.runs):
        passing = table.passing(show.only)
        of_model = np.asarray(passing[show.model] if 0 <= show.model < len(table.runs) else passing.any(axis=0), dtype=bool)
        rows = rows[of_model[rows]]
    matching = rows.tolist()
    if show.within:
        group, _, name = show.within.partition(":")
        groups = groups_of(services, table, group_filters()[group]) if group in group_filters() else [()] * len(facts)
        matching = [row for row in matching if name in groups[row]]
    if show.search:
        candidates = (facts[row] for row in matching)
        ids = {fact.fact_id for fact in matching_facts(candidates, show.search, also=partial(names_in, language))}
        matching = [row for row in matching if facts[row].fact_id in ids]
    return table.worst_first(np.array(matching, dtype=np.int64))


def _strips(table: FactTable, row: int, names: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    """Outcomes of each model on one fact, with the number of right answers and of statements."""
    for name, fates in zip(names, table.fate[:, row].tolist(), strict=True):
        if statements := len(fates) - fates.count(ABSENT):
            yield {"name": name, "fates": fates, "right": fates.count(1), "asked": statements}


Options = tuple[str, Sequence[tuple[str, str]]]  # a group of options: its title, and each option's value and text


def _filters(table: FactTable) -> Iterator[Options]:
    yield "", [(name, text) for name, text in SHOWN.items() if len(table.runs) > 1 or name == "all"]
    yield "Answers", list(OF_ONE.items())
    if table.variants == tuple(IMPLICATIONS):
        yield "Why it fails", list(DIAGNOSED.items())
    yield "Wrong when asked", [(f"{WRONG}{key}", f"wrong when asked {VARIANTS[key].plain}") for key in table.variants]


def _groups(services: Services, table: FactTable) -> Iterator[Options]:
    for tab, title in group_tabs().items():
        groups = groups_of(services, table, group_filters()[tab]) if tab in group_filters() else []
        if len(different := {*map(frozenset, groups)}) > 1:
            yield title.capitalize(), [(f"{tab}:{name}", name) for name in sorted(frozenset().union(*different))]


# ------------------------------------------------------------------------------------------------ the drawer


def drawer(visitor: Visitor, show: Any, lives: Lives) -> Markup:
    """The card of the open fact and its partner with every model's answers, and the facts before and after it in the list."""
    table = table_of(visitor.services, lives)
    if show.fact >= table.number.shape[1]:
        return Markup()
    sides = []
    diagnoses: dict[str, list[str]] = {}
    for place, (name, live) in enumerate(lives.items()):
        number = int(table.number[place, show.fact])
        pairs = pairs_of_run(visitor.services.reports.board(live.run.run))
        members = next((facts for facts in pairs.members if number in facts), ()) if number >= 0 else ()
        items = of_facts(visitor.services, live.run.run, members) if members else []
        sides.append((name, live.run, items))
        for fact_id, means in _diagnoses(items, pairs):
            diagnoses.setdefault(fact_id, []).append(f"{name}: {means}" if len(lives) > 1 else means)
    rows = matching_rows(visitor.services, table, facts_of(visitor.services, table), show, _language(lives))
    run = next(iter(lives)) if len(lives) == 1 else ""
    texts = {fact_id: "; ".join(lines) for fact_id, lines in diagnoses.items()}
    return drawer_of(card_of_answers(visitor.services, sides), show.fact, rows, run=run, diagnoses=texts)


def _diagnoses(items: Sequence[Asked], pairs: Pairs) -> Iterator[tuple[str, str]]:
    """Id of a fact → what its diagnosis means, where it says more than how many answers are right."""
    for number, fact in {item.fact: item.statement.fact for item in items}.items():
        named = pairs.diagnosis(number)
        if named and named not in (CHANCE, MIXED, MASTERED):
            yield fact.fact_id, meaning(named, fact.positive)


# ------------------------------------------------------------------------------------------------ the worst ones


MOST_SENTENCES = 4  # of a fact that is shown as one of the worst


@dataclass(frozen=True)
class Worst:
    """A fact that models miss, with the sentences that most got wrong."""

    row: int
    fact: Fact
    language: str  # of its sentences
    sentences: Sequence[StatementLine]
    of: int  # number of all its sentences


def worst(visitor: Visitor, lives: Lives, most: int = 3) -> list[Worst]:
    """The worst facts (`FactTable.worst`), with what was answered to them."""
    services, table = visitor.services, table_of(visitor.services, lives)
    if not (rows := table.worst(facts_of(services, table))[:most]):
        return []
    sides: dict[int, list[tuple[str, Run, list[Asked]]]] = {row: [] for row in rows}
    for (name, live), numbers in zip(lives.items(), table.number[:, rows].tolist(), strict=True):
        items = of_facts(services, live.run.run, numbers)  # of all these facts at once
        for row, number in zip(rows, numbers, strict=True):
            if number >= 0:
                sides[row].append((name, live.run, [item for item in items if item.fact == number]))
    cards = {row: card_of_answers(services, answers) for row, answers in sides.items()}
    return [_worst(row, card) for row, card in cards.items() if card is not None]


def _worst(row: int, card: Card) -> Worst:
    lines = [line for way in card.rows for line in way.fact]
    right = [sum(reply.fate == "right" for reply in line.replies) for line in lines]
    first = sorted(sorted(range(len(lines)), key=lambda place: right[place])[:MOST_SENTENCES])
    return Worst(row, card.fact, card.language, [lines[place] for place in first], len(lines))
