"""Difficulty of negative facts, which known facts determine, never a model's answers.

- *near*: its tail is true of a neighbor of the head, or is a neighbor of a true tail (`Nearness`).
- *far*: any other safe tail.
- *judged*: a source states that the fact does not hold.
- *closest*: for draws of this preference, a tail among the CLOSEST_SHARE of the head's safe tails with the highest `Closeness`.
  Other draws call the same tail near or far.

`Kinship` decides which tails a draw prefers; more tails are kindred than near. Difficulty only orders safe tails: it makes no
tail safe.
"""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medfact.assets import ASSETS
from medfact.facts import KnowledgeBase, name_key

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

NEAR, FAR, JUDGED, CLOSEST = "near", "far", "judged", "closest"
DIFFICULTIES = {
    NEAR: "true of a condition that is easily taken for this one, or akin to what is true: one has to think",
    FAR: "belongs elsewhere in medicine",
    JUDGED: "a source says expressly that it does not hold",
    CLOSEST: "true of the diseases that have most in common with this one",
}
"""Difficulty → its description for users."""

CLOSEST_SHARE = 0.1
"""Fraction of a head's safe tails that are *closest*; their number is rounded up."""

MAX_BRANCH_STEPS = 2
"""Tails are in the same branch of a hierarchy if a common ancestor is at most this many steps above each."""

NEIGHBORS = ASSETS / "datasets" / "neighbors.csv"
"""Groups of names that are easily confused, compiled by editors (not clinicians): differential diagnoses, drugs of a class,
findings of an organ, neighboring sites. Kind *use*: drugs with the same use, neighbors only as tails. Kind *common*: tails
that are never near.
"""

MIN_NEAR_SIMILARITY = 0.4
"""Minimum similarity of a near tail to the head's true tails, if NEIGHBORS has neither head nor tail. Chosen by inspection."""


def _union_at_keys(sets: Mapping[Any, Set[str]], keys: Iterable[Any]) -> set[str]:
    """Union of the sets of these keys; missing keys are skipped."""
    return set().union(*(sets.get(key, ()) for key in keys))


@cache
def neighbor_groups() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Loads NEIGHBORS: kind and names of each group."""
    with NEIGHBORS.open(encoding="utf-8", newline="") as file:
        return tuple((row["kind"], tuple(row["names"].split(" | "))) for row in csv.DictReader(file))


class Nearness:
    """Finds the false tails that are near a head, by NEIGHBORS and the facts of a knowledge base."""

    def __init__(self, kinship: Kinship, closeness: Callable[[], Closeness]) -> None:
        self._entity, self._true_tails, self._closeness = kinship.knowledge.entity, kinship.true_tails, closeness
        self._neighbors, self._of_same_use, self._common = (defaultdict[str, set[str]](set) for _ in range(3))
        for kind, names in neighbor_groups():
            group = set(map(self._entity, names))
            neighbors = {"use": self._of_same_use, "common": self._common}.get(kind, self._neighbors)
            for entity in group:
                neighbors[entity] |= group - {entity}

    def is_near(self, relation: str, head: str, tail: str) -> bool:
        """Returns True if the negative with this false tail is *near*."""
        head_entity, tail_entity = self._entity(head), self._entity(tail)
        if head_entity in self._neighbors or tail_entity in self._neighbors or tail_entity in self._common:
            return tail_entity in self.near_tails(relation, head)
        return self._closeness().similarity_to_true_tails(relation, head, tail) >= MIN_NEAR_SIMILARITY

    def near_tails(self, relation: str, head: str) -> set[str]:
        """Entities of a head's near tails by NEIGHBORS: true tails of its neighbors, and neighbors of its true tails."""
        entity = self._entity(head)
        true_tails = self._true_tails.get((relation, entity), set())
        of_neighbors = _union_at_keys(self._true_tails, ((relation, other) for other in self._neighbors.get(entity, ())))
        near = of_neighbors | _union_at_keys(self._neighbors, true_tails) | _union_at_keys(self._of_same_use, true_tails)
        return near - self._common.keys()


