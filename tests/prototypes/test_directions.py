"""Relations as users write them: which are understood, which from their other end, and what becomes of rows that are turned."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medfact.datasets import Collection, bundled_names, load, load_bundled, select
from medfact.datasets.semantic_types import other_kind_notes
from medfact.errors import PoolError
from medfact.facts import Fact, KnowledgeBase, name_key
from medfact.prototypes import load_pool, orient_facts, pool_names
from medfact.prototypes.pool_files import read_pool
from medfact.runs.plan import plan
from medfact.spec import RunSpec
from medfact.web.api import knowing
from tests.prototypes.test_sentences import FAULTS

_TABLES = ("relations_as_written.csv", "relations_as_written_next.csv")
TABLES = [
    list(csv.DictReader((Path(__file__).parents[1] / "data" / name).read_text(encoding="utf-8").splitlines()))
    for name in _TABLES
]
"""Relations that users write: by hand, or with the names of vocabularies and graphs that many tables come from. Those of the
second table were chosen from what no pool knew yet.
"""

WRITTEN = [row for table in TABLES for row in table]

POOL = load_pool("medfact")

DECIDING = {
    "contraindicated in": [
        ("propranolol", "asthma"),
        ("isotretinoin", "pregnancy"),
        ("aspirin", "children with a viral infection"),
        ("metformin", "severe renal impairment"),
        ("nonsteroidal anti-inflammatory drugs", "active peptic ulcer disease"),
    ],
    "must not be combined with": [
        ("sildenafil", "nitroglycerin"),
        ("selective serotonin reuptake inhibitors", "monoamine oxidase inhibitors"),
        ("simvastatin", "itraconazole"),
        ("azathioprine", "febuxostat"),
        ("methotrexate", "trimethoprim"),
    ],
    "contraindicated vaccines": [
        ("tacrolimus", "yellow fever vaccine"),
        ("rituximab", "live attenuated vaccines"),
        ("prednisone", "MMR vaccine"),
        ("antibiotics", "oral typhoid vaccine"),
        ("aciclovir", "varicella vaccine"),
    ],
    "adverse effects": [
        ("lisinopril", "dry cough"),
        ("statins", "myopathy"),
        ("amiodarone", "thyroid disorders"),
        ("clozapine", "agranulocytosis"),
        ("glucocorticoids", "cataracts"),
    ],
    "caused by": [
        ("tuberculosis", "Mycobacterium tuberculosis"),
        ("scurvy", "vitamin C deficiency"),
        ("cystic fibrosis", "mutations in CFTR"),
        ("measles", "measles virus"),
        ("peptic ulcers", "Helicobacter pylori"),
    ],
    "diagnosed by": [
        ("celiac disease", "duodenal biopsy"),
        ("pulmonary embolism", "computed tomography pulmonary angiography"),
        ("myocardial infarction", "troponins"),
        ("kidney stones", "ultrasonography"),
        ("syphilis", "serologic tests"),
    ],
    "risk factors": [
        ("stroke", "hypertension"),
        ("lung cancer", "smoking"),
        ("gallstones", "obesity"),
        ("deep vein thrombosis", "oral contraceptives"),
        ("hepatocellular carcinoma", "chronic hepatitis B"),
    ],
    "first choice for": [
        ("amoxicillin", "acute otitis media"),
        ("levothyroxine", "hypothyroidism"),
        ("topical corticosteroids", "atopic dermatitis"),
        ("epinephrine", "anaphylaxis"),
        ("metformin", "type 2 diabetes"),
    ],
    "drugs used in pregnancy": [
        ("hypertension", "labetalol"),
        ("hyperthyroidism", "propylthiouracil"),
        ("syphilis", "penicillin G"),
        ("asthma", "inhaled glucocorticoids"),
        ("urinary tract infections", "nitrofurantoin"),
    ],
    "may prevent": [
        ("measles vaccine", "measles"),
        ("folic acid", "neural tube defects"),
        ("tetanus toxoid", "tetanus"),
        ("HPV vaccines", "cervical cancer"),
        ("warfarin", "stroke"),
    ],
}
"""Five facts of each relation that decides; their sentences were read."""


def read(folder: Path, rows: list[tuple[str, ...]], header: str = "head,relation,tail", **settings: Any) -> Any:
    """The spec and the collection of a table with these rows, as our own pool states it."""
    file = folder / "mine.csv"
    with file.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([header.split(","), *rows])
    spec = RunSpec("", facts=str(file), **settings)
    return spec, orient_facts(load(spec), POOL)


def triplets(facts: Any) -> set[tuple[str, str, str]]:
    return {(fact.head, fact.relation, fact.tail) for fact in facts}


# ------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize("row", WRITTEN, ids=lambda row: row["written"])
def test_a_relation_as_users_write_it(row: dict[str, str]) -> None:
    canonical, inverted = POOL.canonical(row["written"]), POOL.inverse_of(row["written"])
    assert (canonical or inverted or "") == row["read_as"]
    assert (inverted is not None) is (row["turned"] == "yes")


@pytest.mark.parametrize("table", TABLES, ids=_TABLES)
def test_at_least_24_of_30_are_understood(table: list[dict[str, str]]) -> None:
    assert len({row["written"] for row in table}) == 30
    assert sum(bool(POOL.canonical(row["written"]) or POOL.inverse_of(row["written"])) for row in table) >= 24


@pytest.mark.parametrize("name", ["symptom_of", "Symptom-Of", "symptomOf", "SYMPTOM OF", "isASymptomOf", "is a  symptom of"])
def test_an_inverse_is_found_in_any_spelling(name: str) -> None:
    assert POOL.canonical(name) is None
    assert POOL.inverse_of(name) == "symptoms"


NOT_KNOWN = [
    "associated with", "is associated with", "affects", "interacts with", "contraindication", "treatment", "treatments",
    "phenotype absent", "disease excludes finding", "does not treat", "not treated by", "no symptom of", "may be symptom",
    "occurs before", "cause", "contraindicated in pregnancy", "in pregnancy", "complication of", "palliates", "treat",
    "main symptoms", "should not be used in", "test used to diagnose", "linked gene", "adverse events", "approved for",
    "investigations",
]  # fmt: skip


@pytest.mark.parametrize("name", NOT_KNOWN)
def test_a_name_that_may_mean_another_thing_is_not_guessed(name: str) -> None:
    assert (POOL.canonical(name), POOL.inverse_of(name)) == (None, None)


DECLARED = {name_key(name) for one in POOL.relations.values() for name in (one.name, *one.aliases, *one.inverse)}


@given(
    st.text(max_size=40)
    | st.sampled_from(sorted(DECLARED)).flatmap(lambda name: st.sampled_from([f"not {name}", f"{name} x", name[1:]]))
)
def test_what_is_not_declared_is_never_another_relation(name: str) -> None:
    keys = {name_key(name), name_key(re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name))}
    if keys.isdisjoint(DECLARED):
        assert (POOL.canonical(name), POOL.inverse_of(name)) == (None, None)


def test_a_drug_that_treats_is_no_first_choice_and_a_finding_no_symptom() -> None:
    assert POOL.inverse_of("treats") == "therapeutic drugs"
    assert POOL.inverse_of("drug of choice") == "first choice for"
    assert POOL.inverse_of("may be finding of disease") == "disease may have finding"


def test_names_hold_in_the_other_pools_but_for_that_of_mkj() -> None:
    for name in ("pretexttrans-disek", "tpeval", "origin"):
        assert load_pool(name).inverse_of("treats") == "therapeutic drugs"
        assert load_pool(name).canonical("treated by") == "therapeutic drugs"
    mkj = load_pool("mkj")
    assert mkj.canonical("may be prevented by") == "may be prevented by"
    assert (mkj.canonical("may be treated by"), mkj.inverse_of("treats")) == (None, None), "MKJ's predicates are its own"


@pytest.mark.parametrize(
    ("inverse", "says"), [("signs", "is a name of the relation and of its inverse"), ("other", "also belongs to 'second'")]
)
def test_a_name_that_is_told_twice_is_refused(inverse: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "pool.yaml"
    entry = '{aliases: [signs], inverse: [%s], sentences: {none: "[X] [Y].", dn: "[X] not [Y]."}}'
    second = '{aliases: [other], sentences: {none: "[X] [Y].", dn: "[X] not [Y]."}}'
    file.write_text(f"forms: [none, dn]\nrelations:\n  second: {second}\n  first: {entry % inverse}\n", encoding="utf-8")
    with pytest.raises(PoolError, match=says):
        read_pool(file)


# ------------------------------------------------------------------------------------------- sentences


@pytest.mark.parametrize("relation", DECIDING)
def test_the_sentences_of_relations_that_decide_have_no_fault(relation: str) -> None:
    texts = [one.text for one in POOL.statements(Fact(head, relation, tail) for head, tail in DECIDING[relation])]
    assert len(texts) == len(set(texts)) == 40
    for kind, pattern in FAULTS.items():
        assert not [text for text in texts if pattern.search(text)], kind


# ------------------------------------------------------------------------------------------- one fact

NAMES = st.text(min_size=1, max_size=20)


@given(NAMES, NAMES, NAMES, NAMES, st.booleans(), st.none() | NAMES, st.none() | NAMES)
def test_turning_twice_gives_the_row_back(
    head: str, relation: str, tail: str, known: str, positive: bool, identifier: str | None, kind: str | None
) -> None:
    fact = Fact(head, relation, tail, positive, head_type=kind, tail_id=identifier)
    turned = fact.inverse(known)
    assert (turned.head, turned.relation, turned.tail) == (tail, known, head)
    assert (turned.tail_type, turned.head_id) == (kind, identifier)
    assert turned.as_written() == fact
    assert turned.as_written().fact_id == fact.fact_id
    assert turned.fact_id == Fact(tail, known, head, positive, head_id=identifier).fact_id


# ------------------------------------------------------------------------------------------- tables

TREATS = [
    ("allopurinol", "treats", "gout"),
    ("levodopa", "treats", "Parkinson disease"),
    ("salbutamol", "treats", "asthma"),
    ("lisinopril", "treats", "hypertension"),
    ("levothyroxine", "treats", "hypothyroidism"),
]


def test_a_table_that_says_treats_is_turned_and_says_so(tmp_path: Path) -> None:
    spec, collection = read(tmp_path, TREATS)
    assert triplets(collection.facts) == {(tail, "therapeutic drugs", head) for head, _, tail in TREATS}
    assert "5 facts say 'treats': they are read as 'therapeutic drugs', the other way round." in collection.notes
    texts = {one.statement.text for one in plan(spec).statements if one.statement.fact.positive}
    assert "Allopurinol is a medication used to treat gout." in texts
    assert "Medications used to treat gout do not include allopurinol." in texts


def test_what_has_left_a_set_is_turned_with_it() -> None:
    facts = tuple(Fact(f"drug {n}", "treats", f"illness {n}") for n in range(4))
    left = Fact("drug 0", "treats", "illness 3", positive=False)
    made = orient_facts(Collection("set", facts, KnowledgeBase(facts), withdrawn=(left,)), POOL)
    assert [(one.head, one.relation, one.tail) for one in made.withdrawn] == [("illness 3", "therapeutic drugs", "drug 0")]


def test_the_fingerprint_stays_that_of_the_file_and_nothing_is_turned_twice(tmp_path: Path) -> None:
    spec, collection = read(tmp_path, TREATS)
    assert collection.fingerprint() == load(spec).fingerprint() == plan(spec).dataset_fingerprint
    assert orient_facts(collection, POOL) is collection


@pytest.mark.parametrize("name", bundled_names())
def test_nothing_of_the_bundled_sets_is_turned(name: str) -> None:
    for pool in map(load_pool, pool_names()):
        assert orient_facts(load_bundled(name), pool) is load_bundled(name)


def test_row_numbers_are_those_of_the_file(tmp_path: Path) -> None:
    _, collection = read(tmp_path, [*TREATS, ("", "treats", "gout"), TREATS[0]])
    assert [problem.row for problem in collection.problems] == [7, 8]


def test_no_partner_is_drawn_that_the_file_has_in_either_direction(tmp_path: Path) -> None:
    """Gout has colchicine from its own end and allopurinol from the other; neither may be called false of gout."""
    rows = [*TREATS, ("gout", "therapeutic drugs", "colchicine"), ("colchicine", "treats", "familial Mediterranean fever")]
    for seed in range(10):
        _, collection = read(tmp_path, rows)
        chosen = select(collection, negatives=3, held_out_heads=0, seed=seed, canonical=POOL.canonical).test
        false = {(fact.head, fact.tail) for fact in chosen if not fact.positive}
        assert false
        assert not false & {pair for a, _, b in rows for pair in ((a, b), (b, a))}


def test_what_the_file_says_from_both_ends_counts_once(tmp_path: Path) -> None:
    _, collection = read(tmp_path, [*TREATS, ("gout", "medication", "Allopurinol")])
    assert len(collection.facts) == 5
    assert ("gout", "medication", "Allopurinol") in triplets(collection.facts)
    assert any(note.startswith("1 fact, “allopurinol, treats, gout”, says from its other end") for note in collection.notes)


LABELLED = "head,relation,tail,positive"


def test_what_it_states_from_one_end_and_denies_from_the_other_is_not_used(tmp_path: Path) -> None:
    rows = [*((*row, "true") for row in TREATS), ("gout", "therapeutic drugs", "allopurinol", "false")]
    _, collection = read(tmp_path, rows, LABELLED)
    assert not {fact for fact in collection.facts if "gout" in (fact.head, fact.tail)}
    assert "allopurinol" not in {fact.tail for fact in collection.known.facts}
    assert ("gout", "allopurinol") in collection.known.also_true
    assert any("contradict each other from their two ends, such as “allopurinol, treats, gout”" in n for n in collection.notes)


def test_a_false_row_belongs_to_the_true_one_of_its_condition(tmp_path: Path) -> None:
    """As written, "salbutamol, treats, gout" would belong to salbutamol's asthma; as read, to the allopurinol of gout."""
    rows = [*((*row, "true") for row in TREATS), ("salbutamol", "treats", "gout", "false")]
    _, collection = read(tmp_path, rows, LABELLED)
    (false,) = (fact for fact in collection.facts if not fact.positive)
    partner = next(fact for fact in collection.facts if fact.fact_id == false.negative_of)
    assert (false.head, false.tail, false.turned_from) == ("gout", "salbutamol", "treats")
    assert (partner.head, partner.tail) == ("gout", "allopurinol")
    assert collection.alone[false.fact_id].negative_of is None
    assert not collection.known.facts or "salbutamol" not in {f.tail for f in collection.known.facts if f.head == "gout"}


