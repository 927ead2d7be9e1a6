"""The draw of negative facts: of known difficulty, and with each tail about as often false as it is true."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from medfact.facts import Fact, KnowledgeBase, Tail, digest, name_key
from medfact.negatives.closeness import Closeness
from medfact.negatives.difficulty import CLOSEST, CLOSEST_SHARE, DIFFICULTIES, FAR, JUDGED, NEAR, Kinship, Nearness
from medfact.negatives.rules import Candidates, Places


class Dealt:
    """The strengths of a head's false tails in one relation.

    facts: those of the head. strata: its safe tails, as entities: kindred ones, others. Each strength gets a share of each.
    """

    def __init__(self, head: str, facts: Sequence[Fact], strata: Iterable[Iterable[str]]) -> None:
        self._head = head
        self._strengths = [fact.strength or "" for fact in sorted(facts, key=lambda fact: digest("strength", fact.fact_id))]
        tails = (tail for stratum in strata for tail in sorted(stratum, key=self._place))
        self._of = {tail: self._strengths[number % len(facts)] for number, tail in enumerate(tails)} if facts else {}

    def fit(self, fact: Fact, tail: str) -> bool:
        """Whether a tail, if it is false, is stated as strongly as the fact. What is not safe is dealt out by chance."""
        own = fact.strength or ""
        if {*self._strengths} == {own} or own not in self._strengths:
            return True
        if tail not in self._of:
            self._of[tail] = self._strengths[int(self._place(tail), 16) % len(self._strengths)]
        return self._of[tail] == own

    def _place(self, tail: str) -> str:
        return digest("strength", self._head, tail)


ANY, PUBLISHED = "any", "published"
PREFERENCES = {
    NEAR: "those of a kindred condition, near ones among them, where a safe one is left",
    FAR: "those of no kindred condition, mostly far ones, where a safe one is left",
    JUDGED: "those that a source calls false, where there are any; else as with near",
    CLOSEST: "those that come closest to being true: of the diseases with most in common",
    ANY: "every safe one alike",
    PUBLISHED: "the papers' draw: all that the relation lists elsewhere and not here",
}
"""Which negatives come first. With several per fact, kindred, other, judged and closest ones take turns, except under ANY and
PUBLISHED. Kindred ones (`difficulty.Kinship`) belong to the same specialty; only some of them are called near.
"""

_KINSHIP = {NEAR: 3000.0, JUDGED: 3000.0, ANY: 1.0, FAR: 1 / 3000.0}
"""How many times another tail's weight a kindred one has. Not infinite: where few are kindred, those would always be false."""

_CLOSENESS = -4.0
"""Under CLOSEST the weight of a head's r-th closest tail is r to the power of this. Not infinite, for the same reason."""

_ROUNDS = 60
_STEPS = 4
_MAX_STEP, _LEAST, _LOWEST = 5.0, 1e-12, -700.0
_STILL = 1e-12
"""Where no weight and no head's time changes by more than this share of it, further rounds change nothing but the rounding."""
_MAX_WEIGHT = 1e6
"""A weight goes from 1 / this to this: a tail that is safe for few heads cannot be drawn as often as it is true."""
_MAX_CELLS = 1_000_000
"""Above so many (head, tail) cells the draw is not balanced: few tails of so many are unsafe, and it is nearly so by itself."""

Weights = NDArray[np.float64]


def draw_negatives(
    fact: Fact,
    known: KnowledgeBase,
    count: int,
    seed: int,
    rejected: frozenset[str] = frozenset(),
    difficulty: str = NEAR,
) -> tuple[Fact, ...]:
    """Draws `count` negative facts of a positive one, with different tails; fewer if too few safe tails are left.

    Args:
        rejected: names of tails that are never drawn.
        difficulty: one of PREFERENCES.

    The draw depends only on the seed, the fact, the knowledge base and these two: not on which facts are under test, their
    order, the machine or the hash seed.
    """
    barred = frozenset(map(name_key, rejected))
    draws = _draws_of(known)
    allowed = (false for false in draws.false_tails(fact, seed, difficulty) if name_key(false.tail) not in barred)
    drawn = []
    for number, false in enumerate(islice(allowed, count), 1):
        negative = fact.negative(false.tail, false.tail_id, number)
        named = false.difficulty if false.difficulty in (JUDGED, CLOSEST) else draws.by_structure(fact, false.tail)
        drawn.append(replace(negative, difficulty=named, source=false.source, source_id=false.source_id))
    return tuple(drawn)


def difficulty_of(negative: Fact, known: KnowledgeBase) -> str | None:
    """The difficulty of a negative that a file states: *judged* if it names a source, else by its tail; None without a tail."""
    if negative.source:
        return JUDGED
    return None if negative.tail is None else _draws_of(known).by_structure(negative, negative.tail)