class Kinship:
    """Finds kindred tails, which a draw prefers: true of kindred heads, or in the same branch of a hierarchy as a true tail.

    Two heads are kindred if they have the same specialty. If a head has no specialty, only the hierarchy counts. Without a
    hierarchy, two heads are kindred if they share a tail.
    """

    def __init__(self, knowledge: KnowledgeBase) -> None:
        self.knowledge = knowledge
        self._tails: defaultdict[str, set[str]] = defaultdict(set)
        self._heads: defaultdict[str, set[str]] = defaultdict(set)
        self.true_tails: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._specialties: defaultdict[str, set[str]] = defaultdict(set)
        self._members: defaultdict[str, set[str]] = defaultdict(set)
        for fact in knowledge.facts:
            if fact.tail is None:
                continue
            head, tail = knowledge.entity(fact.head), knowledge.entity(fact.tail)
            self._tails[head].add(tail)
            self._heads[tail].add(head)
            self.true_tails[fact.relation, head].add(tail)
            if fact.specialty:
                self._specialties[head].add(fact.specialty)
                self._members[fact.specialty].add(head)

    def kindred_tails(self, relation: str, head: str) -> frozenset[str]:
        """Entities of a head's kindred tails, including tails that are unsafe to call false."""
        entity = self.knowledge.entity(head)
        kindred = [self.true_tails.get((relation, other), ()) for other in self._kindred_heads(entity)]
        branches = [self._branch(tail) for tail in self.true_tails.get((relation, entity), ()) if self.knowledge.is_a]
        return frozenset().union(*kindred, *branches)

    def _kindred_heads(self, head: str) -> set[str]:
        """Entities of the heads that are kindred to a head, without itself."""
        if head in self._specialties:
            return _union_at_keys(self._members, self._specialties[head]) - {head}
        return set() if self.knowledge.is_a else _union_at_keys(self._heads, self._tails.get(head, ())) - {head}

    def _branch(self, tail: str) -> set[str]:
        """Entities in the same branch as a tail: a common ancestor is at most MAX_BRANCH_STEPS above each."""
        branch = {tail}
        for steps in self.knowledge.hierarchy:
            for _ in range(MAX_BRANCH_STEPS):
                branch |= _union_at_keys(steps, branch)
        return branch


