"""What P(True) is worth: calibration against truth, and how far a calibrated model's points lie from the diagonal by chance.

Bands that take statements for independent are too narrow: one truth fixes all statements of a fact, and heads are a sample. So
heads are drawn with replacement, with all their statements, and the truths are drawn anew as a calibrated, coherent model has
them (consistency resampling after Bröcker and Smith 2007).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from medfact.metrics.clusters import Bools, Codes, Floats, batch_sizes
from medfact.metrics.measures import Bin, Calibration
from medfact.metrics.records import Records
from medfact.metrics.uncertainty import LEVEL, too_few

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
    bins = bins_of(p)
    none = not len(p)
    return Calibration(
        n=len(p),
        coverage=float(rows.sum() / given.sum()) if given.any() else None,
        ece=None if none else _ece(p, label, bins),
        ece_floor=None if none else _ece_floor(p, bins, np.arange(len(p)), np.ones(len(p), dtype=bool)),
        ece_floor_coherent=None if none else _ece_floor(p, bins, records.triplet[rows], follows(records)[rows]),
        ece_confidence=None if none else _ece(sure := np.maximum(p, 1 - p), right, bins_of(sure)),
        brier=None if none else float(np.square(p - label).mean()),
        bins=tuple(_bins(p, label, bins, None if none else bands(records, np.flatnonzero(rows), bins, BINS))),
    )


def counted_rows(records: Records) -> Bools:
    """The statements whose P(True) counts: answered, and with at least half of the probability on True and False words."""
    mass = np.where(np.isnan(records.p_mass), 1.0, records.p_mass)
    return np.asarray(records.scored & ~np.isnan(records.p_true) & (mass >= LEAST_MASS), dtype=bool)


def bins_of(p: Floats) -> Codes:
    """The place of each P(True) among the equal bins."""
    return np.minimum((p * BINS).astype(np.int64), BINS - 1)


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


# ------------------------------------------------------------------------------------------------ consistency bands

_WORK, _LEAST, _MOST = 2_000_000, 20, 400
"""Draws: as many as keep within so many statements drawn. With fewer than 200 the band is that of a normal distribution."""

_ENOUGH = 200

_AT_ONCE = 30_000
"""Numbers drawn at a time, of statements or of what fixes their labels: so the arrays stay in the processor's cache."""


def follows(records: Records) -> Bools:
    """Which statements are true if their fact holds; the others are true if it does not."""
    return np.asarray(records.label == records.positive, dtype=bool)


class _Statements(NamedTuple):
    """Statements by head: those of head h are `size[h]` from `first[h]` on. coin: the place of what fixes the label, among
    those of the head. bin: the place of P(True).
    """

    first: Codes
    size: Codes
    coin: Codes
    p: Floats
    follows: Bools
    bin: Codes


def bands(records: Records, rows: Codes, bins: Codes, count: int) -> Floats | None:
    """2 × bins: by how much at least and at most, in 95 of 100 tests, the share that is true differs from the mean P(True).

    0 where a bin holds nothing; None with too few heads to say. rows: statements with a P(True) that counts, one at
    least; bins: of each, from 0 to `count` − 1.
    """
    if too_few(records.head[rows]):
        return None
    of = _by_head(records, rows, bins)
    randomness = np.random.default_rng(0)
    draws = int(np.clip(_WORK // len(rows), _LEAST, _MOST))
    each = max(len(rows), len(of.first) * (int(of.coin.max()) + 1))
    off = np.concatenate([_drawn(of, count, part, randomness) for part in batch_sizes(draws, each, _AT_ONCE)])
    there = np.isfinite(off).any(axis=0)
    found = np.zeros((2, count))
    if draws >= _ENOUGH:
        found[:, there] = np.nanquantile(off[:, there], [0.5 - LEVEL / 2, 0.5 + LEVEL / 2], axis=0)
    else:
        found[:, there] = 1.96 * np.nanstd(off[:, there], axis=0) * np.array([[-1], [1]])
    return found


def _by_head(records: Records, rows: Codes, bins: Codes) -> _Statements:
    head = np.unique(records.head[rows], return_inverse=True)[1]
    order = np.lexsort((records.triplet[rows], head))
    head, coins = head[order], np.unique(records.triplet[rows][order], return_inverse=True)[1]
    size = np.bincount(head)
    first = np.cumsum(size) - size
    new = np.diff(coins, prepend=-1) != 0
    number = np.cumsum(new) - 1
    return _Statements(
        first, size, number - number[first][head], records.p_true[rows][order], follows(records)[rows][order], bins[order]
    )


def _drawn(of: _Statements, count: int, draws: int, randomness: np.random.Generator) -> Floats:
    """draws × bins: the share that is true less the mean P(True), for heads drawn with replacement, with truths of their own;
    NaN where a bin holds nothing.
    """
    heads, coins = len(of.first), int(of.coin.max()) + 1
    drawn = [(randomness.integers(heads, size=heads), randomness.random((heads, coins))) for _ in range(draws)]
    picked, fallen = drawn[0] if draws == 1 else map(np.concatenate, zip(*drawn, strict=True))
    size = of.size[picked]
    copy = np.repeat(np.arange(len(picked)), size)
    row = np.repeat(of.first[picked] - (np.cumsum(size) - size), size) + np.arange(len(copy))
    p, chance = of.p[row], fallen[copy, of.coin[row]]
    true = np.where(of.follows[row], chance, 1 - chance) < p
    place = copy // heads * count + of.bin[row]
    sums = np.bincount(place, weights=true - p, minlength=draws * count)
    many = np.bincount(place, minlength=draws * count)
    return np.where(many > 0, sums / np.maximum(many, 1), np.nan).reshape(draws, count)
