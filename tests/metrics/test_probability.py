"""P(True): calibration and its bands, calibration error and defects, discrimination and selective accuracy."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from calibrated import NEGATED, Floats, draw_calibrated_answers, draw_u_shaped, draw_uniform, make_probability_records
from hypothesis import given, settings
from hypothesis import strategies as st
from records import make_records
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, roc_auc_score

from medfact.metrics import Records
from medfact.metrics.clusters import Clusters
from medfact.metrics.coherence import coherence
from medfact.metrics.diagnosis import diagnosis
from medfact.metrics.probability import (
    BINS,
    Discrimination,
    Probabilities,
    _linear_auroc,
    _weighted_auroc,
    bands,
    bins_of,
    calibration,
    debiased_ece,
    isotonic,
    miscalibration,
    probabilities,
    smooth_ece,
)
from medfact.results.report import named_first, size_of_defect
from medfact.results.sections.probabilities import brier_cell
from medfact.statements import IMPLICATIONS

# ------------------------------------------------------------------------------------------------ reliability diagram and bands


@pytest.mark.parametrize("coherent", [True, False])
@pytest.mark.parametrize("shape", [draw_uniform, draw_u_shaped])
def test_a_calibrated_models_points_lie_in_the_band(coherent: bool, shape: object) -> None:
    """Of 20 bins in each of 25 seeds a twentieth should lie outside; some do, and at most a fourteenth."""
    out = [
        not bin_.least <= bin_.positive_rate <= bin_.most  # type: ignore[operator]
        for seed in range(25)
        for bin_ in calibration(make_probability_records(*draw_calibrated_answers(seed, coherent, shape))).bins  # type: ignore[arg-type]
        if bin_.n
    ]
    assert 0.005 < np.mean(out) < 0.07


def test_the_band_is_as_wide_as_coherence_makes_it() -> None:
    """150 facts of 8 statements with P(True) 0.5 lie in one bin: half of them are true however the facts fall. Of the affirmed
    alone, four a fact, the share moves as that of 150 coins does, ± 0.08.
    """
    randomness = np.random.default_rng(0)
    truth = randomness.random(150)[:, None] < 0.5
    records = make_probability_records(np.full((150, 8), 0.5), np.tile(truth, 8) != NEGATED)
    whole = bands(records, np.arange(1200), np.full(1200, 10), 20)
    assert whole[:, 10] == pytest.approx([0, 0], abs=1e-12)
    rows = np.flatnonzero(np.tile(~NEGATED, 150))
    affirmed = bands(records, rows, np.full(600, 10), 20)
    assert affirmed[:, 10] == pytest.approx([-1.96 * 0.5 / 150**0.5, 1.96 * 0.5 / 150**0.5], abs=0.015)


def test_an_overconfident_model_lies_outside() -> None:
    p, truth = draw_calibrated_answers(1, True, draw_uniform)
    found = calibration(make_probability_records(p**3 / (p**3 + (1 - p) ** 3), truth)).bins
    outside = [b.low for b in found if b.n and not b.least <= b.positive_rate <= b.most]  # type: ignore[operator]
    assert {0.0, 0.95} <= set(outside)


def test_under_ten_heads_there_is_no_band() -> None:
    rows = [(f"f{i}", f"h{i % 5}", f"t{i}", "TFTFTFTF") for i in range(10)]
    found = calibration(make_records(*rows, p_true=[0.7] * 80)).bins
    assert [(b.n, b.least) for b in found if b.n] == [(80, None)]


def test_a_head_with_many_facts_takes_no_more_memory_than_one_draw() -> None:
    """751 heads, each with a number for each of the 250 facts of the largest: 1.5 MB a draw. Thirty draws would take 45 MB."""
    facts = [(f"f{i}", "hub" if i < 250 else f"h{i}", f"t{i}", "TFTFTFTF") for i in range(1_000)]
    records = make_records(*facts, p_true=[0.7] * 8_000)
    tracemalloc.start()
    try:
        assert bands(records, np.arange(0, 8_000, 8), np.full(1_000, 14), 20) is not None
        assert tracemalloc.get_traced_memory()[1] < 15 << 20
    finally:
        tracemalloc.stop()


def test_couples_lie_where_their_probabilities_do() -> None:
    """Affirmed statements at 0.9, their negations at 0.12, but the last at 1: three couples in one square, one apart."""
    p = np.where(NEGATED, 0.12, 0.9)
    p[-1] = 1.0
    found = coherence(make_records(("f", "h", "t", "TTTTFFFF"), p_true=p.tolist()))
    assert sorted((one.p_true, one.p_negated, one.n) for one in found.couples) == [
        (pytest.approx(0.925), pytest.approx(0.125), 3),
        (pytest.approx(0.925), pytest.approx(0.975), 1),
    ]
    assert found.probability_gap == pytest.approx((3 * 0.02 + 0.9) / 4)
    # of the last negation True and False hold 0.4 of the probability: it counts no more than in the calibration
    mass = [1.0] * 7 + [0.4]
    below = coherence(make_records(("f", "h", "t", "TTTTFFFF"), p_true=p.tolist(), p_mass=mass))
    assert below.probability_gap == pytest.approx(0.02)
    assert sum(one.n for one in below.couples) == 3


# ------------------------------------------------------------------------------------------------ calibration error and defects


def test_a_model_that_is_off_everywhere_by_a_tenth_has_that_error() -> None:
    """Half of the statements with P(True) 0.6 are true: all three errors are 0.1."""
    p, label, heads = np.full(4000, 0.6), np.tile([0.0, 1.0], 2000), np.arange(4000) // 2
    assert smooth_ece(p, label) == pytest.approx(0.1, abs=1e-3)
    assert debiased(p, label, Clusters(heads)) == pytest.approx(0.1)
    # 40 tails that heads share, with as many true statements as false ones each
    assert debiased(p, label, Clusters(heads, heads % 40)) == pytest.approx(0.1)


def test_what_chance_adds_to_the_error_is_taken_off() -> None:
    randomness, heads = np.random.default_rng(0), np.arange(400) // 4
    for clusters in (Clusters(heads), Clusters(heads, np.arange(400) % 30)):
        made = []
        for _ in range(300):
            p = randomness.random(400)
            made.append(debiased(p, (randomness.random(400) < p).astype(float), clusters))
        # 300 means of about ± 0.03
        assert abs(np.mean(made)) < 0.005


def debiased(p: Floats, label: Floats, clusters: Clusters) -> float:
    """Of statements that are a fact each."""
    errors = np.zeros((len(p), BINS))
    errors[np.arange(len(p)), bins_of(p)] = p - label
    return debiased_ece(errors, np.ones(len(p)), clusters)


# ------------------------------------------------------------------------- simulated models


@pytest.mark.parametrize("coherent", [True, False])
@pytest.mark.parametrize("shape", [draw_uniform, draw_u_shaped])
def test_a_calibrated_model_is_accused_in_a_twentieth_of_cases(
    coherent: bool, shape: Callable[[np.random.Generator, int], Floats]
) -> None:
    """80 seeds: with a chance of 5 % there are 10 or more in one case of 200. `benchmarks/calibration.py` has 1,000."""
    assert (
        sum(
            good(make_probability_records(*draw_calibrated_answers(seed, coherent, shape))).off.defect is not None
            for seed in range(80)
        )
        < 10
    )


def good(records: Records) -> Probabilities:
    found = probabilities(records)
    assert found is not None
    return found


@pytest.mark.parametrize("coherent", [True, False])
@pytest.mark.parametrize(
    ("alter", "defect"),
    [
        (lambda p: np.minimum(p + 0.1, 1), "too-high"),
        (lambda p: p**3 / (p**3 + (1 - p) ** 3), "overconfident"),
        (lambda p: np.cbrt(p) / (np.cbrt(p) + np.cbrt(1 - p)), "underconfident"),
    ],
)
def test_a_known_defect_is_named(alter: Callable[[Floats], Floats], defect: str, coherent: bool) -> None:
    p, truth = draw_calibrated_answers(1, coherent, draw_uniform)
    assert good(make_probability_records(alter(p), truth)).off.defect == defect


def facts_of(answer: Callable[[bool, np.ndarray], np.ndarray]) -> Records:
    """60 true and 60 false facts, a head a pair, where every answer has a P(True) of 0.9 or 0.1; answer: of all eight."""
    rows, p = [], []
    for i in range(60):
        for mark, holds in (("", True), ("'", False)):
            says = answer(holds, np.array([holds != negated for negated in NEGATED]))
            rows.append((f"f{i:02}{mark}", f"h{i}", f"t{i}{mark}", "".join("T" if one else "F" for one in says)))
            p += [0.9 if one else 0.1 for one in says]
    return make_records(*rows, p_true=p)


REVERSED = np.array(["inv" in key.split("+") for key in IMPLICATIONS])


@pytest.mark.parametrize(
    ("answer", "defect"),
    [
        (lambda holds, truth: np.ones(8, dtype=bool), "always-yes"),
        (lambda holds, truth: np.full(8, holds), "negation-blind"),
        (lambda holds, truth: truth != REVERSED, "direction-bound"),
    ],
)
def test_what_the_answers_follow_is_named_before_what_p_true_hides(
    answer: Callable[[bool, np.ndarray], np.ndarray], defect: str
) -> None:
    records = facts_of(answer)
    assert good(records).off.defect is not None
    assert named_first(diagnosis(records), probabilities(records)) == defect


def test_a_calibrated_model_is_not_headed_by_what_it_believes_wrongly() -> None:
    """Coherent, with beliefs from 0 to 1 that mean what they say: of a quarter of the facts it believes the opposite, by
    chance. Without a P(True) nobody sees that it is not sure of them.
    """
    for seed in range(20):
        records = make_probability_records(*draw_calibrated_answers(seed, True, draw_uniform))
        diagnosed, found = diagnosis(records), good(records)
        assert diagnosed.first == "opposite"
        assert named_first(diagnosed, found) == (found.off.defect if size_of_defect(found) else None)
        assert named_first(diagnosed, None) == "opposite"


def test_shared_tails_make_the_interval_of_ece_wider() -> None:
    """Whether P(True) is too high hangs on the tail alone: ten tails of 200 heads are ten draws, not 200."""
    randomness = np.random.default_rng(0)
    p = np.full((200, 8), 0.7)
    apart, shared = (np.repeat(randomness.random(10) < 0.7, 20), np.tile(np.arange(10), 20))
    truth = np.tile(apart[::20], 20)[:, None] & np.ones((200, 8), dtype=bool)
    own = make_probability_records(p, truth)
    together = replace(own, tail=np.repeat(shared, 8))
    a, b = good(own).off.ece, good(together).off.ece
    assert a.value == b.value
    assert None not in (a.low, a.high, b.low, b.high)
    assert (b.high or 0) - (b.low or 0) > 1.5 * ((a.high or 0) - (a.low or 0))


def test_the_intervals_hold_the_truth_where_few_tails_are_shared() -> None:
    """30 heads with six facts, whose 20 tails follow Zipf's law. How well a fact is known is normal about 1 with variance 2, of
    which head and tail have a fifth each; P(True) is Bayes' posterior, so that ECE and overconfidence are 0. In 100 runs the
    intervals hold it 95 times; `benchmarks/calibration.py` has a nearly calibrated model in five designs.
    """
    heads, held = np.repeat(np.arange(30), 6), np.zeros(3)
    weights = 1 / np.arange(1, 21)
    for seed in range(100):
        randomness = np.random.default_rng(seed)
        tails, holds = randomness.choice(20, 180, p=weights / weights.sum()), randomness.random(180) < 0.5
        known = 1 + sum(np.sqrt(0.4) * randomness.normal(size=30)[codes] for codes in (heads, tails))
        known = np.asarray(known) + np.sqrt(1.2) * randomness.normal(size=180)
        p = 1 / (1 + np.exp(-np.where(holds, known, -known)))
        made = make_probability_records(np.tile(p[:, None], (1, 8)), np.tile(holds[:, None], (1, 8)))
        off = miscalibration(replace(made, head=np.repeat(heads, 8), tail=np.repeat(tails, 8)), np.ones(1440, dtype=bool))
        held += [one.low is not None and one.low <= 0 <= (one.high or 0) for one in (off.ece, off.overconfidence, off.shift)]
    assert held.min() >= 91


# ------------------------------------------------------------------------------------------------ discrimination


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
    said = "; ".join([(cell := brier_cell(found.overall)).text, *cell.under])
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
