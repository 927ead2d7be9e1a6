"""Where knowledge runs out: the right answers of a run against how often the names in its facts occur (MKJ, Section 4.5).

Every fact is a point, true and false ones alike, each with its own tail. A line is no cause: rare names also stand in other
relations and semantic types than common ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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

FEWEST_TYPES = 10
"""With fewer semantic types no line is drawn through them, as with fewer heads there is no interval."""

LISTED = 5
"""How many names without a frequency are listed."""

HOW_TO_BRING = (
    "Bring a table with the columns term and count (--frequencies FILE), count in a text (--corpus FILE), "
    "or ask PubMed (--pubmed)."
)


@dataclass(frozen=True)
class FactPoint:
    """A fact of a run with how often its names occur: head_count, tail_count, and together_count of both in one passage or
    article; None where that is unknown.

    answered: its statements with an answer, readable or not, over all draws of demonstrations; right: those answered right.
    Failed statements and those that were not asked are in neither.
    """

    fact: Fact
    answered: int
    right: int
    head_count: int | None
    tail_count: int | None
    together_count: int | None = None

    @property
    def share(self) -> float | None:
        """The share of right answers; None where nothing was answered."""
        return self.right / self.answered if self.answered else None

    @property
    def rarer_count(self) -> int | None:
        """The frequency of the rarer of the two names; None unless both are known."""
        known = [count for count in (self.head_count, self.tail_count) if count is not None]
        return min(known) if len(known) == 2 else None

    def unknown(self) -> tuple[str | None, ...]:
        """The names whose frequency is unknown."""
        head, tail = self.fact.head, self.fact.tail
        return (head if self.head_count is None else None, tail if self.tail_count is None else None)

    def row(self) -> dict[str, Any]:
        """The point as a row of a table."""
        fact = self.fact
        return {
            "fact_id": fact.fact_id,
            "negative_of": fact.negative_of,
            "head": fact.head,
            "relation": fact.relation,
            "tail": fact.tail,
            "positive": fact.positive,
            "tail_type": fact.tail_type,
            "head_count": self.head_count,
            "tail_count": self.tail_count,
            "together_count": self.together_count,
            "answered": self.answered,
            "right": self.right,
            "share_right": self.share,
        }


@dataclass(frozen=True)
class Fit:
    """Right answers against the frequency of one of a fact's names. line: see there; its n are `facts`.

    facts: answered facts whose name has a frequency; without: those whose name has none, which are left out; missing: some of
    these names.
    """

    line: FittedLine
    facts: int
    without: int
    missing: tuple[str, ...]


@dataclass(frozen=True)
class RareType:
    """The facts whose tails have one semantic type.

    mean_log_frequency: the mean of log10(count + 1) over the `with_frequency` answered facts whose tail has one; None where
    there is none. accuracy: over all statements of the type, as in the report.
    """

    mean_log_frequency: float | None
    with_frequency: int
    accuracy: TypeAccuracy


@dataclass(frozen=True)
class Rarity:
    """A run's right answers against frequencies.

    imported: the run came from a file. source: where the frequencies come from. facts: answered facts, true and false. by_tail
    (the paper's "object"), by_head, by_rarer: against the frequency of the tail, the head, and the rarer of the two.
    types: by semantic type of the tail, the rarest first.
    """

    run: str
    model: str
    imported: bool
    dataset: str
    source: str
    notes: tuple[str, ...]
    facts: int
    by_tail: Fit
    by_head: Fit
    by_rarer: Fit
    by_together: Fit | None
    """True facts, against how often both names stand together; None where the source cannot tell."""
    by_together_of_false: Fit | None
    """False facts: a model that takes for true what stands together has the opposite slope there."""
    types: Mapping[str, RareType]
    types_line: FittedLine
    """Accuracy of types against their mean_log_frequency, a point each; none with fewer than FEWEST_TYPES."""


def names_of(store: Store, run_id: str) -> list[str]:
    """The names of heads and tails in a run, each spelling once, in order."""
    facts = store.answers.facts(run_id)
    return sorted({name for fact in facts for name in (fact.head, fact.tail) if name is not None})


def couples_of(store: Store, run_id: str) -> list[tuple[str, str]]:
    """Head and tail of each fact in a run, true and false ones, each couple once."""
    couples = ((fact.head, fact.tail) for fact in store.answers.facts(run_id) if fact.tail is not None)
    return list(dict.fromkeys(couples))


def points_of(board: Board, facts: Sequence[Fact], frequencies: Frequencies) -> list[FactPoint]:
    """The facts of a run as points, in the order of the run. facts: by their number in it."""
    records = board.records()
    number = board.sheet.fact
    answered = np.bincount(number[records.scored], minlength=len(facts))
    right = np.bincount(number[records.scored & records.right], minlength=len(facts))
    return [
        FactPoint(
            fact,
            int(answered[place]),
            int(right[place]),
            frequencies.of(fact.head),
            frequencies.of(fact.tail),
            frequencies.of_both(fact.head, fact.tail),
        )
        for place, fact in enumerate(facts)
    ]


def rarity_of(
    store: Store, run_id: str, frequencies: Frequencies, board: Board | None = None
) -> tuple[Rarity, list[FactPoint]]:
    """The rarity view of a run, and its points. board: of its answers, where it is known already.

    Raises Mistake where no name of the run has a frequency.
    """
    run = store.run(run_id)
    report = report_of(store, run)
    points = points_of(board or board_of(store, run.run), store.answers.facts(run.run), frequencies)
    if all(point.head_count is None and point.tail_count is None for point in points):
        raise Mistake(f"{frequencies.source} has no frequency of any name in run {run.run}.", HOW_TO_BRING)
    return rarity(report, points, frequencies), points


def rarity(report: Report, points: Sequence[FactPoint], frequencies: Frequencies) -> Rarity:
    """The rarity view of a run from its report and its points."""
    answered = [point for point in points if point.answered]
    types = dict(_types(report, answered))
    return Rarity(
        run=report.run,
        model=report.model,
        imported=report.imported,
        dataset=report.dataset,
        source=frequencies.source,
        notes=(*frequencies.notes, *_left_out(frequencies)),
        facts=len(answered),
        by_tail=_fit(answered, lambda point: point.tail_count, lambda point: (point.fact.tail,)),
        by_head=_fit(answered, lambda point: point.head_count, lambda point: (point.fact.head,)),
        by_rarer=_fit(answered, lambda point: point.rarer_count, FactPoint.unknown),
        by_together=_by_together(answered, True) if frequencies.together else None,
        by_together_of_false=_by_together(answered, False) if frequencies.together else None,
        types=types,
        types_line=_types_line(list(types.values())),
    )


def _by_together(points: Sequence[FactPoint], positive: bool) -> Fit:
    chosen = [point for point in points if point.fact.positive == positive]
    return _fit(chosen, lambda point: point.together_count, lambda point: (point.fact.tail,))


def _left_out(frequencies: Frequencies) -> Iterator[str]:
    if problems := frequencies.problems:
        are = "is" if len(problems) == 1 else "are"
        yield f"In {frequencies.source} {counted(len(problems), 'row')} {are} left out; the first: {problems[0]}."


def _fit(
    points: Sequence[FactPoint],
    count_of: Callable[[FactPoint], int | None],
    unknown_of: Callable[[FactPoint], tuple[str | None, ...]],
) -> Fit:
    """unknown_of: the names without a frequency of a fact without a count."""
    counted = [(point, count_of(point)) for point in points]
    found = [(point, count) for point, count in counted if count is not None]
    without = [point for point, count in counted if count is None]
    names = dict.fromkeys(name for point in without for name in unknown_of(point) if name)
    if not found:
        return Fit(NO_LINE, 0, len(without), tuple(names)[:LISTED])
    heads, tails = (codes([getattr(p.fact, name) or "" for p, _ in found]) for name in ("head", "tail"))
    x = log_frequency(np.array([count for _, count in found], dtype=float))
    shares = np.array([point.share for point, _ in found], dtype=float)
    return Fit(line(x, shares, heads, tails), len(found), len(without), tuple(names)[:LISTED])


def _types(report: Report, points: Sequence[FactPoint]) -> Iterator[tuple[str, RareType]]:
    """Semantic type → its facts, the rarest first; a tail of several types ("A; B") counts for each."""
    counts: dict[str, list[int]] = {name: [] for name in report.by_tail_type}
    for point in points:
        for name in (point.fact.tail_type or "").split("; "):
            if name in counts and point.tail_count is not None:
                counts[name].append(point.tail_count)
    logs = {name: log_frequency(np.array(of, dtype=float)) for name, of in counts.items()}
    made = (
        (name, RareType(float(logs[name].mean()) if counts[name] else None, len(counts[name]), accuracy))
        for name, accuracy in report.by_tail_type.items()
    )
    yield from sorted(made, key=lambda pair: (pair[1].mean_log_frequency is None, pair[1].mean_log_frequency or 0.0, pair[0]))


def _types_line(types: Sequence[RareType]) -> FittedLine:
    places = [(t.mean_log_frequency, t.accuracy.value) for t in types]
    known = [(x, value) for x, value in places if x is not None and value is not None]
    if len(known) < FEWEST_TYPES:
        return replace(NO_LINE, slope=NOTHING._replace(n=len(known)))
    x, shares = (np.array(values, dtype=float) for values in zip(*known, strict=True))
    each = np.arange(len(known), dtype=np.int64)
    return line(x, shares, each, each)
