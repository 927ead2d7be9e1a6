"""Prediction-powered score of all facts of a run under the reviewers' truth, from the few facts that were reviewed.

Prediction-powered inference (Angelopoulos, Bates, Fannjiang, Jordan and Zrnic, Science 382, 2023): our labels give the score of
every fact, and a random sample that was reviewed gives the error of that. λ is tuned to be best (PPI++: Angelopoulos, Duchi and
Zrnic, arXiv 2311.01453, Section 6). For answers that are right or wrong this is post-stratification by label (Särndal, Swensson
and Wretman 1992, Section 7.6). Let F be the share right by label, a the share of these that reviewers hold right, and b that of
the others. The score is F a + (1 − F) b, and λ = a − b. λ is 1 if reviewers never contradict a label. It is 0 if labels say
nothing; then only the reviewed facts count.

Undecided facts leave the score. Let c and d be the decided shares of the first and of the others. The score is
(F c a + (1 − F) d b) / (F c + (1 − F) d).

Each of the five proportions has an interval that holds if no error was seen, too. F has Wilson's, the others Jeffreys's (Brown,
Cai and DasGupta, Statistical Science 16, 2001), with the effective sample size, clustered by head and tail and weighted, for n.
With few heads they have Clopper and Pearson's, over heads; without rows, 0 to 1. MOVER (Zou and Donner, Statistics in Medicine
27, 2008) combines them: distances that the score moves to their bounds, with their correlations. No label has to be right for
this to hold. Coverage: `benchmarks/powered.py`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from medfact.metrics.clusters import Bools, Clusters, Codes, Floats
from medfact.metrics.uncertainty import LEVEL, NOTHING, Estimate, effective_sample_size, has_too_few_clusters, wilson
from medfact.words import say

MAX_UNDRAWN = 0.1  # share of the facts in strata without a reviewed fact, whose score may be anything


@dataclass(frozen=True)
class Reviewed:
    """Components of a score with the reviewers' verdicts, one row a fact and draw of demonstrations."""

    statements: Floats  # that count: 1 for mastery
    right: Floats  # of these, right by label
    weight: Floats  # number of facts that a drawn fact represents; 0 if it was not drawn
    decided: Bools  # drawn, and the reviewers decide all of it
    confirmed: Floats  # of `right`, those right under the reviewers' truth too; counts if decided
    corrected: Floats  # of the others, those right under the reviewers' truth; counts if decided
    stratum: Codes  # in which the fact may be drawn
    clusters: Clusters

    def only(self, rows: Bools) -> Reviewed:
        """Returns some of the rows."""
        columns = {name: value[rows] for name, value in vars(self).items() if name != "clusters"}
        return Reviewed(**columns, clusters=self.clusters.of(rows))

    def count(self, rows: Bools) -> int:
        """Number of facts in some rows, each counted once over the draws of demonstrations."""
        return int(rows.sum()) // self.clusters.draw_count


@dataclass(frozen=True)
class Powered:
    """Prediction-powered score, for all facts and facts like them; its n is the number of reviewed facts."""

    estimate: Estimate
    facts: int
    trust: float | None = None  # λ, from −1 to 1: weight of the labels of the other facts
    more: int | None = None  # further facts to review that would halve the interval; None if no number would
    all_reviewed: float | None = None  # expected half-width with all facts reviewed
    why_not: str = ""  # reason for no value


def powered(reviewed: Reviewed) -> Powered:
    """Prediction-powered score of all facts under the reviewers' truth."""
    drawn = reviewed.weight > 0
    is_covered = np.isin(reviewed.stratum, reviewed.stratum[drawn])
    total, n, facts = float(reviewed.statements.sum()), reviewed.count(drawn), reviewed.count(reviewed.statements > 0)
    undrawn = float(reviewed.statements[~is_covered].sum()) / total if total else 1.0
    reasons = {
        "none_drawn": not drawn.any(),
        "few_conditions": has_too_few_clusters(reviewed.clusters.heads[drawn]),
        "few_drawn": undrawn > MAX_UNDRAWN,
        "none_decided": not reviewed.decided.any(),
    }
    if reason := next((name for name, holds in reasons.items() if holds), ""):
        why_not = say(f"powered.{reason}", drawn=f"{n:,}", facts=f"{facts:,}")
        return Powered(NOTHING._replace(n=n), facts, why_not=why_not)
    covered = reviewed.only(is_covered)
    parts = _proportions(covered)
    correlations = _correlations(parts, covered.clusters.heads)

    def bounds(times: float) -> tuple[float, float]:
        """Interval with so many times as many facts reviewed. Strata without a drawn fact may have any score."""
        low, high = _mover_bounds(parts, correlations, times)
        return (1 - undrawn) * low, (1 - undrawn) * high + undrawn

    def width(reviews: int) -> float:
        low, high = bounds(reviews / n)
        return high - low

    value = (1 - undrawn) * score([part.share for part in parts]) + float(reviewed.right[~is_covered].sum()) / total
    low, high = bounds(1.0)
    aim = (high - low) / 2
    more = 1 + bisect_left(range(n + 1, facts), True, key=lambda reviews: width(reviews) <= aim)
    return Powered(
        Estimate(value, min(low, value), max(high, value), n),
        facts,
        trust=parts[1].share - parts[2].share,
        more=more if width(facts) <= aim else None,
        all_reviewed=width(facts) / 2,
    )


