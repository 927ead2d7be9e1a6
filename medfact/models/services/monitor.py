"""Follows the calls to a service, and may end them."""

from __future__ import annotations

from medfact.models.prompt import Completion


class Monitor:
    """Hears of every completion and every wasted call. This one ignores them and never ends a run.

    Methods run in the service's thread.
    """

    def completed(self, completion: Completion) -> None:
        """Called with each completion as it arrives."""

    def wasted(self, prompt_tokens: int) -> None:
        """Called for each call without a reply that may still be billed, with the estimated tokens of its prompt."""

    def seconds_left(self) -> float | None:
        """Seconds that calls in flight have left once no further calls may start; None while they may."""
        return None

    def must_wait(self) -> bool:
        """Whether no further call may start for now, since what has come cannot be saved."""
        return False


NO_MONITOR = Monitor()
