"""Facts of several runs side by side, pairs of facts of one run, and the facts that most models miss."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count as count_up
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medfact.facts import Fact
from medfact.metrics.clusters import Bools
from medfact.metrics.diagnosis import CHANCE, DIAGNOSES, MASTERED, MIXED, diagnose
from medfact.metrics.records import UNREADABLE
from medfact.models import FUNCTION, provider_of
from medfact.results.report import Side
from medfact.results.wording import ABSENT, FATES, count, counted, names_of_runs
from medfact.runs.board import Board
from medfact.statements import IMPLICATIONS, VARIANTS
from medfact.store import Store
from medfact.words import say

# Filters of the facts of several runs, of the facts of one run, and by diagnosis: name → label
SHOWN = {
    "all": "all facts",
    "differ": "models disagree",
    "none": "mastered by none",
    "every": "mastered by all",
    "one": "mastered by one only",
}
OF_ONE = {
    "missed": "not mastered",
    "mastered": "mastered",
    "fragile": "right when asked plainly, but not mastered",
    "denied": "wrong only when denied",
}
DIAGNOSED = {name: meaning for name, meaning in DIAGNOSES.items() if name not in (MASTERED, CHANCE, MIXED)}
WRONG = "wrong "  # prefix of a variant: facts answered wrong in it

Fates = NDArray[np.int8]  # codes of `wording.FATES`


def _fates_by_fact(board: Board, variants: Sequence[str]) -> Fates:
    """Outcomes of a run's first draw of shots, shape (2, facts, variants): first of its answers, then of its committed ones."""
    sheet, first = board.sheet, board.sheet.draw == 0
    fates = np.full((2, len(sheet.positive), len(variants)), ABSENT, dtype=np.int8)
    columns = np.array([variants.index(str(key)) for key in sheet.variants], dtype=np.int64)[sheet.variant]
    for side, committed in enumerate((False, True)):
        fates[side, sheet.fact[first], columns[first]] = board.fates(committed=committed)[first]
    return fates


def _variants_of(boards: Sequence[Board]) -> tuple[str, ...]:
    """Variants that any of these runs asks, in order."""
    keys = {str(key) for board in boards for key in board.sheet.variants}
    return tuple(key for key in VARIANTS if key in keys)


def _diagnosis(variants: tuple[str, ...], committed: Sequence[int], positive: bool) -> str | None:
    """Diagnosis of a fact from its committed outcomes.

    None without readable answers to all eight variants of PretextTrans.
    """
    is_whole = variants == tuple(IMPLICATIONS) and min(committed) >= 0
    return diagnose([fate == 1 for fate in committed], positive) if is_whole else None


PLAIN = ("none", "S1")  # variants that ask plainly
NEGATED = [key for key, variant in VARIANTS.items() if variant.negated]


# ------------------------------------------------------------------------------------------------ pairs of one run


@dataclass(frozen=True)
class Pairs:
    """The pairs of a run: each true fact with its false partners."""

    variants: tuple[str, ...]
    members: tuple[tuple[int, ...], ...]  # numbers of each pair's facts, the true one first
    fate: Fates  # (facts, variants)
    committed: Fates  # outcomes by the answers that replies commit to; diagnoses use these
    positive: Bools  # by fact

    def diagnosis(self, number: int) -> str | None:
        """Diagnosis of a fact by its number; None unless all eight variants were answered readably."""
        return _diagnosis(self.variants, self.committed[number].tolist(), bool(self.positive[number]))

    def missed(self, *, plainly_right: bool = False) -> list[int]:
        """Completely answered pairs with wrong answers, most first. plainly_right: only pairs without a wrong plain answer."""
        wrong = (self.fate != 1) & (self.fate != ABSENT)
        excluded = ((self.fate < UNREADABLE) & (self.fate != ABSENT)).any(axis=1)
        if plainly_right:
            excluded |= wrong[:, np.isin(self.variants, PLAIN)].any(axis=1)
        counts = [0 if excluded[list(members)].any() else int(wrong[list(members)].sum()) for members in self.members]
        return sorted(filter(counts.__getitem__, range(len(counts))), key=lambda pair: -counts[pair])


