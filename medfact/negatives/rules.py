"""Which tails are safe to call false of a head: RULES, checked in their order."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from medfact.facts import Fact, KnowledgeBase, Tail, name_key

Places = NDArray[np.int64]

MAX_SHARE_OF_HEADS = 0.5
"""From 0 to 1: a tail of a larger share of the relation's heads is never drawn."""
MIN_SHARED_TAIL_FACTS = 4
"""With fewer facts, a share of heads means nothing, and MAX_SHARE_OF_HEADS does not apply."""

_JUNK = re.compile(r"\b(unknown|unspecified|not otherwise specified|nos|miscellaneous|other)\b", re.IGNORECASE)
_SMALL_WORDS = frozenset({"a", "an", "and", "by", "for", "in", "of", "on", "or", "the", "to", "with"})

RULES = {
    "itself": "is the condition itself, or another name of it",
    "known": "is linked to the condition in a known fact, under any name or identifier, in any relation, in either direction",
    "relative": "is above or below a listed finding, or the condition, in a known hierarchy",
    "nested": "holds all the words of the condition or of a finding that is listed for it, or is held in one",
    "common": "is true of more than half of the relation's conditions, or of so many that it may be true of this one",
    "junk": "names nothing definite",
    "rejected": "was rejected by a reviewer",
}
"""Why a candidate is left out, in the order in which the rules are checked."""


@dataclass(frozen=True)
class Explanation:
    """candidates: how many tails have the right type. removed: rule → how many of them it left out."""

    candidates: int
    removed: dict[str, int]

    @property
    def left(self) -> int:
        return self.candidates - sum(self.removed.values())


def explain(fact: Fact, known: KnowledgeBase, rejected: frozenset[str] = frozenset()) -> Explanation:
    """Counts how many of the different tails of the fact's relation and type each rule leaves out."""
    broken_by = Rules(known, fact.relation, fact.tail_type, fact.head, rejected).broken_by
    candidates = Candidates(known, fact.relation, fact.tail_type).tails
    removed = Counter(rule for tail in candidates if (rule := broken_by(tail)) is not None)
    return Explanation(len(candidates), {rule: removed[rule] for rule in RULES if removed[rule]})


class Rules:
    """RULES for one head and the tails of one relation and type."""

    def __init__(
        self, known: KnowledgeBase, relation: str, tail_type: str | None, head: str, rejected: frozenset[str] = frozenset()
    ) -> None:
        self.known = known
        self.relation = relation
        self.shares_count = len(known.tails(relation, tail_type)) >= MIN_SHARED_TAIL_FACTS
        self.rejected = frozenset(name_key(name) for name in rejected)
        self.head = known.entity(head)
        self.linked = known.linked(head, relation)
        self.learned = known.learned_of(head)
        listed = known.known_tails(head, relation)
        self.listed = frozenset(map(_words, (head, *listed)))
        self.relatives = known.relatives_around(head, relation)
        self.too_common = known.too_common(head, relation)

    @cached_property
    def listed_with(self) -> dict[str, list[frozenset[str]]]:
        """Word → the head's and the listed tails' words, where it is among them."""
        listed: defaultdict[str, list[frozenset[str]]] = defaultdict(list)
        for words in self.listed:
            for word in words:
                listed[word].append(words)
        return listed

    def broken_by(self, tail: Tail) -> str | None:
        """The rule that leaves a candidate out, or None if it is safe."""
        entity = self.known.entity(tail.name)
        if entity == self.head:
            return "itself"
        if entity in self.linked | self.learned:
            return "known"
        if entity in self.relatives:
            return "relative"
        if self._nested(_words(tail.name)):
            return "nested"
        shared = self.known.share_of_heads(self.relation, tail.name) if self.shares_count else 0.0
        if shared > MAX_SHARE_OF_HEADS or entity in self.too_common:
            return "common"
        if _JUNK.search(tail.name):
            return "junk"
        return "rejected" if name_key(tail.name) in self.rejected else None

    def _nested(self, words: frozenset[str]) -> bool:
        """Whether the words of the head or of a listed tail include all of these, or are all included in them."""
        if not words or frozenset() in self.listed:
            return True
        sharing = (listed for word in words for listed in self.listed_with.get(word, ()))
        return any(words <= listed or listed <= words for listed in sharing)


@lru_cache(maxsize=1 << 16)
def _words(name: str) -> frozenset[str]:
    words = frozenset(re.findall(r"\w+", name.casefold()))
    return words - _SMALL_WORDS or words


class Candidates:
    """The tails of a relation and type, one per entity and sorted by name, and which of them are safe for which head."""

    def __init__(self, known: KnowledgeBase, relation: str, tail_type: str | None) -> None:
        self.known, self.relation, self.tail_type = known, relation, tail_type
        stated = known.tails(relation, tail_type)
        first = {known.entity(tail.name): tail for tail in reversed(stated)}
        self.entities = sorted(first, key=lambda entity: first[entity].name)
        self.tails = [first[entity] for entity in self.entities]
        self.place = {entity: number for number, entity in enumerate(self.entities)}
        times = Counter(known.entity(tail.name) for tail in stated)
        self.times = [times[entity] for entity in self.entities]
        self._nested = lru_cache(maxsize=1 << 16)(self._nested_with)

    def safe(self, head: str) -> Places:
        """The places of the tails that break no rule for this head, ascending: `Rules.broken_by`, for all of them at once."""
        rules = Rules(self.known, self.relation, self.tail_type, head)
        if frozenset() in rules.listed:
            return np.empty(0, dtype=np.int64)
        barred = {rules.head, *rules.linked, *rules.relatives, *rules.too_common}
        broken = {self.place[entity] for entity in self.place.keys() & barred}
        is_safe = self._safe_for_some.copy()
        is_safe[list(broken.union(*map(self._nested, rules.listed)))] = False
        return np.flatnonzero(is_safe)

    @cached_property
    def _safe_for_some(self) -> NDArray[np.bool_]:
        """Of each tail, whether it may be safe: those without a word, with a junk word and the common ones never are."""
        share = self.known.share_of_heads if sum(self.times) >= MIN_SHARED_TAIL_FACTS else lambda relation, tail: 0.0
        common = (share(self.relation, tail.name) > MAX_SHARE_OF_HEADS for tail in self.tails)
        definite = (_words(tail.name) and not _JUNK.search(tail.name) for tail in self.tails)
        return np.array([bool(is_definite) and not is_common for is_definite, is_common in zip(definite, common, strict=True)])

    def _nested_with(self, listed: frozenset[str]) -> frozenset[int]:
        """The places of the tails whose words hold all of these, or are held in them."""
        holding = sorted((self._with_word.get(word, frozenset()) for word in listed), key=len)
        held = (place for word in listed for place in self._by_rarest.get(word, ()))
        return holding[0].intersection(*holding[1:]).union(place for place in held if _words(self.tails[place].name) <= listed)

    @cached_property
    def _with_word(self) -> dict[str, frozenset[int]]:
        places: defaultdict[str, set[int]] = defaultdict(set)
        for place, tail in enumerate(self.tails):
            for word in _words(tail.name):
                places[word].add(place)
        return {word: frozenset(those) for word, those in places.items()}

    @cached_property
    def _by_rarest(self) -> dict[str, list[int]]:
        """The places of the tails, each under the rarest of its words alone."""
        places: defaultdict[str, list[int]] = defaultdict(list)
        for place, tail in enumerate(self.tails):
            if words := _words(tail.name):
                places[min(words, key=lambda word: len(self._with_word[word]))].append(place)
        return places
