"""What a bundled set says now of facts that an earlier version of it had: true ones that left it, false ones that it now holds
true or arguable, or no longer calls false.

Facts are compared by their ids, and where a name or an identifier has been mended since, by what they say: the same relation
between the same entities, for the same people and place. An id that is still there ends the comparison.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from medfact.caching import shared_cache
from medfact.datasets.bundled import also_true, load_bundled
from medfact.facts import Fact, KnowledgeBase
from medfact.negatives import JUDGED

TRUE, ARGUABLE, FALSE, ABSENT = "true", "arguable", "false", "absent"
"""What a set says of a fact: it holds, is too close to true to be called false, does not hold; or nothing."""

_Pair = tuple[str, str, str]
"""Relation, and the entities of head and tail."""

_Bounds = tuple[str | None, str | None]
"""Region and population."""


@dataclass(frozen=True)
class Withdrawal:
    """A fact that was asked, and what its set says of it now. asked_as: TRUE or FALSE. now: TRUE, ARGUABLE, FALSE or ABSENT."""

    fact_id: str
    head: str
    relation: str
    tail: str
    region: str | None
    population: str | None
    asked_as: str
    now: str

    @property
    def fact(self) -> Fact:
        """The fact as it was asked, without its source."""
        fact = Fact(self.head, self.relation, self.tail, self.asked_as == TRUE, fact_id=self.fact_id)
        return replace(fact, region=self.region, population=self.population)


def withdrawals(name: str, facts: Iterable[Fact], are_free: bool = False) -> dict[str, Withdrawal]:
    """Fact id → what a bundled set says of it now; only of facts that it no longer says, or of which it now says otherwise.

    A true fact is withdrawn where the set no longer holds it. A false one is where the set now holds it true or arguable,
    where its source called it false (*judged*) and the set no longer does, or where the set itself had called it so. are_free:
    false partners were drawn among all that is not listed as true, arguable or not: then only those that are held true by now
    are named.
    """
    said = _said(name)
    found = ((fact, said.of(fact.as_written())) for fact in facts if fact.tail is not None)
    return {
        fact.fact_id: Withdrawal(
            fact.fact_id,
            fact.head,
            fact.relation,
            str(fact.tail),
            fact.region,
            fact.population,
            asked_as=TRUE if fact.positive else FALSE,
            now=now,
        )
        for fact, now in found
        if _differs(fact, now, said) and not (are_free and not fact.positive and now == ARGUABLE)
    }


def _differs(fact: Fact, now: str, said: _Said) -> bool:
    if fact.positive:
        return now != TRUE
    return now in {TRUE, ARGUABLE} or (now == ABSENT and (fact.difficulty == JUDGED or said.had_called_false(fact)))


@dataclass(frozen=True)
class _Said:
    """What a set says: the ids of its true facts, and for whom and where it calls each pair true, false or arguable."""

    known: KnowledgeBase
    ids: frozenset[str]
    true: dict[_Pair, frozenset[_Bounds]]
    false: dict[_Pair, frozenset[_Bounds]]
    arguable: frozenset[_Pair]
    left: frozenset[_Pair]

    def had_called_false(self, fact: Fact) -> bool:
        """Whether the set itself called a fact false, until that left it."""
        return _pair(self.known, fact.head, fact.relation, fact.tail or "") in self.left

    def of(self, fact: Fact) -> str:
        """What it says of a fact."""
        if fact.positive and fact.fact_id in self.ids:
            return TRUE
        pair, bounds = _pair(self.known, fact.head, fact.relation, fact.tail or ""), (fact.region, fact.population)
        true = self.true.get(pair, frozenset())
        if bounds in true:
            return TRUE
        if bounds in self.false.get(pair, frozenset()):
            return FALSE
        if not fact.positive and (None, None) in true:  # what holds of everybody everywhere holds of these people, too
            return TRUE
        return ARGUABLE if true or pair in self.arguable else ABSENT


@shared_cache(16)
def _said(name: str) -> _Said:
    collection = load_bundled(name)
    known = collection.known
    false = (*(fact for fact in collection.facts if not fact.positive), *known.judged)
    return _Said(
        known,
        frozenset(fact.fact_id for fact in known.facts),
        _bounds_by_pair(known, known.facts),
        _bounds_by_pair(known, false),
        frozenset(_pair(known, *row) for row in also_true(name)),
        frozenset(_pair(known, fact.head, fact.relation, fact.tail or "") for fact in collection.withdrawn),
    )


def _bounds_by_pair(known: KnowledgeBase, facts: Iterable[Fact]) -> dict[_Pair, frozenset[_Bounds]]:
    found: dict[_Pair, frozenset[_Bounds]] = {}
    for fact in facts:
        if fact.tail is not None:
            pair = _pair(known, fact.head, fact.relation, fact.tail)
            found[pair] = found.get(pair, frozenset()) | {(fact.region, fact.population)}
    return found


def _pair(known: KnowledgeBase, head: str, relation: str, tail: str) -> _Pair:
    return relation, known.entity(head), known.entity(tail)
