"""Right answers of a run against the frequencies of the names in its facts (MKJ, Section 4.5).

Each fact is a point, true or false, with its own tail. A slope is no cause: rare names also stand in other relations and
semantic types than common ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from medfact.datasets.frequencies import Frequencies
from medfact.errors import Mistake
from medfact.facts import Fact
from medfact.metrics.measures import TypeAccuracy
from medfact.metrics.rarity import NO_LINE, FittedLine, line, log_frequency
from medfact.metrics.records import codes
from medfact.metrics.uncertainty import NOTHING
from medfact.results.report import Board, Report, board_of, report_of
from medfact.results.wording import counted
from medfact.store import Store
from medfact.words import say

MIN_TYPES = 10  # semantic types for a line through them, as an interval needs as many heads
MAX_MISSING = 5  # listed names without a frequency

HOW_TO_BRING = (
    "Bring a table with the columns term and count (--frequencies FILE), count in a text (--corpus FILE), "
    "or ask PubMed (--pubmed)."
)


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
        by_tail=_fit(answered, lambda point: point.tail_count, ["tail"]),
        by_head=_fit(answered, lambda point: point.head_count, ["head"]),
        by_rarer=_fit(answered, lambda point: point.rarer_count, ["head", "tail"]),
        by_together=_by_together(answered, True) if frequencies.together else None,
        by_together_of_false=_by_together(answered, False) if frequencies.together else None,
        types=types,
        types_line=_types_line(list(types.values())),
    )
    return rarity, points


def _by_together(points: Sequence[FactPoint], positive: bool) -> Fit:
    return _fit([point for point in points if point.fact.positive == positive], lambda point: point.together_count)


def _fit(points: Sequence[FactPoint], count_of: Callable[[FactPoint], int | None], names: Sequence[str] = ()) -> Fit:
    """Fits a line. names: head, tail, or both, which are missing where they have no frequency; the tail if empty."""
    counts = {index: count for index, point in enumerate(points) if (count := count_of(point)) is not None}
    missing: dict[str, None] = {}
    for index, point in enumerate(points):
        if index not in counts:
            unknown = [name for name in names if getattr(point, f"{name}_count") is None] if names else ["tail"]
            missing |= dict.fromkeys(filter(None, (getattr(point.fact, name) for name in unknown)))
    fit = Fit(NO_LINE, len(counts), len(points) - len(counts), tuple(missing)[:MAX_MISSING])
    if not counts:
        return fit
    facts = [points[index].fact for index in counts]
    shares = np.array([points[index].share for index in counts], dtype=float)
    x = log_frequency(np.array([*counts.values()], dtype=float))
    return replace(fit, line=line(x, shares, codes([fact.head for fact in facts]), codes([fact.tail or "" for fact in facts])))


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
    if len(points) < MIN_TYPES:
        return replace(NO_LINE, slope=NOTHING._replace(n=len(points)))
    x, shares = (np.array(values, dtype=float) for values in zip(*points, strict=True))
    cluster = np.arange(len(points), dtype=np.int64)
    return line(x, shares, cluster, cluster)
