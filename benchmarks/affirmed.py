"""Which drawn false partners an open source affirms: tables of facts, and sentences about the disease that name the tail.

    python benchmarks/affirmed.py FOLDER [SET ...] [--seeds 0 1 7]

FOLDER holds tables (`*.tsv` with the columns head, relation, tail, source_id; MAxO's annotations; CDC's vaccines) and, as
Parquet files, answers of MedQuAD (focus, synonyms, url, answer). Prints one line per pair: what a table affirms is an error in
a label; a sentence is to be read, for it may deny the pair or be about something else. Nothing of the sources is kept.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from medfact.datasets import bundled_names, grouping, load_bundled
from medfact.datasets.bundled import lay_names
from medfact.facts import Fact, KnowledgeBase, name_key
from medfact.negatives import NEAR

SEEDS = (0, 1, 7)
DENIED = re.compile(r"^not_|contraindicated|no_observed|lack of observed")
Pair = frozenset[str]


def key(name: str) -> str:
    """One key for the spellings of a name that sources use: also "Arthritis, Rheumatoid" and "Alzheimer's disease"."""
    last, comma, first = name.partition(", ")
    return re.sub(r"'s\b", "", name_key(f"{first} {last}" if comma and ", " not in first else name.replace("'s", "")))


def tables(folder: Path) -> Iterator[tuple[str, str, str]]:
    """What the tables affirm: two names or identifiers, and the file that says so."""
    csv.field_size_limit(1 << 24)
    for path in sorted(folder.rglob("*.tsv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                yield from ((a, b, path.name) for a, b in _affirmed(row) if a and b)


def _affirmed(row: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The pairs of names, and of identifiers, that a row of a table affirms."""
    if DENIED.search(row.get("relation") or ""):
        return
    if "head" in row and "tail" in row:
        yield row["head"], row["tail"]
        identifiers = (row.get("source_id") or "").replace("_", ":").split("|")
        if len(identifiers) == 2:
            yield identifiers[0], identifiers[1]
    elif "maxo_name" in row:
        yield row["disease_name"], row["maxo_name"]
    elif row.get("kind") == "indication":
        yield from ((f"{vaccine} vaccine", row["disease"]) for vaccine in [row["disease"], *(row["vaccines"] or "").split("; ")])


def names_of(known: KnowledgeBase, name: str, identifier: str | None) -> set[str]:
    """The keys of all names of an entity, everyday ones among them, and its identifier."""
    names = known.names(name)
    everyday = {lay for lay, plain in lay_names() if name_key(plain) in {name_key(one) for one in names}}
    return {*map(key, names | everyday), *([name_key(identifier)] if identifier else [])}


def answers(folder: Path) -> dict[str, list[tuple[str, str]]]:
    """The answers about each disease: key of its name → address and text."""
    import pyarrow.parquet as parquet

    found: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for path in sorted(folder.rglob("*.parquet")):
        table = parquet.read_table(path)
        if {"focus", "url", "answer"} <= set(table.column_names):
            for row in table.to_pylist():
                for name in {key(one.strip()) for one in [row["focus"], *(row["synonyms"] or "").split("|")] if one.strip()}:
                    found[name].append((row["url"], row["answer"] or ""))
    return found


def sentences(heads: set[str], tails: set[str], about: dict[str, list[tuple[str, str]]]) -> Iterator[tuple[str, str]]:
    """The sentences of answers about the head that name the tail, with their addresses."""
    named = re.compile(r"\b(?:" + "|".join(re.escape(tail) for tail in sorted(tails)) + r")(?:s|es)?\b")
    for head in heads:
        for url, answer in about.get(head, ()):
            for sentence in re.split(r"(?<=[.;?!])\s+|\n| - ", answer):
                if named.search(key(sentence.replace(", ", " , "))):
                    yield url, " ".join(sentence.split())


def drawn(name: str, seeds: list[int]) -> tuple[KnowledgeBase, dict[tuple[str, str, str], Fact]]:
    """The false facts of a set: those of its file, and those drawn with these seeds."""
    collection = load_bundled(name)
    false = {(f.head, f.relation, f.tail or ""): f for f in collection.facts if not f.positive}
    for seed in seeds:
        group = grouping(collection, 1, seed, NEAR)
        for fact in collection.facts:
            for negative in group(fact)[1:] if fact.positive else ():
                false.setdefault((negative.head, negative.relation, negative.tail or ""), negative)
    return collection.known, false


def main() -> None:
    """Prints the pairs that a source affirms, and their number."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="open sources: tables and answers")
    parser.add_argument("sets", nargs="*", default=bundled_names())
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    options = parser.parse_args()
    affirmed: dict[Pair, str] = {frozenset((key(a), key(b))): file for a, b, file in tables(options.folder)}
    about = answers(options.folder)
    for name in options.sets:
        known, false = drawn(name, options.seeds)
        by_table, by_sentence = 0, 0
        for (head, relation, tail), fact in sorted(false.items()):
            heads, tails = names_of(known, head, fact.head_id), names_of(known, tail, fact.tail_id)
            files = {affirmed[pair] for a in heads for b in tails if (pair := frozenset((a, b))) in affirmed}
            said = list(dict.fromkeys(sentences(heads, tails, about)))
            by_table, by_sentence = by_table + bool(files), by_sentence + bool(said)
            for where, what in [*((file, "the table affirms it") for file in sorted(files)), *said]:
                print(f"{name}\t{head}\t{relation}\t{tail}\t{where}\t{what}")
        print(f"{name}: {len(false):,} false pairs, {by_table} affirmed by a table, {by_sentence} named in a sentence", file=sys.stderr)


if __name__ == "__main__":
    main()
