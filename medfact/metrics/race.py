"""Repeated looks at one contrast, mastery of a less that of b, while answers come: the race and the gate.

Looking until a difference is significant raises false alarms. A confidence sequence holds at every look at once: here one for
the mean of a finite population, drawn without replacement, by betting (Waudby-Smith and Ramdas 2024, section 5).

The gate tests non-inferiority of a model to its baseline. With a margin m, a model passes once the difference is shown to be
above −m. It fails once the difference is shown to be below zero and not above −m (Piaggio et al. 2012, CONSORT for
non-inferiority trials). Else nothing can be told.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from medfact.metrics.clusters import Bools, Clusters, Codes, Floats, parts_of, sum_of_parts
from medfact.metrics.comparison import FACT, RunRecords, aligned, paired_difference
from medfact.metrics.records import FAILED, PENDING, Records
from medfact.metrics.uncertainty import LEVEL, has_too_few_clusters, t_quantile

_PLACES = 801  # candidates for the mean, from 0 to 1
_BOLDEST = 0.9  # no bet may lose more than this share of the capital


# Level of the clustered interval beside the bounds, which is looked at again and again, and the ratio of heads between two
# looks. `benchmarks/looks.py` measures how often equal models are told apart with these and other values.
SURER, NEXT_LOOK = 0.994, 1.01


class Race(NamedTuple):
    """Standing of a race between a and b."""

    value: float | None  # mean difference a − b over the counted heads' facts without a failed call
    low: float  # bounds of it over all heads, which hold at every look at once
    high: float
    heads: int  # counted so far
    of: int  # all heads
    decided_at: int | None  # heads after which a difference was shown for the first time
    more: int | None  # about so many heads more decide it; None where it is decided or hopeless
    failed: int = 0  # facts left open by failed calls, which count against whichever model leads


class Differences(NamedTuple):
    """Differences a − b between two models, each from −1 to 1, of heads in an order that was fixed before."""

    least: Floats  # bounds of each difference, which differ only where a call failed
    most: Floats
    heads: Codes  # of each difference, its head's place in the order
    sizes: Codes  # number of differences that each head will have
    counted: int  # the first so many heads are complete in both runs
    tails: Codes | None = None  # of each difference, where a claim is about facts like these
    draws: Codes | None = None  # of demonstrations
    mastered: Floats | None = None  # 1 where a masters the fact, else 0, and NaN where a call failed in either run
    facts: Codes | None = None  # numbers that name the facts in every run

    @property
    def whole(self) -> Bools:
        """Mask of the facts without a failed call in either run, over which a value is a mean.

        A fact with a failed call and a wrong answer is missed for certain. Counted, it would pull each model down by its own
        failures.
        """
        return self.least == self.most if self.mastered is None else ~np.isnan(self.mastered)


def raced(a: RunRecords, b: RunRecords) -> Differences | None:
    """Differences in mastery over the facts that both runs ask, in the same or other statements; None if they share no fact.

    Heads race in an order that depends only on their facts (`order_of`). A head counts once both runs have asked all that they
    share of it, and once all heads before it count; the answer of a failed call stays open.
    """
    rows, others = aligned([a, b], FACT)
    if not len(rows):
        return None
    failed, is_pending = (
        _has(a.records, a.records.answer == answer)[rows] | _has(b.records, b.records.answer == answer)[others]
        for answer in (FAILED, PENDING)
    )
    first = a.records.first_of_fact[rows]
    place = order_of(a.records.head[first], a.identity[first])
    pending = place[is_pending]
    counted = int(pending.min()) if len(pending) else int(place.max()) + 1
    counts = place < counted
    (least_a, most_a), (least_b, most_b) = _mastery(a.records, rows[counts]), _mastery(b.records, others[counts])
    return Differences(
        least=least_a - most_b,
        most=most_a - least_b,
        heads=place[counts],
        sizes=np.bincount(place),
        counted=counted,
        tails=a.records.tail[first][counts],
        draws=a.records.draw[first][counts],
        mastered=np.where(failed[counts], np.nan, least_a),
        facts=a.identity[first][counts],
    )


def _has(records: Records, statements: Bools) -> Bools:
    """Mask of the facts with one of these statements."""
    return np.asarray(np.bincount(records.fact, weights=statements, minlength=len(records.first_of_fact)) > 0, dtype=bool)


def _mastery(records: Records, facts: Codes) -> tuple[Floats, Floats]:
    """Mastery of some facts, at least and at most: a fact without a wrong answer but with a failed call may be either."""
    missed, failed = (_has(records, rows)[facts] for rows in (records.scored & ~records.right, ~records.scored))
    return (~missed & ~failed).astype(np.float64), (~missed).astype(np.float64)


def order_of(head: Codes, identity: Codes) -> Codes:
    """Place of each row's head in the random order in which heads race.

    identity: per row a number that names its fact in every run. The order depends on these alone, so that it is fixed before
    any answer. A head's least number is mixed once more: the least of many is small, and heads of many facts would come first.
    """
    codes = np.unique(head, return_inverse=True)[1]
    least = np.full(int(codes.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(least, codes, identity)
    return np.asarray(np.argsort(np.argsort(_mixed(least), kind="stable"), kind="stable")[codes], dtype=np.int64)


def _mixed(numbers: Codes) -> Any:
    """Numbers whose order is independent of that of the given ones (splitmix64; Steele, Lea and Flood 2014)."""
    z = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def race(differences: Differences, family: int = 1) -> Race:
    """Standing of the race of two models. family: number of pairs of models that race together (Bonferroni).

    The bounds are about these heads and tails and no others. With tails, the interval that is clustered by head and tail must
    show a difference too, at `SURER`.
    """
    count = len(differences.sizes)
    if not differences.counted:
        return Race(None, -1.0, 1.0, 0, count, None, None)
    value, lows, highs = band(differences, family)
    outside = np.flatnonzero((lows > 0) | (highs < 0))
    at = int(outside[0]) + 1 if len(outside) else None
    if at and differences.tails is not None:
        at = _also_of_others(differences, differences.tails, at, up=bool(lows[at - 1] > 0), family=family)
    more = None if at else _more(differences, float(value[-1]), float(lows[-1]), float(highs[-1]), family)
    mean = float(value[-1]) if differences.whole.any() else None
    failed = int((differences.least != differences.most).sum())
    return Race(mean, float(lows[-1]), float(highs[-1]), differences.counted, count, at, more, failed)


def band(differences: Differences, family: int = 1) -> tuple[Floats, Floats, Floats]:
    """Course of a race: difference so far after each counted head, and its bounds over all heads at that time.

    Where calls failed, the lower bound takes the least that a difference may be, and the upper bound the most. So the bounds
    hold for any answers and any reason of failure, since a gambler who bets on more loses by less.
    """
    count, largest = len(differences.sizes), int(differences.sizes.max())
    # a head's sum, from −largest to largest, as a share; the mean of these shares is that of the differences, stretched
    stretch = count * largest / int(differences.sizes.sum())

    def bounds(values: Floats) -> tuple[Floats, Floats]:
        shares = (_by_head(differences, values) / largest + 1) / 2
        # between the ¼ of answers that all go one way and the ¼ / largest of answers that have nothing to do with each other
        low, high = confidence_sequence(shares, count, (1 - LEVEL) / family, 0.25 / math.sqrt(largest))
        return ((2 * low - 1) * stretch).clip(-1, 1), ((2 * high - 1) * stretch).clip(-1, 1)

    low, high = bounds(differences.least)
    if not (differences.least == differences.most).all():
        high = bounds(differences.most)[1]
    answered = _by_head(differences, differences.whole.astype(float)).cumsum()
    value = _by_head(differences, np.where(differences.whole, differences.least, 0.0)).cumsum() / np.maximum(answered, 1)
    return value, low, high


def _by_head(differences: Differences, values: Floats) -> Floats:
    """Sum of values over each counted head."""
    sums = np.bincount(differences.heads, weights=values, minlength=len(differences.sizes))
    return sums[: differences.counted].astype(np.float64)


def _also_of_others(differences: Differences, tails: Codes, at: int, *, up: bool, family: int) -> int | None:
    """Number of heads, from `at` on, after which the difference is shown for facts like these too; None where it is not yet.

    Looks depend on `at` alone, so a decision is final. up: true where a is the better one.
    """
    level, values = 1 - (1 - SURER) / family, differences.least if up else -differences.most
    while at <= differences.counted:
        rows = differences.heads < at
        clusters = Clusters(differences.heads[rows], tails[rows])
        is_enough = not has_too_few_clusters(clusters.heads)
        if is_enough and float(values[rows].mean()) > _half_width(values[rows], clusters, level):
            return at
        if at == len(differences.sizes):
            return None
        at = min(len(differences.sizes), max(at + 1, int(at * NEXT_LOOK)))
    return None


def confidence_sequence(values: Floats, population: int, error: float, spread: float = 0.25) -> tuple[Floats, Floats]:
    """Bounds after each value for the mean of a population of values from 0 to 1; these were drawn from it in random order.

    Each candidate m leaves the mean (N m − Σ x) / (N − t + 1) for the values to come. Two gamblers bet on more and on less than
    it. Where m is the mean they cannot grow rich: the chance that half of either's capital ever reaches
    1 / error is at most `error`. A candidate that leaves a mean below 0 or above 1 is impossible. The bets maximise the growth
    that the values so far promise (aGRAPA), and do not depend on the next value.

    spread: a guess of the values' variance, above 0, which counts as one value. Any guess is valid, and a good one makes for
    bolder bets at first.
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
        possible = mean[~out]
        centre = total / (place + 1)
        step = 1 / (_PLACES - 1)
        lows[place], highs[place] = (
            (max(0, possible[0] - step), min(1, possible[-1] + step)) if len(possible) else (centre, centre)
        )
    return np.maximum.accumulate(lows), np.minimum.accumulate(highs)


