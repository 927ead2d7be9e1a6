"""Runs beside each other: what they share, in what they differ, paired differences, and what each said to each fact."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from medfact.errors import Mistake
from medfact.metrics import FAILED, PENDING, UNREADABLE
from medfact.metrics.paired import paired
from medfact.metrics.uncertainty import Codes, holm
from medfact.results.live import Reports
from medfact.results.report import Board, board_of, in_words
from medfact.runs.plan import protocol_of, question_of
from medfact.spec import PROTOCOLS
from medfact.statements import VARIANTS
from medfact.store import Run, Store

FEWEST, MOST = 2, 8
"""So many runs are compared."""

SIGNIFICANT = 0.05
"""A difference is shown where p, adjusted after Holm, is below this."""

METRICS = {
    "average_accuracy": "right answers (average accuracy)",
    "joint_accuracy": "all statements right (joint accuracy)",
    "pair_joint_accuracy": "all right, false partner too (pair joint accuracy)",
}


@dataclass(frozen=True)
class Side:
    """One of the runs that are compared: its record and its rows."""

    run: Run
    board: Board

    @property
    def identity(self) -> Codes:
        """Of each statement, a number that names its fact in every run."""
        return self.board.sheet.identity[self.board.sheet.fact]


def sides_of(store: Store, runs: Sequence[str]) -> list[Side]:
    """The runs of these ids, or beginnings of ids, as they stand. Raises Mistake and UnknownName."""
    return checked([Side(record, board_of(store, record.run)) for record in map(store.run, runs)])


def checked(sides: list[Side]) -> list[Side]:
    """The same sides. Raises Mistake where they are too few or too many, or one stands twice."""
    if not FEWEST <= len(sides) <= MOST:
        raise Mistake(f"{len(sides)} runs are given.", f"Compare {FEWEST} to {MOST}.")
    if len({side.run.run for side in sides}) < len(sides):
        raise Mistake("A run is given twice.", "Compare different runs.")
    return sides


def comparison(sides: Sequence[Side]) -> dict[str, Any]:
    """What runs share, in what they differ, and their paired differences, ready for JSON.

    facts: how many each has (`of`), and how many they share with all their statements' wording left aside (`shared`).
    differs: what is not the same in all, by what it is called; same: what is.
    pairs: one entry per pair of runs and accuracy; p_holm is adjusted over all pairs of runs, for each accuracy.
    """
    same, differs = _settings(sides)
    return {
        "runs": [{"run": side.run.run, "model": side.run.model, "name": side.run.name} for side in sides],
        "facts": {"of": [side.run.facts for side in sides], "shared": len(_shared(sides))},
        "same": same,
        "differs": differs,
        "pairs": pairs_of(sides),
    }


def _shared(sides: Sequence[Side]) -> Codes:
    shared = sides[0].board.sheet.identity
    for side in sides[1:]:
        shared = np.intersect1d(shared, side.board.sheet.identity)
    return shared


def pairs_of(sides: Sequence[Side]) -> list[dict[str, Any]]:
    """Every pair of runs in each accuracy, as a − b over what both have answered."""
    records = [(side, side.board.records()) for side in sides]
    made = [
        {"a": a.run.run, "b": b.run.run, "metric": metric, **found}
        for (a, ours), (b, theirs) in combinations(records, 2)
        for metric, found in paired(ours, theirs, a.identity, b.identity).items()
    ]
    for metric in METRICS:
        family = [pair for pair in made if pair["metric"] == metric]
        for pair, adjusted in zip(family, holm([pair["p"] for pair in family]), strict=True):
            pair["p_holm"] = adjusted
    return made


def _settings(sides: Sequence[Side]) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """What is the same in all runs, and what differs, under the names that a person reads."""
    all_ = [_settings_of(side.run) for side in sides]
    same, differs = {}, {}
    for name in all_[0]:
        values = [settings[name] for settings in all_]
        if all(value == values[0] for value in values):
            same[name] = values[0][0]
        else:
            differs[name] = _told_apart(values)
    return same, differs


def _settings_of(run: Run) -> dict[str, tuple[Any, str]]:
    """Setting → what a person reads of it, and what tells it from another."""
    spec, protocol = run.spec, protocol_of(run.spec)
    negatives = protocol.negatives if spec.negatives is None else spec.negatives
    return {
        "data": (run.dataset, run.dataset_fingerprint),
        "method": (PROTOCOLS[spec.protocol].title, spec.protocol),
        "sentences (pool)": (run.pool, f"{run.pool} {sorted((k, sorted(v.items())) for k, v in run.pool_text.items())}"),
        "question": (question_of(spec), question_of(spec)),
        "reading of replies": (protocol.reading, protocol.reading),
        "demonstrations": (run.shots, str(run.shots)),
        "draws of demonstrations": (spec.shot_draws, str(spec.shot_draws)),
        "false partners a fact": (negatives, str(negatives)),
        "retrieval": (spec.retrieval, spec.retrieval),
        "seed": (spec.seed, str(spec.seed)),
        "seed of the demonstrations": (
            spec.seed if spec.shot_seed is None else spec.shot_seed,
            str((spec.shot_seed, spec.seed, spec.demonstrations)),
        ),
    }


def _told_apart(values: Sequence[tuple[Any, str]]) -> list[Any]:
    """What a person reads of settings that differ; where the names are the same, which of them hold the same."""
    names = [value for value, _ in values]
    if len(set(names)) > 1:
        return names
    contents = list(dict.fromkeys(content for _, content in values))
    return [f"{name} (contents {contents.index(content) + 1})" for name, content in values]


# ------------------------------------------------------------------------------------------------ in words


def verdict(pair: dict[str, Any], names: dict[str, str]) -> str:
    """What a pair shows, in a sentence. names: run → what to call it."""
    a, b = names[pair["a"]], names[pair["b"]]
    if pair["difference"] is None:
        return f"{a} and {b} have nothing in common that both answered."
    if (least := pair.get("p_least") or 0) >= SIGNIFICANT:
        return f"No difference can be shown between {a} and {b}: with so few heads p cannot fall below {least:.4f}."
    if pair["p_holm"] is None or pair["p_holm"] >= SIGNIFICANT:
        return f"No difference shown between {a} and {b}."
    better, other = (a, b) if pair["difference"] > 0 else (b, a)
    return f"{better} has more right than {other}."


def difference_in_words(pair: dict[str, Any]) -> str:
    """A difference in points with its interval: "+3.2 points (+1.0 to +5.4)"; "no value" where there is none."""
    if pair["difference"] is None:
        return "no value"
    value = f"{100 * pair['difference']:+.1f} points"
    if pair["low"] is None:
        return f"{value} (no interval)"
    return f"{value} ({100 * pair['low']:+.1f} to {100 * pair['high']:+.1f})"


def as_text(made: dict[str, Any], reports: Sequence[dict[str, Any]]) -> str:
    """A comparison for a person at a terminal."""
    names = {run["run"]: f"{run['run'][:8]} {run['name'] or run['model']}" for run in made["runs"]}
    lines = [f"{made['facts']['shared']} facts are in all runs; they have {', '.join(map(str, made['facts']['of']))}."]
    lines += [f"DIFFERENT {what}: {', '.join(map(str, values))}" for what, values in made["differs"].items()]
    lines += [f"the same {what}: {value}" for what, value in made["same"].items()]
    for metric, title in METRICS.items():
        lines += ["", title]
        lines += [f"  {names[report['run']]}: {in_words(report[metric])} of {report[metric]['n']}" for report in reports]
        for pair in made["pairs"]:
            if pair["metric"] == metric:
                lines.append(f"  {_line(pair)} {verdict(pair, names)}")
    lines += ["", "Differences are paired, of what both answered; intervals and p by head and by tail, p adjusted after Holm."]
    return "\n".join(lines)


def _line(pair: dict[str, Any]) -> str:
    p = "" if pair["p_holm"] is None else f", p = {pair['p_holm']:.4f}"
    alone = f"{pair['only_a']} right by the first alone, {pair['only_b']} by the second alone"
    return f"{difference_in_words(pair)}{p}; {alone}, of {pair['n']}."


# ------------------------------------------------------------------------------------------------ fact by fact

ABSENT = -4
"""A fate: the run does not ask this statement. The others: 1 right, 0 wrong, UNREADABLE, FAILED, PENDING."""

GLYPHS = {1: "✓", 0: "✗", UNREADABLE: "?", FAILED: "!", PENDING: "·", ABSENT: " "}

SHOWN = {
    "all": "all facts",
    "differ": "only where they differ",
    "none": "mastered by none",
    "every": "mastered by all",
}


@dataclass(frozen=True)
class FactTable:
    """The facts of several runs, one row each, in the order of the first run that has them.

    number: runs × facts, the number of the fact in the run, −1 where it has none. fate: runs × facts × variants, of the first
    draw of demonstrations. relation: of each fact, a place in `relations`. positive: whether the fact holds.
    """

    runs: tuple[str, ...]
    variants: tuple[str, ...]
    number: NDArray[np.int64]
    fate: NDArray[np.int8]
    relation: NDArray[np.int64]
    relations: tuple[str, ...]
    positive: NDArray[np.bool_]

    @property
    def mastered(self) -> NDArray[np.bool_]:
        """Runs × facts: whether every statement that the run asks is right."""
        asked = self.fate != ABSENT
        return np.asarray(((self.fate == 1) | ~asked).all(axis=2) & asked.any(axis=2), dtype=bool)

    def chosen(self, shown: str = "all", relation: str | None = None, pattern: str | None = None) -> NDArray[np.int64]:
        """The rows of facts that are wanted: `shown` is one of SHOWN, pattern one of `patterns`."""
        rows = np.ones(self.number.shape[1], dtype=bool)
        if shown == "differ":
            rows &= (self.fate != self.fate[:1]).any(axis=(0, 2))
        elif shown in {"none", "every"}:
            mastered = self.mastered
            rows &= ~mastered.any(axis=0) if shown == "none" else mastered.all(axis=0)
        if relation is not None:
            rows &= self.relation == (self.relations.index(relation) if relation in self.relations else -1)
        if pattern is not None:
            rows &= (self.fate == _fates(pattern, len(self.variants))).all(axis=2).any(axis=0)
        return np.flatnonzero(rows)

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
        counted.pop(" " * len(self.variants), None)
        return counted.most_common(most)


def pattern_of(fates: Sequence[int]) -> str:
    """A row of fates as ticks: "✓✓✓✓✗✗✗✗"."""
    return "".join(GLYPHS[int(fate)] for fate in fates)


def _fates(pattern: str, count: int) -> NDArray[np.int8]:
    """The fates of a row of ticks; none fits what is no such row."""
    back = {glyph: fate for fate, glyph in GLYPHS.items()}
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
    fate = np.full((len(sides), len(identity), len(variants)), ABSENT, dtype=np.int8)
    relation, positive = np.zeros(len(identity), dtype=np.int64), np.zeros(len(identity), dtype=bool)
    for index, side in enumerate(sides):
        sheet = side.board.sheet
        rows = place[np.searchsorted(identity[place], sheet.identity)]
        number[index, rows] = np.arange(len(rows))
        positive[rows] = sheet.positive
        relation[rows] = np.array([relations.index(str(name)) for name in sheet.relations], dtype=np.int64)[sheet.relation]
        columns = np.array([variants.index(str(key)) for key in sheet.variants], dtype=np.int64)[sheet.variant]
        once = sheet.draw == 0
        fate[index, rows[sheet.fact[once]], columns[once]] = _fate(side.board)[once]
    runs = tuple(side.run.run for side in sides)
    return FactTable(runs, variants, number, fate, relation, relations, positive)


def _fate(board: Board) -> NDArray[np.int8]:
    records = board.records()
    answered = records.answer >= 0
    return np.where(answered, (records.answer == records.label).astype(np.int8), records.answer)


def names_of(runs: Sequence[Run]) -> Iterator[str]:
    """What to call runs beside each other: by name, else by model; with the beginning of the id where two are alike."""
    called = [run.name or run.model for run in runs]
    for run, name in zip(runs, called, strict=True):
        yield name if called.count(name) == 1 else f"{name} ({run.run[:8]})"


class Comparisons:
    """Comparisons and fact tables, made once per version of their runs, and kept for those last looked at."""

    KEPT = 8

    def __init__(self, store: Store, reports: Reports) -> None:
        self._store, self._reports = store, reports
        self._kept: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
        self._lock = threading.Lock()

    def made(self, runs: Sequence[str]) -> dict[str, Any]:
        """As `comparison`. Raises Mistake and UnknownName."""
        return cast(dict[str, Any], self._once(comparison, runs))

    def table(self, runs: Sequence[str]) -> FactTable:
        """As `fact_table`."""
        return cast(FactTable, self._once(fact_table, runs))

    def _once(self, make: Callable[[Sequence[Side]], Any], runs: Sequence[str]) -> Any:
        key = (make, *((run, self._reports.version(run)) for run in runs))
        with self._lock:
            if key not in self._kept:
                self._kept[key] = make(checked([Side(self._store.run(run), self._reports.board(run)) for run in runs]))
                while len(self._kept) > self.KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return self._kept[key]
