"""What probabilities are good for: do they rank true above false, are sure answers right, and where the Brier score goes.

CORP (Dimitriadis, Gneiting and Jordan 2021) splits the Brier score by isotonic regression, without bins to choose:
Brier = miscalibration − discrimination + uncertainty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import optimize, sparse, special

from medfact.metrics.clusters import Bools, Clusters, Codes, Floats, redrawn, unseen_share
from medfact.metrics.miscalibration import Miscalibration, miscalibration
from medfact.metrics.probability import counted_rows
from medfact.metrics.records import Names, Records
from medfact.metrics.uncertainty import NOTHING, Estimate, is_known, mean_interval, too_few, widened

COVERAGES = (1.0, 0.8, 0.5, 0.2)
"""Shares of the answers that are kept, the surest first."""

_MOST_RESAMPLES, _LEAST_RESAMPLES, _NUMBERS = 400, 100, 20_000_000
"""Draws of heads behind an interval: as many as keep within so many numbers."""
_AT_ONCE = 1_000_000
"""Numbers that are computed together."""


@dataclass(frozen=True)
class Selective:
    """Right answers among the surest ones. coverage: the share of the answers that is kept; threshold: their least
    max(P(True), 1 − P(True)). At equal sureness more are kept.
    """

    coverage: float
    threshold: float
    accuracy: Estimate


@dataclass(frozen=True)
class Discrimination:
    """How good probabilities are, over the statements with a P(True) that counts.

    auroc: the chance that a true statement gets a higher P(True) than a false one, ½ for ties; 0.5 is a coin. brier: the mean
    of (P(True) − truth)². miscalibration − discrimination + uncertainty = brier (CORP): what calibration could save, what
    ranking brings, and what a constant P(True) costs. Miscalibration is above 0 by chance, even of a perfect model.
    """

    n: int
    auroc: Estimate
    brier: Estimate
    miscalibration: float
    discrimination: float
    uncertainty: float
    selective: tuple[Selective, ...]


@dataclass(frozen=True)
class Probabilities:
    """overall: over all statements. affirmed: over affirmed ones alone, where the word “not” cannot help; None without any.

    off, off_affirmed: how far P(True) is off over the same; by_variant, by_relation, by_difficulty: over parts, of which one
    in twenty has a `defect` by chance.
    """

    overall: Discrimination
    affirmed: Discrimination | None
    off: Miscalibration
    off_affirmed: Miscalibration | None
    by_variant: Mapping[str, Miscalibration]
    by_relation: Mapping[str, Miscalibration]
    by_difficulty: Mapping[str, Miscalibration]


def probabilities(records: Records) -> Probabilities | None:
    """How good a run's P(True) is; None where no statement has one that counts."""
    rows = counted_rows(records)
    overall, affirmed = _of(records, rows), rows & ~records.negated
    if overall is None:
        return None

    def parts(names: Names) -> dict[str, Miscalibration]:
        of = {name: rows & names.among([name]) for name in names.names if name}
        return {name: miscalibration(records, chosen) for name, chosen in of.items() if chosen.any()}

    return Probabilities(
        overall=overall,
        affirmed=_of(records, affirmed),
        off=miscalibration(records, rows),
        off_affirmed=miscalibration(records, affirmed) if affirmed.any() else None,
        by_variant=parts(records.variants),
        by_relation=parts(records.relations),
        by_difficulty=parts(records.difficulties),
    )


def _of(records: Records, rows: Bools) -> Discrimination | None:
    places = np.flatnonzero(rows)
    if not len(places):
        return None
    p, label = records.p_true[places], records.label[places].astype(float)
    fitted = isotonic(p, label)
    brier, best, constant = (float(np.square(q - label).mean()) for q in (p, fitted, np.full(len(p), label.mean())))
    return Discrimination(
        n=len(places),
        auroc=_auroc(p, label, records.clusters(places)),
        brier=mean_interval(np.square(p - label), records.clusters(places)),
        miscalibration=brier - best,
        discrimination=constant - best,
        uncertainty=constant,
        selective=tuple(_selective(records, places, p, share) for share in COVERAGES),
    )


