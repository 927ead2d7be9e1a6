"""Prototype pools: sentences with [X] for the head and [Y] for the tail, and the statements made from them.

A pool is data, a YAML file in `prototypes/`. The papers' pools are word for word; the project's own pool mends them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from medfact.facts import Fact, name_key
from medfact.statements import Statement

READY = "mkj"
"""The pool under which ready statements stand: MKJ's, which come with their data."""

_SLOTS = re.compile(r"\[[XY]\]")


@dataclass(frozen=True)
class RelationPrototypes:
    """One relation: variant key → sentence. `strengths` holds the sentences of another strength; `pool` names their pool, and
    `words_of` the file or pool that the pool `origin` has them from.
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
    words_of: str = ""

    def sentences_for(self, fact: Fact) -> Mapping[str, str]:
        """The sentences of the fact's own strength, else those that assert no frequency."""
        return self.strengths.get(fact.strength or "", self.sentences)


@dataclass(frozen=True)
class Pool:
    """A named set of prototypes. `forms` are its variants in order; `operators` its pairs (affirmed, denied); `file` is the
    name of the person's own file that it was read from, if it was; `problems` tells which of its sentences cannot be used;
    `withheld` gives the relations that the pool does not state, whatever name it knows them by, and why not.
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

    @cached_property
    def _names(self) -> dict[str, str]:
        return {name_key(name): r.name for r in self.relations.values() for name in (r.name, *r.aliases)}

    def canonical(self, relation: str) -> str | None:
        """The pool's name of a relation, found through its aliases in any case; None where it has no prototypes."""
        return self._names.get(name_key(relation))

    def why_withheld(self, relation: str) -> str | None:
        """Why the pool does not state a relation, in a sentence; None where it does not name it."""
        return {name_key(name): why for name, why in self.withheld.items()}.get(name_key(relation))

    def states(self, fact: Fact) -> bool:
        """Whether the pool has statements of a fact."""
        return fact.text is not None or (fact.tail is not None and self.canonical(fact.relation) is not None)

    def statements(self, facts: Iterable[Fact]) -> Iterator[Statement]:
        """Every form of every fact whose relation the pool has, fact by fact, in the order of `forms`.

        A fact that comes with a ready statement gives that one, under the pool `mkj` and the variant `none`.
        """
        for fact in facts:
            if fact.text is not None:
                yield Statement(fact, READY, "none", fact.text)
                continue
            name = self.canonical(fact.relation)
            if name is None or fact.tail is None:
                continue
            relation = self.relations[name]
            sentences = relation.sentences_for(fact)
            for form in self.forms:
                yield Statement(fact, relation.pool, form, fill(sentences[form], fact.head, fact.tail))


def fill(prototype: str, head: str, tail: str) -> str:
    """Fills both slots in one pass: a name may itself contain [X] or [Y]."""
    names = {"[X]": head, "[Y]": tail}
    return _SLOTS.sub(lambda slot: names[slot.group()], prototype)


def joined(name: str, pools: Sequence[Pool]) -> Pool:
    """Several pools of the same forms as one; where two have a relation, the first one's sentences are taken."""
    if len(pools) == 1:
        return pools[0]
    return Pool(
        name=name,
        title=" and ".join(pool.title for pool in pools),
        source="; ".join(pool.source for pool in pools),
        verbatim=all(pool.verbatim for pool in pools),
        notes=tuple(note for pool in pools for note in pool.notes),
        forms=pools[0].forms,
        operators=(),
        relations={key: relation for pool in reversed(pools) for key, relation in pool.relations.items()},
        problems=tuple(problem for pool in pools for problem in pool.problems),
        withheld={name: why for pool in reversed(pools) for name, why in pool.withheld.items()},
    )
