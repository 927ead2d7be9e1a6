"""clinical-core: what the project says of its own facts, held against the files themselves."""

import csv
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from medfact.datasets import grouping, load_bundled
from medfact.facts import Fact, name_key
from medfact.negatives import NEAR

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "datasets"


def rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / f"clinical-core{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@cache
def drawn(seed: int) -> tuple[tuple[Fact, tuple[Fact, ...]], ...]:
    """Every positive fact with the negatives that are drawn for it."""
    collection = load_bundled("clinical-core")
    group = grouping(collection, 1, seed, NEAR)
    return tuple((fact, group(fact)[1:]) for fact in collection.known.facts)


def test_every_fact_has_its_types_its_source_and_a_known_strength() -> None:
    for number, row in enumerate(rows(""), 2):
        for column in ("head", "relation", "tail", "head_type", "tail_type", "source", "specialty"):
            assert row[column].strip(), f"row {number}: {column} is blank"
        assert row["strength"] in {"a", "a common"}, f"row {number}"
        assert {"head_id", "tail_id", "source_id"} <= row.keys()


def test_no_fact_stands_twice() -> None:
    counts = Counter((name_key(row["head"]), row["relation"], name_key(row["tail"])) for row in rows(""))
    assert [fact for fact, count in counts.items() if count > 1] == []


def test_one_name_has_one_spelling() -> None:
    spellings: dict[str, set[str]] = {}
    for row in rows(""):
        for name in (row["head"], row["tail"]):
            spellings.setdefault(name_key(name), set()).add(name)
    assert [names for names in spellings.values() if len(names) > 1] == []


def test_a_name_has_one_identifier_as_a_head_and_one_as_a_tail() -> None:
    identifiers: dict[tuple[str, str], set[str]] = {}
    for row in rows(""):
        identifiers.setdefault(("head", row["head"]), set()).add(row["head_id"])
        identifiers.setdefault(("tail", row["tail"]), set()).add(row["tail_id"])
    assert [name for name, given in identifiers.items() if len(given) > 1] == []


def test_names_are_tidy() -> None:
    for row in rows(""):
        for name in (row["head"], row["tail"]):
            assert name == " ".join(name.split())
            assert name[0].isalnum()
            assert name[-1] not in ".,;:"
            assert name.isprintable()
            assert not re.search(r"[\[\]<>{}$|_]|\b(disorder|finding|procedure)\)", name)
            assert name.count("(") == name.count(")")
            assert not re.search(r"\b(not|no|cannot|never|unlikely|unspecified|unknown|other)\b", name, re.IGNORECASE), name


def names_of_one_thing() -> dict[str, set[str]]:
    """Name → all names that identifiers or the table of synonyms say are the same thing, merged until nothing changes."""
    groups = [{name_key(row["name"]), name_key(row["synonym"])} for row in rows(".synonyms")]
    by_identifier: dict[str, set[str]] = {}
    for row in rows(""):
        for name, identifier in ((row["head"], row["head_id"]), (row["tail"], row["tail_id"])):
            by_identifier.setdefault(identifier or f"name {name_key(name)}", set()).add(name_key(name))
    groups += by_identifier.values()
    same: dict[str, set[str]] = {}
    for group in groups:
        merged = set(group).union(*(same[name] for name in group if name in same))
        same.update(dict.fromkeys(merged, merged))
    return same


def also_true() -> list[tuple[str, str]]:
    return [(row["head"], tail) for row in rows(".also-true") for tail in row["tail"].split(" | ")]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_drawn_negative_is_known_or_also_true_under_any_name(seed: int) -> None:
    same = names_of_one_thing()
    pairs = [(row["head"], row["tail"]) for row in rows("")] + also_true()
    linked = {
        frozenset((a, b))
        for x, y in pairs
        for a in same.get(name_key(x), {name_key(x)})
        for b in same.get(name_key(y), {name_key(y)})
    }
    for fact, negatives in drawn(seed):
        for negative in negatives:
            assert frozenset((name_key(fact.head), name_key(negative.tail))) not in linked, (fact.head, negative.tail)
            assert (negative.head, negative.relation, negative.tail_type) == (fact.head, fact.relation, fact.tail_type)


def test_tables_of_synonyms_and_further_links_are_about_these_facts() -> None:
    known = {name_key(name) for row in rows("") for name in (row["head"], row["tail"])}
    for row in rows(".synonyms"):
        assert row["name"] != row["synonym"]
        assert known & {name_key(row["name"]), name_key(row["synonym"])}, row
    same = names_of_one_thing()
    for head, tail in also_true():
        for name in (head, tail):
            assert known & same.get(name_key(name), {name_key(name)}), f"{name} is no head or tail"
