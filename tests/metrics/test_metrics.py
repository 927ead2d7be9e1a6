"""Every figure, worked by hand or counted out one by one."""

import math
from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from records import EXAMPLE, RIGHT, RIGHT_OF_FALSE, calibration_record, make_records, metrics_record

from medfact.metrics import UNREADABLE, Names, Records
from medfact.metrics.clusters import PRIOR, Clusters
from medfact.metrics.uncertainty import intraclass_correlation, mean_interval, wilson
from medfact.statements import IMPLICATIONS


def test_the_counts_of_the_four_fates() -> None:
    made = metrics_record(EXAMPLE)
    assert (made["statements"], made["facts"]) == (48, 6)
    assert (made["answered"], made["unreadable"], made["failed"]) == (47, 1, 1)


FIGURES: dict[str, tuple[float, int | None]] = {
    # right: 8 + 8 + 6 + 0 + 7 + 8 = 37 of 47 scored: unreadable ones are wrong, and failures are left out
    "average_accuracy": (37 / 47, 47),
    # complete: a, a', b, b', c'; all right: a, a', c'
    "joint_accuracy": (3 / 5, 5),
    # complete pairs: a and b; all right: a
    "pair_joint_accuracy": (1 / 2, 2),
    # readable: 46. True answers: a 4, a' 4, b 3, b' 4, c 4, c' 4 = 23. True labels: 4 + 4 + 4 + 4 + 4 + 4 = 24 of those 46,
    # for the unreadable and the failed statement were both denied forms of true facts, whose label is False
    "yes_bias": (23 / 46 - 24 / 46, 46),
    # false facts a', b', c': 12 affirmed statements, b' affirms 4; true facts a, b, c: 12, b denies 1
    "false_affirmation": (4 / 12, 12),
    "false_denial": (1 / 12, 12),
    "positive_accuracy": ((8 + 6 + 7) / 23, 23),
    "negative_accuracy": ((8 + 0 + 8) / 24, 24),
    "accuracy_gap": (21 / 23 - 16 / 24, None),
    # affirmed: a 4, a' 4, b 3, b' 0, c 4, c' 4 of 24; denied: a 4, a' 4, b 3, b' 0, c 3 (of 3), c' 4 of 23
    "by_polarity affirmed": (19 / 24, 24),
    "by_polarity negated": (18 / 23, 23),
    # ins, b wrong: 5 of 6 less b' = 4; ins+dn: all but b' = 5; together 9 of 12
    "by_variant ins": (4 / 6, 6),
    "by_variant ins+dn": (5 / 6, 6),
    "by_form ins": (9 / 12, 12),
    # inv+ins+dn: a, a', c' right; b unreadable, b' wrong; c failed
    "by_variant inv+ins+dn": (3 / 5, 5),
    # none: 5 of 6; dn: 5 of 6; inv: 5 of 6; inv+dn: 5 of 6
    "by_implications none": (5 / 6, 6),
    "by_implications +dn": (10 / 12, 12),
    "by_implications +dn+inv": (20 / 24, 24),
    "by_implications +all": (37 / 47, 47),
}
"""Figure of EXAMPLE, or group and name → value and n."""


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_of_the_example_by_hand(figure: str) -> None:
    group, _, name = figure.partition(" ")
    made = metrics_record(EXAMPLE)
    estimate, (value, n) = made[group][name] if name else made[group], FIGURES[figure]
    assert estimate["value"] == pytest.approx(value)
    assert n in (None, estimate["n"])
    assert name or estimate["low"] is estimate["high"] is None, "four heads are too few to say anything of others"


def test_groups_stand_in_the_order_of_the_variants() -> None:
    made = metrics_record(EXAMPLE)
    assert list(made["by_variant"]) == list(IMPLICATIONS)
    assert list(made["by_form"]) == ["none", "inv", "ins", "inv+ins"]


def test_all_negatives_of_a_fact_belong_to_its_pair() -> None:
    three = (("a", "h1", "x", RIGHT), ("a'", "h1", "y", RIGHT_OF_FALSE), ("a''", "h1", "z", RIGHT_OF_FALSE))
    more = (("b", "h2", "x", RIGHT), ("b'", "h2", "y", RIGHT_OF_FALSE), ("b''", "h2", "z", "FFFFTTTF"))
    alone = (("c", "h3", "x", RIGHT), ("d'", "h3", "x", RIGHT_OF_FALSE))  # no partner: in no pair
    made = metrics_record(make_records(*three, *more, *alone))
    assert (made["pair_joint_accuracy"]["value"], made["pair_joint_accuracy"]["n"]) == (1 / 2, 2)
    assert (made["joint_accuracy"]["value"], made["joint_accuracy"]["n"]) == (7 / 8, 8)


