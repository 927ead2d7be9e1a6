"""MKJ as published: ready statements, plain triplets, semantic types, sentences; in JSON and in Arrow."""

import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from medfact.datasets.collection import Collection
from medfact.datasets.mkj import LICENCE, is_mkj, load_mkj, read_templates
from medfact.errors import FactsError

SENTENCE = "The {} may be used to treat {}."
ONE = ("Gout", "may be treated by", "colchicine", ["zolmitriptan", "Orf virus <b>", "[X] {subject} 5 mg"])


def entry(
    head: str, relation: str, tail: str, others: list[str], types: tuple[str, ...] = ("Organic Chemical",)
) -> dict[str, Any]:
    return {
        "original_triplet": {"subject": head, "predicate": relation, "object": tail},
        "semantic_type": list(types),
        "pos_qa": {"statement": SENTENCE.format(tail, head), "answer": True},
        "neg_qa": {"statement": [SENTENCE.format(other, head) for other in others], "answer": False},
    }


def triplet(head: str, relation: str, tail: str) -> dict[str, Any]:
    return {"text": "…", "triplet": {"subject": head, "predicate": relation, "object": tail}}


def hundred() -> list[dict[str, Any]]:
    return [entry(f"Disease {i}", "may be treated by", f"drug-{i}a", [f"metal-{i}{c}" for c in "bcd"]) for i in range(100)]


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=4), encoding="utf-8")
    return path


def write_arrow(folder: Path, entries: list[dict[str, Any]]) -> Path:
    folder.mkdir(parents=True)
    table = pyarrow.Table.from_pylist(entries)
    with pyarrow.ipc.new_stream(folder / "data-00000-of-00001.arrow", table.schema) as stream:
        stream.write_table(table, max_chunksize=30)
    write(folder / "dataset_info.json", {"features": {}})
    write(folder / "state.json", {"_data_files": [{"filename": "data-00000-of-00001.arrow"}]})
    return folder


def triplets(collection: Collection) -> list[tuple[str, str, str | None]]:
    return [(fact.head, fact.relation, fact.tail) for fact in collection.facts]


def one(path: Path, **changes: Any) -> Collection:
    """A collection of two entries, of which the second is changed."""
    return load_mkj(
        write(path / "data.json", [entry(*ONE), {**entry("Pain", "may be treated by", "aspirin", list("abc")), **changes}])
    )


def test_a_fact_has_its_ready_statement_and_three_negatives_with_theirs(tmp_path: Path) -> None:
    collection = load_mkj(write(tmp_path / "data.json", [entry(*ONE, types=("Organic Chemical", "Hormone"))]))
    positive, *negatives = collection.facts
    assert (positive.head, positive.relation, positive.tail) == ("Gout", "may be treated by", "colchicine")
    assert (positive.tail_type, positive.source) == ("Organic Chemical; Hormone", "MKJ (UMLS)")
    assert collection.ready[positive.fact_id] == "The colchicine may be used to treat Gout."
    assert [(n.tail, collection.ready[n.fact_id], n.positive, n.negative_of, n.k) for n in negatives] == [
        ("zolmitriptan", "The zolmitriptan may be used to treat Gout.", False, positive.fact_id, 1),
        ("Orf virus <b>", "The Orf virus <b> may be used to treat Gout.", False, positive.fact_id, 2),
        ("[X] {subject} 5 mg", "The [X] {subject} 5 mg may be used to treat Gout.", False, positive.fact_id, 3),
    ]
    assert [n.fact_id for n in negatives] == [positive.negative("", None, k).fact_id for k in (1, 2, 3)]
    assert collection.known.facts == (positive,)
    assert (collection.name, collection.problems, collection.notes) == ("data.json", (), (LICENCE,))


def test_a_hundred_entries_give_a_hundred_facts_with_three_negatives_each(tmp_path: Path) -> None:
    collection = load_mkj(write(tmp_path / "data.json", hundred()))
    assert [fact.positive for fact in collection.facts] == [True, False, False, False] * 100
    assert len({fact.fact_id for fact in collection.facts}) == 400
    assert all(collection.ready[fact.fact_id] and fact.tail for fact in collection.facts)
    assert len(collection.known.facts) == 100
    assert collection.problems == ()


