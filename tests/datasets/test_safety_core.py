"""safety-core: its card and its files agree, each fact was read at its source, and no false partner may be true."""

import csv
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from medfact.datasets import grouping, load_bundled
from medfact.datasets.sources import sources_of
from medfact.facts import Fact
from medfact.negatives import NEAR

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "datasets"
CONTRAINDICATED, COMBINED = "contraindicated in", "must not be combined with"


def rows(name: str = "") -> list[dict[str, str]]:
    with (FOLDER / f"safety-core{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@cache
def drawn(seed: int) -> tuple[Fact, ...]:
    collection = load_bundled("safety-core")
    group = grouping(collection, 1, seed, NEAR)
    return tuple(negative for fact in collection.facts for negative in group(fact)[1:])


def test_the_card_and_the_documents_say_what_the_files_hold() -> None:
    card, facts = (FOLDER / "safety-core.md").read_text(encoding="utf-8"), rows()
    also = Counter[str]()
    for row in rows(".also-true"):
        also[row["relation"]] += len(row["tail"].split(" | "))
    for relation in (CONTRAINDICATED, COMBINED):
        own = [row for row in facts if row["relation"] == relation]
        heads, tails = {row["head"] for row in own}, {row["tail"] for row in own}
        assert f"| {relation} | {len(own)} | {len(heads)} | {len(tails)} | {also[relation]:,} |" in card
    assert f"| in all | {len(facts)} | {len({row['head'] for row in facts})} | | {also.total():,} |" in card
    by = Counter(row["source"] for row in facts)
    assert f"{by['FDA label: contraindicated']} facts. `source_id` is where DailyMed" in card
    assert f"{by['CDC: decision support for vaccines']} facts. `source_id` is the disease" in card
    assert f"{by['ANSM: thesaurus of interactions']} facts: pairs of which" in card
    groups = Counter(row["tail"] for row in facts)
    assert f"{groups['pregnancy']} are of pregnancy, {groups['breastfeeding']} of breastfeeding" in card
    text = (FOLDER.parents[1] / "docs" / "files.md").read_text(encoding="utf-8")
    assert f"`safety-core` | {len(facts)} facts where a wrong answer harms" in text


def test_every_fact_was_read_at_a_source_that_opens() -> None:
    read = {(row["head"], row["relation"], row["tail"]): row for row in rows(".sources")}
    for fact in load_bundled("safety-core").facts:
        row = read[fact.head, fact.relation, fact.tail or ""]
        assert (row["source_id"], row["decision"], row["decided_by"]) == (fact.source_id, "states", "editor, read")
        assert sources_of(fact)[0].address.startswith("https://")
        assert fact.as_of == ("2020" if fact.relation == COMBINED else None)


def test_a_pair_stands_once_whichever_drug_is_named_first() -> None:
    pairs = Counter(frozenset((row["head"], row["tail"])) for row in rows() if row["relation"] == COMBINED)
    assert set(pairs.values()) == {1}


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_every_fact_has_a_partner_and_none_is_true_or_arguable_in_either_order(seed: int) -> None:
    true = {frozenset((row["head"], row["tail"])) for row in rows()}
    true |= {frozenset((row["head"], tail)) for row in rows(".also-true") for tail in row["tail"].split(" | ")}
    assert len(drawn(seed)) == len(rows())
    assert not [(one.head, one.tail) for one in drawn(seed) if frozenset((one.head, one.tail or "")) in true]


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        ("enalapril", "pregnancy"),
        ("atorvastatin", "pregnancy"),
        ("yellow fever vaccine", "pregnancy"),
        ("propranolol", "severe heart failure"),
        ("metformin", "acute liver failure"),
        ("prednisone", "peptic ulcer"),
        ("citalopram", "epilepsy"),
        ("ribavirin", "congenital long QT syndrome"),
        ("colchicine", "ketoconazole"),
        ("warfarin", "clarithromycin"),
        ("eletriptan", "ketoconazole"),
        ("dabigatran", "rifampicin"),
        ("amiodarone", "bleomycin"),
    ],
)
def test_what_a_class_or_a_caution_makes_arguable_is_never_called_false(head: str, tail: str) -> None:
    known = load_bundled("safety-core").known
    assert known.entity(tail) in known.linked(head)
