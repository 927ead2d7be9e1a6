"""The values of the views that a run moves: figures in words, and rows for the heat map. Formats; computes no figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from medfact.answers import Demonstration
from medfact.errors import MedfactError
from medfact.facts import Fact
from medfact.models import is_service
from medfact.prototypes import load_pool
from medfact.results import plots
from medfact.results.live import Live
from medfact.runs.costs import bill_in_words
from medfact.runs.prompts import prompt_text
from medfact.spec import PROTOCOLS
from medfact.statements import VARIANTS
from medfact.store import COMPLETE, FAILED_RUN, INTERRUPTED, PAUSED, RUNNING, STOPPED, WAITING, Answer, Asked, Run
from medfact.web.view import message

DEMONSTRATION_BANNER = (
    "A demonstration, computed by this app: medfact-tiny is a very small model that was trained on some of these facts, and on "
    "some ways of saying them, to show what the method is for. It is not a model to choose, and no source of medical knowledge."
)

LEGEND = {
    "right": "right",
    "wrong": "wrong",
    "unreadable": "unreadable, counted as wrong",
    "failed": "the call failed, not counted",
    "pending": "not asked yet",
}

SCORES = {
    "average_accuracy": ("right answers", "average accuracy: the share of right answers over all statements", "statements"),
    "joint_accuracy": ("all right", "joint accuracy: the share of facts, true and false ones, with all right", "facts"),
    "pair_joint_accuracy": (
        "all right, false partner too",
        "pair joint accuracy: the share of true facts that are mastered together with their false partners",
        "pairs",
    ),
    "yes_bias": ("leaning to “true”", "yes-bias: share of True answers less the share of true statements", "answers"),
    "mkj_accuracy": ("Acc", "right answers, true and false statements weighed as 1 : k false partners", "statements"),
    "positive_accuracy": ("facts that hold", "Acc_pos: right answers over statements of facts that hold", "statements"),
    "negative_accuracy": ("false facts", "Acc_neg: right answers over statements of false facts", "statements"),
    "accuracy_gap": ("gap", "Acc_gap: the accuracy over facts that hold less that over false ones", "statements"),
}
"""Name of a figure → its heading, what it is in the papers' words, and of what it is a share."""

SIGNED = frozenset({"yes_bias", "accuracy_gap"})

STATES = {
    WAITING: "waiting for its turn",
    RUNNING: "running",
    COMPLETE: "complete",
    STOPPED: "stopped by hand",
    FAILED_RUN: "ended early",
    PAUSED: "paused",
    INTERRUPTED: "interrupted: the program that asked it has ended",
}
"""State of a run → what a person reads."""


def labels(runs: Sequence[Run]) -> list[str]:
    """What to call runs beside each other: by their models, and by their own names or ids where a model stands twice."""
    models = Counter(run.model for run in runs)
    return [run.model if models[run.model] == 1 else f"{run.model} ({run.name or run.run[:8]})" for run in runs]


def by_label(lives: Sequence[Live]) -> dict[str, Live]:
    """Runs by what to call them."""
    return dict(zip(labels([live.run for live in lives]), lives, strict=True))


def progress(lives: Sequence[Live]) -> dict[str, Any]:
    """One bar per run: how far, how fast, how long still."""
    return {"runs": [_progress(live, label) for label, live in by_label(lives).items()]}


def _progress(live: Live, label: str) -> dict[str, Any]:
    total = live.figures["statements"]
    done = live.figures["answered"] + live.figures["failed"]
    if live.job is not None and live.going:
        done = max(done, live.job.done)  # the figures may be a moment older
    parts = [f"{done:,} of {total:,} statements", *_how_it_goes(live, done)]
    reason = live.job.reason if live.job and live.job.reason else live.run.reason
    return {
        "model": label,
        "done": done,
        "total": total,
        "text": " · ".join(part for part in parts if part),
        "reason": reason,
    }


def _how_it_goes(live: Live, done: int) -> list[str]:
    if live.state == WAITING:
        return [_turn(live)]
    if live.state != RUNNING:
        return [STATES[live.state]]
    if live.job is None:
        return ["another program on this machine asks it"]
    begins = "waiting for the first answer" if is_service(live.run.model) else "the model is being loaded"
    waiting = live.job.loading or ("" if done else begins)
    rate = f"{live.job.rate:,.0f} a second" if live.job.rate else waiting
    return [rate, f"{duration(live.job.seconds_left)} left" if live.job.seconds_left is not None else ""]