def test_by_relation_and_type_and_the_mean_over_relations() -> None:
    made = metrics_record(
        make_records(
            ("a", "symptoms: gout", "x1", RIGHT),  # 8 of 8
            ("b", "symptoms: flu", "x2", "TTTTTTTT"),  # 4 of 8
            ("c", "symptoms: asthma", "y1", RIGHT),  # 8 of 8
            ("d", "drugs: gout", "z1", "FFFFFFFT"),  # 3 of 8
        )
    )
    assert {name: e["value"] for name, e in made["by_relation"].items()} == {"drugs": 3 / 8, "symptoms": pytest.approx(20 / 24)}
    assert {name: e["n"] for name, e in made["by_tail_type"].items()} == {"x": 16, "y": 8, "z": 8}
    assert made["macro_accuracy"]["value"] == pytest.approx((20 / 24 + 3 / 8) / 2)
    assert made["average_accuracy"]["value"] == pytest.approx(23 / 32)
    assert set(made["false_denial"]["by_relation"]) == {"drugs", "symptoms"}
    assert made["false_denial"]["by_relation"]["drugs"]["value"] == 1


def test_the_mean_over_relations_is_not_the_mean_over_statements_even_without_any_spread() -> None:
    wrong = "FFFFTTTT"
    known = [(f"a{i}", f"symptoms: h{i}", "x", RIGHT) for i in range(9)]
    made = metrics_record(make_records(*known, *[(f"b{i}", f"drugs: d{i}", "y", wrong) for i in range(3)]))
    # symptoms 9 facts all right, drugs 3 facts all wrong: (1 + 0) / 2, while 72 of 96 statements are right
    assert made["average_accuracy"]["value"] == 72 / 96
    assert made["macro_accuracy"]["value"] == 1 / 2
    assert made["macro_accuracy"]["low"] < 1 / 2 < made["macro_accuracy"]["high"]


def test_coherence_needs_no_label() -> None:
    made = metrics_record(
        make_records(
            ("a", "gout", "x", "TTFFTF?F"),  # none: affirms both; inv: T, F; ins: unreadable; inv+ins: denies both
            ("b'", "flu", "y", "TF..FF.."),  # none: T, F; inv: denies both
        )
    )["coherence"]
    assert (made["n"], made["affirms_both"], made["denies_both"]) == (5, 1 / 5, 2 / 5)
    assert made["probability_gap"] is None


def test_the_probability_gap_of_a_statement_and_its_negation() -> None:
    p_true = [0.9, 0.5, 0.2, 1.0, 0.3, 0.5, 0.2, math.nan]
    # |0.9 + 0.3 − 1| = 0.2; |0.5 + 0.5 − 1| = 0; |0.2 + 0.2 − 1| = 0.6; the last has no partner
    made = metrics_record(make_records(("a", "gout", "x", RIGHT), p_true=p_true))["coherence"]
    assert made["probability_gap"] == pytest.approx(0.8 / 3)


# ------------------------------------------------------------------------- joint accuracy with fewer statements


def test_joint_accuracy_at_i_is_the_mean_over_all_orders() -> None:
    # Six statements per fact (the last two variants are not asked); 720 orders, counted out.
    signs = ["TTTTFF", "TFTTFT", "FFFFTT", "FTTTFF"]
    records = make_records(*((f"f{i}", f"h{i}", "x", s) for i, s in enumerate(signs)))
    right = [[said == wanted for said, wanted in zip(s, "TTTTFF", strict=True)] for s in signs]
    made = metrics_record(records)["joint_accuracy_at"]
    for i in range(1, 7):
        shares = [sum(all(row[j] for j in order[:i]) for row in right) / 4 for order in permutations(range(6))]
        assert made[i - 1] == pytest.approx(sum(shares) / 720)


