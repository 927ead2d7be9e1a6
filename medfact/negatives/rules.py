"""Rules that exclude tails which may be true of a head, so that the others are safe to call false."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from medfact.facts import Fact, KnowledgeBase, Tail, name_key

Indices = NDArray[np.int64]

MAX_SHARE_OF_HEADS = 0.5
"""A tail that is true of a larger fraction of the relation's heads is never drawn as false."""
MIN_FACTS_FOR_SHARE = 4
"""MAX_SHARE_OF_HEADS does not apply to relations with fewer facts."""

_INDEFINITE = re.compile(r"\b(unknown|unspecified|not otherwise specified|nos|miscellaneous|other)\b", re.IGNORECASE)
_FUNCTION_WORDS = frozenset({"a", "an", "and", "by", "for", "in", "of", "on", "or", "the", "to", "with"})

RULES = {
    "itself": "is the condition itself, or another name of it",
    "known": "is linked to the condition in a known fact, under any name or identifier, in any relation, in either direction",
    "relative": "is above or below a listed finding, or the condition, in a known hierarchy",
    "nested": "holds all the words of the condition or of a finding that is listed for it, or is held in one",
    "common": "is true of more than half of the relation's conditions, or of so many that it may be true of this one",
    "junk": "names nothing definite",
    "rejected": "was rejected by a reviewer",
}
"""Rule → why it excludes a tail, for users, in the order of the checks."""


@dataclass(frozen=True)
class ExclusionCounts:
    """Numbers of candidate tails for a fact's negatives."""

    candidates: int
    excluded: dict[str, int]  # key of RULES → number that it excludes; each counts for its first rule

    @property
    def safe(self) -> int:
        """Number of candidates that no rule excludes."""
        return self.candidates - sum(self.excluded.values())


def count_exclusions(fact: Fact, knowledge: KnowledgeBase, rejected: frozenset[str] = frozenset()) -> ExclusionCounts:
    """Counts the tails of a fact's relation and type that each rule excludes. rejected: names that reviewers rejected."""
    broken_rule = SafetyRules(knowledge, fact.relation, fact.tail_type, fact.head, rejected).broken_rule
    candidates = CandidateTails(knowledge, fact.relation, fact.tail_type).tails
    excluded = Counter(rule for tail in candidates if (rule := broken_rule(tail)) is not None)
    return ExclusionCounts(len(candidates), {rule: excluded[rule] for rule in RULES if excluded[rule]})


class SafetyRules:
    """Applies RULES to tails of one relation and type, for one head. rejected: names of tails that reviewers rejected."""

    def __init__(
        self, knowledge: KnowledgeBase, relation: str, tail_type: str | None, head: str, rejected: frozenset[str] = frozenset()
    ) -> None:
        self.knowledge = knowledge
        self.relation = relation
        self.checks_share = len(knowledge.tails(relation, tail_type)) >= MIN_FACTS_FOR_SHARE
        self.rejected = frozenset(name_key(name) for name in rejected)
        self.head = knowledge.entity(head)
        self.linked = knowledge.linked(head, relation)
        self.learned = knowledge.learned_entities(head)
        listed = knowledge.known_tails(head, relation)
        self.listed = frozenset(map(_content_words, (head, *listed)))
        self.relatives = knowledge.relatives_of_head(head, relation)
        self.too_common_tails = knowledge.too_common_tails(head, relation)

    @cached_property
    def listed_with(self) -> dict[str, list[frozenset[str]]]:
        """Word → the names of the head and its known tails that contain the word. Each name is a set of words."""
        listed: defaultdict[str, list[frozenset[str]]] = defaultdict(list)
        for words in self.listed:
            for word in words:
                listed[word].append(words)
        return listed

    def broken_rule(self, tail: Tail) -> str | None:
        """Key of the rule that excludes a tail; None if the tail is safe."""
        entity = self.knowledge.entity(tail.name)
        if entity == self.head:
            return "itself"
        if entity in self.linked | self.learned:
            return "known"
        if entity in self.relatives:
            return "relative"
        if self._is_nested(_content_words(tail.name)):
            return "nested"
        share = self.knowledge.share_of_heads(self.relation, tail.name) if self.checks_share else 0.0
        if share > MAX_SHARE_OF_HEADS or entity in self.too_common_tails:
            return "common"
        if _INDEFINITE.search(tail.name):
            return "junk"
        return "rejected" if name_key(tail.name) in self.rejected else None

    def _is_nested(self, words: frozenset[str]) -> bool:
        """Returns True if the words are a subset or superset of those of the head or of a listed tail."""
        if not words or frozenset() in self.listed:
            return True
        return any(words <= listed or listed <= words for word in words for listed in self.listed_with.get(word, ()))


