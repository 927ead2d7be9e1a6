"""A score under the reviewers' truth, for all facts of a run, though few of them were reviewed.

Prediction-powered inference (Angelopoulos, Bates, Fannjiang, Jordan and Zrnic, Science 382, 2023): our labels give the score of
every fact, and a random sample that was reviewed says how far that is off. With λ tuned to be best (PPI++: Angelopoulos, Duchi
and Zrnic, arXiv 2311.01453, Section 6) and answers that are right or wrong, this is post-stratification by what our labels say
(Särndal, Swensson and Wretman 1992, Section 7.6): with F the share right by label, a the share that reviewers hold right of
these, and b the share that they hold right of the others, the score is F a + (1 − F) b, and λ = a − b. λ = 1 where reviewers
never contradict a label; 0 where labels say nothing, and then the estimate is that of the reviewed facts alone.

Facts of which reviewers decide nothing leave the score. Where c and d are the shares that they decide of the first and of the
others, it is (F c a + (1 − F) d b) / (F c + (1 − F) d).

Each of the five shares has an interval that holds with no error seen, too: Wilson's for F, and Jeffreys's for the others
(Brown, Cai and DasGupta, Statistical Science 16, 2001), with as many trials as the facts are worth (`uncertainty.trials`:
clustered by head and tail, and weighted); with few heads Clopper and Pearson's, over heads; from 0 to 1 where there is nothing.
They are put together as by Zou and Donner (Statistics in Medicine 27, 2008: MOVER): how far the score moves with each of them
to its bounds, squared and added, with their correlations. No label has to be right for this to hold.
Coverage: `benchmarks/powered.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from medfact.metrics.clusters import Bools, Clusters, Codes, Floats, count_of
from medfact.metrics.uncertainty import LEVEL, NOTHING, Estimate, too_few, trials, wilson

MOST_UNDRAWN = 0.1
"""Of strata without a reviewed fact nothing is known, and the score may be anything there. With more than this share of the
facts in such strata there is no estimate."""


@dataclass(frozen=True)
class Reviewed:
    """What a score is made of, and what reviewers say of it; one row a fact, in each draw of demonstrations.

    of: how many statements count (1 for mastery), at least 1. right: how many of them are right by label. weight: for how many
    facts a reviewed fact speaks, 0 where it was not drawn. decided: whether it was drawn and reviewers decide on all of it.
    still_right: of `right`, how many are right under the reviewers' truth too; newly_right: the same of the others; both count
    only where decided. stratum: codes of the strata in which facts were drawn.
    """

    of: Floats
    right: Floats
    weight: Floats
    decided: Bools
    still_right: Floats
    newly_right: Floats
    stratum: Codes
    clusters: Clusters

    def only(self, rows: Bools) -> Reviewed:
        columns = {name: value[rows] for name, value in vars(self).items() if name != "clusters"}
        return Reviewed(**columns, clusters=self.clusters.of(rows))

    @property
    def drawn(self) -> Bools:
        return np.asarray(self.weight > 0, dtype=bool)

    def facts(self, rows: Bools) -> int:
        """How many facts these rows are: the same ones in several draws of demonstrations are not more."""
        draws = self.clusters.draws
        return int(rows.sum()) // (1 if draws is None else max(count_of(draws), 1))


@dataclass(frozen=True)
class Powered:
    """A score under the reviewers' truth. estimate: for all facts and facts like them, from `n` reviewed ones.

    facts: how many there are. trust: λ, from −1 to 1: how far the reviewed facts let the labels speak for the others. more: how
    many more facts reviewed would halve the interval; None where none would. all_reviewed: half the width that it would have
    with all facts reviewed, as far as can be told now. why_not: why there is no value, "" where there is one.
    """

    estimate: Estimate
    facts: int
    trust: float | None = None
    more: int | None = None
    all_reviewed: float | None = None
    why_not: str = ""


def powered(found: Reviewed) -> Powered:
    """The score of all facts under the reviewers' truth."""
    known = np.isin(found.stratum, found.stratum[found.drawn])
    total = float(found.of.sum())
    undrawn = float(found.of[~known].sum()) / total if total else 1.0
    n, facts = found.facts(found.drawn), found.facts(found.of > 0)
    if why := _why_not(found, undrawn):
        return Powered(NOTHING._replace(n=n), facts, why_not=why)
    parts = _parts_of(found.only(known))
    alike = _correlations(parts, found.only(known).clusters.heads)
    outside = float(found.right[~known].sum()) / total

    def reaching(times: float) -> tuple[float, float]:
        """The interval with so many times as many facts reviewed; of strata that were not drawn in nothing is known."""
        low, high = _combined(parts, alike, times)
        return (1 - undrawn) * low, (1 - undrawn) * high + undrawn

    value = (1 - undrawn) * score([part.share for part in parts]) + outside
    low, high = reaching(1.0)
    trust = parts[1].share - parts[2].share
    all_low, all_high = reaching(facts / n)
    return Powered(
        Estimate(value, min(low, value), max(high, value), n),
        facts,
        trust,
        _reviews_to_halve(reaching, n, facts),
        (all_high - all_low) / 2,
    )


def _why_not(found: Reviewed, undrawn: float) -> str:
    drawn = found.drawn
    if not drawn.any():
        return "no fact that came at random was judged blindly"
    if too_few(found.clusters.heads[drawn]):
        return "the facts drawn so far are of fewer than ten conditions"
    if undrawn > MOST_UNDRAWN:
        return f"review more at random ({found.facts(drawn):,} of {found.facts(found.of > 0):,})"
    return "" if found.decided.any() else "reviewers decide none of the facts drawn so far"


