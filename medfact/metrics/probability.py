"""Quality of P(True): calibration, with its errors and consistency bands, discrimination, and selective accuracy.

One truth decides all statements of a fact, and heads are a sample. So neither errors nor bands take statements for independent,
and no calibration error counts as a defect for its size: chance alone makes it positive.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy import fft, optimize, sparse

from medfact.metrics.clusters import (
    Bools,
    Clusters,
    Codes,
    Floats,
    batch_sizes,
    bootstrap_counts,
    count_of,
    crossed,
    parts_of,
    sum_of_parts,
    tail_entries,
    unsampled_fraction,
)
from medfact.metrics.measures import Bin, Calibration, measured
from medfact.metrics.records import Facts, Names, Records
from medfact.metrics.uncertainty import (
    LEVEL,
    NOTHING,
    Estimate,
    has_too_few_clusters,
    interval_estimate,
    linear_interval,
    mean_interval,
    normal_quantile,
    prior_design_effect,
    t_quantile,
    widen_bootstrap,
)
from medfact.words import sayings

BINS = 20
LEAST_MASS = 0.5  # of the probability that True and False words hold in an answer that counts
_MIN_RESAMPLES, _MAX_RESAMPLES = 100, 400  # draws of heads behind the intervals of ECE and AUROC


def counted_rows(records: Records) -> Bools:
    """Statements whose P(True) counts: answered, and with at least LEAST_MASS on True and False words."""
    mass = np.where(np.isnan(records.p_mass), 1.0, records.p_mass)
    return np.asarray(records.scored & ~np.isnan(records.p_true) & (mass >= LEAST_MASS), dtype=bool)


def bins_of(p: Floats) -> Codes:
    """Index of each P(True) among the equal bins."""
    return np.minimum((p * BINS).astype(np.int64), BINS - 1)


# ------------------------------------------------------------------------------------------------ reliability diagram


@measured("calibration", kind=Calibration)
def calibration(records: Records, _: Facts | None = None) -> Calibration:
    """Reliability diagram of P(True) in 20 equal bins, and its expected calibration error (ECE) beside that of chance.

    A perfectly calibrated model shows an error by chance, too. `ece_floor`: if statements were true independently, each with
    the probability P(True). `ece_floor_coherent`: if one truth decides all statements of a fact, as it does; compare `ece`
    with this one. Both are means over seeded draws. `coverage`: share of the answers with a P(True) that counts.
    """
    answers, rows = int((records.scored & ~np.isnan(records.p_true)).sum()), np.flatnonzero(counted_rows(records))
    coverage = len(rows) / answers if answers else None
    if not len(rows):
        empty = (Bin(number / BINS, (number + 1) / BINS, 0, None, None, None, None) for number in range(BINS))
        return Calibration(0, coverage, None, None, None, None, None, tuple(empty))
    p, label = records.p_true[rows], records.label[rows].astype(float)
    bins, confidence = bins_of(p), np.maximum(p, 1 - p)
    return Calibration(
        n=len(p),
        coverage=coverage,
        ece=_ece(p, label, bins),
        ece_floor=_ece_floor(p, bins, np.arange(len(p)), np.ones(len(p), dtype=bool)),
        ece_floor_coherent=_ece_floor(p, bins, records.triplet[rows], (records.label == records.positive)[rows]),
        ece_confidence=_ece(confidence, records.right[rows].astype(float), bins_of(confidence)),
        brier=float(np.square(p - label).mean()),
        bins=tuple(_reliability_bins(p, label, bins, bands(records, rows, bins, BINS))),
    )


def _reliability_bins(p: Floats, label: Floats, bins: Codes, band: Floats | None) -> Iterator[Bin]:
    """Bins of the diagram. band: (2, bins), bounds of the share of true statements less the mean P(True)."""
    for number in range(BINS):
        rows = bins == number
        mean, rate = (float(p[rows].mean()), float(label[rows].mean())) if rows.any() else (None, None)
        least, most = (None, None) if mean is None or band is None else np.clip(mean + band[:, number], 0, 1).tolist()
        yield Bin(number / BINS, (number + 1) / BINS, int(rows.sum()), mean, rate, least, most)


def _ece(p: Floats, outcome: Floats, bins: Codes) -> float:
    """Expected calibration error: Σ n_b / n · |mean p − outcome rate| = Σ |sum p − sum outcome| / n."""
    return float(np.abs(np.bincount(bins, weights=p - outcome)).sum() / len(p))


def _ece_floor(p: Floats, bins: Codes, coins: Codes, follows: Bools) -> float:
    """Expected ECE of a perfectly calibrated model with these P(True): mean over seeded draws, fewer for many answers.

    coins: label of each statement's truth, one number from 0 to 1 a draw. follows: True for a statement that is true if its
    number is below P(True); the others are true if it is above 1 − P(True).
    """
    randomness = np.random.default_rng(0)
    draws, count = max(10, min(100, 1_000_000 // len(p))), int(coins.max()) + 1
    numbers = (randomness.random(count)[coins] for _ in range(draws))
    return float(np.mean([_ece(p, (np.where(follows, drawn, 1 - drawn) < p).astype(float), bins) for drawn in numbers]))


_BAND_WORK, _MIN_BAND_DRAWS, _MAX_BAND_DRAWS = 2_000_000, 20, 400  # draws of a band: up to so many statements in all
_QUANTILE_DRAWS = 200  # with fewer draws a band is that of a normal distribution
_BAND_BATCH = 30_000  # numbers drawn at a time, so that the arrays stay in the processor's cache


def bands(records: Records, rows: Codes, bins: Codes, count: int) -> Floats | None:
    """Consistency bands (Bröcker and Smith 2007): 95 % bounds of the share of true statements less the mean P(True), by bin.

    Heads are drawn with replacement, with all their statements, and truths as a calibrated, coherent model has them.
    rows: statements with a P(True) that counts, at least one. bins: their bins, from 0 to `count` − 1.
    Returns (2, count), 0 for an empty bin; None with too few heads.
    """
    if has_too_few_clusters(records.head[rows]):
        return None
    order = np.lexsort((records.triplet[rows], records.head[rows]))
    rows, bins = rows[order], bins[order]
    head, p, follows = (
        np.unique(records.head[rows], return_inverse=True)[1],
        records.p_true[rows],
        (records.label == records.positive)[rows],
    )
    size = np.bincount(head)
    first, heads = np.cumsum(size) - size, len(size)
    fact = np.cumsum(np.diff(records.triplet[rows], prepend=-1) != 0) - 1
    coin = fact - fact[first][head]  # index of a statement's fact among those of its head
    coins, randomness = int(coin.max()) + 1, np.random.default_rng(0)

    def drawn(draws: int) -> Floats:
        """Returns (draws, count): the share of true statements less the mean P(True); NaN for an empty bin."""
        numbers = [(randomness.integers(heads, size=heads), randomness.random((heads, coins))) for _ in range(draws)]
        picked, truth = numbers[0] if draws == 1 else map(np.concatenate, zip(*numbers, strict=True))
        sizes = size[picked]
        copy = np.repeat(np.arange(len(picked)), sizes)
        row = np.repeat(first[picked] - (np.cumsum(sizes) - sizes), sizes) + np.arange(len(copy))
        chance = truth[copy, coin[row]]
        errors, cell = (np.where(follows[row], chance, 1 - chance) < p[row]) - p[row], copy // heads * count + bins[row]
        sums, sizes = (np.bincount(cell, weights=weights, minlength=draws * count) for weights in (errors, None))
        return np.where(sizes > 0, sums / np.maximum(sizes, 1), np.nan).reshape(draws, count)

    draws = int(np.clip(_BAND_WORK // len(rows), _MIN_BAND_DRAWS, _MAX_BAND_DRAWS))
    errors = np.concatenate([drawn(part) for part in batch_sizes(draws, max(len(rows), heads * coins), _BAND_BATCH)])
    nonempty, band = np.isfinite(errors).any(axis=0), np.zeros((2, count))
    if draws >= _QUANTILE_DRAWS:
        band[:, nonempty] = np.nanquantile(errors[:, nonempty], [0.5 - LEVEL / 2, 0.5 + LEVEL / 2], axis=0)
    else:
        band[:, nonempty] = 1.96 * np.nanstd(errors[:, nonempty], axis=0) * np.array([[-1], [1]])
    return band


# ------------------------------------------------------------------------------------------------ calibration error

TOO_HIGH, TOO_LOW, OVERCONFIDENT, UNDERCONFIDENT = "too-high", "too-low", "overconfident", "underconfident"
DEFECTS = sayings("probability.defect")  # defect of calibration → its meaning


@dataclass(frozen=True)
class Miscalibration:
    """Calibration error of P(True) over some statements."""

    n: int
    ece: Estimate  # in 20 bins, above 0 by chance; its interval is the population's, corrected for that (`_ece_bounds`)
    debiased: float  # without the part of chance (after Kumar, Liang and Ma 2019): about 0 if calibrated, or just below it
    smooth: float  # smooth ECE (Błasiok and Nakkiran 2023)
    shift: Estimate  # mean of P(True) less truth
    overconfidence: Estimate  # mean of max(P(True), 1 − P(True)) less the share of truths on its side
    defect: str | None  # of DEFECTS, shown in 5 % of calibrated models; None if none is shown, or heads are too few


def miscalibration(records: Records, rows: Bools) -> Miscalibration:
    """Calibration error over some statements, at least one, each with a P(True) that counts."""
    places = np.flatnonzero(rows)
    n, p, label, fact = len(places), records.p_true[places], records.label[places].astype(float), records.fact[places]
    facts = np.flatnonzero(np.bincount(fact))
    count, first = np.bincount(fact)[facts], records.first_of_fact[facts]
    clusters, confidence = records.clusters(first), overconfidence_of(p, label)
    cells = np.bincount(fact * BINS + bins_of(p), weights=p - label, minlength=(int(fact.max()) + 1) * BINS)
    sums: Floats = cells.reshape(-1, BINS)[facts].astype(float)
    # linear parts of means, one a fact: all statements of a fact have the same clusters
    mean, by_fact = sums.sum(axis=0) / n, np.bincount(fact, weights=confidence)[facts]
    errors = mean + (sums - np.outer(count, mean)) * len(facts) / n
    shift, excess = errors.sum(axis=1), confidence.mean() + (by_fact - confidence.mean() * count) * len(facts) / n
    ece = float(np.abs(errors.mean(axis=0)).sum())
    return Miscalibration(
        n=n,
        ece=interval_estimate(ece, n, clusters, lambda: _ece_bounds(errors, clusters, ece)),
        debiased=debiased_ece(sums, count.astype(float), clusters),
        smooth=smooth_ece(p, label),
        shift=_mean(shift, clusters)._replace(n=n),
        overconfidence=_mean(excess, clusters)._replace(n=n),
        defect=defect_of(shift, excess, clusters._replace(heads=records.head[first], unseen=None)),
    )


def overconfidence_of(p: Floats, label: Floats) -> Floats:
    """Confidence less 1 if the truth is on its side, one a statement; 0 at P(True) = ½, which has no side."""
    return np.asarray(np.where(p > 0.5, p - label, np.where(p < 0.5, label - p, 0.0)))


def defect_of(shift: Floats, overconfidence: Floats, clusters: Clusters) -> str | None:
    """Largest significant defect, at 5 % by the number of those that could be significant (Bonferroni); None if none is.

    Both are means that are 0 for every calibrated model, coherent or not, with errors clustered by head and tail.
    shift: P(True) less truth. overconfidence: confidence less truth on its side. One a statement, or the linear parts.
    """
    if has_too_few_clusters(clusters.heads):
        return None
    tested: dict[str, tuple[float, float]] = {}
    for names, values in (((TOO_HIGH, TOO_LOW), shift), ((OVERCONFIDENT, UNDERCONFIDENT), overconfidence)):
        (variance, degrees_of_freedom), mean = sum_of_parts(parts_of(values, clusters)), abs(float(values.mean()))
        # if one truth decides a fact and its negation alike, the sum is never off, and nothing is tested
        if max(variance, mean) > 1e-12:
            tested[names[int(values.mean() < 0)]] = mean / max(variance, 1e-24) ** 0.5, degrees_of_freedom
    level = 1 - (1 - LEVEL) / max(len(tested), 1)
    significant = {name: t for name, (t, degrees) in tested.items() if t > t_quantile(degrees, level)}
    return max(significant, key=lambda name: significant[name], default=None)


def _mean(values: Floats, clusters: Clusters) -> Estimate:
    """Mean of values, one a fact, with a t interval that is widened for tails: few tails show too little variance.

    Shared tails add their prior design effect to the observed one; degrees of freedom are at most those of the tails.
    """
    plain = linear_interval(values, clusters)
    if plain.value is None or plain.low == plain.high:
        return plain
    n, parts = len(values), parts_of(values, clusters)
    prior = prior_design_effect(clusters, n) / prior_design_effect(clusters._replace(tails=None), n) - 1
    total, by_tail = sum_of_parts(parts), parts[clusters.tails is not None]
    half_width = t_quantile(min(total.degrees_of_freedom, by_tail.degrees_of_freedom)) * (
        (total.variance + prior * parts[0].variance) ** 0.5
    )
    return plain._replace(low=plain.value - half_width, high=plain.value + half_width)


def _ece_bounds(errors: Floats, clusters: Clusters, value: float) -> tuple[float, float]:
    """Interval of the population's ECE, which chance does not raise, by test inversion.

    It contains the sizes at which a model would show this ECE in the middle 95 % of draws of heads and tails. A bootstrap
    about the observed errors corrects too little if most of them are chance. The lower bound spreads the error over the bins
    as observed. The upper bound spreads it as chance does, or along chance's first principal component, which hides most.
    Coverage: `benchmarks/calibration.py`.
    errors: (facts, bins), linear parts of the mean of p − y in each bin.
    """
    observed, chance = errors.mean(axis=0), _chance_errors(errors, clusters)
    spread = np.abs(np.sign(observed)) * chance.std(axis=0)
    if spread.sum() < 1e-9:  # nothing varies
        return value, value
    upper, totals = 0.5 + LEVEL / 2, np.abs(chance).sum(axis=1)

    def excess(size: float, direction: Floats, level: float) -> float:
        """ECE at this quantile less the observed one, if the model is off by so much."""
        return float(np.quantile(np.abs(size * direction + chance).sum(axis=1), level)) - value

    is_inside = excess(0.0, observed, upper) < 0 < excess(1.0, observed, upper)
    low = optimize.brentq(excess, 0.0, 1.0, (observed, upper)) * value if is_inside else 0.0 * value
    directions = np.sign(observed) * spread, np.linalg.svd(chance, full_matrices=False)[2][0]
    scaled = [direction * value / np.abs(direction).sum() for direction in directions]
    largest = 1 + 2 * float(totals.max()) / value
    highs = [
        optimize.brentq(excess, 0.0, largest, (direction, 1 - upper)) * value
        for direction in scaled
        if excess(0.0, direction, 1 - upper) < 0
    ]
    # an ECE below that of chance alone cannot be told from 0
    return low, max(value, *highs, float(np.median(totals)))


def _chance_errors(errors: Floats, clusters: Clusters) -> Floats:
    """Errors of the bins by chance, (draws, bins): multivariate t, with a normal weight for each head, tail and draw.

    Each kind of cluster has its component of the variance (`parts_of`), so errors of bins correlate as those of a tail do.
    """
    centred, heads = errors - errors.mean(axis=0), count_of(clusters.heads)
    draws, randomness = int(np.clip(400_000 // heads, _MIN_RESAMPLES, _MAX_RESAMPLES)), np.random.default_rng(0)
    by_bin = [parts_of(column, clusters) for column in errors.T if column.any()]
    moved = np.zeros((draws, errors.shape[1]))
    for number, codes in enumerate(codes for codes in (clusters.heads, clusters.tails, clusters.draws) if codes is not None):
        variance = sum(parts[number].variance for parts in by_bin if number < len(parts))
        row, code = tail_entries(codes)
        sums = np.stack([np.bincount(code, weights=column[row]) for column in centred.T], axis=1)
        if variance > 0 and sums.any():
            moved += randomness.normal(size=(draws, len(sums))) @ sums * (variance / float(np.square(sums).sum())) ** 0.5
    degrees = sum_of_parts(parts_of(errors @ np.sign(errors.mean(axis=0)), clusters)).degrees_of_freedom
    return moved * np.sqrt(degrees / randomness.chisquare(degrees, (draws, 1)))


def debiased_ece(errors: Floats, sizes: Floats, clusters: Clusters, seed: int = 0, splits: int = 20) -> float:
    """ECE with signs from one half of the heads and sizes from the other: by chance they agree as often as not.

    If heads share tails, each half is half of the heads with half of the tails. Mean over random splits, each in all ways.
    errors: (facts, bins), sums of p − y. sizes: statements by fact.
    """
    if count_of(clusters.heads) < 2:
        return 0.0
    randomness = np.random.default_rng(seed)

    def split(codes: Codes) -> Bools:
        """Returns (splits, facts): True in the first half."""
        index = np.unique(codes, return_inverse=True)[1]
        count = int(index.max()) + 1
        return np.asarray(randomness.permuted(np.tile(np.arange(count) < count // 2, (splits, 1)), axis=1)[:, index])

    first, tails = split(clusters.heads), clusters.tails
    halves = [(first, ~first)]
    if tails is not None and tails.ndim == 1 and count_of(crossed(clusters.heads, tails)) > count_of(tails):
        by_tail = split(tails)
        halves = [(first & by_tail, ~first & ~by_tail), (first & ~by_tail, ~first & by_tail)]
    these, others = (np.concatenate([side for pair in halves for side in pair[::step]]).astype(float) for step in (1, -1))
    return float((np.sign(others @ errors) * (these @ errors)).sum() / max(float((these @ sizes).sum()), 1.0))


_GRID = 2_000  # points from 0 to 1 of the smooth ECE


def smooth_ece(p: Floats, label: Floats) -> float:
    """Smooth ECE (Błasiok and Nakkiran 2023, definition 5): mean |P(True) − truth|, smoothed by a Gaussian of its own width.

    ∫ |Σ (p − y) K(t, p)| dt / n. K is a Gaussian, reflected at 0 and 1, with the result as its standard deviation. A
    reflected Gaussian is a product in the cosine transform.
    """
    point = np.minimum((p * _GRID).astype(np.int64), _GRID - 1)
    waves = fft.dct(np.bincount(point, weights=p - label, minlength=_GRID) / len(p), norm="ortho")
    frequency = np.pi * np.arange(_GRID)

    def smoothed(width: float) -> float:
        return float(np.abs(fft.idct(waves * np.exp(-0.5 * np.square(width * frequency)), norm="ortho")).sum())

    if smoothed(1 / _GRID) <= 1 / _GRID:
        return smoothed(1 / _GRID)
    return float(optimize.brentq(lambda width: smoothed(width) - width, 1 / _GRID, 1.0, xtol=1e-6))


# ------------------------------------------------------------------------------------------------ discrimination

COVERAGES = (1.0, 0.8, 0.5, 0.2)  # of the risk–coverage curve


@dataclass(frozen=True)
class Selective:
    """Selective accuracy: right answers among the most confident ones; ties with the threshold are included."""

    coverage: float  # share of the answers that is included
    threshold: float  # their lowest confidence, max(P(True), 1 − P(True))
    accuracy: Estimate


@dataclass(frozen=True)
class Discrimination:
    """Discrimination of P(True), over the statements for which it counts, and the CORP decomposition of its Brier score.

    Brier = miscalibration − discrimination + uncertainty, by isotonic regression (Dimitriadis, Gneiting and Jordan 2021).
    They are the loss that calibration would save, the gain of ranking, and the loss of a constant P(True).
    """

    n: int
    auroc: Estimate  # chance that a true statement has a higher P(True) than a false one, ½ for ties
    brier: Estimate  # mean of (P(True) − truth)²
    miscalibration: float  # above 0 by chance, even of a perfect model
    discrimination: float
    uncertainty: float
    selective: tuple[Selective, ...]


@dataclass(frozen=True)
class Probabilities:
    """Quality of a run's P(True), over all statements and over affirmed ones; by part, one in twenty has a defect by chance."""

    overall: Discrimination
    affirmed: Discrimination | None  # the word “not” cannot help there; None without affirmed statements
    off: Miscalibration
    off_affirmed: Miscalibration | None
    by_variant: Mapping[str, Miscalibration]
    by_relation: Mapping[str, Miscalibration]
    by_difficulty: Mapping[str, Miscalibration]


