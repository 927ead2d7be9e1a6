"""A run's records as arrays, and its report as one record."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from medfact.costs import bill_in_words, bill_of
from medfact.jobs import Jobs, Snapshot
from medfact.metrics import FAILED, PENDING, UNREADABLE, Records, codes, measure
from medfact.planning import question_of
from medfact.spec import method_label
from medfact.statements import VARIANTS
from medfact.store import Answer, Asked, Run, Store
from medfact.uncertainty import Floats

FIRST_TOKEN = "first token"
"""Where P(True) of a model on this machine comes from: all that it could say next, or there where it says its answer."""


def records_of(asked: Sequence[Asked]) -> Records:
    """A run's statements and answers as arrays, one row per statement."""
    facts = [item.statement.fact for item in asked]
    return Records(
        fact=codes([f"{item.statement.fact.fact_id} {item.draw}" for item in asked]),
        pair=codes([f"{item.statement.fact.negative_of or item.statement.fact.fact_id} {item.draw}" for item in asked]),
        head=codes([fact.head for fact in facts]),
        tail=codes([fact.tail or "" for fact in facts]),
        draw=np.array([item.draw for item in asked], dtype=np.int64),
        variant=np.array([item.statement.variant for item in asked], dtype=str),
        relation=np.array([fact.relation for fact in facts], dtype=str),
        tail_type=np.array([fact.tail_type or "" for fact in facts], dtype=str),
        positive=np.array([fact.positive for fact in facts], dtype=bool),
        label=np.array([item.statement.label for item in asked], dtype=bool),
        answer=np.array([answer_code(item.answer) for item in asked], dtype=np.int8),
        p_true=_numbers([None if item.answer is None else item.answer.p_true for item in asked]),
        p_mass=_numbers([None if item.answer is None else item.answer.p_mass for item in asked]),
    )


class Board:
    """A run's records that move as answers come: one row per statement, in the order in which they are asked."""

    def __init__(self, asked: Sequence[Asked]) -> None:
        self.asked = list(asked)
        self._records = records_of(asked)
        self._place = {(item.statement.statement_id, item.draw): i for i, item in enumerate(asked)}
        self._taken = 0

    def take(self, answers: Sequence[Answer]) -> None:
        """Brings the rows up to date with all answers that came so far; those taken before are skipped."""
        for answer in answers[self._taken :]:
            place = self._place[answer.statement_id, answer.draw]
            self.asked[place] = replace(self.asked[place], answer=answer)
            self._records.answer[place] = answer_code(answer)
            self._records.p_true[place] = _number(answer.p_true)
            self._records.p_mass[place] = _number(answer.p_mass)
        self._taken = len(answers)

    def records(self) -> Records:
        """The records as they stand."""
        return replace(self._records)


def answer_code(answer: Answer | None) -> int:
    """1 for True, 0 for False, else UNREADABLE, FAILED or PENDING."""
    if answer is None:
        return PENDING
    if answer.failure is not None:
        return FAILED
    return UNREADABLE if answer.answer is None else int(answer.answer)


def _numbers(values: Sequence[float | None]) -> Floats:
    return np.array([_number(value) for value in values], dtype=np.float64)


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def report(run: Run, asked: Sequence[Asked], records: Records | None = None) -> dict[str, Any]:
    """Everything that a report says of a run, ready for JSON. What has no value is None."""
    return {
        "run": run.run,
        "model": run.model,
        "model_revision": run.model_revision,
        "dataset": run.dataset,
        "protocol": run.spec.protocol,
        "method": method_label(run.spec.protocol, run.pool, None),
        "rephraser": None,
        "question": question_of(run.spec),
        "pool": run.pool,
        "shots": run.shots,
        "retrieval": run.spec.retrieval,
        "seed": run.spec.seed,
        "shot_seed": run.spec.shot_seed,
        "shot_draws": run.spec.shot_draws,
        "state": run.state,
        **measure(records or records_of(asked)),
        "p_true_source": run.decoding.get("p_true", FIRST_TOKEN),
        "service": bill_of(run, asked),
        "notes": run.notes,
    }