def test_a_partner_that_the_file_names_is_lost_and_the_loss_is_told(tmp_path: Path) -> None:
    rows = [*((*row, "true", "") for row in TREATS), ("salbutamol", "treats", "gout", "false", "asthma")]
    _, collection = read(tmp_path, rows, f"{LABELLED},negative_of")
    (false,) = (fact for fact in collection.facts if not fact.positive)
    assert false.negative_of is None
    assert (
        "1 false fact loses its true fact: read the other way round, they have different heads. They are asked on their own."
        in collection.notes
    )


def test_a_pool_of_ones_own_that_states_treats_keeps_it_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    forms = '{none: "[X] is given for [Y].", dn: "[X] is not given for [Y]."}'
    file.write_text(f"forms: [none, dn]\nrelations:\n  treats: {{sentences: {forms}}}\n", encoding="utf-8")
    spec, _ = read(tmp_path, TREATS, pool=str(file))
    planned = plan(spec)
    assert "allopurinol is given for gout." in {one.statement.text for one in planned.statements}
    assert not any("the other way round" in note for note in planned.notes)


def test_who_says_that_it_is_the_known_one_has_it_as_it_stands(tmp_path: Path) -> None:
    rows = [(tail, "treats", head) for head, _, tail in TREATS]
    _, collection = read(tmp_path, rows, columns=(("relation:treats", "=therapeutic drugs"),))
    assert triplets(collection.facts) == {(head, "therapeutic drugs", tail) for head, _, tail in rows}


