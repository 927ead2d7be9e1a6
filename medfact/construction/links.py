"""Terms linked to concepts of the UMLS (folder or REST API), their relations, and the data set of the resulting triplets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medfact.datasets.mkj import NEGATIVES, SLOTS
from medfact.datasets.umls import (
    NAMES,
    RELATIONS,
    SUPPRESSED,
    TYPES,
    Concept,
    Problems,
    concepts_of,
    needed_files_in,
    rank_of,
    read_names,
    read_rows,
    read_types,
    related,
    text_of,
)
from medfact.facts import Fact, KnowledgeBase, Tail, digest, name_key
from medfact.negatives.rules import SafetyRules
from medfact.prototypes import fill_slots
from medfact.references import Concept as ApiConcept
from medfact.references import UmlsApi

NAVIGATION = frozenset(
    {
        "alias_of", "classified_as", "classifies", "concept_in_subset", "entry_version_of", "expanded_form_of",
        "has_alias", "has_entry_version", "has_expanded_form", "has_member", "has_permuted_term",
        "has_plain_text_form", "has_print_name", "has_short_form", "has_sort_version", "has_translation",
        "has_version", "inverse_isa", "isa", "mapped_from", "mapped_to", "member_of", "other_mapped_from",
        "other_mapped_to", "permuted_term_of", "plain_text_form_of", "primary_mapped_from", "primary_mapped_to",
        "print_name_of", "replaced_by", "replaces", "same_as", "short_form_of", "sort_version_of",
        "subset_includes_concept", "translation_of", "use", "used_for", "version_of",
    }
)  # fmt: skip
"""Relations that lead through the vocabularies themselves, and state no medicine."""


@dataclass(frozen=True)
class Link:
    """subject has the relation `predicate` to object; labels have spaces instead of underscores."""

    subject: Concept
    predicate: str
    object: Concept


@dataclass(frozen=True)
class Linked:
    """A term with its concept, None where there is none, and the chosen ones of that concept's relations. also: names of all
    else that it is linked to, which is never called false of it; synonyms: its other names.
    """

    term: str
    concept: Concept | None
    links: tuple[Link, ...] = ()
    also: tuple[str, ...] = ()
    synonyms: tuple[str, ...] = ()

    def row(self) -> dict[str, Any]:
        """The term as a row of a file."""
        links = [[link.predicate, *link.object] for link in self.links]
        found = self.concept and [*self.concept]
        problem = None if links else "the concept has no relation of use" if found else "no concept has this name"
        others = {"also": list(self.also), "synonyms": list(self.synonyms)}
        return {"term": self.term, "concept": found, "links": links, **others, "problem": problem}

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Linked:
        concept = Concept(*row["concept"]) if row["concept"] else None
        links = tuple(Link(concept, link[0], Concept(*link[1:])) for link in row["links"]) if concept else ()
        return cls(row["term"], concept, links, tuple(row["also"]), tuple(row["synonyms"]))


def chosen(relations: Iterable[tuple[str, str]], cui: str, seed: int, most: int) -> list[tuple[str, str]]:
    """At most so many of a concept's relations (name, CUI of the other end), drawn by seed, without those of NAVIGATION and of
    a concept to itself.
    """
    useful = dict.fromkeys(one for one in relations if one[0] not in NAVIGATION and one[1] != cui)
    return sorted(useful, key=lambda one: digest(str(seed), cui, *one))[:most]


def label(relation: str) -> str:
    """A relation as people read it."""
    return " ".join(relation.replace("_", " ").split())


def link_locally(
    terms: Sequence[str], folder: Path, language: str, sources: Sequence[str], seed: int, most: int
) -> list[Linked]:
    """Terms linked by the files of a UMLS folder: a term's concept is the one that prefers its name most.

    MRCONSO is read twice and MRREL once, whole; memory depends on the terms and their relations. sources: vocabularies whose
    relations count, () for all. seed, most: see `chosen`. Raises FactsError.
    """
    files, problems = needed_files_in(folder), Problems()
    found = _concepts(files[NAMES], {name_key(term) for term in terms}, language.encode(), problems)
    heads = frozenset(cui for _, cui in found.values())
    allowed = frozenset(source.encode() for source in sources)
    usable: dict[bytes, list[tuple[str, str]]] = {cui: [] for cui in heads}
    every: dict[bytes, dict[bytes, None]] = {cui: {} for cui in heads}
    for (head, relation, tail), source in related(files[RELATIONS], lambda _: True, (), problems):
        if head in heads:
            every[head].setdefault(tail)
            if not allowed or source in allowed:
                usable[head].append((relation.decode(errors="replace"), tail.decode(errors="replace")))
    cuis = heads | {tail for of_head in every.values() for tail in of_head}
    names = read_names(files[NAMES], cuis, sources, language, False, problems)
    concepts, synonyms = concepts_of(names.ranked, read_types(files.get(TYPES), cuis, problems))
    others = {group[0]: group[1:] for group in synonyms}
    entities = {one.cui: one for one in concepts.values()}

    def linked(term: str) -> Linked:
        cui = found.get(name_key(term), (0, b""))[1]
        subject = entities.get(cui.decode(errors="replace"))
        if subject is None:
            return Linked(term, None)
        named = [one for one in usable[cui] if one[1] in entities]
        links = [Link(subject, label(name), entities[other]) for name, other in chosen(named, subject.cui, seed, most)]
        tails = (entities[tail.decode(errors="replace")].name for tail in every[cui] if tail in concepts)
        return Linked(term, subject, tuple(links), tuple(tails), tuple(others.get(subject.name, ())))

    return [linked(term) for term in terms]


def link_remotely(terms: Sequence[str], api: UmlsApi, seed: int, most: int) -> Iterator[Linked]:
    """Terms linked by the UMLS REST API: a term's concept is the first that it finds. Raises ReferenceDown."""
    for term in terms:
        cui = api.search(term)
        concept = api.concept(cui) if cui else None
        if concept is None:
            yield Linked(term, None)
            continue
        subject = _joined(concept)
        relations = list(api.relations(concept.cui))
        links = []
        for name, other in chosen(((one.relation, one.cui) for one in relations), concept.cui, seed, most):
            tail = api.concept(other)
            if tail is not None:
                links.append(Link(subject, label(name), _joined(tail)))
        yield Linked(term, subject, tuple(links), tuple(dict.fromkeys(one.name for one in relations)))