CLOPPER_PEARSON, JEFFREYS = 1.0, 0.5  # added to the count in the beta distribution of a proportion's bounds


class Proportion(NamedTuple):
    """One of the five proportions of a score."""

    share: float
    size: float  # effective sample size
    linear: Floats  # linear parts of its error, one a row
    added: float | None  # CLOPPER_PEARSON or JEFFREYS; None: Wilson's interval, of a size that reviews do not change

    def bounds(self, times: float = 1.0) -> tuple[float, float]:
        """Interval with so many times as many reviews; 0 to 1 without rows."""
        size = self.size if self.added is None else self.size * times
        if not size > 0:
            return 0.0, 1.0
        if self.added is None:
            return wilson(self.share, size)
        tail, count, added = (1 - LEVEL) / 2, self.share * size, self.added
        low = float(special.betaincinv(count + 1 - added, size - count + added, tail)) if self.share > 0 else 0.0
        high = float(special.betaincinv(count + added, size - count + 1 - added, 1 - tail)) if self.share < 1 else 1.0
        return min(low, self.share), max(high, self.share)


def _proportions(reviewed: Reviewed) -> tuple[Proportion, ...]:
    """F, a, b, c and d of the module's docstring, in this order."""
    right, wrong, clusters = reviewed.right, reviewed.statements - reviewed.right, reviewed.clusters
    weight, decided = reviewed.weight, reviewed.weight * reviewed.decided
    return (
        _proportion(right, reviewed.statements, clusters, 0.0)._replace(added=None),
        _proportion(decided * reviewed.confirmed, decided * right, clusters, 1.0),
        _proportion(decided * reviewed.corrected, decided * wrong, clusters, 0.0),
        _proportion(decided * right, weight * right, clusters, 1.0),
        _proportion(decided * wrong, weight * wrong, clusters, 1.0),
    )


def _proportion(counts: Floats, totals: Floats, clusters: Clusters, default: float) -> Proportion:
    """Σ counts / Σ totals over rows with a total; `default` without such rows."""
    rows, linear, total = totals > 0, np.zeros(len(totals)), float(totals.sum())
    if not rows.any():
        return Proportion(default, 0.0, linear, CLOPPER_PEARSON)
    share, chosen, n = float(counts.sum()) / total, clusters.of(rows), int(rows.sum())
    linear[rows] = (counts[rows] - share * totals[rows]) / total
    if has_too_few_clusters(chosen.heads):
        sizes = np.bincount(chosen.heads, weights=totals[rows])
        return Proportion(share, float(sizes.sum() ** 2 / np.square(sizes).sum()), linear, CLOPPER_PEARSON)
    weighting = n * float(np.square(totals).sum()) / total**2
    return Proportion(share, effective_sample_size(share + linear[rows] * n, chosen, weighting), linear, JEFFREYS)


def score(shares: Sequence[float]) -> float:
    """(F c a + (1 − F) d b) / (F c + (1 − F) d); F a + (1 − F) b if reviewers decide nothing."""
    right, confirmed, corrected, decided_right, decided_wrong = shares
    first, second = right * decided_right, (1 - right) * decided_wrong
    if first + second <= 0:
        return right * confirmed + (1 - right) * corrected
    return (first * confirmed + second * corrected) / (first + second)


def _mover_bounds(parts: Sequence[Proportion], correlations: Floats, times: float) -> tuple[float, float]:
    """Interval of the score from those of its proportions."""
    shares = [part.share for part in parts]
    value = score(shares)
    bounds = [part.bounds(times) for part in parts]
    moves = np.array(
        [[score([*shares[:index], bound, *shares[index + 1 :]]) - value for bound in ends] for index, ends in enumerate(bounds)]
    )
    signs = np.where(moves[:, 1] >= moves[:, 0], 1.0, -1.0)
    below, above = signs * moves.min(axis=1), signs * moves.max(axis=1)
    low = value - math.sqrt(max(0.0, float(below @ correlations @ below)))
    return max(0.0, low), min(1.0, value + math.sqrt(max(0.0, float(above @ correlations @ above))))


def _correlations(parts: Sequence[Proportion], heads: Codes) -> Floats:
    """Correlations of the proportions' errors, over heads, shrunk to none if few heads have an error."""
    by_head = np.array([np.bincount(heads, weights=part.linear) for part in parts])
    lengths = np.sqrt(np.square(by_head).sum(axis=1))
    scaled = by_head / np.where(lengths > 0, lengths, 1.0)[:, None]
    errors = np.square(by_head[1:].sum(axis=0))
    effective = float(errors.sum() ** 2 / np.square(errors).sum()) if errors.any() else 0.0
    weight = effective / (effective + 1)
    return np.asarray(weight * (scaled @ scaled.T) + np.diag(1 - weight * np.square(scaled).sum(axis=1)))
