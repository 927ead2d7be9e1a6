"""Published runs in groups with the same statements and settings, each run with a rank."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from medfact.caching import shared_cache
from medfact.metrics.comparison import SIGNIFICANT, Contrast, Place, compare_runs, holm, places
from medfact.results import wording
from medfact.results.compare import Side, settings_of
from medfact.results.report import Report
from medfact.results.wording import counted, describe_state
from medfact.store import COMPLETE, Published, Run, Sheet
from medfact.words import say

# A group is ranked by the first of these scores that every run has. "True unless denied" gets half of all facts right and no
# pair: by facts alone, such a run would rank above runs that know something.
RANKED_BY = ("pair_joint_accuracy", "joint_accuracy")

MAX_COMPARISONS = 10_000  # in the cache: those of 140 runs


@dataclass(frozen=True)
class Shown:
    """A published run with its records and its report."""

    publication: Published
    side: Side
    report: Report

    @property
    def run(self) -> Run:
        return self.side.run


@dataclass(frozen=True)
class Entry:
    """A row of the gallery."""

    name: str
    run: Run
    report: Report
    place: Place | None  # None for an unranked run
    marks: tuple[str, ...]  # remarks on the run beside its scores


@dataclass(frozen=True)
class Group:
    """Runs with the same statements and settings, best first."""

    settings: str
    facts: int
    entries: tuple[Entry, ...]
    ranked: int  # runs with a rank
    told_apart: int  # pairs of ranked runs with a significant difference
    by: str  # score that ranks them

    @property
    def pairs(self) -> int:
        """Number of pairs of ranked runs."""
        return self.ranked * (self.ranked - 1) // 2


def gallery(runs: Sequence[Shown]) -> list[Group]:
    """Groups of runs, largest first, then earliest publication first."""
    keys = [what_was_asked(run.run, run.side.board.sheet) for run in runs]
    groups = [[run for run, other in zip(runs, keys, strict=True) if other == key] for key in dict.fromkeys(keys)]
    return sorted(map(_group, groups), key=lambda group: -len(group.entries))


def what_was_asked(run: Run, sheet: Sheet) -> tuple[str, ...]:
    """Statements and settings of a run: equal for runs that can be ranked together. sheet: of the run's statements."""
    spec, identity = run.spec, sheet.identity[sheet.fact]
    variants = np.array([str(key) for key in sheet.variants])[sheet.variant]
    rows = sorted(zip(identity.tolist(), variants.tolist(), sheet.draw.tolist(), strict=True))
    # the hash covers the facts, so the file that they came from does not matter
    settings = (content for name, (_, content) in settings_of(run).items() if name != "data")
    return *settings, str((spec.task, spec.writer, spec.writing)), hashlib.blake2b(repr(rows).encode()).hexdigest()


def _group(members: Sequence[Shown]) -> Group:
    ranked = [run for run in members if run.run.state == COMPLETE and run.report.joint_accuracy.value is not None]
    by = next((name for name in RANKED_BY if all(getattr(run.report, name).n for run in ranked)), "joint_accuracy")
    differences = told_apart([run.side for run in ranked], by)
    ranks = dict(zip((run.run.run for run in ranked), places(len(ranked), differences), strict=True)) if len(ranked) > 1 else {}
    names = Counter(run.publication.name for run in members)
    entries = []
    for member in members:
        run, name = member.run, member.publication.name
        distinct = name if names[name] == 1 else f"{name} ({run.run[:8]})"
        entries.append(Entry(distinct, run, member.report, ranks.get(run.run), marks(run, member.report)))
    return Group(
        settings="; ".join(wording.settings(members[0].report)),
        facts=members[0].run.facts,
        entries=tuple(sorted(entries, key=lambda entry: _order(entry, by))),
        ranked=len(ranked),
        told_apart=len(differences),
        by=by,
    )


def _order(entry: Entry, by: str) -> tuple[bool, int, list[float]]:
    """Sort key: by rank, then by score; unranked runs last."""
    scores = [getattr(entry.report, name).value for name in (by, *RANKED_BY, "average_accuracy")]
    return entry.place is None, entry.place.first if entry.place else 0, [1.0 if s is None else -s for s in scores]


def told_apart(sides: Sequence[Side], by: str) -> list[tuple[int, int]]:
    """(better, worse) of each pair of runs with a significant difference in a score.

    Its own interval, which does not change when other runs join, excludes 0, and p < 0.05 after Holm over all pairs.
    """
    contrasts = {(a, b): _compared(sides[a], sides[b], by) for a, b in combinations(range(len(sides)), 2)}
    adjusted = holm([contrast.p for contrast in contrasts.values()])
    return [
        pair if contrast.value > 0 else pair[::-1]
        for (pair, contrast), p in zip(contrasts.items(), adjusted, strict=True)
        if contrast.value and contrast.is_shown and p is not None and p < SIGNIFICANT
    ]


@shared_cache(MAX_COMPARISONS, key=lambda a, b, by: (a.run.run, a.board.changed, b.run.run, b.board.changed, by))
def _compared(a: Side, b: Side, by: str) -> Contrast:
    return compare_runs(a.rows, b.rows, [by])[by]


def marks(run: Run, report: Report) -> tuple[str, ...]:
    """Remarks on a run: it is incomplete, calls failed, or it came from a file."""
    state = describe_state(run.state, run.reason)
    statements = f"{report.answered + report.failed:,} of {counted(report.statements, 'statement')}"
    remarks = (
        say("gallery.incomplete", state=state, statements=statements) if run.state != COMPLETE else "",
        say("gallery.failed", calls=counted(report.failed, "call")) if report.failed else "",
        wording.FROM_FILE if run.imported else "",
    )
    return tuple(filter(None, remarks))
