"""Tables, cards and false partners of the bundled data sets."""

from __future__ import annotations

import csv
from functools import cache

from medfact.datasets import grouping, load_bundled
from medfact.datasets.bundled import FOLDER
from medfact.facts import Fact
from medfact.negatives import NEAR

SEEDS = (0, 1, 7)


def rows_of(name: str, table: str = "") -> list[dict[str, str]]:
    """The rows of a table of a set, such as ".also-true"; by default of its facts."""
    with (FOLDER / f"{name}{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def card_of(name: str) -> str:
    return " ".join((FOLDER / f"{name}.md").read_text(encoding="utf-8").split())


@cache
def partners(name: str, seed: int) -> tuple[tuple[Fact, tuple[Fact, ...]], ...]:
    """Each fact of a set with its false partners."""
    collection = load_bundled(name)
    group = grouping(collection, 1, seed, NEAR)
    return tuple((fact, group(fact)[1:]) for fact in collection.facts)


def drawn_of(name: str, seed: int) -> tuple[Fact, ...]:
    """The false partners of all facts of a set."""
    return tuple(negative for _, negatives in partners(name, seed) for negative in negatives)
