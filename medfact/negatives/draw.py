"""Draws negative facts of known difficulty, balanced so that each tail is about as often false as true."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray

from medfact.facts import Fact, KnowledgeBase, Tail, digest, name_key
from medfact.negatives.difficulty import (
    CLOSEST,
    CLOSEST_SHARE,
    DIFFICULTIES,
    FAR,
    JUDGED,
    NEAR,
    Closeness,
    Kinship,
    Nearness,
)
from medfact.negatives.rules import CandidateTails, Indices


class StrengthAssignment:
    """Assigns a strength (`Fact.strength`) to each false tail of a head, so that it gives no hint of the label.

    The strengths of the head's true facts in the relation are assigned in proportion to their numbers.

    Args:
        facts: true facts of the head in the relation.
        strata: entities of its safe tails, kindred ones and others. Each stratum is divided separately.
    """

    def __init__(self, head: str, facts: Sequence[Fact], strata: Iterable[Iterable[str]]) -> None:
        self._head = head
        self._strengths = [fact.strength or "" for fact in sorted(facts, key=lambda fact: digest("strength", fact.fact_id))]
        tails = (tail for stratum in strata for tail in sorted(stratum, key=self._digest))
        self._strength_by_tail = (
            {tail: self._strengths[number % len(facts)] for number, tail in enumerate(tails)} if facts else {}
        )

    def matches(self, fact: Fact, tail: str) -> bool:
        """Returns True if a false tail has the strength of a fact. A tail outside the strata gets a random strength."""
        strength = fact.strength or ""
        if {*self._strengths} == {strength} or strength not in self._strengths:
            return True
        if tail not in self._strength_by_tail:
            self._strength_by_tail[tail] = self._strengths[int(self._digest(tail), 16) % len(self._strengths)]
        return self._strength_by_tail[tail] == strength

    def _digest(self, tail: str) -> str:
        """Pseudorandom key of a tail, by which tails are shuffled."""
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
"""Preference of a draw → description of the negatives that come first, for users. If a fact gets several negatives, kindred,
other, judged and closest ones take turns, except under ANY and PUBLISHED.
"""

_KINDRED_WEIGHT = {NEAR: 3000.0, JUDGED: 3000.0, ANY: 1.0, FAR: 1 / 3000.0}
"""Preference → weight of kindred tails (`Kinship`) relative to others. With an infinite one, the few kindred tails of a
relation would always be false.
"""

_CLOSENESS_EXPONENT = -4.0
"""Exponent of the rank by closeness, in the weight of a tail under CLOSEST. It is finite for the same reason."""

_MAX_ROUNDS = 60  # of proportional fitting
_NEWTON_STEPS = 4  # per round
_MAX_STEP, _EPSILON, _MIN_EXPONENT = 5.0, 1e-12, -700.0  # _MAX_STEP: factor by which a round changes a weight, at most
_TOLERANCE = 1e-12
"""Relative change of weights and times below which the fit has converged, up to rounding."""
_MAX_WEIGHT = 1e6
"""Weights are clipped to [1 / _MAX_WEIGHT, _MAX_WEIGHT]: a tail that is safe for few heads cannot be drawn often enough."""
_MAX_CELLS = 1_000_000
"""Maximum number of (head, tail) cells of a relation whose weights are fitted and whose orders are cached. In larger relations
few tails are unsafe, so that draws without fitted weights are nearly balanced.
"""

Weights = NDArray[np.float64]


def draw_negatives(
    fact: Fact,
    knowledge: KnowledgeBase,
    count: int,
    seed: int,
    rejected: frozenset[str] = frozenset(),
    difficulty: str = NEAR,
) -> tuple[Fact, ...]:
    """Draws `count` negative facts of a positive one, with different tails; fewer if there are too few safe tails.

    The draw depends only on the arguments: not on the facts under test, their order, the machine or the hash seed.

    Args:
        rejected: names of tails that are never drawn.
        difficulty: the preference, a key of PREFERENCES.
    """
    barred = frozenset(map(name_key, rejected))
    draws = _cached_draws(knowledge)
    allowed = (false for false in draws.false_tails(fact, seed, difficulty) if name_key(false.tail) not in barred)
    negatives = []
    for number, false in enumerate(islice(allowed, count), 1):
        negative = fact.negative(false.tail, false.tail_id, number)
        level = false.difficulty if false.difficulty in (JUDGED, CLOSEST) else draws.near_or_far(fact, false.tail)
        negatives.append(replace(negative, difficulty=level, source=false.source, source_id=false.source_id))
    return tuple(negatives)


def difficulty_of(negative: Fact, knowledge: KnowledgeBase) -> str | None:
    """Difficulty of a negative that a file states: *judged* if it names a source, else *near* or *far*; None without a tail."""
    if negative.source:
        return JUDGED
    return None if negative.tail is None else _cached_draws(knowledge).near_or_far(negative, negative.tail)


def closest_negative(fact: Fact, knowledge: KnowledgeBase) -> Fact | None:
    """The negative of a fact with the closest safe tail of its head; None if the head has no safe tail."""
    tail = _cached_draws(knowledge).relation_draws(fact).closest_tail(fact.head)
    return None if tail is None else replace(fact.negative(tail.name, tail.identifier, 1), difficulty=CLOSEST)


def _cached_draws(knowledge: KnowledgeBase) -> _NegativeDraws:
    """Returns the draws from a knowledge base, cached in its memo."""
    if _NegativeDraws not in knowledge.memo:
        knowledge.memo[_NegativeDraws] = _NegativeDraws(knowledge)
    draws: _NegativeDraws = knowledge.memo[_NegativeDraws]
    return draws


@dataclass(frozen=True, slots=True)
class _FalseTail:
    """A drawn false tail. Only a judged one has a source."""

    tail: str
    tail_id: str | None
    difficulty: str  # until `draw_negatives` replaces it, NEAR stands for kindred tails and FAR for others
    source: str | None = None
    source_id: str | None = None


class _NegativeDraws:
    """Draws false tails from one knowledge base."""

    def __init__(self, knowledge: KnowledgeBase) -> None:
        self.knowledge = knowledge
        closeness = cache(partial(Closeness, knowledge))
        self.nearness = Nearness(kinship := Kinship(knowledge), closeness)
        self._relation_draws = cache(partial(_RelationDraws, knowledge, kinship, self.nearness, closeness))
        self._judged: defaultdict[tuple[str, str], list[Fact]] = defaultdict(list)
        for negative in knowledge.judged:
            self._judged[negative.relation, knowledge.entity(negative.head)].append(negative)

    def false_tails(self, fact: Fact, seed: int, preference: str) -> Iterator[_FalseTail]:
        """Yields false tails of a fact in the order of the draw, each entity once. preference: a key of PREFERENCES."""
        if preference == PUBLISHED:
            return self._published_order(fact, seed)
        if preference == ANY:
            return self.relation_draws(fact).safe_tails(fact, seed, preference)
        return self._alternate_difficulties(fact, seed, preference)

    def near_or_far(self, fact: Fact, tail: str) -> str:
        """Returns NEAR or FAR, the difficulty of a false tail of the fact's head if no source judges it."""
        return NEAR if self.nearness.is_near(fact.relation, fact.head, tail) else FAR

    def relation_draws(self, fact: Fact) -> _RelationDraws:
        """Returns the draws for a fact's relation and type of tail."""
        return self._relation_draws(fact.relation, fact.tail_type)

    def _alternate_difficulties(self, fact: Fact, seed: int, preference: str) -> Iterator[_FalseTail]:
        """Yields one tail of each difficulty in turn, each entity once; the preferred difficulty comes first."""
        judged = list(self._judged_tails(fact, seed))
        safe = self.relation_draws(fact).safe_tails(fact, seed, preference)
        first_safe = next(safe, None)
        stream = chain(judged, [first_safe] if first_safe else [], safe)
        waiting: dict[str, deque[_FalseTail]] = {kind: deque() for kind in DIFFICULTIES}
        seen: set[str] = set()

        def next_of(kind: str) -> _FalseTail | None:
            while (false := waiting[kind].popleft() if waiting[kind] else next(stream, None)) is not None:
                if false.difficulty != kind:
                    waiting[false.difficulty].append(false)
                elif self.knowledge.entity(false.tail) not in seen:
                    return false
            return None

        first = JUDGED if first_safe is None or (preference == JUDGED and judged) else first_safe.difficulty
        turns = [first, *(kind for kind in DIFFICULTIES if kind != first)]
        while turns:
            for kind in list(turns):
                false = next_of(kind)
                if false is None:
                    turns.remove(kind)
                else:
                    seen.add(self.knowledge.entity(false.tail))
                    yield false

    def _judged_tails(self, fact: Fact, seed: int) -> Iterator[_FalseTail]:
        """Yields the tails that a source calls false of the fact's head, in random order."""
        negatives = self._judged.get((fact.relation, self.knowledge.entity(fact.head)), [])
        linked = self.knowledge.linked(fact.head, fact.relation)
        for negative in sorted(negatives, key=lambda negative: digest(str(seed), fact.fact_id, negative.tail)):
            if negative.tail is None or self.knowledge.entity(negative.tail) in linked:
                continue
            if self.relation_draws(fact).matches_strength(fact, negative.tail):
                yield _FalseTail(negative.tail, negative.tail_id, JUDGED, negative.source, negative.source_id)

    def _published_order(self, fact: Fact, seed: int) -> Iterator[_FalseTail]:
        """Yields the tails of the papers' draw: uniform over the relation's tails by name, except those listed for the head."""
        listed = {
            name_key(f.tail)
            for f in self.knowledge.facts_about(fact.head)
            if f.relation == fact.relation and f.tail is not None
        }
        tails = {tail.name: tail for tail in self.knowledge.tails(fact.relation, fact.tail_type)}
        for name in sorted(tails, key=lambda name: digest(str(seed), fact.fact_id, name)):
            if name_key(name) not in listed and self.relation_draws(fact).matches_strength(fact, name):
                yield _FalseTail(name, tails[name].identifier, FAR)


