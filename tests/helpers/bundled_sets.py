"""Tables, cards and negatives of the bundled data sets."""

from __future__ import annotations

import csv
from functools import cache

from medfact.datasets import grouping, load_bundled
from medfact.datasets.bundled import FOLDER
from medfact.facts import Fact
from medfact.negatives import NEAR

SEEDS = (0, 1, 7)


def load_rows(name: str, table: str = "") -> list[dict[str, str]]:
    """Reads the rows of a table of a set, such as ".also-true"; by default of its facts."""
    with (FOLDER / f"{name}{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def load_card(name: str) -> str:
    """Returns the text of a set's card on one line."""
    return " ".join((FOLDER / f"{name}.md").read_text(encoding="utf-8").split())


@cache
def draw_negatives_by_fact(name: str, seed: int) -> tuple[tuple[Fact, tuple[Fact, ...]], ...]:
    """Returns each fact of a set with the negatives drawn for it."""
    collection = load_bundled(name)
    group = grouping(collection, 1, seed, NEAR)
    return tuple((fact, group(fact)[1:]) for fact in collection.facts)


def draw_negatives(name: str, seed: int) -> tuple[Fact, ...]:
    """Returns the negatives drawn for all facts of a set."""
    return tuple(negative for _, negatives in draw_negatives_by_fact(name, seed) for negative in negatives)
