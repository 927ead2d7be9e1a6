"""Prototype pools: the papers' word for word, the project's own by its rules, and what a broken one is told."""

import csv
import io
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from medfact.datasets.text import read_yaml
from medfact.errors import PoolError
from medfact.facts import Fact
from medfact.prototypes import fill_slots, load_pool, pool_names
from medfact.prototypes.pool_files import read_pool
from medfact.statements import IMPLICATIONS

RELATIONS = ["symptoms", "affected sites", "therapeutic drugs", "surgical procedures"]

TABLE_12 = {
    "none": [
        "[Y] is a common symptom of [X].",
        "[Y] is the affected site for [X].",
        "[Y] is a common medication for [X].",
        "[Y] is a common procedure for [X].",
    ],
    "inv": [
        "Common symptoms of [X] include [Y].",
        "Affected sites for [X] include [Y].",
        "Common medications for treating [X] include [Y].",
        "Common procedures for treating [X] include [Y].",
    ],
    "ins": [
        "If a patient has [X], they are very likely to have symptoms of [Y].",
        "If a patient has [X], their [Y] site is very likely to show lesions.",
        "If a patient has [X], [Y] can be used to treat their condition.",
        "If a patient has [X], [Y] can be used to treat their condition.",
    ],
    "inv+ins": [
        "If a patient has symptoms of [Y], they are very likely to have [X].",
        "If a patient shows lesions in their [Y] site, they are very likely to have [X].",
        "If [Y] can be used to treat a patient’s condition, they may have [X].",
        "If [Y] can be used to treat a patient’s condition, they may have [X].",
    ],
    "dn": [
        "[Y] is not a common symptom of [X].",
        "[Y] is not the affected site for [X].",
        "[Y] is not a common medication for [X].",
        "[Y] is not a common procedure for [X].",
    ],
    "inv+dn": [
        "Common symptoms of [X] do not include [Y].",
        "Affected sites for [X] do not include [Y].",
        "Common medications for treating [X] do not include [Y].",
        "Common procedures for treating [X] do not include [Y].",
    ],
    "ins+dn": [
        "Patients with [X] are unlikely to have symptoms of [Y].",
        "Patients with [X] are unlikely to show lesions in their [Y] site.",
        "Patients with [X] do not commonly use [Y] for treatment.",
        "Patients with [X] do not commonly use [Y] for treatment.",
    ],
    "inv+ins+dn": [
        "Patients with symptoms of [Y] are unlikely to have [X].",
        "Patients showing lesions in their [Y] site are unlikely to have [X].",
        "Patients who can be treated with [Y] are unlikely to have [X].",
        "Patients who can be treated with [Y] are unlikely to have [X].",
    ],
}
"""PretextTrans, Table 12, as printed; its last row, headed "Inv+DN" a second time, under the name of its structure."""


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("variant", TABLE_12)
def test_the_papers_pool_is_word_for_word(relation: str, variant: str) -> None:
    pool = load_pool("pretexttrans-disek")
    assert pool.relations[relation].sentences[variant] == TABLE_12[variant][RELATIONS.index(relation)]


def test_the_papers_pool_has_nothing_else_and_says_what_is_wrong_with_it() -> None:
    pool = load_pool("pretexttrans-disek")
    assert list(pool.relations) == RELATIONS
    assert pool.forms == tuple(IMPLICATIONS)
    assert pool.verbatim
    assert "Table 12" in pool.source
    for relation in pool.relations.values():
        assert set(relation.sentences) == set(TABLE_12)
        assert relation.strengths == {}
        assert relation.defects


# ------------------------------------------------------------------------- the project's own


DECIDING = [
    "contraindicated in", "must not be combined with", "contraindicated vaccines", "adverse effects", "caused by",
    "diagnosed by", "risk factors",
    "first choice for", "drugs used in pregnancy",
]  # fmt: skip


