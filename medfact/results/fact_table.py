"""Facts of several runs side by side: the statements that each run answered right, and the facts that most models miss."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medfact.facts import Fact
from medfact.metrics.diagnosis import CHANCE, DIAGNOSES, MASTERED, MIXED, diagnose
from medfact.metrics.records import UNREADABLE
from medfact.models import FUNCTION, provider_of
from medfact.results.report import Side
from medfact.results.wording import ABSENT, FATES, count, counted, names_of_runs
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
        is_asked = self.fate != ABSENT
        return np.asarray(((self.fate == 1) | ~is_asked).all(axis=2) & is_asked.any(axis=2), dtype=bool)

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Facts that every run answered in every way that it asks. A failed call is no answer."""
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
        is_asked, right = self.fate != ABSENT, self.fate == 1
        if only in DIAGNOSED:
            return self._diagnosed(only)
        if only.startswith(WRONG):
            keys = [key == only.removeprefix(WRONG) for key in self.variants]
            return np.asarray(np.isin(self.fate, (0, UNREADABLE))[:, :, keys].any(axis=2), dtype=bool)
        if only not in OF_ONE:
            return np.asarray(is_asked.any(axis=2), dtype=bool)
        done: NDArray[np.bool_] = ((self.fate >= UNREADABLE) | ~is_asked).all(axis=2) & is_asked.any(axis=2)
        if only == "mastered":
            return np.asarray(done & self.mastered, dtype=bool)
        variants = {
            "missed": [False for _ in self.variants],
            "fragile": [VARIANTS[key].form == key and key in ("none", "S1") for key in self.variants],
            "denied": [not VARIANTS[key].negated for key in self.variants],
        }[only]
        fits: NDArray[np.bool_] = np.asarray(right | ~is_asked, dtype=bool)
        return np.asarray(done & ~self.mastered & fits[:, :, variants].all(axis=2), dtype=bool)

    def _diagnosed(self, name: str) -> NDArray[np.bool_]:
        passing = np.zeros(self.fate.shape[:2], dtype=bool)
        if self.variants == tuple(IMPLICATIONS):
            for run, row in zip(*np.nonzero((self.committed >= 0).all(axis=2)), strict=True):
                passing[run, row] = diagnose((self.committed[run, row] == 1).tolist(), bool(self.positive[row])) == name
        return passing

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
    is_pattern = len(pattern) == count and all(glyph in back for glyph in pattern)
    return np.array([back[glyph] for glyph in pattern] if is_pattern else [99] * count, dtype=np.int8)


def fact_table(sides: Sequence[Side]) -> FactTable:
    """The facts of one or more runs beside each other."""
    everything = np.concatenate([side.board.sheet.identity for side in sides])
    identity, first = np.unique(everything, return_index=True)
    order = np.argsort(first)
    identity = identity[order]
    place = np.argsort(order)  # of each sorted identity, its row
    keys = {str(key) for side in sides for key in side.board.sheet.variants}
    variants = tuple(key for key in VARIANTS if key in keys)
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


# ------------------------------------------------------------------------------------------------ over models

MOST_MISSED = 10
"""Facts that are listed."""

NOTHING_SHARED = "No fact was answered by all of them, so nothing can be said of any label."

NOT_ENOUGH = "It takes two models, baselines not counted, that were asked the same facts."


@dataclass(frozen=True)
class MissedFact:
    """A fact that models miss. missed: models that do not have all its answers right, of `models`. right: of `answers`
    answers over all models. contradicted: in how many statements all models say the opposite of its label; 0 if not in all.
    truth: of a false fact, the tail of the true fact that it was made from, if that was asked too.
    """

    fact: Fact
    missed: int
    models: int
    right: int
    answers: int
    contradicted: int
    truth: str | None

    def describe(self) -> str:
        """Models that miss it, right answers, a contradicted label, and the true fact beside a false one."""
        counts = f"missed by {self.missed} of {counted(self.models, 'model')}, {self.right} of {self.answers} answers right"
        against = f"; {against_in_words(self.models, self.contradicted)}" if self.contradicted else ""
        return f"{counts}{against}{f'; true: {self.truth}' if self.truth else ''}"