# ------------------------------------------------------------------------------------------- with the notice of a reversal


@pytest.mark.parametrize(
    ("rows", "first"),
    [
        ([(tail, "treats", head) for head, _, tail in TREATS], "gout, treats, allopurinol"),
        ([("gout", "causes", "monosodium urate crystals")], "gout, causes, monosodium urate crystals"),
        ([("gout", "contraindicated in", "thiazides")], "gout, contraindicated in, thiazides"),
    ],
)
def test_a_turned_relation_that_stood_right_is_noticed_in_the_words_of_the_file(
    rows: list[tuple[str, str, str]], first: str, tmp_path: Path
) -> None:
    _, collection = read(tmp_path, rows)
    notes = select(collection, negatives=0, held_out_heads=0, seed=0, canonical=POOL.canonical).notes
    (note,) = (note for note in (*collection.notes, *notes) if "wrong way round" in note)
    assert f"such as “{first}”" in note
    relation = rows[0][1]
    assert ("or say that the relation is" in note) is (POOL.inverse_of(relation) is not None)


@pytest.mark.parametrize(
    "rows",
    [
        TREATS,
        [("influenza virus", "causes", "influenza")],
        [("hypertension", "causes", "stroke")],
        [("hypertension", "risk factor for", "stroke")],
        [("troponin", "used to diagnose", "myocardial infarction")],
        [("allopurinol", "side effects", "fever")],
    ],
)
def test_what_is_turned_rightly_is_not_called_reversed(rows: list[tuple[str, str, str]], tmp_path: Path) -> None:
    _, collection = read(tmp_path, rows)
    notes = select(collection, negatives=0, held_out_heads=0, seed=0, canonical=POOL.canonical).notes
    assert not [note for note in notes if "wrong way round" in note]


