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
            "A person stopped this run before its end. Its scores cover only the answers until then and may be biased: whoever "
            "stops a run can see its scores."
        )
    if state == DECIDED:
        about = (
            "Its scores cover the diseases asked until then, a random sample fixed in advance. A race tends to end where its "
            "leader is lucky, so use only the bounds of the race for the difference between the models."
        )
        return f"{reason or ''} {about}".strip()
    return reason or "" if state in RESUMABLE else ""
