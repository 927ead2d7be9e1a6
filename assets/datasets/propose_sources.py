"""Propose, for each fact of the bundled sets, independent sources that may state it.

    python assets/datasets/propose_sources.py SOURCES_FOLDER [--open OPEN_FOLDER] [--set NAME ...] [--most 3] > proposals.tsv

SOURCES_FOLDER holds Parquet files of texts with the columns of MedQuAD (source, url, focus, synonyms, question_type, answer)
and, where there are any, HPO's `hp.obo` and `phenotype.hpoa`; OPEN_FOLDER holds tables with the columns head, relation, tail,
source_id. A proposal is no source: somebody reads it, and writes what it says into `NAME.sources.csv`.
What has been decided is not proposed again. `source_names.csv` has the words in which sources write our names.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from source_texts import Library, Page, Text, Words, read_texts, words  # isort: skip
from source_tables import Table, read_tables  # isort: skip

from medfact.datasets import load_bundled
from medfact.facts import Fact

HERE = Path(__file__).parent
SETS = ("clinical-core", "core-medicine", "biomedical-core", "not-indicated", "rare-core")
QUESTIONS = {
    "symptoms": {"symptoms", "information", "complications", "definition"},
    "affected sites": {"information", "causes", "definition"},
    "therapeutic drugs": {"treatment", "definition", "prevention"},
    "surgical procedures": {"treatment"},
    "disease mapped to gene": {"genetic changes"},
    "may prevent": {"prevention", "treatment"},
}
"""Relation → questions whose answers are likely to state such a fact."""
EDITORS = "medfact editors"
APART = 25
"""Words, at most, between two names in a text that is about neither."""


class Proposal(NamedTuple):
    """A source that may state a fact, and the place that has to be read."""

    source: str
    address: str
    score: float
    place: str


def other_names() -> dict[str, tuple[str, ...]]:
    """Name → the words in which sources write it."""
    with (HERE / "source_names.csv").open(encoding="utf-8", newline="") as file:
        return {row["name"]: tuple(row["also"].split(" | ")) for row in csv.DictReader(file)}


class Names:
    """All names of an entity that are looked for, the fact's own first."""

    def __init__(self, name: str) -> None:
        self.known = load_bundled(name).known
        self.other = other_names()

    def of(self, name: str) -> list[Words]:
        plain = re.sub(r" gene$", "", name)
        mine = sorted(self.known.names(name) - {name})
        also = [*self.other.get(name, ()), *(also for one in mine for also in self.other.get(one, ()))]
        return list(dict.fromkeys(words(one) for one in (name, plain, *mine, *also)))


def in_page(page: Page, names: list[Words], question: set[str] | None, base: float) -> Proposal | None:
    """The best place of a page that names one of these."""
    likely = 1.5 if question is None or page.text.question in question else 0.0
    best: tuple[float, tuple[int, int]] | None = None
    for number, name in enumerate(names):
        exact = page.find(name)
        found = exact or page.find_loosely(name)
        score = base + likely + (2.0 if exact else 1.0) + (0.5 if number == 0 else 0.0) + 0.1 * min(len(name), 4)
        if found and (best is None or score > best[0]):
            best = score, found[0]
    if best is None:
        return None
    about, text = page.text.about[0], page.text
    return Proposal(text.source, text.address, best[0], f"[{about}: {text.question}] {page.around(best[1])}")


def together(library: Library, heads: list[Words], tails: list[Words]) -> Iterator[Proposal]:
    """Places of any page where both are named close together."""
    for head in heads:
        if len(head) == 1 and len(head[0]) < 4:
            continue
        holding = library.with_all(head)
        for tail in tails:
            for number in sorted(holding & library.with_all(tail))[:400]:
                page = library.pages[number]
                pairs = [(a, b) for a in page.find(head) for b in page.find(tail) if abs(a[0] - b[0]) <= APART]
                if pairs:
                    a, b = min(pairs, key=lambda pair: abs(pair[0][0] - pair[1][0]))
                    place = min(a[0], b[0]), max(a[1], b[1])
                    score = 1.0 + 0.1 * (len(head) + len(tail))
                    about = next(iter(page.text.about), "")
                    shown = f"[{about}: {page.text.question}] {page.around(place, 90, 70)}"
                    yield Proposal(page.text.source, page.text.address, score, shown)


