"""Tables of facts that others have made: what they say of a fact, by its names and identifiers."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from rare_core_sources import Ontology, read_annotations, read_ontology

from medfact.facts import Fact, KnowledgeBase, name_key

SOURCES = {
    "doid_symptoms.tsv": "Human Disease Ontology",
    "doid_sites.tsv": "Human Disease Ontology",
    "indications.tsv": "PharmacotherapyDB",
    "labeledin.tsv": "LabeledIn",
    "drugcentral_indications.tsv": "DrugCentral",
    "drugcentral_physiologic_effect.tsv": "DrugCentral",
    "mondo_sites.tsv": "Mondo",
    "maxo_surgical.tsv": "MAxO",
    "maxo_treats_other.tsv": "MAxO",
    "maxo_prevents.tsv": "MAxO",
    "entrez_gene_products_sample.tsv": "NCBI Gene",
    "go_annotations_sample.tsv": "Gene Ontology, experimental evidence",
}
RELATIONS = {
    "symptoms": "finding",
    "disease may have finding": "finding",
    "affected sites": "site",
    "disease has associated anatomic site": "site",
    "therapeutic drugs": "drug",
    "may treat": "drug",
    "surgical procedures": "procedure",
    "treatments": "procedure",
}
"""What is one relation under several names, either way round."""
LABEL = "FDA label: contraindicated"
DAILYMED = "https://dailymed.nlm.nih.gov/dailymed/search.cfm?labeltype=all&query="
RARELY = re.compile(r"HP:004028[45]|0/")


class Said(NamedTuple):
    """A row of a table that is about a fact."""

    source: str
    address: str
    place: str


def key(name: str) -> str:
    """One key for the spellings of a name that tables use: also "Arthritis, Rheumatoid" and "Alzheimer's disease"."""
    last, comma, first = name.partition(", ")
    turned = f"{first} {last}" if comma and ", " not in first else name
    return name_key(re.sub(r"['’]s\b|\bgene$", "", turned))


class Table:
    """What the tables say, by kind of relation and by the two names or identifiers."""

    def __init__(self) -> None:
        self.pairs: defaultdict[tuple[str, frozenset[str]], set[Said]] = defaultdict(set)
        self.findings: defaultdict[str, set[Said]] = defaultdict(set)
        self.terms: defaultdict[str, set[str]] = defaultdict(set)
        self.labels: defaultdict[str, list[str]] = defaultdict(list)
        self.ontology: Ontology | None = None

    def add(self, relation: str, names: tuple[str, str], identifiers: list[str], said: Said) -> None:
        kind = RELATIONS.get(relation.replace("_", " "), relation.replace("_", " "))
        self.pairs[kind, frozenset(map(key, names))].add(said)
        if len(identifiers) == 2:
            self.pairs[kind, frozenset(identifiers)].add(said)

    def rows_of(self, fact: Fact, known: KnowledgeBase, other: Mapping[str, tuple[str, ...]]) -> Iterator[Said]:
        """What tables say of a fact, once each. other: more words in which sources write our names."""
        kind = RELATIONS.get(fact.relation, fact.relation)
        found: dict[str, Said] = {}
        for head in {*known.names(fact.head), *other.get(fact.head, ())}:
            for tail in {*known.names(fact.tail or ""), *other.get(fact.tail or "", ())}:
                for said in self.pairs.get((kind, frozenset((key(head), key(tail)))), ()):
                    found.setdefault(said.source, said)
        if fact.head_id and fact.tail_id:
            for said in self.pairs.get((kind, frozenset((fact.head_id, fact.tail_id))), ()):
                found.setdefault(said.source, said)
        yield from (said for said in found.values() if said.source != fact.source)
        if kind == "finding":
            yield from self._annotations(fact, known)
        if not fact.positive:
            yield from self._label_words(fact)

    def _annotations(self, fact: Fact, known: KnowledgeBase) -> Iterator[Said]:
        """Annotations of the disease with a term of this name or below it."""
        assert self.ontology is not None or not self.findings
        terms = set().union(*(self.terms.get(key(name), set()) for name in known.names(fact.tail or "")))
        below = {one for term in terms for one in (term, *self.ontology.below(term))} if self.ontology else set()
        sources: dict[str, Said] = {}
        for head in known.names(fact.head):
            for said in sorted(self.findings.get(key(head), ()), key=lambda said: said.address.split()[1] not in terms):
                if said.address.split()[1] in below and said.address != fact.source_id:
                    sources.setdefault(said.source, said)
        yield from sources.values()

    def _label_words(self, fact: Fact) -> Iterator[Said]:
        seen = self.labels.get(key(fact.tail or ""), [])
        first = key(fact.head).split()
        for label in seen:
            if any(word[:6] in label.lower() for word in first if len(word) > 4):
                yield Said(LABEL, DAILYMED + (fact.tail or "").replace(" ", "+"), "[label] " + label)
                return


def read_tables(folder: Path, tables: Path | None) -> Table:
    """The tables of both folders."""
    table = Table()
    csv.field_size_limit(1 << 24)
    for path in sorted(tables.glob("*.tsv")) if tables else ():
        for row in _rows(path):
            if path.name in SOURCES:
                identifiers = row["source_id"].replace("_", ":").split("|")[:2]
                place = f"[{path.name}] {row['head']} | {row['tail']}"
                table.add(
                    row["relation"], (row["head"], row["tail"]), identifiers, Said(SOURCES[path.name], row["source_id"], place)
                )
            elif path.name == "contraindications.tsv":
                table.labels[key(row["drug"])].append(row["label_says"])
    if (folder / "hp.obo").is_file():
        _read_findings(folder, table)
    return table


def _read_findings(folder: Path, table: Table) -> None:
    table.ontology = Ontology(read_ontology(folder / "hp.obo"))
    for identifier, term in table.ontology.terms.items():
        for name in (term.name, *term.synonyms):
            table.terms[key(name)].add(identifier)
    for row in read_annotations(folder / "phenotype.hpoa"):
        if row.term in table.ontology.terms and not row.denied and not RARELY.match(row.frequency):
            source = "Orphanet (HPO annotations)" if row.disease.startswith("ORPHA") else "OMIM (HPO annotations)"
            place = f"[{row.name}] {table.ontology.terms[row.term].name} {row.frequency}"
            table.findings[key(row.name)].add(Said(source, f"{row.disease} {row.term}", place))


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