def probabilities(records: Records) -> Probabilities | None:
    """Quality of a run's P(True); None if it counts for no statement."""
    rows = counted_rows(records)
    overall, affirmed = _discrimination(records, rows), rows & ~records.negated
    if overall is None:
        return None

    def parts(names: Names) -> dict[str, Miscalibration]:
        by_name = {name: rows & names.among([name]) for name in names.names if name}
        return {name: miscalibration(records, chosen) for name, chosen in by_name.items() if chosen.any()}

    return Probabilities(
        overall=overall,
        affirmed=_discrimination(records, affirmed),
        off=miscalibration(records, rows),
        off_affirmed=miscalibration(records, affirmed) if affirmed.any() else None,
        by_variant=parts(records.variants),
        by_relation=parts(records.relations),
        by_difficulty=parts(records.difficulties),
    )


def _discrimination(records: Records, rows: Bools) -> Discrimination | None:
    places = np.flatnonzero(rows)
    if not len(places):
        return None
    p, label, clusters = records.p_true[places], records.label[places].astype(float), records.clusters(places)
    brier, best, constant = (float(np.square(q - label).mean()) for q in (p, isotonic(p, label), np.full(len(p), label.mean())))
    return Discrimination(
        n=len(places),
        auroc=_auroc(p, label, clusters),
        brier=mean_interval(np.square(p - label), clusters),
        miscalibration=brier - best,
        discrimination=constant - best,
        uncertainty=constant,
        selective=tuple(_selective(records, places, np.maximum(p, 1 - p), coverage) for coverage in COVERAGES),
    )


