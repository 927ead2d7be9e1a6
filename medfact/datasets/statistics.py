"""How large a data set is, and how its facts spread: by relation, and by semantic type of their names (TPEval, Table 2;
PretextTrans, Tables 2 and 6; MKJ, Appendix A.1.2).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from medfact.datasets.collection import Collection
from medfact.facts import Fact

DATA_SET, RELATION, TYPE = "data set", "relation", "semantic type"
"""What a row of the statistics is about."""


@dataclass(frozen=True)
class Size:
    """The size of a data set, of one of its relations, or of a semantic type. Names of one thing count once.

    facts: positive ones; known: the same with all that is known around them. heads, tails: different ones ("#Uniq"); entities:
    both together. per_head: tails of a head that has any; per_any_head: the same over all heads of the data set ("Avg."), those
    without any among them. types: semantic types of names; per_type: entities of a type on average. positive, negative: facts
    under test by the method, true and false. None where a figure has no meaning, or the data do not say.
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
    of_type = _entities_by_type(facts, entity)
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
    """How (relation, head, tail) spread over heads and tails."""
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


def _entities_by_type(facts: Iterable[Fact], entity: Callable[[str], str]) -> dict[str, tuple[set[str], int]]:
    """Semantic type → the entities that have it, and how many facts have a tail of it; several types of a name all count."""
    entities: defaultdict[str, set[str]] = defaultdict(set)
    tails: Counter[str] = Counter()
    for fact in facts:
        for name, types in ((fact.head, fact.head_type), (fact.tail, fact.tail_type)):
            for one in filter(None, (types or "").split("; ")):
                entities[one].add(entity(name or ""))
        tails.update(filter(None, (fact.tail_type or "").split("; ")))
    return {name: (of, tails[name]) for name, of in entities.items()}