def test_a_treatment_of_another_kind_is_noticed(tmp_path: Path) -> None:
    """Tables say *treats* of operations too; our sentences would call them medications."""
    _, collection = read(
        tmp_path,
        [
            *TREATS,
            ("total hip arthroplasty", "treats", "osteoarthritis"),
            ("Coronary artery bypass grafting", "treats", "angina"),
        ],
    )
    notes = select(collection, negatives=0, held_out_heads=0, seed=0, canonical=POOL.canonical).notes
    (note,) = (note for note in notes if "another kind of treatment" in note)
    assert note.startswith(
        "'treats' is read as 'therapeutic drugs', which calls “total hip arthroplasty” a medication; 2 rows may mean"
    )
    assert "“total hip arthroplasty, treats, osteoarthritis”" in note


@pytest.mark.parametrize("name", bundled_names())
def test_no_bundled_treatment_is_called_one_of_another_kind(name: str) -> None:
    assert list(other_kind_notes(load_bundled(name).facts, POOL.canonical)) == []


# ------------------------------------------------------------------------------------------- any table

ENDS = st.sampled_from(["gout", "asthma", "one", "two", "three", "Ännchen"])
ROWS = st.lists(
    st.tuples(
        ENDS, st.sampled_from(["treats", "therapeutic drugs", "treatedBy", "is a symptom of", "symptoms"]), ENDS, st.booleans()
    ),
    min_size=1,
    max_size=12,
)


