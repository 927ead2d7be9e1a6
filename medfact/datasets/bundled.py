"""The data sets that come with medfact: files in `assets/datasets/`, written by this project.

A data set NAME is `NAME.csv` (its facts), `NAME.also-true.csv` (further links that are true, or too close to true to be called
false; several tails of a head may stand in one row, with " | " between them), `NAME.judged.csv` (negative facts that a source
states), `NAME.learned.csv` (links that proved true, or too close to it, after the set was drawn: see `KnowledgeBase.learned`),
`NAME.withdrawn.csv` (false facts that have left the set), `NAME.synonyms.csv` (pairs of names for one entity),
`NAME.is-a.csv` and `NAME.part-of.csv` (a hierarchy of names: what is a kind, and what a part of what), `NAME.label-words.csv`
(what a drug's label says of a disease), `NAME.sources.csv` (what an editor read at the sources that were proposed for its
facts, see `sources`); its data card is `NAME.md`. `sources.csv` says what the sources of all sets are.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from medfact.assets import ASSETS
from medfact.caching import shared_cache
from medfact.datasets.collection import Collection
from medfact.datasets.facts_file import load_file
from medfact.datasets.table_reader import read_table
from medfact.errors import UnknownName
from medfact.facts import ID_LENGTH, Fact, KnowledgeBase

FOLDER = ASSETS / "datasets"


@cache
def bundled_names() -> tuple[str, ...]:
    """Names of the bundled data sets."""
    return tuple(sorted(card.stem for card in FOLDER.glob("*.md") if (FOLDER / f"{card.stem}.csv").is_file()))


@cache
def true_facts(name: str) -> int:
    """How many true facts a bundled set has, without loading it."""
    return sum(row.get("positive", "true") == "true" for row in rows_of(f"{name}.csv"))


@cache
def title(name: str) -> str:
    """The name of a bundled set for people, from the heading of its card."""
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8").partition("\n")[0].partition(" · ")[2] or name


@cache
def about(name: str) -> str:
    """What a bundled set is, in the first words of its card."""
    text = " ".join((FOLDER / f"{name}.md").read_text(encoding="utf-8").partition("\n\n")[2].split())
    return re.split(r", for testing|:|\.(?: |$)", text, maxsplit=1)[0]


@shared_cache(16)
def load_bundled(name: str) -> Collection:
    """A bundled data set by its name; raises UnknownName if there is none."""
    if name not in bundled_names():
        raise UnknownName("data set", name, bundled_names())
    collection = load_file(FOLDER / f"{name}.csv")
    known = KnowledgeBase(
        collection.known.facts,
        also_true=(
            *collection.known.also_true,
            *((head, tail) for head, _, tail in _links(f"{name}.also-true.csv")),
        ),
        synonyms=tuple((row["name"], row["synonym"]) for row in rows_of(f"{name}.synonyms.csv")),
        is_a=(
            *((row["name"], row["broader"]) for row in rows_of(f"{name}.is-a.csv")),
            *((row["part"], row["whole"]) for row in rows_of(f"{name}.part-of.csv")),
        ),
        judged=tuple(_negative(row) for row in rows_of(f"{name}.judged.csv")),
        learned=tuple((head, tail) for head, _, tail in _links(f"{name}.learned.csv")),
    )
    withdrawn = (
        Fact(row["head"], row["relation"], row["tail"], positive=False, negative_of=row["negative_of"] or None)
        for row in rows_of(f"{name}.withdrawn.csv")
    )
    return replace(collection, name=name, known=known, withdrawn=tuple(withdrawn))


def also_true(name: str) -> Iterator[tuple[str, str, str]]:
    """Head, relation and tail of what a bundled set holds true, or too close to true to be called false, beside its facts."""
    yield from _links(f"{name}.also-true.csv")
    yield from _links(f"{name}.learned.csv")


def _links(file: str) -> Iterator[tuple[str, str, str]]:
    for row in rows_of(file):
        yield from ((row["head"], row["relation"], tail) for tail in row["tail"].split(" | ") if tail)


def _negative(row: dict[str, str]) -> Fact:
    texts: dict[str, Any] = {name: value or None for name, value in row.items()}
    return Fact(**texts, positive=False)


@cache
def files_key(name: str) -> str:
    """A hash of the files from which a bundled set follows, without loading it."""
    hashed = hashlib.sha256()
    for file in sorted(FOLDER.glob(f"{name}.*.csv")):
        hashed.update(file.name.encode() + file.read_bytes())
    hashed.update((FOLDER / f"{name}.csv").read_bytes())
    return hashed.hexdigest()[:ID_LENGTH]


@cache
def label_words() -> dict[tuple[str, str], str]:
    """Disease and drug → the words in which the drug's label calls it contraindicated."""
    return {(row["head"], row["tail"]): row["words"] for row in rows_of("not-indicated.label-words.csv")}


@cache
def sources() -> dict[str, str]:
    """What each source of the bundled sets is, by the name that facts give it."""
    return {row["source"]: row["about"] for row in rows_of("sources.csv")}


@cache
def lay_names() -> tuple[tuple[str, str], ...]:
    """Everyday names of diseases, findings and drugs, each with the name that facts have: for searching alone."""
    return tuple((row["lay"], row["name"]) for row in rows_of("lay_names.csv"))


@cache
def vocabulary() -> tuple[dict[str, str], ...]:
    """How names stand in a sentence: rows of `name, number, article, written` (`prototypes.grammar` reads them)."""
    return tuple(rows_of("vocabulary.csv"))


@cache
def words_alone(name: str) -> dict[str, float]:
    """What word matching (`models.words_alone`) scores on a bundled set under the protocol medfact, as measured by
    `benchmarks/negatives.py` with all-MiniLM-L6-v2; {} of other sets.
    """
    scores: dict[str, dict[str, float]] = json.loads((FOLDER / "words_alone.json").read_text(encoding="utf-8"))
    return scores.get(name, {})


def rows_of(file: str) -> Iterator[dict[str, str]]:
    """The rows of one of these files, none if there is no such file."""
    path = FOLDER / file
    if path.is_file():
        yield from (row for _, row in read_table(path)[1])
