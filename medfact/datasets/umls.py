"""The UMLS Metathesaurus as its files in RRF: one relation at a time, in memory that the chosen rows decide, not the files.

MRREL.RRF gives the facts, MRCONSO.RRF the names, MRSTY.RRF the semantic types and MRHIER.RRF, where it is there, the hierarchy.
A row of MRREL says what its *second* concept is to its first: CUI1 asthma, RELA may_treat, CUI2 albuterol says that albuterol
may treat asthma. Columns: https://www.ncbi.nlm.nih.gov/books/NBK9685/
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from medfact.datasets.collection import Collection, Problem
from medfact.errors import FactsError
from medfact.facts import Fact, KnowledgeBase, name_key

NAMES, RELATIONS, TYPES, HIERARCHY = "MRCONSO.RRF", "MRREL.RRF", "MRSTY.RRF", "MRHIER.RRF"

MAX_SYNONYMS = 50
"""Further names that are kept of one concept, the most preferred first."""
MAX_PROBLEMS = 20
"""Rows that are told one by one; more are counted in a note."""
MOST_FREQUENT = 12
"""Relations that are proposed when none was chosen."""

LICENCE = "UMLS content is licensed: do not share or export these facts publicly without a UMLS licence."

_COLUMNS = {NAMES: 17, RELATIONS: 15, TYPES: 4, HIERARCHY: 4}
"""Columns that are needed of each file; further ones may follow."""
_WHERE = "Choose the folder META of a UMLS release."
_SUPPRESSED = frozenset({b"O", b"E", b"Y"})

_Link = tuple[bytes, bytes, bytes]
"""Head's CUI, RELA, tail's CUI."""


class _Concept(NamedTuple):
    cui: str
    name: str
    semantic_type: str | None


@dataclass
class _Told:
    """Rows that cannot be used: the first ones in words, the rest as a count."""

    problems: list[Problem] = field(default_factory=list)
    further: int = 0

    def tell(self, row: int, what: str, file: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(row, what, file))
        else:
            self.further += 1


@dataclass
class _Names:
    """What MRCONSO says of the wanted concepts. `ranked`: CUI → names, each led by its rank. `atoms`: AUI → CUI."""

    ranked: defaultdict[bytes, list[bytes]] = field(default_factory=lambda: defaultdict(list))
    atoms: dict[bytes, bytes] = field(default_factory=dict)
    languages: set[bytes] = field(default_factory=set)


def is_umls(folder: Path) -> bool:
    """Whether a folder holds MRCONSO.RRF and MRREL.RRF, in upper or lower case."""
    return folder.is_dir() and {NAMES, RELATIONS} <= _files(folder).keys()


def load_umls(folder: Path, relations: Sequence[str] = (), sources: Sequence[str] = (), language: str = "ENG") -> Collection:
    """The facts of some relations of the Metathesaurus, in the order of MRREL.

    Args:
        folder: the folder META of a release or of a subset.
        relations: values of RELA, as the files write them (`may_treat`).
        sources: vocabularies (values of SAB) whose rows of MRREL are read; none: all. A name of an earlier one goes before that
            of a later one where the files prefer neither; names are taken from all vocabularies.
        language: value of LAT, the language of the names.

    Obsolete and suppressed rows, rows that relate a concept to itself, and repetitions are left out. Rows of a concept without
    a name in the language are counted in a note.

    Raises:
        FactsError: no relation was chosen (names the most frequent ones), nothing of it is there, or a file is not RRF.
    """
    files, told, language = _needed_files(folder), _Told(), language.strip().upper()
    links = _links(files[RELATIONS], relations, sources, told) if relations else {}
    if not links:
        raise _nothing(files[RELATIONS], relations, sources)
    cuis = frozenset(cui for head, _, tail in links for cui in (head, tail))
    names = _names(files[NAMES], cuis, sources, language, HIERARCHY in files, told)
    types, named = _types(files.get(TYPES), cuis, told), len(names.ranked)
    concepts, synonyms = _concepts(names.ranked, types)
    facts = tuple(_facts(links, concepts))
    if not facts:
        raise _unnamed(names.languages, named, len(cuis), language)
    is_a = _is_a(files.get(HIERARCHY), names.atoms, concepts, told)
    also_true = _also_linked(files[RELATIONS], links, concepts)
    found = {fact.relation for fact in facts}
    notes = _notes(len(links) - len(facts), language, [name for name in relations if name not in found], told)
    known = KnowledgeBase(facts, also_true=also_true, synonyms=synonyms, is_a=is_a)
    return Collection(folder.resolve().name, facts, known, tuple(told.problems), tuple(notes))


def _needed_files(folder: Path) -> dict[str, Path]:
    """The files of the folder; raises FactsError when one is missing that cannot be done without."""
    files = _files(folder)
    for file in (NAMES, RELATIONS):
        if file not in files:
            raise FactsError(f"The folder {folder.name!r} has no {file}.", _WHERE)
    return files


def _files(folder: Path) -> dict[str, Path]:
    """The files of a folder by their names in capitals."""
    return {file.name.upper(): file for file in sorted(folder.iterdir()) if file.is_file()} if folder.is_dir() else {}


# ------------------------------------------------------------------------------------------------ rows


def _rows(path: Path, wanted: Callable[[bytes], object], told: _Told) -> Iterator[tuple[int, list[bytes]]]:
    """Number (from 1) and columns of the rows that may be wanted: `wanted` sees the raw line, and may let too many through.

    Raises FactsError when the first row has too few columns; a later one is told and left out.
    """
    needed = _COLUMNS[path.name.upper()]
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not wanted(line) and number > 1:
                continue
            columns = line.rstrip(b"\r\n").removesuffix(b"|").split(b"|")
            if len(columns) >= needed:
                yield number, columns
                continue
            what = f"it has {len(columns)} columns of the {needed} that are needed"
            if number == 1:
                raise FactsError(f"{path.name}, row 1: {what}; this is not RRF.", _WHERE)
            told.tell(number, f"{what}; the row may be cut off", path.name)


def _of(cuis: Container[bytes]) -> Callable[[bytes], bool]:
    """Whether a line begins with one of these CUIs."""
    return lambda line: line[: line.find(b"|")] in cuis


def _related(
    path: Path, wanted: Callable[[bytes], object], sources: Sequence[str], told: _Told
) -> Iterator[tuple[_Link, bytes]]:
    """The links of MRREL and their SAB: neither suppressed, nor of a concept to itself, nor from another source."""
    allowed = frozenset(source.encode() for source in sources)
    for number, columns in _rows(path, wanted, told):
        cui1, cui2, rela, sab = columns[0], columns[4], columns[7], columns[10]
        if not rela or cui1 == cui2 or columns[14] in _SUPPRESSED or (allowed and sab not in allowed):
            continue
        if cui1 and cui2:
            yield (cui2, rela, cui1), sab
        else:
            told.tell(number, "a concept's identifier (CUI) is empty", path.name)


def _links(path: Path, relations: Sequence[str], sources: Sequence[str], told: _Told) -> dict[_Link, str]:
    """The chosen links, each once, in the order of the file, with the source that says it first."""
    chosen = {relation.encode(): relation.encode() for relation in relations}
    wanted = re.compile(rb"\|(?:" + b"|".join(map(re.escape, chosen)) + rb")\|").search
    cuis: dict[bytes, bytes] = {}
    names: dict[bytes, str] = {}
    links: dict[_Link, str] = {}
    for (head, relation, tail), sab in _related(path, wanted, sources, told):
        if relation in chosen:
            link = cuis.setdefault(head, head), chosen[relation], cuis.setdefault(tail, tail)
            links.setdefault(link, names.setdefault(sab, f"UMLS {sab.decode(errors='replace')}"))
    return links


def _nothing(path: Path, relations: Sequence[str], sources: Sequence[str]) -> FactsError:
    """The error for no relation, or one that is not there: it names the most frequent ones, counted over usable rows."""
    counts = Counter(relation for (_, relation, _), _ in _related(path, lambda _: True, sources, _Told()))
    # sorted before it is cut, so that equal counts do not depend on the order of the file
    first = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_FREQUENT]
    listed = ", ".join(f"{relation.decode(errors='replace')} ({count})" for relation, count in first)
    where = path.name + (f" from {' or '.join(sources)}" if sources else "")
    wrong = f"{where} has no usable row of {' or '.join(relations)}." if relations else "No relation of UMLS was chosen."
    there = f"The most frequent in {where}: {listed}." if listed else f"There is no usable relation in {where}."
    return FactsError(f"{wrong} {there}", "Choose with `--rela NAME`.")


# ------------------------------------------------------------------------------------------------ concepts


def _names(path: Path, cuis: frozenset[bytes], sources: Sequence[str], language: str, with_atoms: bool, told: _Told) -> _Names:
    """The names of these concepts in the language; with `with_atoms`, the concept of every one of their atoms too."""
    names, code = _Names(), language.encode()
    place = {source.encode(): number for number, source in enumerate(sources)}
    # one object for each CUI, not one for each row
    own = {cui: cui for cui in cuis}
    for number, columns in _rows(path, _of(cuis), told):
        cui = own.get(columns[0])
        if cui is None:
            continue
        if with_atoms:
            names.atoms[columns[7]] = cui
        if columns[16] in _SUPPRESSED:
            continue
        names.languages.add(columns[1])
        if columns[1] != code:
            continue
        text = _text(columns[14])
        if text:
            names.ranked[cui].append(_rank(columns, place) + text.encode())
        else:
            told.tell(number, "its name is empty or not UTF-8", path.name)
    return names


def _unnamed(there: set[bytes], named: int, concepts: int, language: str) -> FactsError:
    """The error where no fact has a name for both its concepts in the language. named: how many concepts have one."""
    languages = ", ".join(sorted(code.decode(errors="replace") for code in there)) or "none"
    hint = f"Languages of their concepts: {languages}."
    if named:
        problem = f"No fact has names in {language!r} for both its concepts: {named:,} of {concepts:,} concepts have one."
        return FactsError(problem, hint)
    return FactsError(f"{NAMES} has no names in {language!r} for these facts.", hint)


def _text(column: bytes) -> str:
    """A column as text, with single spaces; nothing when it is not UTF-8."""
    try:
        return " ".join(column.decode().split())
    except UnicodeDecodeError:
        return ""


def _rank(columns: Sequence[bytes], place: Mapping[bytes, int]) -> bytes:
    """How far a name is from being preferred, in bytes that sort so: by TS, STT, ISPREF, then by the sources as given."""
    flags = (columns[2] != b"P") * 4 + (columns[4] != b"PF") * 2 + (columns[6] != b"Y")
    return (flags * (len(place) + 1) + place.get(columns[11], len(place))).to_bytes(_RANK_BYTES, "big")


_RANK_BYTES = 2


def _types(path: Path | None, cuis: frozenset[bytes], told: _Told) -> dict[bytes, str]:
    """CUI → its semantic types in alphabetical order, joined by "; "."""
    if path is None:
        return {}
    found: dict[bytes, tuple[str, ...]] = {}
    # few combinations of types, many concepts: each combination is held once
    shared: dict[tuple[str, ...], tuple[str, ...]] = {}
    for number, columns in _rows(path, _of(cuis), told):
        if columns[0] not in cuis:
            continue
        text = _text(columns[3])
        if not text:
            told.tell(number, "its semantic type is empty or not UTF-8", path.name)
            continue
        types = tuple(sorted({*found.get(columns[0], ()), text}))
        found[columns[0]] = shared.setdefault(types, types)
    joined = {types: "; ".join(types) for types in shared}
    return {cui: joined[types] for cui, types in found.items()}


def _concepts(
    ranked: dict[bytes, list[bytes]], types: Mapping[bytes, str]
) -> tuple[dict[bytes, _Concept], tuple[tuple[str, ...], ...]]:
    """CUI → concept under its preferred name, and the groups of names of one concept. Empties `ranked` as it goes."""
    concepts: dict[bytes, _Concept] = {}
    synonyms: list[tuple[str, ...]] = []
    further: list[tuple[str, str]] = []
    for cui in sorted(ranked):
        group = _different(entry[_RANK_BYTES:].decode() for entry in sorted(ranked.pop(cui)))
        concepts[cui] = _Concept(cui.decode(errors="replace"), group[0], types.get(cui))
        further += [(group[0], name) for name in group[MAX_SYNONYMS + 1 :]]
        if len(group) > 1:
            synonyms.append(group[: MAX_SYNONYMS + 1])
    preferred = {name_key(concept.name) for concept in concepts.values()} if further else set()
    return concepts, (*synonyms, *(pair for pair in further if name_key(pair[1]) in preferred))


def _different(names: Iterable[str]) -> tuple[str, ...]:
    """The names in their order; spellings that the knowledge base takes for one stand once."""
    different: dict[str, str] = {}
    for name in names:
        different.setdefault(name_key(name), name)
    return tuple(different.values())


def _also_linked(path: Path, links: Mapping[_Link, str], concepts: Mapping[bytes, _Concept]) -> tuple[tuple[str, str], ...]:
    """Names of heads and tails that MRREL links in some other way: by any relation or none, of any source, suppressed or not.

    Siblings (REL `SIB`) are not linked: they share a parent.
    """
    heads, tails = {head for head, _, _ in links}, {tail for _, _, tail in links}
    known = {(head, tail) for head, _, tail in links}
    pairs: set[tuple[str, str]] = set()
    for _, columns in _rows(path, _of(concepts), _Told()):
        if columns[4] not in concepts or columns[3] == b"SIB":
            continue
        for head, tail in ((columns[0], columns[4]), (columns[4], columns[0])):
            if head in heads and tail in tails and head != tail and (head, tail) not in known and columns[0] in concepts:
                pairs.add((concepts[head].name, concepts[tail].name))
    return tuple(sorted(pairs))


def _is_a(
    path: Path | None, atoms: Mapping[bytes, bytes], concepts: Mapping[bytes, _Concept], told: _Told
) -> tuple[tuple[str, str], ...]:
    """Pairs (a concept's name, the name of one above it) of concepts that both occur, sorted.

    The path to the root (PTR) names those above it, so that a step over a concept that does not occur is not lost.
    """
    if path is None:
        return ()
    pairs: set[tuple[str, str]] = set()
    for _, columns in _rows(path, _of(concepts), told):
        child = concepts.get(columns[0])
        path_to_root = columns[6].split(b".") if len(columns) > 6 else []
        for atom in (columns[3], *path_to_root):
            above = concepts.get(atoms.get(atom, b""))
            if child is not None and above is not None and child.name != above.name:
                pairs.add((child.name, above.name))
    return tuple(sorted(pairs))


# ------------------------------------------------------------------------------------------------ facts


def _facts(links: Mapping[_Link, str], concepts: Mapping[bytes, _Concept]) -> Iterator[Fact]:
    """The links between concepts that have a name."""
    relations: dict[bytes, str] = {}
    for (head_cui, relation, tail_cui), source in links.items():
        head, tail = concepts.get(head_cui), concepts.get(tail_cui)
        if head is not None and tail is not None:
            yield Fact(
                head.name,
                relations.setdefault(relation, relation.decode()),
                tail.name,
                head_type=head.semantic_type,
                tail_type=tail.semantic_type,
                head_id=head.cui,
                tail_id=tail.cui,
                source=source,
            )


def _notes(unnamed: int, language: str, absent: Sequence[str], told: _Told) -> Iterator[str]:
    yield LICENCE
    if unnamed:
        yield f"{unnamed} rows of {RELATIONS} are left out: a concept has no name in {language}."
    if absent:
        yield f"{RELATIONS} gave no fact of {', '.join(absent)}; the facts are those of the other relations."
    if told.further:
        yield f"{told.further} further rows could not be read, beside the {MAX_PROBLEMS} that are named."
