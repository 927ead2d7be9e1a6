"""Right answers of a run against the frequencies of the names in its facts (MKJ, Section 4.5).

Each fact is a point, true or false, with its own tail. A slope is no cause: rare names also stand in other relations and
semantic types than common ones.

The line is fitted by ordinary least squares. Errors are clustered by head and by tail (Cameron, Gelbach and Miller 2011): by
the jackknife over clusters (CR3), with the degrees of freedom of Bell and McCaffrey (2002). Frequencies are uneven, so that a
few tails decide the slope, and residuals at such tails are too small. Plain clustered errors cover the slope in 87 to 96 % of
simulated runs, and these in 94 to 97 % (`benchmarks/rarity.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from medfact.datasets.frequencies import Frequencies
from medfact.errors import Mistake
from medfact.facts import Fact
from medfact.metrics.clusters import Codes, Floats, Part, count_of, crossed, sum_of_parts
from medfact.metrics.measures import TypeAccuracy
from medfact.metrics.records import codes
from medfact.metrics.uncertainty import NOTHING, Estimate, t_quantile
from medfact.results.report import Board, Report, board_of, report_of
from medfact.results.wording import counted
from medfact.store import Store
from medfact.words import say

MIN_TYPES = 10  # semantic types for a line through them, as an interval needs as many heads
MAX_MISSING = 5  # listed names without a frequency

FEWEST_FREQUENCIES = 3  # through two frequencies every line fits
FEWEST_CLUSTERS = 4  # with fewer heads, or fewer tails, there is no line: an interval would be wider than any share
BAND_POINTS = 25  # places at which the band is known, from the lowest frequency to the highest

_NONE = 1e-9  # what counts as 0 among numbers about 1

HOW_TO_BRING = say("bring_frequencies")


@dataclass(frozen=True)
class Place:
    """A place on a line: x, the fitted share there, and the bounds of its pointwise 95% band; None where there is no interval.

    The share is the line's, so that it may lie below 0 or above 1.
    """

    x: float
    share: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class FittedLine:
    """A line: share = intercept + slope · x, where x = log10(frequency + 1)."""

    slope: Estimate  # change of the share for a tenfold frequency; n: points
    intercept: Estimate  # share at x = 0, a frequency of 0
    band: tuple[Place, ...]  # from the lowest x to the highest; () where there is no line


@dataclass(frozen=True)
class FactPoint:
    """A fact of a run with the frequencies of its names; None for an unknown frequency."""

    fact: Fact
    answered: int  # statements with an answer, readable or not, over all draws of shots; failed ones are excluded
    right: int
    head_count: int | None
    tail_count: int | None
    together_count: int | None = None  # both names in one passage or article

    @property
    def share(self) -> float | None:
        """Share of right answers; None without answers."""
        return self.right / self.answered if self.answered else None

    @property
    def rarer_count(self) -> int | None:
        """Frequency of the rarer name; None unless both are known."""
        return None if self.head_count is None or self.tail_count is None else min(self.head_count, self.tail_count)

    def row(self) -> dict[str, Any]:
        """The point as a row of a table."""
        names = ("fact_id", "negative_of", "head", "relation", "tail", "positive", "tail_type")
        return {name: getattr(self.fact, name) for name in names} | {
            "head_count": self.head_count,
            "tail_count": self.tail_count,
            "together_count": self.together_count,
            "answered": self.answered,
            "right": self.right,
            "share_right": self.share,
        }


@dataclass(frozen=True)
class Fit:
    """Right answers against a frequency."""

    line: FittedLine
    facts: int  # answered facts with a frequency: the points of the line
    without: int  # answered facts without one
    missing: tuple[str, ...]  # some of the names without one


@dataclass(frozen=True)
class RareType:
    """The facts whose tails have a semantic type."""

    mean_log_frequency: float | None  # mean of log10(count + 1) over `with_frequency` facts; None without any
    with_frequency: int  # answered facts whose tail has a frequency
    accuracy: TypeAccuracy  # over all statements of the type, as in the report


@dataclass(frozen=True)
class Rarity:
    """Right answers of a run against frequencies."""

    run: str
    model: str
    imported: bool  # the run came from a file
    dataset: str
    source: str  # of the frequencies
    notes: tuple[str, ...]
    facts: int  # answered, true and false
    by_tail: Fit  # the paper's "object"
    by_head: Fit
    by_rarer: Fit  # the rarer of tail and head
    by_together: Fit | None  # true facts, against the frequency of both names together; None if the source cannot tell
    by_together_of_false: Fit | None  # false facts: a model that takes co-occurrence for truth has the opposite slope
    types: dict[str, RareType]  # by semantic type of the tail, the rarest first
    types_line: FittedLine  # accuracy of types against mean_log_frequency; none with fewer than MIN_TYPES


def names_of(store: Store, run_id: str) -> list[str]:
    """Names of heads and tails in a run, each spelling once, sorted."""
    facts = store.answers.facts(run_id)
    return sorted({name for fact in facts for name in (fact.head, fact.tail) if name is not None})


def couples_of(store: Store, run_id: str) -> list[tuple[str, str]]:
    """Head and tail of each fact in a run, true and false ones, each couple once."""
    couples = ((fact.head, fact.tail) for fact in store.answers.facts(run_id) if fact.tail is not None)
    return list(dict.fromkeys(couples))


def points_of(board: Board, facts: Sequence[Fact], frequencies: Frequencies) -> list[FactPoint]:
    """Facts of a run as points. facts: by their number in the run."""
    records, number = board.records(), board.sheet.fact
    answered = np.bincount(number[records.scored], minlength=len(facts)).tolist()
    right = np.bincount(number[records.scored & records.right], minlength=len(facts)).tolist()
    return [
        FactPoint(
            fact,
            answered[place],
            right[place],
            frequencies.of(fact.head),
            frequencies.of(fact.tail),
            frequencies.of_both(fact.head, fact.tail),
        )
        for place, fact in enumerate(facts)
    ]


def rarity_of(
    store: Store, run_id: str, frequencies: Frequencies, board: Board | None = None
) -> tuple[Rarity, list[FactPoint]]:
    """Returns the rarity view of a run, and its points. Raises Mistake if no name of the run has a frequency.

    board: of the run's answers, if it is loaded.
    """
    run = store.run(run_id)
    report = report_of(store, run)
    points = points_of(board or board_of(store, run.run), store.answers.facts(run.run), frequencies)
    if all(point.head_count is None and point.tail_count is None for point in points):
        raise Mistake(say("rarity.no_frequency", source=frequencies.source, run=run.run), HOW_TO_BRING)
    notes = list(frequencies.notes)
    if problems := frequencies.problems:
        rows, are = counted(len(problems), "row"), "is" if len(problems) == 1 else "are"
        notes.append(say("rarity.left_out", source=frequencies.source, rows=rows, are=are, problem=problems[0]))
    answered = [point for point in points if point.answered]
    types = _types(report, answered)
    rarity = Rarity(
        run=report.run,
        model=report.model,
        imported=report.imported,
        dataset=report.dataset,
        source=frequencies.source,
        notes=tuple(notes),
        facts=len(answered),
        by_tail=_fit(answered, "tail_count", "tail"),
        by_head=_fit(answered, "head_count", "head"),
        by_rarer=_fit(answered, "rarer_count", "head", "tail"),
        by_together=_by_together(answered, True) if frequencies.together else None,
        by_together_of_false=_by_together(answered, False) if frequencies.together else None,
        types=types,
        types_line=_types_line(list(types.values())),
    )
    return rarity, points


def _by_together(points: Sequence[FactPoint], positive: bool) -> Fit:
    return _fit([point for point in points if point.fact.positive == positive], "together_count")


def _fit(points: Sequence[FactPoint], count: str, *sides: str) -> Fit:
    """Fits a line against a count. sides: head, tail, or both, whose names are missing where they have no frequency."""
    known = [point for point in points if getattr(point, count) is not None]
    unknown = [point for point in points if getattr(point, count) is None]
    missing = [getattr(point.fact, side) for point in unknown for side in sides if getattr(point, f"{side}_count") is None]
    missing = missing if sides else [point.fact.tail for point in unknown]
    x = log_frequency(np.array([getattr(point, count) for point in known], dtype=float))
    heads, tails = (codes([getattr(point.fact, side) or "" for point in known]) for side in ("head", "tail"))
    fitted = line(x, np.array([point.share for point in known], dtype=float), heads, tails)
    return Fit(fitted, len(known), len(unknown), tuple(dict.fromkeys(filter(None, missing)))[:MAX_MISSING])


def _types(report: Report, points: Sequence[FactPoint]) -> dict[str, RareType]:
    """Semantic type → its facts, the rarest first; a tail of several types ("A; B") counts for each."""
    counts: dict[str, list[int]] = {name: [] for name in report.by_tail_type}
    for point in points:
        for name in (point.fact.tail_type or "").split("; "):
            if name in counts and point.tail_count is not None:
                counts[name].append(point.tail_count)
    means = {name: float(log_frequency(np.array(c, dtype=float)).mean()) if c else None for name, c in counts.items()}
    names = sorted(means, key=lambda name: (means[name] is None, means[name] or 0.0, name))
    return {name: RareType(means[name], len(counts[name]), report.by_tail_type[name]) for name in names}


def _types_line(types: Sequence[RareType]) -> FittedLine:
    points = [
        (row.mean_log_frequency, row.accuracy.value)
        for row in types
        if row.mean_log_frequency is not None and row.accuracy.value is not None
    ]
    cluster = np.arange(len(points), dtype=np.int64)
    if len(points) < MIN_TYPES:
        return FittedLine(NOTHING._replace(n=len(points)), NOTHING, ())
    x, shares = np.array(points, dtype=float).T
    return line(x, shares, cluster, cluster)


# ------------------------------------------------------------------------------------------------ the line


def log_frequency(counts: Floats) -> Floats:
    """log10(count + 1): 0 for what is never named, 1 for about ten times, 2 for about a hundred."""
    return np.log10(counts + 1)


def line(x: Floats, shares: Floats, heads: Codes, tails: Codes) -> FittedLine:
    """The line through points (x, share), all of one length; heads, tails: codes of the clusters of each point.

    No line where there are fewer than FEWEST_FREQUENCIES different x, or fewer than FEWEST_CLUSTERS heads or tails. A line
    through all points has no interval, since nothing shows how far others would be off. Nor has one that a single head or tail
    decides, without which all x are the same.
    """
    n = len(x)
    few = min(count_of(heads), count_of(tails)) < FEWEST_CLUSTERS if n else True
    if few or len(np.unique(x)) < FEWEST_FREQUENCIES:
        return FittedLine(NOTHING._replace(n=n), NOTHING._replace(n=n), ())
    # orthonormal: a constant, and x about its mean; all estimates are contrasts of this basis
    mean = float(x.mean())
    spread = math.sqrt(float(np.square(x - mean).sum()))
    basis = np.stack([np.full(n, 1 / math.sqrt(n)), (x - mean) / spread], axis=1)
    coefficients = basis.T @ shares
    errors = shares - basis @ coefficients
    is_exact = bool(np.abs(errors).max() < _NONE)
    parts = [_jackknife(basis, errors, labels) for labels in (heads, tails, crossed(heads, tails))]

    def estimate(contrast: Floats) -> Estimate:
        value = float(contrast @ coefficients)
        if is_exact or None in parts:
            return Estimate(round(value, 9) + 0.0 if is_exact else value, None, None, n)  # no slope of −1e−17
        by_head, by_tail, by_both = (part(contrast) for part in parts if part)
        # never below the variance by head alone, as everywhere: a negative difference is noise
        added = Part(max(0.0, by_tail.variance - by_both.variance), by_tail.degrees_of_freedom)
        variance, degrees_of_freedom = sum_of_parts([by_head, added])
        half_width = t_quantile(degrees_of_freedom) * math.sqrt(variance)
        return Estimate(value, value - half_width, value + half_width, n)

    def at(place: float) -> Estimate:
        """The fitted share at x."""
        return estimate(np.array([1 / math.sqrt(n), (place - mean) / spread]))

    places = [(float(place), at(float(place))) for place in np.linspace(x.min(), x.max(), BAND_POINTS)]
    band = (Place(place, share.value or 0.0, share.low, share.high) for place, share in places)
    return FittedLine(estimate(np.array([0.0, 1 / spread])), at(0.0), tuple(band))


def _jackknife(basis: Floats, errors: Floats, labels: Codes) -> Callable[[Floats], Part] | None:
    """Variance of a contrast by the jackknife over clusters, by the contrast; None if one cluster decides the line.

    With Q_g the rows of the orthonormal basis of cluster g, P_g = Q_g' Q_g is its hat. By (1 − P_g)^−1 Q_g' e_g, its score, the
    coefficients move without it.
    """
    place = np.unique(labels, return_inverse=True)[1]
    columns = basis.T

    def sums(values: Floats) -> Floats:
        return np.bincount(place, weights=values).astype(float)

    hats = np.array([[sums(first * second) for first in columns] for second in columns]).transpose(2, 0, 1)
    sizes, axes = np.linalg.eigh(np.eye(2) - hats)
    if sizes.min() < _NONE:
        return None
    inverses = np.einsum("gij,gj,gkj->gik", axes, 1 / sizes, axes)
    scores = np.einsum("gij,gj->gi", inverses, np.stack([sums(column * errors) for column in columns], axis=1))

    def part(contrast: Floats) -> Part:
        """The variance of a contrast, and its degrees of freedom for independent errors of one variance.

        The variance is Σ (a_g' e)², with a_g = Q_g (1 − P_g)^−1 c. For independent errors e it has the moments of Σ λ χ²; the λ
        are the eigenvalues of the matrix with a_g' a_h − (Q' a_g)' (Q' a_h) at (g, h).
        """
        leaning = np.einsum("gij,gjk,k->gi", hats, inverses, contrast)
        diagonal = np.einsum("i,gij,gj->g", contrast, inverses, leaning)
        squares = np.square(leaning).sum(axis=1)
        trace = float((diagonal - squares).sum())
        norm = float((np.square(diagonal) - 2 * diagonal * squares).sum() + np.square(leaning.T @ leaning).sum())
        return Part(float(np.square(scores @ contrast).sum()), max(1.0, trace**2 / norm) if norm > 0 else 1.0)

    return part
