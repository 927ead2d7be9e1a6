"""Prototype pools: sentences with [X] for the head and [Y] for the tail, and the statements made from them.

A pool is data, a YAML file in `prototypes/`. The papers' pools are word for word; the project's own pool mends them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from medfact.facts import Fact, name_key
from medfact.prototypes.bounds import bounds_before, inside
from medfact.prototypes.grammar import sentence
from medfact.statements import Statement

READY = "mkj"
"""The pool of ready statements, which come with MKJ's data."""

_SLOTS = re.compile(r"\[[XY]\]")
_IN_CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True)
class RelationPrototypes:
    """The sentences of one relation, by variant key.

    inverse: names that say the relation from its other end, as "treats" does of *therapeutic drugs*.
    strengths: the sentences of facts of another strength. pool: the pool's name. grammar: whether names take their article,
    verbs their number, and the sentence its capital (`prototypes.grammar`). words_of: for the pool `origin`, the file or pool
    that the sentences come from. mislabelled: form → why its label does not follow from the fact.
    """

    name: str
    description: str
    head: str
    tail: str
    aliases: tuple[str, ...]
    sentences: Mapping[str, str]
    strengths: Mapping[str, Mapping[str, str]]
    pool: str
    defects: tuple[str, ...] = ()
    mislabelled: Mapping[str, str] = field(default_factory=dict)
    words_of: str = ""
    grammar: bool = False
    inverse: tuple[str, ...] = ()

    def sentences_for(self, fact: Fact) -> Mapping[str, str]:
        """The sentences of the fact's strength, or else those that assert no frequency."""
        return self.strengths.get(fact.strength or "", self.sentences)

    def state(self, prototype: str, fact: Fact) -> str:
        """A prototype of this relation filled with a fact; its place and population in front. The fact has a tail."""
        before = bounds_before(fact)
        words = inside(prototype) if before else prototype
        if self.grammar:
            return sentence(words, fact.head, fact.tail or "", before)
        return before + fill(words, fact.head, fact.tail or "")


@dataclass(frozen=True)
class Pool:
    """A named set of prototypes.

    forms:     its variants, in order.
    operators: pairs (affirmed, denied) of words that negate a sentence.
    file:      the name of the user's file that it was read from; empty for the project's pools.
    problems:  sentences that cannot be used, and why.
    withheld:  relation, under any of its names → why the pool does not state it.
    ready:     fact id → the sentence in which the data state that fact; it replaces the prototypes.
    drafted_by: the language model that drafted its sentences; "" where people wrote them. accepted: when, or how, a person
               accepted such drafts; "" where nobody has.
    extends:   a pool of the project that states the relations which this one leaves out; "" for none.
    """

    name: str
    title: str
    source: str
    verbatim: bool
    notes: tuple[str, ...]
    forms: tuple[str, ...]
    operators: tuple[tuple[str, str], ...]
    relations: Mapping[str, RelationPrototypes]
    file: str = ""
    problems: tuple[str, ...] = ()
    withheld: Mapping[str, str] = field(default_factory=dict)
    ready: Mapping[str, str] = field(default_factory=dict)
    drafted_by: str = ""
    accepted: str = ""
    extends: str = ""

    @cached_property
    def _names(self) -> dict[str, str]:
        return {name_key(name): r.name for r in self.relations.values() for name in (r.name, *r.aliases)}

    @cached_property
    def _inverses(self) -> dict[str, str]:
        return {name_key(name): r.name for r in self.relations.values() for name in r.inverse}

    def canonical(self, relation: str) -> str | None:
        """The pool's name of a relation, whose aliases are matched in any case; None if it has no prototypes for it."""
        return next((self._names[key] for key in keys_of_relation(relation) if key in self._names), None)

    def inverted(self, relation: str) -> str | None:
        """The pool's name of the relation that this one says from its other end; None if there is none, or the pool states this
        one as it is.
        """
        if self.canonical(relation) is not None:
            return None
        return next((self._inverses[key] for key in keys_of_relation(relation) if key in self._inverses), None)

    def states(self, fact: Fact) -> bool:
        """Whether the pool has a sentence for this fact: a ready one, or its relation's prototypes."""
        return fact.fact_id in self.ready or self.canonical(fact.relation) is not None

    def statable(self, facts: Sequence[Fact]) -> tuple[Fact, ...]:
        """Those of the facts that are asked where the pool has a word for everything: all of them, in English."""
        return tuple(facts)

    def note_on(self, facts: Sequence[Fact]) -> str:
        """How many of the facts it can state, where that is not all by right; "" where there is nothing to say."""
        return ""

    def why_withheld(self, relation: str) -> str | None:
        """Why the pool does not state a relation, as a sentence; None if it does not mention it."""
        return {name_key(name): why for name, why in self.withheld.items()}.get(name_key(relation))

    def statements(self, facts: Iterable[Fact]) -> Iterator[Statement]:
        """Every form of every fact that the pool states, fact by fact, in the order of `forms`.

        A fact with a ready sentence gives only that one, word for word, with the pool `mkj` and the variant `none`.
        """
        for fact in facts:
            if fact.fact_id in self.ready:
                yield Statement(fact, READY, "none", self.ready[fact.fact_id])
                continue
            name = self.canonical(fact.relation)
            if name is None or fact.tail is None:
                continue
            relation = self.relations[name]
            sentences = relation.sentences_for(fact)
            for form in self.forms:
                yield Statement(fact, relation.pool, form, relation.state(sentences[form], fact))


@lru_cache(maxsize=1 << 12)
def keys_of_relation(name: str) -> tuple[str, ...]:
    """The keys under which a relation is looked up: that of its name, and that of the words in camelCase, "hasSymptom"."""
    return tuple(dict.fromkeys((name_key(name), name_key(split_words(name)))))


def split_words(name: str) -> str:
    """A name in camelCase as words."""
    return _IN_CAMEL_CASE.sub(" ", name)


def fill(prototype: str, head: str, tail: str) -> str:
    """Fills both slots in one pass: a name may itself contain [X] or [Y]."""
    names = {"[X]": head, "[Y]": tail}
    return _SLOTS.sub(lambda slot: names[slot.group()], prototype)


def merged(name: str, pools: Sequence[Pool]) -> Pool:
    """Merges pools of the same forms. A relation of several pools gets the sentences of the first of them, and so does a name
    that several relations have: hers come last.
    """
    if len(pools) == 1:
        return pools[0]
    relations: dict[str, RelationPrototypes] = {}
    for pool in reversed(pools):
        relations = {name: one for name, one in relations.items() if name not in pool.relations} | dict(pool.relations)
    return Pool(
        name=name,
        title=" and ".join(pool.title for pool in pools),
        source="; ".join(pool.source for pool in pools),
        verbatim=all(pool.verbatim for pool in pools),
        notes=tuple(note for pool in pools for note in pool.notes),
        forms=pools[0].forms,
        operators=(),
        relations=relations,
        problems=tuple(problem for pool in pools for problem in pool.problems),
        withheld={name: why for pool in reversed(pools) for name, why in pool.withheld.items()},
    )