def pairs_of_run(board: Board) -> Pairs:
    """Returns the pairs of a run."""
    positive, variants = np.asarray(board.sheet.positive, dtype=bool), _variants_of([board])
    members: dict[int, list[int]] = {}
    for number, pair in enumerate(board.sheet.pair.tolist()):
        members.setdefault(pair, []).append(number)
    true_first = tuple(tuple(sorted(group, key=lambda number: not positive[number])) for group in members.values())
    fate, committed = _fates_by_fact(board, variants)
    return Pairs(variants, true_first, fate, committed, positive)


# ------------------------------------------------------------------------------------------------ facts of several runs


@dataclass(frozen=True)
class FactTable:
    """The facts of one or more runs, one row each, in the order of the first run that has them."""

    runs: tuple[str, ...]
    variants: tuple[str, ...]
    number: NDArray[np.int64]  # (runs, facts): number of the fact in the run; −1 if the run lacks it
    fate: Fates  # (runs, facts, variants)
    committed: Fates  # outcomes by the answers that replies commit to; diagnoses use these
    positive: Bools  # by fact

    @property
    def mastered(self) -> Bools:
        """Shape (runs, facts): True if all statements that the run asks are right."""
        return np.asarray(np.isin(self.fate, (1, ABSENT)).all(axis=2) & (self.fate == 1).any(axis=2), dtype=bool)

    @property
    def answered(self) -> Bools:
        """By fact: True if each run answered all statements that it asks. A failed call is no answer."""
        return np.asarray(((self.fate >= UNREADABLE) | (self.fate == ABSENT)).all(axis=(0, 2)), dtype=bool)

    def chosen(self, name: str = "all", pattern: str | None = None) -> NDArray[np.int64]:
        """Rows that pass filter `name` of SHOWN, and that have a pattern (see `patterns`) in a run."""
        rows = (self.fate != self.fate[:1]).any(axis=(0, 2)) if name == "differ" else np.ones(self.number.shape[1], dtype=bool)
        masters = {"none": 0, "every": len(self.runs), "one": 1}
        if name in masters:
            rows &= self.answered & (self.mastered.sum(axis=0) == masters[name])
        if pattern is not None:
            names, kind = self._patterns
            rows &= (kind == (names.index(pattern) if pattern in names else -1)).any(axis=0)
        return np.flatnonzero(rows)

    def passing(self, name: str) -> Bools:
        """Shape (runs, facts): True if the fact passes a filter of OF_ONE or DIAGNOSED, or WRONG with a variant.

        An unknown filter passes all facts that the run asks.
        """
        is_asked = self.fate != ABSENT
        passing = is_asked.any(axis=2)
        if name in DIAGNOSED:
            for run, facts in enumerate(self.committed.tolist()):
                diagnoses = map(_diagnosis, repeat(self.variants), facts, self.positive.tolist())
                passing[run] = [diagnosis == name for diagnosis in diagnoses]
        elif name.startswith(WRONG):
            columns = [key == name.removeprefix(WRONG) for key in self.variants]
            passing = np.isin(self.fate[:, :, columns], (0, UNREADABLE)).any(axis=2)
        elif name in OF_ONE:
            passing &= ((self.fate >= UNREADABLE) | ~is_asked).all(axis=2) & (self.mastered == (name == "mastered"))
            right_in = {"fragile": np.isin(self.variants, PLAIN), "denied": ~np.isin(self.variants, NEGATED)}
            if name in right_in:
                passing &= ((self.fate == 1) | ~is_asked)[:, :, right_in[name]].all(axis=2)
        return np.asarray(passing, dtype=bool)

    def worst_first(self, rows: NDArray[np.int64]) -> list[int]:
        """Sorts rows by the number of wrong answers of all runs, most first; rows without answers last."""
        wrong, answered = (np.isin(self.fate, codes).sum(axis=(0, 2)) for codes in ((0, UNREADABLE), (0, 1, UNREADABLE)))
        return sorted(rows.tolist(), key=lambda row: (not answered[row], -int(wrong[row])))

    def worst(self, facts: Sequence[Fact]) -> list[int]:
        """Rows that some run does not master: most wrong answers first, and each condition before a second row of any.

        facts: of all rows.
        """
        rows = self.worst_first(np.flatnonzero(self.passing("missed").any(axis=0)))
        earlier = defaultdict[str, Iterator[int]](count_up)
        rank = {row: next(earlier[facts[row].head]) for row in rows}
        return sorted(rows, key=lambda row: rank[row])

    def patterns(self, most: int = 20) -> list[tuple[str, int]]:
        """The most frequent patterns of outcomes, such as "✓✓✓✓✗✗✗✗", each with the number of facts that have it in a run."""
        names, kind = self._patterns
        not_asked = FATES[ABSENT].glyph * len(self.variants)
        counts = {name: int((kind == number).any(axis=0).sum()) for number, name in enumerate(names) if name != not_asked}
        return Counter(counts).most_common(most)

    @cached_property
    def _patterns(self) -> tuple[list[str], NDArray[np.int64]]:
        """Patterns in the order of the facts, and the index of each fact's pattern, shape (runs, facts)."""
        fates = self.fate.reshape(-1, len(self.variants))
        kinds, first, kind = np.unique(fates, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        names = ["".join(FATES[fate].glyph for fate in fates) for fates in kinds[order].tolist()]
        return names, np.argsort(order)[kind.reshape(self.number.shape)]


def fact_table(sides: Sequence[Side]) -> FactTable:
    """Returns the facts of one or more runs side by side."""
    boards = [side.board for side in sides]
    identity, first = np.unique(np.concatenate([board.sheet.identity for board in boards]), return_index=True)
    row_of = np.argsort(np.argsort(first))  # by identity, sorted
    variants = _variants_of(boards)
    number = np.full((len(sides), len(identity)), -1, dtype=np.int64)
    fates = np.full((2, len(sides), len(identity), len(variants)), ABSENT, dtype=np.int8)
    positive = np.zeros(len(identity), dtype=bool)
    for run, board in enumerate(boards):
        rows = row_of[np.searchsorted(identity, board.sheet.identity)]
        number[run, rows] = np.arange(len(rows))
        positive[rows] = board.sheet.positive
        fates[:, run, rows] = _fates_by_fact(board, variants)
    return FactTable(tuple(side.run.run for side in sides), variants, number, fates[0], fates[1], positive)


def facts_of_rows(store: Store, table: FactTable, rows: Sequence[int]) -> dict[int, Fact]:
    """Row → fact, from the first run that asks it."""
    facts: dict[int, Fact] = {}
    for run, numbers in zip(table.runs, table.number.tolist(), strict=True):
        wanted = {numbers[row]: row for row in rows if row not in facts and numbers[row] >= 0}
        items = store.answers.asked(run, facts=list(wanted)) if wanted else ()
        facts |= {wanted[item.fact]: item.statement.fact for item in items}
    return facts


# ------------------------------------------------------------------------------------------------ over models

MAX_HARDEST = 10  # facts in the list

NOTHING_SHARED, NOT_ENOUGH = say("over_models.nothing_shared"), say("over_models.not_enough")


@dataclass(frozen=True)
class MissedFact:
    """A fact that models miss."""

    fact: Fact
    missed: int  # models that do not have all its answers right
    models: int
    right: int  # of `answers`, over all models
    answers: int
    contradicted: int  # statements whose label all models contradict, if these are all of its statements; else 0
    truth: str | None  # tail of the true fact that a false fact was made from, if the run asks both

    def describe(self) -> str:
        """Models that miss it, right answers, a contradicted label, and the true fact beside a false one."""
        models = counted(self.models, "model")
        missed = say("over_models.missed", missed=self.missed, models=models, right=self.right, answers=self.answers)
        against = describe_contradiction(self.models, self.contradicted) if self.contradicted else ""
        return "; ".join(filter(None, [missed, against, say("over_models.truth", tail=self.truth) if self.truth else ""]))


@dataclass(frozen=True)
class OverModels:
    """Facts that the models of several runs miss."""

    models: tuple[str, ...] = ()  # names of the counted runs, one per model
    left_out: tuple[tuple[str, str], ...] = ()  # (name, reason) of the other runs
    facts: int = 0  # that all models answered
    whole: int = 0  # that all models answered in every way
    mastered_by_none: int = 0  # of `whole`: no model has all answers right
    contradicted: int = 0  # of `whole`: all models contradict the label in every way
    hardest: tuple[MissedFact, ...] = ()  # by the share of models that miss them, largest first

    def record(self) -> dict[str, Any]:
        """As JSON: the key `over_models` of `compare RUN RUN --json`."""
        return {
            "models": list(self.models),
            "left_out": [{"run": name, "reason": reason} for name, reason in self.left_out],
            "facts": self.facts,
            "answered_in_every_way": self.whole,
            "mastered_by_none": self.mastered_by_none,
            "contradicted_by_all": self.contradicted,
            "hardest": [
                {name: getattr(row.fact, name) for name in ("fact_id", "head", "relation", "tail", "positive")}
                | {"missed": row.missed, "models": row.models, "right": row.right, "of": row.answers}
                for row in self.hardest
            ],
        }

    def about_models(self) -> list[str]:
        """Models and facts that count, and runs that do not."""
        models, facts = counted(len(self.models), "model"), counted(self.facts, "fact")
        left_out = [say("over_models.left_out", run=name, reason=reason) for name, reason in self.left_out]
        return [say("over_models.models", models=models, facts=facts), *left_out]

    def about_hardest(self) -> str:
        """Facts that no model masters, facts whose labels all contradict, and the order of the list."""
        if not self.whole:
            return say("over_models.none_whole")
        by_none = say("over_models.mastered_by_none", facts=count(self.mastered_by_none), whole=counted(self.whole, "fact"))
        contradicted = say("over_models.contradicted", facts=counted(self.contradicted, "fact")) if self.contradicted else ""
        return " ".join(filter(None, [by_none, contradicted, say("over_models.order")]))


def describe_contradiction(models: int, ways: int) -> str:
    """Sentence part: all models contradict a label in all ways of asking."""
    every = {2: "both ways", 8: "all eight ways"}.get(ways, f"all {ways} ways")
    return say("over_models.against", models="both" if models == 2 else f"all {models}", ways=every)


def _count_models_once(sides: Sequence[Side]) -> tuple[dict[str, Side], list[tuple[str, str]]]:
    """Name → the first run of each model that is no baseline; and (name, reason) of the other runs."""
    counted_runs: dict[str, Side] = {}
    left_out, seen = [], set()
    for side, name in zip(sides, names_of_runs([side.run for side in sides]), strict=True):
        run = side.run
        # functions of the same source may depend on different things: each run is a model of its own
        model = (run.model, run.run if run.model.startswith(FUNCTION) else run.model_revision)
        is_rule = provider_of(run.model).is_rule
        if is_rule or model in seen:
            left_out.append((name, say("over_models.baseline" if is_rule else "over_models.repeated")))
        else:
            counted_runs[name] = side
        seen.add(model)
    return counted_runs, left_out


def _true_rows(first: Side, table: FactTable, rows: Sequence[int]) -> dict[int, int]:
    """Row of a false fact → row of the true fact that it was made from, if the first run asks both."""
    pairs = first.board.sheet.pair[table.number[0]].tolist()
    true = {pairs[row]: row for row in np.flatnonzero(table.positive & (table.number[0] >= 0)).tolist()}
    return {row: true[pairs[row]] for row in rows if not table.positive[row] and pairs[row] in true}


def over_models(sides: Sequence[Side], store: Store) -> OverModels:
    """Finds facts that the models of several runs miss, from the first draw of shots.

    A model counts once, with its first run. A baseline does not count: it knows no medicine.
    """
    chosen, left_out = _count_models_once(sides)
    if not chosen:
        return OverModels(left_out=tuple(left_out))
    table = fact_table([*chosen.values()])
    is_asked, is_scored = table.fate != ABSENT, table.fate >= UNREADABLE
    whole = table.answered & is_asked.any(axis=2).all(axis=0)
    missed = (~table.mastered).sum(axis=0)
    negated = np.isin(table.variants, NEGATED)
    # without both affirmed and denied statements, saying the opposite throughout may be mere habit
    balanced = (is_asked[:, :, negated].any(axis=2) & is_asked[:, :, ~negated].any(axis=2)).all(axis=0)
    contradicted = whole & balanced & ((table.fate == 0) | ~is_asked).all(axis=(0, 2)) & (len(chosen) > 1)
    right, answers = (table.fate == 1).sum(axis=(0, 2)), is_scored.sum(axis=(0, 2))
    order = np.lexsort((right / np.maximum(answers, 1), -missed))
    rows = [int(row) for row in order if whole[row] and missed[row]][:MAX_HARDEST] if len(chosen) > 1 else []
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
