"""What P(True) is worth: calibration against truth."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from medfact.metrics.clusters import Bools, Codes, Floats
from medfact.metrics.consistency import bands, follows
from medfact.metrics.measures import Bin, Calibration
from medfact.metrics.records import Records

BINS = 20
LEAST_MASS = 0.5
"""Answers whose True and False words hold less of the probability than this say nothing about calibration."""


def calibration(records: Records) -> Calibration:
    """How well P(True) tells truth: 20 equal bins, and the expected calibration error beside that of a perfect model.

    A perfectly calibrated model shows some error by chance: `ece_floor` if every label were a coin of its own with the
    probability P(True), `ece_floor_coherent` if the labels of a fact's statements are fixed by one coin, whether the fact
    holds, as they are. The second is the one to hold `ece` against. Both are means over seeded draws.

    `coverage` is the share of answers with a P(True) whose True and False words hold at least half of the probability;
    the others are left out.
    """
    given, rows = records.scored & ~np.isnan(records.p_true), counted_rows(records)
    p, label = records.p_true[rows], records.label[rows].astype(float)
    right = records.right[rows].astype(float)
    bins = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    none = not len(p)
    return Calibration(
        n=len(p),
        coverage=float(rows.sum() / given.sum()) if given.any() else None,
        ece=None if none else _ece(p, label, bins),
        ece_floor=None if none else _ece_floor(p, bins, np.arange(len(p)), np.ones(len(p), dtype=bool)),
        ece_floor_coherent=None if none else _ece_floor(p, bins, records.triplet[rows], follows(records)[rows]),
        ece_confidence=None if none else _ece_of_confidence(np.maximum(p, 1 - p), right),
        brier=None if none else float(np.square(p - label).mean()),
        bins=tuple(_bins(p, label, bins, None if none else bands(records, np.flatnonzero(rows), bins, BINS))),
    )


def counted_rows(records: Records) -> Bools:
    """The statements whose P(True) counts: answered, and with at least half of the probability on True and False words."""
    mass = np.where(np.isnan(records.p_mass), 1.0, records.p_mass)
    return np.asarray(records.scored & ~np.isnan(records.p_true) & (mass >= LEAST_MASS), dtype=bool)


def _bins(p: Floats, label: Floats, bins: Codes, off: Floats | None) -> Iterator[Bin]:
    """off: 2 × bins, by how much at least and at most the share that is true may differ from the mean P(True)."""
    for b in range(BINS):
        rows = bins == b
        mean = float(p[rows].mean()) if rows.any() else None
        least, most = (None, None) if mean is None or off is None else np.clip(mean + off[:, b], 0, 1).tolist()
        yield Bin(
            low=b / BINS,
            high=(b + 1) / BINS,
            n=int(rows.sum()),
            mean_p_true=mean,
            positive_rate=float(label[rows].mean()) if rows.any() else None,
            least=least,
            most=most,
        )


def _ece(p: Floats, outcome: Floats, bins: Codes) -> float:
    """Expected calibration error: Σ n_b / n · |mean p − outcome rate| = Σ |sum p − sum outcome| / n."""
    return float(np.abs(np.bincount(bins, weights=p - outcome)).sum() / len(p))


def _ece_of_confidence(confidence: Floats, right: Floats) -> float:
    bins = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    return _ece(confidence, right, bins)


def _ece_floor(p: Floats, bins: Codes, coins: Codes, follows: Bools) -> float:
    """The error that a perfectly calibrated model with these very P(True) shows by chance: mean over seeded draws.

    coins: of each statement the code of what fixes its label. One number from 0 to 1 is drawn for each; a statement that
    follows it is true where the number is below its P(True), one that does not where it is above 1 − P(True).
    With many answers each draw is nearly the mean, so that fewer draws do.
    """
    randomness = np.random.default_rng(0)
    draws = max(10, min(100, 1_000_000 // len(p)))
    count = int(coins.max()) + 1

    def drawn() -> float:
        fallen = randomness.random(count)[coins]
        return _ece(p, (np.where(follows, fallen, 1 - fallen) < p).astype(float), bins)

    return float(np.mean([drawn() for _ in range(draws)]))