class _RelationDraws:
    """Draws for one relation and type of tail: a random order of each head's safe tails, divided among the head's facts."""

    def __init__(
        self,
        knowledge: KnowledgeBase,
        kinship: Kinship,
        nearness: Nearness,
        closeness: Callable[[], Closeness],
        relation: str,
        tail_type: str | None,
    ) -> None:
        self.knowledge, self.relation = knowledge, relation
        self.kinship, self.nearness, self.closeness = kinship, nearness, closeness
        self.candidates = CandidateTails(knowledge, relation, tail_type)
        self._facts: defaultdict[str, list[Fact]] = defaultdict(list)
        for fact in knowledge.facts:
            if fact.tail is not None and (fact.relation, fact.tail_type) == (relation, tail_type):
                self._facts[knowledge.entity(fact.head)].append(fact)
        self._safe_tails, self._fitted_weights = cache(self._find_safe_tails), cache(self._fit_tail_weights)
        self._strength_assignment, self._cached_ranks = cache(self._assign_strengths), cache(self._closeness_ranks)
        self._is_small = len(self._facts) * len(self.candidates.tails) <= _MAX_CELLS
        self._order = lru_cache(maxsize=len(self._facts) if self._is_small else 0)(self._draw_order)

    def safe_tails(self, fact: Fact, seed: int, preference: str) -> Iterator[_FalseTail]:
        """Yields the safe tails with the strength of a fact, in random order. Facts of a head begin with different tails."""
        indices, kindred = self._safe_tails(fact.head)
        order = self._order(fact.head, seed, NEAR if preference == JUDGED else preference)
        if assignment := self._strength_assignment(fact.head):
            order = order[[assignment.matches(fact, self.candidates.entities[indices[number]]) for number in order]]
        peers = (f for f in self._facts[self.knowledge.entity(fact.head)] if (f.strength or "") == (fact.strength or ""))
        siblings = sorted({f.fact_id for f in peers} | {fact.fact_id}, key=lambda fact_id: digest(str(seed), fact_id))
        turn, turns = siblings.index(fact.fact_id), len(siblings)
        others = (order[at] for at in range(len(order)) if at % turns != turn)
        learned = self.knowledge.learned_entities(fact.head)
        for number in chain(order[turn::turns], others):
            if self.candidates.entities[indices[number]] in learned:
                continue
            tail = self.candidates.tails[indices[number]]
            is_closest = preference == CLOSEST and self._cached_ranks(fact.head)[number] <= math.ceil(
                CLOSEST_SHARE * len(indices)
            )
            yield _FalseTail(tail.name, tail.identifier, CLOSEST if is_closest else NEAR if kindred[number] else FAR)

    def closest_tail(self, head: str) -> Tail | None:
        """The safe tail with the highest closeness to a head; None if the head has no safe tail."""
        indices = self._safe_tails(head)[0]
        return self.candidates.tails[indices[self._cached_ranks(head).argmin()]] if len(indices) else None

    def matches_strength(self, fact: Fact, tail: str) -> bool:
        """Returns True if a false tail of the fact's head has the fact's strength."""
        assignment = self._strength_assignment(fact.head)
        return assignment is None or assignment.matches(fact, self.knowledge.entity(tail))

    def _assign_strengths(self, head: str) -> StrengthAssignment | None:
        """Assigns strengths to the head's false tails; None if all its facts have the same strength."""
        entity = self.knowledge.entity(head)
        if len({fact.strength or "" for fact in self._facts[entity]}) < 2:
            return None
        indices, kindred = self._safe_tails(head)
        strata = [[self.candidates.entities[index] for index in indices[mask]] for mask in (kindred, ~kindred)]
        return StrengthAssignment(entity, self._facts[entity], strata)

    def _draw_order(self, head: str, seed: int, preference: str) -> Indices:
        """A random order of the head's safe tails, by an exponential race with their weights."""
        indices = self._safe_tails(head)[0]
        weights = self._fitted_weights(preference)[indices] * self._preference_weights(head, preference)
        head_seed = int(digest(str(seed), self.relation, self.knowledge.entity(head)), 16)
        stream = np.random.PCG64(head_seed).random_raw(len(self.candidates.tails))
        times = -np.log((stream[indices] + np.uint64(1)) / 2.0**64) / weights
        return np.argsort(times, kind="stable")

    def _find_safe_tails(self, head: str) -> tuple[Indices, NDArray[np.bool_]]:
        """Indices of a head's safe tails in `candidates.tails`, and a mask, as long, of the kindred ones among them."""
        indices, kindred = self.candidates.safe_indices(head), self.kinship.kindred_tails(self.relation, head)
        return indices, np.array([self.candidates.entities[index] in kindred for index in indices], dtype=bool)

    def _preference_weights(self, head: str, preference: str) -> Weights:
        """Weights of a head's safe tails by a preference, to be multiplied by the weights of `_fit_tail_weights`."""
        if preference == CLOSEST:
            return np.asarray(self._cached_ranks(head) ** _CLOSENESS_EXPONENT)
        return np.where(self._safe_tails(head)[1], _KINDRED_WEIGHT[preference], 1.0)

    def _closeness_ranks(self, head: str) -> Indices:
        """Rank of each of a head's safe tails by closeness, near ones first; 1 is the closest."""
        indices, near = self._safe_tails(head)[0], self.nearness.near_tails(self.relation, head)
        ranks = self.closeness().closeness_ranks(self.relation, head, [self.candidates.tails[index].name for index in indices])
        far = [len(indices) * (self.candidates.entities[index] not in near) for index in indices]
        return np.argsort(np.argsort(ranks + np.array(far, dtype=np.int64))) + 1

    def _fit_tail_weights(self, preference: str) -> Weights:
        """Fits weights of the candidate tails, with which each is drawn about as often as it is true, within the rules.

        Without these weights, a frequent tail that is safe for few heads would be mostly true: its name would reveal the label.
        A head with m facts draws m tails without replacement, in exponential races. Tail t is among them with a probability of
        about 1 − exp(−w_t·T); the head's time T makes these probabilities sum to m. The weights solve, by iterative
        proportional fitting: for each tail, the sum of its probabilities over all heads = the number of facts that state it.
        """
        weights = np.array(self.candidates.counts, dtype=np.float64)
        if not self._is_small:
            return weights
        allowed, draws = self._preference_matrix(preference, list(self._facts.values()))
        drawable = allowed.any(axis=0)
        if drawable.any():
            weights[drawable] = _fit_weights(np.ascontiguousarray(allowed[:, drawable]), draws, weights[drawable])
        return weights

    def _preference_matrix(self, preference: str, groups: Sequence[Sequence[Fact]]) -> tuple[Weights, Weights]:
        """Preference weights (heads × tails), 0 for unsafe tails; and draws per head (heads). groups: facts of each head."""
        allowed = np.zeros((len(groups), len(self.candidates.tails)))
        for row, group in enumerate(groups):
            head = group[0].head
            allowed[row, self._safe_tails(head)[0]] = self._preference_weights(head, preference)
        open_rows = allowed.any(axis=1)
        draws = np.minimum([len(group) for group in groups], (allowed > 0).sum(axis=1) - 0.5)
        return allowed[open_rows], draws[open_rows]