@pytest.mark.parametrize("split", ["", "train"])
def test_arrow_gives_the_same_facts(split: str, tmp_path: Path) -> None:
    folder = write_arrow(tmp_path / "hf_dataset" / split, hundred())
    if split:
        write(tmp_path / "hf_dataset" / "dataset_dict.json", {"splits": [split]})
    expected = load_mkj(write(tmp_path / "data.json", hundred())).facts
    for path in (tmp_path / "hf_dataset", folder / "data-00000-of-00001.arrow"):
        assert is_mkj(path)
        assert load_mkj(path).facts == expected


def test_the_published_folders_are_read_together(tmp_path: Path) -> None:
    write(tmp_path / "data" / "data.json", hundred())
    write_arrow(tmp_path / "data" / "hf_dataset", hundred())
    write(tmp_path / "data_generation" / "triplets_collection.json", [triplet("Disease 1", "may be treated by", "drug-1a")])
    collection = load_mkj(tmp_path)
    assert is_mkj(tmp_path)
    assert len(collection.facts) == 400
    assert len(collection.known.facts) == 100
    assert collection.problems == ()
    assert any("repeats 100 entries" in note for note in collection.notes)


def test_triplets_alone_are_plain_facts_each_once(tmp_path: Path) -> None:
    many = [triplet(f"Drug {i % 5}", "may treat", "Gout") for i in range(12)] + [triplet("  Drug   0 ", "may treat", "Gout\n")]
    collection = load_mkj(write(tmp_path / "triplets_collection.json", many))
    assert triplets(collection) == [(f"Drug {i}", "may treat", "Gout") for i in range(5)]
    assert collection.ready == {}
    assert collection.known.facts == collection.facts
    note = "triplets_collection.json: 13 triplets, 5 of them different; repeats are counted once."
    assert collection.notes == (LICENCE, note)


def test_all_triplets_are_known_beside_the_statements(tmp_path: Path) -> None:
    write(tmp_path / "data.json", [entry(*ONE)])
    more = [triplet("Gout", "may be treated by", "colchicine"), triplet("Gout", "may be treated by", "febuxostat")]
    write(tmp_path / "triplets_collection.json", more)
    collection = load_mkj(tmp_path)
    assert [fact.tail for fact in collection.facts if fact.positive] == ["colchicine"]
    assert [fact.tail for fact in collection.known.facts] == ["colchicine", "febuxostat"]


def test_types_of_names_fill_what_has_none(tmp_path: Path) -> None:
    write(tmp_path / "data.json", [entry(*ONE), entry("Pain", "may be treated by", "Aspirin", list("abc"), types=())])
    write(tmp_path / "triplets_collection.json", [triplet("Fever", "r", "colchicine"), triplet("Fever", "r", "nothing known")])
    write(tmp_path / "semantic_to_entity.json", {"Drug": ["aspirin", "aspirin", "colchicine"], "Acid": ["aspirin"], "Bad": 3})
    collection = load_mkj(tmp_path)
    assert {(f.tail, f.tail_type) for f in collection.facts if f.positive} == {
        ("colchicine", "Organic Chemical"),
        ("Aspirin", "Drug; Acid"),
    }
    assert [f.tail_type for f in collection.known.facts if f.head == "Fever"] == ["Organic Chemical", None]
    (problem,) = collection.problems
    assert (problem.file, problem.row) == ("semantic_to_entity.json", 3)
    assert "'Bad'" in problem.message


