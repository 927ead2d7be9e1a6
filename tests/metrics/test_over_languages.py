"""Figures over languages, worked by hand from scripted models: one that knows in English alone, one that mirrors, one that
denies in one language alone."""

from dataclasses import replace

import numpy as np
import pytest
from records import RIGHT, RIGHT_OF_FALSE, make_records

from medfact.metrics import Records
from medfact.metrics.comparison import OverLanguages, RunRecords, over_languages, paired_difference

DENIES = "FFFFFFFF"
"""False to all eight: of a true fact the four affirmed ways are wrong."""


def spoken(*signs: str) -> RunRecords:
    """A run of facts f00, f01, … of which the model says these signs, each with a head and tail of its own. A fact of which it
    denies what is affirmed is a false one.
    """
    named = ((f"f{n:02}{chr(39) * (one == RIGHT_OF_FALSE)}", n, one) for n, one in enumerate(signs))
    made: Records = make_records(*((name, f"h{n:02}", f"t{n:02}", one) for name, n, one in named))
    return RunRecords(made, made.fact)


def of(english: list[str], spanish: list[str], french: list[str]) -> OverLanguages:
    return over_languages({"en": spoken(*english), "es": spoken(*spanish), "fr": spoken(*french)})


def test_a_model_that_knows_in_english_alone() -> None:
    """Of 20 facts it knows 15 in English, 5 of these in Spanish, and none in French."""
    english = [RIGHT] * 15 + [DENIES] * 5
    found = of(english, [RIGHT] * 5 + [DENIES] * 15, [DENIES] * 20)
    assert found.facts == 20
    assert {name: one.value for name, one in found.each.items()} == {"en": 0.75, "es": 0.25, "fr": 0.0}
    assert found.everywhere.value == 0.0
    assert found.couples["en", "es"].value == 5 / 20
    assert found.couples["en", "fr"].value == found.couples["es", "fr"].value == 0.0
    assert {name: one.value for name, one in found.alone.items()} == {"en": 10 / 20, "es": 0.0, "fr": 0.0}
    assert {name: one.value for name, one in found.less.items()} == {"es": -0.5, "fr": -0.75}
    # right are TTTTFFFF, denied FFFFFFFF: 4 of 8 alike in the 15 facts where the languages differ, 8 of 8 in the other 5
    assert found.consistent.value == pytest.approx((15 * 4 + 5 * 8) / 160)
    assert found.consistent.n == 160


def test_right_answers_are_counted_by_way_in_each_language() -> None:
    """Who says False to everything is right where a true fact is denied, and wrong where it is affirmed."""
    found = of([RIGHT] * 15 + [DENIES] * 5, [RIGHT] * 5 + [DENIES] * 15, [DENIES] * 20)
    assert {name: one.value for name, one in found.by_variant["none"].items()} == {"en": 0.75, "es": 0.25, "fr": 0.0}
    assert {name: one.value for name, one in found.by_variant["inv+dn"].items()} == {"en": 1.0, "es": 1.0, "fr": 1.0}
    assert {one.n for by in found.by_variant.values() for one in by.values()} == {20}


def test_a_model_that_answers_at_random_in_each_language() -> None:
    """Of 2,000 facts a coin masters 1 in 256 in a language and 1 in 65,536 in two: 8 and none. Two coins agree on half of
    all statements; with 16,000 of them the share is within 2 points (5 standard errors) of that.
    """
    draw = np.random.default_rng(0)
    english, spanish = (["".join(draw.choice(["T", "F"], 8)) for _ in range(2000)] for _ in range(2))
    english, spanish = ([DENIES if one == RIGHT_OF_FALSE else one for one in signs] for signs in (english, spanish))
    found = over_languages({"en": spoken(*english), "es": spoken(*spanish)})
    assert {name: one.value for name, one in found.each.items()} == {
        name: signs.count(RIGHT) / 2000 for name, signs in (("en", english), ("es", spanish))
    }
    assert all(2 <= 2000 * (one.value or 0) <= 18 for one in found.each.values())
    assert found.everywhere.value == 0.0
    assert found.consistent.value == pytest.approx(0.5, abs=0.02)
    assert found.less["es"].low_all is not None
    assert not found.less["es"].is_shown


def test_the_change_against_english_is_paired_by_fact_and_its_bounds_hold_for_all_languages() -> None:
    found = of([RIGHT] * 15 + [DENIES] * 5, [RIGHT] * 5 + [DENIES] * 15, [DENIES] * 20)
    differences = np.repeat([0.0, -1.0, 0.0], [5, 10, 5])
    expected = paired_difference(differences, np.arange(20), np.arange(20), np.zeros(20, dtype=np.int64), family=2)
    change = found.less["es"]
    assert (change.low, change.high) == pytest.approx((expected.low, expected.high))
    assert (change.low_all, change.high_all) == pytest.approx((expected.low_all, expected.high_all))
    assert change.p_holm >= change.p


