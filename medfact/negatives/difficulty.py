"""How hard a negative fact is to tell from a true one: decided by what is known, never by a model's answers.

- *near*: one has to think, since its tail is true of a neighbor of the head, or is a neighbor of a true tail (`Nearness`).
- *far*: any other safe tail.
- *judged*: a source says expressly that the fact does not hold.
- *closest*: its tail is among the CLOSEST_SHARE of the head's safe tails that come closest to being true (`closeness`), and the
  draw was asked for such ones. Other draws call the same tail near or far.

Which tails are drawn first is decided by more than is called near: by `Kinship`. Neither weakens a rule of the draw.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Set
from functools import cache
from typing import Any

from medfact.assets import ASSETS
from medfact.facts import KnowledgeBase
from medfact.negatives.closeness import Closeness

NEAR, FAR, JUDGED, CLOSEST = "near", "far", "judged", "closest"
DIFFICULTIES = {
    NEAR: "true of a condition that is easily taken for this one, or akin to what is true: one has to think",
    FAR: "belongs elsewhere in medicine",
    JUDGED: "a source says expressly that it does not hold",
    CLOSEST: "true of the diseases that have most in common with this one",
}
"""Every difficulty, and what it means."""

CLOSEST_SHARE = 0.1
"""From 0 to 1: this share of a head's safe tails, rounded up, are its closest."""

BRANCH = 2
"""Tails stand in the same branch of a hierarchy if they have an ancestor in common at most this many steps above each."""


NEIGHBORS = ASSETS / "datasets" / "neighbors.csv"
"""Names that are easily taken for one another, by editors (no clinician): differential diagnoses, drugs of a class, findings of
an organ, neighboring sites. *use*: drugs of one use, which are neighbors as tails alone. *common*: what is near nothing.
"""

NEAR_TO_OWN = 0.4
"""From 0 to 1: where NEIGHBORS has neither head nor tail, a tail so like the head's own tails is near. Chosen by reading."""


class Nearness:
    """Which pairs of a head and a tail are near, by NEIGHBORS and the facts of a knowledge base."""

    def __init__(self, kinship: Kinship, closeness: Callable[[], Closeness]) -> None:
        self._entity, self._stated, self._closeness = kinship.known.entity, kinship.stated, closeness
        self._neighbors, self._of_one_use, self._common = (defaultdict[str, set[str]](set) for _ in range(3))
        for kind, names in neighbor_groups():
            group = set(map(self._entity, names))
            for one in group:
                {"use": self._of_one_use, "common": self._common}.get(kind, self._neighbors)[one] |= group - {one}

    def is_near(self, relation: str, head: str, tail: str) -> bool:
        """Whether a tail that is not true of the head is near it."""
        this, false = self._entity(head), self._entity(tail)
        if this in self._neighbors or false in self._neighbors or false in self._common:
            return false in self.tails(relation, head)
        return self._closeness().to_own(relation, head, tail) >= NEAR_TO_OWN

    def tails(self, relation: str, head: str) -> set[str]:
        """The entities that NEIGHBORS makes near tails of a head: true of its neighbors, or neighbors of its own tails."""
        own = self._stated.get((relation, this := self._entity(head)), set())
        of_neighbors = _all(self._stated, ((relation, other) for other in self._neighbors.get(this, ())))
        return (of_neighbors | _all(self._neighbors, own) | _all(self._of_one_use, own)) - self._common.keys()


@cache
def neighbor_groups() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The groups of NEIGHBORS: of which kind they are, and their names."""
    with NEIGHBORS.open(encoding="utf-8", newline="") as file:
        return tuple((row["kind"], tuple(row["names"].split(" | "))) for row in csv.DictReader(file))


class Kinship:
    """Which tails are drawn first for which heads, by the facts of a knowledge base: those that are true of kindred heads, or
    stand in the same branch of a known hierarchy as a true tail.

    Two heads are kindred if they belong to the same specialty. Where a head names no specialty, a known hierarchy decides
    alone; where there is none either, two heads are kindred if they have a tail in common.
    """

    def __init__(self, known: KnowledgeBase) -> None:
        self.known = known
        self._tails: defaultdict[str, set[str]] = defaultdict(set)
        self._heads: defaultdict[str, set[str]] = defaultdict(set)
        self.stated: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._specialties: defaultdict[str, set[str]] = defaultdict(set)
        self._members: defaultdict[str, set[str]] = defaultdict(set)
        for fact in known.facts:
            if fact.tail is None:
                continue
            head, tail = known.entity(fact.head), known.entity(fact.tail)
            self._tails[head].add(tail)
            self._heads[tail].add(head)
            self.stated[fact.relation, head].add(tail)
            if fact.specialty:
                self._specialties[head].add(fact.specialty)
                self._members[fact.specialty].add(head)

    def tails(self, relation: str, head: str) -> frozenset[str]:
        """The entities that are kindred tails of a head: candidates for its false partners, safe or not."""
        entity = self.known.entity(head)
        kindred = [self.stated.get((relation, other), ()) for other in self._kindred(entity)]
        branches = [self._branch(tail) for tail in self.stated.get((relation, entity), ()) if self.known.is_a]
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


def _all(sets: Mapping[Any, Set[str]], keys: Iterable[Any]) -> set[str]:
    """The union of the sets under these keys."""
    return set().union(*(sets.get(key, ()) for key in keys))
