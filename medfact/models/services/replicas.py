"""The replicas of a service: whether each still answers, which of them get calls, and when a run slows down, pauses or ends."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from urllib.parse import urlsplit

from medfact.errors import ModelError, ServiceAway
from medfact.models.prompt import Completion
from medfact.models.providers import NO_MONITOR, Monitor
from medfact.models.services.calls import Caller
from medfact.models.services.failures import Action, CallFailure
from medfact.models.services.pacing import LONGEST_PATIENCE_SECONDS, LONGEST_PROBE_WAIT_SECONDS, Gate, wait_before
from medfact.models.services.policy import address_of

FIRST_CALLS = 8
"""Most calls to one replica of several before its first answer: it may hang."""

FAILURES_TO_DROP = 8
"""Failed calls in a row after which a replica is dropped, as long as there are others."""

FIRST_ABSENCE_SECONDS, LONGEST_ABSENCE_SECONDS = 30.0, 480.0
"""How long a dropped replica gets no calls: the first doubles each time, up to the second. Then it gets one call at a time."""

NEW_WEIGHT = 0.1
"""Weight of the latest call in the mean duration of calls."""

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

    def is_silent_for_long(self, seconds: float) -> bool:
        """True where the last answer will be too long ago in so many seconds."""
        return time.monotonic() + seconds - self._answered_at > LONGEST_PATIENCE_SECONDS

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


class Replica:
    """One address of a service. What is known of it lasts over several sets of prompts; its gate is that of the present one.

    limit: calls that it took at once. seconds: mean duration of its calls; None before the first answer. absent_until: when a
    dropped replica is tried again, by the monotonic clock; None for one that gets calls.
    """

    def __init__(self, caller: Caller, *, is_only: bool) -> None:
        self.caller, self.is_only = caller, is_only
        self.name = urlsplit(address_of(caller.settings).base).netloc
        self.health = ServiceHealth(caller.host, caller.settings.timeout)
        self.limit = caller.settings.in_flight
        self.seconds: float | None = None
        self.absent_until: float | None = None
        self.served: Completion | None = None
        self._failures = self._drops = 0
        self.open(NO_MONITOR)

    def open(self, monitor: Monitor) -> None:
        """Begins a set of prompts."""
        self._monitor = monitor
        is_new = not self.is_only and not self.health.answers
        self.gate = self._new_gate(min(self.limit, FIRST_CALLS) if is_new else self.limit)

    def _new_gate(self, limit: int) -> Gate:
        return Gate(limit, self.caller.settings.in_flight, self._monitor.must_wait)

    @property
    def is_there(self) -> bool:
        return self.absent_until is None

    def answered(self, completion: Completion, seconds: float) -> None:
        """Notes an answer, and the duration of its call."""
        self.served = self.served or completion
        self.seconds = seconds if self.seconds is None else (1 - NEW_WEIGHT) * self.seconds + NEW_WEIGHT * seconds
        self._failures = 0
        self.gate.succeeded()
        self.health.answered(time.monotonic() - seconds)
        if self.health.answers == 1:
            self.gate.widen(self.limit)
        self.limit = self.gate.limit

    def is_failing(self, failure: CallFailure) -> bool:
        """Notes a failed call; whether there were too many in a row. Too many calls at once are no failure, and neither is a
        prompt that a replica refuses which answers others.
        """
        refuses_one = failure.action is Action.FAIL_PROMPT and self.health.answers > 0
        self._failures += not refuses_one and (failure.billed or not failure.overloaded)
        return self._failures >= FAILURES_TO_DROP or failure.action is Action.END_RUN

    def drop(self, seconds: float = 0.0) -> None:
        """Gives it no further calls for so many seconds, and for a while. Those in flight may still bring their answers."""
        self._drops += 1
        absence = max(seconds, min(FIRST_ABSENCE_SECONDS * 2 ** (self._drops - 1), LONGEST_ABSENCE_SECONDS))
        self.absent_until = time.monotonic() + absence
        self.gate.shut()

    def try_again(self) -> None:
        """Gives a dropped replica one call at a time; one more failure drops it again."""
        self.absent_until, self._failures = None, FAILURES_TO_DROP - 1
        self.gate = self._new_gate(1)


class Replicas:
    """All replicas of a service. notes: what became of them, in sentences."""

    def __init__(self, callers: Sequence[Caller]) -> None:
        self.all = [Replica(caller, is_only=len(callers) == 1) for caller in callers]
        self._events: dict[str, None] = {}

    def there(self) -> list[Replica]:
        return [replica for replica in self.all if replica.is_there]

    def others(self, replica: Replica) -> list[Replica]:
        return [other for other in self.there() if other is not replica]

    def least_busy(self, replicas: Sequence[Replica]) -> Replica:
        """The one with the most room for calls."""
        return min(replicas, key=lambda replica: replica.gate.load)

    def drop(self, replica: Replica, failure: CallFailure, seconds: float = 0.0) -> None:
        """Drops a replica, for so many seconds at least, and notes why, in words that name neither key nor prompt."""
        replica.drop(seconds)
        why = failure.error.problem if failure.action is Action.END_RUN and failure.error else failure.kind
        self._events[f"The replica at {replica.name} was dropped ({why.rstrip('.')}); the others got its statements."] = None

    def try_again(self, replica: Replica) -> None:
        replica.try_again()
        self._events[f"The replica at {replica.name} was tried again later."] = None

    def finish_sooner(self, replica: Replica, left: int) -> bool:
        """Whether the other replicas would answer all prompts that are left before this one could answer one of them."""
        known = [(other.gate.limit, other.seconds) for other in self.others(replica) if other.seconds]
        if not known or replica.seconds is None:
            return False
        per_second = sum(limit / seconds for limit, seconds in known)
        return left / per_second + max(seconds for _, seconds in known) < replica.seconds

    @property
    def leader(self) -> Replica:
        """The replica whose settings stand for all: the first that has answered."""
        return next((replica for replica in self.all if replica.health.answers), self.all[0])

    @property
    def notes(self) -> list[str]:
        """What the service refused, what became of its replicas, and in what they differ."""
        refused = [note for replica in self.all for note in replica.caller.notes]
        return list(dict.fromkeys([*refused, *self._events, *self._differences()]))

    def _differences(self) -> list[str]:
        answering = [replica for replica in self.all if replica.served is not None]
        notes = []
        if len({replica.caller.parameters.without_limits for replica in answering}) > 1:
            notes.append(f"The replicas do not accept the same settings; those recorded are of {self.leader.name}.")
        served = {replica.name: replica.served.served for replica in answering if replica.served and replica.served.served}
        models = {name: one.model for name, one in served.items() if one.model}
        if len(set(models.values())) > 1:
            listed = ", ".join(f"{name} answers as {model}" for name, model in models.items())
            notes.append(f"The replicas name different models: {listed}.")
        elif len({one.fingerprint for one in served.values() if one.fingerprint}) > 1:
            notes.append("The replicas report different configurations (fingerprints) of the model.")
        return notes
