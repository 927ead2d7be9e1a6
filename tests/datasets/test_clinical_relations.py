"""clinical-relations: its card and its files agree, each fact was read at its source, and no false partner may be true."""

import csv
from collections import Counter
from pathlib import Path

import pytest

from medfact.datasets import grouping, load_bundled
from medfact.datasets.sources import sources_of
from medfact.negatives import NEAR

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "datasets"
RELATIONS = ("caused by", "diagnosed by", "risk factors")


def rows(name: str = "") -> list[dict[str, str]]:
    with (FOLDER / f"clinical-relations{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_card_and_the_documents_say_what_the_files_hold() -> None:
    card, facts = " ".join((FOLDER / "clinical-relations.md").read_text(encoding="utf-8").split()), rows()
    also = Counter[str]()
    for row in rows(".also-true"):
        also[row["relation"]] += len(row["tail"].split(" | "))
    for relation in RELATIONS:
        own = [row for row in facts if row["relation"] == relation]
        heads, tails = {row["head"] for row in own}, {row["tail"] for row in own}
        assert len(own) >= 60
        assert f"| {relation} | {len(own)} | {len(heads)} | {len(tails)} | {also[relation]:,} |" in card
    assert f"| in all | {len(facts)} | {len({row['head'] for row in facts})} | | {also.total():,} |" in card
    assert f"lists all {len(facts)} decisions" in card
    kinds = Counter(row["tail_type"] for row in facts if row["relation"] == "caused by")
    pathogens, genes, others = kinds["Organism"], kinds["Cell or Molecular Dysfunction"], kinds["Finding"]
    assert f"{pathogens} are pathogens, {genes} changes of a gene and {others} others" in card
    text = (FOLDER.parents[1] / "docs" / "files.md").read_text(encoding="utf-8")
    assert f"`clinical-relations` | {len(facts)} facts" in text


def test_every_fact_was_read_on_a_page_that_opens() -> None:
    read = {(row["head"], row["relation"], row["tail"]): row for row in rows(".sources")}
    for fact in load_bundled("clinical-relations").facts:
        row = read[fact.head, fact.relation, fact.tail or ""]
        assert (row["source"], row["source_id"], row["decision"]) == (fact.source, fact.source_id, "states")
        assert sources_of(fact)[0].address.startswith("https://")


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_every_fact_has_a_partner_of_its_kind_and_none_is_true_or_arguable(seed: int) -> None:
    true = {frozenset((row["head"], row["tail"])) for row in rows()}
    true |= {frozenset((row["head"], tail)) for row in rows(".also-true") for tail in row["tail"].split(" | ")}
    collection = load_bundled("clinical-relations")
    group = grouping(collection, 1, seed, NEAR)
    for fact in collection.facts:
        (negative,) = group(fact)[1:]
        assert frozenset((negative.head, negative.tail or "")) not in true
        assert negative.tail_type == fact.tail_type


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        ("gastric cancer", "smoking"),
        ("stroke", "diabetes mellitus"),
        ("stroke", "radon exposure"),
        ("cirrhosis", "hepatitis B virus infection"),
        ("pulmonary embolism", "computed tomography"),
        ("celiac disease", "upper endoscopy"),
        ("myocardial infarction", "electrocardiography"),
        ("iron deficiency anemia", "colonoscopy"),
        ("infectious mononucleosis", "Toxoplasma gondii"),
        ("hemochromatosis", "HBB gene mutations"),
    ],
)
def test_what_a_clinician_could_defend_is_never_called_false(head: str, tail: str) -> None:
    known = load_bundled("clinical-relations").known
    assert known.entity(tail) in known.linked(head)
