"""Negatives of known difficulty: near, far, judged, and the papers' own draw."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
from scipy.stats import rankdata

from medfact.datasets import load_bundled
from medfact.facts import Fact, KnowledgeBase, Tail
from medfact.metrics import Names, Records, measure
from medfact.negatives import (
    ANY,
    CLOSEST,
    DIFFICULTIES,
    FAR,
    JUDGED,
    NEAR,
    PREFERENCES,
    PUBLISHED,
    difficulty_of,
    draw_negatives,
)
from medfact.negatives.rules import Rules


def fact(head: str, tail: str, specialty: str | None = None) -> Fact:
    return Fact(head, "symptoms", tail, specialty=specialty)


HEART, SKIN = "cardiology", "dermatology"
CLINIC = (
    fact("angina", "chest pain", HEART),
    fact("stenosis", "syncope", HEART),
    fact("eczema", "itching", SKIN),
    fact("psoriasis", "scaling", SKIN),
)
KNOWN = KnowledgeBase(
    CLINIC, judged=(Fact("angina", "symptoms", "scaling", positive=False, source="a guideline", source_id="7"),)
)


def drawn(preference: str, count: int = 1, known: KnowledgeBase = KNOWN) -> Counter[tuple[str | None, str | None]]:
    """Tails and difficulties over 60 seeds of the first fact."""
    found = (n for seed in range(60) for n in draw_negatives(known.facts[0], known, count, seed, difficulty=preference))
    return Counter((negative.tail, negative.difficulty) for negative in found)


def test_near_is_what_is_true_of_the_same_specialty() -> None:
    assert drawn(NEAR)["syncope", NEAR] >= 58  # one far tail has 1/3000 of the weight of the near one, two have 1/1500
    assert set(drawn(FAR)) == {("itching", FAR), ("scaling", FAR)}
    assert set(drawn(ANY)) == {("syncope", NEAR), ("itching", FAR), ("scaling", FAR)}


def test_judged_ones_come_with_their_source() -> None:
    (negative,) = draw_negatives(CLINIC[0], KNOWN, 1, 0, difficulty=JUDGED)
    assert (negative.tail, negative.difficulty, negative.source, negative.source_id) == ("scaling", JUDGED, "a guideline", "7")
    (other,) = draw_negatives(CLINIC[2], KNOWN, 1, 0, difficulty=JUDGED)
    assert other.difficulty == NEAR, "no source judges eczema"


def test_three_negatives_are_one_of_each_difficulty() -> None:
    for preference in (NEAR, FAR, JUDGED):
        three = draw_negatives(CLINIC[0], KNOWN, 3, 0, difficulty=preference)
        assert {n.difficulty for n in three} == set(DIFFICULTIES) - {CLOSEST}, "which is drawn only where it is asked for"
        assert len({n.tail for n in three}) == 3


def test_nearness_weakens_no_rule() -> None:
    known = KnowledgeBase(CLINIC, also_true=(("angina", "syncope"),))
    assert set(drawn(NEAR, known=known)) == {("itching", FAR), ("scaling", FAR)}


def test_the_papers_draw_knows_only_the_lists() -> None:
    known = KnowledgeBase(CLINIC, also_true=(("angina", "syncope"),))
    assert {tail for tail, _ in drawn(PUBLISHED, known=known)} == {"syncope", "itching", "scaling"}


def test_without_a_specialty_a_shared_tail_makes_two_heads_kindred() -> None:
    known = KnowledgeBase(
        (
            fact("flu", "fever"),
            fact("measles", "fever"),
            fact("measles", "rash"),
            fact("gout", "swelling"),
            fact("lice", "itching"),
        )
    )
    assert difficulty_of(Fact("flu", "symptoms", "rash", positive=False), known) == NEAR
    assert difficulty_of(Fact("flu", "symptoms", "swelling", positive=False), known) == FAR


def test_in_a_hierarchy_the_same_branch_is_near() -> None:
    known = KnowledgeBase(
        (fact("flu", "fever"), fact("gout", "chills"), fact("lice", "itching")),
        is_a=(("fever", "temperature"), ("chills", "temperature"), ("itching", "skin sign")),
    )
    assert difficulty_of(Fact("flu", "symptoms", "chills", positive=False), known) == NEAR
    assert difficulty_of(Fact("flu", "symptoms", "itching", positive=False), known) == FAR


def test_a_files_negative_with_a_source_is_judged() -> None:
    assert difficulty_of(Fact("angina", "symptoms", "scaling", positive=False, source="WHO"), KNOWN) == JUDGED
    assert difficulty_of(Fact("angina", "symptoms", None, positive=False), KNOWN) is None


def auc(true: list[float], false: list[float]) -> float:
    ranks = rankdata([*true, *false])
    return float((ranks[: len(true)].sum() - len(true) * (len(true) + 1) / 2) / len(true) / len(false))


@pytest.mark.parametrize(("name", "near"), [("clinical-core", 0.6), ("biomedical-core", 0.6), ("rare-core", 0.5)])
def test_most_are_near_and_a_tail_does_not_tell_the_label(name: str, near: float) -> None:
    """In rare-core the kin of what is annotated are no candidates, so that few near ones are left."""
    collection = load_bundled(name)
    draws = {seed: [(f, *draw_negatives(f, collection.known, 1, seed)) for f in collection.facts] for seed in range(6)}
    false = [group[1] for group in draws[0] if len(group) > 1]
    true = [group[0] for group in draws[0] if len(group) > 1]
    assert np.mean([n.difficulty == NEAR for n in false]) >= near
    ups, downs = Counter[tuple[str, str | None]](), Counter[tuple[str, str | None]]()
    for seed in range(1, 6):
        for group in draws[seed]:
            if len(group) > 1:
                ups[group[0].relation, group[0].tail] += 1
                downs[group[1].relation, group[1].tail] += 1

    def share(one: Fact) -> float:
        key = one.relation, one.tail
        return ups[key] / (ups[key] + downs[key]) if ups[key] + downs[key] else 0.5

    assert 0.45 <= auc([*map(share, true)], [*map(share, false)]) <= 0.55


@pytest.mark.parametrize("preference", PREFERENCES)
@pytest.mark.parametrize("count", [1, 3])
def test_a_false_pair_is_stated_with_one_strength_whatever_the_seed(preference: str, count: int) -> None:
    """ "A recognized finding" under one seed and "a common finding" under another would be two claims about one pair."""
    collection = load_bundled("rare-core")
    strengths: defaultdict[tuple[str, str | None], set[str | None]] = defaultdict(set)
    drawn = 0
    for seed in (0, 1, 7):
        for one in collection.facts[:250]:
            for negative in draw_negatives(one, collection.known, count, seed, difficulty=preference):
                assert negative.strength == one.strength
                strengths[negative.head, negative.tail].add(negative.strength)
                drawn += 1
    assert drawn > len(strengths) > 250  # pairs are drawn again under another seed
    assert [pair for pair, said in strengths.items() if len(said) > 1] == []


def test_a_head_whose_facts_are_of_one_strength_has_all_safe_tails() -> None:
    facts = [Fact(f"disease {n}", "symptoms", f"sign-{n}", strength="a common") for n in range(6)]
    known = KnowledgeBase(tuple(facts))
    assert {negative.tail for negative in draw_negatives(facts[0], known, 9, 0)} == {f"sign-{n}" for n in range(1, 6)}


@pytest.mark.parametrize("preference", [p for p in PREFERENCES if p != PUBLISHED])
def test_every_preference_keeps_the_rules(preference: str) -> None:
    collection = load_bundled("clinical-core")
    for one in collection.facts[::40]:
        rules = Rules(collection.known, one.relation, one.tail_type, one.head)
        for negative in draw_negatives(one, collection.known, 3, 1, difficulty=preference):
            assert rules.broken_by(Tail(str(negative.tail), None)) is None


def test_figures_by_difficulty() -> None:
    # Two pairs of one statement each: the near false fact is answered wrong, the far one right; both true facts right.
    plain, ids = ["none"] * 4, np.arange(4)
    records = Records(
        fact=ids,
        pair=np.array([0, 0, 1, 1]),
        head=np.array([0, 0, 1, 1]),
        tail=ids,
        draw=np.zeros(4, dtype=np.int64),
        variants=Names.of(plain),
        relations=Names.of(["symptoms"] * 4),
        tail_types=Names.of([""] * 4),
        difficulties=Names.of(["", NEAR, "", FAR]),
        positive=np.array([True, False, True, False]),
        label=np.array([True, False, True, False]),
        answer=np.array([1, 1, 1, 0], dtype=np.int8),
        p_true=np.full(4, np.nan),
        p_mass=np.full(4, np.nan),
    )
    made = measure(records).by_difficulty
    assert list(made) == [NEAR, FAR]
    assert (made[NEAR].negatives, made[NEAR].average_accuracy.value, made[NEAR].negative_accuracy.value) == (1, 0.5, 0.0)
    assert (made[NEAR].joint_accuracy.value, made[NEAR].pair_joint_accuracy.value) == (0.5, 0.0)
    assert (made[FAR].average_accuracy.value, made[FAR].pair_joint_accuracy.value) == (1.0, 1.0)
