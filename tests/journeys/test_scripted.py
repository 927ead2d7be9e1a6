"""Runs whose every answer is known beforehand, through the store and the report: each figure is worked by hand here.

Signs: + right, - wrong, ? unreadable (answered, counted as wrong), ! failed (never counted). The eight variants stand in
their order: none inv ins inv+ins, then the same denied.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from records import report_record
from scripted import FAILED, RIGHT, Key, ScriptedModel, answer_run, spread_signs, statement_key
from small_facts import write_csv

from medfact.metrics import averages
from medfact.metrics.measures import TypeAccuracy
from medfact.runs.events import Finished
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.statements import IMPLICATIONS, TRUTH_PRESERVING
from medfact.store import COMPLETE, Asked, Store

Row = tuple[str, str, str, str]
"""Head, relation, tail and the semantic type of the tail."""

FACTS: Sequence[Row] = (
    ("gout", "symptoms", "joint pain", "Sign"),
    ("asthma", "symptoms", "wheeze", "Sign"),
    ("influenza", "symptoms", "fever", "Finding; Sign"),
    ("rosacea", "symptoms", "itch", "Finding; Sign"),
    ("gout", "therapeutic drugs", "allopurinol", "Drug"),
    ("asthma", "therapeutic drugs", "salbutamol", "Drug"),
    ("psoriasis", "therapeutic drugs", "methotrexate", "Antimetabolite"),
)
"""Seven positive facts. Each type has two tails, so a false partner has the other one; the last type has a single tail."""

SIGNS = {
    # ------------------------------------------ right, scored; (head, tail) of a positive fact and then of its false partner
    ("gout", "joint pain"): "++++ ++++",  # 8 of 8
    ("gout", "wheeze"): "++++ ++++",  # 8 of 8
    ("asthma", "wheeze"): "++-+ +++?",  # 6 of 8
    ("asthma", "joint pain"): "---- ----",  # 0 of 8
    ("influenza", "fever"): "++++ +++!",  # 7 of 7
    ("influenza", "itch"): "++++ ++++",  # 8 of 8
    ("rosacea", "itch"): "+-++ -+++",  # 6 of 8
    ("rosacea", "fever"): "+?++ ++-+",  # 6 of 8
    ("gout", "allopurinol"): "++++ ++++",  # 8 of 8
    ("gout", "salbutamol"): "++++ ++-+",  # 7 of 8
    ("asthma", "salbutamol"): "-+++ ++++",  # 7 of 8
    ("asthma", "allopurinol"): "!-++ ++++",  # 6 of 7
    ("psoriasis", "methotrexate"): "+++- +++-",  # 6 of 8
}


def facts_file(folder: Path, facts: Sequence[Row]) -> Path:
    columns = ("head", "relation", "tail", "tail_type")
    return write_csv(folder / "facts.csv", [dict(zip(columns, row, strict=True)) for row in facts])


def run_of(
    folder: Path, facts: Sequence[Row], signs: Mapping[Key, str], spec: Mapping[str, Any], **p: Mapping[Key, float]
) -> tuple[dict[str, Any], list[Asked]]:
    """The report of a run of these facts, and its statements with their answers."""
    store = Store(f"sqlite:///{folder / 'runs.db'}")
    run = start(RunSpec(model="scripted", facts=str(facts_file(folder, facts)), **spec), store)
    finished = answer_run(run, store, ScriptedModel.for_run(run, store, signs, **p))[-1]
    assert isinstance(finished, Finished)
    assert finished.state == COMPLETE
    return report_record(store, run), store.answers.asked(run)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], list[Asked]]:
    return run_of(tmp_path_factory.mktemp("scripted"), FACTS, spread_signs(SIGNS, list(IMPLICATIONS)), {})


@pytest.fixture(scope="module")
def made(run: tuple[dict[str, Any], list[Asked]]) -> dict[str, Any]:
    return run[0]


def is_(estimate: Mapping[str, Any], right: int, n: int) -> None:
    """A share of n, without an interval where the heads are too few to say anything of others."""
    assert (estimate["value"], estimate["n"]) == (pytest.approx(right / n), n)
    assert estimate["low"] is estimate["high"] is None or 0 <= estimate["low"] <= estimate["value"] <= estimate["high"] <= 1


def all_are(estimates: Mapping[str, Mapping[str, Any]], expected: Mapping[str, tuple[int, int]]) -> None:
    """The same shares under the same names, in the same order."""
    assert list(estimates) == list(expected)
    for name, (right, n) in expected.items():
        assert (estimates[name]["value"], estimates[name]["n"]) == (pytest.approx(right / n), n), name


# ------------------------------------------------------------------------- the four fates, and the three shares


def test_the_script_is_what_is_on_disk(run: tuple[dict[str, Any], list[Asked]]) -> None:
    signs = spread_signs(SIGNS, list(IMPLICATIONS))
    seen = {}
    for item in run[1]:
        given = item.answer
        assert given is not None
        if given.failure is not None:
            seen[statement_key(item)] = FAILED
        elif given.answer is None:
            seen[statement_key(item)] = "?"
        else:
            seen[statement_key(item)] = RIGHT if given.answer is item.statement.label else "-"
    assert seen == signs


def test_counts(made: dict[str, Any]) -> None:
    # 7 positive facts, 6 with a false partner (methotrexate is the only one of its type): 13 facts, 13 · 8 = 104 statements.
    # Failed: influenza–fever 1, asthma–allopurinol 1. Unreadable: asthma–wheeze 1, rosacea–fever 1.
    assert (made["facts"], made["statements"]) == (13, 104)
    assert (made["answered"], made["unreadable"], made["failed"]) == (104 - 2, 2, 2)
    assert any("1 fact has no safe false partner" in note for note in made["notes"])


SHARES = {
    # 8 + 8 + 6 + 0 + 7 + 8 + 6 + 6 + 8 + 7 + 7 + 6 + 6 = 83
    "average_accuracy": (83, 102),
    # Complete: all but influenza–fever and asthma–allopurinol, 11. All right: both of gout's symptoms, influenza–itch and
    # gout–allopurinol, 4.
    "joint_accuracy": (4, 11),
    # Pairs: gout's symptom (both all right), asthma's symptom (not), influenza's (incomplete), rosacea's (not), gout's drug
    # (the partner is not), asthma's drug (incomplete), psoriasis' (no partner): 1 of 4.
    "pair_joint_accuracy": (1, 4),
    # Affirmed forms of false facts: symptoms 4 · 4 = 16, drugs 4 + 3 (one failed) = 7. Affirmed: all 4 of asthma–joint pain;
    # 1 of asthma–allopurinol. (The unreadable one of rosacea–fever affirms nothing.)
    "false_affirmation": (4 + 1, 16 + 7),
    # Affirmed forms of true facts: symptoms 4 · 4 = 16, drugs 3 · 4 = 12. Denied: asthma–wheeze 1, rosacea–itch 1;
    # asthma–salbutamol 1, psoriasis–methotrexate 1.
    "false_denial": (2 + 2, 16 + 12),
    # 8 + 6 + 7 + 6 + 8 + 7 + 6 = 48 of 56 - 1
    "positive_accuracy": (48, 55),
    # 8 + 0 + 8 + 6 + 7 + 6 = 35 of 48 - 1
    "negative_accuracy": (35, 47),
}


@pytest.mark.parametrize("figure", SHARES)
def test_shares(made: dict[str, Any], figure: str) -> None:
    is_(made[figure], *SHARES[figure])


def test_the_direction_of_harm_by_relation(made: dict[str, Any]) -> None:
    all_are(made["false_affirmation"]["by_relation"], {"symptoms": (4, 16), "therapeutic drugs": (1, 7)})
    all_are(made["false_denial"]["by_relation"], {"symptoms": (2, 16), "therapeutic drugs": (2, 12)})


def test_chance(made: dict[str, Any]) -> None:
    # 2^-8 for a fact, 2^-16 for a fact and one partner
    assert made["chance"] == {"average_accuracy": 0.5, "joint_accuracy": 1 / 256, "pair_joint_accuracy": 1 / 65_536}


# ------------------------------------------------------------------------- yes-bias and the direction of harm


def test_yes_bias(made: dict[str, Any]) -> None:
    # Readable: 102 - 2 = 100. True answers in the order of SIGNS, affirmed + denied forms: gout 4 + 0, 0 + 4; asthma 3 + 0,
    # 4 + 0; influenza 4 + 0, 0 + 4; rosacea 3 + 1, 0 + 3; gout's drug 4 + 0, 0 + 3; asthma's 3 + 0, 1 + 4; psoriasis 3 + 1:
    # 4 + 4 + 3 + 4 + 4 + 4 + 4 + 3 + 4 + 3 + 3 + 5 + 4 = 49.
    # True labels: 4 of each fact's 8, 13 · 4 = 52; none of the four unreadable and failed statements has a True label (denied
    # forms of two true facts, affirmed forms of two false ones).
    bias = made["yes_bias"]
    assert (bias["value"], bias["n"]) == (pytest.approx(49 / 100 - 52 / 100), 100)
    assert bias["low"] is bias["high"] is None


# ------------------------------------------------------------------------- averages over parts


def test_means_and_differences_of_parts(made: dict[str, Any]) -> None:
    assert made["macro_accuracy"]["value"] == pytest.approx((49 / 63 + 34 / 39) / 2)
    assert made["accuracy_gap"]["value"] == pytest.approx(48 / 55 - 35 / 47)
    # one negative per positive: 1 : 1
    assert made["mkj_accuracy"]["value"] == pytest.approx((48 / 55 + 35 / 47) / 2)
    assert made["accuracy_gap"]["n"] == made["mkj_accuracy"]["n"] == made["macro_accuracy"]["n"] == 102


BY_VARIANT = {
    "none": (10, 12),  # 13 facts less the failed one; wrong: asthma–joint pain, asthma–salbutamol
    "inv": (9, 13),  # wrong: asthma–joint pain, rosacea–itch, rosacea–fever (unreadable), asthma–allopurinol
    "ins": (11, 13),  # wrong: asthma–wheeze, asthma–joint pain
    "inv+ins": (11, 13),  # wrong: asthma–joint pain, psoriasis–methotrexate
    "dn": (11, 13),  # wrong: asthma–joint pain, rosacea–itch
    "inv+dn": (12, 13),  # wrong: asthma–joint pain
    "ins+dn": (10, 13),  # wrong: asthma–joint pain, rosacea–fever, gout–salbutamol
    "inv+ins+dn": (9, 12),  # less the failed one; wrong: asthma–wheeze (unreadable), asthma–joint pain, psoriasis–methotrexate
}


PARTS = {
    # symptoms: 8 + 8 + 6 + 0 + 7 + 8 + 6 + 6 = 49 of 64 - 1; drugs: 8 + 7 + 7 + 6 + 6 = 34 of 40 - 1
    "by_relation": {"symptoms": (49, 63), "therapeutic drugs": (34, 39)},
    "by_variant": BY_VARIANT,
    "by_form": {"none": (10 + 11, 12 + 13), "inv": (9 + 12, 26), "ins": (11 + 10, 26), "inv+ins": (11 + 9, 13 + 12)},
    # affirmed: 10 + 9 + 11 + 11 = 41 of 52 - 1; negated: 11 + 12 + 10 + 9 = 42 of 52 - 1
    "by_polarity": {"affirmed": (41, 51), "negated": (42, 51)},
    # none 10; + dn 11; + inv 9, inv+dn 12; + the four of a patient's case: 11, 11, 10, 9
    "by_implications": {"none": (10, 12), "+dn": (21, 25), "+dn+inv": (42, 51), "+all": (83, 102)},
    # "Finding; Sign" counts for both. Finding: 7 + 8 + 6 + 6 = 27 of 32 - 1. Sign: that, and 8 + 8 + 6 + 0 = 22 of 32.
    # Drug: 8 + 7 + 7 + 6 = 28 of 32 - 1.
    "by_tail_type": {"Antimetabolite": (6, 8), "Drug": (28, 31), "Finding": (27, 31), "Sign": (27 + 22, 31 + 32)},
}


@pytest.mark.parametrize("group", PARTS)
def test_accuracies_of_parts(made: dict[str, Any], group: str) -> None:
    assert [sum(column) for column in zip(*BY_VARIANT.values(), strict=True)] == [83, 102]
    all_are(made[group], PARTS[group])


def test_types_of_few_facts_are_not_ranked(made: dict[str, Any]) -> None:
    # 6/8 = 0.750, 49/63 = 0.778, 27/31 = 0.871, 28/31 = 0.903: but none has 20 facts
    assert {name: e["facts"] for name, e in made["by_tail_type"].items()} == {
        "Antimetabolite": 1,
        "Drug": 4,
        "Finding": 4,
        "Sign": 8,
    }
    assert made["error_prone"] == {"most": [], "least": []}


# ------------------------------------------------------------------------- curves over the number of statements


def test_curves_carry_the_same_values(made: dict[str, Any]) -> None:
    names = {
        "joint_any_order": "joint_accuracy_at",
        "joint_ordered": "joint_accuracy_ordered",
        "average_ordered": "average_accuracy_ordered",
    }
    assert set(made["curves"]) == set(names)
    for curve, values in names.items():
        assert [point["value"] for point in made["curves"][curve]] == made[values]
    assert [point["n"] for point in made["curves"]["average_ordered"]] == [11 * k for k in range(1, 9)]
    assert {point["n"] for name in ("joint_any_order", "joint_ordered") for point in made["curves"][name]} == {11}


# ------------------------------------------------------------------------- coherence, no probabilities


def test_coherence(made: dict[str, Any]) -> None:
    # 13 facts · 4 forms = 52, less four with an unreadable or failed half (asthma–wheeze inv+ins, influenza–fever inv+ins,
    # rosacea–fever inv, asthma–allopurinol none): 48. Both affirmed: rosacea–itch none (the truth, and its negation);
    # asthma–allopurinol inv (a falsehood, and its negation). Both denied: asthma–wheeze ins, rosacea–itch inv, rosacea–fever
    # ins, gout–salbutamol ins, asthma–salbutamol none. (asthma–joint pain and psoriasis inv+ins: wrong, but coherent.)
    told = made["coherence"]
    assert told == {
        "n": 48,
        "affirms_both": pytest.approx(2 / 48),
        "denies_both": pytest.approx(5 / 48),
        "probability_gap": None,
        "couples": [],
    }


def test_without_probabilities_there_is_no_calibration(made: dict[str, Any]) -> None:
    told = made["calibration"]
    assert told["n"] == 0
    assert {name: told[name] for name in ("coverage", "ece", "ece_floor", "ece_confidence", "brier")} == dict.fromkeys(
        ("coverage", "ece", "ece_floor", "ece_confidence", "brier")
    )


# ------------------------------------------------------------------------- P(True)

TWO = FACTS[:2]
"""gout–joint pain and asthma–wheeze, each with the other's tail as its false partner: 4 facts, 32 statements."""

