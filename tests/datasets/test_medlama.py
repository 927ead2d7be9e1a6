"""MedLAMA as published, the papers' subset of it, and Tables 10 and 11."""

import csv
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from medfact.datasets import Collection, load_file
from medfact.datasets.medlama import INVERSES
from medfact.facts import name_key
from medfact.prototypes import load_pool
from medfact.runs.plan import select_facts
from medfact.spec import RunSpec

COLUMNS = [
    "head_cui",
    "head_name",
    "rel",
    "tail_cuis_list",
    "tail_names_list",
    "tail_names",
    "tail_cuis",
    "tail_cuis_len",
    "tail_names_len",
]


def write_relation(folder: Path, relation: str, rows: list[tuple[str, str, list[tuple[str, str]]]]) -> None:
    """One file as published: (head identifier, head, [(tail identifier, tail)]) a row."""
    with (folder / f"{relation}_1000.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for cui, head, tails in rows:
            cuis, names = [list(column) for column in zip(*tails, strict=True)]
            writer.writerow([cui, head, relation, cuis, names, " || ".join(names), " || ".join(cuis), len(cuis), len(names)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    many = [(f"C{i}", f"Drug {i}", [(f"D{i}", f"Disease {i}"), (f"D{i + 1}", f"Disease {i + 1}")]) for i in range(20)]
    write_relation(tmp_path, "may_treat", many)
    odd = [
        ("X1", "Paget's disease, mammary", [("Y1", 'Paget\'s "deep" disease'), ("Y1", 'Paget\'s "deep" disease')]),
        ("X2", "[X] sequelae", [("X2", "[X] sequelae")]),
        ("X3", "Neoplasm", [("Y3", "Cell"), ("Y4", "Cell")]),
    ]
    write_relation(tmp_path, "occurs_after", odd)
    write_relation(tmp_path, "gene_encodes_gene_product", [("G1", "INS Gene", [("P1", "Insulin")])])
    write_relation(tmp_path, "gene_product_encoded_by_gene", [("P1", "Insulin", [("G1", "INS Gene")])])
    return tmp_path


def facts_of(collection: Collection, relation: str) -> list[tuple[str, str | None]]:
    return [(fact.head, fact.tail) for fact in collection.facts if fact.relation == relation]


def test_all_tails_are_facts_once_by_name(folder: Path) -> None:
    collection = load_file(folder)
    assert len(facts_of(collection, "may_treat")) == 20 * 2
    assert facts_of(collection, "occurs_after") == [
        ("Paget's disease, mammary", 'Paget\'s "deep" disease'),
        ("[X] sequelae", "[X] sequelae"),
        ("Neoplasm", "Cell"),
    ]
    assert facts_of(collection, "gene_product_encoded_by_gene") == [], "its inverse is tested"
    assert collection.known.entity("Insulin") in collection.known.linked("INS Gene")
    assert [str(problem) for problem in collection.problems] == [
        "occurs_after_1000.csv, row 3: the head is its own and only tail; the fact stays, and is easy to guess"
    ]


def test_an_inverse_alone_is_tested(tmp_path: Path) -> None:
    for inverse in INVERSES:
        write_relation(tmp_path, inverse, [("P1", "Insulin", [("G1", "INS Gene")])])
    assert len(load_file(tmp_path).facts) == 2


def test_a_list_that_cannot_be_read_is_told_by_file_and_row(folder: Path) -> None:
    path = folder / "may_treat_1000.csv"
    path.write_text(path.read_text() + "C9,Drug 9,may_treat,\"['D9'\",\"['Disease 9']\",Disease 9,D9,1,1\n")
    problems = load_file(folder).problems
    assert str(problems[0]) == "may_treat_1000.csv, row 22: its list of tails cannot be read; write it as ['…', '…']"


def test_the_papers_subset_has_one_tail_per_head_and_relation(folder: Path) -> None:
    spec = RunSpec(model="", facts=str(folder), protocol="pretexttrans")
    selection = select_facts(spec)
    positive = [fact for fact in (*selection.test, *selection.shots) if fact.positive]
    assert max(Counter((fact.head, fact.relation) for fact in positive).values()) == 1
    assert Counter(fact.relation for fact in positive) == {
        "may_treat": 20,
        "occurs_after": 3,
        "gene_encodes_gene_product": 1,
    }
    aside = {fact.head for fact in selection.shots if fact.relation == "may_treat"}
    assert len(aside) == 5
    known: defaultdict[str, set[str]] = defaultdict(set)
    for fact in load_file(folder).facts:
        known[fact.head].add(name_key(fact.tail or ""))
    for fact in (*selection.test, *selection.shots):
        assert fact.positive or name_key(fact.tail or "") not in known[fact.head]


def test_diseks_layout(tmp_path: Path) -> None:
    path = tmp_path / "disek.csv"
    path.write_text("Disease,Aspect,Entity\ninfluenza,Symptoms,fever\n", encoding="utf-8")
    (fact,) = load_file(path).facts
    assert (fact.head, fact.relation, fact.tail) == ("influenza", "Symptoms", "fever")
    assert load_pool("pretexttrans-disek").canonical(fact.relation) == "symptoms"


def test_a_fact_that_another_table_of_the_folder_repeats_is_named(tmp_path: Path) -> None:
    """MedLAMA's rows are told apart by their names, others by their identifiers too; their facts have one id all the same."""
    write_relation(tmp_path, "may_treat", [("C1", "Salbutamol", [("D1", "Asthma")]), ("C2", "Colchicine", [("D2", "Gout")])])
    other = tmp_path / "z.csv"
    other.write_text("head,relation,tail,head_id,tail_id\nSalbutamol,may_treat,Asthma,C1,D1\nAspirin,may_treat,Pain,C3,D3\n")
    collection = load_file(tmp_path)
    assert sorted(facts_of(collection, "may_treat")) == [("Aspirin", "Pain"), ("Colchicine", "Gout"), ("Salbutamol", "Asthma")]
    (problem,) = collection.problems
    assert "repeats" in problem.message
