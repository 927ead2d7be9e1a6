"""medfact's figures beside those of statsmodels, scikit-learn, scipy, model-diagnostics, relplot and confseq.

`tests/data/oracles/make.py` computes the table, in an environment of its own. Where a library defines a figure as medfact does,
both agree to rounding; where not, the test says in what they differ.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from records import make_records, two_way_variance

from medfact.metrics import Records
from medfact.metrics.clusters import Clusters, IntraclassCorrelation, clustered_variance, variance_by_tail
from medfact.metrics.comparison import holm, paired_difference
from medfact.metrics.probability import Discrimination, calibration, isotonic, probabilities, smooth_ece
from medfact.metrics.race import confidence_sequence
from medfact.metrics.uncertainty import linear_interval, mean_interval, wilson
from medfact.results.power import power

ORACLES = Path(__file__).parents[1] / "data" / "oracles"
TABLE: dict[str, Any] = json.loads((ORACLES / "table.json").read_text(encoding="utf-8"))
Case = dict[str, Any]


def cases(name: str) -> Any:
    return pytest.mark.parametrize("case", TABLE[name])


def shares(codes: np.ndarray) -> np.ndarray:
    return np.bincount(codes)[np.bincount(codes) > 0] / len(codes)


def kept(codes: np.ndarray) -> float:
    """What squared sums of clusters show, on average, of one effect of variance 1 a cluster, term by term."""
    of = shares(codes)
    return float(sum(s**2 * ((np.eye(len(of))[i] - of) ** 2).sum() for i, s in enumerate(of)))


def test_the_table_says_which_libraries_made_it() -> None:
    listed = (ORACLES / "requirements.txt").read_text(encoding="utf-8")
    pins = dict(line.split("==") for line in listed.splitlines() if "==" in line)
    assert TABLE["libraries"] == pins


@cases("wilson")
def test_wilson(case: Case) -> None:
    assert wilson(case["share"], case["n"]) == pytest.approx(case["interval"], abs=1e-12)


@cases("clustered")
def test_errors_clustered_by_head(case: Case) -> None:
    """With heads of one size the factor is statsmodels'; with others it is larger, so that there is no bias."""
    values, heads = np.array(case["values"]), np.array(case["heads"])
    of = shares(heads)
    found = clustered_variance(values, heads)
    assert found == pytest.approx(case["raw"] * float(np.square(of).sum()) / kept(heads), rel=1e-9)
    if len(set(of)) == 1:
        assert found == pytest.approx(case["variance"], rel=1e-9)
        # statsmodels has C − 1 degrees of freedom; medfact no more, and fewer where a few heads say nearly all
        made = linear_interval(values, Clusters(heads))
        assert 1 - 1e-9 < (made.high - made.value) / case["half_width"] < 1.1
    else:
        assert found > case["variance"]


@cases("two_way")
def test_errors_clustered_by_head_and_tail(case: Case) -> None:
    """statsmodels adds what heads and tails show and takes off what both do, with one factor for all. medfact does the same by
    moments: it scales each part so that unequal tails make no bias. With 150 tails or more the factors hardly matter.
    """
    values, heads, tails = (np.array(case[name]) for name in ("values", "heads", "tails"))
    both = np.unique(heads * 1_000 + tails, return_inverse=True)[1]
    of_tails, within = float(np.square(shares(tails)).sum()), float(np.square(shares(both)).sum())
    seen = kept(tails) - (1 - of_tails) * within
    added = max(0.0, case["by_tail"] - (1 - of_tails) * case["by_both"]) * (of_tails - within) / seen
    assert variance_by_tail(values, heads, tails) == pytest.approx(added, rel=1e-9)
    found = two_way_variance(values, heads, tails)
    assert found == pytest.approx(case["by_head"] * float(np.square(shares(heads)).sum()) / kept(heads) + added, rel=1e-9)
    assert found == pytest.approx(case["two_way"], rel=0.03 if tails.max() > 100 else 0.25)


