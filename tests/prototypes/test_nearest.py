"""Relations without sentences: the known ones that they may mean, and sentences to begin from. Worked by hand."""

from __future__ import annotations

import pytest

from medfact.facts import Fact
from medfact.prototypes import load_pool
from medfact.prototypes.nearest import best_candidates, entity_kind, generic_sentences, relation_hint, suggest_relations
from medfact.reviews.studio import EditedRelation, problems, with_denials

POOL = load_pool("medfact")
FORMS = ("none", "inv", "ins", "inv+ins")

MEANT = [
    ("typical sign", [("Measles", "Koplik spots"), ("Parkinson disease", "resting tremor")], "symptoms"),
    ("worsened by", [("asthma", "aspirin"), ("myasthenia gravis", "beta blockers")], "has contraindicated drug"),
    ("monitored with", [("phaeochromocytoma", "plasma metanephrines")], "diagnosed by"),
    ("treatment", [("gout", "allopurinol"), ("migraine", "sumatriptan")], "therapeutic drugs"),
    ("cures", [("febuxostat", "gout")], "treats"),
    ("pathogen of disease", [("cholera", "Vibrio cholerae")], "caused by"),
    ("wichtige Nebenwirkung", [("Metformin", "Durchfall")], "adverse effects"),
    ("典型症状", [("麻疹", "斑疹")], "symptoms"),
]


@pytest.mark.parametrize(("relation", "pairs", "meant"), MEANT, ids=[one[0] for one in MEANT])
def test_the_likeliest_meaning_comes_first(relation: str, pairs: list[tuple[str, str]], meant: str) -> None:
    readings = best_candidates(suggest_relations(POOL, [Fact(head, relation, tail) for head, tail in pairs]))
    assert readings[0].name == meant
    assert len({reading.relation for reading in readings}) == len(readings) <= 3


def test_nothing_is_guessed_where_nothing_speaks_for_it() -> None:
    readings = suggest_relations(POOL, [Fact("qqa", "zzz", "qqb")])
    assert best_candidates(readings) == []
    assert len(readings) == len(POOL.relations) + sum(bool(one.inverse) for one in POOL.relations.values()), "the list is whole"


@pytest.mark.parametrize(
    ("type_label", "kind"),
    [("Diseases", "condition"), ("Neoplastic  Process", "condition"), ("body part", "site"), ("process", ""), ("", "")],
)
def test_kinds_of_entity_types_match_whole_terms(type_label: str, kind: str) -> None:
    assert entity_kind(type_label) == kind


BEGUN = [
    (
        "typical sign",
        "Measles",
        "Koplik spots",
        [
            "Koplik spots are not a typical sign of Measles.",
            "Measles does not have Koplik spots as a typical sign.",
            "In patients with Measles, Koplik spots are not a typical sign of the condition.",
            "Measles is not one of the conditions of which Koplik spots are a typical sign in patients.",
        ],
    ),
    (
        "worsened by",
        "asthma",
        "aspirin",
        [
            "Asthma is not worsened by aspirin.",
            "Aspirin is not one of the things that asthma is worsened by.",
            "In patients with asthma, the condition is not worsened by aspirin.",
            "Aspirin is not one of the things that asthma is worsened by in patients.",
        ],
    ),
    (
        "complication of",
        "peritonitis",
        "appendicitis",
        [
            "Peritonitis is not a complication of appendicitis.",
            "Appendicitis does not have peritonitis as a complication.",
            "In patients with appendicitis, peritonitis is not a complication of the condition.",
            "Appendicitis is not one of the conditions of which peritonitis is a complication in patients.",
        ],
    ),
]


@pytest.mark.parametrize(("relation", "head", "tail", "denied"), BEGUN, ids=[one[0] for one in BEGUN])
def test_four_sentences_with_its_words_become_eight_that_break_no_rule(
    relation: str, head: str, tail: str, denied: list[str]
) -> None:
    from medfact.prototypes.grammar import render_sentence

    eight = with_denials(POOL, dict(zip(FORMS, generic_sentences(relation), strict=True)))
    assert problems(POOL, EditedRelation(relation, {}, eight)) == {}
    assert [render_sentence(eight[form], head, tail) for form in ("dn", "inv+dn", "ins+dn", "inv+ins+dn")] == denied


def test_what_stands_before_the_verb_is_never_denied() -> None:
    told = {"none": "In patients who have [X], [Y] is a clue.", "inv": "[X] goes with [Y]."}
    eight = with_denials(POOL, told)
    assert (eight["dn"], eight["inv+dn"]) == ("In patients who have [X], [Y] {is|are} not a clue.", "")


def test_the_command_line_is_told_the_three_likeliest() -> None:
    hint = relation_hint(POOL, [Fact("Measles", "typical sign", "Koplik spots")])
    assert hint.startswith("If “typical sign” means symptoms, ")
    assert '--column "relation:typical sign==symptoms"' in hint
