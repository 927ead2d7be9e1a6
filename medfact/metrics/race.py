"""Which of two models is better, looked at again and again while answers come: a race over whole heads that may stop any time.

Looking until something is significant claims what is not there. A confidence sequence holds at every look at once: here one for
the mean of a finite population, drawn without replacement, by betting (Waudby-Smith and Ramdas 2024, section 5).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from medfact.metrics.clusters import Bools, Clusters, Codes, Floats, parts_of, sum_of_parts
from medfact.metrics.uncertainty import LEVEL, has_too_few_clusters, t_quantile

_PLACES = 801
"""Candidates for the mean, from 0 to 1."""

_BOLDEST = 0.9
"""No bet may lose more than this share of the capital."""


SURER, NEXT_LOOK = 0.994, 1.01
"""Level of the clustered interval beside the bounds, which is looked at again and again, and how many times as many heads apart
two looks are. `benchmarks/looks.py` shows how often equal models are told apart at these, and at others."""


class Race(NamedTuple):
    """Standing of a race. value: mean difference a − b over the counted heads' facts without a failed call; low, high: bounds
    of it over all heads, which hold at every look at once. heads: counted, of how many; decided_at: the heads after which a
    difference was shown for the first time, None where none was. more: about so many heads more decide it, None where it is
    decided or hopeless. failed: facts whose difference failed calls leave open; they count against whichever model leads.
    """

    value: float | None
    low: float
    high: float
    heads: int
    of: int
    decided_at: int | None
    more: int | None
    failed: int = 0


class Differences(NamedTuple):
    """Differences a − b between two models, each from −1 to 1, of heads in an order that was fixed before.

    least, most: bounds of each difference, which differ only where a call failed. heads: of each its head's place in the order.
    sizes: differences that each head will have. counted: the first so many heads are complete in both. tails: of each
    difference, where a claim is about facts like these. draws: of demonstrations. mastered: 1 where a masters the fact, else 0,
    and NaN where a call failed in either run. facts: numbers that name the facts in every run.
    """

    least: Floats
    most: Floats
    heads: Codes
    sizes: Codes
    counted: int
    tails: Codes | None = None
    draws: Codes | None = None
    mastered: Floats | None = None
    facts: Codes | None = None

    @property
    def whole(self) -> Bools:
        """The differences to which no call failed in either run: those that a value is a mean of.

        A fact with a failed call and a wrong answer is missed for certain. Counted, it would pull each model down by its own
        failures.
        """
        return self.least == self.most if self.mastered is None else ~np.isnan(self.mastered)


class Band(NamedTuple):
    """The difference so far after each counted head, and the bounds of it over all heads at that time."""

    value: Floats
    low: Floats
    high: Floats


def order_of(head: Codes, identity: Codes) -> Codes:
    """Of each row, the place of its head in the random order in which heads race.

    identity: per row a number that names the fact, wherever it is asked. The order hangs on these alone, so that it is fixed
    before anybody answers. A head's least number is mixed once more: the least of many is small, and heads of many facts would
    come first.
    """
    codes = np.unique(head, return_inverse=True)[1]
    least = np.full(int(codes.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(least, codes, identity)
    return np.asarray(np.argsort(np.argsort(_mixed(least), kind="stable"), kind="stable")[codes], dtype=np.int64)


def _mixed(numbers: Codes) -> Any:
    """Numbers whose order says nothing about that of the given ones (splitmix64; Steele, Lea and Flood 2014)."""
    z = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def race(found: Differences, family: int = 1) -> Race:
    """The race of two models as it stands. family: how many pairs of models race together (Bonferroni).

    The bounds are about these heads and tails and no others. With tails, the interval that is clustered by head and tail must
    show a difference too, at `SURER`.
    """
    count = len(found.sizes)
    if not found.counted:
        return Race(None, -1.0, 1.0, 0, count, None, None)
    value, lows, highs = band(found, family)
    shown = np.flatnonzero((lows > 0) | (highs < 0))
    at = int(shown[0]) + 1 if len(shown) else None
    if at and found.tails is not None:
        at = _also_of_others(found, found.tails, at, up=bool(lows[at - 1] > 0), family=family)
    more = None if at else _more(found, Band(value[-1:], lows[-1:], highs[-1:]), family)
    mean = float(value[-1]) if found.whole.any() else None
    failed = int((found.least != found.most).sum())
    return Race(mean, float(lows[-1]), float(highs[-1]), found.counted, count, at, more, failed)


def band(found: Differences, family: int = 1) -> Band:
    """The whole course of a race, head by head.

    Where calls failed, the lower bound takes the least that a difference may be, and the upper bound the most: whatever these
    answers would have been, and why ever they failed, the bounds hold, since a gambler who bets on more loses by less.
    """
    count, largest = len(found.sizes), int(found.sizes.max())
    # a head's sum, from −largest to largest, as a share; the mean of these shares is that of the differences, stretched
    stretch = count * largest / int(found.sizes.sum())

    def bounds(values: Floats) -> tuple[Floats, Floats]:
        shares = (_by_head(found, values) / largest + 1) / 2
        # between the ¼ of answers that all go one way and the ¼ / largest of answers that have nothing to do with each other
        low, high = confidence_sequence(shares, count, (1 - LEVEL) / family, 0.25 / math.sqrt(largest))
        return ((2 * low - 1) * stretch).clip(-1, 1), ((2 * high - 1) * stretch).clip(-1, 1)

    low, high = bounds(found.least)
    if not (found.least == found.most).all():
        high = bounds(found.most)[1]
    answered = _by_head(found, found.whole.astype(float)).cumsum()
    value = _by_head(found, np.where(found.whole, found.least, 0.0)).cumsum() / np.maximum(answered, 1)
    return Band(value, low, high)


def _by_head(found: Differences, values: Floats) -> Floats:
    """The sum of values over each counted head."""
    sums = np.bincount(found.heads, weights=values, minlength=len(found.sizes))
    return sums[: found.counted].astype(np.float64)


def _also_of_others(found: Differences, tails: Codes, at: int, *, up: bool, family: int) -> int | None:
    """After how many heads the difference is shown for facts like these too, from `at` on; None where it is not yet.

    The looks hang on `at` alone, so that what is decided once stays decided whatever comes. up: whether a is the better one.
    """
    level, differences = 1 - (1 - SURER) / family, found.least if up else -found.most
    while at <= found.counted:
        rows = found.heads < at
        if not has_too_few_clusters(found.heads[rows]):
            variance, degrees = sum_of_parts(parts_of(differences[rows], Clusters(found.heads[rows], tails[rows])))
            if float(differences[rows].mean()) > t_quantile(degrees, level) * math.sqrt(variance):
                return at
        if at == len(found.sizes):
            return None
        at = min(len(found.sizes), max(at + 1, int(at * NEXT_LOOK)))
    return None


def confidence_sequence(values: Floats, population: int, error: float, spread: float = 0.25) -> tuple[Floats, Floats]:
    """Bounds after each value for the mean of a population of values from 0 to 1, of which these were drawn in random order.

    For each candidate m, two gamblers bet on more and on less than what m leaves for the values to come, on average
    (N m − Σ x) / (N − t + 1). Where m is the mean they cannot grow rich: the chance that half of either's capital ever reaches
    1 / error is at most `error`. A candidate that leaves a mean below 0 or above 1 is impossible. The bets maximise the growth
    that the values so far promise (aGRAPA), and know nothing of the value that they are about.

    spread: the variance of the values, above 0, as far as it is known before; it counts as one value. Any guess is valid, and a
    good one makes for bolder bets at first.
    """
    mean = np.linspace(0, 1, _PLACES)
    more, less = np.zeros(_PLACES), np.zeros(_PLACES)
    out, limit = np.zeros(_PLACES, dtype=bool), math.log(2 / error)
    lows, highs = np.zeros(len(values)), np.ones(len(values))
    total = squares = 0.0
    for place, value in enumerate(values):
        left = (population * mean - total) / (population - place)
        out |= (left < -1e-9) | (left > 1 + 1e-9)
        left = left.clip(1e-9, 1 - 1e-9)
        guess = (0.5 + total) / (place + 1)
        variance = (spread + squares) / (place + 1)
        bet = (guess - left) / (variance + np.square(guess - left))
        more += np.log1p(bet.clip(0, _BOLDEST / left) * (value - left))
        less += np.log1p(-(-bet).clip(0, _BOLDEST / (1 - left)) * (value - left))
        out |= (more >= limit) | (less >= limit)
        total, squares = total + value, squares + (value - (guess * (place + 1) + value) / (place + 2)) ** 2
        kept = mean[~out]
        centre = total / (place + 1)
        step = 1 / (_PLACES - 1)
        lows[place], highs[place] = (max(0, kept[0] - step), min(1, kept[-1] + step)) if len(kept) else (centre, centre)
    return np.maximum.accumulate(lows), np.minimum.accumulate(highs)


def _more(found: Differences, now: Band, family: int) -> int | None:
    """About how many heads more decide, if those to come are like those so far; None where all of them would not.

    Both intervals shrink with the root of the heads; the one about these facts the sooner, the fewer of them are left.
    """
    counted, heads, value = found.counted, len(found.sizes), abs(float(now.value[0]))
    width = float(now.value[0] - now.low[0] if now.value[0] > 0 else now.high[0] - now.value[0])
    if not 2 <= counted < heads or value == 0:
        return None
    needed = 1 / (1 / heads + min(1, (value / width) ** 2 if width > 0 else 1) * (1 / counted - 1 / heads))
    if found.tails is not None:
        differences = (found.least + found.most) / 2
        variance, degrees = sum_of_parts(parts_of(differences, Clusters(found.heads, found.tails)))
        needed = max(needed, counted * variance * (t_quantile(degrees, 1 - (1 - SURER) / family) / value) ** 2)
    more = max(1, math.ceil(min(needed, 2 * heads)) - counted)
    return more if counted + more < heads else None
