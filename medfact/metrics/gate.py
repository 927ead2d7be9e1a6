"""Non-inferiority of a model's mastery to its baseline's, looked at while answers come and at the end.

With a margin m, a model passes once its difference to the baseline is shown to be above −m. It fails once the difference is
shown to be below zero and not above −m (Piaggio et al. 2012, CONSORT for non-inferiority trials). Else nothing can be told.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from medfact.metrics.clusters import Clusters, Floats, parts_of, sum_of_parts
from medfact.metrics.differences import paired_difference
from medfact.metrics.race import Differences, band
from medfact.metrics.uncertainty import has_too_few_clusters, t_quantile

PASS, FAIL, CANNOT_TELL = "pass", "fail", "cannot tell"

# Before the end two bounds must agree, since it is looked at again and again: one clustered by head and tail at this level,
# for facts like these, and one that holds at every look at once, for these facts, made as strict as for so many comparisons.
# `benchmarks/gate.py` simulates how much of the error both spend.
EARLY, EARLY_FACTS = 0.995, 10

# The bounds at the end are as strict as for so many comparisons: earlier looks have a fifth of the error.
LAST = 1.25

Bounds = tuple[float | None, float | None]


class Standing(NamedTuple):
    """Standing of a check. Value, counts and n are of the facts without a failed call in either run."""

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


def verdict_of(low: float | None, high: float | None, margin: float) -> str:
    """Verdict by the bounds of a difference. margin: from 0 to 1."""
    if low is None or high is None:
        return CANNOT_TELL
    return PASS if low > -margin else FAIL if high < 0 else CANNOT_TELL


def standing(differences: Differences, margin: float) -> Standing:
    """Standing of a check after the heads that count. differences: new − baseline (`raced`)."""
    low, high = (_final_bounds if differences.counted == len(differences.sizes) else _early_bounds)(differences)
    whole = differences.whole
    n, more = int(whole.sum()), int(differences.least[whole].sum())
    model = int((differences.least.clip(0) if differences.mastered is None else differences.mastered)[whole].sum())
    verdict, value, total = verdict_of(low, high, margin), more / n if n else None, int(differences.sizes.sum())
    return Standing(verdict, value, low, high, n, total, len(whole) - n, model - more, model)


def _final_bounds(differences: Differences) -> Bounds:
    """The 96% interval, clustered by head and tail."""
    least, most = (
        paired_difference(values, differences.heads, differences.tails, differences.draws, family=LAST)
        for values in (differences.least, differences.most)
    )
    return least.low_all, most.high_all


def _early_bounds(differences: Differences) -> Bounds:
    """Bounds that hold at every look at once; None before there are enough heads."""
    if not differences.counted or has_too_few_clusters(differences.heads):
        return None, None
    _, lows, highs = band(differences, EARLY_FACTS)

    def half(values: Floats) -> float:
        clusters = Clusters(differences.heads, differences.tails, differences.draws)
        variance, degrees = sum_of_parts(parts_of(values, clusters))
        return t_quantile(degrees, EARLY) * math.sqrt(variance)

    low = float(differences.least.mean()) - half(differences.least)
    high = float(differences.most.mean()) + half(differences.most)
    return min(low, float(lows[-1])), max(high, float(highs[-1]))