def _fit_weights(allowed: Weights, draws: Weights, counts: Weights) -> Weights:
    """Fits weights (tails) so that each head makes its draws, and each tail is drawn in proportion to `counts`.

    allowed: preference weights (heads × tails), 0 for unsafe tails. draws: number of draws per head. counts: facts per tail.
    """
    weights, times = counts, draws / (allowed @ counts)
    expected = counts * draws.sum() / counts.sum()
    for _ in range(_MAX_ROUNDS):
        before = weights, times
        chances, times = _draw_probabilities(allowed * weights, draws, times)
        weights = weights * np.clip(expected / chances.sum(axis=0), 1 / _MAX_STEP, _MAX_STEP)
        median = np.median(weights)
        weights, times = np.clip(weights / median, 1 / _MAX_WEIGHT, _MAX_WEIGHT), times * median
        pairs = zip((weights, times), before, strict=True)
        if all((np.abs(now - last) <= _TOLERANCE * now).all() for now, last in pairs):
            break
    return weights


def _draw_probabilities(rates: Weights, draws: Weights, times: Weights) -> tuple[Weights, Weights]:
    """Probabilities 1 − exp(−rate·T) (heads × tails) that sum to `draws` per head, and these T, by Newton's method."""
    survival = np.empty_like(rates)  # large: allocating it at every step would take longer
    for _ in range(_NEWTON_STEPS):
        _survival_probabilities(rates, times, survival)
        excess = rates.shape[1] - survival.sum(axis=1) - draws
        slope = np.maximum(np.einsum("ht,ht->h", rates, survival), _EPSILON)
        times = np.clip(times - excess / slope, times / _MAX_STEP, times * _MAX_STEP).clip(_EPSILON, 1 / _EPSILON)
    _survival_probabilities(rates, times, survival)
    return np.subtract(_EPSILON + 1, survival, out=survival), times


def _survival_probabilities(rates: Weights, times: Weights, out: Weights) -> None:
    """Computes exp(−rate·T) into `out`. Exponents are clipped at `_MIN_EXPONENT`: below it numpy is many times slower."""
    np.multiply(rates, -times[:, None], out=out)
    np.exp(np.maximum(out, _MIN_EXPONENT, out=out), out=out)
