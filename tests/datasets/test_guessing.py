"""Tables as people have them: which columns hold what, in five languages and layouts, and what is asked or refused instead."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from medfact.datasets import Collection, load
from medfact.datasets.guessing import Guess, guess
from medfact.errors import MissingColumns
from medfact.prototypes import load_pool, orient_facts
from medfact.spec import RunSpec

Medfact = Callable[..., object]
Triplet = tuple[str, str, str | None]


LISTS = 'Disease,Symptoms\ngout,"joint pain, fever"\nasthma,"wheezing, cough"\n'


def read(path: Path, text: str, **columns: str) -> Collection:
    path.write_text(text, encoding="utf-8")
    return load(RunSpec("", facts=str(path), columns=tuple(columns.items())))


def triplets(collection: Collection) -> set[Triplet]:
    return {(fact.head, fact.relation, fact.tail) for fact in collection.facts if fact.positive}


def of(text: str) -> Guess:
    """The guess of a table whose cells are separated by semicolons."""
    header, *rows = [line.split(";") for line in text.splitlines()]
    return guess(header, rows)


GOUT, ASTHMA = ("gout", "symptoms", "joint pain"), ("asthma", "symptoms", "wheezing")
FEVER, COUGH = ("gout", "symptoms", "fever"), ("asthma", "symptoms", "cough")
DRUGS = {("gout", "therapeutic drugs", "allopurinol"), ("asthma", "therapeutic drugs", "salbutamol")}

LAYOUTS: dict[str, tuple[str, set[Triplet]]] = {
    "by name": ("Disease,Finding\ngout,joint pain\nasthma,wheezing\n", {GOUT, ASTHMA}),
    "in two languages": (
        "Nr;Krankheit / Disease;Was;Antwort\n1;gout;symptoms;joint pain\n2;asthma;symptoms;wheezing\n",
        {GOUT, ASTHMA},
    ),
    "below a title": ("Of our ward,\nenfermedad,síntoma\ngout,joint pain\nasthma,wheezing\n", {GOUT, ASTHMA}),
    "a relation a column": (
        "maladie;symptômes;traitement\ngout;joint pain;allopurinol\nasthma;wheezing;salbutamol\nmeasles;rash;\n",
        {GOUT, ASTHMA, ("measles", "symptoms", "rash"), *DRUGS},
    ),
    "a symptom a column": ("Disease,Symptom_1,Symptom_2\ngout,joint pain,fever\nasthma,wheezing,\n", {GOUT, FEVER, ASTHMA}),
    "a matrix of numbers": ("疾病,joint pain,wheezing,fever\ngout,1,0,1\nasthma,0,1,0\n", {GOUT, FEVER, ASTHMA}),
    "a matrix of crosses": ("Diagnose;joint pain;wheezing;fever\ngout;x;;x\nasthma;;x;\n", {GOUT, FEVER, ASTHMA}),
    "lists": ("Disease,Symptoms\ngout,joint pain; fever\nasthma,wheezing;cough\n", {GOUT, FEVER, ASTHMA, COUGH}),
    "lists with identifiers": (
        "head,relation,tail,tail_id\ngout,symptoms,joint pain|fever,HP:1|HP:2\nasthma,symptoms,wheezing|cough,HP:3|HP:4\n",
        {GOUT, FEVER, ASTHMA, COUGH},
    ),
    "lines in a cell": ('Disease,Symptoms\ngout,"joint pain\nfever"\nasthma,"wheezing\ncough"\n', {GOUT, FEVER, ASTHMA, COUGH}),
    "a graph": ("source,target,relation\ngout,joint pain,symptoms\nasthma,wheezing,symptoms\n", {GOUT, ASTHMA}),
    "relations by their words": ("Disease,A,B\ngout,symptoms,joint pain\nasthma,symptoms,wheezing\n", {GOUT, ASTHMA}),
    "names under a name": ("Name,Symptom\ngout,joint pain\nasthma,wheezing\n", {GOUT, ASTHMA}),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_that_is_clear_is_read(layout: str, tmp_path: Path) -> None:
    text, facts = LAYOUTS[layout]
    assert triplets(read(tmp_path / "own.csv", text)) == facts


def test_what_was_guessed_and_what_is_not_read_is_said(tmp_path: Path) -> None:
    said = read(tmp_path / "own.csv", "Disease,Finding,dose,comment\ngout,joint pain,1,\nasthma,wheezing,2,x\n").notes
    assert said == (
        "own.csv: read: head = Disease, tail = Finding, relation = symptoms; say otherwise with --column.",
        "own.csv: not read: dose, comment.",
    )


def test_codes_beside_names_are_their_identifiers(tmp_path: Path) -> None:
    text = "ICD-10,Disease,Phenotype,HPO\nM10.9,gout,joint pain,HP:0002829\nJ45.9,asthma,wheezing,HP:0030828\n"
    ids = {(fact.head, fact.head_id, fact.tail_id) for fact in read(tmp_path / "own.csv", text).facts}
    assert ids == {("gout", "M10.9", "HP:0002829"), ("asthma", "J45.9", "HP:0030828")}
    same = "ID,Disease,Phenotype\nHP:1,gout,joint pain\nHP:1,asthma,wheezing\nHP:1,measles,rash\n"
    assert {fact.head_id for fact in read(tmp_path / "same.csv", same).facts} == {None}, "one code would make them one disease"


def test_names_of_columns_match_with_spaces_and_dashes(tmp_path: Path) -> None:
    text = "Head,Head type,RELATION,Tail,Tail-Type,Source ID\ngout,Disease,symptoms,joint pain,Sign,7\n"
    (fact,) = read(tmp_path / "own.csv", text).facts
    assert (fact.head_type, fact.tail_type, fact.source_id) == ("Disease", "Sign", "7")


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("A,B\ngout,joint pain\nasthma,wheezing\n", "the column relation is missing (likely symptoms); the file has A, B."),
        ("Disease,Diagnosis,Symptom\ngout,podagra,joint pain\n", "the column head is missing"),
        ("Drug,Disease\nallopurinol,gout\nmetformin,acidosis\n", "the column relation is missing"),  # treats, or harms
        ("Disease,Treatment\nappendicitis,appendectomy\nasthma,salbutamol\n", "the column relation is missing; the file has"),
        ("Disease,allopurinol,salbutamol\ngout,1,0\nasthma,0,1\n", "relation is missing (likely therapeutic drugs)"),
        ("gout,symptoms,joint pain\nasthma,symptoms,wheezing\nmeasles,symptoms,rash\n", "head and tail are missing"),
        (LISTS, "the cells of 'Symptoms' seem to be lists, such as 'joint pain, fever'"),
    ],
)  # fmt: skip
def test_what_is_open_is_asked(text: str, asked: str, tmp_path: Path) -> None:
    with pytest.raises(MissingColumns) as refused:
        read(tmp_path / "own.csv", text)
    assert asked in str(refused.value)
    assert "seem to be" in asked or "The first rows: " in str(refused.value)
    assert refused.value.columns == text.partition("\n")[0].split(",")


def test_what_a_person_says_settles_it(tmp_path: Path) -> None:
    assert triplets(read(tmp_path / "own.csv", LISTS, split="=,")) == {GOUT, FEVER, ASTHMA, COUGH}
    kept = {("gout", "symptoms", "joint pain, fever"), ("asthma", "symptoms", "wheezing, cough")}
    assert triplets(read(tmp_path / "own.csv", LISTS, split="=none")) == kept
    wide = "Thing,S,D\ngout,joint pain,allopurinol\nasthma,wheezing,salbutamol\n"
    said = {"head": "Thing", "tail:S": "=symptoms", "tail:D": "=therapeutic drugs"}
    assert triplets(read(tmp_path / "wide.csv", wide, **said)) == {GOUT, ASTHMA, *DRUGS}


@pytest.mark.parametrize(
    "header",
    ["Patient", "MRN", "Date of birth", "NHS Number", "Fallnummer", "fecha de nacimiento", "nom du patient", "姓名", "Name"],
)
def test_columns_about_patients_are_refused_before_anything_is_read(header: str, tmp_path: Path) -> None:
    text = f"{header},Disease,Symptom\nMaria Keller,gout,joint pain\nJon Smith,asthma,wheezing\n"
    with pytest.raises(MissingColumns) as refused:
        read(tmp_path / "own.csv", text)
    assert f"the data may be about patients: {header!r} is among the columns" in str(refused.value)
    assert "Keller" not in str(refused.value)
    assert triplets(read(tmp_path / "own.csv", text, patients="=none")) == {GOUT, ASTHMA}
    assert triplets(read(tmp_path / "own.csv", text, head="Disease", tail="Symptom")) == {GOUT, ASTHMA}


def test_the_sample_hides_cells_about_patients() -> None:
    guessed = of("Patient;Krankheit;Befund\nMaria Keller;gout;joint pain")
    assert guessed.personal == ("Patient",)
    assert guessed.sample == (("…", "gout", "joint pain"),)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Krankheit;Symptom\nGicht;Fieber", "de"),
        ("Symptom;Disease\nfever;gout", "en"),
        ("maladie;symptôme\ngoutte;fièvre", "fr"),
        ("head;relation;tail\ngota;síntoma;fiebre\ngota;tratamiento;alopurinol", "es"),
        ("疾病;关系;答案\n痛风;症状;发热", "zh"),
    ],
)
def test_the_language_of_headers_and_relations(text: str, language: str) -> None:
    assert of(text).language == language


def test_a_group_of_patients_and_a_denied_row_are_what_they_were(tmp_path: Path) -> None:
    text = "Drug,Contraindicated in,Patient group,negated\nmetformin,lactic acidosis,adults,no\npropranolol,gout,,yes\n"
    facts = {fact.head: fact for fact in read(tmp_path / "own.csv", text).facts}
    assert (facts["metformin"].population, facts["metformin"].relation) == ("adults", "contraindicated in")
    assert not facts["propranolol"].positive


@pytest.mark.parametrize(
    ("right", "reverse"),
    [
        ([GOUT, ASTHMA, ("measles", "symptoms", "rash")], ("photophobia", "symptoms", "migraine")),
        (sorted(DRUGS), ("metformin", "therapeutic drugs", "type 2 diabetes")),  # under another name than the sets have
    ],
)
def test_single_rows_the_wrong_way_round_neither_stay_true_nor_give_partners(
    right: list[Triplet], reverse: Triplet, tmp_path: Path
) -> None:
    text = "\n".join(",".join(map(str, row)) for row in [("head", "relation", "tail"), *right, reverse])
    collection = orient_facts(read(tmp_path / "own.csv", text), load_pool("medfact"))
    assert triplets(collection) == set(right)
    assert reverse[2] not in {tail.name for tail in collection.known.tails(reverse[1], None)}
    (note,) = collection.notes
    assert note.startswith(
        f"{reverse[1]!r} is the wrong way round in 1 row of {len(right) + 1}, such as “{', '.join(map(str, reverse))}”"
    )


def test_the_command_line_reads_and_refuses(medfact: Medfact, tmp_path: Path) -> None:
    file = tmp_path / "own.csv"
    file.write_text(LAYOUTS["a matrix of numbers"][0], encoding="utf-8")
    done = medfact("statements", "--facts", file)
    assert "Joint pain is a recognized symptom or sign of gout." in {
        json.loads(line)["statement"] for line in done.out.splitlines()
    }
    assert "a mark such as 1 or x below joint pain, wheezing, fever gives the head that tail" in done.err
    file.write_text("A,B\ngout,joint pain\n", encoding="utf-8")
    assert "The first rows: gout | joint pain." in medfact("facts", "--facts", file).err
