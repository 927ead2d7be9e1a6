"""The UMLS Metathesaurus in RRF: chosen relations only, so that memory depends on their rows, not on the files.

MRREL.RRF holds the relations, MRCONSO.RRF the names, MRSTY.RRF the semantic types and MRHIER.RRF, which is optional, the
hierarchy. A row of MRREL states what its *second* concept is to its first: CUI1 asthma, RELA may_treat, CUI2 albuterol means
that albuterol may treat asthma.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from medfact.datasets.collection import Collection
from medfact.datasets.rrf import (
    HIERARCHY,
    MAX_PROBLEMS,
    NAMES,
    RELATIONS,
    SUPPRESSED,
    TYPES,
    Problems,
    files_in,
    needed_files_in,
    read_rows,
    starts_with,
)
from medfact.datasets.umls_concepts import Concept, concepts_of, read_hierarchy, read_names, read_types, unnamed
from medfact.errors import FactsError
from medfact.facts import Fact, KnowledgeBase

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
