"""How many false facts of the bundled sets other sources affirm.

    python benchmarks/affirmed.py FOLDER [SET ...] [--seeds 0 1 7] [--list]

FOLDER holds tables (`*.tsv` with the columns head, relation, tail, source_id; MAxO's annotations; CDC's vaccines) and, as
Parquet files, answers of MedQuAD (focus, synonyms, url, answer). Each false fact, of the file, judged or drawn, is looked up
under all names and identifiers of its head and tail. What a table affirms is an error in a label. A sentence of an answer about
the head that names the tail (`page`) is to be read: it may deny the fact or mean another. `--list` prints the pairs.
The exit status is 1 if a table affirms a false fact.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from medfact.datasets import grouping, load_bundled
from medfact.datasets.bundled import lay_names
from medfact.facts import Fact, KnowledgeBase, name_key
from medfact.negatives import NEAR

SETS = ("biomedical-core", "clinical-core", "core-medicine", "not-indicated")
PAGE = "page"
DENIED = re.compile(r"^not_|contraindicated|no_observed|lack of observed")


def false_facts(name: str, seed: int) -> list[Fact]:
    """The false facts of a set: those of its file, those that a source states, and the first drawn one of every true fact."""
    collection = load_bundled(name)
    group = grouping(collection, 1, seed, NEAR)
    drawn = (false for fact in collection.facts if fact.positive for false in group(fact)[1:])
    stated = (fact for fact in (*collection.facts, *collection.known.judged) if not fact.positive)
    return list({(fact.head, fact.relation, fact.tail): fact for fact in (*drawn, *stated)}.values())


def key(name: str) -> str:
    """One key for the spellings of a name that sources use: also "Arthritis, Rheumatoid" and "Alzheimer's disease"."""
    last, comma, first = name.partition(", ")
    return re.sub(r"'s\b", "", name_key(f"{first} {last}" if comma and ", " not in first else name.replace("'s", "")))


class Sources:
    """What the files of a folder say.

    affirmed: two keys of names, or two identifiers → the table that affirms the pair. named: identifier → the keys that tables
    give it. answers: key of a disease → address and text of each answer about it.
    """

    def __init__(self, folder: Path) -> None:
        self.affirmed: dict[frozenset[str], str] = {}
        self.named: defaultdict[str, set[str]] = defaultdict(set)
        self.answers: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        csv.field_size_limit(1 << 24)
        for path in sorted(folder.rglob("*.tsv")):
            with path.open(encoding="utf-8", newline="") as file:
                for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                    self._read(row, path.name)
        for path in sorted(folder.rglob("*.parquet")):
            self._read_answers(path)

    @cached_property
    def same(self) -> dict[str, set[str]]:
        """Key of a name → all keys that tables give one of its identifiers."""
        same: defaultdict[str, set[str]] = defaultdict(set)
        for keys in self.named.values():
            for one in keys:
                same[one] |= keys
        return same

    def _read(self, row: dict[str, str], table: str) -> None:
        names = row.get("head") or row.get("drug") or "", row.get("tail") or row.get("disease") or ""
        identifiers = (row.get("source_id") or "").replace("_", ":").split("|")[:2]
        if "drug_id" in row:
            identifiers = [row["drug_id"], row["disease_id"].removeprefix("UMLS:")]
        if "maxo_name" not in row and len(identifiers) == 2:
            for identifier, name in zip(identifiers, names, strict=True):
                self.named[identifier].add(key(name))
        for a, b in _affirmed(row):
            self.affirmed.setdefault(frozenset((key(a), key(b))), table)

    def _read_answers(self, path: Path) -> None:
        import pyarrow.parquet as parquet

        table = parquet.read_table(path)
        if {"focus", "url", "answer"} <= set(table.column_names):
            for row in table.to_pylist():
                for name in {key(one.strip()) for one in [row["focus"], *(row["synonyms"] or "").split("|")] if one.strip()}:
                    self.answers[name].append((row["url"], row["answer"] or ""))


def _affirmed(row: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The pairs of names that a row of a table affirms."""
    if DENIED.search(row.get("relation") or ""):
        return
    if row.get("head") and row.get("tail"):
        yield row["head"], row["tail"]
    elif "maxo_name" in row:
        yield row["disease_name"], row["maxo_name"]
    elif row.get("kind") == "indication":
        vaccines = (row["vaccines"] or "").split("; ")
        yield from ((f"{vaccine} vaccine", row["disease"]) for vaccine in [row["disease"], *vaccines])


class Lookup:
    """What sources say of the false facts of one set."""

    def __init__(self, sources: Sources, known: KnowledgeBase) -> None:
        self.sources, self.known = sources, known
        self._keys: dict[tuple[str, str | None], tuple[set[str], set[str]]] = {}

    def affirmed_by(self, fact: Fact) -> Iterator[str]:
        """The tables that affirm a false fact, and `PAGE` with what an answer about its head says of its tail."""
        heads, more_heads = self.keys(fact.head, fact.head_id)
        tails, more_tails = self.keys(fact.tail or "", fact.tail_id)
        pairs = (frozenset((a, b)) for a in heads | more_heads for b in tails | more_tails)
        yield from {self.sources.affirmed[pair] for pair in pairs if pair in self.sources.affirmed}
        yield from dict.fromkeys(f"{PAGE} {url}: {sentence}" for url, sentence in self._sentences(heads, tails))

    def keys(self, name: str, identifier: str | None) -> tuple[set[str], set[str]]:
        """The keys of all our names of an entity, everyday ones among them; and those that tables give the same identifiers."""
        if (name, identifier) not in self._keys:
            names = self.known.names(name)
            plain = {name_key(one) for one in names}
            own = {*map(key, names), *(key(lay) for lay, written in lay_names() if name_key(written) in plain)}
            theirs = set().union(self.sources.named.get(identifier or "", ()), *(self.sources.same.get(one, ()) for one in own))
            self._keys[name, identifier] = own, theirs
        return self._keys[name, identifier]

    def _sentences(self, heads: set[str], tails: set[str]) -> Iterator[tuple[str, str]]:
        named = re.compile(r"\b(?:" + "|".join(map(re.escape, sorted(tails))) + r")(?:s|es)?\b")
        for head in heads:
            for url, answer in self.sources.answers.get(head, ()):
                for sentence in re.split(r"(?<=[.;?!])\s+|\n| - ", answer):
                    if named.search(key(sentence.replace(", ", " , "))):
                        yield url, " ".join(sentence.split())


def main() -> None:
    """Prints a line per set and seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 7])
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    sources, affirmed_in_all = Sources(options.folder), 0
    for name in options.sets:
        lookup = Lookup(sources, load_bundled(name).known)
        for seed in options.seeds:
            false = false_facts(name, seed)
            found = {(fact.head, fact.tail): list(lookup.affirmed_by(fact)) for fact in false}
            counts = Counter(source for said in found.values() for source in {one.split(" ")[0] for one in said})
            affirmed = sum(any(not source.startswith(PAGE) for source in said) for said in found.values())
            affirmed_in_all += affirmed
            print(f"{name}, seed {seed}: {len(false):,} false facts, {affirmed} affirmed;", dict(sorted(counts.items())))
            for (head, tail), said in found.items():
                if options.list and said:
                    print(f"  {head} – {tail}: {'; '.join(said)}")
    raise SystemExit(affirmed_in_all > 0)


if __name__ == "__main__":
    main()
