"""What is said of a selection of facts: what is left out, what lacks a false partner, and where the shots come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from medfact.datasets.bundled import bundled_names
from medfact.datasets.collection import Collection
from medfact.datasets.direction import reversed_notes
from medfact.facts import Fact


def fact_notes(
    collection: Collection, canonical: Callable[[str], str | None], incomplete: Sequence[Fact], negatives: int
) -> Iterator[str]:
    """What is left out, seems reversed, or lacks false partners. incomplete: facts with fewer than `negatives` of them."""
    yield from _notes_on_relations(collection, canonical)
    if collection.name not in bundled_names():
        yield from reversed_notes((fact for fact in collection.facts if fact.fact_id not in collection.ready), canonical)
    yield from _notes_on_negatives(incomplete, collection, negatives)


def _notes_on_relations(collection: Collection, canonical: Callable[[str], str | None]) -> Iterator[str]:
    without_sentence = (fact for fact in collection.facts if fact.fact_id not in collection.ready)
    missing = Counter(fact.relation for fact in without_sentence if canonical(fact.relation) is None)
    for relation, number in missing.items():
        left_out = "1 fact is" if number == 1 else f"{number} facts are"
        yield f"The pool has no prototypes for {relation!r}: {left_out} left out."


def _notes_on_negatives(incomplete: Sequence[Fact], collection: Collection, negatives: int) -> Iterator[str]:
    ready = sum(fact.fact_id in collection.ready for fact in incomplete)
    if drawn := len(incomplete) - ready:
        have = "1 fact has" if drawn == 1 else f"{drawn} facts have"
        yield f"{have} no safe false partner: too few other tails of the same type are left."
    if ready:
        come = "1 ready statement comes" if ready == 1 else f"{ready} ready statements come"
        yield f"{come} with fewer than {negatives} false ones; none are drawn."


def shot_notes(loans: Iterable[str], aside: Mapping[str, frozenset[str]], count: int) -> Iterator[str]:
    """Which relations borrow their shots, or have fewer. loans: those that borrow; aside: relation → its heads kept aside."""
    for relation in loans:
        yield f"{relation!r} has too few heads to keep {count} aside: its shots come from the bundled facts."
    for relation, heads in aside.items():
        if relation not in loans and len(heads) < count:
            yield f"{relation!r} has too few heads to keep {count} aside: it keeps {len(heads)}, for fewer shots."
