"""How many facts of each relation the page Evaluate can ask, keeps for demonstrations and leaves out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from medfact.datasets import Collection, Selection
from medfact.kept import keep
from medfact.negatives import RULES, explain
from medfact.runs.plan import select_facts
from medfact.spec import RunSpec
from medfact.web.services import collection_of_spec

SHOWN_WITHOUT_PARTNER = 5


@dataclass(frozen=True)
class RelationCounts:
    """True facts of a relation: `tested`, kept `aside` for demonstrations and left `out` add up to `facts`."""

    name: str
    types: str
    facts: int
    tested: int
    aside: int
    out: int


@keep(1_000)
def relation_counts(spec: RunSpec) -> tuple[tuple[RelationCounts, ...], tuple[str, ...], tuple[str, ...]]:
    """Of the facts that a spec may test: the counts by relation, what is to be said of the selection, and which have no false
    partner.
    """
    collection = collection_of_spec(spec)
    selection = select_facts(spec, collection)
    positive = Counter(fact.relation for fact in collection.facts if fact.positive)
    types: dict[str, Counter[str]] = {relation: Counter() for relation in positive}
    for fact in collection.facts:
        if fact.positive and fact.tail_type:
            types[fact.relation][fact.tail_type] += 1
    tested, aside = (Counter(f.relation for f in facts if f.positive) for facts in (selection.test, selection.shots))
    rows = [
        RelationCounts(name, _commonest(types[name]), count, tested[name], aside[name], count - tested[name] - aside[name])
        for name, count in positive.most_common()
    ]
    return tuple(rows), selection.notes, tuple(_without_partner(selection, collection))


def _commonest(types: Counter[str]) -> str:
    """The semantic types of a relation's tails, the most frequent first."""
    more = f" and {len(types) - 2} more" if len(types) > 2 else ""
    return ", ".join(name for name, _ in types.most_common(2)) + more or "not given"


def _without_partner(selection: Selection, collection: Collection) -> Iterator[str]:
    """A few of the facts that got no false partner, and why."""
    for fact in selection.without_negative[:SHOWN_WITHOUT_PARTNER]:
        found = explain(fact, collection.known)
        reasons = "; ".join(f"{number} {RULES[rule]}" for rule, number in found.removed.items())
        yield f"{fact.head} — {fact.relation} → {fact.tail}: of {found.candidates} other tails, {reasons or 'none is left'}."
