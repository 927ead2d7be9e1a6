"""The facts of several runs beside each other: which statements each run answered right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from medfact.facts import Fact
from medfact.metrics.diagnosis import CHANCE, DIAGNOSES, MASTERED, MIXED, diagnose
from medfact.metrics.records import UNREADABLE
from medfact.results.sides import Side
from medfact.results.wording import ABSENT, FATES
from medfact.statements import IMPLICATIONS, VARIANTS
from medfact.store import Store

SHOWN = {
    "all": "all facts",
    "differ": "models disagree",
    "none": "mastered by none",
    "every": "mastered by all",
    "one": "mastered by one only",
}
"""Which facts of several runs are shown → what a person reads."""

OF_ONE = {
    "missed": "not mastered",
    "mastered": "mastered",
    "fragile": "right when asked plainly, but not mastered",
    "denied": "wrong only when denied",
}
"""The same of one run."""

DIAGNOSED = {name: meaning for name, meaning in DIAGNOSES.items() if name not in (MASTERED, CHANCE, MIXED)}

WRONG = "wrong "
"""Before the key of a way of asking: facts that are answered wrong there."""


@dataclass(frozen=True)
class FactTable:
    """The facts of several runs, one row each, in the order of the first run that has them.

    number: runs × facts, the number of the fact in the run, −1 where it has none. fate: runs × facts × variants, of the first
    draw of demonstrations; committed: the same by the answers that replies commit to, which tell diagnoses. relation: of each
    fact, a place in `relations`. positive: whether the fact holds.
    """

    runs: tuple[str, ...]
    variants: tuple[str, ...]
    number: NDArray[np.int64]
    fate: NDArray[np.int8]
    committed: NDArray[np.int8]
    relation: NDArray[np.int64]
    relations: tuple[str, ...]
    positive: NDArray[np.bool_]

    @property
    def mastered(self) -> NDArray[np.bool_]:
        """Runs × facts: whether every statement that the run asks is right."""
        asked = self.fate != ABSENT
        return np.asarray(((self.fate == 1) | ~asked).all(axis=2) & asked.any(axis=2), dtype=bool)

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Which facts every run answered in every way that it asks. A failed call is no answer."""
        return np.asarray(((self.fate >= UNREADABLE) | (self.fate == ABSENT)).all(axis=(0, 2)), dtype=bool)

    def chosen(self, shown: str = "all", relation: str | None = None, pattern: str | None = None) -> NDArray[np.int64]:
        """The rows of facts that are wanted: `shown` is one of SHOWN, pattern one of `patterns`."""
        rows = np.ones(self.number.shape[1], dtype=bool)
        if shown == "differ":
            rows &= (self.fate != self.fate[:1]).any(axis=(0, 2))
        elif shown in {"none", "every", "one"}:
            count = self.mastered.sum(axis=0)
            rows &= self.answered & (count == {"none": 0, "every": len(self.runs), "one": 1}[shown])
        if relation is not None:
            rows &= self.relation == (self.relations.index(relation) if relation in self.relations else -1)
        if pattern is not None:
            rows &= (self.fate == _fates(pattern, len(self.variants))).all(axis=2).any(axis=0)
        return np.flatnonzero(rows)

    def passing(self, only: str) -> NDArray[np.bool_]:
        """Runs × facts: which pass a filter of OF_ONE, of DIAGNOSED, or WRONG with a way of asking; all where it is none."""
        asked, right = self.fate != ABSENT, self.fate == 1
        if only in DIAGNOSED:
            return self._diagnosed(only)
        if only.startswith(WRONG):
            keys = [key == only.removeprefix(WRONG) for key in self.variants]
            return np.asarray(np.isin(self.fate, (0, UNREADABLE))[:, :, keys].any(axis=2), dtype=bool)
        if only not in OF_ONE:
            return np.asarray(asked.any(axis=2), dtype=bool)
        done: NDArray[np.bool_] = ((self.fate >= UNREADABLE) | ~asked).all(axis=2) & asked.any(axis=2)
        if only == "mastered":
            return np.asarray(done & self.mastered, dtype=bool)
        kept = {
            "missed": [False for _ in self.variants],
            "fragile": [VARIANTS[key].form == key and key in ("none", "S1") for key in self.variants],
            "denied": [not VARIANTS[key].negated for key in self.variants],
        }[only]
        fits: NDArray[np.bool_] = np.asarray(right | ~asked, dtype=bool)
        return np.asarray(done & ~self.mastered & fits[:, :, kept].all(axis=2), dtype=bool)

    def _diagnosed(self, name: str) -> NDArray[np.bool_]:
        found = np.zeros(self.fate.shape[:2], dtype=bool)
        if self.variants == tuple(IMPLICATIONS):
            for run, row in zip(*np.nonzero((self.committed >= 0).all(axis=2)), strict=True):
                found[run, row] = diagnose((self.committed[run, row] == 1).tolist(), bool(self.positive[row])) == name
        return found

    def worst_first(self, rows: NDArray[np.int64]) -> list[int]:
        """These rows, those with most wrong answers over all runs first; what nobody was asked yet, last."""
        wrong = np.isin(self.fate, (0, UNREADABLE)).sum(axis=(0, 2))
        begun = np.asarray((self.fate >= UNREADABLE).any(axis=(0, 2)), dtype=bool)
        return sorted(rows.tolist(), key=lambda row: (not begun[row], -int(wrong[row])))

    def worst(self, facts: Sequence[Fact]) -> list[int]:
        """The rows that some run does not master, as a page and a report begin with them: most wrong answers first, and of
        each condition one before a second of any. facts: of all rows.
        """
        met: Counter[str] = Counter()
        turn: dict[int, int] = {}
        for row in self.worst_first(np.flatnonzero(self.passing("missed").any(axis=0))):
            turn[row] = met[facts[row].head]
            met[facts[row].head] += 1
        return sorted(turn, key=lambda row: turn[row])

    def patterns(self, most: int = 20) -> list[tuple[str, int]]:
        """The commonest rows of ticks, each with how many facts show it in one run at least."""
        counted: Counter[str] = Counter()
        each = [np.unique(of_run, axis=0, return_inverse=True) for of_run in self.fate]
        in_row: list[set[str]] = [set() for _ in range(self.number.shape[1])]
        for kinds, place in each:
            written = [pattern_of(kind) for kind in kinds]
            for row, kind in enumerate(place.reshape(-1).tolist()):
                in_row[row].add(written[kind])
        for patterns in in_row:
            counted.update(patterns)
        counted.pop(FATES[ABSENT].glyph * len(self.variants), None)
        return counted.most_common(most)