def test_the_projects_own_pool_has_the_published_relations_and_forms_and_its_operators() -> None:
    pool = load_pool("medfact")
    published = [*RELATIONS, *load_pool("pretexttrans-medlama").relations]
    assert list(pool.relations) == [*(relation for relation in published if relation != "occurs after"), *DECIDING]
    assert set(pool.withheld) == {"occurs after", "occurs_after"}
    assert pool.forms == tuple(IMPLICATIONS)
    assert not pool.verbatim
    assert pool.operators


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_fact_says_common_only_where_its_strength_does(relation: str) -> None:
    prototypes = load_pool("medfact").relations[relation]
    for strength in (None, "a", "anything else"):
        plain = prototypes.sentences_for(Fact("x", relation, "y", strength=strength))
        assert not any("common" in sentence.lower() for sentence in plain.values())
    common = prototypes.sentences_for(Fact("x", relation, "y", strength="a common"))
    assert all("common" in sentence.lower() for sentence in common.values())


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_denied_sentence_has_the_words_of_its_affirmed_one_and_a_negation(relation: str) -> None:
    prototypes = load_pool("medfact").relations[relation]
    for sentences in (prototypes.sentences, *prototypes.strengths.values()):
        for variant in IMPLICATIONS.values():
            if variant.negated:
                affirmed, denied = (sentences[key].replace("cannot", "can not").split() for key in (variant.form, variant.key))
                assert "not" in denied
                assert "not" not in affirmed
                added = [word for word in denied if word not in affirmed]
                assert set(added) <= {"not", "do", "does", "affect", "have", "undergo"}


@pytest.mark.parametrize("name", ["symptoms", "Symptom", "has_symptom", "HAS SYMPTOM", "disease-has-symptom"])
def test_relations_are_found_by_their_aliases_in_any_case(name: str) -> None:
    for pool in ("medfact", "pretexttrans-disek"):
        assert load_pool(pool).canonical(name) == "symptoms"
        assert load_pool(pool).canonical("causes") is None


def test_no_alias_belongs_to_two_relations() -> None:
    for name in pool_names():
        relations = load_pool(name).relations.values()
        names = [alias.lower() for relation in relations for alias in {relation.name, *relation.aliases}]
        assert len(names) == len(set(names))


# ------------------------------------------------------------------------- slots


@pytest.mark.parametrize(
    ("head", "tail", "expected"),
    [
        ("gout", "pain", "gout has pain in it."),
        ("[Y]", "[X]", "[Y] has [X] in it."),
        ("[X] with [Y]", "pain", "[X] with [Y] has pain in it."),
        ("${alert(1)}", "<img src=x onerror=alert(1)>", "${alert(1)} has <img src=x onerror=alert(1)> in it."),
        (r"\1 \g<0>", "{tail}", r"\1 \g<0> has {tail} in it."),
    ],
)
def test_slots_are_filled_in_one_pass(head: str, tail: str, expected: str) -> None:
    assert fill_slots("[X] has [Y] in it.", head, tail) == expected


# ------------------------------------------------------------------------- broken pools

SMALL = {
    "name": "small",
    "forms": ["none", "dn"],
    "operators": [[" is ", " is not "]],
    "relations": {
        "symptoms": {"aliases": ["sign"], "sentences": {"none": "[Y] is a sign of [X].", "dn": "[Y] is not a sign of [X]."}}
    },
}


def pool_file(folder: Path, record: object) -> Path:
    path = folder / "small.yaml"
    path.write_text(record if isinstance(record, str) else yaml.safe_dump(record, allow_unicode=True), encoding="utf-8")
    return path


def with_sentences(**sentences: object) -> dict[str, object]:
    relation = {"sentences": {**SMALL["relations"]["symptoms"]["sentences"], **sentences}}
    return {**SMALL, "relations": {"symptoms": relation}}