@pytest.mark.parametrize(
    ("true", "tail", "false", "recovered"),
    [
        ("The aspirin helps in pain.", "aspirin", "The ibuprofen helps in pain.", "ibuprofen"),
        ("Aspirin helps in pain.", "ASPIRIN", "Ibuprofen helps in pain.", "Ibuprofen"),
        ("Pain is helped by aspirin", "aspirin", "PAIN is helped by a (b) c.", "a (b) c."),
        ("The virus causes virus infection.", "virus", "The mite causes virus infection.", None),
        (
            "The term Immune System is short for Immune Systems.",
            "immune system",
            "The term x is short for Immune Systems.",
            None,
        ),
        ("The aspirin helps in pain.", "paracetamol", "The ibuprofen helps in pain.", None),
        ("The aspirin helps in pain.", "aspirin", "The ibuprofen helps in fever.", None),
        ("The aspirin helps in pain.", "aspirin", "The  helps in pain.", None),
    ],
)
def test_a_negatives_tail_is_recovered_or_unknown(
    true: str, tail: str, false: str, recovered: str | None, tmp_path: Path
) -> None:
    given = {
        **entry("Head", "r", tail, []),
        "pos_qa": {"statement": true, "answer": "True"},
        "neg_qa": {"statement": [false] * 3, "answer": ["False", "false", False]},
    }
    collection = load_mkj(write(tmp_path / "data.json", [given]))
    _, *negatives = collection.facts
    assert [fact.tail for fact in negatives] == [recovered] * 3
    assert {collection.ready[fact.fact_id] for fact in negatives} == {" ".join(false.split())}


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"pos_qa": {"statement": "Yes.", "answer": False}}, "the answer of pos_qa must be True"),
        ({"pos_qa": {"statement": "Yes.", "answer": "perhaps"}}, "the answer of pos_qa must be True"),
        ({"pos_qa": {"statement": "Yes."}}, "the answer of pos_qa is missing"),
        ({"pos_qa": {"statement": " ", "answer": True}}, "a statement of pos_qa is missing"),
        ({"pos_qa": None}, "pos_qa is missing"),
        ({"neg_qa": {"statement": ["a", "b", "c"], "answer": "True"}}, "the answer of neg_qa must be False"),
        ({"neg_qa": {"statement": ["a", "b", "c"], "answer": [False, True, False]}}, "the answer of neg_qa must be False"),
        ({"neg_qa": {"statement": ["a", "b"], "answer": False}}, "neg_qa has 2 statements, not 3"),
        ({"neg_qa": {"statement": ["a", "b", None], "answer": False}}, "a statement of neg_qa is missing"),
        ({"original_triplet": {"subject": "Pain", "predicate": "r"}}, "the object is missing"),
        ({"original_triplet": {"subject": "x" * 1001, "predicate": "r", "object": "o"}}, "the subject is longer than 1000"),
        ({"original_triplet": {"subject": "\ud800", "predicate": "r", "object": "o"}}, "the subject holds characters"),
        ({"original_triplet": "Pain"}, "original_triplet is missing"),
        ({"semantic_type": [7]}, "a semantic type is missing"),
        (entry(*ONE), "it repeats an earlier entry"),
    ],
)
def test_an_entry_that_cannot_be_used_is_told_and_left_out(changes: dict[str, Any], what: str, tmp_path: Path) -> None:
    collection = one(tmp_path, **changes)
    assert {fact.head for fact in collection.facts} == {"Gout"}
    (problem,) = collection.problems
    assert (problem.file, problem.row) == ("data.json", 2)
    assert problem.message.startswith(what)


def test_entries_that_are_no_objects_are_told(tmp_path: Path) -> None:
    collection = load_mkj(write(tmp_path / "data.json", [entry(*ONE), None, "text", []]))
    assert [problem.row for problem in collection.problems] == [2, 3, 4]
    collection = load_mkj(write(tmp_path / "triplets_collection.json", [triplet("a", "r", "b"), 5, {"text": "x"}]))
    assert [problem.row for problem in collection.problems] == [2, 3]


def test_a_false_statement_equal_to_the_true_one_stays_and_is_told(tmp_path: Path) -> None:
    collection = one(tmp_path, **entry("Pain", "may be treated by", "aspirin", ["ibuprofen", "Aspirin", "mite"]))
    assert len(collection.facts) == 8
    (problem,) = collection.problems
    assert (problem.file, problem.row) == ("data.json", 2)
    assert "says the same as the true one" in problem.message


def test_templates_become_prototypes_and_odd_ones_problems(tmp_path: Path) -> None:
    path = write(
        tmp_path / "templates.json",
        {
            "may treat": " The {object} may be treated with  {subject}.",
            "process involves gene": "The process {predicate} involves the gene {object} in the context of {subject}.",
            "no slots": "Something is something.",
            "no object": "The {subject} is.",
            "empty": "",
            "nothing": None,
            "positional": "{} and {0} and {subject} of {object}",
            "open": "{subject of {object}",
            "twice": "{subject} and {subject} of {object}",
            "own slot": "[X] {subject} of {object}",
        },
    )
    prototypes, problems = read_templates(path)
    assert prototypes == {"may treat": "The [Y] may be treated with [X]."}
    assert [(problem.file, problem.row) for problem in problems] == [("templates.json", row) for row in range(2, 11)]
    said = [
        ("process involves gene", "holds {predicate}"),
        ("no slots", "lacks {subject} and {object}"),
        ("no object", "lacks {object}; put it in"),
        ("empty", "is missing; write one"),
        ("nothing", "is missing; write one"),
        ("positional", "holds {}"),
        ("open", "holds {"),
        ("twice", "holds {subject} more than once"),
        ("own slot", "holds [X]"),
    ]
    for problem, (predicate, what) in zip(problems, said, strict=True):
        assert problem.message.startswith(f"the sentence of the predicate {predicate!r} {what}")


