"""How far a run is, on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from medfact.cli import MISTAKE, OK, SOME_FAILED
from medfact.cli.rows import print_progress
from medfact.runs.events import AnswersSaved, Event, Failed, Finished, Loading, Started


def show_progress(events: Iterable[Event], model: str) -> int:
    """Follows a run to its end and returns the exit code. A terminal gets a moving line, a file only milestones."""
    code = OK
    total = done = 0
    stage = ""
    for event in events:
        match event:
            case Started():
                total, done = event.statements, event.answered
                print_progress(f"run {event.run}: {model}, {total} statements, {done} answered before")
            case Loading():
                if not _moving_line(f"{model}: {event.step}") and event.step.partition(":")[0] != stage:
                    print_progress(f"{model}: {event.step}")
                stage = event.step.partition(":")[0]
            case AnswersSaved():
                done += len(event.answers)
                _moving_line(f"{model}: {done} of {total}")
            case Finished():
                print_progress("\n".join(_ending(event, model)))
                code = SOME_FAILED if event.failed else OK
            case Failed():
                print_progress(f"medfact: {event.error}")
                code = MISTAKE
    return code


def _moving_line(text: str) -> bool:
    """Replaces the last line of a terminal; returns whether stderr is one."""
    on_terminal = sys.stderr.isatty()
    if on_terminal:
        print(f"\r\033[K{text}", end="", file=sys.stderr)
    return on_terminal


def _ending(event: Finished, model: str) -> Iterator[str]:
    failed = f", {event.failed} failed (see `answers`, then `resume`)" if event.failed else ""
    below = "\n" if sys.stderr.isatty() else ""  # leaves the moving line in place
    yield f"{below}{model}: {event.state} in {event.seconds:.1f} s{failed}"
    if event.commonest:
        reason, count = event.commonest
        yield f"{model}: {count} of the {event.failed} failed calls: {reason}"
    if event.reason:
        yield f"{model}: {event.reason}"
