"""What the bundled sets know of the names of a user's table: it is never drawn as false, and a reversed relation is noticed."""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from medfact.datasets import load, load_bundled, load_file
from medfact.datasets.isolated import load_isolated
from medfact.datasets.semantic_types import reversed_notes
from medfact.facts import ExternalKnowledge, Fact
from medfact.negatives import draw_negatives
from medfact.prototypes import load_pool
from medfact.spec import RunSpec

Medfact = Callable[..., Any]

CANONICAL = load_pool("medfact").canonical

TREATS = [
    ("allopurinol", "gout"),
    ("infliximab", "Crohn's disease"),
    ("levodopa", "Parkinson's disease"),
    ("donepezil", "Alzheimer disease"),
    ("methotrexate", "psoriasis"),
    ("metformin", "type 2 diabetes mellitus"),
]


def table(path: Path, rows: list[tuple[str, str, str]]) -> Path:
    path.write_text("head,relation,tail\n" + "".join(f"{','.join(row)}\n" for row in rows), encoding="utf-8")
    return path


def may_treat(path: Path) -> Path:
    return table(path, [(drug, "may treat", disease) for drug, disease in TREATS])


# What a clinician knows of these names, and the table does not say: each is in a bundled set, under this or another spelling.
ALSO_TRUE = {("infliximab", "psoriasis"), ("methotrexate", "Crohn's disease")}


@pytest.mark.parametrize("read", [load, load_isolated])
def test_what_a_bundled_set_knows_is_never_drawn_from_a_users_table(read, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    collection = read(RunSpec("", facts=str(may_treat(tmp_path / "mine.csv"))))
    drawn = {
        (negative.head, negative.tail)
        for seed in range(30)
        for fact in collection.facts
        for negative in draw_negatives(fact, collection.known, 9, seed)
    }
    assert drawn
    assert not drawn & ALSO_TRUE
    possible = {(drug, disease) for (drug, _), (_, disease) in product(TREATS, TREATS)} - set(TREATS)
    assert possible > ALSO_TRUE


def test_a_users_table_keeps_its_fingerprint_and_its_ids(tmp_path: Path) -> None:
    """They are those of the table, whatever the bundled sets learn later."""
    file = may_treat(tmp_path / "mine.csv")
    alone, known = load_file(file), load(RunSpec("", facts=str(file)))
    assert known.known.external_knowledge
    assert known.fingerprint() == alone.fingerprint()
    assert known.facts == alone.facts


def test_names_that_no_bundled_set_has_change_nothing(tmp_path: Path) -> None:
    file = table(tmp_path / "mine.csv", [(f"drug {n}", "may treat", f"disease {n}") for n in "abcdef"])
    assert load(RunSpec("", facts=str(file))).known.external_knowledge == (ExternalKnowledge("may treat", "may treat", ()),)


# ------------------------------------------------------------------------------------------- direction


def notes(rows: list[tuple[str, str, str]]) -> list[str]:
    return list(reversed_notes([Fact(*row) for row in rows], CANONICAL))


@pytest.mark.parametrize(
    "row",
    [
        ("gout", "May Treat", "allopurinol"),
        ("gout", "may_treat", "a drug that nobody knows"),
        ("a disease that nobody knows", "may treat", "allopurinol"),
        ("osteoporosis", "may prevent", "alendronic acid"),
        ("allopurinol", "therapeutic drugs", "gout"),
        ("allopurinol", "medication", "gout"),
        ("lung", "affected sites", "asthma"),
        ("BRCA1 gene", "disease mapped to gene", "breast cancer"),
    ],
)
def test_a_reversed_relation_is_noticed(row: tuple[str, str, str]) -> None:
    (note,) = notes([row])
    assert note.startswith(f"{row[1]!r} seems to be the wrong way round in 1 row, such as “{', '.join(row)}”")


@pytest.mark.parametrize(
    "row",
    [
        ("allopurinol", "May Treat", "gout"),
        ("gout", "therapeutic drugs", "allopurinol"),
        ("gout", "symptoms", "fever"),
        ("asthma", "disease may have associated disease", "gout"),
        ("one thing", "may treat", "another"),
        ("gout", "a relation of my own", "allopurinol"),
    ],
)
def test_what_is_the_right_way_round_or_unknown_is_not(row: tuple[str, str, str]) -> None:
    assert notes([row]) == []


@pytest.mark.parametrize(
    "name",
    [
        "clinical-core",
        "core-medicine",
        "biomedical-core",
        "rare-core",
        "not-indicated",
        "safety-core",
        "clinical-relations",
    ],
)
def test_no_bundled_set_is_called_reversed(name: str) -> None:
    assert list(reversed_notes(load_bundled(name).facts, CANONICAL)) == []
