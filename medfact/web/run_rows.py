"""The values of the views of the page Runs: rows, notices and what happened, in words. Formats; computes no figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Any

from medfact.prototypes import ORIGIN
from medfact.results.live import Live
from medfact.runs.costs import bill_in_words
from medfact.spec import LOCAL_OWNER, PROTOCOLS
from medfact.store import (
    COMPLETE,
    FAILED_RUN,
    IMPORTED,
    INTERRUPTED,
    NOTED,
    PAUSED,
    RESUMABLE,
    RUNNING,
    STOP_ASKED,
    STOPPED,
    WAITING,
    Run,
    RunEvent,
)
from medfact.web import live_views

PER_PAGE = 20
"""Runs on one page of the table."""

NOTICED = 5
"""So many runs that wait to be taken up again are named; the others are counted."""

ALL, GOING, MAY_GO_ON, ENDED = "", "going", "resumable", "complete"
FILTERS = {
    ALL: "all",
    GOING: "going on",
    MAY_GO_ON: "can go on (stopped, interrupted, paused, ended early)",
    ENDED: "complete",
}
STATES_OF = {GOING: {WAITING, RUNNING}, MAY_GO_ON: RESUMABLE, ENDED: {COMPLETE}}

HAPPENED = {
    WAITING: "recorded, with all its statements",
    RUNNING: "the model began to be asked",
    COMPLETE: "complete",
    STOPPED: "stopped by hand",
    FAILED_RUN: "ended early",
    PAUSED: "paused",
    NOTED: "noted",
    STOP_ASKED: "was asked to stop, from another program",
    IMPORTED: "brought here",
}
"""What happened to a run → what a person reads."""


def title(run: Run) -> str:
    """What to call a run: its name, else its model's."""
    return run.name or run.model


def matches(run: Run, words: Sequence[str], state: str) -> bool:
    """Whether every word stands in a run's texts, and the run is in one of the states that are asked for."""
    if state in STATES_OF and run.state not in STATES_OF[state]:
        return False
    texts = (run.name, run.note, run.model, run.dataset, run.spec.protocol, _method(run), run.pool)
    text = " ".join(filter(None, texts)).casefold()
    return all(word in text for word in words)


def _method(run: Run) -> str:
    made = PROTOCOLS.get(run.spec.protocol)
    return made.title if made else run.spec.protocol


def short(run: Run) -> str:
    """What to call a run within a sentence."""
    name = title(run)
    return name if len(name) <= 60 else f"{name[:59]}…"


# ------------------------------------------------------------------------------------------------- the table


