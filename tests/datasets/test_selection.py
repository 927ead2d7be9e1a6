"""Which facts are tested: even, spread over heads, nested; and which are kept aside for the shots."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from small_facts import make_fact_rows, make_facts

from medfact.datasets import Collection, Selection, grouping, select
from medfact.errors import Mistake
from medfact.facts import Fact, KnowledgeBase
from medfact.negatives import ANY
from medfact.prototypes import load_pool


def collection(*facts: Fact) -> Collection:
    return Collection("small", facts, KnowledgeBase(tuple(fact for fact in facts if fact.positive)))


def chosen(given: Collection, limit: int | None = None, **options: object) -> Selection:
    settings = {"negatives": 1, "held_out_heads": 5, "seed": 0, "limit": limit} | options
    return select(given, **settings)


def positives(selection: Selection) -> list[Fact]:
    return [fact for fact in selection.test if fact.positive]


SMALL = collection(*make_facts(make_fact_rows()))  # 14 heads; 28 symptoms, 14 drugs


def test_without_a_limit_every_fact_that_is_not_aside_is_tested() -> None:
    # symptoms: 14 heads less 5 aside, 2 facts each = 18; drugs: 9; each with its negative
    selection = chosen(SMALL)
    assert Counter(fact.relation for fact in positives(selection)) == {"symptoms": 18, "therapeutic drugs": 9}
    assert len(selection.test) == 2 * 27
    assert len(selection.shots) == 2 * (10 + 5)
    assert (selection.without_negative, selection.notes, selection.shot_notes) == ((), (), ())


def test_negatives_follow_their_positive_fact() -> None:
    for first, second in zip(*[iter(chosen(SMALL).test)] * 2, strict=True):
        assert first.positive
        assert not second.positive
        assert second.negative_of == first.fact_id
    three = chosen(SMALL, 2, negatives=3).test
    assert [fact.k for fact in three] == [0, 1, 2, 3] * 2
    assert [fact.positive for fact in chosen(SMALL, 3, negatives=0).test] == [True] * 3


def test_shots_come_with_negatives_where_none_are_tested() -> None:
    """Shots of true facts alone would all have the label of what is asked after them: a copy of the last would be right."""
    selection = chosen(SMALL, negatives=0)
    assert {fact.positive for fact in selection.test} == {True}
    assert Counter(fact.positive for fact in selection.shots) == {True: 15, False: 15}


@pytest.mark.parametrize("limit", [2, 6, 11, 16])
def test_a_limit_is_even_over_relations(limit: int) -> None:
    counts = Counter(fact.relation for fact in positives(chosen(SMALL, limit)))
    assert sum(counts.values()) == limit
    assert max(counts.values()) - min(counts.values()) <= 1


def test_a_relation_that_is_used_up_leaves_the_rest_to_the_others() -> None:
    counts = Counter(fact.relation for fact in positives(chosen(SMALL, 25)))
    assert counts == {"symptoms": 16, "therapeutic drugs": 9}


def test_evenness_is_of_the_facts_that_are_taken_not_of_those_without_a_negative() -> None:
    # Half of the signs have a type of their own, so that no other tail can stand for them: they have no safe negative.
    signs = [Fact(f"d{i:02}", "symptoms", f"sign{i}", tail_type=f"type{i}" if i % 2 else "Sign") for i in range(20)]
    drugs = [Fact(f"d{i:02}", "therapeutic drugs", f"drug{i}") for i in range(20)]
    counts = Counter(f.relation for f in positives(chosen(collection(*signs, *drugs), 10, held_out_heads=0)))
    assert counts == {"symptoms": 5, "therapeutic drugs": 5}


def test_each_head_has_one_fact_before_any_has_a_second() -> None:
    symptoms = collection(*(fact for fact in SMALL.facts if fact.relation == "symptoms"))
    for limit in (5, 9):
        heads = Counter(fact.head for fact in positives(chosen(symptoms, limit)))
        assert set(heads.values()) == {1}
    assert set(Counter(fact.head for fact in positives(chosen(symptoms, 18))).values()) == {2}
    assert max(Counter(fact.head for fact in positives(chosen(symptoms, 10))).values()) == 2


def test_limits_are_nested() -> None:
    drawn = [[fact.fact_id for fact in chosen(SMALL, limit).test] for limit in (1, 5, 9, 20, 27)]
    for fewer, more in pairwise(drawn):
        assert more[: len(fewer)] == fewer
    assert set(drawn[-1]) == {fact.fact_id for fact in chosen(SMALL).test}


def test_per_relation() -> None:
    counts = Counter(fact.relation for fact in positives(chosen(SMALL, per_relation=4)))
    assert counts == {"symptoms": 4, "therapeutic drugs": 4}
    assert len(positives(chosen(SMALL, 3, per_relation=4))) == 3


@pytest.mark.parametrize("options", [{"limit": 0}, {"limit": -1}, {"per_relation": 0}])
def test_a_limit_below_one_is_a_mistake(options: dict[str, int]) -> None:
    with pytest.raises(Mistake, match="1 or more"):
        chosen(SMALL, **options)


def test_the_seed_decides() -> None:
    assert chosen(SMALL, 8) == chosen(SMALL, 8)
    assert chosen(SMALL, 8).test != chosen(SMALL, 8, seed=1).test
    assert {f.head for f in chosen(SMALL).shots} != {f.head for f in chosen(SMALL, seed=1).shots}


def test_the_order_of_the_file_does_not_decide() -> None:
    turned = collection(*reversed(SMALL.facts))
    assert chosen(turned, 8).test == chosen(SMALL, 8).test
    assert {f.fact_id for f in chosen(turned).shots} == {f.fact_id for f in chosen(SMALL).shots}


def test_a_limit_counts_facts_that_have_all_their_negatives() -> None:
    lonely = Fact("disease00", "symptoms", "lonely sign", tail_type="of its own kind")
    given = collection(*SMALL.facts, lonely)
    everything = chosen(given, held_out_heads=0)
    assert everything.without_negative == (lonely,)
    assert lonely in everything.test
    (note,) = everything.notes
    assert note.startswith("1 fact has no safe false partner: ")
    assert lonely not in chosen(given, 42, held_out_heads=0).test
    assert len(positives(chosen(given, 100, held_out_heads=0))) == 42


# ------------------------------------------------------------------------- facts kept aside


@pytest.mark.parametrize("seed", range(5))
def test_five_heads_per_relation_are_kept_aside_and_never_tested(seed: int) -> None:
    selection = chosen(SMALL, seed=seed)
    for relation in ("symptoms", "therapeutic drugs"):
        aside = {fact.head for fact in selection.shots if fact.relation == relation}
        assert len(aside) == 5
        assert aside.isdisjoint(fact.head for fact in selection.test if fact.relation == relation)


def test_heads_aside_are_the_same_whatever_the_limit() -> None:
    assert chosen(SMALL, 3).shots == chosen(SMALL, 20).shots == chosen(SMALL).shots


def test_spellings_of_one_head_are_kept_aside_together() -> None:
    shouted = [Fact(f.head.upper(), f.relation, f"other {f.tail}") for f in SMALL.facts]
    selection = chosen(collection(*SMALL.facts, *shouted))
    for relation in ("symptoms", "therapeutic drugs"):
        tested, aside = (
            {fact.head.lower() for fact in facts if fact.relation == relation} for facts in (selection.test, selection.shots)
        )
        assert tested.isdisjoint(aside)


def test_names_of_one_relation_share_the_heads_aside() -> None:
    # The file writes one relation in two ways; the pool knows that both are "symptoms".
    mixed = [Fact(f.head, "Symptom" if i % 2 else "symptoms", f.tail) for i, f in enumerate(SMALL.facts) if "sign" in f.tail]
    selection = chosen(collection(*mixed), canonical=load_pool("medfact").canonical)
    aside = {fact.head for fact in selection.shots}
    assert len(aside) == 5
    assert aside.isdisjoint(fact.head for fact in selection.test)


def few(heads: int) -> Collection:
    return collection(*(Fact(f"illness{i}", "symptoms", f"sign{i}") for i in range(heads)))


@pytest.mark.parametrize(("heads", "aside"), [(1, 0), (2, 1), (4, 2), (9, 4), (10, 5), (11, 5)])
def test_a_relation_with_few_heads_keeps_half_of_them_aside_and_says_so(heads: int, aside: int) -> None:
    selection = chosen(few(heads))
    assert len({fact.head for fact in selection.shots}) == aside
    assert len(positives(selection)) == heads - aside
    assert any("too few heads" in note and f"it keeps {aside}" in note for note in selection.shot_notes) == (aside < 5)


def test_a_relation_with_few_heads_borrows_its_shots() -> None:
    canonical = load_pool("medfact").canonical
    given = collection(
        *(Fact(f"illness{i}", "has_symptom", f"sign{i}") for i in range(4)), Fact("disease03", "has_symptom", "itch")
    )
    selection = chosen(given, lender=SMALL, canonical=canonical)
    assert len(positives(selection)) == 5  # none is kept aside
    lent = {fact.head for fact in selection.shots}
    assert len(lent) == 5
    assert lent <= {f"disease{i:02}" for i in range(14)} - {"disease03"}  # a head of our own is not borrowed
    assert {fact.relation for fact in selection.shots} == {"symptoms"}
    assert any(not fact.positive for fact in selection.shots)
    assert any("its shots come from the bundled facts" in note for note in selection.shot_notes)


def test_enough_heads_borrow_nothing() -> None:
    selection = chosen(few(10), lender=SMALL)
    assert {fact.head[:7] for fact in selection.shots} == {"illness"}


def test_a_protocol_without_heads_aside_keeps_and_borrows_none() -> None:
    selection = chosen(few(4), held_out_heads=0, lender=SMALL)
    assert selection.shots == ()
    assert len(positives(selection)) == 4


# ------------------------------------------------------------------------- false facts of a file, relations without a pool


def test_a_files_own_negatives_are_taken_before_drawn_ones() -> None:
    fact = SMALL.facts[0]
    given = collection(*SMALL.facts, fact.negative("the file's own", None, 1))
    assert [f.tail for f in grouping(given, 1, 0, ANY)(fact)] == ["sign00", "the file's own"]
    assert len(grouping(given, 2, 0, ANY)(fact)) == 3
    assert grouping(given, 1, 0, ANY)(SMALL.facts[1])[1].tail != "the file's own"


@pytest.mark.parametrize("is_paired", [True, False])
@pytest.mark.parametrize(("negatives", "limit"), [(1, None), (2, None), (3, None), (2, 5)])
def test_that_there_is_no_safe_partner_is_said_of_facts_alone_whose_partner_had_to_be_drawn(
    negatives: int, is_paired: bool, limit: int | None
) -> None:
    """Of three facts the file gives a false partner, or says something false; of a fourth it does not. None can be drawn."""
    true = [Fact(f"disease{i}", "symptoms", "sign", tail_type=f"kind {i}") for i in range(4)]
    false = [fact.negative("something else", None, 1) for fact in true[:3]]
    alone = [Fact(fact.head, fact.relation, fact.tail, positive=False) for fact in false]
    selection = chosen(collection(*true, *(false if is_paired else alone)), limit, negatives=negatives, held_out_heads=0)
    assert selection.without_negative == (true[3],)
    written = (
        "3 facts have beside them only what the file itself calls false: too few other tails of the same type are left for "
    )
    asked = "a false partner." if negatives == 1 else f"{negatives} false partners."
    complete = negatives == 1 and is_paired
    assert selection.notes == (
        "1 fact has no safe false partner: too few other tails of the same type are left.",
        *(() if complete else (written + asked,)),
    )


def test_a_withdrawn_false_fact_is_not_drawn_and_nothing_is_drawn_in_its_place() -> None:
    """Ten heads of two facts each; the first lost its own false partner, sign 3."""
    facts = [Fact(f"h{n}", "symptoms", f"sign {tail}") for n in range(10) for tail in (n, n + 10)]
    left = Fact("h0", "symptoms", "sign 3", positive=False, negative_of=facts[0].fact_id)
    before = collection(*facts, left)
    now = replace(collection(*facts), withdrawn=(replace(left),))
    for seed in range(5):
        was, group = grouping(before, 1, seed, ANY), grouping(now, 1, seed, ANY)
        assert [fact.tail for fact in was(facts[0])] == ["sign 0", "sign 3"]
        assert group(facts[0]) == (facts[0],)
        for fact in facts[1:]:
            assert group(fact) == was(fact), "draws of the others are as they were"
        two = grouping(now, 2, seed, ANY)
        assert len(two(facts[0])) == 3, "where two are asked for, all are drawn anyway"
        assert "sign 3" not in {fact.tail for own in facts[:2] for fact in two(own)}
    notes = chosen(now, held_out_heads=0).notes
    assert notes == ("1 fact has no false partner: the data set has withdrawn it, and it has no replacement.",)
    assert chosen(now, held_out_heads=0).without_negative == ()


def test_a_negative_without_a_partner_comes_with_the_facts_of_its_head() -> None:
    alone = [Fact(f"disease{i:02}", "symptoms", "a false sign", positive=False) for i in range(14)]
    selection = chosen(collection(*SMALL.facts, *alone), 6)
    tested = {fact.head for fact in positives(selection) if fact.relation == "symptoms"}
    assert {fact.head for fact in selection.test if fact.tail == "a false sign"} == tested


def test_relations_without_prototypes_are_left_out_and_told() -> None:
    given = collection(*SMALL.facts, Fact("gout", "is worsened by", "urate"), Fact("gout", "is worsened by", "beer"))
    selection = chosen(given, canonical=load_pool("medfact").canonical)
    assert "is worsened by" not in {fact.relation for fact in (*selection.test, *selection.shots)}
    assert "We have no sentences for “is worsened by” yet: 2 facts are left out." in selection.notes
