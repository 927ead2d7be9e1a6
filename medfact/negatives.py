"""Negative facts that are safe to call false: the same head and relation, another tail of the same type.

A random tail of the relation is often true, even without the listed ones. RULES therefore leaves candidates out; the first
rule that applies counts. The draw depends only on the seed, the fact, the knowledge base and the rejections: not on which
facts are under test, their order, the machine or the hash seed.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from medfact.facts import Fact, KnowledgeBase, Tail, digest, name_key

MAX_SHARE_OF_HEADS = 0.5
"""From 0 to 1: a tail of a larger share of the relation's heads is never drawn."""
MIN_SHARED_TAIL_FACTS = 4
"""With fewer facts, a share of heads means nothing, and MAX_SHARE_OF_HEADS does not apply."""

_JUNK = re.compile(r"\b(unknown|unspecified|not otherwise specified|nos|miscellaneous|other)\b", re.IGNORECASE)
_SMALL_WORDS = frozenset({"a", "an", "and", "by", "for", "in", "of", "on", "or", "the", "to", "with"})

RULES = {
    "itself": "is the head itself, or another name of it",
    "known": "is linked to the head in a known fact, under any name or identifier, in any relation, in either direction",
    "relative": "is above or below a listed tail, or the head, in a known hierarchy",
    "nested": "holds all the words of a tail that is listed for the head, or is held in one",
    "common": "is a tail of more than half of the relation's heads",
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


def draw_negatives(
    fact: Fact, known: KnowledgeBase, count: int, seed: int, rejected: frozenset[str] = frozenset()
) -> tuple[Fact, ...]:
    """Draws `count` negative facts of a positive one, with different tails; fewer if too few safe tails are left.

    Tails are drawn as often as they are true of some head, so that a frequent tail gives no hint of the label.
    """
    broken_rule = _Rules(fact, known, rejected).broken_by
    negatives: list[Fact] = []
    drawn: set[str] = set()
    for tail in _shuffled(known.tails(fact.relation, fact.tail_type), digest(str(seed), fact.fact_id)):
        if len(negatives) == count:
            break
        entity = known.entity(tail.name)
        if entity not in drawn and broken_rule(tail) is None:
            drawn.add(entity)
            negatives.append(fact.negative(tail.name, tail.identifier, len(negatives) + 1))
    return tuple(negatives)


def explain(fact: Fact, known: KnowledgeBase, rejected: frozenset[str] = frozenset()) -> Explanation:
    """Counts how many of the different tails of the fact's relation and type each rule leaves out."""
    broken_rule = _Rules(fact, known, rejected).broken_by
    candidates = {tail.name: tail for tail in known.tails(fact.relation, fact.tail_type)}.values()
    removed = Counter(rule for tail in candidates if (rule := broken_rule(tail)) is not None)
    return Explanation(len(candidates), {rule: removed[rule] for rule in RULES if removed[rule]})


class _Rules:
    """RULES for one fact."""

    def __init__(self, fact: Fact, known: KnowledgeBase, rejected: frozenset[str]) -> None:
        self.fact = fact
        self.known = known
        self.rejected = frozenset(name_key(name) for name in rejected)
        self.head = known.entity(fact.head)
        self.linked = known.linked(fact.head)
        self.listed = frozenset(map(_words, known.known_tails(fact.head)))
        self.listed_words = frozenset().union(*self.listed)
        names = (fact.head, *known.known_tails(fact.head)) if known.is_a else ()
        self.relatives = frozenset(relative for name in names for relative in known.relatives(name))

    def broken_by(self, tail: Tail) -> str | None:
        """The rule that leaves a candidate out, or None if it is safe."""
        entity = self.known.entity(tail.name)
        if entity == self.head:
            return "itself"
        if entity in self.linked:
            return "known"
        if entity in self.relatives:
            return "relative"
        if self._nested(_words(tail.name)):
            return "nested"
        if self._common(tail):
            return "common"
        if _JUNK.search(tail.name):
            return "junk"
        return "rejected" if name_key(tail.name) in self.rejected else None

    def _nested(self, words: frozenset[str]) -> bool:
        """Whether the words of a listed tail include all of these, or are all included in them."""
        if words and self.listed_words.isdisjoint(words) and frozenset() not in self.listed:
            return False
        return any(map(words.issubset, self.listed)) or any(map(words.issuperset, self.listed))

    def _common(self, tail: Tail) -> bool:
        facts = len(self.known.tails(self.fact.relation, self.fact.tail_type))
        share = self.known.share_of_heads(self.fact.relation, tail.name)
        return share > MAX_SHARE_OF_HEADS and facts >= MIN_SHARED_TAIL_FACTS


@lru_cache(maxsize=1 << 16)
def _words(name: str) -> frozenset[str]:
    words = frozenset(re.findall(r"\w+", name.casefold()))
    return words - _SMALL_WORDS or words


def _shuffled(tails: tuple[Tail, ...], key: str) -> Iterator[Tail]:
    """The tails in an order that depends on the key alone. A lazy Fisher–Yates shuffle: callers stop early."""
    randomness = random.Random(int(key, 16))
    order: dict[int, int] = {}
    for i in range(len(tails)):
        j = i + int(randomness.random() * (len(tails) - i))
        order[i], order[j] = order.get(j, j), order.get(i, i)
        yield tails[order[i]]
