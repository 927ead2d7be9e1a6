"""The runs that are shown to everybody, in groups that were asked the same, each with a place among the others."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from medfact.caching import shared_cache
from medfact.metrics.comparison import Contrast, compare_runs
from medfact.metrics.differences import SIGNIFICANT, Place, holm, places
from medfact.results import wording
from medfact.results.compare import Side, settings_of
from medfact.results.report import Report
from medfact.results.wording import describe_state
from medfact.store import COMPLETE, Published, Run, Sheet

RANKED_BY = ("pair_joint_accuracy", "joint_accuracy")
"""Scores by which runs are ranked: the first that every run has. Who says true unless a sentence denies
has half of all facts right, and no pair: facts alone would put such a run above others that know something."""


MOST_KEPT = 10_000
"""Comparisons that are kept: those of 140 runs."""


@dataclass(frozen=True)
class Shown:
    """A published run with its rows and its report."""

    publication: Published
    side: Side
    report: Report

    @property
    def run(self) -> Run:
        return self.side.run


@dataclass(frozen=True)
class Entry:
    """A line of the gallery. place: None where the run has none. marks: what is to be known of the run beside its scores."""

    name: str
    run: Run
    report: Report
    place: Place | None
    marks: tuple[str, ...]


@dataclass(frozen=True)
class Group:
    """Runs that were asked the same statements in the same way, the best first. ranked: how many of them have a place.

    told_apart: of how many pairs of them a difference is shown. by: the score by which they are ranked.
    """

    settings: str
    facts: int
    entries: tuple[Entry, ...]
    ranked: int
    told_apart: int
    by: str

    @property
    def pairs(self) -> int:
        """How many pairs of ranked runs there are."""
        return self.ranked * (self.ranked - 1) // 2


def gallery(shown: Sequence[Shown]) -> list[Group]:
    """The groups, the one with most runs first, then the one published first."""
    groups: dict[tuple[str, ...], list[Shown]] = {}
    for one in shown:
        groups.setdefault(what_was_asked(one.run, one.side.board.sheet), []).append(one)
    return sorted((_group(members) for members in groups.values()), key=lambda group: -len(group.entries))


def what_was_asked(run: Run, sheet: Sheet) -> tuple[str, ...]:
    """What a run was asked, and how: equal for runs that may be ranked together. sheet: its statements."""
    spec, identity = run.spec, sheet.identity[sheet.fact]
    variants = np.array([str(key) for key in sheet.variants])[sheet.variant]
    rows = sorted(zip(identity.tolist(), variants.tolist(), sheet.draw.tolist(), strict=True))
    settings = settings_of(run)
    # the facts themselves follow, so that it does not matter from which file they came
    told = (content for name, (_, content) in settings.items() if name != "data")
    return *told, str((spec.task, spec.writer, spec.writing)), hashlib.blake2b(repr(rows).encode()).hexdigest()


def is_ranked(one: Shown) -> bool:
    """Whether a run has a place: it is complete, and some fact of it is answered in every way."""
    return one.run.state == COMPLETE and one.report.joint_accuracy.value is not None


def _group(members: Sequence[Shown]) -> Group:
    ranked = [one for one in members if is_ranked(one)]
    by = next((name for name in RANKED_BY if all(getattr(one.report, name).n for one in ranked)), "joint_accuracy")
    shown = told_apart([one.side for one in ranked], by)
    found: Mapping[str, Place] = {}
    if len(ranked) > 1:
        found = {one.run.run: place for one, place in zip(ranked, places(len(ranked), shown), strict=True)}
    names = _names(members)
    entries = [
        Entry(names[one.run.run], one.run, one.report, found.get(one.run.run), marks(one.run, one.report)) for one in members
    ]
    first = members[0]
    return Group(
        settings="; ".join(wording.settings(first.report)),
        facts=first.run.facts,
        entries=tuple(sorted(entries, key=lambda entry: _order(entry, by))),
        ranked=len(ranked),
        told_apart=len(shown),
        by=by,
    )


def _order(entry: Entry, by: str) -> tuple[bool, int, list[float]]:
    """By place, of equal ones the higher score first; those without a place last."""
    scores = [getattr(entry.report, name).value for name in (by, *RANKED_BY, "average_accuracy")]
    return entry.place is None, entry.place.first if entry.place else 0, [1.0 if one is None else -one for one in scores]


def told_apart(sides: Sequence[Side], by: str) -> list[tuple[int, int]]:
    """(better, worse) of every two runs whose difference in a score is shown: its own interval, which is kept while other runs
    join, leaves out 0, and p is below 0.05 after Holm over all pairs.
    """
    couples = list(combinations(range(len(sides)), 2))
    found = [_compared(sides[a], sides[b], by) for a, b in couples]
    adjusted = holm([one.p for one in found])
    return [
        (a, b) if pair.value > 0 else (b, a)
        for (a, b), pair, p in zip(couples, found, adjusted, strict=True)
        if pair.value and pair.is_shown and p is not None and p < SIGNIFICANT
    ]


@shared_cache(MOST_KEPT, key=lambda a, b, by: (a.run.run, a.board.changed, b.run.run, b.board.changed, by))
def _compared(a: Side, b: Side, by: str) -> Contrast:
    """The comparison of two runs, kept as long as neither changes: a run that joins others is compared with each once."""
    return compare_runs(a.rows, b.rows, [by])[by]


def _names(members: Sequence[Shown]) -> dict[str, str]:
    """Run → the name it was published under; where two are alike, with the beginning of the id."""
    names = [one.publication.name for one in members]
    return {
        one.run.run: one.publication.name
        if names.count(one.publication.name) == 1
        else f"{one.publication.name} ({one.run.run[:8]})"
        for one in members
    }


def marks(run: Run, report: Report) -> tuple[str, ...]:
    """What else is to be known of a run: that it is not complete, that calls failed, that it came from a file."""
    state = run.state
    asked = f"{report.answered + report.failed:,} of {wording.counted(report.statements, 'statement')} asked"
    found = {
        f"{describe_state(state, run.reason)}, {asked}: no place": state != COMPLETE,
        f"{wording.counted(report.failed, 'call')} failed, not counted": report.failed > 0,
        wording.FROM_FILE: run.imported,
    }
    return tuple(text for text, holds in found.items() if holds)
