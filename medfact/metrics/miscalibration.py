"""Calibration error of P(True), and the defects that are more than chance.

A calibrated model shows an error by chance, more so where one truth decides all statements of a fact. So nothing is claimed
from the size of an error: a claim rests on means that are 0 for every calibrated model, coherent or not, with errors clustered
by head and tail.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import fft, optimize

from medfact.metrics.clusters import Bools, Clusters, Codes, Floats, count_of, crossed, entries, parts_of, sum_of_parts
from medfact.metrics.probability import BINS, bins_of
from medfact.metrics.records import Records
from medfact.metrics.uncertainty import LEVEL, Estimate, is_known, linear_interval, t_quantile, too_few, usual_effect

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
    """Calibration error of P(True) over some statements.

    ece: the expected calibration error in 20 bins, above 0 by chance; its interval is for the population's, with the lean of
    heads and tails taken out (`_ece`). debiased: the same without what chance adds (after Kumar, Liang and Ma 2019), about 0
    for a calibrated model and below it now and then. smooth: smooth ECE (Błasiok and Nakkiran 2023). shift: mean of P(True)
    less truth.
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
    """Calibration error over these statements, one at least, each with a P(True) that counts."""
    places = np.flatnonzero(rows)
    n, p, label = len(places), records.p_true[places], records.label[places].astype(float)
    count = np.bincount(records.fact[places])
    facts = np.flatnonzero(count)
    first = records.first_of_fact[facts]
    clusters = records.clusters(first)

    cell, sure = np.searchsorted(facts, records.fact[places]) * BINS + bins_of(p), overconfidence_of(p, label)
    sums: Floats = np.bincount(cell, weights=p - label, minlength=len(facts) * BINS).reshape(-1, BINS).astype(float)
    # linear parts of means, one a fact: all statements of a fact stand in the same clusters
    mean, sums_of_sure = sums.sum(axis=0) / n, np.bincount(records.fact[places], weights=sure)[facts]
    errors = mean + (sums - np.outer(count[facts], mean)) * len(facts) / n
    shift, sureness = errors.sum(axis=1), sure.mean() + (sums_of_sure - sure.mean() * count[facts]) * len(facts) / n
    return Miscalibration(
        n=n,
        ece=_ece(errors, clusters, n),
        debiased=debiased_ece(sums, count[facts].astype(float), clusters),
        smooth=smooth_ece(p, label),
        shift=_mean(shift, clusters)._replace(n=n),
        overconfidence=_mean(sureness, clusters)._replace(n=n),
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


def _mean(values: Floats, clusters: Clusters) -> Estimate:
    """The mean of values, one a fact, with a t interval: shared tails add their usual effect to the one seen, since a few of
    them often show less than they have; degrees of freedom are those of the tails.
    """
    plain = linear_interval(values, clusters)
    if plain.value is None or plain.low == plain.high:
        return plain
    n, parts = len(values), parts_of(values, clusters)
    usual = usual_effect(clusters, n) / usual_effect(clusters._replace(tails=None), n) - 1
    of_tails = parts[clusters.tails is not None].degrees_of_freedom
    total = sum_of_parts(parts)
    half = t_quantile(min(total.degrees_of_freedom, of_tails)) * (total.variance + usual * parts[0].variance) ** 0.5
    return plain._replace(low=plain.value - half, high=plain.value + half)


def _ece(errors: Floats, clusters: Clusters, n: int) -> Estimate:
    """ECE with an interval for the population's, which chance does not raise. errors: facts × bins, linear parts of the mean of
    p − y in each bin.

    The interval holds the sizes at which a model would show this ECE in the middle 95 % of draws of heads and tails (test
    inversion). A bootstrap about the errors seen takes off too little where chance is most of them. The lower end spreads the
    error over the bins as the seen one is. The upper end spreads it as chance does, or along what moves by chance most: that
    hides most of it. Coverage:
    `benchmarks/calibration.py`.
    """
    seen = errors.mean(axis=0)
    value = float(np.abs(seen).sum())
    if is_known(clusters):
        return Estimate(value, value, value, n)
    if too_few(clusters.heads):
        return Estimate(value, None, None, n)
    chance = _chance(errors, clusters)
    spread = np.abs(np.sign(seen)) * chance.std(axis=0)
    if spread.sum() < 1e-9:  # nothing varies
        return Estimate(value, value, value, n)
    ways = np.sign(seen) * spread, np.linalg.svd(chance, full_matrices=False)[2][0]
    aim = 0.5 + LEVEL / 2

    def raised(size: float, way: Floats, level: float) -> float:
        """By how much a model that is so far off shows more than was seen, at this quantile."""
        return float(np.quantile(np.abs(size * way + chance).sum(axis=1), level)) - value

    least = optimize.brentq(raised, 0.0, 1.0, (seen, aim)) if raised(0.0, seen, aim) < 0 < raised(1.0, seen, aim) else 0.0
    most = 1 + 2 * float(np.abs(chance).sum(axis=1).max()) / value
    scaled = [way * value / np.abs(way).sum() for way in ways]
    most_of = [optimize.brentq(raised, 0.0, most, (way, 1 - aim)) for way in scaled if raised(0.0, way, 1 - aim) < 0]
    # an ECE below what chance alone shows can never be told from none
    return Estimate(
        value, least * value, max(value, *(most * value for most in most_of), float(np.median(np.abs(chance).sum(axis=1)))), n
    )


def _chance(errors: Floats, clusters: Clusters) -> Floats:
    """Draws × bins: how far chance moves the mean of `errors`, multivariate t.

    Sums of heads, of tails and of draws of demonstrations get normal weights, each as large as its part of the variance
    (`parts_of`), so that the errors of the bins hang together as those of one tail do.
    """
    centred, count = errors - errors.mean(axis=0), len(np.unique(clusters.heads))
    draws, randomness = int(np.clip(_DRAWN // count, _LEAST_RESAMPLES, _MOST_RESAMPLES)), np.random.default_rng(0)
    by_bin = [parts_of(column, clusters) for column in errors.T if column.any()]
    moved = np.zeros((draws, errors.shape[1]))
    for place, codes in enumerate(codes for codes in (clusters.heads, clusters.tails, clusters.draws) if codes is not None):
        variance = sum(parts[place].variance for parts in by_bin if place < len(parts))
        row, code = entries(codes)
        sums = np.stack([np.bincount(code, weights=column[row]) for column in centred.T], axis=1)
        if variance > 0 and sums.any():
            moved += randomness.normal(size=(draws, len(sums))) @ sums * (variance / float(np.square(sums).sum())) ** 0.5
    degrees = sum_of_parts(parts_of(errors @ np.sign(errors.mean(axis=0)), clusters)).degrees_of_freedom
    return moved * np.sqrt(degrees / randomness.chisquare(degrees, (draws, 1)))


def debiased_ece(errors: Floats, sizes: Floats, clusters: Clusters, seed: int = 0) -> float:
    """ECE whose signs come from one half of the heads and its sizes from the other: by chance they agree as often as not.

    Where heads share tails, the two halves do not: each is a half of the heads with a half of the tails. The mean over 20
    random splits, each in all ways. errors: facts × bins, sums of p − y; sizes: of each fact its statements.
    """
    if count_of(clusters.heads) < 2:
        return 0.0
    randomness = np.random.default_rng(seed)

    def split(codes: Codes) -> Bools:
        """Splits × facts: which facts are in the first half."""
        place = np.unique(codes, return_inverse=True)[1]
        count = int(place.max()) + 1
        return np.asarray(randomness.permuted(np.tile(np.arange(count) < count // 2, (_SPLITS, 1)), axis=1)[:, place])

    first, tails = split(clusters.heads), clusters.tails
    quarters = [(first, ~first)]
    if tails is not None and tails.ndim == 1 and count_of(crossed(clusters.heads, tails)) > count_of(tails):
        of_tails = split(tails)
        quarters = [(first & of_tails, ~first & ~of_tails), (first & ~of_tails, ~first & of_tails)]
    ours = np.concatenate([side for pair in quarters for side in pair]).astype(float)
    others = np.concatenate([side for pair in quarters for side in pair[::-1]]).astype(float)
    return float((np.sign(others @ errors) * (ours @ errors)).sum() / max(float((ours @ sizes).sum()), 1.0))


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
