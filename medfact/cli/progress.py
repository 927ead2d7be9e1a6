"""How far a run is, on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import cast

from medfact.cli import MISTAKE, OK, SOME_FAILED, resumable, say
from medfact.datasets.text import one_line
from medfact.errors import ServiceDown
from medfact.results.compare import describe_race
from medfact.runs.events import AnswersSaved, Event, Failed, Finished, Loading, Noted, PushesSaved, Started
from medfact.runs.racing import Standing

SECONDS_BETWEEN = 60.0
"""At least so long between two lines of progress in a log."""


def show_progress(events: Iterator[Event], model: str) -> int:
    """Follows a run to its end and returns the exit code; closes it whatever happens. A terminal gets a moving line, a file
    only milestones.
    """
    followed = cast("Generator[Event, None, None]", events)
    with resumable(), closing(followed):  # left suspended, it would go on beating, and hold up its race
        return _shown(events, model)


def _shown(events: Iterator[Event], model: str) -> int:
    code = OK
    total = done = 0
    milestones, pushed = _Milestones(), _Milestones()
    stage = ""
    for event in events:
        match event:
            case Started():
                total, done = event.statements, event.answered
                say(f"run {event.run}: {model}, {total} statements, {done} answered before")
            case Loading():
                _tell(f"{model}: {event.step}", in_log=event.step.partition(":")[0] != stage)
                stage = event.step.partition(":")[0]
            case PushesSaved():
                _tell(f"{model}: {event.step}", in_log=pushed.reached(event.done, event.of))
            case AnswersSaved():
                done += len(event.answers)
                _tell(f"{model}: {done} of {total}", in_log=milestones.reached(done, total))
            case Noted():
                _print_below([f"{model}: note: {event.note}"])
            case Finished():
                _print_below(_ending(event, model))
                code = SOME_FAILED if event.failed else OK
            case Failed():
                say(f"medfact: {event.error}")
                code = SOME_FAILED if isinstance(event.error, ServiceDown) else MISTAKE
    return code


class _Milestones:
    """Where a log gets a line: at each tenth of the statements, at most once in SECONDS_BETWEEN."""

    def __init__(self) -> None:
        self._tenths, self._at = 0, time.monotonic()

    def reached(self, done: int, total: int) -> bool:
        tenths, now = 10 * done // max(total, 1), time.monotonic()
        if tenths <= self._tenths or now - self._at < SECONDS_BETWEEN:
            return False
        self._tenths, self._at = tenths, now
        return True


def race_teller(names: Mapping[str, str]) -> Callable[[Sequence[Standing]], None]:
    """Says where each pair of a race stands: when twice as many diseases count as when it was said before, when it is decided,
    and at its end. names: run → what to call it.
    """
    said: dict[tuple[str, str], tuple[int, bool]] = {}

    def tell(standings: Sequence[Standing]) -> None:
        for a, b, race in standings:
            heads, decided = said.get((a.run, b.run), (0, False))
            if race is None or decided or race.heads == heads:
                continue
            if race.decided_at or race.heads >= 2 * heads or race.heads == race.of:
                say(f"race: {describe_race(a.run, b.run, race, names)}")
                said[a.run, b.run] = race.heads, race.decided_at is not None

    return tell


def _tell(text: str, *, in_log: bool) -> None:
    """Says how far it is: always on a terminal's moving line, in a log where it is worth a line."""
    if sys.stderr.isatty():
        print(f"\r\033[K{one_line(text)}", end="", file=sys.stderr)
    elif in_log:
        say(text)


def _print_below(lines: Iterable[str]) -> None:
    """Prints lines and leaves the moving line in place."""
    if sys.stderr.isatty():
        print(file=sys.stderr)
    for line in lines:
        say(line)


def _ending(event: Finished, model: str) -> Iterator[str]:
    failed = f", {event.failed} failed (see `answers`, then `resume`)" if event.failed else ""
    yield f"{model}: {event.state} in {event.seconds:.1f} s{failed}"
    if event.commonest:
        reason, count = event.commonest
        yield f"{model}: {count} of the {event.failed} failed calls: {reason}"
    if event.reason:
        yield f"{model}: {event.reason}"