def table(rows: Sequence[Mapping[str, Any]], page: int, found: int, of: int, deleted: Sequence[Run]) -> dict[str, Any]:
    """One page of the runs that were found, of all that there are, and the runs that can be brought back."""
    first = page * PER_PAGE + 1
    return {
        "rows": rows,
        "page": page,
        "pages": -(-found // PER_PAGE),
        "where": f"{first:,} to {first + len(rows) - 1:,} of {_counted(found)}" if rows else "",
        "none": f"None of your {_counted(of)} matches. Clear the search, or choose the state “{FILTERS[ALL]}”." if of else "",
        "deleted": [{"run": run.run, "title": short(run), "of": run.dataset} for run in deleted],
    }


def _counted(runs: int) -> str:
    return "1 run" if runs == 1 else f"{runs:,} runs"


def row(run: Run, live: Live, events: Sequence[RunEvent], owner: str) -> dict[str, Any]:
    """One run in the table. run: its record as it is now, with its name; owner: the visitor's."""
    made = live.figures
    return {
        "run": run.run,
        "title": title(run),
        "who": {
            "title": title(run),
            "model": run.model if run.name else "",
            "note": run.note or "",
            "at": run.started_at,
            "here": "asked on the command line" if run.owner == LOCAL_OWNER != owner else "",
        },
        "asked": {
            "data": run.dataset,
            "method": f"method: {_labelled(run, made)}",
            "pool": f"sentences: {live_views.load_title(run.pool)}",
            "facts": f"{run.facts:,} facts (true and false)",
        },
        "right": live_views._figure("average_accuracy", made["average_accuracy"], "statements"),
        "all": _all_right(made),
        "state": _state(live),
        "cost": _cost(made["service"]),
        "took": _took(events, run, going=live.going),
    }


def _labelled(run: Run, made: Mapping[str, Any]) -> str:
    """The method; a paper's that rephrases, and here did not, under the name that the paper has for that."""
    protocol = PROTOCOLS.get(run.spec.protocol)
    return made["method"] if protocol is None or protocol.rephraser or run.pool == ORIGIN else protocol.title


def _all_right(made: Mapping[str, Any]) -> dict[str, Any]:
    """All ways of saying a fact right; it is said where a run has not eight of them."""
    figure = live_views._figure("joint_accuracy", made["joint_accuracy"], "facts")
    ways = len(made["by_variant"])
    return figure if ways in (0, 8) else {**figure, "ways": "one way of saying" if ways == 1 else f"{ways} ways of saying"}


def _state(live: Live) -> dict[str, Any]:
    """How far a run is: a word or two, and the rest of what there is to say."""
    made, total = live.figures, live.figures["statements"]
    done = made["answered"] + made["failed"]
    if live.job is not None and live.going:
        done = max(done, live.job.done)  # the figures may be a moment older
    word, why = _in_words(live.state, live.run.reason)
    how_far = f"{total:,} statements" if live.state == COMPLETE else f"{done:,} of {total:,} statements"
    failed = f"{made['failed']:,} calls failed, and are not counted" if made["failed"] else ""
    reason = live.job.reason if live.job and live.job.reason else live.run.reason
    return {
        "word": word,
        "rest": [text for text in (how_far, failed, reason or why) if text],
        "done": done,
        "total": total,
        "going": live.going,
        "warn": live.state in RESUMABLE - {STOPPED},
    }


def _in_words(state: str, reason: str | None) -> tuple[str, str]:
    """A state in a word or two, and what there is to say of it in general."""
    if state == STOPPED and reason:
        return "stopped", ""  # by its budget, not by hand
    word, _, why = live_views.STATES[state].partition(": ")
    return word, why


def _cost(bill: Mapping[str, Any] | None) -> dict[str, str]:
    if bill is None:
        return {"text": "nothing to pay", "title": "The model was asked on this machine."}
    said = " ".join(bill_in_words(dict(bill)))
    if bill["usd"] is None:
        return {"text": "price not known", "title": said}
    small = 0 < bill["usd"] < 0.01
    return {"text": "less than $0.01" if small else f"${bill['usd']:,.2f}", "title": said}


def _took(events: Sequence[RunEvent], run: Run, *, going: bool) -> str:
    """How long a model was asked, all times together that it was taken up; "" where it never was."""
    seconds = _seconds_asked(events, run.finished_at or (None if going else run.beat_at))
    if seconds is None:
        return ""
    return f"{_duration(seconds)}{' so far' if going else ''}"


def _seconds_asked(events: Sequence[RunEvent], end: str | None) -> float | None:
    """From each time that a run was taken up to what happened next; the last to `end`, or to now."""
    moved = [one for one in events if one.what not in {NOTED, IMPORTED, STOP_ASKED}]
    pairs = zip_longest(moved, moved[1:])
    spans = [(begun.at, after.at if after else end) for begun, after in pairs if begun.what == RUNNING]
    if not spans:
        return None
    now = datetime.now(UTC)
    lengths = ((_moment(to) if to else now) - _moment(begun) for begun, to in spans)
    return sum(max(length.total_seconds(), 0.0) for length in lengths)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _duration(seconds: float) -> str:
    if seconds < 0.95:
        return "less than 1 s"
    hours, rest = divmod(round(seconds), 3600)
    return f"{hours:,} h {rest // 60} min" if hours else live_views.duration(rest)


# ---------------------------------------------------------------------------------------------- what waits


def notice(runs: Sequence[Run]) -> dict[str, Any]:
    """The runs that wait to be taken up again, newest first; nothing where there are none."""
    waiting = [run for run in runs if run.state in {INTERRUPTED, PAUSED}]
    more = len(waiting) - NOTICED
    return {
        "text": _waiting(waiting) if waiting else "",
        "runs": [{"run": run.run, "title": short(run), "of": run.dataset, "at": run.started_at} for run in waiting[:NOTICED]],
        "more": f"And {more:,} more: choose the state “{FILTERS[MAY_GO_ON]}” below." if more > 0 else "",
    }


def _waiting(runs: Sequence[Run]) -> str:
    states = {run.state for run in runs}
    what = "interrupted or paused" if len(states) > 1 else "paused" if states == {PAUSED} else "interrupted"
    if len(runs) == 1:
        return f"1 run was {what}. What was answered is kept: open it, and choose Resume there."
    return f"{len(runs):,} runs were {what}. What was answered is kept: open one, and choose Resume there."


# -------------------------------------------------------------------------------------------- what happened


LONGEST_SAID = 600
"""Characters of what is said of one event."""


def happened(run: Run, events: Sequence[RunEvent], earlier: int, changes: Sequence[str]) -> dict[str, Any]:
    """What happened to a run at last, what it was made from, and what of that has changed since.

    earlier: how many events came before these.
    """
    lines = [{"at": one.at, "what": _happened(one), "said": _shortened(one.said or "")} for one in events]
    if earlier and lines:
        lines.insert(0, {"at": lines[0]["at"], "what": f"{earlier:,} earlier events are not shown", "said": ""})
    if run.state == INTERRUPTED:
        what, why = _in_words(INTERRUPTED, None)
        lines.append({"at": run.beat_at or run.started_at, "what": f"last heard of; then {what}", "said": why})
    return {
        "run": run.run,
        "state": live_views.STATES[run.state],
        "note": run.note or "",
        "events": lines,
        "made": [{"what": what, "title": why, "text": text} for what, why, text in _made_from(run) if text],
        "notes": run.notes,
        "changes": list(changes),
        "same": "" if changes else "Neither its data nor its sentences have changed since.",
    }


def _shortened(said: str) -> str:
    return said if len(said) <= LONGEST_SAID else f"{said[:LONGEST_SAID]}…"


def _happened(one: RunEvent) -> str:
    return "stopped" if one.what == STOPPED and one.said else HAPPENED.get(one.what, one.what)


def _made_from(run: Run) -> list[tuple[str, str, str]]:
    spec = run.spec
    shot_seed = "the same seed" if spec.shot_seed is None else f"seed {spec.shot_seed}"
    draws = f", {spec.shot_draws} draws" if spec.shot_draws > 1 else ""
    given = "from a file of yours" if spec.demonstrations else f"drawn with {shot_seed}"
    code = "a short code made from the content: the same content gives the same code"
    revision = "which state of the model was asked; the same name may stand for another model later"
    return [
        ("run", "the id of this run: whoever has it can open, watch and export the run", run.run),
        ("data", "the data set or file that the facts came from", run.dataset),
        ("fingerprint of the data", code, run.dataset_fingerprint),
        ("sentences", "the prototype pool: the sentences that facts were put into", live_views.load_title(run.pool)),
        ("seed", "the number that all drawing of facts and false partners began from", str(spec.seed)),
        ("demonstrations", "shots: solved statements that were shown before each", _shots(run.shots, given, draws)),
        ("model", "as it is named", run.model),
        ("model revision", revision, run.model_revision or "not known: the model was not loaded yet"),
        ("how it was asked", "decoding: how replies were made", _pairs(run.decoding)),
        ("versions", "of the programs that made the run", _pairs(run.versions)),
    ]


def _shots(shots: int, given: str, draws: str) -> str:
    return f"{shots} before each statement, {given}{draws}" if shots else "none"


def _pairs(values: Mapping[str, Any]) -> str:
    said = {True: "yes", False: "no", None: "not set"}
    return " · ".join(
        f"{name.replace('_', ' ')}: {said[value] if value is None or isinstance(value, bool) else value}"
        for name, value in values.items()
    )
