"""Tables, cards and negatives of the bundled data sets."""

from __future__ import annotations

import csv
from functools import cache

from medfact.datasets import grouping, load_bundled
from medfact.datasets.bundled import FOLDER
from medfact.facts import Fact
from medfact.negatives import NEAR

SEEDS = (0, 1, 7)
"""Seeds with which tests draw negatives."""


def load_rows(name: str, table: str = "") -> list[dict[str, str]]:
    """Returns the rows of a CSV file of a set, as column → value.

    name: of the set, such as "clinical-core". table: suffix of the file's name, such as ".also-true"; "" for its facts.
    """
    with (FOLDER / f"{name}{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def load_card(name: str) -> str:
    """Returns the text of a set's card, its Markdown file, with each run of white space as one space."""
    return " ".join((FOLDER / f"{name}.md").read_text(encoding="utf-8").split())


@cache
def draw_negatives_by_fact(name: str, seed: int) -> tuple[tuple[Fact, tuple[Fact, ...]], ...]:
    """Returns each fact of a set with its near negatives: one drawn with the seed, or none if no partner is found."""
    collection = load_bundled(name)
    group = grouping(collection, 1, seed, NEAR)
    return tuple((fact, group(fact)[1:]) for fact in collection.facts)


def draw_negatives(name: str, seed: int) -> tuple[Fact, ...]:
    """Returns all negatives of `draw_negatives_by_fact`, in the order of their facts."""
    return tuple(negative for _, negatives in draw_negatives_by_fact(name, seed) for negative in negatives)
