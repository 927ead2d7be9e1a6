"""How large a data set is, and how its facts spread: by relation, and by semantic type of their names (TPEval, Table 2;
PretextTrans, Tables 2 and 6; MKJ, Appendix A.1.2).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

from medfact.datasets.collection import Collection
from medfact.facts import Fact

DATA_SET, RELATION, TYPE = "data set", "relation", "semantic type"
"""Kinds of rows."""


@dataclass(frozen=True)
class Size:
    """The size of a data set, of one of its relations, or of a semantic type. Names of one thing count once.

    facts: positive ones; known: the same with all that is known around them. heads, tails: different ones ("#Uniq"); entities:
    both together, and of a type also names that the source lists and no fact has. per_head: tails of a head that has any;
    per_any_head: the same over all heads of the data set ("Avg."), those without any among them. types: semantic types of
    names; per_type: entities of a type on average. positive, negative: facts under test by the method, true and false. None
    where a figure has no meaning, or the data do not say.
    """

    of: str
    name: str
    facts: int
    known: int | None = None
    heads: int | None = None
    tails: int | None = None
    entities: int | None = None
    per_head: float | None = None
    per_any_head: float | None = None
    relations: int | None = None
    types: int | None = None
    per_type: float | None = None
    positive: int | None = None
    negative: int | None = None
    refuted: float | None = None
    """Share of random false partners, of the same relation and type, that known facts refute (MKJ, Section 3.4: below 1%)."""


def statistics(collection: Collection, tested: Sequence[Fact] | None = None) -> list[Size]:
    """The sizes of a data set: of all of it, by relation, and by semantic type.

    tested: the facts that a method asks about; None where that is not the question.
    """
    facts = [fact for fact in collection.facts if fact.positive and fact.tail is not None]
    entity = collection.known.entity
    pairs = {(fact.relation, entity(fact.head), entity(fact.tail or "")) for fact in facts}
    all_heads = len({head for _, head, _ in pairs})
    by_relation: defaultdict[str, set[tuple[str, str, str]]] = defaultdict(set)
    for pair in pairs:
        by_relation[pair[0]].add(pair)
    sizes = Counter(fact.relation for fact in facts)
    of_type = _entities_by_type(facts, collection)
    positive = facts if tested is None else [fact for fact in tested if fact.positive and fact.tail is not None]
    entities = [len(of) for of, _ in of_type.values()]
    whole = Size(
        DATA_SET,
        collection.name,
        len(facts),
        len(collection.known.facts),
        relations=len(by_relation),
        types=len(entities) or None,
        per_type=sum(entities) / len(entities) if entities else None,
        **_spread(pairs, all_heads),
        **_asked(tested),
        refuted=_refuted(positive, collection),
    )
    return [
        whole,
        *(
            Size(
                RELATION,
                name,
                sizes[name],
                **_spread(of, all_heads),
                **_asked(tested if tested is None else [fact for fact in tested if fact.relation == name]),
            )
            for name, of in sorted(by_relation.items())
        ),
        *(Size(TYPE, name, tails, entities=len(of)) for name, (of, tails) in sorted(of_type.items())),
    ]


def _spread(pairs: set[tuple[str, str, str]], all_heads: int) -> dict[str, Any]:
    """Counts of heads and tails among (relation, head, tail)."""
    heads, tails = {head for _, head, _ in pairs}, {tail for _, _, tail in pairs}
    return {
        "heads": len(heads),
        "tails": len(tails),
        "entities": len(heads | tails),
        "per_head": len(pairs) / len(heads) if heads else None,
        "per_any_head": len(pairs) / all_heads if all_heads else None,
    }


def _asked(tested: Sequence[Fact] | None) -> dict[str, Any]:
    if tested is None:
        return {}
    positive = sum(fact.positive for fact in tested)
    return {"positive": positive, "negative": len(tested) - positive}


def _refuted(facts: Iterable[Fact], collection: Collection) -> float | None:
    """The expected share over these facts; None where none has another tail of its type to draw from."""
    base = collection.known
    candidates = cache(lambda relation, kind: frozenset(base.entity(tail.name) for tail in base.tails(relation, kind)))
    draws = ((fact, candidates(fact.relation, fact.tail_type), base.entity(fact.tail or "")) for fact in facts)
    shares = [
        len((base.linked(fact.head, fact.relation) & tails) - {tail}) / count
        for fact, tails, tail in draws
        if (count := len(tails) - (tail in tails))
    ]
    return sum(shares) / len(shares) if shares else None


def _entities_by_type(facts: Sequence[Fact], collection: Collection) -> dict[str, tuple[set[str], int]]:
    """Semantic type → its entities, and the number of facts with a tail of it; several types of a name all count."""
    ends = ((end, kinds) for fact in facts for end, kinds in ((fact.head, fact.head_type), (fact.tail, fact.tail_type)))
    entities: defaultdict[str, set[str]] = defaultdict(set)
    for name, kinds in chain(ends, collection.listed.items()):
        for kind in filter(None, (kinds or "").split("; ")):
            entities[kind].add(collection.known.entity(name or ""))
    tails = Counter(kind for fact in facts for kind in (fact.tail_type or "").split("; "))
    return {name: (of, tails[name]) for name, of in entities.items()}
