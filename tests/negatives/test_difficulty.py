"""Negatives of known difficulty: near, far, judged, and the papers' own draw."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import rankdata

from medfact.datasets import load_bundled
from medfact.facts import Fact, KnowledgeBase, Tail, name_key
from medfact.metrics import Names, Records, measure
from medfact.negatives import (
    ANY,
    FAR,
    JUDGED,
    NEAR,
    PREFERENCES,
    PUBLISHED,
    difficulty_of,
    draw_negatives,
)
from medfact.negatives.difficulty import Kinship, neighbor_groups
from medfact.negatives.rules import SafetyRules


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


def test_kindred_ones_are_drawn_first_near_or_not() -> None:
    """Stenosis is of angina's specialty; nobody takes it for angina, and chest pain is no neighbor of syncope."""
    assert drawn(NEAR)["syncope", FAR] >= 58  # one other tail has 1/3000 of the weight of the kindred one, two have 1/1500
    assert set(drawn(FAR)) == {("itching", FAR), ("scaling", FAR)}
    assert set(drawn(ANY)) == {("syncope", FAR), ("itching", FAR), ("scaling", FAR)}


def test_judged_ones_come_with_their_source() -> None:
    (negative,) = draw_negatives(CLINIC[0], KNOWN, 1, 0, difficulty=JUDGED)
    assert (negative.tail, negative.difficulty, negative.source, negative.source_id) == ("scaling", JUDGED, "a guideline", "7")
    (other,) = draw_negatives(CLINIC[2], KNOWN, 1, 0, difficulty=JUDGED)
    assert other.tail == "scaling", "no source judges eczema: as with near, what is true of its specialty comes first"


def test_of_three_negatives_one_is_kindred_one_is_not_and_one_is_judged() -> None:
    for preference in (NEAR, FAR, JUDGED):
        three = draw_negatives(CLINIC[0], KNOWN, 3, 0, difficulty=preference)
        assert {(n.tail, n.difficulty) for n in three} == {("syncope", FAR), ("itching", FAR), ("scaling", JUDGED)}


def test_kinship_weakens_no_rule() -> None:
    known = KnowledgeBase(CLINIC, also_true=(("angina", "syncope"),))
    assert set(drawn(NEAR, known=known)) == {("itching", FAR), ("scaling", FAR)}


def test_the_papers_draw_knows_only_the_lists() -> None:
    known = KnowledgeBase(CLINIC, also_true=(("angina", "syncope"),))
    assert {tail for tail, _ in drawn(PUBLISHED, known=known)} == {"syncope", "itching", "scaling"}


NEIGHBORS = KnowledgeBase(
    (
        fact("gout", "podagra", "rheumatology"),
        fact("rheumatoid arthritis", "ulnar deviation", "rheumatology"),
        fact("rheumatoid arthritis", "fatigue", "rheumatology"),
        fact("fibromyalgia", "allodynia", "rheumatology"),
        fact("osteoporosis", "kyphosis", "rheumatology"),
        fact("scurvy", "gingival bleeding", "nutrition"),
    )
)


def near(head: str, tail: str, known: KnowledgeBase = NEIGHBORS) -> bool:
    return difficulty_of(Fact(head, "symptoms", tail, positive=False), known) == NEAR


def test_what_is_true_of_a_differential_diagnosis_is_near() -> None:
    """Gout is taken for rheumatoid arthritis, and a tophus is a sign of a joint like podagra. Fibromyalgia is of the same
    specialty, no more; fatigue is common everywhere."""
    assert near("gout", "ulnar deviation")
    assert near("gout", "tophus"), "which no fact states: it is akin to podagra"
    assert not near("gout", "allodynia")
    assert not near("gout", "fatigue")
    assert not near("gout", "gingival bleeding")


def test_a_neighbor_is_one_under_any_of_its_names() -> None:
    known = replace(NEIGHBORS, synonyms=(("gout", "gouty arthritis"), ("ulnar deviation", "ulnar drift")))
    assert near("gouty arthritis", "ulnar drift", known)


def test_nearness_is_of_the_relation() -> None:
    assert difficulty_of(Fact("gout", "causes", "ulnar deviation", positive=False), NEIGHBORS) == FAR


