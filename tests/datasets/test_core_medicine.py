"""core-medicine: card and files agree, its conditions are not clinical-core's, and no false partner may be true."""

from collections import Counter
from functools import partial

import pytest
from bundled_sets import load_card, load_rows

from medfact.datasets import load_bundled
from medfact.datasets.bundled import FOLDER
from medfact.facts import name_key

NAME = "core-medicine"
rows = partial(load_rows, NAME)
NEVER_FALSE = """
    priapism: exchange transfusion | social anxiety disorder: nausea, syncope | schistosomiasis: seizures, heart |
    burns: hydroxocobalamin, endotracheal intubation | acute limb ischemia: sodium bicarbonate |
    bulimia nervosa: Chvostek sign |
    febrile neutropenia: filgrastim, vancomycin | complete heart block: prednisone, atropine |
    minimal change disease: trimethoprim-sulfamethoxazole | gestational diabetes mellitus: nausea, fatigue |
    marasmus: weight gain |
    acute mountain sickness: nifedipine, oxygen | hypernatremia: furosemide | sigmoid volvulus: bowel resection |
    status asthmaticus: prednisone, epinephrine | low back pain: morphine, amoxicillin | measles: amoxicillin, diarrhea
"""
"""Conditions with tails that are true, or that somebody could defend."""

PLAINLY_FALSE = """
    hyperkalemia: potassium chloride, spironolactone | hypercalcemia: calcitriol | hypoglycemia: insulin human |
    thyroid storm: levothyroxine | myxedema coma: propylthiouracil | tricyclic antidepressant poisoning: flumazenil |
    intracerebral hemorrhage: acetylsalicylic acid | complete heart block: verapamil | methemoglobinemia: sodium nitrite
"""
"""What would do harm: the best of false partners, which a bar by classes must not take away."""

TOLD_BY_THE_NAME = """
    folate deficiency anemia: folic acid | vitamin A deficiency: retinol | botulism: botulism antitoxin |
    cardiac arrest: heart |
    digoxin poisoning: digoxin immune fab | traumatic brain injury: brain | testicular torsion: testis, testicular pain |
    retinoblastoma: retina | necrotizing fasciitis: skin necrosis
"""


def pairs(text: str) -> set[tuple[str, str]]:
    entries = (entry.split(":") for entry in " ".join(text.split()).split("|"))
    return {(head.strip(), tail.strip()) for head, tails in entries for tail in tails.split(",")}


def test_the_card_and_the_documents_say_what_the_files_hold() -> None:
    card, facts = load_card(NAME), rows()
    assert f"`head_id` ({len({row['head'] for row in facts if row['head_id']})} conditions)" in card
    drugs = {row["tail"] for row in facts if row["relation"] == "therapeutic drugs"}
    new = drugs - {fact.tail for fact in load_bundled("clinical-core").facts}
    assert f"Of the {len(drugs)} drugs, {len(new)} are in no fact of clinical-core" in card
    text = (FOLDER.parents[1] / "docs" / "files.md").read_text(encoding="utf-8")
    heads = len({row["head"] for row in facts})
    assert f"`core-medicine` | {len(facts):,} facts about {heads} further conditions" in text


def test_the_card_counts_what_was_read_at_the_sources() -> None:
    card = load_card(NAME)
    decided = Counter(row["decision"] for row in rows(".sources"))
    assert f"read {decided.total():,} places" in card
    assert f"{decided['states']} state the fact; {decided['does not state']} name both and do not state it" in card
    assert f"{decided['repeats']} repeat another source's words" in card


def test_its_conditions_are_none_of_clinical_cores_and_what_both_name_is_one_thing() -> None:
    core, own = load_bundled("clinical-core").facts, load_bundled("core-medicine").facts
    assert not {name_key(fact.head) for fact in core} & {name_key(fact.head) for fact in own}
    assert not {fact.head_id for fact in core if fact.head_id} & {fact.head_id for fact in own}
    assert {(fact.relation, fact.tail_type) for fact in own} <= {(fact.relation, fact.tail_type) for fact in core}
    identifiers = {(fact.relation, fact.tail): fact.tail_id for fact in core}
    for fact in own:
        assert identifiers.get((fact.relation, fact.tail)) in {None, fact.tail_id}, fact.tail
    spelled = {name_key(fact.tail or ""): fact.tail for fact in core}
    assert not [fact.tail for fact in own if spelled.get(name_key(fact.tail or ""), fact.tail) != fact.tail]


def test_it_is_read_without_a_problem_and_says_everything_once() -> None:
    facts = rows()
    assert max(Counter((row["head"], row["relation"], row["tail"]) for row in facts).values()) == 1
    assert {(row["strength"], row["source"], row["source_id"]) for row in facts} == {("a", "medfact editors", "")}
    heads, tails = {row["head"] for row in facts}, {row["tail"] for row in facts}
    for row in rows(".also-true"):
        assert row["head"] in heads
        assert set(row["tail"].split(" | ")) <= tails
    assert {row["name"] for row in rows(".synonyms")} <= heads | tails
    assert not {row["synonym"] for row in rows(".synonyms")} & (heads | tails)
    assert {name for row in rows(".part-of") for name in (row["part"], row["whole"])} <= tails


@pytest.mark.parametrize(("head", "tail"), sorted(pairs(NEVER_FALSE)))
def test_what_somebody_could_defend_is_never_called_false(head: str, tail: str) -> None:
    known = load_bundled("core-medicine").known
    if {known.entity(head), known.entity(tail)} <= {known.entity(one or "") for f in known.facts for one in (f.head, f.tail)}:
        assert known.entity(tail) in known.linked(head)


def test_what_would_do_harm_may_be_drawn_as_false() -> None:
    known = load_bundled("core-medicine").known
    assert not [(head, tail) for head, tail in pairs(PLAINLY_FALSE) if known.entity(tail) in known.linked(head)]


def test_what_a_name_tells_is_no_fact() -> None:
    assert not pairs(TOLD_BY_THE_NAME) & {(row["head"], row["tail"]) for row in rows()}
