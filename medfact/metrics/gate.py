"""Whether a model knows less than before: the non-inferiority of its mastery, looked at while answers come and at the end.

With a margin m, a model passes once its difference to the baseline is shown to be above −m, and fails once it is shown to be
below zero and not above −m (Piaggio et al. 2012, CONSORT for non-inferiority trials). Else nothing can be told.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from medfact.metrics.clusters import Clusters, Floats, parts_of, sum_of_parts
from medfact.metrics.differences import paired_difference
from medfact.metrics.race import Differences, band
from medfact.metrics.uncertainty import has_too_few_clusters, t_quantile

PASS, FAIL, CANNOT_TELL = "pass", "fail", "cannot tell"

EARLY, EARLY_FACTS = 0.995, 10
"""Before the end two bounds must agree, since it is looked at again and again: one clustered by head and tail at this level,
for facts like these, and one that holds at every look at once, for these facts, made as strict as for so many comparisons. What
both spend of the error, and what the look at the end does, is simulated in `benchmarks/gate.py`."""

LAST = 1.25
"""The bounds at the end are as strict as for so many comparisons: earlier looks have a fifth of the error."""


class Standing(NamedTuple):
    """Standing of a check. Value, counts and n are of the same facts: those without a failed call in either run.

    value: mean difference in mastery, (model − baseline) / n; low, high: its bounds, if any, in which a fact with a failed call
    counts as lost, or as won. of: facts of the check. failed: facts left out, since a call failed. baseline, model: facts that
    each masters, of n.
    """

    verdict: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    of: int
    failed: int
    baseline: int
    model: int

    @property
    def asked(self) -> int:
        """Facts that are asked whole."""
        return self.n + self.failed


def verdict_of(low: float | None, high: float | None, margin: float) -> str:
    """What bounds of a difference say. margin: from 0 to 1."""
    if low is None or high is None:
        return CANNOT_TELL
    return PASS if low > -margin else FAIL if high < 0 else CANNOT_TELL


def standing(found: Differences, margin: float) -> Standing:
    """Where a check stands after the heads that count. found: differences new − baseline (`raced`)."""
    low, high = _at_the_end(found) if found.counted == len(found.sizes) else _so_far(found)
    whole = found.whole
    n, more = int(whole.sum()), int(found.least[whole].sum())
    model = int((found.least.clip(0) if found.mastered is None else found.mastered)[whole].sum())
    verdict, value = verdict_of(low, high, margin), more / n if n else None
    return Standing(verdict, value, low, high, n, int(found.sizes.sum()), len(whole) - n, model - more, model)


Bounds = tuple[float | None, float | None]


def _at_the_end(found: Differences) -> Bounds:
    """The 96% interval, clustered by head and tail."""

    def bounds(values: Floats) -> Bounds:
        whole = paired_difference(values, found.heads, found.tails, found.draws, family=LAST)
        return whole.low_all, whole.high_all

    low, high = bounds(found.least)
    return low, high if (found.least == found.most).all() else bounds(found.most)[1]


def _so_far(found: Differences) -> Bounds:
    """Bounds that hold however often one looks; None before there are enough heads."""
    if not found.counted or has_too_few_clusters(found.heads):
        return None, None
    _, lows, highs = band(found, EARLY_FACTS)

    def half(values: Floats) -> float:
        variance, degrees = sum_of_parts(parts_of(values, Clusters(found.heads, found.tails, found.draws)))
        return t_quantile(degrees, EARLY) * math.sqrt(variance)

    low, high = float(found.least.mean()) - half(found.least), float(found.most.mean()) + half(found.most)
    return min(low, float(lows[-1])), max(high, float(highs[-1]))