def closest_negative(fact: Fact, known: KnowledgeBase) -> Fact | None:
    """The false partner that comes closest to being true, which a draw of CLOSEST prefers; None without a safe tail."""
    tail = _draws_of(known).relation(fact).closest_tail(fact.head)
    return None if tail is None else replace(fact.negative(tail.name, tail.identifier, 1), difficulty=CLOSEST)


def _draws_of(known: KnowledgeBase) -> _Draws:
    """What was computed for earlier draws from the same knowledge base."""
    if _Draws not in known.memo:
        known.memo[_Draws] = _Draws(known)
    draws: _Draws = known.memo[_Draws]
    return draws


@dataclass(frozen=True, slots=True)
class _False:
    """A false tail. source, source_id: of a judged one. difficulty: until it is drawn, near stands for a kindred one."""

    tail: str
    tail_id: str | None
    difficulty: str
    source: str | None = None
    source_id: str | None = None


class _Draws:
    """The draws from one knowledge base."""

    def __init__(self, known: KnowledgeBase) -> None:
        self.known = known
        closeness = cache(partial(Closeness, known))
        self.nearness = Nearness(kinship := Kinship(known), closeness)
        self._relation_of = cache(partial(_Relation, known, kinship, self.nearness, closeness))
        self._judged: defaultdict[tuple[str, str], list[Fact]] = defaultdict(list)
        for negative in known.judged:
            self._judged[negative.relation, known.entity(negative.head)].append(negative)

    def false_tails(self, fact: Fact, seed: int, preference: str) -> Iterator[_False]:
        """False tails in the order in which they are drawn, each entity once."""
        if preference == PUBLISHED:
            return self._published(fact, seed)
        if preference == ANY:
            return self.relation(fact).safe_tails(fact, seed, preference)
        return self._in_turns(fact, seed, preference)

    def by_structure(self, fact: Fact, tail: str) -> str:
        """Whether this tail is near the fact's head or far from it."""
        return NEAR if self.nearness.is_near(fact.relation, fact.head, tail) else FAR

    def relation(self, fact: Fact) -> _Relation:
        return self._relation_of(fact.relation, fact.tail_type)

    def _in_turns(self, fact: Fact, seed: int, preference: str) -> Iterator[_False]:
        """One of each difficulty in turn, each entity once. The first is what is preferred, or else what the draw gives."""
        judged = list(self._judged_of(fact, seed))
        safe = self.relation(fact).safe_tails(fact, seed, preference)
        drawn_first = next(safe, None)
        stream = chain(judged, [drawn_first] if drawn_first else [], safe)
        waiting: dict[str, deque[_False]] = {kind: deque() for kind in DIFFICULTIES}
        seen: set[str] = set()

        def next_of(kind: str) -> _False | None:
            while (false := waiting[kind].popleft() if waiting[kind] else next(stream, None)) is not None:
                if false.difficulty != kind:
                    waiting[false.difficulty].append(false)
                elif self.known.entity(false.tail) not in seen:
                    return false
            return None

        first = JUDGED if drawn_first is None or (preference == JUDGED and judged) else drawn_first.difficulty
        turns = [first, *(kind for kind in DIFFICULTIES if kind != first)]
        while turns:
            for kind in list(turns):
                false = next_of(kind)
                if false is None:
                    turns.remove(kind)
                else:
                    seen.add(self.known.entity(false.tail))
                    yield false

    def _judged_of(self, fact: Fact, seed: int) -> Iterator[_False]:
        """The tails that a source calls false of the fact's head, by chance alone."""
        found = self._judged.get((fact.relation, self.known.entity(fact.head)), [])
        linked = self.known.linked(fact.head, fact.relation)
        for negative in sorted(found, key=lambda negative: digest(str(seed), fact.fact_id, negative.tail)):
            if negative.tail is None or self.known.entity(negative.tail) in linked:
                continue
            if self.relation(fact).as_strong(fact, negative.tail):
                yield _False(negative.tail, negative.tail_id, JUDGED, negative.source, negative.source_id)

    def _published(self, fact: Fact, seed: int) -> Iterator[_False]:
        """The papers' draw: uniform over the relation's tails by name, without those listed for the head."""
        listed = {
            name_key(f.tail) for f in self.known.facts_of(fact.head) if f.relation == fact.relation and f.tail is not None
        }
        tails = {tail.name: tail for tail in self.known.tails(fact.relation, fact.tail_type)}
        for name in sorted(tails, key=lambda name: digest(str(seed), fact.fact_id, name)):
            if name_key(name) not in listed and self.relation(fact).as_strong(fact, name):
                yield _False(name, tails[name].identifier, FAR)


