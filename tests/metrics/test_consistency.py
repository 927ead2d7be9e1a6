"""Bands of a calibration curve, and where a statement and its negation lie together."""

import tracemalloc

import numpy as np
import pytest
from calibrated import NEGATED, draw_calibrated_answers, draw_u_shaped, draw_uniform, make_probability_records
from records import make_records

from medfact.metrics.coherence import coherence
from medfact.metrics.probability import bands, calibration


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
