"""The facts that runs miss most, with their sentences and what each run answered: for the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from medfact.facts import Fact
from medfact.metrics.diagnosis import meaning
from medfact.results.fact_table import fact_table
from medfact.results.pairs import Pairs
from medfact.results.report import Side
from medfact.results.wording import FATES, Fate, fate
from medfact.runs.board import Board
from medfact.statements import ABSENT, Statement
from medfact.store import Asked, Run, Store

SHOWN = 10
"""True facts, each with its false partners, whose sentences a report lists: whoever prints it wants to read it to the end."""


@dataclass(frozen=True)
class Sentence:
    """A statement with each run's answer: what became of it, and what the model said; "" where it said nothing readable."""

    statement: Statement
    answers: tuple[tuple[Fate, str], ...]


@dataclass(frozen=True)
class Missed:
    """A fact, what its answers mean, in a line a meaning, and its sentences."""

    fact: Fact
    meanings: tuple[str, ...]
    sentences: tuple[Sentence, ...]


@dataclass(frozen=True)
class Asking:
    """A run with its pairs."""

    run: Run
    board: Board
    pairs: Pairs

    @property
    def places(self) -> dict[int, int]:
        """Each true fact as all runs know it → the place of its pair in this one."""
        return {int(self.board.sheet.identity[members[0]]): place for place, members in enumerate(self.pairs.members)}

    @property
    def true_facts(self) -> dict[int, int]:
        """Number of each fact → the true fact of its pair, as all runs know it."""
        return {number: int(self.board.sheet.identity[members[0]]) for members in self.pairs.members for number in members}


def worst_facts(store: Store, runs: Mapping[str, Asking]) -> list[tuple[Missed, ...]]:
    """The pairs of the worst facts (`FactTable.worst`). runs: by name."""
    places = {name: one.places for name, one in runs.items()}
    worst = list(dict.fromkeys(_worst_true_facts(store, list(runs.values()))))
    return [tuple(_pair(store, runs, {name: of.get(true) for name, of in places.items()})) for true in worst[:SHOWN]]


def _worst_true_facts(store: Store, runs: Sequence[Asking]) -> Iterator[int]:
    """The true fact of the pair of each of the worst facts, as all runs know it."""
    table = fact_table([Side(one.run, one.board) for one in runs])
    facts, true_facts = [store.answers.facts(one.run.run) for one in runs], [one.true_facts for one in runs]
    first = (table.number >= 0).argmax(axis=0).tolist()
    numbers = [(run, int(table.number[run, row])) for row, run in enumerate(first)]
    for row in table.worst([facts[run][number] for run, number in numbers]):
        run, number = numbers[row]
        yield true_facts[run][number]


def _pair(store: Store, runs: Mapping[str, Asking], places: Mapping[str, int | None]) -> Iterator[Missed]:
    """The facts of a pair. places: of it in each run, None where a run does not ask it."""
    asked: dict[str, dict[str, Asked]] = {}
    facts: dict[str, Fact] = {}
    meant: dict[str, dict[str, list[str]]] = {}
    for name, one in runs.items():
        place = places[name]
        members = [] if place is None else list(one.pairs.members[place])
        items = [item for item in store.answers.asked(one.run.run, facts=members) if item.draw == 0] if members else []
        asked[name] = {item.statement.statement_id: item for item in items}
        for item in items:
            facts.setdefault(item.statement.fact.fact_id, item.statement.fact)
        for number, fact in {item.fact: item.statement.fact for item in items}.items():
            if found := one.pairs.diagnosis(number):
                meant.setdefault(fact.fact_id, {}).setdefault(meaning(found, fact.positive), []).append(name)
    statements = {item.statement.statement_id: item.statement for of in asked.values() for item in of.values()}
    for fact_id, fact in facts.items():
        own = [one for one in statements.values() if one.fact.fact_id == fact_id]
        sentences = tuple(Sentence(one, tuple(_answer(of.get(one.statement_id)) for of in asked.values())) for one in own)
        yield Missed(fact, tuple(_meanings(meant.get(fact_id, {}), len(runs))), sentences)


def _answer(item: Asked | None) -> tuple[Fate, str]:
    if item is None:
        return FATES[ABSENT], ""
    said = item.answer.answer if item.answer else None
    return fate(item), "" if said is None else "true" if said else "false"


def _meanings(meant: Mapping[str, Sequence[str]], runs: int) -> Iterator[str]:
    """What the answers of runs mean; whose, where there are several."""
    for text, names in meant.items():
        yield f"{' and '.join(names)}: {text}" if runs > 1 else text