class Closeness:
    """Measures how plausible false tails are for heads, from 0 to 2, by the known facts of both. Names only break ties.

    The closeness of a tail to a head in a relation is the sum of two cosine similarities (`_SimilarityIndex`).

    - Head similarity: between the head and the most similar head that has the tail. Heads are compared by their
      specialties and their tails in any relation, `also_true` included.
    - Tail similarity: the mean between the tail and the head's true tails. Tails are compared by their heads.

    The share of a tail's bigrams of characters that occur in names of the head's true tails breaks ties.
    """

    def __init__(self, knowledge: KnowledgeBase) -> None:
        self._known, entity = knowledge, cache(knowledge.entity)  # each name occurs in many pairs
        traits: defaultdict[str, set[str]] = defaultdict(set)
        heads: defaultdict[str, set[str]] = defaultdict(set)
        for head, tail in knowledge.pairs():
            traits[entity(head)].add(entity(tail))
            heads[entity(tail)].add(entity(head))
        self._heads_with: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._true_tails: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for fact in knowledge.facts:
            head = entity(fact.head)
            if fact.specialty:
                traits[head].add(f"specialty\x1f{fact.specialty}")
            if fact.tail is not None:
                self._heads_with[fact.relation, entity(fact.tail)].add(head)
                self._true_tails[fact.relation, head].add(fact.tail)
        self._heads, self._tails = _SimilarityIndex(traits), _SimilarityIndex(heads)

    def closeness_ranks(self, relation: str, head: str, tails: Sequence[str]) -> Integers:
        """Rank of each tail by its closeness to a head; 1 is the closest."""
        pairs = frozenset[str]().union(*map(_name_bigrams, self._true_tails.get((relation, self._known.entity(head)), ())))
        shares = [len(of_tail & pairs) / len(of_tail) for of_tail in map(_name_bigrams, tails)]
        closeness = self.closeness(relation, head, tails)
        keys = [(-round(near, 9), -share, name_key(tail)) for near, share, tail in zip(closeness, shares, tails, strict=True)]
        ranks = np.empty(len(tails), dtype=np.int64)
        ranks[sorted(range(len(tails)), key=keys.__getitem__)] = np.arange(1, len(tails) + 1)
        return ranks

    def closeness(self, relation: str, head: str, tails: Sequence[str]) -> list[float]:
        """Closeness of each tail to a head, from 0 to 2."""
        entity = self._known.entity
        similarities = self._heads.similarities(entity(head)).tolist()
        true_tails = self._true_tail_entities(relation, head)
        by_tail = [self._tails.similarities(tail) for tail in sorted(true_tails)]
        to_true = np.mean(by_tail, axis=0).tolist() if by_tail else []

        def closeness(tail: str) -> float:
            heads = self._heads_with.get((relation, tail), ())
            by_heads = max((similarities[self._heads.index[other]] for other in heads), default=0.0)
            return float(by_heads + (to_true[self._tails.index[tail]] if to_true and tail in self._tails.index else 0.0))

        return [closeness(entity(tail)) for tail in tails]

    def similarity_to_true_tails(self, relation: str, head: str, tail: str) -> float:
        """Mean similarity, from 0 to 1, of a false tail to the head's true tails; 0 if the head has none."""
        true_tails = self._true_tail_entities(relation, head)
        entity = self._known.entity(tail)
        return math.fsum(self._tails.similarity(entity, other) for other in true_tails) / max(len(true_tails), 1)

    def _true_tail_entities(self, relation: str, head: str) -> set[str]:
        """Entities of a head's true tails in a relation."""
        return {self._known.entity(tail) for tail in self._true_tails.get((relation, self._known.entity(head)), ())}


class _SimilarityIndex:
    """Cosine similarity, from 0 to 1, of entities by their IDF-weighted traits.

    traits: entity → its traits, such as its tails. A trait's IDF is log(entities / entities with the trait).
    """

    def __init__(self, traits: Mapping[str, Set[str]]) -> None:
        self.index = {entity: number for number, entity in enumerate(sorted(traits))}
        entities_with: defaultdict[str, list[int]] = defaultdict(list)
        for entity, number in self.index.items():
            for trait in traits[entity]:
                entities_with[trait].append(number)
        self._traits = traits
        self._entities_with = {trait: np.array(numbers) for trait, numbers in entities_with.items()}
        self._weight = {trait: math.log(len(traits) / len(numbers)) ** 2 for trait, numbers in entities_with.items()}
        self._norms = np.array([math.sqrt(math.fsum(self._weight[trait] for trait in traits[entity])) for entity in self.index])

    def similarities(self, entity: str) -> Floats:
        """Similarities of an entity to all entities, in the order of `index`; 0 to itself, and if either has no traits."""
        similarities = np.zeros(len(self.index))
        number = self.index.get(entity)
        if number is None or not self._norms[number]:
            return similarities
        for trait in sorted(self._traits[entity]):  # sorted: sums must not depend on the hash seed
            similarities[self._entities_with[trait]] += self._weight[trait]
        similarities /= np.where(self._norms, self._norms, 1.0) * self._norms[number]
        similarities[number] = 0.0
        return similarities

    def similarity(self, entity: str, other: str) -> float:
        """Similarity of two different entities; 0 if one of them has no traits."""
        weight = math.fsum(self._weight[trait] for trait in self._traits.get(entity, set()) & self._traits.get(other, set()))
        return weight and float(weight / (self._norms[self.index[entity]] * self._norms[self.index[other]]))


@lru_cache(maxsize=1 << 16)
def _name_bigrams(name: str) -> frozenset[str]:
    """Bigrams of characters of a name, with a space before and after it."""
    spaced = f" {name_key(name)} "
    return frozenset(spaced[at : at + 2] for at in range(len(spaced) - 1))