@given(ROWS)
def test_a_turned_table_says_each_thing_once_and_nothing_both_ways(rows: list[tuple[str, str, str, bool]]) -> None:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        lines = [(*row[:3], str(row[3]).lower()) for row in rows] + [("a drug", "treats", "a condition", "true")]
        _, collection = read(Path(folder), lines, LABELLED)
    said = [
        ((name_key(f.head), POOL.canonical(f.relation), name_key(f.tail or "")), f.positive, f.turned_from is not None)
        for f in collection.facts
    ]
    turned = {triplet for triplet, _, is_turned in said if is_turned}
    assert all(sum(triplet == one for triplet, _, _ in said) == 1 for one in turned)
    assert all(POOL.inverse_of(fact.relation) is None for fact in (*collection.facts, *collection.known.facts))
    stated = {(row[0], row[2]) for row in rows if row[3]}
    for head, tail in stated:  # what the file calls true stays known, whichever end it is said from
        contradicted = any({head, tail} == {row[0], row[2]} and not row[3] for row in rows)
        assert contradicted or collection.known.entity(tail) in collection.known.linked(head)


# ------------------------------------------------------------------------------------------- programs


def test_programs_that_say_treats_are_understood() -> None:
    nobody: Any = None  # a fact of one's own needs neither services nor a caller
    fact = {"head": "allopurinol", "relation": "treats", "tail": "gout"}
    rows = knowing.statements(nobody, nobody, **fact)
    assert rows[0]["statement"] == "Allopurinol is a medication used to treat gout."
    assert sum(row["label"] for row in rows) == 4
    assert knowing.check_statement(nobody, nobody, **fact)["holds"] is True
    assert knowing.check_statement(nobody, nobody, **{**fact, "relation": "associated with"})["holds"] is None


# ------------------------------------------------------------------------------------------- the documents

_ROW = re.compile(r"^\| `([^`|]+)` \|[^|]+\|([^|]*)\|([^|]*)\|$", re.MULTILINE)


def test_the_documents_list_all_relations_and_names_that_are_read_so() -> None:
    text = (Path(__file__).parents[2] / "docs" / "files.md").read_text(encoding="utf-8")
    listed = _ROW.findall(text.partition("### Relations")[2].partition("### The size")[0])
    assert sorted(relation for relation, _, _ in listed) == sorted(POOL.relations)
    for relation, aliases, inverses in listed:
        assert {POOL.canonical(name) for name in filter(None, aliases.strip().split(", "))} <= {relation}, aliases
        assert {POOL.inverse_of(name) for name in filter(None, inverses.strip().split(", "))} <= {relation}, inverses
