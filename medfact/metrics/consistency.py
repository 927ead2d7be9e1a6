"""Consistency bands of a calibration curve: how far a calibrated model's points lie from the diagonal by chance.

Bands that take statements for independent are too narrow: one truth fixes all statements of a fact, and heads are a sample. So
heads are drawn with replacement, with all their statements, and the truths are drawn anew as a calibrated, coherent model has
them (consistency resampling after Bröcker and Smith 2007).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from medfact.metrics.clusters import Bools, Codes, Floats
from medfact.metrics.records import Records
from medfact.metrics.uncertainty import LEVEL, too_few

_WORK, _LEAST, _MOST = 2_000_000, 20, 400
"""Draws: as many as keep within so many statements drawn. With fewer than 200 the band is that of a normal distribution."""

_ENOUGH = 200


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
    off = np.array([_drawn(of, count, randomness) for _ in range(draws)])
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


def _drawn(of: _Statements, count: int, randomness: np.random.Generator) -> Floats:
    """Of each bin the share that is true less the mean P(True), for heads drawn with replacement, with truths of their own."""
    picked = randomness.integers(len(of.first), size=len(of.first))
    size = of.size[picked]
    copy = np.repeat(np.arange(len(picked)), size)
    row = np.repeat(of.first[picked] - (np.cumsum(size) - size), size) + np.arange(len(copy))
    fallen = randomness.random((len(picked), int(of.coin.max()) + 1))[copy, of.coin[row]]
    p = of.p[row]
    true = np.where(of.follows[row], fallen, 1 - fallen) < p
    sums = np.bincount(of.bin[row], weights=true - p, minlength=count)
    many = np.bincount(of.bin[row], minlength=count)
    return np.where(many > 0, sums / np.maximum(many, 1), np.nan)