def random_records(seed: int) -> Records:
    randomness = np.random.default_rng(seed)
    signs = [
        "".join(randomness.choice(list("TTTFF?!."), 8, p=[0.2, 0.2, 0.2, 0.17, 0.17, 0.02, 0.02, 0.02])) for _ in range(60)
    ]
    return make_records(*((f"f{i // 2:02}{chr(39) * (i % 2)}", f"h{i // 6}", f"t{i % 7}", s) for i, s in enumerate(signs)))


@pytest.mark.parametrize("seed", range(4))
def test_ordered_curves_are_the_loops(seed: int) -> None:
    records = random_records(seed)
    made = metrics_record(records)
    rows: dict[int, list[int]] = {}
    for i, fact in enumerate(records.fact):
        rows.setdefault(int(fact), []).append(i)
    complete = [places for places in rows.values() if all(records.answer[i] >= UNREADABLE for i in places)]
    assert 10 < len(complete) < 60
    for k in range(1, 9):
        right = [[records.answer[i] == int(records.label[i]) for i in places[:k]] for places in complete]
        assert made["joint_accuracy_ordered"][k - 1] == pytest.approx(sum(map(all, right)) / len(right))
        assert made["average_accuracy_ordered"][k - 1] == pytest.approx(sum(map(sum, right)) / (k * len(right)))
    assert made["joint_accuracy_ordered"][-1] == pytest.approx(made["joint_accuracy"]["value"])
    assert made["joint_accuracy_at"][-1] == pytest.approx(made["joint_accuracy"]["value"])
    assert made["joint_accuracy_at"][0] == pytest.approx(made["average_accuracy_ordered"][-1])


@pytest.mark.parametrize("seed", range(4))
def test_figures_do_not_depend_on_the_order_of_the_rows(seed: int) -> None:
    records = random_records(seed)
    turn = np.random.default_rng(seed).permutation(len(records.fact))
    turned = Records(
        **{field: column[turn] for field, column in vars(records).items() if isinstance(column, np.ndarray | Names)}
    )
    before, after = dict(leaves(metrics_record(records))), dict(leaves(metrics_record(turned)))
    assert before.keys() == after.keys()
    for name, value in before.items():
        assert after[name] == (value if value is None else pytest.approx(value)), name


@pytest.mark.parametrize("column", [field.name for field in fields(Records)])
def test_the_digest_is_that_of_every_column(column: str) -> None:
    """Whoever keeps figures by it would show those of other answers otherwise."""
    records = random_records(1)
    assert records.digest == random_records(1).digest != random_records(2).digest
    was = getattr(records, column)
    if isinstance(was, Names):
        others = [was.renamed(lambda name: name + "x"), Names(was.names, np.where(np.arange(len(was.code)) == 3, 7, was.code))]
    elif was is None:
        others = [np.zeros(len(records.fact))]
    else:
        changed = was.copy()
        changed[3] = not was[3] if was.dtype == bool else 0.123 if was.dtype == float else was[3] + 1
        others = [changed]
    for other in others:
        assert replace(records, **{column: other}).digest != records.digest


# ------------------------------------------------------------------------- answerers that know nothing


def trivial(true: str, false: str) -> dict[str, Any]:
    """What an answerer scores that gives these signs to 20 true facts and to their false partners."""
    facts = [(f"f{i:02}{mark}", f"h{i}", f"t{i}{mark}", signs) for i in range(20) for mark, signs in (("", true), ("'", false))]
    return metrics_record(make_records(*facts))


@pytest.mark.parametrize(
    ("signs", "average", "joint", "pair", "yes_bias"),
    [
        ("TTTTTTTT", 0.5, 0, 0, 0.5),  # always true
        ("FFFFFFFF", 0.5, 0, 0, -0.5),  # always false
        ("TTTTFFFF", 0.5, 0.5, 0, 0),  # true unless negated
        ("????????", 0, 0, 0, None),  # never readable
    ],
)
def test_what_trivial_answerers_score(signs: str, average: float, joint: float, pair: float, yes_bias: float | None) -> None:
    made = trivial(signs, signs)
    assert (made["average_accuracy"]["value"], made["joint_accuracy"]["value"]) == (average, joint)
    assert (made["pair_joint_accuracy"]["value"], made["yes_bias"]["value"]) == (pair, yes_bias)


