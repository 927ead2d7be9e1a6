"""The concepts of the UMLS that a selection of relations needs: their names, semantic types and hierarchy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from medfact.datasets.rrf import NAMES, SUPPRESSED, Problems, read_rows, starts_with, text_of
from medfact.errors import FactsError
from medfact.facts import name_key

MAX_SYNONYMS = 50
"""Names of one concept beside the preferred one; the most preferred are kept."""

_RANK_BYTES = 2


class Concept(NamedTuple):
    cui: str
    name: str
    semantic_type: str | None


@dataclass
class Names:
    """What MRCONSO holds about the wanted concepts. ranked: CUI → names, each led by its rank. atoms: AUI → CUI."""

    ranked: defaultdict[bytes, list[bytes]] = field(default_factory=lambda: defaultdict(list))
    atoms: dict[bytes, bytes] = field(default_factory=dict)
    languages: set[bytes] = field(default_factory=set)


def read_names(
    path: Path, cuis: frozenset[bytes], sources: Sequence[str], language: str, with_atoms: bool, problems: Problems
) -> Names:
    """The names of these concepts in a language. with_atoms: whether to keep the concepts of all their atoms too."""
    names, code = Names(), language.encode()
    place = {source.encode(): number for number, source in enumerate(sources)}
    shared = {cui: cui for cui in cuis}  # one object per CUI instead of one per row
    for number, columns in read_rows(path, starts_with(cuis), problems):
        cui = shared.get(columns[0])
        if cui is None:
            continue
        if with_atoms:
            names.atoms[columns[7]] = cui
        if columns[16] in SUPPRESSED:
            continue
        names.languages.add(columns[1])
        if columns[1] != code:
            continue
        if text := text_of(columns[14]):
            names.ranked[cui].append(_rank(columns, place) + text.encode())
        else:
            problems.add(number, "its name is empty or not UTF-8", path.name)
    return names


def _rank(columns: Sequence[bytes], place: Mapping[bytes, int]) -> bytes:
    """Bytes that sort names by preference: by TS, STT and ISPREF, then by the order of the chosen sources."""
    flags = (columns[2] != b"P") * 4 + (columns[4] != b"PF") * 2 + (columns[6] != b"Y")
    return (flags * (len(place) + 1) + place.get(columns[11], len(place))).to_bytes(_RANK_BYTES, "big")


def unnamed(names: Names, with_name: int, concepts: int, language: str) -> FactsError:
    """The error if no fact has names in the language for both its concepts. with_name: how many concepts have one."""
    languages = ", ".join(sorted(code.decode(errors="replace") for code in names.languages)) or "none"
    hint = f"Languages of their concepts: {languages}."
    if with_name:
        problem = f"No fact has names in {language!r} for both its concepts: {with_name:,} of {concepts:,} concepts have one."
        return FactsError(problem, hint)
    return FactsError(f"{NAMES} has no names in {language!r} for these facts.", hint)


def read_types(path: Path | None, cuis: frozenset[bytes], problems: Problems) -> dict[bytes, str]:
    """CUI → its semantic types in alphabetical order, joined by "; "."""
    if path is None:
        return {}
    types_of: dict[bytes, tuple[str, ...]] = {}
    shared: dict[tuple[str, ...], tuple[str, ...]] = {}  # few combinations of types, many concepts
    for number, columns in read_rows(path, starts_with(cuis), problems):
        if columns[0] not in cuis:
            continue
        text = text_of(columns[3])
        if not text:
            problems.add(number, "its semantic type is empty or not UTF-8", path.name)
            continue
        types = tuple(sorted({*types_of.get(columns[0], ()), text}))
        types_of[columns[0]] = shared.setdefault(types, types)
    joined = {types: "; ".join(types) for types in shared}
    return {cui: joined[types] for cui, types in types_of.items()}


def concepts_of(
    ranked: dict[bytes, list[bytes]], types: Mapping[bytes, str]
) -> tuple[dict[bytes, Concept], tuple[tuple[str, ...], ...]]:
    """CUI → concept with its preferred name, and the groups of names of one concept. Empties `ranked` to save memory."""
    concepts: dict[bytes, Concept] = {}
    synonyms: list[tuple[str, ...]] = []
    further: list[tuple[str, str]] = []
    for cui in sorted(ranked):
        group = _different(entry[_RANK_BYTES:].decode() for entry in sorted(ranked.pop(cui)))
        concepts[cui] = Concept(cui.decode(errors="replace"), group[0], types.get(cui))
        further += [(group[0], name) for name in group[MAX_SYNONYMS + 1 :]]
        if len(group) > 1:
            synonyms.append(group[: MAX_SYNONYMS + 1])
    preferred = {name_key(concept.name) for concept in concepts.values()} if further else set()
    return concepts, (*synonyms, *(pair for pair in further if name_key(pair[1]) in preferred))


def _different(names: Iterable[str]) -> tuple[str, ...]:
    """The names in their order; of several spellings with one name key, the first."""
    different: dict[str, str] = {}
    for name in names:
        different.setdefault(name_key(name), name)
    return tuple(different.values())


def read_hierarchy(
    path: Path | None, atoms: Mapping[bytes, bytes], concepts: Mapping[bytes, Concept], problems: Problems
) -> tuple[tuple[str, str], ...]:
    """Sorted pairs (name of a concept, name of an ancestor) of concepts that both occur.

    The path to the root (PTR) names all ancestors, so one that does not occur hides none above it.
    """
    if path is None:
        return ()
    pairs: set[tuple[str, str]] = set()
    for _, columns in read_rows(path, starts_with(concepts), problems):
        child = concepts.get(columns[0])
        path_to_root = columns[6].split(b".") if len(columns) > 6 else []
        for atom in (columns[3], *path_to_root):
            ancestor = concepts.get(atoms.get(atom, b""))
            if child is not None and ancestor is not None and child.name != ancestor.name:
                pairs.add((child.name, ancestor.name))
    return tuple(sorted(pairs))
