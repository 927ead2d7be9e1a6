"""Figures that other libraries compute, as a table to hold medfact's against (`tests/metrics/test_oracles.py`).

    pip install -r tests/data/oracles/requirements.txt      # in an environment of its own; see there for confseq
    python tests/data/oracles/make.py                       # writes tests/data/oracles/table.json

Nothing of medfact is imported here. Each case has its inputs beside what the library says of them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import relplot
import statsmodels.api as sm
from model_diagnostics.scoring import SquaredError, decompose
from scipy import optimize, stats
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, roc_auc_score
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import NormalIndPower
from statsmodels.stats.proportion import proportion_confint

np.float_ = np.float64  # type: ignore[attr-defined]  # confseq 0.0.11 wants the name that numpy 2 has dropped
from confseq.betting import betting_mart  # noqa: E402

LIBRARIES = ("confseq", "model-diagnostics", "numpy", "relplot", "scikit-learn", "scipy", "statsmodels")
Case = dict[str, Any]


def wilson() -> list[Case]:
    """statsmodels: Wilson's interval; n need not be whole."""
    cases = [(0, 10), (3, 10), (10, 10), (0, 200), (1, 200), (61, 100), (0.7, 7.3), (2.5, 31.4)]
    return [
        {"share": count / n, "n": n, "interval": list(proportion_confint(count, n, 0.05, method="wilson"))}
        for count, n in cases
    ]


def _raw_variance(values: np.ndarray, groups: np.ndarray) -> float:
    """statsmodels: variance of the mean, clustered (by two columns crossed as one), without a factor for small samples."""
    options = {"groups": groups, "use_correction": False}
    return float(sm.OLS(values, np.ones(len(values))).fit(cov_type="cluster", cov_kwds=options).cov_params()[0, 0])


def clustered() -> list[Case]:
    """statsmodels: a mean's variance clustered one way, with C / (C − 1) and without; clusters of one size, and of several."""
    cases = []
    for seed, sizes in enumerate(([4] * 12, [1] * 25, [8] * 10, [9, 7, 5, 5, 4, 3, 2, 1, 1, 1, 1, 1])):
        randomness = np.random.default_rng(seed)
        heads = np.repeat(np.arange(len(sizes)), sizes)
        values = np.round(randomness.normal(0, 0.5, len(sizes))[heads] + randomness.normal(0, 1, len(heads)), 6)
        fit = sm.OLS(values, np.ones(len(values))).fit(cov_type="cluster", cov_kwds={"groups": heads, "df_correction": True})
        cases.append(
            {
                "values": values.tolist(),
                "heads": heads.tolist(),
                "variance": float(fit.cov_params()[0, 0]),
                "raw": _raw_variance(values, heads),
                "half_width": float(stats.t.ppf(0.975, len(sizes) - 1) * fit.bse[0]),
            }
        )
    return cases


def two_way() -> list[Case]:
    """statsmodels: the three terms of Cameron, Gelbach and Miller's two-way variance of a mean, without small-sample factors,
    and their sum with its own; heads with equal counts, tails with unequal ones.
    """
    cases = []
    for seed, (heads_n, tails_n, each) in enumerate(((12, 9, 10), (40, 15, 4), (200, 150, 6), (300, 300, 5))):
        randomness = np.random.default_rng(100 + seed)
        heads = np.repeat(np.arange(heads_n), each)
        tails = randomness.integers(0, tails_n, len(heads))
        values = randomness.normal(0, 0.6, heads_n)[heads] + randomness.normal(0, 0.5, tails_n)[tails]
        values = np.round(values + randomness.normal(0, 1, len(heads)), 6)
        both = np.unique(heads * tails_n + tails, return_inverse=True)[1]
        model = sm.OLS(values, np.ones(len(values)))
        fit = model.fit(cov_type="cluster", cov_kwds={"groups": np.column_stack([heads, tails])})
        cases.append(
            {
                "values": values.tolist(),
                "heads": heads.tolist(),
                "tails": tails.tolist(),
                "by_head": _raw_variance(values, heads),
                "by_tail": _raw_variance(values, tails),
                "by_both": _raw_variance(values, both),
                "two_way": float(fit.cov_params()[0, 0]),
            }
        )
    return cases


def korn_graubard() -> list[Case]:
    """Korn and Graubard's effective number of trials (1998): p (1 − p) / variance, by statsmodels' clustered variance, times
    (t with n − 1 / t with C − 1 degrees of freedom)²; and Wilson's interval with so many trials.
    """
    cases = []
    for seed, (heads_n, each) in enumerate(((12, 6), (30, 4), (60, 8))):
        randomness = np.random.default_rng(200 + seed)
        heads = np.repeat(np.arange(heads_n), each)
        values = (randomness.random(len(heads)) < randomness.beta(2, 2, heads_n)[heads]).astype(float)
        share, n = float(values.mean()), len(values)
        fit = sm.OLS(values, np.ones(n)).fit(cov_type="cluster", cov_kwds={"groups": heads})
        trials = share * (1 - share) / float(fit.cov_params()[0, 0])
        trials *= (stats.t.ppf(0.975, n - 1) / stats.t.ppf(0.975, heads_n - 1)) ** 2
        interval = proportion_confint(share * trials, trials, 0.05, method="wilson")
        cases.append({"values": values.tolist(), "heads": heads.tolist(), "trials": trials, "interval": list(interval)})
    return cases


def _forecasts(seed: int, n: int, ties: bool) -> tuple[np.ndarray, np.ndarray]:
    randomness = np.random.default_rng(seed)
    p = randomness.beta(0.6, 0.8, n).clip(1e-5, 1 - 1e-5)
    # on 0 and 1 themselves relplot's reflected Gaussian has half of its mass
    p = np.round(p, 1).clip(0.1, 0.9) if ties else np.round(p, 6)
    truth = (randomness.random(n) < p**1.4).astype(float)
    truth[:2] = 0, 1
    return p, truth


