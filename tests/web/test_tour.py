"""The tour: which fact it tells, and what follows from which answers, by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from medfact.assets import ASSETS
from medfact.results.fact_table import Pairs
from medfact.statements import IMPLICATIONS
from medfact.web.pages.tour import MODELS, _told, telling

PLAIN, DENIED = 0, 4
"""Columns of the sentences “none” and “dn”."""


def pairs(*fates: str) -> Pairs:
    """Pairs by their fates in the order of the variants, a fact and its partner: "11110000 00000000"; "p" is not asked yet."""
    rows = [[-3 if one == "p" else int(one) for one in fact] for pair in fates for fact in pair.split()]
    members = tuple((2 * number, 2 * number + 1) for number in range(len(fates)))
    return Pairs(
        members=members,
        variants=tuple(IMPLICATIONS),
        fate=np.array(rows, dtype=np.int8),
        committed=np.array(rows, dtype=np.int8),
        positive=np.array([True, False] * len(fates)),
    )


def test_the_fact_that_tells_most_is_told() -> None:
    mastered, story, longer = "11111111 11111111", "10000111 00000000", "11010111 01111111"
    assert telling(pairs(mastered, story)) == 1
    assert telling(pairs(mastered, story, longer)) == 2  # as good a story, and it looks known for longer
    # never one that is wrong already when asked plainly, if another is right
    assert telling(pairs("00000000 00000000", mastered)) == 1
    # nor one with an answer missing
    assert telling(pairs("11010111 0111111p", mastered)) == 1


def test_where_facts_are_asked_otherwise_there_is_no_story() -> None:
    other = pairs("11010111 01111111")
    fewer = replace(other, variants=other.variants[:1], fate=other.fate[:, :1])
    assert telling(fewer) is None


@pytest.mark.parametrize(
    ("step", "right", "answer", "plain", "says"),
    [
        ("none", True, True, True, "Most tests stop here"),
        ("none", False, False, False, "Wrong already"),
        ("inv", True, True, True, "Right again"),
        ("inv", True, True, False, "Right this time"),
        ("inv", False, False, True, "only the sentence is another"),
        ("ins", False, False, False, "Wrong again"),
        ("ins", False, None, True, "neither true nor false"),
        ("dn", False, True, True, "it contradicts itself"),
        ("dn", False, True, False, "denies a fact that holds"),
        ("dn", True, False, True, "does not follow the denial"),
        ("partner", False, True, True, "accepts a fact that no source lists"),
        ("partner", True, False, True, "not say true to just anything"),
    ],
)
def test_what_is_told_follows_from_the_answers(step: str, right: bool, answer: bool | None, plain: bool, says: str) -> None:
    assert says in _told(step, right, answer, plain)


def test_the_two_models_were_taught_what_the_tour_says() -> None:
    recipes = [json.loads((ASSETS / "models" / name / "training.json").read_text()) for name in MODELS]
    variants = [set(recipe["recipe"]["forms"]) for recipe in recipes]
    assert not any(IMPLICATIONS[one].negated for one in variants[0])
    assert variants[1] == set(IMPLICATIONS)
    assert len(recipes[0]["seen_heads"]) > len(recipes[1]["seen_heads"])
