"""Finds the facts of rare-core that OMIM states too, by identifiers alone: its disease is the same, and so is the finding.

    python assets/datasets/join_sources.py SOURCES_FOLDER DAY > assets/datasets/rare-core.sources.csv

SOURCES_FOLDER is that of `build_rare_core.py`. The disease of OMIM is the one that Mondo joins to Orphanet's, or to a kind of
it. A finding is stated where the curators of HPO took the same term, or one below it, from OMIM or from an article about that
disease, and did not deny it. A gene is stated where it is listed for the disease of OMIM.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from rare_core_sources import Sources, is_denied, read_sources

from medfact.datasets import load_bundled
from medfact.facts import Fact

COLUMNS = ("head", "relation", "tail", "source", "source_id", "decision", "decided_by", "read_on")
OMIM, ARTICLE = "OMIM (HPO annotations)", "PubMed (HPO annotations)"


def read_references(path: Path) -> dict[tuple[str, str], list[str]]:
    """Disease of OMIM and term → where the curators found that together: entries of OMIM, and articles."""
    found: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
        if row["database_id"].startswith("OMIM:") and row["aspect"] == "P" and not is_denied(row):
            found[row["database_id"], row["hpo_id"]] += row["reference"].split(";")
    return found


def stated(fact: Fact, sources: Sources, references: dict[tuple[str, str], list[str]]) -> dict[str, str]:
    """Source → identifier, of each that states a fact of rare-core."""
    diseases = sorted(sources.omim.get(fact.head_id or "", ()))
    if fact.relation == "disease mapped to gene":
        symbol = (fact.tail or "").removesuffix(" gene")
        listed = next((disease for disease in diseases if symbol in sources.genes.get(disease, ())), None)
        return {OMIM: listed} if listed else {}
    found: dict[str, str] = {}
    term = fact.tail_id or ""
    for one in [term, *sorted(sources.ontology.below(term))]:
        for disease in diseases:
            for reference in references.get((disease, one), ()):
                if reference.startswith("OMIM:"):
                    found.setdefault(OMIM, f"{reference} {one}")
                elif reference.startswith("PMID:"):
                    found.setdefault(ARTICLE, f"{reference} {one}")
    return found


def rows(folder: Path, day: str) -> Iterator[tuple[str, ...]]:
    """The decisions."""
    sources, references = read_sources(folder), read_references(folder / "phenotype.hpoa")
    for fact in load_bundled("rare-core").facts:
        if fact.positive:
            for source, identifier in stated(fact, sources, references).items():
                yield fact.head, fact.relation, fact.tail or "", source, identifier, "states", "same identifiers", day


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="SOURCES_FOLDER")
    parser.add_argument("day", metavar="DAY", help="the day that is written, such as 2026-11-27")
    asked = parser.parse_args()
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(rows(asked.folder, asked.day))


if __name__ == "__main__":
    main()