def _more(differences: Differences, value: float, low: float, high: float, family: int) -> int | None:
    """Approximate number of further heads that decide, if they are like those so far; None where all of them would not.

    Both intervals shrink with the root of the heads; the one about these facts the sooner, the fewer of them are left.
    """
    counted, heads, width = differences.counted, len(differences.sizes), value - low if value > 0 else high - value
    value = abs(value)
    if not 2 <= counted < heads or value == 0:
        return None
    needed = 1 / (1 / heads + min(1, (value / width) ** 2 if width > 0 else 1) * (1 / counted - 1 / heads))
    if differences.tails is not None:
        middle = (differences.least + differences.most) / 2
        variance, degrees = sum_of_parts(parts_of(middle, Clusters(differences.heads, differences.tails)))
        needed = max(needed, counted * variance * (t_quantile(degrees, 1 - (1 - SURER) / family) / value) ** 2)
    more = max(1, math.ceil(min(needed, 2 * heads)) - counted)
    return more if counted + more < heads else None


def _half_width(values: Floats, clusters: Clusters, level: float) -> float:
    """Half-width of the t interval of a clustered mean."""
    variance, degrees_of_freedom = sum_of_parts(parts_of(values, clusters))
    return t_quantile(degrees_of_freedom, level) * math.sqrt(variance)