def test_a_model_that_knows_everything() -> None:
    made = trivial(RIGHT, RIGHT_OF_FALSE)
    for name in ("average_accuracy", "joint_accuracy", "pair_joint_accuracy", "macro_accuracy"):
        assert made[name]["value"] == made[name]["high"] == 1
        assert made[name]["low"] < 1, "all right of 20 heads is no certainty"
    # two facts a head, which the usual likeness of 0.06 makes 40 / 1.06 trials
    assert made["joint_accuracy"]["low"] == pytest.approx(wilson(1, 40 / (1 + PRIOR.head))[0])
    assert (made["false_affirmation"]["value"], made["false_denial"]["value"]) == (0, 0)


def test_average_accuracys_interval_is_clustered_by_head() -> None:
    """Each fact enters with its share in the mean, value + (right − value · scored) · facts / n."""
    chosen = "".join
    randomness = np.random.default_rng(0)
    signs = [chosen(randomness.choice(list("TTTFF?!"), 8)) for _ in range(40)]
    records = make_records(*((f"f{i // 2:02}{chr(39) * (i % 2)}", f"h{i // 4}", f"t{i % 8}", s) for i, s in enumerate(signs)))
    rows = records.answer >= UNREADABLE
    right = (records.answer == records.label)[rows]
    value = right.mean()
    parts, shares, heads, tails = [], [], [], []
    for fact in range(40):
        of = records.fact[rows] == fact
        parts.append(value + (right[of].sum() - value * of.sum()) * 40 / len(right))
        shares.append(right[of].mean())
        heads.append(records.head[records.fact == fact][0])
        tails.append(records.tail[records.fact == fact][0])
    clusters = Clusters(np.array(heads), np.array(tails))
    expected = mean_interval(np.array(parts), clusters._replace(intraclass=intraclass_correlation(np.array(shares), clusters)))
    found = metrics_record(records)["average_accuracy"]
    assert found == pytest.approx(expected._asdict() | {"n": len(right)})
    assert found["low"] < value < found["high"]


# ------------------------------------------------------------------------- nothing to measure


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted name, value) of everything in a report."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{name}.{key}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from leaves(inner, f"{name}.{place}")
    else:
        yield name, value


COUNTS = {"statements", "facts", "standing", "answered", "right", "wrong", "unreadable", "failed", "n"}
EDGES = {"low", "high"}


@pytest.mark.parametrize(
    "records",
    [make_records(), make_records(("a", "gout", "x", "........"), ("a'", "gout", "y", "!!!!!!!!"))],
    ids=["no statement", "no answer"],
)
def test_nothing_to_measure_gives_no_value_and_never_zero(records: Records) -> None:
    made = metrics_record(records)
    for name, value in leaves(made):
        last = name.rsplit(".", 1)[-1]
        if last in COUNTS or (".bins." in name and last in EDGES) or name.startswith(".chance"):
            continue
        assert value is None, name
    assert made["answered"] == 0


def test_a_group_without_answers_has_no_value() -> None:
    made = metrics_record(make_records(("a", "gout", "x", "TTTT...."), ("b", "flu", "y", "TTTT....")))
    assert made["by_polarity"]["negated"] == {"value": None, "low": None, "high": None, "n": 0}
    assert made["joint_accuracy"]["value"] is None
    assert made["joint_accuracy_at"] is None
    assert made["negative_accuracy"]["value"] is None
    assert made["accuracy_gap"]["value"] is None
    assert made["pair_joint_accuracy"]["value"] is None
    assert made["coherence"]["affirms_both"] is None


# ------------------------------------------------------------------------- calibration