def test_a_drug_of_the_same_use_is_near() -> None:
    known = KnowledgeBase((Fact("pyelonephritis", "drugs", "ceftriaxone"), Fact("hypothyroidism", "drugs", "levothyroxine")))
    assert difficulty_of(Fact("pyelonephritis", "drugs", "doxycycline", positive=False), known) == NEAR
    assert difficulty_of(Fact("pyelonephritis", "drugs", "levothyroxine", positive=False), known) == FAR


def test_names_that_are_in_no_list_are_near_by_the_heads_that_they_share() -> None:
    """As with closeness, what few have counts more.

    sign-b is true of P and Q, sign-a of P, Q and X. Of three signs P and Q have two each, which counts log(3/2)² = 0.164, and X
    one: log(3)² = 1.207. They are alike by 2 · 0.164 / (√(2 · 0.164) · √(2 · 0.164 + 1.207)) = 0.46; sign-c shares nothing.
    """
    rows = (("P", "sign-a"), ("P", "sign-b"), ("Q", "sign-a"), ("Q", "sign-b"), ("X", "sign-a"), ("Y", "sign-c"))
    known = KnowledgeBase(tuple(fact(f"syndrome {head}", tail) for head, tail in rows))
    assert near("syndrome X", "sign-b", known)
    assert not near("syndrome X", "sign-c", known)


def test_kindred_without_a_specialty() -> None:
    """What is true of a head that shares a tail; in a hierarchy the tails of the same branch."""
    alike = KnowledgeBase((fact("flu", "fever"), fact("measles", "fever"), fact("measles", "rash"), fact("gout", "swelling")))
    assert Kinship(alike).kindred_tails("symptoms", "flu") == {"fever", "rash"}
    known = KnowledgeBase(
        (fact("flu", "fever"), fact("gout", "chills"), fact("lice", "itching")),
        is_a=(("fever", "temperature"), ("chills", "temperature"), ("itching", "skin sign")),
    )
    assert Kinship(known).kindred_tails("symptoms", "flu") == {"fever", "chills", "temperature"}


def test_every_name_of_the_list_of_neighbors_stands_once_in_a_group() -> None:
    kinds = Counter(kind for kind, _ in neighbor_groups())
    assert set(kinds) == {"condition", "drug", "use", "finding", "common", "site", "procedure", "test", "cause"}
    for kind, names in neighbor_groups():
        assert 1 < len(names) == len({*map(name_key, names)}), (kind, names)


def test_a_files_negative_with_a_source_is_judged() -> None:
    assert difficulty_of(Fact("angina", "symptoms", "scaling", positive=False, source="WHO"), KNOWN) == JUDGED
    assert difficulty_of(Fact("angina", "symptoms", None, positive=False), KNOWN) is None


def auc(true: list[float], false: list[float]) -> float:
    ranks = rankdata([*true, *false])
    return float((ranks[: len(true)].sum() - len(true) * (len(true) + 1) / 2) / len(true) / len(false))


@pytest.mark.parametrize(
    ("name", "least", "most"), [("clinical-core", 0.09, 0.13), ("core-medicine", 0.07, 0.11), ("rare-core", 0.17, 0.24)]
)
def test_near_is_the_smaller_part_and_a_tail_does_not_tell_the_label(name: str, least: float, most: float) -> None:
    """What a reader has to think about: of 100 pairs called so by kinship alone, 14 made one pause (benchmarks/README.md)."""
    collection = load_bundled(name)
    draws = {seed: [(f, *draw_negatives(f, collection.known, 1, seed)) for f in collection.facts] for seed in range(6)}
    false = [group[1] for group in draws[0] if len(group) > 1]
    true = [group[0] for group in draws[0] if len(group) > 1]
    assert least <= np.mean([n.difficulty == NEAR for n in false]) <= most
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
        rules = SafetyRules(collection.known, one.relation, one.tail_type, one.head)
        for negative in draw_negatives(one, collection.known, 3, 1, difficulty=preference):
            assert rules.broken_rule(Tail(str(negative.tail), None)) is None


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
    near, far = made[NEAR], made[FAR]
    assert (near["negatives"], near["average_accuracy"].value, near["negative_accuracy"].value) == (1, 0.5, 0.0)
    assert (near["joint_accuracy"].value, near["pair_joint_accuracy"].value) == (0.5, 0.0)
    assert (far["average_accuracy"].value, far["pair_joint_accuracy"].value) == (1.0, 1.0)