def _turn(live: Live) -> str:
    if live.job is None or not live.job.ahead:
        return STATES[WAITING]
    runs = "one run comes" if live.job.ahead == 1 else f"{live.job.ahead} runs come"
    about = f", in about {duration(live.job.seconds_ahead)}" if live.job.seconds_ahead is not None else ""
    return f"{STATES[WAITING]}: {runs} before it{about}"


def duration(seconds: float) -> str:
    """Seconds as a person says them."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def scores(lives: Sequence[Live]) -> dict[str, Any]:
    """The table of scores, one row per model: the figures that the method shows first."""
    first = PROTOCOLS[lives[0].run.spec.protocol].first if lives else ()
    ways = max((len(live.figures["by_variant"]) for live in lives), default=0)
    return {
        "headings": ["model", *({"text": _heading(name, ways), "title": SCORES[name][1]} for name in first)],
        "rows": [_score_row(live, label, first) for label, live in by_label(lives).items()],
        "coin": [_coin(lives[0].figures["chance"], name) for name in first],
        "notes": [
            *dict.fromkeys(note for live in lives for note in live.run.notes),
            *(sentence for live in lives if live.figures["service"] for sentence in bill_in_words(live.figures["service"])),
            "Below each figure: of how many, and the 95 % interval (statements about one disease or one tail stand or fall "
            "together, and are counted so). Mastery of a fact is not competence.",
        ],
    }


def _heading(name: str, ways: int) -> str:
    counted = {1: "the one", 8: "all eight"}.get(ways, f"all {ways}")
    return f"{counted} right" if name == "joint_accuracy" and ways else SCORES[name][0]


def _coin(chance: Mapping[str, float | None], name: str) -> str:
    """What a fair coin is expected to score."""
    value = 0.0 if name in SIGNED else chance.get(name, 0.5)
    if value is None:
        return "no value"
    return f"{100 * value:.2g} %" if value in (0.0, 0.5) else f"{100 * value:.1g} % (1 in {round(1 / value):,})"


def _score_row(live: Live, label: str, first: Sequence[str]) -> dict[str, Any]:
    made = live.figures
    draws = f" in {made['shot_draws']} draws" if made["shot_draws"] > 1 else ""
    asked = f"{live.run.shots or 'no'} demonstrations{draws}"
    described = f"{made['method']}; {live.run.dataset}; {load_title(live.run.pool)}; {asked}"
    fates = f"{made['unreadable']:,} unreadable (counted as wrong), {made['failed']:,} failed (not counted)"
    return {
        "model": label,
        "figures": [(_signed if name in SIGNED else _figure)(name, made[name], SCORES[name][2]) for name in first],
        "rest": f"{described}. {fates}.",
    }


def load_title(pool: str) -> str:
    """A pool's name for people; its own name where the pool is a file that is no longer there."""
    try:
        return load_pool(pool).title
    except MedfactError:
        return pool


def _figure(name: str, estimate: Mapping[str, Any], of: str) -> dict[str, Any]:
    value, low, high = (estimate[part] for part in ("value", "low", "high"))
    if value is None:
        return {"name": name, "value": "no value", "of": f"of 0 {of} yet", "low": None}
    interval = f", {100 * low:.1f} to {100 * high:.1f}" if low is not None else ", no interval"
    return {
        "name": name,
        "value": f"{100 * value:.1f} %",
        "of": f"of {estimate['n']:,} {of}{interval}",
        "low": None if low is None else 100 * low,
        "high": None if high is None else 100 * high,
        "point": 100 * value,
    }


def _signed(name: str, estimate: Mapping[str, Any], of: str) -> dict[str, Any]:
    value, low, high = (estimate[part] for part in ("value", "low", "high"))
    if value is None:
        return {"name": name, "value": "no value", "of": f"of 0 {of} yet", "low": None}
    interval = f", {100 * low:+.1f} to {100 * high:+.1f}" if low is not None else ", no interval"
    return {"name": name, "value": f"{100 * value:+.1f} points", "of": f"of {estimate['n']:,} {of}{interval}", "low": None}


