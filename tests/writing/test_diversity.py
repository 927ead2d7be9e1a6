"""Diversity figures, worked by hand."""

import math

from hypothesis import given
from hypothesis import strategies as st

from medfact.facts import Fact
from medfact.prototypes import load_pool
from medfact.statements import Statement
from medfact.writing.diversity import bleu, diversity, self_bleu

FACT = Fact("influenza", "symptoms", "fever")


def said(text: str, variant: str = "none") -> Statement:
    return Statement(FACT, "medfact", variant, text)


def test_bleu_by_hand() -> None:
    """ "a b c d" against "a b x d": words 3/4, pairs 1/3 (a b), threes 0.5/2, fours 0.5/1; equal lengths, so no penalty."""
    expected = (3 / 4 * 1 / 3 * 0.5 / 2 * 0.5 / 1) ** 0.25
    assert math.isclose(bleu(["a", "b", "c", "d"], [["a", "b", "x", "d"]]), expected)
    assert bleu(["a", "b", "c", "d"], [["a", "b", "c", "d"], ["x"]]) == 1.0


def test_brevity_by_hand() -> None:
    """ "a b" within "a b c d": every sequence is found, and 2 words stand for 4: exp(1 − 4/2)."""
    assert math.isclose(bleu(["a", "b"], [["a", "b", "c", "d"]]), math.exp(-1))


def test_the_same_sentence_twice_is_not_diverse() -> None:
    """4 different words of 8; each sentence foretells the other; both are built alike."""
    made = diversity([said("Fever means influenza, always."), said("Fever means influenza, always.", "inv")])
    assert (made.facts, made.statements) == (1, 2)
    assert made.distinct_words == 4 / 8
    assert made.self_bleu == 1.0
    assert made.other_structure == 0.0


def test_eight_variants_are_built_in_other_ways_than_the_plain_one() -> None:
    """The plain form has tail, then head, nobody in it, not denied. All seven others differ: `inv` by the order."""
    assert diversity(load_pool("medfact").statements([FACT])).other_structure == 1.0


def test_nothing_has_no_value() -> None:
    made = diversity([])
    assert (made.facts, made.distinct_words, made.self_bleu, made.other_structure) == (0, None, None, None)
    assert diversity([said("Fever.")]).self_bleu is None


@given(st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=6), min_size=2, max_size=5))
def test_self_bleu_is_a_share(texts: list[list[str]]) -> None:
    assert 0 < self_bleu(texts) <= 1