def test_a_pool_of_ones_own_is_read_from_its_file(tmp_path: Path) -> None:
    pool = load_pool(str(pool_file(tmp_path, SMALL)))
    assert (pool.name, pool.forms, pool.canonical("Sign")) == ("small", ("none", "dn"), "symptoms")
    texts = [statement.text for statement in pool.statements([Fact("gout", "sign", "pain")])]
    assert texts == ["pain is a sign of gout.", "pain is not a sign of gout."]


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (with_sentences(none=None), ["symptoms", "'none'", "missing"]),
        (with_sentences(dn="  "), ["symptoms", "'dn'", "missing"]),
        (with_sentences(none="[Y] is a sign."), ["symptoms", "'none'", "[X] occurs 0 times"]),
        (with_sentences(dn="[Y] is not a sign of [X] or [X]."), ["symptoms", "'dn'", "[X] occurs 2 times"]),
        (with_sentences(inv="[X] has [Y]."), ["symptoms", "'inv'", "not among"]),
        (with_sentences(dn="[Y] is not a real sign of [X]."), ["symptoms", "'dn'", "more than the negation"]),
        (with_sentences(dn="[Y] is a sign of [X]."), ["symptoms", "'dn'", "says the same as the form 'none'"]),
        ({**SMALL, "forms": ["none", "denied"]}, ["'denied'", "not known"]),
        ({**SMALL, "forms": []}, ["not known"]),
        ({**SMALL, "relations": {"symptoms": "a sentence"}}, ["symptoms", "no sentences"]),
        ({**SMALL, "relations": None}, ["no relations"]),
        ("just text", ["no relations"]),
        ("name: [small\nforms: x", ["YAML"]),
        ({**SMALL, "operators": [" is "]}, ["operators"]),
        ({**SMALL, "operators": 5}, ["operators"]),
        ({**SMALL, "forms": 5}, ["form"]),
        ({**SMALL, "relations": {"symptoms": {**SMALL["relations"]["symptoms"], "strengths": ["a common"]}}}, ["symptoms"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_broken_pool_is_refused_with_file_relation_and_form(record: object, words: list[str], tmp_path: Path) -> None:
    with pytest.raises(PoolError) as refused:
        read_pool(pool_file(tmp_path, record))
    line = str(refused.value)
    assert line.startswith("small.yaml")
    assert "\n" not in line
    for word in words:
        assert word in line


def test_broken_yaml_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(PoolError, match=r"small\.yaml, line 2"):
        read_pool(pool_file(tmp_path, "name: small\nforms: @none\nrelations: {}\n"))


PUBLISHED = list(
    csv.DictReader(io.StringIO((Path(__file__).parents[1] / "data" / "published_prototypes.csv").read_text(encoding="utf-8")))
)
"""PretextTrans, Tables 10 and 11, and TPEval, Table 4, as printed; in TPEval A is the entity and B the disease."""

SWAPPED = ("occurs after", "inv+ins+dn")
"""Printed with X and Y exchanged (Table 11); the authors' own file has them right."""


def test_all_published_prototypes_are_here() -> None:
    counts = Counter(row["table"] for row in PUBLISHED)
    assert counts == {"Table 10": 17 * 4, "Table 11": 17 * 4, "Table 4": 4 * 8}


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: f"{row['paper']}-{row['relation']}-{row['variant']}")
def test_every_published_prototype_is_word_for_word(row: dict[str, str]) -> None:
    """White space before a full stop and the two misprints that are told in the pools' files aside."""
    printed = row["sentence"].replace(" .", ".")
    if row["paper"] == "TPEval":
        slots = {"A'": "[Y]", "A": "[Y]", "B": "[X]"}
        printed = re.sub(r"\b(?:A'|A|B)(?!\w)", lambda slot: slots[slot.group()], printed)
    if (row["relation"], row["variant"]) == SWAPPED:
        printed = "A patient occurs [Y] will not occur [X] afterwards."
    pool = load_pool("tpeval" if row["paper"] == "TPEval" else "pretexttrans-medlama")
    assert pool.relations[row["relation"]].sentences[row["variant"]].replace(" .", ".") == printed


@pytest.mark.parametrize("name", ["pretexttrans-medlama", "pretexttrans-disek", "tpeval"])
def test_the_papers_pools_note_their_defects(name: str) -> None:
    pool = load_pool(name)
    assert pool.verbatim
    assert pool.notes
    assert any(relation.defects for relation in pool.relations.values())
    if name != "pretexttrans-disek":
        noted = " ".join([*pool.notes, *(defect for r in pool.relations.values() for defect in r.defects)])
        assert "misprint" in noted or "printed" in noted


def test_no_and_on_are_words_in_a_pool_and_true_and_false_are_not() -> None:
    assert read_yaml("{no: on, a: [yes, off, Y], b: [true, False]}") == {
        "no": "on",
        "a": ["yes", "off", "Y"],
        "b": [True, False],
    }