def _smooth_ece(p: np.ndarray, truth: np.ndarray) -> float:
    """relplot's error at the width that equals it; its own search stops at a width that is up to 1 / 1,024 larger."""
    return float(optimize.brentq(lambda width: relplot.smECE_sigma(p, truth, width) - width, 1e-3, 1, xtol=1e-7))


def probabilities() -> list[Case]:
    """scikit-learn: Brier score, AUROC, isotonic fit. relplot: ECE in 20 bins, smooth ECE. model-diagnostics: CORP."""
    cases = []
    for seed, n, ties in ((1, 60, False), (2, 200, False), (3, 80, True), (4, 400, False)):
        p, truth = _forecasts(seed, n, ties)
        parts = decompose(truth, p, scoring_function=SquaredError())
        own, width = relplot.smECE(p, truth, return_width=True)
        cases.append(
            {
                "p": p.tolist(),
                "truth": truth.tolist(),
                "brier": float(brier_score_loss(truth, p)),
                "auroc": float(roc_auc_score(truth, p)),
                "isotonic": IsotonicRegression(y_min=0, y_max=1).fit(p, truth).predict(p).tolist(),
                # in tenths, relplot puts a value on an edge where rounding does
                "ece": None if ties else float(relplot.metrics.binnedECE(p, truth, nbins=20)),
                "smooth_ece": _smooth_ece(p, truth),
                "smooth_ece_searched": [float(own), float(width)],
                "corp": {name: float(parts[name][0]) for name in ("miscalibration", "discrimination", "uncertainty", "score")},
            }
        )
    return cases


BOLDEST, BREAKS, ERROR = 0.9, 801, 0.05


def _bets(values: np.ndarray, population: int) -> Callable[[np.ndarray, float], np.ndarray]:
    """Bets for confseq: (guess − m) / (variance + (guess − m)²), of what was seen before each value, m what is left then."""
    seen = np.arange(len(values))
    total = np.append(0, np.cumsum(values))
    means = (0.5 + total) / (np.arange(len(values) + 1) + 1)
    squares = np.append(0, np.cumsum((values - means[1:]) ** 2))

    def bets(_: np.ndarray, mean: float) -> np.ndarray:
        left = (population * mean - total[:-1]) / (population - seen)
        gap = means[:-1] - left
        return np.asarray(gap / ((0.25 + squares[:-1]) / (seen + 1) + gap**2))

    return bets


def _rich(values: np.ndarray, population: int, mean: float) -> np.ndarray:
    """confseq: after which values one of two bettors against this mean has been rich."""
    bets = _bets(values, population)
    with np.errstate(all="ignore"):
        capital = betting_mart(
            values,
            mean,
            lambdas_fn_positive=lambda x, m: bets(x, m).clip(0),
            lambdas_fn_negative=lambda x, m: (-bets(x, m)).clip(0),
            N=population,
            theta=0.5,
            trunc_scale=BOLDEST,
        )
    return np.asarray(np.maximum.accumulate(capital) >= 1 / ERROR)


def sequences() -> list[Case]:
    """confseq: the least and the largest of 801 means that two bettors have not grown rich against, after each value drawn
    without replacement.
    """
    cases = []
    for seed, population, count in ((1, 60, 40), (2, 100, 100), (3, 250, 120)):
        randomness = np.random.default_rng(300 + seed)
        values = np.round(randomness.beta(6, 4, count), 4)
        rich = np.array([_rich(values, population, mean) for mean in np.linspace(0, 1, BREAKS)])
        kept = [np.flatnonzero(~at) / (BREAKS - 1) for at in rich.T]
        bounds = [[float(one[0]), float(one[-1])] if len(one) else None for one in kept]
        cases.append({"values": values.tolist(), "population": population, "bounds": bounds})
    return cases


def flips() -> list[Case]:
    """scipy: the exact permutation test of pairs, whose statistic is the sum; one pair a head."""
    cases = []
    for seed, count in enumerate((5, 9, 12)):
        a, b = (np.random.default_rng(400 + seed + side).integers(0, 9, count) / 8 for side in (0, 50))
        found = stats.permutation_test(
            (a, b), lambda x, y: (x - y).sum(), permutation_type="samples", n_resamples=math.inf, alternative="two-sided"
        )
        cases.append({"differences": (a - b).tolist(), "p": float(found.pvalue)})
    return cases


def families() -> list[Case]:
    """statsmodels: p of several comparisons after Holm."""
    given = ([0.01, 0.04, 0.03], [0.2, 0.001, 0.001, 0.9], [0.05])
    return [{"p": ps, "holm": multipletests(ps, method="holm")[1].tolist()} for ps in given]


def powers() -> list[Case]:
    """statsmodels: how often a z test at 5 % finds a difference, by its standard error."""
    power = NormalIndPower().power
    cases = ((0.05, 0.015), (0.02, 0.019), (0.1, 0.02))
    return [
        {"difference": d, "error": e, "power": float(power(d / e, nobs1=1, alpha=0.05, ratio=0, alternative="two-sided"))}
        for d, e in cases
    ]


def main() -> None:
    """Writes the table beside this file."""
    parts = (wilson, clustered, two_way, korn_graubard, probabilities, sequences, flips, families, powers)
    table = {"libraries": {name: version(name) for name in LIBRARIES}} | {part.__name__: part() for part in parts}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(cases)}" for name, cases in table.items())
    Path(__file__).with_name("table.json").write_text("{\n" + lines + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
