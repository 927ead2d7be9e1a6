"""Where and of whom a fact is said, in front of its sentences."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medfact.facts import Fact
from medfact.prototypes import load_pool
from medfact.prototypes.grammar import decapitalize, scope_prefix
from medfact.prototypes.library import bundled_pool_files
from medfact.writing.guards import Claim, why_stopped

DRUG = Fact("asthma", "therapeutic drugs", "albuterol")
BOTH = replace(DRUG, region="United States", population="pregnancy", fact_id="")


def sentences(fact: Fact, pool: str = "medfact") -> dict[str, str]:
    return {one.variant: one.text for one in load_pool(pool).statements([fact])}


@pytest.mark.parametrize(
    ("region", "population", "before"),
    [
        (None, None, ""),
        ("United States", None, "In the United States, "),
        ("US", None, "In the US, "),
        ("Japan", None, "In Japan, "),
        ("sub-Saharan Africa", None, "In sub-Saharan Africa, "),
        ("Netherlands", None, "In the Netherlands, "),
        ("the Netherlands", None, "In the Netherlands, "),
        ("Czech Republic", None, "In the Czech Republic, "),
        (None, "pregnancy", "In pregnancy, "),
        (None, "children", "In children, "),
        (None, "In pregnancy", "In pregnancy, "),
        (None, "during breastfeeding", "During breastfeeding, "),
        (None, "after menopause", "After menopause, "),
        ("European Union", "adults over 60", "In the European Union, in adults over 60, "),
        ("across Europe", "during pregnancy", "Across Europe, during pregnancy, "),
    ],
)
def test_what_stands_in_front(region: str | None, population: str | None, before: str) -> None:
    assert scope_prefix(replace(DRUG, region=region, population=population)) == before


def test_all_eight_forms_begin_with_the_place_and_the_people() -> None:
    before = "In the United States, in pregnancy, "
    assert sentences(BOTH) == {
        "none": before + "albuterol is a medication used to treat asthma.",
        "inv": before + "medications used to treat asthma include albuterol.",
        "ins": before + "in patients with asthma, albuterol is used to treat the condition.",
        "inv+ins": before + "asthma is one of the conditions that albuterol is used to treat in patients.",
        "dn": before + "albuterol is not a medication used to treat asthma.",
        "inv+dn": before + "medications used to treat asthma do not include albuterol.",
        "ins+dn": before + "in patients with asthma, albuterol is not used to treat the condition.",
        "inv+ins+dn": before + "asthma is not one of the conditions that albuterol is used to treat in patients.",
    }


@pytest.mark.parametrize(
    ("head", "tail", "form", "text"),
    [
        ("Lyme disease", "doxycycline", "inv+ins", "In children, Lyme disease is one of the conditions that doxycycline"),
        ("asthma", "E. coli Nissle", "none", "In children, E. coli Nissle is a medication"),
        ("asthma", "[X]", "none", "In children, [X] is a medication used to treat asthma."),
    ],
)
def test_names_keep_their_capitals(head: str, tail: str, form: str, text: str) -> None:
    fact = Fact(head, "therapeutic drugs", tail, population="children")
    assert sentences(fact)[form].startswith(text)


@pytest.mark.parametrize(
    ("prototype", "there"),
    [
        ("If a patient has [X], [Y] helps.", "if a patient has [X], [Y] helps."),
        ("A patient takes [Y].", "a patient takes [Y]."),
        ("First-choice drugs for [X] include [Y].", "first-choice drugs for [X] include [Y]."),
        ("T-cell counts in [X] show [Y].", "T-cell counts in [X] show [Y]."),
        ("[Y] treats [X].", "[Y] treats [X]."),
        ("E. coli in [X] needs [Y].", "E. coli in [X] needs [Y]."),
        ("HIV with [X] needs [Y].", "HIV with [X] needs [Y]."),
        ("COVID-19 with [X] needs [Y].", "COVID-19 with [X] needs [Y]."),
    ],
)
def test_a_sentence_goes_on_in_small_letters(prototype: str, there: str) -> None:
    assert decapitalize(prototype) == there


@pytest.mark.parametrize("pool", [name for name in bundled_pool_files() if name != "mkj"])
def test_every_form_of_every_pool_is_its_own_sentence_after_the_place(pool: str) -> None:
    """Nothing but the first letter differs, so that a denial denies the statement and not its place."""
    for relation in load_pool(pool).relations:
        fact = Fact("xxhead", relation, "xxtail")
        plain, bound = sentences(fact, pool), sentences(replace(fact, region="Japan", fact_id=""), pool)
        assert plain.keys() == bound.keys()
        for form, text in bound.items():
            rest = text.removeprefix("In Japan, ")
            assert rest != text
            assert rest[:1].lower() + rest[1:] == plain[form][:1].lower() + plain[form][1:]
            assert rest[:1] == rest[:1].lower(), text


def test_a_plain_origin_statement_begins_so_too_and_a_ready_sentence_stays_as_it_is() -> None:
    assert sentences(BOTH, "origin") == {
        "none": "In the United States, in pregnancy, albuterol is a medication used to treat asthma."
    }
    ready = replace(load_pool("medfact"), ready={BOTH.fact_id: "Albuterol treats asthma."})
    assert [one.text for one in ready.statements([BOTH])] == ["Albuterol treats asthma."]


letters = st.characters(categories=("Lu", "Ll", "Nd"), max_codepoint=0x24F).filter(lambda letter: len(letter.upper()) == 1)
"""Not those that are two at the beginning of a sentence, as ß and ŉ are: what follows the first letter is compared."""

names = st.text(letters, min_size=1, max_size=12)


@given(head=names, tail=names, region=st.none() | names, population=st.none() | names)
def test_any_names_make_a_sentence_that_says_the_same_after_its_bounds(
    head: str, tail: str, region: str | None, population: str | None
) -> None:
    bare = Fact(head, "symptoms", tail)
    fact = replace(bare, region=region, population=population, fact_id="")
    before = scope_prefix(fact)
    assert before.count(", ") == (region is not None) + (population is not None)
    assert (fact.fact_id == bare.fact_id) is (before == "")
    for form, text in sentences(fact).items():
        assert text.startswith(before)
        # but for its first letter, which begins no sentence any more, what follows is the sentence of the unbound fact
        assert text[len(before) + 1 :] == sentences(bare)[form][1:]
        if before == "":
            assert text == sentences(bare)[form]


def test_a_rephrasing_keeps_the_place_and_the_people() -> None:
    claim = Claim(sentences(BOTH)["none"], ("asthma",), ("albuterol",), bounds=("United States", "pregnancy"))
    assert why_stopped("In the United States, in pregnancy, albuterol is a drug used to treat asthma.", claim) is None
    assert why_stopped("In pregnancy, albuterol is a drug that is used to treat asthma.", claim) == "bounds"
    assert why_stopped("Albuterol is a medication that is used to treat asthma.", claim) == "bounds"
