"""rare-core: its card and its files agree, and nothing that may be true is drawn as false."""

import importlib
import re
import sys
from collections import Counter
from functools import cache, partial

import pytest
from bundled_sets import SEEDS, draw_negatives, load_card, load_rows

from medfact.datasets.bundled import FOLDER

NAME = "rare-core"
rows = partial(load_rows, NAME)
drawn = partial(draw_negatives, NAME)


FINDING, GENE = "disease may have finding", "disease mapped to gene"


@cache
def true_or_nearly() -> frozenset[tuple[str, str]]:
    also = {(row["head"], tail) for row in [*rows(".also-true"), *rows(".learned")] for tail in row["tail"].split(" | ")}
    return frozenset(also | {(row["head"], row["tail"]) for row in rows()})


def test_the_card_says_what_the_files_hold() -> None:
    card = load_card(NAME)
    facts, relations = rows(), Counter(row["relation"] for row in rows())
    often = sum(row["relation"] == FINDING and row["strength"] == "a common" for row in facts)
    heads = len({row["head"] for row in facts})
    assert (
        f"{len(facts):,} true facts about {heads} rare diseases: {relations[FINDING]:,} findings ({often:,} of them very "
        f"frequent or obligate) and {relations[GENE]} genes. {len(rows('.judged'))} false facts are judged ones"
    ) in card
    docs = (FOLDER.parents[1] / "docs" / "files.md").read_text(encoding="utf-8")
    assert f"`rare-core` | {len(facts):,} facts about {heads} rare diseases" in docs


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_that_may_be_true_is_drawn(seed: int) -> None:
    """Neither a fact, nor an also-true pair, nor a term above or below one in the ontology."""
    above: dict[str, set[str]] = {}
    for row in rows(".is-a"):
        above.setdefault(row["name"], set()).add(row["broader"])

    def ancestors(name: str) -> set[str]:
        return set().union(*({parent} | ancestors(parent) for parent in above.get(name, ())))

    of_head: dict[str, set[str]] = {}
    for head, tail in true_or_nearly():
        of_head.setdefault(head, set()).add(tail)
    assert len(drawn(seed)) == len(rows())
    for negative in drawn(seed):
        tail = str(negative.tail)
        near = ancestors(tail) & of_head[negative.head]
        assert not near, (negative.head, tail, near)
        assert (negative.head, tail) not in true_or_nearly()


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        ("Roussy-Lévy syndrome", "Distal muscle weakness"),
        ("Oculocerebrorenal syndrome of Lowe", "Hyperphosphaturia"),
        ("Alström syndrome", "Retinopathy"),
        ("Alström syndrome", "Hyperuricemia"),
        ("Panhypophysitis", "Female hypogonadism"),
        ("Nasu-Hakola disease", "Increased susceptibility to fractures"),
        ("KBG syndrome", "Bulbous nose"),
        ("Poliomyelitis", "CSF pleocytosis"),
        ("Poliomyelitis", "Neuronal loss in central nervous system"),
        ("Poliomyelitis", "Talipes equinovarus"),
        ("Jacobsen syndrome", "Microtia"),
        ("Jacobsen syndrome", "Decreased circulating antibody concentration"),
        ("Smith-Lemli-Opitz syndrome", "Short nose"),
        ("Turner syndrome", "Increased susceptibility to fractures"),
        ("Wiskott-Aldrich syndrome", "Leukopenia"),
    ],
)
def test_what_other_sources_affirm_is_known_and_never_drawn(head: str, tail: str) -> None:
    assert (head, tail) in true_or_nearly()
    assert all((negative.head, negative.tail) != (head, tail) for seed in SEEDS for negative in drawn(seed))


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        ("Thyrotoxic periodic paralysis", "Obesity"),
        ("Vascular Ehlers-Danlos syndrome", "Melanocytic nevus"),
        ("Refsum disease", "Skeletal dysplasia"),
        ("Jacobsen syndrome", "Premature birth"),
    ],
)
def test_an_arguable_annotation_is_no_fact_and_is_never_called_false(head: str, tail: str) -> None:
    assert all((row["head"], row["tail"]) != (head, tail) for row in rows())
    assert (head, tail) in true_or_nearly()


def test_genes_of_the_same_disease_are_never_drawn() -> None:
    listed = {(row["head"], row["tail"]) for row in rows() if row["relation"] == GENE}
    for seed in SEEDS:
        genes = [negative for negative in drawn(seed) if negative.relation == GENE]
        assert len(genes) == len(listed)
        assert not {(negative.head, negative.tail) for negative in genes} & true_or_nearly()


def test_every_term_has_one_identifier_and_every_row_its_annotation() -> None:
    identifiers: dict[str, set[str]] = {}
    for row in rows():
        identifiers.setdefault(row["tail"], set()).add(row["tail_id"])
        assert re.fullmatch(rf"{row['head_id']}( {row['tail_id']})?", row["source_id"])
    assert [name for name, found in identifiers.items() if len(found) > 1] == []


@pytest.mark.parametrize(
    ("head", "true", "kindred"),
    [
        ("Poliomyelitis", "CSF pleocytosis", "Hydrocephalus"),
        ("Panhypophysitis", "Female hypogonadism", "Male hypogonadism"),
        ("Wilson disease", "Female hypogonadism", "Male hypogonadism"),
        ("KBG syndrome", "Bulbous nose", "Broad nasal tip"),
        ("KBG syndrome", "Bulbous nose", "Prominent nose"),
        ("Treacher-Collins syndrome", "Underdeveloped nasal alae", "Thick nasal alae"),
        ("Pitt-Hopkins syndrome", "Underdeveloped nasal alae", "Short nose"),
    ],
)
def test_sisters_parts_and_the_other_sex_of_what_is_true_or_barred_are_barred(head: str, true: str, kindred: str) -> None:
    assert {(head, true), (head, kindred)} <= true_or_nearly()
    assert all((negative.head, negative.tail) != (head, kindred) for seed in SEEDS for negative in drawn(seed))


def test_the_kinds_are_those_of_the_build_and_each_pair_has_its_reason() -> None:
    sys.path.insert(0, str(FOLDER))
    build = importlib.import_module("build_rare_core")
    said: dict[str, set[str]] = {}
    also: dict[str, set[str]] = {}
    for row in rows():
        said.setdefault(row["head"], set()).update({row["tail"]} if row["relation"] == FINDING else set())
    for row in rows(".also-true"):
        also.setdefault(row["head"], set()).update(row["tail"].split(" | "))
    parents: dict[str, set[str]] = {finding: set() for findings in said.values() for finding in findings}
    for row in rows(".is-a"):
        if row["name"] in parents:
            parents[row["name"]].add(row["broader"])
    made = [row for head, facts in said.items() for row in build.of_its_kind(head, facts, also.get(head, set()), parents)]
    assert made == [list(row.values()) for row in rows(".learned")]
    pairs = sum(len(row["tail"].split(" | ")) for row in rows(".learned"))
    card = load_card(NAME)
    assert f"{pairs} pairs of {len({row['head'] for row in rows('.learned')})} diseases, each with its reason" in card
