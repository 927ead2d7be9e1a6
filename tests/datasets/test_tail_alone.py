"""What a tail alone tells to who learns on other heads: worked by hand, and of a bundled set."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from medfact.datasets import load_bundled
from medfact.facts import Fact

KNOWN = [*sys.path]
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from tail_alone import Tails, facts_of, learned_on_one_half, others, part, split  # noqa: E402

sys.path[:] = KNOWN  # a benchmark and a helper of tests have one name


def said(head: str, tail: str, positive: bool) -> Fact:
    return Fact(head, "symptoms", tail, positive)


BALANCED = (said("A", "x", True), said("A", "y", False), said("B", "y", True), said("B", "x", False))
"""Each tail is once true and once false."""


def test_a_balanced_draw_tells_the_opposite_to_who_learns_on_the_other_heads() -> None:
    # A and x is true; under B, x is false: 0 of 1. A and y is false; under B, y is true: 1 of 1. So each true fact scores 0.
    tails = Tails(BALANCED)
    assert [tails.share(fact, fact.head) for fact in BALANCED] == [0, 1, 0, 1]
    assert others(BALANCED) == 0
    assert learned_on_one_half(BALANCED[:2], BALANCED[2:]) == 0


def test_halves_that_are_each_balanced_tell_nothing() -> None:
    other = tuple(said({"A": "C", "B": "D"}[fact.head], fact.tail or "", fact.positive) for fact in BALANCED)
    assert Tails(other).share(BALANCED[0]) == 0.5
    assert learned_on_one_half(BALANCED, other) == 0.5


def test_a_tail_that_no_other_head_has_tells_nothing() -> None:
    assert others((said("A", "x", True), said("B", "y", False))) == 0.5


def test_drawing_each_half_by_itself_takes_the_tell_away() -> None:
    collection = load_bundled("clinical-relations")
    facts, (one, other) = facts_of(collection, 0), split(collection, 0)
    assert not one & other
    assert others(facts) < 0.3
    whole = learned_on_one_half([f for f in facts if f.head in one], [f for f in facts if f.head in other])
    halves = [facts_of(part(collection, heads), 0) for heads in (one, other)]
    assert {fact.head for fact in halves[0]} <= one
    assert whole < 0.4
    assert learned_on_one_half(*halves) == pytest.approx(0.5, abs=0.1)