class _Relation:
    """The draws of one relation and type of tails: one order of the safe tails per head, dealt out to the head's facts."""

    def __init__(
        self,
        known: KnowledgeBase,
        kinship: Kinship,
        nearness: Nearness,
        closeness: Callable[[], Closeness],
        relation: str,
        tail_type: str | None,
    ) -> None:
        self.known, self.kinship, self.nearness, self.closeness, self.relation = known, kinship, nearness, closeness, relation
        self.candidates = Candidates(known, relation, tail_type)
        self._facts: defaultdict[str, list[Fact]] = defaultdict(list)
        for fact in known.facts:
            if fact.tail is not None and (fact.relation, fact.tail_type) == (relation, tail_type):
                self._facts[known.entity(fact.head)].append(fact)
        self._safe_places, self._balanced, self._dealt_of = cache(self._places), cache(self._fitted), cache(self._dealt)
        self._ranks = cache(self._ranked)
        self._orders: tuple[tuple[int, str], dict[str, Places]] = (0, ""), {}

    def safe_tails(self, fact: Fact, seed: int, preference: str) -> Iterator[_False]:
        """The safe tails for a fact, as strong as it: its share of the head's order first: its facts get different ones."""
        places, kindred = self._safe_places(fact.head)
        order = self._order(fact.head, seed, NEAR if preference == JUDGED else preference)
        if dealt := self._dealt_of(fact.head):
            order = order[[dealt.fit(fact, self.candidates.entities[places[index]]) for index in order]]
        as_strong = (f for f in self._facts[self.known.entity(fact.head)] if (f.strength or "") == (fact.strength or ""))
        siblings = {sibling.fact_id for sibling in as_strong} | {fact.fact_id}
        turn, of = sorted(siblings, key=lambda sibling: digest(str(seed), sibling)).index(fact.fact_id), len(siblings)
        own, others = order[turn::of], (order[number] for number in range(len(order)) if number % of != turn)
        learned = self.known.learned_of(fact.head)
        for index in chain(own, others):
            if self.candidates.entities[places[index]] in learned:
                continue
            tail = self.candidates.tails[places[index]]
            is_closest = preference == CLOSEST and self._ranks(fact.head)[index] <= math.ceil(CLOSEST_SHARE * len(places))
            yield _False(tail.name, tail.identifier, CLOSEST if is_closest else NEAR if kindred[index] else FAR)

    def closest_tail(self, head: str) -> Tail | None:
        """The safe tail that comes closest to being true of a head."""
        places = self._safe_places(head)[0]
        return self.candidates.tails[places[self._ranks(head).argmin()]] if len(places) else None

    def as_strong(self, fact: Fact, tail: str) -> bool:
        """Whether this tail, if it is false of the fact's head, is stated of it as strongly as the fact."""
        dealt = self._dealt_of(fact.head)
        return dealt is None or dealt.fit(fact, self.known.entity(tail))

    def _dealt(self, head: str) -> Dealt | None:
        """The strengths of the head's false tails; None where its facts are all as strong, and so are these."""
        entity = self.known.entity(head)
        if len({fact.strength or "" for fact in self._facts[entity]}) < 2:
            return None
        places, kindred = self._safe_places(head)
        strata = [[self.candidates.entities[place] for place in places[mask]] for mask in (kindred, ~kindred)]
        return Dealt(entity, self._facts[entity], strata)

    def _order(self, head: str, seed: int, preference: str) -> Places:
        """The head's safe tails, by index, in the order in which its facts get them."""
        if len(self._facts) * len(self.candidates.tails) > _MAX_CELLS:
            return self._drawn_order(head, seed, preference)
        if self._orders[0] != (seed, preference):  # those of one seed are enough to keep
            self._orders = (seed, preference), {}
        orders = self._orders[1]
        if head not in orders:
            orders[head] = self._drawn_order(head, seed, preference)
        return orders[head]

    def _drawn_order(self, head: str, seed: int, preference: str) -> Places:
        """The head's safe tails as in a race: each comes first with a chance in proportion to its weight."""
        places = self._safe_places(head)[0]
        weights = self._balanced(preference)[places] * self._pull(head, preference)
        own_seed = int(digest(str(seed), self.relation, self.known.entity(head)), 16)
        stream = np.random.PCG64(own_seed).random_raw(len(self.candidates.tails))
        waits = -np.log((stream[places] + np.uint64(1)) / 2.0**64) / weights
        return np.argsort(waits, kind="stable")

    def _places(self, head: str) -> tuple[Places, NDArray[np.bool_]]:
        """The places, among the candidates, of the tails that are safe for a head, and which of them are kindred."""
        place_of, places, kindred = (
            self.candidates.place,
            self.candidates.safe(head),
            np.zeros(len(self.candidates.tails), dtype=bool),
        )
        kindred[[place_of[one] for one in place_of.keys() & self.kinship.tails(self.relation, head)]] = True
        return places, kindred[places]

    def _pull(self, head: str, preference: str) -> Weights:
        """How strongly each of the head's safe tails is preferred; balanced by `_fitted`, it is its weight in the race."""
        if preference == CLOSEST:
            return np.asarray(self._ranks(head) ** _CLOSENESS)
        return np.where(self._safe_places(head)[1], _KINSHIP[preference], 1.0)

    def _ranked(self, head: str) -> Places:
        """Of each of the head's safe tails, its place in the order of closeness, near ones first: 1 is the closest."""
        places, near = self._safe_places(head)[0], self.nearness.tails(self.relation, head)
        ranks = self.closeness().ranks(self.relation, head, [self.candidates.tails[place].name for place in places])
        far = [len(places) * (self.candidates.entities[place] not in near) for place in places]
        return np.argsort(np.argsort(ranks + np.array(far, dtype=np.int64))) + 1

    def _fitted(self, preference: str) -> Weights:
        """Weights with which each tail is expected to be drawn as often as it is true, as far as the rules allow.

        Where a frequent tail is safe for few heads, chance alone would show it mostly true, and its name would tell the label.
        A head with m facts draws m tails without putting one back, in exponential races: tail t is among them with a chance of
        about 1 − exp(−w_t·T), where the head's time T makes these chances sum to m. The weights solve: for each tail, the sum
        of its chances over all heads = the number of facts that state it (iterative proportional fitting).
        """
        times = np.array(self.candidates.times, dtype=np.float64)
        if len(self._facts) * len(times) > _MAX_CELLS:
            return times
        allowed, drawn = self._allowed(preference, list(self._facts.values()))
        drawable = allowed.any(axis=0)
        if drawable.any():
            times[drawable] = _weights(np.ascontiguousarray(allowed[:, drawable]), drawn, times[drawable])
        return times

    def _allowed(self, preference: str, groups: Sequence[Sequence[Fact]]) -> tuple[Weights, Weights]:
        """Heads × tails: 0 where a tail is not safe, else how strongly it is preferred; and the tails per head."""
        allowed = np.zeros((len(groups), len(self.candidates.tails)))
        for row, group in enumerate(groups):
            head = group[0].head
            allowed[row, self._safe_places(head)[0]] = self._pull(head, preference)
        open_rows = allowed.any(axis=1)
        drawn = np.minimum([len(group) for group in groups], (allowed > 0).sum(axis=1) - 0.5)
        return allowed[open_rows], drawn[open_rows]


