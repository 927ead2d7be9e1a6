"""Prototype pools: sentences with [X] for the head and [Y] for the tail, and the statements made from them.

A pool is a YAML file in `prototypes/`. The papers' pools are verbatim; the project's own pool corrects their sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from medfact.facts import Fact, name_key
from medfact.prototypes.grammar import decapitalize, render_sentence, scope_prefix
from medfact.statements import Statement

READY = "mkj"
"""Name of the pool of ready sentences: complete statements that a data set, such as MKJ's, gives for each fact."""

_SLOTS = re.compile(r"\[[XY]\]")
_CAMEL_CASE_BOUNDARY = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True)
class RelationPrototypes:
    """Prototypes of one relation: a sentence with slots for each variant."""

    name: str
    description: str  # a sentence, in which [X] and [Y] may be filled
    head: str  # type of the heads, such as "disease"
    tail: str  # type of the tails
    aliases: tuple[str, ...]
    sentences: Mapping[str, str]  # form → prototype
    strengths: Mapping[str, Mapping[str, str]]  # `Fact.strength` → form → prototype, in place of `sentences`
    pool: str  # the pool's name
    defects: tuple[str, ...] = ()  # notes on published sentences
    mislabelled: Mapping[str, str] = field(default_factory=dict)
    """Form → the reason why its label does not follow from the fact."""
    sentence_source: str = ""  # in the pool `origin`: the file of templates, or PLAIN; "" in others
    grammar: bool = False  # names take articles, verbs agree, and sentences are capitalized (`prototypes.grammar`)
    inverse: tuple[str, ...] = ()  # names of the inverse relation, such as "treats" of *therapeutic drugs*

    def sentences_for(self, fact: Fact) -> Mapping[str, str]:
        """Form → prototype, for a fact's strength if it has one, else those that assert no frequency."""
        return self.strengths.get(fact.strength or "", self.sentences)

    def fill_prototype(self, prototype: str, fact: Fact) -> str:
        """Fills a prototype with the head and tail of a fact, after a prefix with the fact's region and population."""
        prefix = scope_prefix(fact)
        prototype = decapitalize(prototype) if prefix else prototype
        if self.grammar:
            return render_sentence(prototype, fact.head, fact.tail or "", prefix)
        return prefix + fill_slots(prototype, fact.head, fact.tail or "")


@dataclass(frozen=True)
class Pool:
    """A named set of prototypes."""

    name: str
    title: str  # for users
    source: str  # citation or file name
    verbatim: bool  # True if the sentences are word for word those of the source
    notes: tuple[str, ...]
    forms: tuple[str, ...]  # keys of the variants that each relation has, in order
    operators: tuple[tuple[str, str], ...]  # pairs such as (" is ", " is not "), of which one negates a sentence
    relations: Mapping[str, RelationPrototypes]
    file: str = ""  # the name of the user's file; "" for the project's pools
    problems: tuple[str, ...] = ()  # messages about skipped sentences of the file
    withheld: Mapping[str, str] = field(default_factory=dict)
    """Any name of a relation → the reason, a sentence, why the pool does not state it."""
    ready: Mapping[str, str] = field(default_factory=dict)
    """Fact id → the ready sentence of the data, which replaces the prototypes."""
    drafted_by: str = ""  # the language model that drafted the sentences; "" if people wrote them
    accepted: str = ""  # when or how a person accepted the drafted sentences; "" if not accepted
    extends: str = ""  # name of the bundled pool that adds its other relations; "" for none

    @cached_property
    def _names(self) -> dict[str, str]:
        """Key of a name or alias → name of the relation."""
        return {name_key(name): r.name for r in self.relations.values() for name in (r.name, *r.aliases)}

    @cached_property
    def _inverses(self) -> dict[str, str]:
        """Key of a name of an inverse → name of the relation."""
        return {name_key(name): r.name for r in self.relations.values() for name in r.inverse}

    def canonical(self, relation: str) -> str | None:
        """The pool's name of a relation, from any of its names in any spelling; None if the pool has no prototypes for it."""
        return next((self._names[key] for key in _relation_keys(relation) if key in self._names), None)

    def inverse_of(self, relation: str) -> str | None:
        """The pool's name of the inverse of a relation; None if the pool has the relation itself, or not its inverse."""
        if self.canonical(relation) is not None:
            return None
        return next((self._inverses[key] for key in _relation_keys(relation) if key in self._inverses), None)

    def states(self, fact: Fact) -> bool:
        """Returns True if the pool has a sentence for a fact: a ready one, or its relation's prototypes."""
        return fact.fact_id in self.ready or self.canonical(fact.relation) is not None

    def statable_facts(self, facts: Sequence[Fact]) -> tuple[Fact, ...]:
        """Selects the facts whose names are known in the pool's language: in English all; other languages override this."""
        return tuple(facts)

    def unstated_note(self, facts: Sequence[Fact]) -> str:
        """Note that counts the facts without names in the pool's language: in English ""; other languages override this."""
        return ""

    def withheld_reason(self, relation: str) -> str | None:
        """The reason, as a sentence, why the pool does not state a relation on purpose; None for other relations."""
        return {name_key(name): reason for name, reason in self.withheld.items()}.get(name_key(relation))

    def statements(self, facts: Iterable[Fact]) -> Iterator[Statement]:
        """Yields the statements of all facts that the pool can state, fact by fact, in the order of `forms`.

        A fact with a ready sentence yields only that sentence, verbatim, in the pool READY and the variant `none`.
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
                yield Statement(fact, relation.pool, form, relation.fill_prototype(sentences[form], fact))


@lru_cache(maxsize=1 << 12)
def _relation_keys(name: str) -> tuple[str, ...]:
    """Lookup keys of a relation's name: as written, and split into words if it is in camel case ("hasSymptom")."""
    return tuple(dict.fromkeys((name_key(name), name_key(split_words(name)))))


def split_words(name: str) -> str:
    """Splits a name in camel case into words."""
    return _CAMEL_CASE_BOUNDARY.sub(" ", name)


def fill_slots(prototype: str, head: str, tail: str) -> str:
    """Fills [X] and [Y] of a prototype, in one pass, because a name may itself contain [X] or [Y]."""
    names = {"[X]": head, "[Y]": tail}
    return _SLOTS.sub(lambda slot: names[slot.group()], prototype)


def merge_pools(name: str, pools: Sequence[Pool]) -> Pool:
    """Merges pools of the same forms; a single pool is returned unchanged, with its own name.

    For a relation in several pools, the first takes precedence. name: of the merged pool.
    """
    if len(pools) == 1:
        return pools[0]
    relations: dict[str, RelationPrototypes] = {}
    for pool in reversed(pools):
        others = {name: relation for name, relation in relations.items() if name not in pool.relations}
        relations = others | dict(pool.relations)
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
        withheld={name: reason for pool in reversed(pools) for name, reason in pool.withheld.items()},
    )
