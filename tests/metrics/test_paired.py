"""Two runs on the same facts: all rules together against loops over statements, and special cases by hand."""

from collections import defaultdict
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medfact.metrics import FAILED, PENDING, UNREADABLE, Names, Records, codes
from medfact.metrics.comparison import RunRecords, compare_runs, paired_difference
from medfact.results.compare import paired_record
from medfact.statements import VARIANTS

SCORES = ("average_accuracy", "joint_accuracy", "pair_joint_accuracy")
EIGHT = ("none", "inv", "ins", "inv+ins", "dn", "inv+dn", "ins+dn", "inv+ins+dn")
OTHER_EIGHT = tuple(f"S{i}" for i in range(1, 9))

Run = tuple[Records, np.ndarray]
"""A run's records, and for each row the number of its fact."""

Row = tuple[str, str, int, str, str]
"""Fact, head, draw, variant, fate. A fact with an apostrophe is a negative: a'x is one of a."""


def number(name: str) -> int:
    """A fact's number in all runs: any whole number of 64 bits, below 0 too."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big", signed=True)


def run_of_rows(rows: Sequence[Row]) -> Run:
    """A run from its rows. Fates: r right, w wrong, ? unreadable, ! failed, . pending."""
    positive = np.array(["'" not in row[0] for row in rows], dtype=bool)
    label = positive != np.array([VARIANTS[row[3]].negated for row in rows], dtype=bool)
    other = {"?": UNREADABLE, "!": FAILED, ".": PENDING}
    fates = [other.get(row[4], int(true == (row[4] == "r"))) for row, true in zip(rows, label, strict=True)]
    nothing = np.full(len(rows), np.nan)
    records = Records(
        fact=codes([f"{row[0]} {row[2]}" for row in rows]),
        pair=codes([f"{row[0].split(chr(39))[0]} {row[2]}" for row in rows]),
        head=codes([row[1] for row in rows]),
        tail=codes([row[0] for row in rows]),
        draw=np.array([row[2] for row in rows], dtype=np.int64),
        variants=Names.of([row[3] for row in rows]),
        relations=Names.of(["symptoms"] * len(rows)),
        tail_types=Names.of([""] * len(rows)),
        difficulties=Names.of([""] * len(rows)),
        positive=positive,
        label=label,
        answer=np.array(fates, dtype=np.int8),
        p_true=nothing,
        p_mass=nothing,
    )
    return records, np.array([number(row[0]) for row in rows], dtype=np.int64)


def run_of(*facts: tuple[str, str], draw: int = 0, variants: Sequence[str] = EIGHT) -> Run:
    """A run of facts written as (name, fates), one fate per variant; each pair has a head of its own."""
    return run_of_rows(
        [
            (name, f"head of {name.split(chr(39))[0]}", draw, variant, fate)
            for name, fates in facts
            for variant, fate in zip(variants, fates, strict=False)
        ]
    )


def compare(a: Run, b: Run) -> dict[str, dict[str, Any]]:
    contrasts = compare_runs(RunRecords(*a), RunRecords(*b), SCORES)
    return {figure: paired_record(contrast) for figure, contrast in contrasts.items()}


def counts(made: dict[str, Any]) -> tuple[int, int, int]:
    return made["only_a"], made["only_b"], made["n"]


NO_VALUE = dict.fromkeys(("difference", "low", "high", "low_all", "high_all", "p", "share_a", "share_b")) | dict.fromkeys(
    ("only_a", "only_b", "n"), 0
)
ALL, ONE_WRONG = "r" * 8, "r" * 7 + "w"

# ------------------------------------------------------------------------- by hand


def test_two_pools_share_facts_but_no_statements() -> None:
    ours = run_of(("a", ALL), ("b", ONE_WRONG), ("c", ALL))
    theirs = run_of(("a", ALL), ("b", ALL), ("c", "rw"), variants=OTHER_EIGHT)  # c has two statements there
    made = compare(ours, theirs)
    assert made["average_accuracy"] == NO_VALUE
    assert counts(made["joint_accuracy"]) == (1, 1, 3)


def test_pair_joint_accuracy_is_compared_over_pairs_with_the_same_negatives() -> None:
    pairs = {
        "a": ({"": ALL, "'x": ALL}, {"": ALL, "'x": ONE_WRONG}),  # only ours
        "b": ({"": ALL, "'x": ALL, "'y": ONE_WRONG}, {"": ALL, "'x": ALL, "'y": ALL}),  # only theirs
        "c": ({"": ALL, "'x": ALL}, {"": ALL, "'x": ALL}),  # both
        "d": ({"": ALL, "'x": ALL}, {"": ALL, "'y": ALL}),  # another negative
        "e": ({"": ALL, "'x": ALL}, {"": ALL, "'x": ALL, "'y": ALL}),  # one more there
        "f": ({"": ALL, "'x": ALL, "'y": ALL}, {"": ALL, "'x": ALL}),  # one more here
        "g": ({"": ALL}, {"": ALL}),  # none
        "h": ({"": ALL, "'x": "rrrrrrr!"}, {"": ALL, "'x": ALL}),  # not answered whole here
        "i": ({"": ALL, "'x": ALL}, {"": "rrrrrrr.", "'x": ALL}),  # nor there
        "j": ({"'x": ALL}, {"'x": ALL}),  # a negative without its positive
        "k": ({"": ALL, "'x": ALL}, {}),  # not there at all
    }
    ours, theirs = (run_of(*((n + mark, f) for n, two in pairs.items() for mark, f in two[side].items())) for side in (0, 1))
    made = compare(ours, theirs)["pair_joint_accuracy"]
    assert counts(made) == (1, 1, 3)
    assert (made["difference"], made["p"]) == (0, 1)


def test_heads_stand_or_fall_together() -> None:
    fates = {"a": "rr", "b": "rw", "c": "rr", "d": "wr"}
    heads = {"a": "gout", "b": "gout", "c": "flu", "d": "asthma"}
    rows = [(name, heads[name], 0, variant, fate) for name in fates for variant, fate in zip(EIGHT, fates[name], strict=False)]
    theirs = run_of_rows([(*row[:4], "w") for row in rows])
    made = compare(run_of_rows(rows), theirs)["average_accuracy"]
    expected = paired_difference(np.array([1, 1, 1, 0, 1, 1, 0, 1.0]), np.array([0, 0, 0, 0, 1, 1, 2, 2]))
    assert (made["difference"], made["p"], made["n"]) == pytest.approx((expected.value, expected.p, expected.n))
    assert made["low"] is made["high"] is expected.low is None
    assert made["p"] == 2 / 2**3


def test_a_fact_that_stands_twice_counts_once_by_its_first_rows() -> None:
    ours, theirs = run_of(("a", "rr"), ("b", "ww"), ("b'x", "rr")), run_of(("a", "ww"), ("b'x", "rr"))
    same = np.where(ours[1] == number("b"), number("a"), ours[1])  # b is told to be a as well
    made = compare((ours[0], same), theirs)
    assert counts(made["average_accuracy"]) == (2, 0, 4)
    assert counts(made["joint_accuracy"]) == (1, 0, 2)


def test_runs_that_share_nothing_have_no_differences() -> None:
    some, empty = run_of(("a", ALL), ("a'x", ALL)), run_of()
    unanswered = run_of(("a", "." * 8), ("a'x", "!" * 8))
    for ours, theirs in ((some, run_of(("b", ALL))), (some, empty), (empty, some), (empty, empty), (some, unanswered)):
        assert list(compare(ours, theirs).values()) == [NO_VALUE] * 3


# ------------------------------------------------------------------------- any two runs


def counted_out(ours: Sequence[Row], theirs: Sequence[Row]) -> dict[str, tuple[int, int, int]]:
    """only_a, only_b and n of each accuracy, in loops."""

    def by_fact(rows: Sequence[Row]) -> dict[tuple[str, int], list[str]]:
        fates = defaultdict(list)
        for name, _, draw, _, fate in rows:
            fates[name, draw].append(fate)
        return fates

    def tally(both: list[tuple[bool, bool]]) -> tuple[int, int, int]:
        return sum(x and not y for x, y in both), sum(y and not x for x, y in both), len(both)

    sides = [{(name, draw, variant): fate for name, _, draw, variant, fate in rows} for rows in (ours, theirs)]
    statements = [[side[key] for side in sides] for key in sides[0] if key in sides[1]]
    facts, facts_there = by_fact(ours), by_fact(theirs)
    whole = [key for key in facts if key in facts_there and not set("!.") & {*facts[key], *facts_there[key]}]
    members = [defaultdict(set) for _ in range(2)]
    for side, names in zip(members, (facts, facts_there), strict=True):
        for name, draw in names:
            side[name.split("'")[0], draw].add((name, draw))
    positives = [key for key in whole if "'" not in key[0] and members[0][key] == members[1][key]]
    pairs = [members[0][key] for key in positives if len(members[0][key]) > 1 and members[0][key] <= set(whole)]

    def mastered(fates: dict[tuple[str, int], list[str]], keys: set[tuple[str, int]]) -> bool:
        return all(set(fates[key]) == {"r"} for key in keys)

    return {
        "average_accuracy": tally([(x == "r", y == "r") for x, y in statements if x not in "!." and y not in "!."]),
        "joint_accuracy": tally([(mastered(facts, {key}), mastered(facts_there, {key})) for key in whole]),
        "pair_joint_accuracy": tally([(mastered(facts, keys), mastered(facts_there, keys)) for keys in pairs]),
    }


FATE = st.sampled_from("rrrrrrrrww?!.")
NAMES = [f"{name}{mark}" for name in "abcdef" for mark in ("", "'x", "'y")]
HEADS = dict(zip("abcdef", "xyzxyz", strict=True))
ASKED = st.sampled_from([EIGHT[:1], EIGHT[:2], EIGHT[:3], OTHER_EIGHT[:2]])


@st.composite
def runs(draw: st.DrawFn) -> list[Row]:
    """Most of 18 facts of three heads, in one draw of demonstrations or two, with one to three statements each."""
    absent = draw(st.sets(st.sampled_from(NAMES), max_size=8))
    facts = [(name, n) for name in NAMES if name not in absent for n in range(draw(st.integers(1, 2)))]
    asked = draw(st.permutations([(*fact, variant) for fact in facts for variant in draw(ASKED)]))
    return [(name, HEADS[name[0]], n, variant, draw(FATE)) for name, n, variant in asked]


@given(runs(), runs())
@settings(max_examples=30)
def test_all_rules_together_are_the_loops(ours: list[Row], theirs: list[Row]) -> None:
    made = compare(run_of_rows(ours), run_of_rows(theirs))
    assert {name: counts(found) for name, found in made.items()} == counted_out(ours, theirs)
    for found in made.values():
        if found["n"]:
            assert found["difference"] == pytest.approx((found["only_a"] - found["only_b"]) / found["n"])
            assert found["p"] is None or 0 < found["p"] <= 1


@given(runs(), runs())
@settings(max_examples=25)
def test_swapping_the_runs_turns_every_difference(ours: list[Row], theirs: list[Row]) -> None:
    made, turned = (compare(run_of_rows(a), run_of_rows(b)) for a, b in ((ours, theirs), (theirs, ours)))
    for name, found in made.items():
        other = turned[name]
        assert (other["p"], other["n"]) == (found["p"], found["n"])
        assert (other["only_a"], other["only_b"]) == (found["only_b"], found["only_a"])
        for there, here in (("difference", "difference"), ("low", "high"), ("high", "low")):
            assert other[there] == (None if found[here] is None else pytest.approx(-found[here]))


@given(runs())
@settings(max_examples=25)
def test_a_run_does_not_differ_from_itself(rows: list[Row]) -> None:
    run = run_of_rows(rows)
    for found in compare(run, run).values():
        assert (found["only_a"], found["only_b"]) == (0, 0)
        assert found["difference"] == (0 if found["n"] else None)
        if found["low"] is not None:
            assert (found["p"], -found["low"]) == (1, found["high"])
            assert found["high"] > 0.3  # three heads at most


def large(seed: int) -> Run:
    """17,000 pairs of a true and a false fact, each with a head of its own, and random answers to their eight statements."""
    fact = np.repeat(np.arange(34_000), 8)
    positive = fact % 2 == 0
    label = positive != np.tile([VARIANTS[key].negated for key in EIGHT], 34_000)
    blank, zeros = np.full(len(fact), np.nan), np.zeros(len(fact), dtype=np.int64)
    names = Names(["symptoms"], zeros)
    right = np.random.default_rng(seed).random(len(fact)) < 0.9
    answer = (label == right).astype(np.int8)
    variants = Names.of(EIGHT * 34_000)
    sides = (variants, names, names, names, positive, label, answer, blank, blank)
    records = Records(fact, fact // 2, fact // 2, zeros, zeros, *sides)
    return records, fact * 2**40


def test_a_whole_data_set() -> None:
    made = compare(large(1), large(2))
    assert [made[name]["n"] for name in made] == [272_000, 34_000, 17_000]
    # both have 0.9^8 = 43 % and 0.9^16 = 19 %
    assert made["joint_accuracy"]["low"] < 0.02
    assert made["joint_accuracy"]["only_a"] / 34_000 == pytest.approx(0.43 * 0.57, abs=0.01)
    assert made["pair_joint_accuracy"]["only_b"] / 17_000 == pytest.approx(0.185 * 0.815, abs=0.01)