# ------------------------------------------------------------------------------------------------ the gate

PASS, FAIL, CANNOT_TELL = "pass", "fail", "cannot tell"

# Before the end two bounds must agree, since it is looked at again and again: one clustered by head and tail at this level,
# for facts like these, and one that holds at every look at once, for these facts, made as strict as for so many comparisons.
# `benchmarks/gate.py` simulates how much of the error both spend.
EARLY, EARLY_FACTS = 0.995, 10

# The bounds at the end are as strict as for so many comparisons: earlier looks have a fifth of the error.
LAST = 1.25


class GateResult(NamedTuple):
    """Result of the gate so far. Value, counts and n are of the facts without a failed call in either run."""

    verdict: str
    value: float | None  # mean difference in mastery, (model − baseline) / n
    low: float | None  # a fact with a failed call counts as lost
    high: float | None  # a fact with a failed call counts as won
    n: int
    of: int  # facts of the check
    failed: int  # facts left out, since a call failed
    baseline: int  # facts that it masters
    model: int

    @property
    def asked(self) -> int:
        """Number of facts that were asked whole."""
        return self.n + self.failed


def gate_decision(low: float | None, high: float | None, margin: float) -> str:
    """Decision by the bounds of a difference. margin: from 0 to 1."""
    if low is None or high is None:
        return CANNOT_TELL
    return PASS if low > -margin else FAIL if high < 0 else CANNOT_TELL


def gate_result(differences: Differences, margin: float) -> GateResult:
    """Result of the gate after the heads that count. differences: new − baseline (`raced`)."""
    low, high = _gate_bounds(differences)
    whole = differences.whole
    n, more = int(whole.sum()), int(differences.least[whole].sum())
    model = int((differences.least.clip(0) if differences.mastered is None else differences.mastered)[whole].sum())
    decision, total = gate_decision(low, high, margin), int(differences.sizes.sum())
    return GateResult(decision, more / n if n else None, low, high, n, total, len(whole) - n, model - more, model)


def _gate_bounds(differences: Differences) -> tuple[float | None, float | None]:
    """Bounds of the difference: at the end the 96% interval, before it those that hold at every look at once, if any."""
    clusters, ends = Clusters(differences.heads, differences.tails, differences.draws), (differences.least, differences.most)
    if differences.counted == len(differences.sizes):
        least, most = (paired_difference(values, *clusters[:3], family=LAST) for values in ends)
        return least.low_all, most.high_all
    if not differences.counted or has_too_few_clusters(differences.heads):
        return None, None
    _, lows, highs = band(differences, EARLY_FACTS)
    half_low, half_high = (_half_width(values, clusters, EARLY) for values in ends)
    low, high = float(differences.least.mean()) - half_low, float(differences.most.mean()) + half_high
    return min(low, float(lows[-1])), max(high, float(highs[-1]))