@lru_cache(maxsize=1 << 16)
def _content_words(name: str) -> frozenset[str]:
    """Words of a name without function words, or all words if it has no others."""
    words = frozenset(re.findall(r"\w+", name.casefold()))
    return words - _FUNCTION_WORDS or words


class CandidateTails:
    """Candidate tails of a relation and type, one per entity, sorted by name; finds those that are safe for a head."""

    def __init__(self, knowledge: KnowledgeBase, relation: str, tail_type: str | None) -> None:
        self.knowledge, self.relation, self.tail_type = knowledge, relation, tail_type
        stated = knowledge.tails(relation, tail_type)
        first = {knowledge.entity(tail.name): tail for tail in reversed(stated)}
        self.entities = sorted(first, key=lambda entity: first[entity].name)
        self.tails = [first[entity] for entity in self.entities]
        self.index = {entity: number for number, entity in enumerate(self.entities)}
        counts = Counter(knowledge.entity(tail.name) for tail in stated)
        self.counts = [counts[entity] for entity in self.entities]
        self._nested = lru_cache(maxsize=1 << 16)(self._nested_indices)

    def safe_indices(self, head: str) -> Indices:
        """Ascending indices of the `tails` that are safe for a head, as by `SafetyRules.broken_rule`, vectorized."""
        rules = SafetyRules(self.knowledge, self.relation, self.tail_type, head)
        if frozenset() in rules.listed:
            return np.empty(0, dtype=np.int64)
        barred = {rules.head, *rules.linked, *rules.relatives, *rules.too_common_tails}
        broken = {self.index[entity] for entity in self.index.keys() & barred}
        is_safe = self._safe_for_some_head.copy()
        is_safe[list(broken.union(*map(self._nested, rules.listed)))] = False
        return np.flatnonzero(is_safe)

    @cached_property
    def _safe_for_some_head(self) -> NDArray[np.bool_]:
        """Mask of `tails`, False if unsafe for every head: no words, an indefinite word, or true of too many heads."""
        share = self.knowledge.share_of_heads if sum(self.counts) >= MIN_FACTS_FOR_SHARE else lambda relation, tail: 0.0
        common = (share(self.relation, tail.name) > MAX_SHARE_OF_HEADS for tail in self.tails)
        definite = (_content_words(tail.name) and not _INDEFINITE.search(tail.name) for tail in self.tails)
        return np.array([bool(is_definite) and not is_common for is_definite, is_common in zip(definite, common, strict=True)])

    def _nested_indices(self, listed: frozenset[str]) -> frozenset[int]:
        """Indices of the tails whose words are a superset or subset of the given words."""
        supersets, *others = sorted((self._indices_by_word.get(word, frozenset()) for word in listed), key=len)
        candidates = (index for word in listed for index in self._indices_by_rarest_word.get(word, ()))
        subsets = (index for index in candidates if _content_words(self.tails[index].name) <= listed)
        return supersets.intersection(*others).union(subsets)

    @cached_property
    def _indices_by_word(self) -> dict[str, frozenset[int]]:
        """Word → indices of the tails that contain it."""
        indices: defaultdict[str, set[int]] = defaultdict(set)
        for index, tail in enumerate(self.tails):
            for word in _content_words(tail.name):
                indices[word].add(index)
        return {word: frozenset(group) for word, group in indices.items()}

    @cached_property
    def _indices_by_rarest_word(self) -> dict[str, list[int]]:
        """Word → indices of the tails that have it as their rarest word."""
        indices: defaultdict[str, list[int]] = defaultdict(list)
        for index, tail in enumerate(self.tails):
            if words := _content_words(tail.name):
                indices[min(words, key=lambda word: len(self._indices_by_word[word]))].append(index)
        return indices