def isotonic(p: Floats, label: Floats) -> Floats:
    """Isotonic regression of truth on P(True), by least squares; ties share a value."""
    _, index, count = np.unique(p, return_inverse=True, return_counts=True)
    means = np.bincount(index, weights=label) / count
    return np.asarray(optimize.isotonic_regression(means, weights=count).x[index])


def _auroc(p: Floats, label: Floats, clusters: Clusters) -> Estimate:
    """AUROC with a percentile bootstrap over heads, widened for shared tails; no value if all statements have one label."""
    heads = np.unique(clusters.heads, return_inverse=True)[1]
    count = int(heads.max()) + 1
    values = _weighted_auroc(p, label, heads, np.ones((1, count), dtype=np.int64))
    if not len(values):
        return NOTHING
    value = float(values[0])

    def bounds() -> tuple[float, float]:
        # as many draws as fit in 20 million numbers, computed a million at a time
        draws = int(np.clip(20_000_000 // len(p), _MIN_RESAMPLES, _MAX_RESAMPLES))
        batches = np.array_split(bootstrap_counts(count, draws), max(1, draws * len(p) // 1_000_000))
        drawn = np.concatenate([_weighted_auroc(p, label, heads, counts) for counts in batches])
        low, high = np.quantile(drawn, [0.025, 0.975])
        # few heads vary more than the bootstrap shows
        stretch = t_quantile(count - 1) / normal_quantile() * np.sqrt(count / (count - 1) * unsampled_fraction(clusters))
        ends = value - stretch * (value - float(low)), value + stretch * (float(high) - value)
        low, high = widen_bootstrap(value, *ends, _linear_auroc(p, label, value), clusters)
        return max(0.0, low), min(1.0, high)

    return interval_estimate(value, len(p), clusters, bounds)


def _linear_auroc(p: Floats, label: Floats, value: float) -> Floats:
    """Linear parts of AUROC, one a statement: the share of the other label's statements that it is ranked right against."""
    true = label > 0.5
    parts = np.full(len(p), value)
    for side, sign in ((true, 1), (~true, -1)):
        others, these = np.sort(sign * p[~side]), sign * p[side]
        ahead = (np.searchsorted(others, these, "left") + np.searchsorted(others, these, "right")) / (2 * len(others))
        parts[side] += (ahead - value) * len(p) / len(these)
    return parts


def _weighted_auroc(p: Floats, label: Floats, heads: Codes, counts: Codes) -> Floats:
    """AUROC with each head counted several times: one a row of counts (draws, heads) that has both labels."""
    different, index = np.unique(p, return_inverse=True)
    shape, weights = (len(different), counts.shape[1]), counts.T.astype(float)
    true, false = (sparse.csr_array((side, (index, heads)), shape) @ weights for side in (label, 1 - label))
    pairs = true.sum(axis=0) * false.sum(axis=0)
    below = np.cumsum(false, axis=0) - false / 2
    return np.asarray((true * below).sum(axis=0)[pairs > 0] / pairs[pairs > 0])


def _selective(records: Records, places: Codes, confidence: Floats, coverage: float) -> Selective:
    """Selective accuracy at a coverage of the statements at these places."""
    cut = len(places) - max(1, round(coverage * len(places)))
    threshold = float(np.partition(confidence, cut)[cut])
    chosen = np.zeros(len(records.fact), dtype=bool)
    chosen[places[confidence >= threshold]] = True
    return Selective(float(chosen.sum() / len(places)), threshold, records.accuracy(chosen))
