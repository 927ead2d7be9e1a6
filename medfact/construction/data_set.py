"""From triplets to one true and three false statements of the same semantic type (MKJ, Section 3.4), in MKJ's own layout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medfact.construction.links import Linked
from medfact.datasets.mkj import NEGATIVES, SLOTS
from medfact.facts import Fact, KnowledgeBase, Tail, digest, name_key
from medfact.negatives.rules import Rules
from medfact.prototypes import fill

_SUBJECT, _OBJECT = SLOTS
"""What stands in MKJ's templates for [X], and for [Y]."""


def triplets_of(linked: Iterable[Linked]) -> list[Fact]:
    """The triplets of all terms, each once, as facts; none of an entity with itself, or whose object has no semantic type."""
    different: dict[tuple[str, str, str], Fact] = {}
    for term in linked:
        for link in term.links:
            key = name_key(link.subject.name), name_key(link.predicate), name_key(link.object.name)
            if key[0] == key[2] or not link.object.semantic_type:
                continue
            types: dict[str, Any] = {"head_type": link.subject.semantic_type, "tail_type": link.object.semantic_type}
            ids: dict[str, Any] = {"head_id": link.subject.cui, "tail_id": link.object.cui}
            fact = Fact(link.subject.name, link.predicate, link.object.name, source="UMLS", **types, **ids)
            different.setdefault(key, fact)
    return list(different.values())


def known_of(facts: Sequence[Fact], linked: Iterable[Linked]) -> KnowledgeBase:
    """Everything that is known: the triplets, and all else that the terms' concepts are linked to."""
    also: set[tuple[str, str]] = set()
    synonyms: set[tuple[str, ...]] = set()
    for term in linked:
        if term.concept is not None:
            also |= {(term.concept.name, name) for name in term.also}
            synonyms |= {(term.concept.name, *term.synonyms)} if term.synonyms else set()
    return KnowledgeBase(tuple(facts), also_true=tuple(sorted(also)), synonyms=tuple(sorted(synonyms)))


@dataclass(frozen=True)
class Entry:
    """A true fact with its false ones, as many as are safe."""

    fact: Fact
    false: tuple[Fact, ...]


def entries_of(facts: Sequence[Fact], known: KnowledgeBase, seed: int) -> Iterator[Entry]:
    """Each fact with false ones: the same subject and predicate, and another object with a semantic type in common.

    Objects of all predicates are shuffled by seed, as in the paper, and checked against everything known by the rules that hold
    for every draw of the project: nothing linked to the subject, under any name, in any relation.
    """
    by_type: dict[str, dict[str, Fact]] = {}
    for fact in facts:
        for name in (fact.tail_type or "").split("; "):
            by_type.setdefault(name, {}).setdefault(name_key(fact.tail or ""), fact)
    for fact in facts:
        others = {key: other for name in (fact.tail_type or "").split("; ") for key, other in by_type[name].items()}
        rules = Rules(known, fact.relation, fact.tail_type, fact.head)
        false: list[Fact] = []
        for key in sorted(others, key=lambda key: digest(str(seed), fact.fact_id, key)):
            tail = Tail(others[key].tail or "", others[key].tail_id)
            if len(false) < NEGATIVES and rules.broken_by(tail) is None:
                false.append(fact.negative(tail.name, tail.identifier, len(false) + 1))
        yield Entry(fact, tuple(false))


def mkj_files(entries: Iterable[Entry], facts: Iterable[Fact], templates: Mapping[str, str]) -> dict[str, Any]:
    """The files of a data set in MKJ's layout, by name. Entries without a template, or with too few false ones, are left out.

    templates: predicate → sentence with [X] and [Y].
    """
    types: dict[str, dict[str, None]] = {}
    for fact in facts:
        for name in (fact.tail_type or "").split("; "):
            types.setdefault(name, {}).setdefault(fact.tail or "")
    return {
        "data.json": [_record(e, templates[e.fact.relation]) for e in entries if is_usable(e, templates)],
        "triplets_collection.json": [
            {"text": " ".join((f.head, f.relation, f.tail or "")), "triplet": _triplet(f)} for f in facts
        ],
        "templates.json": {name: fill(sentence, _SUBJECT, _OBJECT) for name, sentence in templates.items()},
        "semantic_to_entity.json": {name: list(names) for name, names in sorted(types.items())},
    }


def is_usable(entry: Entry, templates: Mapping[str, str]) -> bool:
    """Whether an entry has a sentence, and enough false facts."""
    return entry.fact.relation in templates and len(entry.false) == NEGATIVES


def _record(entry: Entry, template: str) -> dict[str, Any]:
    fact = entry.fact
    return {
        "original_triplet": _triplet(fact),
        "semantic_type": (fact.tail_type or "").split("; "),
        "pos_qa": {"statement": fill(template, fact.head, fact.tail or ""), "answer": True},
        "neg_qa": {"statement": [fill(template, f.head, f.tail or "") for f in entry.false], "answer": False},
    }


def _triplet(fact: Fact) -> dict[str, str]:
    return {"subject": fact.head, "predicate": fact.relation, "object": fact.tail or ""}
