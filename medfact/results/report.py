"""A run's statements and answers as arrays, and its report as one record."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from medfact import __version__
from medfact.errors import StoreError
from medfact.metrics import PENDING, Names, Records, measure
from medfact.runs.costs import bill_in_words, bill_of
from medfact.runs.plan import question_of
from medfact.spec import method_label
from medfact.statements import VARIANTS
from medfact.store import RUNNING, WAITING, News, Run, Sheet, Store

FIRST_TOKEN = "first token"
"""Where P(True) of a model on this machine comes from: all that it could say next, or there where it says its answer."""


class Board:
    """A run's records, which move as answers come: one row per statement, by position."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self.changed = -1
        count = len(sheet.fact)
        self.answer = np.full(count, PENDING, dtype=np.int8)
        self.p_true, self.p_mass = np.full(count, np.nan), np.full(count, np.nan)
        self._names = _names_of(sheet)

    def take(self, news: News) -> None:
        """Brings the rows up to date with what was answered since `changed`."""
        self.answer[news.position] = news.answer
        self.p_true[news.position] = news.p_true
        self.p_mass[news.position] = news.p_mass
        self.changed = news.changed

    def records(self) -> Records:
        """The records as they stand; later answers do not move them."""
        sheet, fact = self.sheet, self.sheet.fact
        draws = int(sheet.draw.max(initial=0)) + 1
        positive = sheet.positive[fact]
        return Records(
            fact=fact * draws + sheet.draw,
            pair=sheet.pair[fact] * draws + sheet.draw,
            head=sheet.head[fact],
            tail=sheet.tail[fact],
            draw=sheet.draw,
            positive=positive,
            label=positive != self._names["negated"],
            answer=self.answer.copy(),
            p_true=self.p_true.copy(),
            p_mass=self.p_mass.copy(),
            variants=self._names["variants"],
            relations=self._names["relations"],
            tail_types=self._names["tail_types"],
        )


def _names_of(sheet: Sheet) -> dict[str, Any]:
    keys = [str(key) for key in sheet.variants]
    negated = np.array([VARIANTS[key].negated for key in keys], dtype=bool)
    return {
        "variants": Names(keys, sheet.variant),
        "negated": negated[sheet.variant] if keys else np.zeros(0, dtype=bool),
        "relations": Names([str(name) for name in sheet.relations], sheet.relation[sheet.fact]),
        "tail_types": Names([str(name) for name in sheet.tail_types], sheet.tail_type[sheet.fact]),
    }


def board_of(store: Store, run_id: str) -> Board:
    """A run's records as they are on disk now."""
    board = Board(store.sheet(run_id))
    board.take(store.news(run_id))
    return board


def report(run: Run, records: Records, bill: dict[str, Any] | None) -> dict[str, Any]:
    """Everything that a report says of a run, ready for JSON. What has no value is None. bill: what a service took."""
    return {
        "run": run.run,
        "model": run.model,
        "model_revision": run.model_revision,
        "dataset": run.dataset,
        "protocol": run.spec.protocol,
        "method": method_label(run.spec.protocol, run.pool),
        "rephraser": None,
        "question": question_of(run.spec),
        "pool": run.pool,
        "shots": run.shots,
        "retrieval": run.spec.retrieval,
        "seed": run.spec.seed,
        "shot_seed": run.spec.shot_seed,
        "shot_draws": run.spec.shot_draws,
        "state": run.state,
        **measure(records),
        "cut": bill["cut"] if bill else 0,
        "p_true_source": run.decoding.get("p_true", FIRST_TOKEN),
        "service": bill,
        "notes": run.notes,
    }


def report_of(store: Store, run_id: str) -> dict[str, Any]:
    """The report of a run by its id."""
    run = store.run(run_id)
    return report(run, board_of(store, run.run).records(), bill_of(run, store))


def figures_of(store: Store, run: Run) -> dict[str, Any]:
    """The report of a run; one that was kept, where its answers have not changed since. That of a run that ended is kept."""
    made = kept_report(store, run)
    if made is None:
        made = report(run, board_of(store, run.run).records(), bill_of(run, store))
        keep(store, run, made)
    return made


def kept_report(store: Store, run: Run) -> dict[str, Any] | None:
    """The report that was kept of a run, if it is of its answers as they are and was made by this version of medfact."""
    kept = store.figures(run.run)
    return kept["report"] if kept and kept["medfact"] == __version__ else None


def keep(store: Store, run: Run, made: dict[str, Any]) -> None:
    """Keeps the report of a run that has ended, so that it opens at once the next time."""
    if run.state not in {WAITING, RUNNING}:
        with suppress(StoreError):  # a report is shown even where nothing can be written
            store.keep_figures(run.run, {"medfact": __version__, "report": made}, run.changed)


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