def in_texts(fact: Fact, names: Names, library: Library) -> Iterator[Proposal]:
    """What pages about the head or the tail, and then any pages, may say of the fact."""
    heads, tails = names.of(fact.head), names.of(fact.tail or "")
    question = QUESTIONS.get(fact.relation)
    found = False
    for about, sought in ((heads, tails), (tails, heads)):
        for number, name in enumerate(about[:8]):
            for page, exact in library.on(name).items():
                base = (2.0 if exact else 1.0) - 0.2 * min(number, 3)
                if proposal := in_page(library.pages[page], sought, question, base):
                    found = found or proposal.score > 4
                    yield proposal
    if not found:
        yield from together(library, heads[:6], tails[:6])


def best_of_each(proposals: Iterable[Proposal], decided: set[str], most: int) -> list[Proposal]:
    """The best proposal of each source, none that has been decided."""
    best: dict[str, Proposal] = {}
    for one in proposals:
        if one.address not in decided and (one.source not in best or one.score > best[one.source].score):
            best[one.source] = one
    return sorted(best.values(), key=lambda one: -one.score)[:most]


class Decided:
    """What has been read for a set: a fact → the addresses, and whether one of them states it."""

    def __init__(self, name: str) -> None:
        self.addresses: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
        self.stated: set[tuple[str, str, str]] = set()
        path = HERE / f"{name}.sources.csv"
        if path.is_file():
            with path.open(encoding="utf-8", newline="") as file:
                for row in csv.DictReader(file):
                    fact = row["head"], row["relation"], row["tail"]
                    self.addresses[fact].add(row["source_id"])
                    if row["decision"] == "states":
                        self.stated.add(fact)


def has_source(fact: Fact, decided: Decided) -> bool:
    """Whether a source other than the editors states the fact."""
    own = (fact.source or "").startswith(EDITORS)
    return not own or (fact.head, fact.relation, fact.tail or "") in decided.stated


def proposed(name: str, library: Library, table: Table, asked: argparse.Namespace) -> Iterator[tuple[Fact, Proposal]]:
    """The proposals for a set."""
    names, decided = Names(name), Decided(name)
    for fact in load_bundled(name).facts:
        if asked.unsourced and has_source(fact, decided):
            continue
        read = decided.addresses[fact.head, fact.relation, fact.tail or ""]
        for row in table.rows_of(fact, names.known, names.other):
            if row.address not in read:
                yield fact, Proposal(row.source, row.address, 9.0, row.place)
        for one in best_of_each(in_texts(fact, names, library), read, asked.most):
            yield fact, one


def named_in(sets: Iterable[str]) -> set[Words]:
    """All names of the sets, for leaving out definitions of what no fact names."""
    found: set[Words] = set()
    for name in sets:
        names = Names(name)
        for fact in load_bundled(name).facts:
            for one in (fact.head, fact.tail or ""):
                found.update(names.of(one))
    return found


def wanted(texts: Iterable[Text], names: set[Words]) -> Iterator[Text]:
    """The texts without definitions of what no fact names."""
    for text in texts:
        if text.question != "definition" or any(words(one) in names for one in text.about):
            yield text


def main() -> None:
    """Reads the folders and prints the proposals."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--open", type=Path)
    parser.add_argument("--set", nargs="*", default=SETS)
    parser.add_argument("--most", type=int, default=3)
    parser.add_argument("--unsourced", action="store_true", help="only facts that no source states yet")
    asked = parser.parse_args()
    paths = [path for path in sorted(asked.folder.glob("*.parquet")) if path.name != "maxo_diagnostics.parquet"]
    library = Library(wanted(read_texts(paths), named_in(asked.set)))
    table = read_tables(asked.folder, asked.open)
    writer = csv.writer(sys.stdout, delimiter="\t", lineterminator="\n")
    writer.writerow(["set", "head", "relation", "tail", "positive", "source", "source_id", "score", "place"])
    for name in asked.set:
        for fact, one in proposed(name, library, table, asked):
            score = f"{one.score:.1f}"
            writer.writerow(
                [name, fact.head, fact.relation, fact.tail, fact.positive, one.source, one.address, score, one.place]
            )


if __name__ == "__main__":
    main()
