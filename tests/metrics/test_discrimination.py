"""AUROC, the Brier score's parts and selective accuracy: by hand, and against scikit-learn."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from records import make_records
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, roc_auc_score

from medfact.metrics import Records
from medfact.metrics.probability import (
    Discrimination,
    _linear_auroc,
    _weighted_auroc,
    isotonic,
    probabilities,
)
from medfact.results.sections.probabilities import brier_cell


def records(p: list[float], true: list[bool], heads: int | None = None) -> Records:
    """One affirmed statement a fact: whether it is true, and its P(True); answered True where that is above a half."""
    facts = []
    for number, (probability, label) in enumerate(zip(p, true, strict=True)):
        name = f"fact{number}" if label else f"fact{number}'"
        facts.append((name, f"head {number % (heads or len(p))}", f"tail {number}", "T" if probability > 0.5 else "F"))
    return make_records(*facts, p_true=p)


def overall(p: list[float], true: list[bool], heads: int | None = None) -> Discrimination:
    found = probabilities(records(p, true, heads))
    return found.overall


def test_by_hand() -> None:
    """True statements with P 0.9 and 0.4, false ones with 0.4 and 0.2. Of the four pairs of a true and a false one, P is
    higher in three and equal in one: AUROC = 3.5 / 4. Brier = (0.01 + 0.36 + 0.16 + 0.04) / 4 = 0.1425. Isotonic: 0 at
    0.2, ½ at 0.4, 1 at 0.9: its Brier score is (0 + ¼ + ¼ + 0) / 4 = 0.125; a constant ½ gives 0.25. So 0.0175 − 0.125 +
    0.25. The surest half: 0.9 (right) and 0.2 (right); of all, 0.4 for a true one is wrong, for a false one right.
    """
    found = overall([0.9, 0.4, 0.4, 0.2], [True, True, False, False])
    assert found.auroc.value == pytest.approx(3.5 / 4)
    assert found.auroc.low is None
    assert found.brier.value == pytest.approx(0.1425)
    parts = found.miscalibration, found.discrimination, found.uncertainty
    assert parts == pytest.approx((0.0175, 0.125, 0.25))
    accuracies = {one.coverage: one.accuracy.value for one in found.selective}
    assert accuracies == {1.0: 0.75, 0.5: 1.0, 0.25: 1.0}


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.7, 0.99, 1.0]), st.booleans()), min_size=2, max_size=40).filter(
        lambda rows: len({label for _, label in rows}) == 2
    )
)
@settings(max_examples=80)
def test_equal_to_scikit_learn(rows: list[tuple[float, bool]]) -> None:
    p, true = [row[0] for row in rows], [row[1] for row in rows]
    found = overall(p, true)
    assert found.auroc.value == pytest.approx(roc_auc_score(true, p))
    assert found.brier.value == pytest.approx(brier_score_loss(true, p))
    theirs = IsotonicRegression(y_min=0, y_max=1).fit(p, true).predict(p)
    assert isotonic(np.array(p), np.array(true, dtype=float)) == pytest.approx(theirs, abs=1e-9)
    assert found.miscalibration - found.discrimination + found.uncertainty == pytest.approx(found.brier.value)
    assert min(found.miscalibration, found.discrimination) >= -1e-12


def holds(rows: Records, truth: float) -> bool:
    """Whether the interval of AUROC holds the truth."""
    found = probabilities(rows)
    low, high = found.overall.auroc.low, found.overall.auroc.high
    return bool(low <= truth <= high)


def test_the_interval_of_auroc_holds_the_truth() -> None:
    """P(True) of true statements is normal with mean 1 beyond that of false ones: AUROC = Φ(1/√2) = 0.7602. Heads of three
    statements each share an effect. In 200 runs of 60 heads the interval holds it about 190 times.
    """
    draw, held = np.random.default_rng(1), 0
    for _ in range(200):
        effect = np.repeat(draw.normal(0, 0.5, 60), 3)
        true = draw.random(180) < 0.5
        score = effect + draw.normal(0, np.sqrt(0.75), 180) + true
        p = 1 / (1 + np.exp(-score))
        rows = records(p.tolist(), true.tolist())
        rows.head[:] = np.repeat(np.arange(60), 3)
        held += holds(rows, 0.7602)
    assert 180 <= held <= 198


def test_the_parts_of_auroc_are_its_slopes() -> None:
    """Counting a statement a little more moves AUROC by its part."""
    randomness = np.random.default_rng(2)
    p, label = np.round(randomness.random(30), 1), (randomness.random(30) < 0.4).astype(float)
    heads = np.arange(30)
    value = float(_weighted_auroc(p, label, heads, np.ones((1, 30)))[0])
    parts = _linear_auroc(p, label, value)
    assert parts.mean() == pytest.approx(value)
    more = np.ones((30, 30)) + 1e-6 * np.eye(30)
    slopes = (_weighted_auroc(p, label, heads, more) - value) / 1e-6
    assert parts - value == pytest.approx(30 * slopes, abs=1e-3)


def test_the_interval_of_auroc_holds_the_truth_where_tails_are_shared() -> None:
    """As above, but how far P(True) leans to the truth hangs on one of thirty tails, which a hundred heads share."""
    draw, held = np.random.default_rng(3), 0
    for _ in range(100):
        tail, true = draw.integers(0, 30, 400), draw.random(400) < 0.5
        lean = 0.5 + draw.normal(0, np.sqrt(0.4), 30)[tail]
        score = np.where(true, lean, -lean) + draw.normal(0, np.sqrt(0.6), 400)
        rows = records((1 / (1 + np.exp(-score))).tolist(), true.tolist(), 100)
        rows.tail[:] = tail
        held += holds(rows, 0.7602)
    assert held >= 88


def test_a_brier_score_is_no_percentage() -> None:
    found = probabilities(records([0.9, 0.6, 0.4, 0.2] * 10, [True, False, True, False] * 10, 40))
    cell = brier_cell(found.overall)
    said = "; ".join([cell.text, *cell.under])
    # 0.01, 0.36, 0.36 and 0.04
    assert re.search(r"\b0\.192 \(0\.\d{3}–0\.\d{3}\); of 40 statements", said)
    assert "%" not in said


def test_a_coin_and_one_label_alone() -> None:
    assert overall([0.5] * 20, [number % 2 == 0 for number in range(20)]).auroc.value == 0.5
    alone = overall([0.3, 0.6, 0.9], [True, True, True])
    assert (alone.auroc.value, alone.auroc.n) == (None, 0)
    assert alone.uncertainty == 0
    assert probabilities(make_records(("fact", "head", "tail", "TTTTFFFF"))) is None


def test_affirmed_statements_alone() -> None:
    """Eight statements of one fact: those that deny are told apart perfectly, those that affirm not at all."""
    facts = [("a", "h1", "t1", "TTTTFFFF"), ("b'", "h2", "t2", "TTTTFFFF")]
    p = [0.6] * 4 + [0.1] * 4 + [0.6] * 4 + [0.9] * 4
    found = probabilities(make_records(*facts, p_true=p))
    assert found.affirmed.auroc.value == 0.5
    assert found.overall.auroc.value > 0.5
    assert (found.overall.n, found.affirmed.n) == (16, 8)
