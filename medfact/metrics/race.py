"""Which of two models is better, looked at again and again while answers come: a race over whole heads that may stop any time.

Looking until something is significant claims what is not there. A confidence sequence holds at every look at once: here one for
the mean of a finite population, drawn without replacement, by betting (Waudby-Smith and Ramdas 2024, section 5).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from medfact.metrics.clusters import Clusters, Codes, Floats, parts_of, together
from medfact.metrics.uncertainty import FEWEST_HEADS, LEVEL, t_quantile

_PLACES = 801
"""Candidates for the mean, from 0 to 1."""

_BOLDEST = 0.75
"""No bet may lose more than this share of the capital."""


_SURER = 0.994
"""Level of the clustered interval beside the bounds: it is looked at again and again, and tails differ little between looks."""

_NEXT_LOOK = 1.05
"""Looks at the clustered interval are so many times as many heads apart."""


class Race(NamedTuple):
    """Where a race stands. value: mean difference a − b over the counted heads; low, high: bounds of that over all heads, which
    hold at every look at once. heads: how many are counted, of how many; decided_at: after how many a difference was shown for
    the first time, None where none was. more: about how many heads more it takes, None where it is decided or hopeless.
    """

    value: float | None
    low: float
    high: float
    heads: int
    of: int
    decided_at: int | None
    more: int | None


def race(differences: Floats, heads: Codes, sizes: Codes, counted: int, tails: Codes | None = None, family: int = 1) -> Race:
    """The race of two models over heads in an order that was fixed before, of which the first `counted` are complete in both.

    differences: a − b, each from −1 to 1, of what is complete; heads: of each, its head's place in the order; sizes: how many
    each head will have. The bounds are about these heads and tails and no others. tails: of each difference, where a claim is
    to be about facts like these: then the interval that is clustered by head and tail must show it too, at 0.6 %. family: how
    many pairs of models race together (Bonferroni).
    """
    count, most, total = len(sizes), int(sizes.max()), int(sizes.sum())
    sums = np.bincount(heads, weights=differences, minlength=count)[:counted].astype(np.float64)
    # a head's sum, from −most to most, as a share; the mean of these shares is that of the differences, stretched
    stretch, error = count * most / total, (1 - LEVEL) / family
    # between the ¼ of answers that all go one way and the ¼ / most of answers that have nothing to do with each other
    bounds = confidence_sequence((sums / most + 1) / 2, count, error, 0.25 / math.sqrt(most))
    lows, highs = ((2 * bound - 1) * stretch for bound in bounds)
    if not counted:
        return Race(None, -1.0, 1.0, 0, count, None, None)
    shown = np.flatnonzero((lows > 0) | (highs < 0))
    at = int(shown[0]) + 1 if len(shown) else None
    if at and tails is not None:
        at = _also_of_others(differences, heads, tails, range(at, counted + 1), counted == count, family)
    value = float(sums.sum() / sizes[:counted].sum())
    low, high = max(-1.0, float(lows[-1])), min(1.0, float(highs[-1]))
    return Race(value, low, high, counted, count, at, None if at else _more(sums, count, error))


def _also_of_others(differences: Floats, heads: Codes, tails: Codes, looks: range, over: bool, family: int) -> int | None:
    """After how many heads the difference is shown for facts like these too; None where it is not yet.

    looks: from the first at which the bounds show it to how many are counted. Which of them are taken hangs on the first alone,
    so that what was once said is said ever after, and nobody looks more often by asking more often. over: no head is left.
    """
    level = 1 - (1 - _SURER) / family
    at = looks.start
    while at in looks:
        rows = heads < at
        if len(np.unique(heads[rows])) >= FEWEST_HEADS:
            variance, free = together(parts_of(differences[rows], Clusters(heads[rows], tails[rows])))
            if abs(float(differences[rows].mean())) > t_quantile(free, level) * math.sqrt(variance):
                return at
        following = max(at + 1, int(at * _NEXT_LOOK))
        at = looks[-1] if over and at < looks[-1] < following else following
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


def _more(sums: Floats, heads: int, error: float) -> int | None:
    """About how many heads more decide, if those to come are like those so far: capital grows by μ² / 2 σ² a head."""
    mean, variance = float(sums.mean()), float(sums.var())
    if not 2 <= len(sums) < heads or mean == 0:
        return None
    # what is left of a finite population is told by as much sooner as less is left
    needed = math.log(2 / error) * 2 * variance / mean**2
    needed = needed / (1 + needed / heads)
    more = math.ceil(needed - len(sums))
    return max(1, more) if len(sums) + more < heads else None