class Part(NamedTuple):
    """One of the five shares. trials: what it is worth; few: of too few heads to see how they vary. linear: each row's part of
    its error. grows: whether more reviews make it worth more.
    """

    share: float
    trials: float
    few: bool
    linear: Floats
    grows: bool = True

    def bounds(self, times: float = 1.0) -> tuple[float, float]:
        """With so many times as much reviewed."""
        worth = self.trials * (times if self.grows else 1.0)
        if not worth > 0:
            return 0.0, 1.0
        if not self.grows:
            return wilson(self.share, worth)
        return _beta_bounds(self.share, worth, CLOPPER_PEARSON if self.few else JEFFREYS)


CLOPPER_PEARSON, JEFFREYS = 1.0, 0.5
"""What is added to the count before which quantiles of a beta distribution are the bounds of a share."""


def _beta_bounds(share: float, n: float, added: float) -> tuple[float, float]:
    tail, seen = (1 - LEVEL) / 2, share * n
    low = float(special.betaincinv(seen + 1 - added, n - seen + added, tail)) if share > 0 else 0.0
    high = float(special.betaincinv(seen + added, n - seen + 1 - added, 1 - tail)) if share < 1 else 1.0
    return min(low, share), max(high, share)


def _parts_of(found: Reviewed) -> tuple[Part, ...]:
    """F, a, b, c and d of the module's docstring, in this order."""
    wrong, weight, decided = found.of - found.right, found.weight, found.decided
    clusters = found.clusters
    return (
        _part(found.right, found.of, clusters, 0.0)._replace(grows=False),
        _part(weight * found.still_right * decided, weight * found.right * decided, clusters, 1.0),
        _part(weight * found.newly_right * decided, weight * wrong * decided, clusters, 0.0),
        _part(weight * found.right * decided, weight * found.right, clusters, 1.0),
        _part(weight * wrong * decided, weight * wrong, clusters, 1.0),
    )


def _part(holding: Floats, of: Floats, clusters: Clusters, by_label: float) -> Part:
    """Σ holding / Σ of, over the rows that count. by_label: the share where nothing counts."""
    rows, linear = of > 0, np.zeros(len(of))
    if not rows.any():
        return Part(by_label, 0.0, True, linear)
    total, n = float(of.sum()), int(rows.sum())
    share = float(holding.sum()) / total
    linear[rows] = (holding[rows] - share * of[rows]) / total
    own = clusters.of(rows)
    if too_few(own.heads):
        sizes = np.bincount(own.heads, weights=of[rows])
        return Part(share, float(sizes.sum() ** 2 / np.square(sizes).sum()), True, linear)
    uneven = n * float(np.square(of).sum()) / total**2
    return Part(share, trials(share + linear[rows] * n, own, uneven), False, linear)


def score(shares: Sequence[float]) -> float:
    """(F c a + (1 − F) d b) / (F c + (1 − F) d); where reviewers decide nothing, F a + (1 − F) b."""
    right, still, newly, of_right, of_wrong = shares
    first, second = right * of_right, (1 - right) * of_wrong
    if first + second <= 0:
        return right * still + (1 - right) * newly
    return (first * still + second * newly) / (first + second)


def _combined(parts: Sequence[Part], alike: NDArray[np.float64], times: float) -> tuple[float, float]:
    """The score's interval from those of its parts."""
    shares = [part.share for part in parts]
    value = score(shares)

    def moved(place: int, to: float) -> float:
        return score([*shares[:place], to, *shares[place + 1 :]]) - value

    ends = np.array([[moved(place, bound) for bound in part.bounds(times)] for place, part in enumerate(parts)])
    signs = np.where(ends[:, 1] >= ends[:, 0], 1.0, -1.0)
    below, above = signs * ends.min(axis=1), signs * ends.max(axis=1)
    low = value - math.sqrt(max(0.0, float(below @ alike @ below)))
    return max(0.0, low), min(1.0, value + math.sqrt(max(0.0, float(above @ alike @ above))))


def _correlations(parts: Sequence[Part], heads: Codes) -> NDArray[np.float64]:
    """How the parts' errors go together, over heads: none is taken for granted where few heads have any."""
    by_head = np.array([np.bincount(heads, weights=part.linear) for part in parts])
    lengths = np.sqrt(np.square(by_head).sum(axis=1))
    scaled = by_head / np.where(lengths > 0, lengths, 1.0)[:, None]
    errors = np.square(by_head[1:].sum(axis=0))
    seen = float(errors.sum() ** 2 / np.square(errors).sum()) if errors.any() else 0.0
    sure = seen / (seen + 1)
    return np.asarray(sure * (scaled @ scaled.T) + np.diag(1 - sure * np.square(scaled).sum(axis=1)))


def _reviews_to_halve(reaching: Callable[[float], tuple[float, float]], n: int, most: int) -> int | None:
    """How many more facts, beyond `n` and up to `most` in all, halve the interval; None where none do."""
    low, high = reaching(1.0)
    aim = (high - low) / 2

    def is_there(reviews: int) -> bool:
        low, high = reaching(reviews / n)
        return high - low <= aim

    if not is_there(most):
        return None
    least = n
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if is_there(middle) else (middle, most)
    return most - n
