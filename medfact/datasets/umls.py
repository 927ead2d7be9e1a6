"""The UMLS Metathesaurus in RRF: chosen relations only, so that memory depends on their rows, not on the files.

MRREL.RRF holds the relations, MRCONSO.RRF the names, MRSTY.RRF the semantic types and MRHIER.RRF, which is optional, the
hierarchy. A row of MRREL states what its *second* concept is to its first: CUI1 asthma, RELA may_treat, CUI2 albuterol means
that albuterol may treat asthma. Columns: https://www.ncbi.nlm.nih.gov/books/NBK9685/
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

SUPPRESSED = frozenset({b"O", b"E", b"Y"})
"""Values of the column SUPPRESS."""

MAX_PROBLEMS = 20
"""Unusable rows that are listed one by one; the rest are counted."""

_COLUMNS = {NAMES: 17, RELATIONS: 15, TYPES: 4, HIERARCHY: 4}
"""How many columns of each file are needed; more may follow."""

_HINT = "Choose the folder META of a UMLS release."


@dataclass
class Problems:
    """Rows that cannot be used: the first ones described, the others counted."""

    listed: list[Problem] = field(default_factory=list)
    further: int = 0

    def add(self, row: int, message: str, file: str) -> None:
        if len(self.listed) < MAX_PROBLEMS:
            self.listed.append(Problem(row, message, file))
        else:
            self.further += 1


def files_in(folder: Path) -> dict[str, Path]:
    """The files of a folder by their names in capitals."""
    return {file.name.upper(): file for file in sorted(folder.iterdir()) if file.is_file()} if folder.is_dir() else {}


def needed_files_in(folder: Path) -> dict[str, Path]:
    """As `files_in`; raises FactsError if MRCONSO.RRF or MRREL.RRF is missing."""
    files = files_in(folder)
    for file in (NAMES, RELATIONS):
        if file not in files:
            raise FactsError(f"The folder {folder.name!r} has no {file}.", _HINT)
    return files


def read_rows(path: Path, may_be_wanted: Callable[[bytes], object], problems: Problems) -> Iterator[tuple[int, list[bytes]]]:
    """Number (from 1) and columns of the rows whose raw line may be wanted.

    Raises FactsError if the first row has too few columns; any later one becomes a problem and is left out.
    """
    needed = _COLUMNS[path.name.upper()]
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not may_be_wanted(line) and number > 1:
                continue
            columns = line.rstrip(b"\r\n").removesuffix(b"|").split(b"|")
            if len(columns) >= needed:
                yield number, columns
                continue
            message = f"it has {len(columns)} columns of the {needed} that are needed"
            if number == 1:
                raise FactsError(f"{path.name}, row 1: {message}; this is not RRF.", _HINT)
            problems.add(number, f"{message}; the row may be cut off", path.name)


def starts_with(cuis: Container[bytes]) -> Callable[[bytes], bool]:
    """A test of raw lines: whether the first column is one of these CUIs."""
    return lambda line: line[: line.find(b"|")] in cuis


def text_of(column: bytes) -> str:
    """A column as text with single spaces; empty if it is not UTF-8."""
    try:
        return " ".join(column.decode().split())
    except UnicodeDecodeError:
        return ""


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


def rank_of(columns: Sequence[bytes]) -> int:
    """How far a concept prefers a name, by TS, STT and ISPREF; lower is better."""
    return (columns[2] != b"P") * 4 + (columns[4] != b"PF") * 2 + (columns[6] != b"Y")


def _rank(columns: Sequence[bytes], place: Mapping[bytes, int]) -> bytes:
    """Bytes that sort names by preference: their rank, then the order of the chosen sources."""
    return (rank_of(columns) * (len(place) + 1) + place.get(columns[11], len(place))).to_bytes(_RANK_BYTES, "big")


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


MAX_SUGGESTIONS = 12
"""Relations that are suggested when none was chosen."""

LICENCE = "UMLS content is licensed: do not share or export these facts publicly without a UMLS licence."

_Link = tuple[bytes, bytes, bytes]
"""Head's CUI, RELA, tail's CUI."""


def is_umls(folder: Path) -> bool:
    """Whether a folder holds MRCONSO.RRF and MRREL.RRF, in upper or lower case."""
    return folder.is_dir() and {NAMES, RELATIONS} <= files_in(folder).keys()


def load_umls(folder: Path, relations: Sequence[str] = (), sources: Sequence[str] = (), language: str = "ENG") -> Collection:
    """The facts of some relations of the Metathesaurus, in the order of MRREL.

    Args:
        folder: the folder META of a release or of a subset.
        relations: values of RELA, as the files write them (`may_treat`).
        sources: vocabularies (values of SAB) whose rows of MRREL are read; none means all. Names come from all vocabularies;
            where the files prefer none, names of earlier sources win.
        language: value of LAT, the language of the names.

    Obsolete and suppressed rows, rows that relate a concept to itself, and repetitions are left out. A note counts the rows
    of concepts without a name in the language.

    Raises:
        FactsError: no relation was chosen (suggests the most frequent ones), none of them occurs, or a file is not RRF.
    """
    files, problems, language = needed_files_in(folder), Problems(), language.strip().upper()
    links = _links(files[RELATIONS], relations, sources, problems) if relations else {}
    if not links:
        raise _no_links(files[RELATIONS], relations, sources)
    cuis = frozenset(cui for head, _, tail in links for cui in (head, tail))
    names = read_names(files[NAMES], cuis, sources, language, HIERARCHY in files, problems)
    types, with_name = read_types(files.get(TYPES), cuis, problems), len(names.ranked)
    concepts, synonyms = concepts_of(names.ranked, types)
    facts = tuple(_facts(links, concepts))
    if not facts:
        raise unnamed(names, with_name, len(cuis), language)
    is_a = read_hierarchy(files.get(HIERARCHY), names.atoms, concepts, problems)
    also_true = _also_linked(files[RELATIONS], links, concepts)
    with_facts = {fact.relation for fact in facts}
    notes = _notes(len(links) - len(facts), language, [name for name in relations if name not in with_facts], problems)
    known = KnowledgeBase(facts, also_true=also_true, synonyms=synonyms, is_a=is_a)
    return Collection(folder.resolve().name, facts, known, tuple(problems.listed), tuple(notes))


def related(
    path: Path, may_be_wanted: Callable[[bytes], object], sources: Sequence[str], problems: Problems
) -> Iterator[tuple[_Link, bytes]]:
    """The links of MRREL and their SAB, except those suppressed, of a concept to itself, or from another source."""
    allowed = frozenset(source.encode() for source in sources)
    for number, columns in read_rows(path, may_be_wanted, problems):
        cui1, cui2, rela, sab = columns[0], columns[4], columns[7], columns[10]
        if not rela or cui1 == cui2 or columns[14] in SUPPRESSED or (allowed and sab not in allowed):
            continue
        if cui1 and cui2:
            yield (cui2, rela, cui1), sab
        else:
            problems.add(number, "a concept's identifier (CUI) is empty", path.name)


def _links(path: Path, relations: Sequence[str], sources: Sequence[str], problems: Problems) -> dict[_Link, str]:
    """The chosen links, each once, in the order of the file, with the first source that states each."""
    chosen = {relation.encode(): relation.encode() for relation in relations}
    holds_one = re.compile(rb"\|(?:" + b"|".join(map(re.escape, chosen)) + rb")\|").search
    # equal values share one object, which saves memory
    cuis: dict[bytes, bytes] = {}
    names: dict[bytes, str] = {}
    links: dict[_Link, str] = {}
    for (head, relation, tail), sab in related(path, holds_one, sources, problems):
        if relation in chosen:
            link = cuis.setdefault(head, head), chosen[relation], cuis.setdefault(tail, tail)
            links.setdefault(link, names.setdefault(sab, f"UMLS {sab.decode(errors='replace')}"))
    return links


def _no_links(path: Path, relations: Sequence[str], sources: Sequence[str]) -> FactsError:
    """The error if no relation was chosen or none occurs: it suggests the most frequent ones, counted over usable rows."""
    counts = Counter(relation for (_, relation, _), _ in related(path, lambda _: True, sources, Problems()))
    # sorted before it is cut, so that ties do not depend on the order of the file
    first = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:MAX_SUGGESTIONS]
    listed = ", ".join(f"{relation.decode(errors='replace')} ({count})" for relation, count in first)
    where = path.name + (f" from {' or '.join(sources)}" if sources else "")
    wrong = f"{where} has no usable row of {' or '.join(relations)}." if relations else "No relation of UMLS was chosen."
    there = f"The most frequent in {where}: {listed}." if listed else f"There is no usable relation in {where}."
    return FactsError(f"{wrong} {there}", "Choose with `--rela NAME`.")


def _also_linked(path: Path, links: Mapping[_Link, str], concepts: Mapping[bytes, Concept]) -> tuple[tuple[str, str], ...]:
    """Names of heads and tails that MRREL links otherwise: by any relation or none, from any source, suppressed or not.

    Siblings (REL `SIB`) do not count as linked: they only share a parent.
    """
    heads, tails = {head for head, _, _ in links}, {tail for _, _, tail in links}
    known = {(head, tail) for head, _, tail in links}
    pairs: set[tuple[str, str]] = set()
    for _, columns in read_rows(path, starts_with(concepts), Problems()):
        if columns[4] not in concepts or columns[3] == b"SIB":
            continue
        for head, tail in ((columns[0], columns[4]), (columns[4], columns[0])):
            if head in heads and tail in tails and head != tail and (head, tail) not in known and columns[0] in concepts:
                pairs.add((concepts[head].name, concepts[tail].name))
    return tuple(sorted(pairs))


def _facts(links: Mapping[_Link, str], concepts: Mapping[bytes, Concept]) -> Iterator[Fact]:
    """The links whose two concepts have a name."""
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


def _notes(unnamed_rows: int, language: str, absent: Sequence[str], problems: Problems) -> Iterator[str]:
    yield LICENCE
    if unnamed_rows:
        left_out = "1 row is" if unnamed_rows == 1 else f"{unnamed_rows} rows are"
        yield f"In {RELATIONS} {left_out} left out: a concept has no name in {language}."
    if absent:
        yield f"{RELATIONS} gave no fact of {', '.join(absent)}; the facts are those of the other relations."
    if problems.further:
        yield f"{problems.further} further rows could not be read, beside the {MAX_PROBLEMS} that are named."
