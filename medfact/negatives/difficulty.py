"""How hard a negative fact is to tell from a true one: decided by structure, never by a model's answers.

- *near*: its tail is true of a kindred head, or stands in the same branch of a known hierarchy as a true tail.
- *far*: any other safe tail.
- *judged*: a source says expressly that the fact does not hold.
- *closest*: its tail is among the CLOSEST_SHARE of the head's safe tails that come closest to being true (`closeness`), and the
  draw was asked for such ones. Other draws call the same tail near or far.

Two heads are kindred if they belong to the same specialty. Where a head names no specialty, a known hierarchy decides alone;
where there is none either, two heads are kindred if they have a tail in common.
Nearness never weakens a rule of the draw.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from functools import cache

from medfact.facts import KnowledgeBase

NEAR, FAR, JUDGED, CLOSEST = "near", "far", "judged", "closest"
DIFFICULTIES = {
    NEAR: "true of a related disease",
    FAR: "belongs elsewhere in medicine",
    JUDGED: "a source says expressly that it does not hold",
    CLOSEST: "true of the diseases that have most in common with this one",
}
"""Every difficulty, and what it means."""

CLOSEST_SHARE = 0.1
"""From 0 to 1: this share of a head's safe tails, rounded up, are its closest."""

BRANCH = 2
"""Tails stand in the same branch of a hierarchy if they have an ancestor in common at most this many steps above each."""


class Kinship:
    """Which tails are near which heads, by the facts of a knowledge base."""

    def __init__(self, known: KnowledgeBase) -> None:
        self.known = known
        self._tails: defaultdict[str, set[str]] = defaultdict(set)
        self._heads: defaultdict[str, set[str]] = defaultdict(set)
        self._stated: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._specialties: defaultdict[str, set[str]] = defaultdict(set)
        self._members: defaultdict[str, set[str]] = defaultdict(set)
        self._near_entity = cache(self._tails_near)
        for fact in known.facts:
            if fact.tail is None:
                continue
            head, tail = known.entity(fact.head), known.entity(fact.tail)
            self._tails[head].add(tail)
            self._heads[tail].add(head)
            self._stated[fact.relation, head].add(tail)
            if fact.specialty:
                self._specialties[head].add(fact.specialty)
                self._members[fact.specialty].add(head)

    def near(self, relation: str, head: str) -> frozenset[str]:
        """The entities that are near tails of a head: candidates for its false partners, safe or not."""
        return self._near_entity(relation, self.known.entity(head))

    def _tails_near(self, relation: str, head: str) -> frozenset[str]:
        kindred = [self._stated.get((relation, other), ()) for other in self._kindred(head)]
        branches = [self._branch(tail) for tail in self._stated.get((relation, head), ()) if self.known.is_a]
        return frozenset().union(*kindred, *branches)

    def _kindred(self, head: str) -> set[str]:
        if head in self._specialties:
            return _all(self._members, self._specialties[head]) - {head}
        if self.known.is_a:
            return set()
        return _all(self._heads, self._tails.get(head, ())) - {head}

    def _branch(self, tail: str) -> set[str]:
        """The entities with an ancestor in common with this one, at most BRANCH steps above each."""
        reached = {tail}
        for steps in self.known.hierarchy:
            for _ in range(BRANCH):
                reached |= _all(steps, reached)
        return reached


def _all(sets: Mapping[str, Set[str]], keys: Iterable[str]) -> set[str]:
    """The union of the sets under these keys."""
    return set().union(*(sets.get(key, ()) for key in keys))
