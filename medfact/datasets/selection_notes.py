"""What is said of a selection of facts: what is left out, what lacks a false partner, and where the shots come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from medfact.datasets.bundled import bundled_names
from medfact.datasets.collection import Collection
from medfact.datasets.direction import reversed_notes
from medfact.datasets.pairing import place_of
from medfact.facts import Fact


class Lacking(NamedTuple):
    """Positive facts with too few false partners: those that are ready statements, those of whose head and relation the file
    itself calls something false, and those whose partners all had to be drawn.
    """

    ready: tuple[Fact, ...]
    written: tuple[Fact, ...]
    to_be_drawn: tuple[Fact, ...]


def lacking_of(incomplete: Iterable[Fact], collection: Collection) -> Lacking:
    """These facts, by where their false partners would come from."""
    false_of = {place_of(fact) for fact in collection.facts if not fact.positive}
    ready, others = partition(incomplete, lambda fact: fact.fact_id in collection.ready)
    return Lacking(ready, *partition(others, lambda fact: place_of(fact) in false_of))


def partition(facts: Iterable[Fact], holds: Callable[[Fact], bool]) -> tuple[tuple[Fact, ...], tuple[Fact, ...]]:
    """The facts of which something holds, and the others."""
    facts = tuple(facts)
    return tuple(filter(holds, facts)), tuple(fact for fact in facts if not holds(fact))


def fact_notes(
    collection: Collection, canonical: Callable[[str], str | None], lacking: Lacking, negatives: int
) -> Iterator[str]:
    """What is left out, seems reversed, or lacks false partners."""
    yield from _notes_on_relations(collection, canonical)
    if collection.name not in bundled_names():
        yield from reversed_notes((fact for fact in collection.facts if fact.fact_id not in collection.ready), canonical)
    yield from _notes_on_negatives(lacking, negatives)


def _notes_on_relations(collection: Collection, canonical: Callable[[str], str | None]) -> Iterator[str]:
    without_sentence = (fact for fact in collection.facts if fact.fact_id not in collection.ready)
    missing = Counter(fact.relation for fact in without_sentence if canonical(fact.relation) is None)
    for relation, number in missing.items():
        left_out = "1 fact is" if number == 1 else f"{number} facts are"
        yield f"The pool has no prototypes for {relation!r}: {left_out} left out."


def _notes_on_negatives(lacking: Lacking, negatives: int) -> Iterator[str]:
    too_few = "too few other tails of the same type are left"
    if drawn := len(lacking.to_be_drawn):
        have = "1 fact has" if drawn == 1 else f"{drawn} facts have"
        yield f"{have} no safe false partner: {too_few}."
    if written := len(lacking.written):
        have = "1 fact has beside it" if written == 1 else f"{written} facts have beside them"
        asked = "a false partner" if negatives == 1 else f"{negatives} false partners"
        yield f"{have} only what the file itself calls false: {too_few} for {asked}."
    if ready := len(lacking.ready):
        come = "1 ready statement comes" if ready == 1 else f"{ready} ready statements come"
        yield f"{come} with fewer than {negatives} false ones; none are drawn."


def shot_notes(loans: Iterable[str], aside: Mapping[str, frozenset[str]], count: int) -> Iterator[str]:
    """Which relations borrow their shots, or have fewer. loans: those that borrow; aside: relation → its heads kept aside."""
    for relation in loans:
        yield f"{relation!r} has too few heads to keep {count} aside: its shots come from the bundled facts."
    for relation, heads in aside.items():
        if relation not in loans and len(heads) < count:
            yield f"{relation!r} has too few heads to keep {count} aside: it keeps {len(heads)}, for fewer shots."