def _joined(concept: ApiConcept) -> Concept:
    return Concept(concept.cui, concept.name, "; ".join(concept.types) or None)


def _concepts(path: Path, keys: Iterable[str], language: bytes, problems: Problems) -> dict[str, tuple[int, bytes]]:
    """Key of a name in a language → the concept that prefers this name most: rank (lower is better) and CUI."""
    wanted, found = frozenset(keys), dict[str, tuple[int, bytes]]()
    for _, columns in read_rows(path, lambda _: True, problems):
        if columns[1] != language or columns[16] in SUPPRESSED:
            continue
        key = name_key.__wrapped__(text_of(columns[14]))
        if key in wanted:
            offered = rank_of(columns), columns[0]
            found[key] = min(found.get(key, offered), offered)
    return found


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
        rules = SafetyRules(known, fact.relation, fact.tail_type, fact.head)
        false: list[Fact] = []
        for key in sorted(others, key=lambda key: digest(str(seed), fact.fact_id, key)):
            tail = Tail(others[key].tail or "", others[key].tail_id)
            if len(false) < NEGATIVES and rules.broken_rule(tail) is None:
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
        "templates.json": {name: fill_slots(sentence, _SUBJECT, _OBJECT) for name, sentence in templates.items()},
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
        "pos_qa": {"statement": fill_slots(template, fact.head, fact.tail or ""), "answer": True},
        "neg_qa": {"statement": [fill_slots(template, f.head, f.tail or "") for f in entry.false], "answer": False},
    }


def _triplet(fact: Fact) -> dict[str, str]:
    return {"subject": fact.head, "predicate": fact.relation, "object": fact.tail or ""}