SIGNS_OF_TWO = {
    ("gout", "joint pain"): "++++ ++-+",
    ("gout", "wheeze"): "++-+ ++++",
    ("asthma", "wheeze"): "++?+ ++!+",
    ("asthma", "joint pain"): "---- ----",
}
NO = math.nan
P_OF_TWO = {
    ("gout", "joint pain"): (0.97, 0.97, 0.8, 0.8, 0.03, 0.03, 0.8, 0.05),  # labels T T T T F F F F
    ("gout", "wheeze"): (0.03, 0.05, 0.8, 0.2, 1.0, 0.95, 0.97, 0.8),  # labels F F F F T T T T
    ("asthma", "wheeze"): (0.97, 0.8, 0.5, NO, 0.03, 0.2, NO, 0.05),  # labels T T T T F F F F; one without, one failed
    ("asthma", "joint pain"): (0.97, 0.97, 0.97, 0.97, 0.03, 0.03, 0.03, 0.03),  # labels F F F F T T T T
}
MASS_OF_TWO = {
    ("asthma", "wheeze", "inv+dn"): 0.4,  # too little: P(True) 0.2 is left out
    ("asthma", "wheeze", "inv+ins+dn"): 0.5,  # just enough
    ("asthma", "joint pain", "inv+ins"): 0.3,  # too little: P(True) 0.97 is left out
    ("gout", "joint pain", "none"): 0.99,
}