def test_a_model_that_mirrors_is_the_same_in_every_language() -> None:
    signs = [RIGHT, DENIES] * 10
    found = of(signs, signs, signs)
    assert found.everywhere == found.each["en"] == found.each["fr"] == found.couples["en", "es"]
    assert found.everywhere.value == 0.5
    assert all(one.value == 0.0 for one in found.alone.values())
    assert all(one.value == 0.0 for one in found.less.values())
    assert found.consistent.value == 1.0


def test_a_model_that_denies_in_one_language_alone() -> None:
    """It knows all 12 facts, six of which are false; asked in French it says False to everything."""
    knows = [RIGHT, RIGHT_OF_FALSE] * 6
    sides = {"en": spoken(*knows), "es": spoken(*knows)}
    french = sides["en"].records
    denying = replace(french, answer=np.zeros_like(french.answer))
    found = over_languages({**sides, "fr": RunRecords(denying, sides["en"].identity)})
    assert found.everywhere.value == 0.0
    assert found.couples["en", "es"].value == 1.0
    assert found.alone["en"].value == found.alone["es"].value == 0.0
    assert found.less["fr"].value == -1.0
    assert found.less["es"].value == 0.0
    # each fact: four of eight answers are False anyway
    assert found.consistent.value == 0.5


def test_a_fact_counts_where_it_is_answered_whole_in_every_language() -> None:
    """The first failed once in Spanish; the second is unreadable in French, which counts as wrong."""
    failed, unread = "TTTTFFF!", "TTTTFFF?"
    found = of([RIGHT] * 12, [failed, *[RIGHT] * 11], [RIGHT, unread, *[RIGHT] * 10])
    assert found.facts == 11
    assert found.everywhere.value == pytest.approx(10 / 11)
    # 96 statements less the failed and the unreadable one, all alike
    assert (found.consistent.n, found.consistent.value) == (94, 1.0)


def test_facts_are_matched_by_what_they_are_not_by_their_order() -> None:
    """The second run asks the same facts in another order, and one fact more."""
    first = spoken(RIGHT, DENIES, RIGHT)
    made = make_records(("a", "h2", "t2", RIGHT), ("b", "h9", "t9", DENIES), ("c", "h0", "t0", RIGHT), ("d", "h1", "t1", RIGHT))
    identity = np.array([2, 9, 0, 1])[made.fact]
    found = over_languages({"en": first, "es": RunRecords(made, identity)})
    assert found.facts == 3
    assert found.everywhere.value == pytest.approx(2 / 3)
    assert found.alone["es"].value == pytest.approx(1 / 3)


def test_nothing_that_all_answered_is_no_value_and_not_zero() -> None:
    found = over_languages({"en": spoken("TTTTFFF!"), "es": spoken(RIGHT)})
    assert found.facts == 0
    assert found.everywhere.value is None
    assert found.less["es"].value is None
    assert found.each["en"].value is None


def test_each_relation_is_compared_by_itself() -> None:
    signs = {"en": [RIGHT] * 4, "es": [RIGHT, RIGHT, DENIES, DENIES]}
    heads = ["symptoms: h0", "symptoms: h1", "drugs: h2", "drugs: h3"]
    sides = {
        language: RunRecords(made, made.fact)
        for language, of_facts in signs.items()
        for made in [make_records(*((f"f{n}", heads[n], f"t{n}", one) for n, one in enumerate(of_facts)))]
    }
    found = over_languages(sides).by_relation
    assert found["symptoms"]["es"].value == 0.0
    assert found["drugs"]["es"].value == -1.0
    assert found["drugs"]["es"].n == 2


def test_relations_are_looked_at_together() -> None:
    """Of 24 diseases each, symptoms are known in both languages, drugs in English alone: p had no correction, and none was
    ever shown."""
    names = [f"{relation}: h{n:02}" for relation in ("drugs", "symptoms") for n in range(24)]
    signs = {"en": [RIGHT] * 48, "es": [DENIES] * 24 + [RIGHT] * 24}
    sides = {
        language: RunRecords(made, made.fact)
        for language, of_facts in signs.items()
        for made in [make_records(*((f"f{n:02}", names[n], f"t{n:02}", one) for n, one in enumerate(of_facts)))]
    }
    found = over_languages(sides).by_relation
    drugs, symptoms = found["drugs"]["es"], found["symptoms"]["es"]
    assert drugs.p_holm == pytest.approx(2 * drugs.p)
    assert drugs.is_shown
    assert not symptoms.is_shown
