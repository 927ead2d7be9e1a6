"""One diagnosis a fact: rules over all 256 patterns and both labels, shares by hand, and models with a known defect."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from recorded import complete_run
from records import make_records

from medfact.metrics import Records
from medfact.metrics.diagnosis import (
    BLIND,
    CASE,
    CHANCE,
    DIAGNOSES,
    DIRECTION,
    MASTERED,
    MIXED,
    NO,
    OPPOSITE,
    PATTERNS,
    TAKES_FALSE,
    TAKES_TRUE,
    YES,
    _facts_of,
    _independent,
    _linear_excess,
    diagnose,
    diagnosis,
    meaning,
)
from medfact.results import findings
from medfact.results.report import report_of
from medfact.results.text import report_text
from medfact.spec import RunSpec
from medfact.statements import IMPLICATIONS
from medfact.store import Store

KEYS = tuple(IMPLICATIONS)


def right(wrong_in: str) -> list[bool]:
    """All right but for these variants."""
    wrong = wrong_in.split()
    assert set(wrong) <= set(KEYS)
    return [key not in wrong for key in KEYS]


DENIED = "dn inv+dn ins+dn inv+ins+dn"
AFFIRMED = "none inv ins inv+ins"
BACKWARD = "inv inv+ins inv+dn inv+ins+dn"
IN_PATIENT = "ins inv+ins ins+dn inv+ins+dn"


@pytest.mark.parametrize(
    ("wrong", "positive", "expected"),
    [
        ("", True, MASTERED),
        (f"{AFFIRMED} {DENIED}", True, OPPOSITE),
        (f"{AFFIRMED} inv+dn ins+dn inv+ins+dn", False, OPPOSITE),
        (DENIED, True, BLIND),
        (DENIED, False, BLIND),
        ("inv+dn ins+dn inv+ins+dn", True, BLIND),
        (AFFIRMED, True, NO),
        (AFFIRMED, False, YES),
        (BACKWARD, True, DIRECTION),
        ("none ins dn ins+dn", True, DIRECTION),
        (IN_PATIENT, False, CASE),
        ("inv+ins", True, MIXED),
        ("inv+ins inv+ins+dn", True, MIXED),
        ("none dn inv+ins", True, CHANCE),
    ],
)
def test_diagnoses_by_hand(wrong: str, positive: bool, expected: str) -> None:
    assert diagnose(right(wrong), positive) == expected


def test_one_fact_does_not_tell_who_overlooks_not_from_who_says_the_same_to_everything() -> None:
    """Eight times “false” about a false fact: right wherever it is affirmed, wrong wherever it is denied."""
    assert diagnose(right(DENIED), positive=False) == BLIND
    assert meaning(BLIND, positive=False).startswith("it says “false” to this false fact")
    assert meaning(BLIND, positive=True).startswith("it says “true” to this true fact")
    assert meaning(NO, positive=True) == DIAGNOSES[NO]


@pytest.mark.parametrize("positive", [True, False])
def test_the_rules_are_exclusive_and_exhaustive(positive: bool) -> None:
    """Over all 256 patterns, the four sides of four that a fact may be bound to never hold together, and each has a name."""
    sides = {
        name: [key in wrong.split() for key in KEYS] for name, wrong in {"d": DENIED, "b": BACKWARD, "p": IN_PATIENT}.items()
    }
    found: Counter[str] = Counter()
    for pattern in product((False, True), repeat=8):
        bound = [
            (name, to)
            for name, side in sides.items()
            for to in (True, False)
            if all(r for r, s in zip(pattern, side, strict=True) if s is to)
            and sum(r for r, s in zip(pattern, side, strict=True) if s is not to) <= 1
        ]
        assert len(bound) <= 1
        found[diagnose(pattern, positive)] += 1
    never = YES if positive else NO
    assert dict(found) == {
        MASTERED: 1,
        OPPOSITE: 9,  # none or one right
        BLIND: 5,  # four right here, none or one there
        (NO if positive else YES): 5,
        DIRECTION: 10,
        CASE: 10,
        CHANCE: 56 + 70 + 56 - 6 - 24,  # three to five right, less the six with 4 + 0 and the 24 with 4 + 1
        MIXED: 28 + 28 + 8,
    }
    assert never not in found
    assert len(PATTERNS) == 256


def facts(patterns: list[tuple[bool, list[bool]]], heads: int | None = None) -> Records:
    """Records of these facts: whether each holds, and which of its answers are right. heads: how many share the facts."""
    rows = []
    for number, (positive, rights) in enumerate(patterns):
        labels = [positive != IMPLICATIONS[key].negated for key in KEYS]
        signs = "".join("T" if label is is_right else "F" for label, is_right in zip(labels, rights, strict=True))
        name = f"fact{number}" if positive else f"fact{number}'"
        rows.append((name, f"head {number % (heads or len(patterns))}", f"tail {number}", signs))
    return make_records(*rows)


def test_shares_and_excess_by_hand() -> None:
    """Fifty true facts mastered and fifty with all denied statements wrong. Each affirmed variant is right in 100 of 100, each
    denied one in 50 of 100: independent answers would master (1/2)⁴ = 1/16 of the facts and leave 5/16 negation-blind (none or
    one of four denied ones right: 1/16 + 4/16). Shares 1/2 and 1/2: the excess is 7/16 and 3/16. Without a false fact, an
    overlooked “not” and “true” to everything are the same answers.
    """
    found = diagnosis(facts([(True, right(""))] * 50 + [(True, right(DENIED))] * 50))
    assert (found.facts, found.left_out, found.first) == (100, 0, YES)
    mastered, blind = found.by_name[MASTERED], found.by_name[BLIND]
    assert (mastered.share.value, blind.share.value) == (0.5, 0.5)
    assert (mastered.independent, blind.independent) == pytest.approx((1 / 16, 5 / 16))
    assert (mastered.excess, blind.excess) == pytest.approx((7 / 16, 3 / 16))
    assert mastered.low < 7 / 16 < mastered.high
    assert (mastered.coin, blind.coin) == pytest.approx((1 / 256, 5 / 256))
    assert sum(one.independent for one in found.by_name.values()) == pytest.approx(1)
    assert sum(one.coin for one in found.by_name.values()) == pytest.approx(1)


def test_few_heads_have_no_interval() -> None:
    found = diagnosis(facts([(True, right(DENIED))] * 120, heads=9))
    assert found.by_name[BLIND].low is None
    assert found.first is None, "all 120 facts are of nine heads"


def simulated(says: object, count: int = 100, noise: float = 0.1, seed: int = 0) -> Records:
    """Facts of a model that says so to each variant of a true or false fact, and the opposite with a chance of `noise`."""
    draw = np.random.default_rng(seed)
    made = []
    for number in range(count):
        positive = number % 2 == 0
        answers = [bool(says(key, positive)) is not bool(draw.random() < noise) for key in KEYS]  # type: ignore[operator]
        labels = [positive != IMPLICATIONS[key].negated for key in KEYS]
        made.append((positive, [a is label for a, label in zip(answers, labels, strict=True)]))
    return facts(made)


DEFECTS = {
    YES: lambda key, positive: True,
    NO: lambda key, positive: False,
    BLIND: lambda key, positive: positive,
    DIRECTION: lambda key, positive: (positive != IMPLICATIONS[key].negated) is not ("inv" in key.split("+")),
    CASE: lambda key, positive: (positive != IMPLICATIONS[key].negated) is not ("ins" in key.split("+")),
    OPPOSITE: lambda key, positive: positive is IMPLICATIONS[key].negated,
}


@pytest.mark.parametrize("defect", DEFECTS)
@pytest.mark.parametrize("noise", [0.0, 0.05, 0.1])
def test_a_known_defect_comes_first(defect: str, noise: float) -> None:
    found = diagnosis(simulated(DEFECTS[defect], noise=noise))
    assert found.first == defect


def test_a_coin_and_one_who_knows_have_no_defect() -> None:
    for noise in (0.5, 0.0, 0.02):
        found = diagnosis(simulated(lambda key, positive: positive != IMPLICATIONS[key].negated, noise=noise))
        assert found.first is None


def test_of_few_diseases_it_is_not_said_that_nothing_stands_out(tmp_path: Path) -> None:
    """Eight facts that are always answered “true”: too few to say, which is another thing than that no failure is there."""
    store = Store(f"sqlite:///{tmp_path / 'runs.db'}")
    run = complete_run(RunSpec(model="baseline:always-true", limit=8, shots=0), store)
    report = report_of(store, store.run(run))
    assert "Too few diseases to say what stands out" in report_text(report)
    assert findings.of_diagnoses({"m": report}) == "Too few diseases to say what stands out"


@pytest.mark.parametrize(("count", "most"), [(99, 0), (100, 5), (200, 2)])
def test_a_coin_rarely_stands_out(count: int, most: int) -> None:
    """Its excess over itself is chance: of 100 coins at most one in twenty may be said to have a failing; of few facts none."""
    coins = [diagnosis(simulated(lambda key, positive: True, count=count, noise=0.5, seed=seed)) for seed in range(100)]
    assert sum(found is not None and found.first is not None for found in coins) <= most


@pytest.mark.parametrize(("takes", "failing"), [(True, TAKES_TRUE), (False, TAKES_FALSE)])
def test_who_takes_every_fact_for_true_does_not_believe_the_opposite(takes: bool, failing: str) -> None:
    for noise in (0.0, 0.1):
        found = diagnosis(simulated(lambda key, positive: takes is not IMPLICATIONS[key].negated, noise=noise))
        assert found.first == failing


def test_the_largest_excess_is_named_and_small_ones_are_not() -> None:
    """Of 200 facts 40 are negation-blind and 28 always-no; then 8, which is less than five points."""
    rest = [(bool(n % 2), right("")) for n in range(132)]
    some = [(bool(n % 2), right(DENIED)) for n in range(40)] + [(True, right(AFFIRMED))] * 28
    found, fewer = diagnosis(facts(some + rest)), diagnosis(facts(some[:8] + [(True, right(""))] * 60 + rest))
    assert (found.by_name[BLIND].share.value, found.by_name[NO].share.value) == (0.2, 0.14)
    assert found.by_name[BLIND].excess > found.by_name[NO].excess > 0.05
    assert (found.first, fewer.first) == (BLIND, None)


def test_a_coin_shows_no_excess() -> None:
    """At a fair coin, the interval of the excess holds 0 in about 95 % of runs, for each diagnosis."""
    misses: Counter[str] = Counter()
    runs = 120
    for seed in range(runs):
        found = diagnosis(simulated(lambda key, positive: True, count=200, noise=0.2, seed=seed))
        for name, one in found.by_name.items():
            if one.independent > 0.02 and one.low is not None and one.high is not None:
                misses[name] += not one.low <= 0 <= one.high
    assert all(count <= 0.12 * runs for count in misses.values()), misses


def test_unreadable_answers_leave_a_fact_out() -> None:
    rows = [(f"fact{n}", f"head {n}", f"tail {n}", ("T" if n % 2 else "?") + "TTTFFFF") for n in range(4)]
    found = diagnosis(make_records(*rows))
    assert (found.facts, found.left_out) == (2, 2)
    assert diagnosis(make_records(("fact", "head", "tail", "TTT"))) is None
    assert list(DIAGNOSES) == list(found.by_name)


def test_the_parts_of_an_excess_are_its_slopes() -> None:
    """Counting a fact a little more moves the excess by its part."""
    randomness = np.random.default_rng(0)
    made = facts([(bool(n % 2), (randomness.random(8) < 0.6).tolist()) for n in range(30)])
    own, _ = _facts_of(made)
    mine = np.eye(len(DIAGNOSES))[own.code]

    def excess(weights: np.ndarray) -> np.ndarray:
        return (weights @ mine) / weights.sum(axis=1, keepdims=True) - _independent(own, weights)

    parts, middle = _linear_excess(own), excess(np.ones((1, 30)))[0]
    assert parts.mean(axis=0) == pytest.approx(middle)
    slopes = (excess(np.ones((30, 30)) + 1e-6 * np.eye(30)) - middle) / 1e-6
    assert parts - middle == pytest.approx(30 * slopes, abs=1e-3)


def test_shared_tails_make_the_interval_of_an_excess_wider() -> None:
    """Whether a fact is mastered hangs on its tail alone: ten tails of 100 heads are ten draws."""
    rows = [(True, [n % 10 < 5] * 8) for n in range(100)]
    own = diagnosis(facts(rows))
    together = diagnosis(replace(facts(rows), tail=np.repeat(np.arange(100) % 10, 8)))
    assert own is not None
    assert together is not None
    a, b = (one.by_name[MASTERED] for one in (own, together))
    assert a.excess == b.excess
    assert (b.high or 0) - (b.low or 0) > 1.5 * ((a.high or 0) - (a.low or 0))