def report_of(store: Store, run_id: str) -> dict[str, Any]:
    """The report of a run by its id."""
    run = store.run(run_id)
    return report(run, store.asked(run.run))


def as_text(made: dict[str, Any]) -> str:
    """A report for a person at a terminal: plain names, every share with its interval and of how many."""
    lines = [
        f"run {made['run']} ({made['state']}): {made['model']} on {made['dataset']}, pool {made['pool']}, "
        f"{made['shots']} shots, seed {made['seed']}",
        f"{made['answered']} of {made['statements']} statements answered: {made['right']} right, {made['wrong']} wrong, "
        f"{made['unreadable']} unreadable (counted as wrong); {made['failed']} failed (not counted)",
        "",
        _line("right answers (average accuracy)", made["average_accuracy"], "statements"),
        _line("all eight right (joint accuracy)", made["joint_accuracy"], "facts"),
        _line("all right, false partner too (pair joint accuracy)", made["pair_joint_accuracy"], "pairs"),
        "",
        *(_line(f"{VARIANTS[key].plain} ({key})", e, "statements") for key, e in made["by_variant"].items()),
        "",
        *(_line(name, estimate, "statements") for name, estimate in made["by_relation"].items()),
        "",
        *(bill_in_words(made["service"]) if made["service"] else ()),
        *(f"note: {note}" for note in made["notes"]),
        "Intervals are 95 %, clustered by head and tail. Mastery of a fact is not competence. Not for clinical use.",
    ]
    return "\n".join(lines)


def _line(name: str, estimate: dict[str, Any], of: str) -> str:
    return f"{name:<52}{in_words(estimate)} of {estimate['n']} {of}"


def in_words(estimate: dict[str, Any]) -> str:
    """A share in per cent with its interval: "61.2 % (55.0 to 67.4)"; "no value" where there is none."""
    if estimate["value"] is None:
        return "no value"
    value = f"{100 * estimate['value']:.1f} %"
    if estimate["low"] is None:
        return f"{value} (no interval)"
    return f"{value} ({100 * estimate['low']:.1f} to {100 * estimate['high']:.1f})"


# ------------------------------------------------------------------------------------------------ live


@dataclass(frozen=True)
class Live:
    """A run at one moment, for pages: its record, its job (None once nothing is going on), its report and its rows."""

    version: int
    run: Run
    job: Snapshot | None
    figures: dict[str, Any]
    asked: Sequence[Asked]


class Reports:
    """Reports of runs that may still be going on, computed once per version and kept for the runs last looked at."""

    KEPT = 32

    def __init__(self, store: Store, jobs: Jobs) -> None:
        self._store = store
        self._jobs = jobs
        self._boards: OrderedDict[str, Board] = OrderedDict()
        self._made: dict[str, Live] = {}
        self._lock = threading.RLock()

    def version(self, run: str) -> int:
        """Grows whenever there is something new to show of a run; 0 where no job of it is known."""
        job = self._jobs.snapshot(run)
        return job.version if job else 0

    def live(self, run: str) -> Live:
        """A run as it stands. Raises UnknownName when there is none."""
        with self._lock:
            job = self._jobs.snapshot(run)
            made = self._made.get(run)
            version = job.version if job else 0
            if made is None or made.version != version:
                board = self._board(run)
                if job is not None:
                    board.take(job.answers)
                record = self._store.run(run)
                made = Live(version, record, job, report(record, board.asked, board.records()), board.asked)
                self._made[run] = made
            return made

    def _board(self, run: str) -> Board:
        if run not in self._boards:
            self._boards[run] = Board(self._store.asked(run))
            while len(self._boards) > self.KEPT:
                old, _ = self._boards.popitem(last=False)
                self._made.pop(old, None)
        self._boards.move_to_end(run)
        return self._boards[run]