def pattern_of(fates: Sequence[int]) -> str:
    """A row of fates as ticks: "✓✓✓✓✗✗✗✗"."""
    return "".join(FATES[int(fate)].glyph for fate in fates)


def _fates(pattern: str, count: int) -> NDArray[np.int8]:
    """The fates of a row of ticks; none fits what is no such row."""
    back = {fate.glyph: number for number, fate in FATES.items()}
    known = len(pattern) == count and all(glyph in back for glyph in pattern)
    return np.array([back[glyph] for glyph in pattern] if known else [99] * count, dtype=np.int8)


def fact_table(sides: Sequence[Side]) -> FactTable:
    """The facts of one or more runs beside each other."""
    everything = np.concatenate([side.board.sheet.identity for side in sides])
    identity, first = np.unique(everything, return_index=True)
    order = np.argsort(first)
    identity = identity[order]
    place = np.argsort(order)  # of each sorted identity, its row
    asked = {str(key) for side in sides for key in side.board.sheet.variants}
    variants = tuple(key for key in VARIANTS if key in asked)
    relations = tuple(sorted({str(name) for side in sides for name in side.board.sheet.relations}))
    number = np.full((len(sides), len(identity)), -1, dtype=np.int64)
    fates = np.full((2, len(sides), len(identity), len(variants)), ABSENT, dtype=np.int8)
    relation, positive = np.zeros(len(identity), dtype=np.int64), np.zeros(len(identity), dtype=bool)
    for index, side in enumerate(sides):
        sheet = side.board.sheet
        rows = place[np.searchsorted(identity[place], sheet.identity)]
        number[index, rows] = np.arange(len(rows))
        positive[rows] = sheet.positive
        relation[rows] = np.array([relations.index(str(name)) for name in sheet.relations], dtype=np.int64)[sheet.relation]
        columns = np.array([variants.index(str(key)) for key in sheet.variants], dtype=np.int64)[sheet.variant]
        once = sheet.draw == 0
        for fate, of_side in zip(fates, (side.board.fates(), side.board.fates(committed=True)), strict=True):
            fate[index, rows[sheet.fact[once]], columns[once]] = of_side[once]
    runs = tuple(side.run.run for side in sides)
    return FactTable(runs, variants, number, fates[0], fates[1], relation, relations, positive)


def facts_of_rows(store: Store, table: FactTable, rows: Sequence[int]) -> dict[int, Fact]:
    """The facts of these rows, each from the first run that asks it."""
    facts: dict[int, Fact] = {}
    for index, run in enumerate(table.runs):
        wanted = {int(table.number[index, row]): row for row in rows if row not in facts and table.number[index, row] >= 0}
        if wanted:
            for item in store.answers.asked(run, facts=list(wanted)):
                facts.setdefault(wanted[item.fact], item.statement.fact)
    return facts