def _weights(allowed: Weights, drawn: Weights, times: Weights) -> Weights:
    """Weights of tails (columns) with which heads (rows) draw so many, and each tail in proportion to `times`."""
    weights, ends = times, drawn / (allowed @ times)
    wanted = times * drawn.sum() / times.sum()
    for _ in range(_ROUNDS):
        before = weights, ends
        chances, ends = _chances(allowed * weights, drawn, ends)
        weights = weights * np.clip(wanted / chances.sum(axis=0), 1 / _MAX_STEP, _MAX_STEP)
        middle = np.median(weights)
        weights, ends = np.clip(weights / middle, 1 / _MAX_WEIGHT, _MAX_WEIGHT), ends * middle
        if all((np.abs(now - last) <= _STILL * now).all() for now, last in zip((weights, ends), before, strict=True)):
            break
    return weights


def _chances(rates: Weights, drawn: Weights, ends: Weights) -> tuple[Weights, Weights]:
    """Chances (heads × tails) 1 − exp(−rate·T) that sum to `drawn` per head, and those T, by Newton from `ends`."""
    left = np.empty_like(rates)  # large: to make it anew at every step would take longer
    for _ in range(_STEPS):
        _left(rates, ends, left)
        excess = rates.shape[1] - left.sum(axis=1) - drawn
        slope = np.maximum(np.einsum("ht,ht->h", rates, left), _LEAST)
        ends = np.clip(ends - excess / slope, ends / _MAX_STEP, ends * _MAX_STEP).clip(_LEAST, 1 / _LEAST)
    _left(rates, ends, left)
    return np.subtract(_LEAST + 1, left, out=left), ends


def _left(rates: Weights, ends: Weights, into: Weights) -> None:
    """exp(−rate·T). Below `_LOWEST` it is next to nothing, and numpy takes many times as long for it."""
    np.multiply(rates, -ends[:, None], out=into)
    np.exp(np.maximum(into, _LOWEST, out=into), out=into)
