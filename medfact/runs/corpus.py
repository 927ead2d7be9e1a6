"""The corpus of a run: the passages among which evidence is looked for, which of them state a fact, and which are left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from medfact.datasets import Collection
from medfact.datasets.documents import Passage, read_documents
from medfact.datasets.headers import OWN, Limits
from medfact.facts import Fact, KnowledgeBase, digest
from medfact.prototypes import Pool, orient_facts
from medfact.prototypes.grammar import scope_prefix
from medfact.retrieval import MentionIndex
from medfact.runs.pool import pool_of, protocol_of
from medfact.spec import RunSpec

KNOWN_FACTS = "known facts"
"""The name of a corpus of facts in plain sentences."""

_Link = tuple[str, str, str]
"""Head and tail as entities, with the relation between them."""


@dataclass(frozen=True)
class Corpus:
    """Passages, and what is known of the facts that they may state.

    of_facts: for each passage of a corpus of known facts, the facts that it states; () where the passages are documents.
    """

    name: str
    passages: tuple[Passage, ...]
    known: KnowledgeBase
    of_facts: tuple[tuple[Fact, ...], ...] = ()

    @cached_property
    def texts(self) -> tuple[str, ...]:
        return tuple(passage.text for passage in self.passages)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the passages."""
        return digest(*self.texts)

    @cached_property
    def _mentions(self) -> MentionIndex:
        return MentionIndex(self.texts)

    @cached_property
    def _stating(self) -> dict[_Link, set[int]]:
        stating: dict[_Link, set[int]] = {}
        for place, facts in enumerate(self.of_facts):
            for fact in facts:
                stating.setdefault(self._link(fact), set()).add(place)
        return stating

    @cached_property
    def _linking(self) -> dict[frozenset[str], set[int]]:
        linking: dict[frozenset[str], set[int]] = {}
        for place, facts in enumerate(self.of_facts):
            for fact in facts:
                linking.setdefault(self._ends(fact), set()).add(place)
        return linking

    def _link(self, fact: Fact) -> _Link:
        entity = self.known.entity
        return entity(fact.head), fact.relation, entity(fact.tail or "")

    def _ends(self, fact: Fact) -> frozenset[str]:
        return frozenset((self.known.entity(fact.head), self.known.entity(fact.tail or "")))

    def naming_both(self, fact: Fact) -> frozenset[int]:
        """Places of the passages that name head and tail, under any of their known names."""
        names = self.known.names
        return self._mentions.passages_with_both(names(fact.head), names(fact.tail)) if fact.tail else frozenset()

    def gold(self, fact: Fact) -> frozenset[int]:
        """Places of the passages that state a true fact; in documents, of those that name its head and its tail."""
        return frozenset(self._stating.get(self._link(fact), ())) if self.of_facts else self.naming_both(fact)

    def about(self, facts: Iterable[Fact]) -> frozenset[int]:
        """Places of what a corpus without these facts leaves out: passages that name head and tail of one of them, and known
        facts that link the two by any relation, in either direction, under any name: the fact itself, and its paraphrases.
        """
        facts = list(facts)
        linked = (self._linking.get(self._ends(fact), ()) for fact in facts if fact.tail)
        return frozenset().union(*linked, *(self.naming_both(fact) for fact in facts))


def corpus_of(spec: RunSpec, collection: Collection, limits: Limits = OWN) -> Corpus:
    """The corpus of a spec: its documents, else the known facts of its data, one plain sentence each.

    Raises FactsError where the documents cannot be read.
    """
    if spec.corpus is not None:
        path = Path(spec.trusted_value("corpus"))
        return Corpus(path.name, read_documents(path, spec.corpus_column, limits), collection.known)
    facts_of: dict[str, list[Fact]] = {}
    pool = pool_of(spec, collection)
    collection = orient_facts(collection, pool)
    for fact in collection.known.facts:
        if fact.tail:
            facts_of.setdefault(_plain(fact, pool, protocol_of(spec).pools), []).append(fact)
    passages = tuple(Passage(text, facts[0].source or collection.name) for text, facts in facts_of.items())
    return Corpus(f"{KNOWN_FACTS} of {collection.name}", passages, collection.known, tuple(map(tuple, facts_of.values())))


def _plain(fact: Fact, pool: Pool, pools: Sequence[str]) -> str:
    """A known fact in a plain sentence: the pool's first form; for MKJ, and where the pool has none, subject, predicate and
    object, as in the collection that MKJ publishes.
    """
    name = pool.canonical(fact.relation)
    if "mkj" in pools or name is None:
        return scope_prefix(fact) + " ".join((fact.head, fact.relation, fact.tail or ""))
    relation = pool.relations[name]
    return relation.fill_prototype(relation.sentences_for(fact)[pool.forms[0]], fact)