def isotonic(p: Floats, label: Floats) -> Floats:
    """Of each statement, the share of true ones that rises with P(True) and fits best (least squares); ties share it."""
    _, place, times = np.unique(p, return_inverse=True, return_counts=True)
    means = np.bincount(place, weights=label) / times
    return np.asarray(optimize.isotonic_regression(means, weights=times).x[place])


def _auroc(p: Floats, label: Floats, clusters: Clusters) -> Estimate:
    """AUROC with a percentile interval over heads drawn with replacement, widened for shared tails; no value where all
    statements are true, or none.
    """
    heads = np.unique(clusters.heads, return_inverse=True)[1]
    count = int(heads.max()) + 1
    values = _weighted_auroc(p, label, heads, np.ones((1, count), dtype=np.int64))
    if not len(values):
        return Estimate(None, None, None, 0)
    value = float(values[0])
    if is_known(clusters):
        return Estimate(value, value, value, len(p))
    if too_few(heads):
        return Estimate(value, None, None, len(p))
    draws = int(np.clip(_NUMBERS // len(p), _LEAST_RESAMPLES, _MOST_RESAMPLES))
    parts = np.array_split(redrawn(count, draws), max(1, draws * len(p) // _AT_ONCE))
    drawn = np.concatenate([_weighted_auroc(p, label, heads, times) for times in parts])
    low, high = np.quantile(drawn, [0.025, 0.975])
    # so few heads vary more than the bootstrap shows
    stretch = float(special.stdtrit(count - 1, 0.975) / special.ndtri(0.975)) * np.sqrt(
        count / (count - 1) * unseen_share(clusters)
    )
    ends = value - stretch * (value - float(low)), value + stretch * (float(high) - value)
    low, high = widened(value, *ends, _auroc_by_statement(p, label, value), clusters)
    return Estimate(value, max(0.0, low), min(1.0, high), len(p))


def _auroc_by_statement(p: Floats, label: Floats, value: float) -> Floats:
    """The linear parts of AUROC: how many statements of the other kind each stands on the right side of, ½ for ties."""
    true = label > 0.5
    parts = np.full(len(p), value)
    for side, sign in ((true, 1), (~true, -1)):
        others = np.sort(sign * p[~side])
        mine = sign * p[side]
        ahead = (np.searchsorted(others, mine, "left") + np.searchsorted(others, mine, "right")) / (2 * len(others))
        parts[side] += (ahead - value) * len(p) / len(mine)
    return parts


def _weighted_auroc(p: Floats, label: Floats, heads: Codes, times: Codes | Floats) -> Floats:
    """AUROC where each head counts so often, with all its statements: one for each row of times (draw, head) with true and
    false ones.
    """
    different, place = np.unique(p, return_inverse=True)
    shape, often = (len(different), times.shape[1]), times.T.astype(float)
    true, false = (sparse.csr_array((side, (place, heads)), shape) @ often for side in (label, 1 - label))
    couples = true.sum(axis=0) * false.sum(axis=0)
    below = np.cumsum(false, axis=0) - false / 2
    return np.asarray((true * below).sum(axis=0)[couples > 0] / couples[couples > 0])


def _selective(records: Records, places: Codes, p: Floats, share: float) -> Selective:
    sure = np.maximum(p, 1 - p)
    kept = max(1, round(share * len(p)))
    threshold = float(np.partition(sure, len(sure) - kept)[len(sure) - kept])
    chosen = np.zeros(len(records.fact), dtype=bool)
    chosen[places[sure >= threshold]] = True
    accuracy = records.accuracy(chosen) if chosen.any() else NOTHING
    return Selective(float(chosen.sum() / len(p)), threshold, accuracy)