def calibration_said(lives: Sequence[Live]) -> dict[str, str]:
    """What the calibration plot shows, or why there is none."""
    lines = []
    drawn = plots.of_one_source({live.run.run: live.figures for live in lives})
    for live in lives:
        made = live.figures["calibration"]
        if made["n"] and live.run.run not in drawn:
            lines.append(f"{live.run.model} is not drawn: its probabilities come from repeated answers, which do not compare.")
        elif made["n"]:
            lines.append(
                f"{live.run.model}: its probability of “true” is off by {100 * made['ece']:.1f} points on average (of "
                f"{made['n']:,} statements). By chance alone a perfectly calibrated model would show "
                f"{100 * made['ece_floor_coherent']:.1f} if it is coherent, one truth deciding all statements of a fact, and "
                f"{100 * made['ece_floor']:.1f} if each statement were true or false by itself."
            )
        elif live.figures["answered"]:
            lines.append(f"{live.run.model} gives no probabilities, so there is nothing to draw.")
    return message(" ".join(lines) or "Nothing has been asked yet.")


def heatmap(run: Run, items: Sequence[Asked], page: int, size: int) -> tuple[dict[str, Any], str]:
    """One row per fact of one page, one cell per variant, and a line that says where the page is.

    items: the statements of these facts, with their answers.
    """
    first_draw = [item for item in items if item.draw == 0]
    rows = [list(of_fact) for _, of_fact in groupby(first_draw, key=lambda item: item.fact)]
    keys = [key for key in VARIANTS if any(item.statement.variant == key for row in rows for item in row)]
    value = {
        "legend": LEGEND,
        "columns": [{"key": key, "plain": VARIANTS[key].plain} for key in keys],
        "rows": [_heat_row(row, keys) for row in rows],
    }
    where = f"facts {page * size + 1:,} to {page * size + len(rows):,} of {run.facts:,}" if rows else ""
    return value, where


def _heat_row(row: Sequence[Asked], keys: Sequence[str]) -> dict[str, Any]:
    fact = row[0].statement.fact
    cells = {
        item.statement.variant: {
            "place": item.position,
            "fate": fate(item),
            "plain": VARIANTS[item.statement.variant].plain,
        }
        for item in row
    }
    return {
        "text": in_a_line(fact),
        "positive": fact.positive,
        "cells": [cells.get(key) for key in keys],
    }


def fate(item: Asked) -> str:
    """What became of a statement: right, wrong, unreadable, failed or pending."""
    if item.answer is None:
        return "pending"
    if item.answer.failure is not None:
        return "failed"
    if item.answer.answer is None:
        return "unreadable"
    return "right" if item.answer.answer == item.statement.label else "wrong"


def in_a_line(fact: Fact) -> str:
    """head — relation → tail"""
    return f"{fact.head} — {fact.relation} → {fact.tail or '(not known)'}"


def detail(
    run: Run, item: Asked, true_fact: Fact | None, demonstrations: Mapping[str, Sequence[Demonstration]]
) -> dict[str, Any]:
    """Everything about one answer: statement, label, true fact, verdict, P(True), the exact prompt and the raw reply."""
    statement, answer = item.statement, item.answer
    return {
        "statement": statement.text,
        "label": statement.label,
        "true_fact": in_a_line(true_fact) if true_fact else "",
        "key": statement.variant,
        "plain": VARIANTS[statement.variant].plain,
        "fate": fate(item),
        "verdict": _verdict(item),
        "p_true": _probability(answer),
        "prompt": prompt_text(run, item, demonstrations),
        "raw": "(none)" if answer is None or answer.raw is None else answer.raw or "(empty)",
    }


def _probability(answer: Answer | None) -> str:
    if answer is None or answer.p_true is None:
        return ""
    if answer.p_low is None or answer.p_high is None:
        return f"Its probability of “true”: {answer.p_true:.3f}."
    return (
        f"Its probability of “true”: about {answer.p_true:.3f}, from {answer.p_low:.3f} to {answer.p_high:.3f} at most (the "
        "service shows only some of what it could have said)."
    )


CUT = {"length": "it was cut off for its length", "content_filter": "the service's content filter held it back"}


def _verdict(item: Asked) -> str:
    reached = fate(item)
    if reached == "pending":
        return "Not asked yet."
    if reached == "failed":
        return f"The call failed and is not counted: {item.answer.failure if item.answer else ''}."
    if reached == "unreadable":
        cut = item.answer.cut if item.answer else None
        why = CUT.get(cut or "", "it says neither true nor false")
        return f"The reply cannot be read: {why}. It counts as wrong."
    said = "true" if item.answer and item.answer.answer else "false"
    return f"The model says {said}: {reached}."