def test_templates_are_checked_with_the_rest_and_against_the_predicates(tmp_path: Path) -> None:
    write(
        tmp_path / "triplets_collection.json",
        [triplet("a", "may treat", "b"), triplet("a", "ddx", "b"), triplet("c", "ddx", "d")],
    )
    write(tmp_path / "templates.json", {"may treat": "The {object}, {predicate}, {subject}."})
    first, second = load_mkj(tmp_path).problems
    assert (first.file, first.row) == ("templates.json", 1)
    assert (second.file, second.row) == ("triplets_collection.json", 2)
    assert "'ddx' has no sentence" in second.message


@pytest.mark.parametrize("name", ["data.json", "triplets_collection.json", "semantic_to_entity.json", "templates.json"])
def test_broken_json_names_file_and_line(name: str, tmp_path: Path) -> None:
    write(tmp_path / "triplets_collection.json", [triplet("a", "r", "b")])
    (tmp_path / name).write_text('[\n  {"a": 1},\n  {"a" 2}\n]', encoding="utf-8")
    assert is_mkj(tmp_path / name)
    for path in (tmp_path, tmp_path / name):
        with pytest.raises(FactsError, match=f"{name}, line 3"):
            load_mkj(path)


@pytest.mark.parametrize("text", ["[" * 200_000, f"[{'9' * 5_000}]", '{"a": 1}', ""])
def test_other_broken_files_are_mistakes_not_crashes(text: str, tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FactsError, match=r"data\.json, .*line 1"):
        load_mkj(path)


def test_a_damaged_arrow_file_is_a_mistake(tmp_path: Path) -> None:
    path = write_arrow(tmp_path / "hf_dataset", hundred()) / "data-00000-of-00001.arrow"
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(FactsError, match="damaged"):
        load_mkj(path.parent)


def test_files_without_facts_and_missing_ones_are_mistakes(tmp_path: Path) -> None:
    for name, content in (("templates.json", {"r": "{subject} {object}"}), ("semantic_to_entity.json", {"T": ["a"]})):
        assert is_mkj(write(tmp_path / name, content))
        with pytest.raises(FactsError, match="no usable true fact"):
            load_mkj(tmp_path / name)
    with pytest.raises(FactsError, match="no usable true fact"):
        load_mkj(write(tmp_path / "data.json", [{**entry(*ONE), "pos_qa": None}]))
    with pytest.raises(FactsError, match="There is no"):
        load_mkj(tmp_path / "nowhere")


def test_a_lone_file_is_known_by_its_shape(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.json", [entry(*ONE)])
    assert is_mkj(path)
    assert len(load_mkj(path).facts) == 4
    assert is_mkj(write(tmp_path / "list.json", [triplet("a", "r", "b")]))
    assert load_mkj(tmp_path / "list.json").facts[0].tail == "b"


@pytest.mark.parametrize("content", [[], {}, [1], [{"head": "a"}], {"a": ["b"]}, {"a": "b"}, "text", None])
def test_other_json_is_not_mkj(content: Any, tmp_path: Path) -> None:
    assert not is_mkj(write(tmp_path / "other.json", content))
    assert not is_mkj(write(tmp_path / "data.json", content))
    assert not is_mkj(tmp_path)


def test_other_arrow_data_tables_and_missing_paths_are_not_mkj(tmp_path: Path) -> None:
    write_arrow(tmp_path / "other", [{"head": "a", "relation": "r", "tail": "b"}])
    (tmp_path / "facts.csv").write_text("head,relation,tail\na,r,b\n", encoding="utf-8")
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    paths = (tmp_path, tmp_path / "other", tmp_path / "facts.csv", tmp_path / "broken.json", tmp_path / "nowhere.json")
    assert [is_mkj(path) for path in paths] == [False] * 5