@dataclass(frozen=True)
class OverModels:
    """models: counted models, by the names of their runs; left_out: the other runs, each with the reason. facts: answered by
    all models; whole: those that all answered in every way. mastered_by_none: of these, facts that every model misses.
    contradicted: of these, facts where all models say the opposite of the label in every way. hardest: facts by the share of
    models that miss them, largest first.
    """

    models: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    facts: int = 0
    whole: int = 0
    mastered_by_none: int = 0
    contradicted: int = 0
    hardest: tuple[MissedFact, ...] = ()

    def record(self) -> dict[str, Any]:
        """As JSON: the key `over_models` of `compare RUN RUN --json`."""
        names = ("fact_id", "head", "relation", "tail", "positive")
        return {
            "models": list(self.models),
            "left_out": [{"run": name, "reason": reason} for name, reason in self.left_out],
            "facts": self.facts,
            "answered_in_every_way": self.whole,
            "mastered_by_none": self.mastered_by_none,
            "contradicted_by_all": self.contradicted,
            "hardest": [
                {name: getattr(row.fact, name) for name in names}
                | {"missed": row.missed, "models": row.models, "right": row.right, "of": row.answers}
                for row in self.hardest
            ],
        }

    def about_models(self) -> list[str]:
        """Models and facts that count, and runs that do not."""
        lines = [f"{counted(len(self.models), 'model')} answered the same {counted(self.facts, 'fact')}."]
        return lines + [f"{name} does not count here: {reason}." for name, reason in self.left_out]

    def about_hardest(self) -> str:
        """Facts that no model masters, facts whose labels all contradict, and the order of the list."""
        if not self.whole:
            return "No fact was answered in every way by all models."
        whole = f"{counted(self.whole, 'fact')} answered in every way"
        none = f"No model has all answers right on {count(self.mastered_by_none)} of {whole}."
        order = "Listed by the share of models that miss a fact, then by right answers."
        if not self.contradicted:
            return f"{none} {order}"
        return (
            f"{none} On {counted(self.contradicted, 'fact')} all models say the opposite of the label, in every way of asking. "
            "Perhaps they learned the same mistake or share a habit, such as “true unless denied”; perhaps the label is wrong: "
            f"judge it before you blame the models. {order}"
        )


def against_in_words(models: int, ways: int) -> str:
    """Sentence part: so many models contradict a label in so many ways of asking."""
    every = {2: "both ways", 8: "all eight ways"}.get(ways, f"all {ways} ways")
    return f"{'both' if models == 2 else f'all {models}'} models say the opposite of the label in {every}"


def _count_models_once(sides: Sequence[Side]) -> tuple[dict[str, Side], list[tuple[str, str]]]:
    """Name → the first run of each model that is no baseline; and the other runs, each with the reason."""
    counted_runs: dict[str, Side] = {}
    left_out, seen = [], set()
    for side, name in zip(sides, names_of_runs([side.run for side in sides]), strict=True):
        run = side.run
        # functions of the same source may depend on different things: each run is a model of its own
        model = (run.model, run.run if run.model.startswith(FUNCTION) else run.model_revision)
        if provider_of(run.model).is_rule:
            left_out.append((name, "a baseline knows no medicine"))
        elif model in seen:
            left_out.append((name, "its model is here already, and counts once"))
        else:
            counted_runs[name] = side
        seen.add(model)
    return counted_runs, left_out


def _true_rows(first: Side, table: FactTable, rows: Sequence[int]) -> dict[int, int]:
    """Row of a false fact → the row of the true fact that it was made from, where the first run asks both."""
    pair, number = first.board.sheet.pair, table.number[0]
    true = {int(pair[number[row]]): int(row) for row in np.flatnonzero(table.positive & (number >= 0))}
    return {row: true[int(pair[number[row]])] for row in rows if not table.positive[row] and int(pair[number[row]]) in true}


def over_models(sides: Sequence[Side], store: Store) -> OverModels:
    """Facts that the models of several runs miss. A model counts once, with its first run, and a baseline not at all: it
    knows no medicine. Of several draws of demonstrations the first counts.
    """
    chosen, left_out = _count_models_once(sides)
    if not chosen:
        return OverModels(left_out=tuple(left_out))
    table = fact_table([*chosen.values()])
    is_asked, is_scored = table.fate != ABSENT, table.fate >= UNREADABLE
    whole = table.answered & is_asked.any(axis=2).all(axis=0)
    missed = (~table.mastered).sum(axis=0)
    negated = np.array([VARIANTS[key].negated for key in table.variants], dtype=bool)
    # without both affirmed and denied statements, saying the opposite throughout may be mere habit
    balanced = (is_asked[:, :, negated].any(axis=2) & is_asked[:, :, ~negated].any(axis=2)).all(axis=0)
    contradicted = whole & balanced & ((table.fate == 0) | ~is_asked).all(axis=(0, 2)) & (len(chosen) > 1)
    right, answers = (table.fate == 1).sum(axis=(0, 2)), is_scored.sum(axis=(0, 2))
    order = np.lexsort((right / np.maximum(answers, 1), -missed))
    rows = [int(row) for row in order if whole[row] and missed[row]][:MOST_MISSED] if len(chosen) > 1 else []
    true_rows = _true_rows(next(iter(chosen.values())), table, rows)
    facts = facts_of_rows(store, table, list({*rows, *true_rows.values()}))
    ways = is_asked[0].sum(axis=1)
    return OverModels(
        models=tuple(chosen),
        left_out=tuple(left_out),
        facts=int(is_scored.any(axis=2).all(axis=0).sum()),
        whole=int(whole.sum()),
        mastered_by_none=int((whole & (missed == len(chosen))).sum()),
        contradicted=int(contradicted.sum()),
        hardest=tuple(
            MissedFact(
                fact=facts[row],
                missed=int(missed[row]),
                models=len(chosen),
                right=int(right[row]),
                answers=int(answers[row]),
                contradicted=int(ways[row]) if contradicted[row] else 0,
                truth=facts[true_rows[row]].tail if row in true_rows else None,
            )
            for row in rows
        ),
    )