@pytest.fixture(scope="module")
def probable(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    keys = list(IMPLICATIONS)
    p_true = {(*fact, keys[i]): p for fact, row in P_OF_TWO.items() for i, p in enumerate(row) if not math.isnan(p)}
    made, _ = run_of(
        tmp_path_factory.mktemp("probable"), TWO, spread_signs(SIGNS_OF_TWO, keys), {}, p_true=p_true, p_mass=MASS_OF_TWO
    )
    return made


def test_calibration_bins(probable: dict[str, Any]) -> None:
    # P(True) k/20 opens bin k. The rows of P_OF_TWO one after the other:
    expected = {
        0: (8, 0.03, 4 / 8),  # 0.03: 2 F, 1 F, 1 F, 4 T
        1: (3, 0.05, 0.0),  # 0.05: 1 F, 1 F, 1 F (of mass 0.5)
        4: (1, 0.2, 0.0),  # 0.2: 1 F; another is left out
        10: (1, 0.5, 1.0),  # 0.5: 1 T, whose answer was unreadable
        16: (6, 0.8, 4 / 6),  # 0.8: 2 T and 1 F; 1 F and 1 T; 1 T
        19: (9, (7 * 0.97 + 0.95 + 1.0) / 9, 6 / 9),  # 0.97: 2 T, 1 T, 1 T, 3 F; 0.95: 1 T; 1.0: 1 T, in the last bin
    }
    bins = probable["calibration"]["bins"]
    assert [(b["low"], b["high"]) for b in bins] == [(pytest.approx(i / 20), pytest.approx((i + 1) / 20)) for i in range(20)]
    for place, b in enumerate(bins):
        if place in expected:
            assert (b["n"], b["mean_p_true"], b["positive_rate"]) == pytest.approx(expected[place]), place
        else:
            assert (b["n"], b["mean_p_true"], b["positive_rate"]) == (0, None, None), place


def test_calibration_error_brier_and_coverage(probable: dict[str, Any]) -> None:
    made = probable["calibration"]
    # 32 statements less the one without P(True) and the failed one are 30; 2 of too little mass are left out
    assert (made["n"], made["coverage"]) == (28, pytest.approx(28 / 30))
    # Σ |sum of P(True) - True labels| by bin: |0.24 - 4| + |0.15 - 0| + |0.2 - 0| + |0.5 - 1| + |4.8 - 4| + |8.74 - 6|
    assert made["ece"] == pytest.approx((3.76 + 0.15 + 0.2 + 0.5 + 0.8 + 2.74) / 28)
    # (p - label)² by bin: 4 · 0.0009 + 4 · 0.9409 = 3.7672; 3 · 0.0025 = 0.0075; 0.04; 0.25; 4 · 0.04 + 2 · 0.64 = 1.44;
    # 4 · 0.0009 + 0.0025 + 0 + 3 · 0.9409 = 2.8288
    assert made["brier"] == pytest.approx((3.7672 + 0.0075 + 0.04 + 0.25 + 1.44 + 2.8288) / 28)


def test_calibration_error_of_confidence(probable: dict[str, Any]) -> None:
    # max(p, 1 - p): 0.97 (15 of them: 8 of 0.03, 7 of 0.97), 0.95 (4: 3 of 0.05, 1 of 0.95) and 1.0 in the last bin: sum
    # 14.55 + 3.8 + 1 = 19.35; right: gout–joint pain 5, gout–wheeze 5, asthma–wheeze 3, asthma–joint pain 0.
    # 0.8 (7: 6 of 0.8, 1 of 0.2): sum 5.6; right: gout–joint pain 2, gout–wheeze 2, asthma–wheeze 1.
    # 0.5: sum 0.5; unreadable, so not right.
    expected = (abs(19.35 - 13) + abs(5.6 - 5) + abs(0.5 - 0)) / 28
    assert probable["calibration"]["ece_confidence"] == pytest.approx(expected)


def test_coherence_of_probabilities(probable: dict[str, Any]) -> None:
    # Readable in both polarities: 16 forms less asthma–wheeze ins. Both affirmed: gout–joint pain ins, gout–wheeze ins.
    # |p + p' - 1|: 0, 0, 0.6, 0.85 - 1; 0.03, 0, 0.77, 0; 0, 0, none, none; 0, 0, 0, 0
    told = probable["coherence"]
    assert (told["n"], told["affirms_both"], told["denies_both"]) == (15, pytest.approx(2 / 15), 0.0)
    # two of these pairs hold a P(True) of too little mass (asthma–wheeze inv, asthma–joint pain inv+ins), both of 0: 12 remain
    assert told["probability_gap"] == pytest.approx((0.6 + 0.15 + 0.03 + 0.77) / 12)


def floor_of(folder: Path, p: float) -> float:
    signs = spread_signs(SIGNS_OF_TWO, list(IMPLICATIONS))
    made, _ = run_of(folder, TWO, dict.fromkeys(signs, RIGHT), {}, p_true=dict.fromkeys(signs, p))
    return float(made["calibration"]["ece_floor"])


def test_the_calibration_error_of_a_perfect_model(tmp_path: Path) -> None:
    # P(True) 1: a perfect model is never wrong. P(True) 1/2 at 32 statements: mean of |k/32 - 1/2| with k from 32 fair coins;
    # 100 simulated runs have a standard error of about 0.0053.
    assert floor_of(tmp_path, 1.0) == 0.0
    (tmp_path / "half").mkdir()
    expected = sum(math.comb(32, k) * abs(k / 32 - 0.5) for k in range(33)) / 2**32
    assert expected == pytest.approx(0.0700, abs=1e-4)
    assert floor_of(tmp_path / "half", 0.5) == pytest.approx(expected, abs=4 * 0.0053)


# ------------------------------------------------------------------------- every order of the eight, TPEval's too

FEW = {
    ("gout", "joint pain"): "++++ ++++",
    ("gout", "wheeze"): "+-++ ?+++",
    ("asthma", "wheeze"): "++-- +--+",
    ("asthma", "joint pain"): "---+ ----",
}
MORE = {
    ("influenza", "fever"): "++++ +++!",  # incomplete: in none of the curves
    ("influenza", "itch"): "+++? -+++",
    ("rosacea", "itch"): "++++ ++++",
    ("rosacea", "fever"): "?-++ ++++",
}


@pytest.mark.parametrize(("protocol", "variants"), [("medfact", IMPLICATIONS), ("tpeval", TRUTH_PRESERVING)])
def test_curves_counted_out(protocol: str, variants: Mapping[str, object], tmp_path: Path) -> None:
    """Any order: the mean over all 8! = 40,320 orders. Fixed order: a plain loop."""
    made, asked = run_of(tmp_path, FACTS[:4], spread_signs(FEW | MORE, list(variants)), {"protocol": protocol})
    assert list(made["by_variant"]) == list(variants)
    rows: dict[str, dict[str, bool]] = {}
    for item in asked:
        if item.answer is not None and item.answer.failure is None:
            right = item.answer.answer is item.statement.label
            rows.setdefault(item.statement.fact.fact_id, {})[item.statement.variant] = right
    complete = [[row[variant] for variant in variants] for row in rows.values() if len(row) == 8]
    assert len(complete) == 7

    orders = np.array(list(permutations(range(8))))
    assert len(orders) == 40_320
    unbroken = np.logical_and.accumulate(np.array(complete)[:, orders], axis=2)  # fact, order, number of statements
    assert made["joint_accuracy_at"] == pytest.approx(unbroken.mean(axis=(0, 1)))
    # by hand, with two of the eight: right 8, 6, 4, 1, 6, 8, 6 → (1 + 15/28 + 6/28 + 0 + 15/28 + 1 + 15/28)/7
    assert sorted(sum(row) for row in complete) == [1, 4, 6, 6, 6, 8, 8]
    assert made["joint_accuracy_at"][1] == pytest.approx((2 + 51 / 28) / 7)

    for k in range(1, 9):
        assert made["joint_accuracy_ordered"][k - 1] == pytest.approx(sum(all(row[:k]) for row in complete) / 7)
        assert made["average_accuracy_ordered"][k - 1] == pytest.approx(sum(sum(row[:k]) for row in complete) / (7 * k))
    # by hand: not right first at none (2), inv (1), ins (1), inv+ins (1); two are right to the end
    assert made["joint_accuracy_ordered"] == pytest.approx([n / 7 for n in (5, 4, 3, 2, 2, 2, 2, 2)])


def test_tpeval_has_its_own_forms_and_no_implications(tmp_path: Path) -> None:
    made, _ = run_of(tmp_path, FACTS[:4], spread_signs(FEW | MORE, list(TRUTH_PRESERVING)), {"protocol": "tpeval"})
    assert (made["method"], made["by_implications"]) == ("TPEval", {})
    # S1: wrong asthma–joint pain, rosacea–fever (unreadable). S2: gout–wheeze, asthma–joint pain, rosacea–fever.
    # S3: asthma–wheeze, asthma–joint pain. S4: asthma–wheeze, influenza–itch (unreadable).
    # S5: gout–wheeze (unreadable), asthma–joint pain, influenza–itch. S6, S7: asthma's two. S8: asthma–joint pain; one failed.
    by_variant = {"S1": 6, "S2": 5, "S3": 6, "S4": 6, "S5": 5, "S6": 6, "S7": 6}
    all_are(made["by_variant"], {**{key: (right, 8) for key, right in by_variant.items()}, "S8": (6, 7)})
    all_are(made["by_form"], {"S1": (11, 16), "S2": (11, 16), "S3": (12, 16), "S4": (12, 15)})
    all_are(made["by_polarity"], {"affirmed": (23, 32), "negated": (23, 31)})
    is_(made["average_accuracy"], 46, 63)
    assert made["chance"]["pair_joint_accuracy"] == 1 / 65_536


# ------------------------------------------------------------------------- MKJ: one statement a fact, three partners

TYPES = 12
MKJ_FACTS: Sequence[Row] = tuple(
    (f"disease{t:02}{i}", "symptoms", f"sign{t:02}{i}", f"T{t:02}") for t in range(TYPES) for i in range(4)
)
"""12 types of 4 facts each: the false partners of a fact have the three other tails of its type. 48 + 144 statements."""


def mkj_signs() -> dict[Key, str]:
    """Of type t, the first t of its 16 statements are wrong, the 4 of positive facts first; one negative of T00 failed."""
    signs: dict[Key, str] = {}
    for t in range(TYPES):
        heads, tails = [f"disease{t:02}{i}" for i in range(4)], [f"sign{t:02}{i}" for i in range(4)]
        positive = list(zip(heads, tails, strict=True))
        negative = [(head, tail) for head in heads for tail in tails if (head, tail) not in positive]
        signs |= {(*fact, "none"): "-" if place < t else "+" for place, fact in enumerate([*positive, *negative])}
    return signs | {("disease000", "sign001", "none"): "!"}


def test_mkj(tmp_path: Path) -> None:
    made, _ = run_of(tmp_path, MKJ_FACTS, mkj_signs(), {"protocol": "mkj"})
    assert (made["facts"], made["statements"], made["answered"], made["failed"]) == (192, 192, 191, 1)
    # Positive facts wrong: 0 + 1 + 2 + 3 + 8 · 4 = 38 of 48. Negative ones: 1 + 2 + … + 7 = 28 of 144 - 1.
    is_(made["positive_accuracy"], 10, 48)
    is_(made["negative_accuracy"], 115, 143)
    is_(made["average_accuracy"], 125, 191)
    assert made["mkj_accuracy"]["value"] == pytest.approx((10 / 48 + 3 * 115 / 143) / 4)
    assert made["accuracy_gap"]["value"] == pytest.approx(10 / 48 - 115 / 143)
    # True answers: 10 to true statements, 28 to false ones; True labels: 48; of 191
    assert made["yes_bias"]["value"] == pytest.approx((10 + 28 - 48) / 191)
    is_(made["false_affirmation"], 28, 143)
    is_(made["false_denial"], 38, 48)
    # One statement a fact: joint accuracy is the average. Pairs with all four right: T00 3 (of 3: one is incomplete), T01 3,
    # T02 2, T03 1, none of the others: 9 of 47.
    is_(made["joint_accuracy"], 125, 191)
    is_(made["pair_joint_accuracy"], 9, 47)
    assert made["chance"] == {"average_accuracy": 0.5, "joint_accuracy": 0.5, "pair_joint_accuracy": 1 / 16}
    for name in ("joint_accuracy_at", "joint_accuracy_ordered", "average_accuracy_ordered"):
        assert made[name] == [pytest.approx(125 / 191)]
    all_are(made["by_implications"], {"none": (125, 191)})
    all_are(made["by_polarity"], {"affirmed": (125, 191)})
    assert made["coherence"]["n"] == 0


def of_type(value: float, half: float, facts: int = 20) -> TypeAccuracy:
    return TypeAccuracy(value, value - half, value + half, 4 * facts, facts)


def test_only_types_shown_apart_are_most_or_least_error_prone() -> None:
    """Of six types three at most are on each side. Intervals for 15 pairs are 2.935 / 1.960 = 1.50 times as wide: .92 to .98,
    .84 to .96, .50 to 1.10; .40 to 1.00, .45 to .75, .25 to .55. The third of each side meets the other end's.
    """
    six = {"A": (0.95, 0.02), "B": (0.90, 0.04), "C": (0.80, 0.20), "D": (0.70, 0.20), "E": (0.60, 0.10), "F": (0.40, 0.10)}
    types = {name: of_type(*of) for name, of in six.items()}
    assert averages.error_prone(types) == {"most": ("F", "E"), "least": ("A", "B")}
    few = averages.error_prone({**types, "F": of_type(0.40, 0.10, facts=19)})
    assert few == {"most": ("E",), "least": ("A", "B")}, "under 20 facts: not ranked; of five types two are on each side"


def test_a_type_is_on_one_side_alone() -> None:
    """The best of five types is never called error-prone, and one type alone is neither."""
    five = {name: of_type(0.933 - 0.1 * place, 0.01) for place, name in enumerate("ABCDE")}
    assert averages.error_prone(five) == {"most": ("E", "D"), "least": ("A", "B")}
    assert averages.error_prone({"A": five["A"]}) == {"most": (), "least": ()}
    alike = {name: of_type(0.8 + place / 100, 0.05) for place, name in enumerate("ABCDE")}
    assert averages.error_prone(alike) == {"most": (), "least": ()}, "no order is shown"


# ------------------------------------------------------------------------- nothing to measure

FIGURES = (
    "average_accuracy",
    "joint_accuracy",
    "pair_joint_accuracy",
    "macro_accuracy",
    "yes_bias",
    "false_affirmation",
    "false_denial",
    "positive_accuracy",
    "negative_accuracy",
    "accuracy_gap",
    "mkj_accuracy",
)


def test_where_every_call_failed_nothing_has_a_value(tmp_path: Path) -> None:
    signs = spread_signs(SIGNS_OF_TWO, list(IMPLICATIONS))
    made, _ = run_of(tmp_path, TWO, dict.fromkeys(signs, FAILED), {})
    assert (made["statements"], made["facts"], made["answered"], made["failed"]) == (32, 4, 0, 32)
    for name in FIGURES:
        assert (made[name]["value"], made[name]["low"], made[name]["high"], made[name]["n"]) == (None, None, None, 0), name
    assert (made["joint_accuracy_at"], made["joint_accuracy_ordered"], made["average_accuracy_ordered"]) == (None, None, None)
    assert made["error_prone"] == {"most": [], "least": []}
    assert {e["value"] for group in ("by_variant", "by_relation", "by_tail_type") for e in made[group].values()} == {None}


def test_without_false_partners_there_is_no_pair_to_score_by_chance_or_otherwise(tmp_path: Path) -> None:
    signs = {
        key: "+" for key in spread_signs(SIGNS, list(IMPLICATIONS)) if (key[0], key[1]) in {(row[0], row[2]) for row in FACTS}
    }
    made, _ = run_of(tmp_path, FACTS, signs, {"negatives": 0})
    assert made["pair_joint_accuracy"]["value"] is None
    assert made["chance"]["pair_joint_accuracy"] is None
    assert made["accuracy_gap"]["value"] is made["mkj_accuracy"]["value"] is None
    is_(made["joint_accuracy"], 7, 7)


def test_a_files_own_false_facts_without_a_partner_make_no_pair(tmp_path: Path) -> None:
    rows = [
        {"head": "gout", "relation": "symptoms", "tail": "joint pain", "positive": "true"},
        {"head": "gout", "relation": "symptoms", "tail": "itch", "positive": "false"},
    ]
    store = Store(f"sqlite:///{tmp_path / 'runs.db'}")
    run = start(RunSpec(model="scripted", facts=str(write_csv(tmp_path / "facts.csv", rows)), negatives=0), store)
    signs = spread_signs({("gout", "joint pain"): "++++ ++++", ("gout", "itch"): "++++ ++++"}, list(IMPLICATIONS))
    answer_run(run, store, ScriptedModel.for_run(run, store, signs))
    made = report_record(store, run)
    assert (made["facts"], made["pair_joint_accuracy"]["value"]) == (2, None)
    assert made["chance"]["pair_joint_accuracy"] is None
