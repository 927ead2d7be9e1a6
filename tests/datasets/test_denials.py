"""Rows that say that something is not so: none becomes a true fact without a word, whatever the column and its words are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from small_facts import write_csv

from medfact.datasets import Collection, load_file
from medfact.errors import FactsError

TRUE = [("asthma", "wheezing"), ("gout", "joint pain"), ("influenza", "fever")]
DENIED = ("measles", "goiter")


def table(path: Path, column: str, holds: object, denied: object) -> Path:
    """Three facts that hold and one that the column denies."""
    values = [*((*pair, holds) for pair in TRUE), (*DENIED, denied)]
    rows = [{"head": head, "relation": "symptoms", "tail": tail, column: value} for head, tail, value in values]
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path
    return write_csv(path, rows)


def said_of(collection: Collection) -> bool | None:
    """Whether what is denied is true or false, None where it is left out."""
    return next((fact.positive for fact in collection.facts if (fact.head, fact.tail) == DENIED), None)


FALSE_FACTS: list[tuple[str, object, object]] = [
    ("is_negated", "0", "1"), ("negation", "", "negated"), ("Absent", "no", "yes"), ("not", "", "NOT"),
    ("ruled_out", "FALSE", "TRUE"), ("excluded", "f", "t"), ("qualifier", "", "NOT|involved_in"),
    ("polarity", "positive", "negative"),
    ("presence", "present", "absent"), ("frequency", "HP:0040281", "HP:0040285"), ("Frequency", "3/12", "0/12"),
    ("prevalence", "45 %", "0 %"), ("Häufigkeit", "häufig", "nie"), ("verneint", "nein", "ja"), ("negado", "no", "sí"),
    ("négation", "non", "oui"), ("否定", "否", "是"), ("negated", False, True),
]  # fmt: skip
LEFT_OUT: list[tuple[str, object, object]] = [
    ("active", "1", "0"), ("invalid_reason", "", "D"), ("SUPPRESS", "N", "O"), ("deprecated", "false", "true"),
    ("rank", "normal", "deprecated"),
    ("status", "approved", "refused"), ("concept_status", "current", "obsolete"), ("answer", "accept", "ignore"),
    ("decision", "yes", "no"),
    ("superseded_by", "", "C123"), ("Entscheidung", "angenommen", "abgelehnt"), ("estado", "aprobado", "rechazado"),
    ("statut", "validé", "rejeté"), ("状态", "接受", "拒绝"), ("approved", True, False), ("rejected", "no", "yes"),
]  # fmt: skip
REFUSED: list[tuple[str, object, object]] = [
    ("expert_label", "1", "0"), ("gold standard", "Y", "N"), ("is_factual", "true", "false"),
    ("opinion", "supported", "refuted"),
    ("stance", "supports", "contradicts"), ("contains_negation", "False", "True"), ("negated", "a", "b"),
    ("richtig", "WAHR", "FALSCH"),
    ("gold", 1.0, 0.0),
]  # fmt: skip
NOTED: list[tuple[str, object, object]] = [
    ("common", "yes", "no"), ("remark", "see p. 3", "excluded"), ("outcome_of_test", "positive", "negative"),
    ("score", "0.9", "0.0"),
    ("label", "A", "not supported"), ("lifecycle", "stable", "retired"),
]  # fmt: skip


OUTCOMES: list[tuple[list[tuple[str, object, object]], bool | None, str]] = [
    (FALSE_FACTS, False, "in 1 row: this is a false fact"),
    (LEFT_OUT, None, "in 1 row, left out"),
    (NOTED, True, "not used"),
]


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
@pytest.mark.parametrize(
    ("column", "holds", "denied", "said", "words"),
    [(*column, said, words) for columns, said, words in OUTCOMES for column in columns],
)
def test_a_column_that_may_deny_is_read_or_noted(
    ending: str, column: str, holds: object, denied: object, said: bool | None, words: str, tmp_path: Path
) -> None:
    path = table(tmp_path / f"facts{ending}", column, holds, denied)
    collection = load_file(path)
    assert said_of(collection) is said
    assert [fact.positive for fact in collection.facts] == [True, True, True, *[said] * (said is not None)]
    (note,) = collection.notes
    assert f"the column {column!r}" in note
    assert words in note
    assert said is not None or said_of(load_file(path, {"positive": "=true"})) is True, "the person says that all are true"


@pytest.mark.parametrize(("column", "holds", "denied"), REFUSED)
def test_a_column_that_may_deny_is_not_passed_over(column: str, holds: object, denied: object, tmp_path: Path) -> None:
    path = table(tmp_path / "facts.csv", column, holds, denied)
    with pytest.raises(FactsError, match=f"column '{column}' .* is not read") as refused:
        load_file(path)
    assert repr(str(denied)) in str(refused.value)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("sex", ["M", "F", "M", "F"]), ("page", ["1", "0", "3", "12"]), ("x_type", ["disease", "disease", "drug", "gene"]),
        ("notes", ["a", "b", "c", "d"]), ("aspect", ["P", "P", "C", "I"]), ("frequency", ["1/12", "50%", "HP:0040283", "rare"]),
        ("active", ["1", "1", "1", "1"]), ("status", ["approved", "approved", "final", ""]),
        ("negated", ["0", "", "false", "no"]),
        ("No", ["1", "2", "3", "4"]), ("rank", ["0", "1", "2", "3"]), ("valid_from", ["2001", "2002", "2003", "2004"]),
    ],
)  # fmt: skip
def test_columns_that_deny_nothing_are_passed_over_in_silence(column: str, values: list[str], tmp_path: Path) -> None:
    pairs = [*TRUE, DENIED]
    rows = [{"head": h, "relation": "symptoms", "tail": t, column: v} for (h, t), v in zip(pairs, values, strict=True)]
    collection = load_file(write_csv(tmp_path / "facts.csv", rows))
    assert [fact.positive for fact in collection.facts] == [True] * 4
    assert (collection.notes, collection.problems) == ((), ())


def test_a_decision_is_read_as_the_person_says(tmp_path: Path) -> None:
    path = table(tmp_path / "facts.csv", "status", "accepted", "rejected")
    assert said_of(load_file(path, {"positive": "status"})) is False


def test_a_denial_is_not_taken_for_the_truth(tmp_path: Path) -> None:
    path = table(tmp_path / "facts.csv", "negated", "False", "True")
    with pytest.raises(FactsError, match="'negated' denies facts"):
        load_file(path, {"positive": "negated"})


def test_positive_and_a_denial_that_contradict_are_told(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"head": "asthma", "relation": "symptoms", "tail": "wheezing", "positive": "true", "negated": "no"},
        {"head": "measles", "relation": "symptoms", "tail": "goiter", "positive": "true", "negated": "yes"},
        {"head": "gout", "relation": "symptoms", "tail": "goiter", "positive": "false", "negated": "yes"},
    ]
    collection = load_file(write_csv(tmp_path / "facts.csv", rows))
    assert [(fact.head, fact.positive) for fact in collection.facts] == [("asthma", True), ("gout", False)]
    assert [problem.row for problem in collection.problems] == [3]


@pytest.mark.parametrize("relation", ["-symptoms", "−symptoms", "¬symptoms", "!symptoms"])
def test_a_relation_with_the_sign_of_a_denial_is_told(relation: str, tmp_path: Path) -> None:
    rows = [{"head": head, "relation": name, "tail": "fever"} for head, name in (("flu", "symptoms"), ("gout", relation))]
    collection = load_file(write_csv(tmp_path / "facts.csv", rows))
    assert [fact.head for fact in collection.facts] == ["flu"]
    assert collection.problems[0].message.startswith(f"the relation {relation!r} may deny")
