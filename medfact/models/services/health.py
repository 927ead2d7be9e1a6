"""Whether a service still answers: when to slow down, and when to end or pause a run."""

from __future__ import annotations

import time
from collections import Counter

from medfact.errors import ModelError, ServiceAway
from medfact.models.services.failures import Action, CallFailure
from medfact.models.services.pacing import LONGEST_PROBE_WAIT_SECONDS, wait_before

FAILURES_TO_PROBE = 8
"""Failed calls in a row after which a service is called once at a time."""

ALIKE_FAILURES, ALIKE_SECONDS = 20, 20.0
"""Failed calls, all for one reason and before any answer, after which a run ends; but only after this many seconds if a retry
may help, because the service may be starting.
"""

FAILURES_TO_PAUSE = 50
"""Failed calls in a row after which a service that has answered before counts as away."""

TIMEOUTS_TO_PAUSE = 10
"""The same, for a service that has been silent for this many timeouts."""


class ServiceHealth:
    """Answers and failures of a service over all that it was asked.

    answers:        how many it has given.
    fresh_answers:  those to calls sent after the present row of failures began. An answer that was already on its way then says
                    nothing of what came later.
    """

    def __init__(self, host: str, timeout: float) -> None:
        self.host, self.timeout = host, timeout
        self.answers = self.fresh_answers = 0
        self._answered_at = time.monotonic()
        self._since_answer: Counter[str] = Counter()
        self._in_row: Counter[str] = Counter()
        self._row_began_at = 0.0
        self._refusal: ModelError | None = None

    def restart(self) -> None:
        """Counts failures since the last answer anew: after an answer, and for each new set of prompts."""
        self._since_answer.clear()
        self._answered_at = time.monotonic()

    def answered(self, sent_at: float) -> None:
        """Notes an answer, and when its call was sent."""
        self.answers += 1
        self.restart()
        if not self._in_row or sent_at > self._row_began_at:
            self.fresh_answers += 1
            self._in_row.clear()

    def failed_in_row(self, failure: CallFailure) -> ServiceAway | None:
        """Notes a failure that no fresh answer interrupts; the error that pauses the run if there are too many."""
        if not self._in_row:
            self._row_began_at = time.monotonic()
        self._in_row[failure.kind] += 1
        if self.answers and self._in_row.total() >= FAILURES_TO_PAUSE:
            return self._away(self._in_row)
        return None

    def failed_since_answer(self, failure: CallFailure) -> ModelError | None:
        """Notes a failure that no answer interrupts; the error that ends or pauses the run if there are too many."""
        failures = self._since_answer
        failures[failure.kind] += 1
        self._refusal = failure.error if failure.action is Action.FAIL_PROMPT else None
        count, silent_seconds = failures.total(), time.monotonic() - self._answered_at
        if count < FAILURES_TO_PROBE:
            return None
        away = count >= FAILURES_TO_PAUSE or silent_seconds > TIMEOUTS_TO_PAUSE * self.timeout
        if self.answers:
            return self._away(failures) if away else None
        alike = count >= ALIKE_FAILURES and len(failures) == 1
        lasting = failure.action is Action.FAIL_PROMPT or silent_seconds > ALIKE_SECONDS
        return self._never_there(failure) if away or (alike and lasting) else None

    def probe_wait(self, failure: CallFailure) -> float | None:
        """Seconds before the next single call to a service that seems to be away; None as long as it does not."""
        excess = self._since_answer.total() - FAILURES_TO_PROBE
        if excess < 0:
            return None
        wait = wait_before(excess + 1, requested=failure.retry_after)
        return wait if failure.retry_after else min(wait, LONGEST_PROBE_WAIT_SECONDS)

    def _away(self, failures: Counter[str]) -> ServiceAway:
        (reason, _), *_ = failures.most_common(1)
        return ServiceAway(
            f"{self.host} gave {self.answers:,} answers, and none to the last {failures.total():,} calls: {reason}.",
            "Resume the run once it is back.",
        )

    def refuses_all(self) -> ModelError | None:
        """The error that ends a run, however short, whose prompts have all been refused for a reason that is not theirs."""
        alike = not self.answers and len(self._since_answer) == 1
        return self._refusal if alike else None

    def _never_there(self, failure: CallFailure) -> ModelError:
        failures = self._since_answer
        (kind, count), *_ = failures.most_common(1)
        if failure.error is not None and failure.kind == kind:
            return failure.error
        reason = failure.whole_reason if failure.kind == kind else kind
        return ModelError(
            f"{self.host} has answered none of {failures.total():,} calls. {count:,} failed like this: {reason}.",
            "Check the model's name, the base URL and the service's logs.",
        )
