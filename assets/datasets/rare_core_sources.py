"""The sources of `rare-core`, read: the ontology, its annotations, and what joins other sources to Orphanet's diseases."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as parquet

ROOT = "HP:0000118"
"""The term above all phenotypic abnormalities."""
EXCLUDED = "HP:0040285"
"""The frequency of what no patient has."""
LONGEST_NAME = 7
"""Words of a term's name, at most, that are looked for in a text."""


class Term(NamedTuple):
    """A term of the ontology, and its other names of exactly the same meaning."""

    name: str
    parents: tuple[str, ...]
    synonyms: tuple[str, ...]


class Row(NamedTuple):
    """An annotation: a disease, a term, how often, and whether the curators say that the disease does not have it."""

    disease: str
    name: str
    term: str
    frequency: str
    denied: bool


class Ontology:
    """The terms with those above and below each."""

    def __init__(self, terms: dict[str, Term]) -> None:
        self.terms = terms
        self.children: defaultdict[str, set[str]] = defaultdict(set)
        for identifier, term in terms.items():
            for parent in term.parents:
                self.children[parent].add(identifier)

    @cache  # noqa: B019
    def above(self, identifier: str) -> frozenset[str]:
        return _with_own(self.terms[identifier].parents, self.above)

    @cache  # noqa: B019
    def below(self, identifier: str) -> frozenset[str]:
        return _with_own(self.children[identifier], self.below)


def _with_own(near: Iterable[str], reached: Callable[[str], frozenset[str]]) -> frozenset[str]:
    """Those that are near, and what is reached from them."""
    near = frozenset(near)
    return near.union(*map(reached, near))


class Sources(NamedTuple):
    """Everything that is read.

    genes:   disease → symbols of its genes.
    omim:    disease of Orphanet → OMIM's names for it and for its kinds, through Mondo.
    called:  disease of Orphanet → Mondo's name of it.
    treated: disease of Orphanet → terms that a treatment of it treats or prevents, so that they belong to it.
    pages:   name of a disease, in words → the pages of US institutes about it.
    """

    ontology: Ontology
    rows: list[Row]
    genes: Mapping[str, set[str]]
    omim: Mapping[str, set[str]]
    called: Mapping[str, str]
    treated: Mapping[str, set[str]]
    pages: Mapping[tuple[str, ...], list[str]]


def read_sources(folder: Path) -> Sources:
    """Reads every source; `build_rare_core.py` says which files the folder holds."""
    ontology = Ontology(read_ontology(folder / "hp.obo"))
    rows = [row for row in read_annotations(folder / "phenotype.hpoa") if row.term in ontology.terms]
    joined = list(_table(folder / "orphanet_omim.tsv"))
    omim: defaultdict[str, set[str]] = defaultdict(set)
    for row in joined:
        omim[_orphanet(row)].add(row["omim"])
    return Sources(
        ontology=ontology,
        rows=rows,
        genes=read_genes(folder / "genes_to_phenotype.txt"),
        omim=omim,
        called={_orphanet(row): row["name"] for row in joined},
        treated=_read_treated(folder / "maxo_annotations.tsv", {row["mondo"]: _orphanet(row) for row in joined}, ontology),
        pages=_read_pages(folder / "medquad.parquet"),
    )


def read_ontology(path: Path) -> dict[str, Term]:
    """Identifier → term, without obsolete ones."""
    terms = {}
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        if block.startswith("[Term]") and "is_obsolete: true" not in block:
            fields = [line.split(": ", 1) for line in block.splitlines() if ": " in line]
            values = dict(reversed(fields))
            parents = tuple(value.split(" ! ")[0] for key, value in fields if key == "is_a")
            synonyms = tuple(re.findall(r'^synonym: "(.*?)" EXACT', block, re.MULTILINE))
            terms[values["id"]] = Term(values["name"], parents, synonyms)
    return terms


def read_annotations(path: Path) -> list[Row]:
    """The annotations with phenotypic abnormalities."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return [
        Row(row["database_id"], row["disease_name"], row["hpo_id"], row["frequency"], is_denied(row))
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        if row["aspect"] == "P"
    ]


def is_denied(row: dict[str, str]) -> bool:
    """Whether an annotation says NOT, or that no patient had it."""
    return row["qualifier"] == "NOT" or row["frequency"] == EXCLUDED or re.match(r"0/\d+$", row["frequency"]) is not None


def read_genes(path: Path) -> dict[str, set[str]]:
    """Disease → symbols of its genes."""
    genes: defaultdict[str, set[str]] = defaultdict(set)
    for row in _table(path):
        genes[row["disease_id"]].add(row["gene_symbol"])
    return genes


def _read_treated(path: Path, orphanet: Mapping[str, str], ontology: Ontology) -> dict[str, set[str]]:
    treated: defaultdict[str, set[str]] = defaultdict(set)
    for row in _table(path):
        is_term = row["hpo_id"] in ontology.terms.keys() - {ROOT}
        if row["relation"] in ("treats", "prevents") and is_term and row["disease_id"] in orphanet:
            treated[orphanet[row["disease_id"]]].add(row["hpo_id"])
    return treated


def _read_pages(path: Path) -> dict[tuple[str, ...], list[str]]:
    pages: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for row in parquet.read_table(path, columns=["focus", "synonyms", "answer"]).to_pylist():
        for name in {words(name) for name in (row["focus"], *(row["synonyms"] or "").split("|"))} - {()}:
            pages[name].append(row["answer"])
    return pages


def _table(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        yield from csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)


def _orphanet(row: dict[str, str]) -> str:
    """The identifier as the annotations write it."""
    return row["orphanet"].replace("Orphanet:", "ORPHA:")


# ------------------------------------------------------------------------------------------------ texts


def words(text: str) -> tuple[str, ...]:
    """A text as words in small letters; a plural s goes."""
    return tuple(word.removesuffix("s") for word in re.findall(r"[^\W_]+", text.lower().replace("'s", "")))


def terms_by_words(ontology: Ontology) -> dict[tuple[str, ...], set[str]]:
    """The words of a name → the terms that have it, among the abnormalities."""
    named: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    for identifier, term in ontology.terms.items():
        if ROOT in ontology.above(identifier):
            for name in (term.name, *term.synonyms):
                named[words(name)].add(identifier)
    return named


def terms_in(text: str, named: Mapping[tuple[str, ...], set[str]]) -> set[str]:
    """The terms that a text names."""
    said = words(text)
    spans = (said[start : start + length] for start in range(len(said)) for length in range(1, LONGEST_NAME + 1))
    return set().union(*(named[span] for span in spans if span in named))
