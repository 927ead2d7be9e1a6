"""Whether P(True) means what it says: by how much it is off, and whether that is more than chance.

A calibrated model shows an error by chance, more so where one truth decides all statements of a fact. So nothing is claimed
from the size of an error: a claim rests on means that are 0 for every calibrated model, coherent or not, with errors clustered
by head and tail.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import fft, optimize

from medfact.metrics.clusters import Bools, Clusters, Codes, Floats, parts_of, redrawn, sum_of_parts, unseen_share
from medfact.metrics.probability import BINS, bins_of
from medfact.metrics.records import Records
from medfact.metrics.uncertainty import LEVEL, Estimate, is_known, linear_interval, t_quantile, too_few, widened

TOO_HIGH, TOO_LOW, OVERCONFIDENT, UNDERCONFIDENT = "too-high", "too-low", "overconfident", "underconfident"

DEFECTS = {
    TOO_HIGH: "its probability of “true” is too high, whatever the truth",
    TOO_LOW: "its probability of “true” is too low, whatever the truth",
    OVERCONFIDENT: "it is overconfident",
    UNDERCONFIDENT: "it is underconfident",
}
"""Defect of calibration → what it says of the model."""

_GRID = 2_000
"""Places from 0 to 1 at which the smooth error is taken."""

_SPLITS = 20
_MOST_RESAMPLES, _LEAST_RESAMPLES, _DRAWN = 400, 100, 400_000
"""Draws of heads behind an interval: as many as keep within so many heads drawn."""


@dataclass(frozen=True)
class Miscalibration:
    """How far P(True) is off, over some statements.

    ece: the expected calibration error in 20 bins, with an interval from a bootstrap over heads, widened for shared tails;
    above 0 by chance. debiased: the same without what chance adds (after Kumar, Liang and Ma 2019), about 0 for a calibrated
    model and below it now and then. smooth: smooth ECE (Błasiok and Nakkiran 2023). shift: mean of P(True) less truth.
    overconfidence: mean of max(P(True), 1 − P(True)) less the share of truths on its side. defect: which of DEFECTS is claimed,
    with errors in 5 % of calibrated models; None where none is, or there are too few heads to say.
    """

    n: int
    ece: Estimate
    debiased: float
    smooth: float
    shift: Estimate
    overconfidence: Estimate
    defect: str | None


def miscalibration(records: Records, rows: Bools) -> Miscalibration:
    """How far P(True) is off over these statements, one at least, each with a P(True) that counts."""
    places = np.flatnonzero(rows)
    p, label = records.p_true[places], records.label[places].astype(float)
    n, by_statement = len(places), records.clusters(places)
    count = np.bincount(records.fact[places])
    facts = np.flatnonzero(count)
    first = records.first_of_fact[facts]
    clusters = records.clusters(first)

    def by_fact(values: Floats) -> Floats:
        """The linear parts, one a fact, of the mean of values: all statements of a fact stand in the same clusters."""
        sums = np.bincount(records.fact[places], weights=values)[facts]
        return np.asarray(values.mean() + (sums - values.mean() * count[facts]) * len(facts) / n)

    shift, sureness = by_fact(p - label), by_fact(overconfidence_of(p, label))
    return Miscalibration(
        n=n,
        ece=_ece(p, label, by_statement),
        debiased=debiased_ece(p, label, by_statement.heads),
        smooth=smooth_ece(p, label),
        shift=linear_interval(shift, clusters)._replace(n=n),
        overconfidence=linear_interval(sureness, clusters)._replace(n=n),
        defect=defect_of(shift, sureness, clusters._replace(heads=records.head[first], unseen=None)),
    )


def overconfidence_of(p: Floats, label: Floats) -> Floats:
    """Sureness less whether the truth is on that side; at P(True) = ½ neither side is."""
    return np.asarray(np.where(p > 0.5, p - label, np.where(p < 0.5, label - p, 0.0)))


def defect_of(shift: Floats, sureness: Floats, clusters: Clusters) -> str | None:
    """The defect that stands out of those shown, each at 5 % by the number that could be shown at all (Bonferroni).

    shift: P(True) less truth; sureness: less right answers; one a statement, or the linear parts of their means.
    """
    if too_few(clusters.heads):
        return None
    found: dict[str, tuple[float, float]] = {}
    for names, values in (((TOO_HIGH, TOO_LOW), shift), ((OVERCONFIDENT, UNDERCONFIDENT), sureness)):
        (variance, degrees), mean = sum_of_parts(parts_of(values, clusters)), abs(float(values.mean()))
        # where one truth decides a fact and its negation alike, their sum is never off, and nothing is tested
        if max(variance, mean) > 1e-12:
            found[names[int(values.mean() < 0)]] = mean / max(variance, 1e-24) ** 0.5, degrees
    level = 1 - (1 - LEVEL) / max(len(found), 1)
    shown = {name: times for name, (times, degrees) in found.items() if times > t_quantile(degrees, level)}
    return max(shown, key=lambda name: shown[name]) if shown else None


def _ece(p: Floats, label: Floats, clusters: Clusters) -> Estimate:
    """ECE with a basic bootstrap interval over heads, widened for shared tails: what is drawn lies above it as it lies above
    the truth.
    """
    heads = np.unique(clusters.heads, return_inverse=True)[1]
    count = int(heads.max()) + 1
    sums = np.bincount(heads * BINS + bins_of(p), weights=p - label, minlength=count * BINS).reshape(count, BINS)
    value, n = float(np.abs(sums.sum(axis=0)).sum() / len(p)), len(p)
    if is_known(clusters):
        return Estimate(value, value, value, n)
    if too_few(heads):
        return Estimate(value, None, None, n)
    draws = int(np.clip(_DRAWN // count, _LEAST_RESAMPLES, _MOST_RESAMPLES))
    times = redrawn(count, draws).astype(float)
    drawn = np.abs(times @ sums).sum(axis=1) / (times @ np.bincount(heads))
    low, high = np.quantile(drawn, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2])
    left = unseen_share(clusters) ** 0.5
    ends = min(value, value - left * float(high - value)), max(value, value + left * float(value - low))
    below, above = widened(value, *ends, np.sign(sums.sum(axis=0))[bins_of(p)] * (p - label), clusters)
    return Estimate(value, max(0.0, below), above, n)


def debiased_ece(p: Floats, label: Floats, heads: Codes, seed: int = 0) -> float:
    """ECE whose signs come from one half of the heads and its sizes from the other: by chance they agree as often as not.

    The mean over 20 random splits of the heads, each both ways.
    """
    heads = np.unique(heads, return_inverse=True)[1]
    count = int(heads.max()) + 1
    if count < 2:
        return 0.0
    sums = np.bincount(heads * BINS + bins_of(p), weights=p - label, minlength=count * BINS).reshape(count, BINS)
    sizes = np.bincount(heads)
    half = np.random.default_rng(seed).permuted(np.tile(np.arange(count) < count // 2, (_SPLITS, 1)), axis=1)
    ours = np.concatenate([half, ~half]).astype(float)
    signs = np.sign((1 - ours) @ sums)
    return float(((signs * (ours @ sums)).sum(axis=1) / (ours @ sizes)).mean())


def smooth_ece(p: Floats, label: Floats) -> float:
    """Smooth ECE: the mean of |P(True) − truth|, smoothed by a Gaussian that is reflected at 0 and 1, and as wide as it is.

    ∫ |Σ (p − y) K(t, p)| dt / n, where K's standard deviation σ is the σ that equals the result (Błasiok and Nakkiran 2023,
    definition 5). On a grid of 2,000 places: a reflected Gaussian is a product in the cosine transform.
    """
    place = np.minimum((p * _GRID).astype(np.int64), _GRID - 1)
    waves = fft.dct(np.bincount(place, weights=p - label, minlength=_GRID) / len(p), norm="ortho")
    frequency = np.pi * np.arange(_GRID)

    def smoothed(width: float) -> float:
        return float(np.abs(fft.idct(waves * np.exp(-0.5 * np.square(width * frequency)), norm="ortho")).sum())

    least, most = 1 / _GRID, 1.0
    if smoothed(least) <= least:
        return smoothed(least)
    return float(optimize.brentq(lambda width: smoothed(width) - width, least, most, xtol=1e-6))
