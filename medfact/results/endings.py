"""How a run ended, in words: what somebody should know who reads the scores of a run that did not ask everything."""

from __future__ import annotations

from medfact.results.wording import STATES
from medfact.store import DECIDED, RESUMABLE, STOPPED


def state_in_words(state: str, reason: str | None) -> str:
    """A run's state. What was stopped for a reason was not stopped by hand."""
    return "stopped" if state == STOPPED and reason else STATES[state]


def how_it_ended(state: str, reason: str | None) -> str:
    """What somebody should know who reads the scores of a run that did not ask everything; "" where it did, or goes on."""
    if state == STOPPED and not reason:
        return (
            "A person stopped this run before its end: its scores are of what was answered until then, and whoever stops a run "
            "while looking at its scores may choose them."
        )
    if state == DECIDED:
        about = (
            "Its scores are of the diseases asked until then, a random sample fixed before, which nobody chose. A race tends "
            "to end where its leader is lucky: of the difference between the models, trust the bounds of the race alone."
        )
        return f"{reason or ''} {about}".strip()
    return reason or "" if state in RESUMABLE else ""