@cases("korn_graubard")
def test_korn_and_graubards_effective_trials(case: Case) -> None:
    """Where heads are as much alike as is taken for granted, nothing is borrowed, and the trials are Korn and Graubard's up to
    the degrees of freedom: C − 1 there; here fewer where few heads say nearly all, and more by what is borrowed.
    """
    values, heads = np.array(case["values"]), np.array(case["heads"])
    n, share, each = len(values), float(values.mean()), len(values) / (heads.max() + 1)
    effect = clustered_variance(values, heads) * n / (share * (1 - share))
    made = mean_interval(values, Clusters(heads, intraclass=IntraclassCorrelation((effect - 1) / (each - 1), 0)))
    assert (made.low, made.high) == pytest.approx(case["interval"], abs=0.006)
    assert (made.low, made.high) == pytest.approx(wilson(share, case["trials"]), abs=0.006)


def answered(case: Case) -> Records:
    """One affirmed statement a fact, with this P(True), each of a head of its own."""
    rows = [
        (f"fact{i}" if true else f"fact{i}'", f"head {i}", f"tail {i}", "T" if p > 0.5 else "F")
        for i, (p, true) in enumerate(zip(case["p"], case["truth"], strict=True))
    ]
    return make_records(*rows, p_true=case["p"])


def overall(records: Records) -> Discrimination:
    found = probabilities(records)
    return found.overall


@cases("probabilities")
def test_brier_auroc_and_ece(case: Case) -> None:
    found, calibrated = overall(answered(case)), calibration(answered(case))
    assert found.brier.value == pytest.approx(case["brier"], abs=1e-12)
    assert calibrated.brier == pytest.approx(case["brier"], abs=1e-12)
    assert found.auroc.value == pytest.approx(case["auroc"], abs=1e-12)
    if case["ece"] is not None:
        assert calibrated.ece == pytest.approx(case["ece"], abs=1e-12)


@cases("probabilities")
def test_corp(case: Case) -> None:
    found, corp = overall(answered(case)), case["corp"]
    assert found.miscalibration == pytest.approx(corp["miscalibration"], abs=1e-9)
    assert found.discrimination == pytest.approx(corp["discrimination"], abs=1e-9)
    assert found.uncertainty == pytest.approx(corp["uncertainty"], abs=1e-9)
    assert found.brier.value == pytest.approx(corp["score"], abs=1e-9)
    assert isotonic(np.array(case["p"]), np.array(case["truth"])) == pytest.approx(case["isotonic"], abs=1e-9)


@cases("probabilities")
def test_smooth_ece(case: Case) -> None:
    """relplot smooths on a grid of at least 2,000 places and sums at 200; medfact at 2,000, so they agree to 0.0005. relplot's
    own search stops at a width up to 1 / 1,024 too large, where the error is a little smaller.
    """
    found = smooth_ece(np.array(case["p"]), np.array(case["truth"]))
    assert found == pytest.approx(case["smooth_ece"], abs=5e-4)
    own, width = case["smooth_ece_searched"]
    assert own - 5e-4 < found < width + 5e-4


@cases("sequences")
def test_the_confidence_sequence(case: Case) -> None:
    """medfact's bounds are a step of the grid wider, since the mean may lie between two candidates, and never open again."""
    values, step = np.array(case["values"]), 1 / 800
    lows, highs = confidence_sequence(values, case["population"], 0.05)
    for place, bounds in enumerate(case["bounds"]):
        if bounds is None:  # no candidate is left: the truth is between two
            assert highs[place] - lows[place] < 0.02
            continue
        assert lows[place] == pytest.approx(max(0, bounds[0] - step), abs=1e-9)
        assert highs[place] == pytest.approx(min(1, bounds[1] + step), abs=1e-9)


@cases("flips")
def test_flipped_signs(case: Case) -> None:
    differences = np.array(case["differences"])
    assert paired_difference(differences, np.arange(len(differences))).p == pytest.approx(case["p"], abs=1e-12)


@cases("families")
def test_holm(case: Case) -> None:
    assert holm(case["p"]) == pytest.approx(case["holm"], abs=1e-12)


@cases("powers")
def test_power(case: Case) -> None:
    assert power(case["difference"], case["error"]) == pytest.approx(case["power"], abs=1e-9)
