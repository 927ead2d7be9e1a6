"""How close a false tail comes to being true of a head, by what the known facts say of both; no name is understood for it.

Two heads are alike by what they share: tails in any relation, also-true ones among them, and specialties. What few heads have
counts more: log(heads / heads that have it), squared, over the lengths of both (the cosine). Two tails are alike by the heads
that they share, in the same way. The closeness of a tail to a head is the sum of

- how alike the head is to the most alike head of which the tail is true in this relation, from 0 to 1, and
- how alike the tail is to the head's own tails in this relation, their mean, from 0 to 1.

Among equals, tails whose names share more letters with those of the head's own tails are closer. Where closeness leads to what
is true, the rules of the draw have left it out before: closeness only orders what is safe.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from medfact.facts import KnowledgeBase, name_key

Numbers = NDArray[np.int64]
Values = NDArray[np.float64]


class _Shared:
    """Which of some things are alike by what they share: an index both ways, with the weight of what is shared."""

    def __init__(self, has: Mapping[str, Set[str]]) -> None:
        self.place = {one: number for number, one in enumerate(sorted(has))}
        owners: defaultdict[str, list[int]] = defaultdict(list)
        for one, number in self.place.items():
            for shared in has[one]:
                owners[shared].append(number)
        self._has = has
        self._owners = {shared: np.array(numbers) for shared, numbers in owners.items()}
        self._weight = {shared: math.log(len(has) / len(numbers)) ** 2 for shared, numbers in owners.items()}
        self._lengths = np.array([math.sqrt(math.fsum(self._weight[shared] for shared in has[one])) for one in self.place])

    def likeness(self, one: str) -> Values:
        """In the order of `place`, from 0 to 1: how alike it is to this one; 0 for itself, and where nothing is known."""
        found = np.zeros(len(self.place))
        if (own := self.place.get(one)) is None or not self._lengths[own]:
            return found
        for shared in sorted(self._has[one]):  # sorted: sums must not depend on the hash seed
            found[self._owners[shared]] += self._weight[shared]
        found /= np.where(self._lengths, self._lengths, 1.0) * self._lengths[own]
        found[own] = 0.0
        return found

    def between(self, one: str, other: str) -> float:
        """How alike two different things are, as in `likeness`; 0 where nothing is known of one of them."""
        weight = math.fsum(self._weight[shared] for shared in self._has.get(one, set()) & self._has.get(other, set()))
        return weight and float(weight / (self._lengths[self.place[one]] * self._lengths[self.place[other]]))


class Closeness:
    """How close tails are to heads, by the facts of a knowledge base."""

    def __init__(self, known: KnowledgeBase) -> None:
        self._known, entity = known, cache(known.entity)  # each name stands in many pairs
        traits: defaultdict[str, set[str]] = defaultdict(set)
        heads: defaultdict[str, set[str]] = defaultdict(set)
        for head, tail in known.pairs():
            traits[entity(head)].add(entity(tail))
            heads[entity(tail)].add(entity(head))
        self._true: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._own: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for fact in known.facts:
            head = entity(fact.head)
            if fact.specialty:
                traits[head].add(f"specialty\x1f{fact.specialty}")
            if fact.tail is not None:
                self._true[fact.relation, entity(fact.tail)].add(head)
                self._own[fact.relation, head].add(fact.tail)
        self._heads, self._tails = _Shared(traits), _Shared(heads)

    def ranks(self, relation: str, head: str, tails: Sequence[str]) -> Numbers:
        """Of each of these names of tails, its place in the order of their closeness to a head: 1 is the closest."""
        closeness, letters = self.of(relation, head, tails), self._letters(relation, head, tails)
        keys = [
            (-round(close, 9), -shared, name_key(tail)) for close, shared, tail in zip(closeness, letters, tails, strict=True)
        ]
        ranks = np.empty(len(tails), dtype=np.int64)
        ranks[sorted(range(len(tails)), key=keys.__getitem__)] = np.arange(1, len(tails) + 1)
        return ranks

    def of(self, relation: str, head: str, tails: Sequence[str]) -> list[float]:
        """The closeness of each of these names of tails to a head: from 0 to 2."""
        entity = self._known.entity(head)
        alike, place = self._heads.likeness(entity).tolist(), self._heads.place
        own = sorted({self._known.entity(tail) for tail in self._own.get((relation, entity), ())})
        to_own = np.mean([self._tails.likeness(tail) for tail in own], axis=0).tolist() if own else []

        def closeness(tail: str) -> float:
            by_heads = max((alike[place[other]] for other in self._true.get((relation, tail), ())), default=0.0)
            return float(by_heads + (to_own[self._tails.place[tail]] if own and tail in self._tails.place else 0.0))

        return [closeness(self._known.entity(tail)) for tail in tails]

    def to_own(self, relation: str, head: str, tail: str) -> float:
        """How alike a tail that is not true of a head is to the head's own tails, their mean, from 0 to 1; 0 without any."""
        own = {self._known.entity(name) for name in self._own.get((relation, self._known.entity(head)), ())}
        return math.fsum(self._tails.between(self._known.entity(tail), one) for one in own) / max(len(own), 1)

    def _letters(self, relation: str, head: str, tails: Iterable[str]) -> list[float]:
        """Of each tail, from 0 to 1, the share of its pairs of letters that are in the names of the head's own tails, too."""
        own = self._own.get((relation, self._known.entity(head)), ())
        theirs = frozenset[str]().union(*map(_letter_pairs, own))
        return [len(pairs & theirs) / len(pairs) for pairs in map(_letter_pairs, tails)]


@lru_cache(maxsize=1 << 16)
def _letter_pairs(name: str) -> frozenset[str]:
    """Each two letters of a name that stand side by side; its start and end count as letters."""
    spaced = f" {name_key(name)} "
    return frozenset(spaced[at : at + 2] for at in range(len(spaced) - 1))