def test_calibration_by_hand() -> None:
    # Labels of a true fact: T T T T F F F F; the model's own answers follow its P(True).
    p_true = [0.92, 0.98, 0.42, 1.0, 0.02, 0.44, 0.96, 0.0]
    made = calibration_record(make_records(("a", "gout", "x", "TTFTFFTF"), p_true=p_true))
    full = {b["low"]: b for b in made["bins"] if b["n"]}
    assert (made["n"], made["coverage"], len(made["bins"])) == (8, 1.0, 20)
    assert [(b["low"], b["high"]) for b in made["bins"]] == [(i / 20, (i + 1) / 20) for i in range(20)]
    # bins [0, .05): .02 F, 0 F. [.4, .45): .42 T, .44 F. [.9, .95): .92 T. [.95, 1]: .98 T, 1 T, .96 F
    assert {low: (b["n"], b["positive_rate"]) for low, b in full.items()} == {
        0.0: (2, 0.0),
        0.4: (2, 0.5),
        0.9: (1, 1.0),
        0.95: (3, pytest.approx(2 / 3)),
    }
    assert full[0.95]["mean_p_true"] == pytest.approx(2.94 / 3)
    # Σ |sum p − sum label| / n = (|.02 − 0| + |.86 − 1| + |.92 − 1| + |2.94 − 2|) / 8 = 1.18 / 8
    assert made["ece"] == pytest.approx(1.18 / 8)
    # (.08² + .02² + .58² + 0 + .02² + .44² + .96² + 0) / 8 = (.0064 + .0004 + .3364 + .0004 + .1936 + .9216) / 8
    assert made["brier"] == pytest.approx(1.4588 / 8)
    # max(p, 1 − p): .92 right; .98, 1, .98, .96 wrong, 1 right; .58 wrong; .56 right.
    # [.55, .6): .58 + .56 against 1 = .14; [.9, .95): .08; [.95, 1]: .98 + 1 + .98 + .96 + 1 = 4.92 against 4 = .92
    assert made["ece_confidence"] == pytest.approx((0.14 + 0.08 + 0.92) / 8)


def test_bins_begin_where_they_say() -> None:
    edges = [i / 20 for i in range(20)]
    made = calibration_record(
        make_records(*((f"f{i}", "gout", "x", RIGHT) for i in range(2)), ("g", "gout", "x", "TTTT"), p_true=edges)
    )
    assert [b["n"] for b in made["bins"]] == [1] * 20


def test_answers_whose_words_hold_little_probability_are_left_out_and_their_share_is_shown() -> None:
    p_mass = [0.9, 0.5, 0.49, 0.1, 0.8, 0.8, 0.8, 0.8]
    made = calibration_record(make_records(("a", "gout", "x", RIGHT), p_true=[0.5] * 8, p_mass=p_mass))
    assert (made["n"], made["coverage"]) == (6, 6 / 8)


def test_failed_calls_and_answers_without_probabilities_are_not_in_the_calibration() -> None:
    made = calibration_record(
        make_records(("a", "gout", "x", "TT!.FFFF"), p_true=[0.5, math.nan, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    )
    assert (made["n"], made["coverage"]) == (5, 1.0)


def test_the_floor_is_what_a_perfect_model_shows_by_chance() -> None:
    # Uniform P(True) and labels drawn with it: about 0.050 at n = 800, 0.097 at n = 200 (with 20 bins).
    for n, expected in ((800, 0.050), (200, 0.097)):
        p = np.random.default_rng(3).random(n)
        made = calibration_record(make_records(*((f"f{i:03}", "gout", "x", RIGHT) for i in range(n // 8)), p_true=list(p)))
        assert made["ece_floor"] == pytest.approx(expected, abs=0.006)
    again = calibration_record(make_records(*((f"f{i:03}", "gout", "x", RIGHT) for i in range(n // 8)), p_true=list(p)))
    assert again["ece_floor"] == made["ece_floor"]
    assert again["ece_floor_coherent"] == made["ece_floor_coherent"]


def test_the_floor_of_a_coherent_model_is_twice_as_high() -> None:
    """100 facts, each believed with a uniform P; its four affirmed forms get P, its four denied ones 1 − P: one coin."""
    randomness = np.random.default_rng(4)
    belief = randomness.random(100)
    p = [value for b in belief for value in [b] * 4 + [1 - b] * 4]
    made = calibration_record(make_records(*((f"f{i:03}", f"h{i}", "x", RIGHT) for i in range(100)), p_true=p))
    assert made["ece_floor"] == pytest.approx(0.050, abs=0.006)
    assert made["ece_floor_coherent"] == pytest.approx(0.097, abs=0.012)
    # what such a model really shows: a fact holds as often as it believes
    shown = []
    for _ in range(200):
        marks = ["" if holds else "'" for holds in randomness.random(100) < belief]
        facts = [(f"f{i:03}{mark}", f"h{i}", "x", RIGHT) for i, mark in enumerate(marks)]
        shown.append(calibration_record(make_records(*facts, p_true=p))["ece"])
    assert np.mean(shown) == pytest.approx(made["ece_floor_coherent"], abs=0.006)
