"""What the time, place and population of a fact do to its identity: nothing where they are empty."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from medfact.datasets.pairing import bounds_of, contradictions, place_of
from medfact.facts import Fact, KnowledgeBase, described
from medfact.negatives import draw_negatives

PLAIN = Fact("asthma", "therapeutic drugs", "albuterol")
IN_US, IN_PREGNANCY, OF_BOTH, SWAPPED, ENDED = (
    replace(PLAIN, **bounds, fact_id="")
    for bounds in (
        {"region": "United States"},
        {"population": "pregnancy"},
        {"region": "United States", "population": "pregnancy"},
        {"population": "United States"},
        {"until": "2030"},
    )
)


def test_a_fact_of_everybody_everywhere_keeps_its_id_and_its_fingerprint() -> None:
    text = "\x1f".join(["asthma", "therapeutic drugs", "albuterol", "", "", "", ""])
    assert PLAIN.fact_id == hashlib.sha256(text.encode()).hexdigest()[:20]
    assert "until" not in described(PLAIN, {})
    assert "region" not in described(PLAIN, {})


def test_facts_that_differ_in_place_or_population_alone_are_different_facts() -> None:
    assert len({one.fact_id for one in (PLAIN, IN_US, IN_PREGNANCY, OF_BOTH, SWAPPED)}) == 5


def test_until_says_how_long_the_same_fact_holds_and_a_fingerprint_tells_it() -> None:
    assert ENDED.fact_id == PLAIN.fact_id
    assert KnowledgeBase((ENDED,)).fingerprint({}) != KnowledgeBase((PLAIN,)).fingerprint({})
    assert KnowledgeBase((IN_US,)).fingerprint({}) != KnowledgeBase((PLAIN,)).fingerprint({})


def test_a_false_partner_is_said_of_the_same_place_and_people_and_has_no_end_of_its_own() -> None:
    negative = replace(OF_BOTH, until="2030").negative("insulin", None, 1)
    assert (negative.region, negative.population, negative.until) == ("United States", "pregnancy", None)
    assert negative.fact_id != PLAIN.negative("insulin", None, 1).fact_id


def test_what_is_true_anywhere_is_drawn_as_false_nowhere() -> None:
    """Drug b treats asthma in Japan alone: of the other drugs, only c is safe, in any place."""
    of_others = [Fact(f"disease {drug}", "therapeutic drugs", drug) for drug in ("b", "c")]
    known = KnowledgeBase((IN_US, replace(PLAIN, tail="b", region="Japan", fact_id=""), *of_others))
    for seed in range(20):
        for fact in (IN_US, PLAIN, IN_PREGNANCY):
            assert {one.tail for one in draw_negatives(fact, known, 9, seed)} == {"c"}


def test_true_in_one_place_and_false_in_another_is_no_contradiction() -> None:
    false = replace(IN_PREGNANCY, positive=False, fact_id="")
    assert list(contradictions({"a": PLAIN, "b": false})) == []
    assert list(contradictions({"a": replace(IN_PREGNANCY, population="Pregnancy"), "b": false})) == [["a", "b"]]


def test_partners_are_of_one_place_under_one_spelling() -> None:
    assert bounds_of(PLAIN) == ()
    assert place_of(IN_US) == place_of(replace(IN_US, region="united states"))
    assert len({place_of(one) for one in (PLAIN, IN_US, IN_PREGNANCY, SWAPPED)}) == 4
