"""Failed calls to a service: their causes, what to do about each, and when they pause or end a run."""

from __future__ import annotations

import re
import socket
import ssl
import time
from collections import Counter
from dataclasses import dataclass, field
from enum import Enum, auto
from math import inf

from medfact.errors import ModelError, ServiceDown
from medfact.models.prompt import Served
from medfact.models.services.pacing import (
    LONG_WAIT_SECONDS,
    LONGEST_PATIENCE_SECONDS,
    LONGEST_PROBE_WAIT_SECONDS,
    in_units,
    moment_in,
    wait_before,
)

LONGEST_QUOTED = 300
"""Characters of a service's words that are shown."""


class Action(Enum):
    """Steps after a failed call."""

    RETRY = auto()
    RETRY_UNREACHED = auto()  # but end the run soon if the service has never answered
    CHANGE_PARAMETERS = auto()  # retry without the parameter that the service refuses
    USE_COMPLETIONS = auto()  # retry with plain text: the model takes no messages
    ACCEPT_FILTERED = auto()  # an unreadable reply, cut by a content filter
    FAIL_PROMPT = auto()  # give up this prompt
    END_RUN = auto()  # every other prompt would fail alike


@dataclass(frozen=True, slots=True)
class CallFailure:
    """A call without a reply.

    reason:      a few plain words on why a statement failed, and the service's own on what it refuses.
    said:        the service's own words on what may pass, scrubbed.
    error:       the reason for the end of the run: if it must end, or if all first calls fail so.
    at_first:    the run must end only if nothing has been answered before.
    unexplained: the service refuses, or breaks, and does not name what it minds.
    overloaded:  there are too many calls: the service says so, or times out. retry_after: seconds that it asks us to wait.
    slow:        the failure took long to show, so that one is enough.
    billed:      the service may have done the work and may bill it.
    message:     the service's words on a parameter, as they came. parameter: the one that it names in a field of its own.
    otherwise:   what to do where no parameter can be left out.
    served:      what was reported of replies before it, which were discarded.
    """

    action: Action
    reason: str
    error: ModelError | None = None
    said: str = ""
    overloaded: bool = False
    retry_after: float | None = None
    slow: bool = False
    billed: bool = False
    message: str = field(default="", repr=False)
    parameter: str | None = None
    otherwise: Action = Action.FAIL_PROMPT
    at_first: bool = False
    unexplained: bool = False
    served: Served | None = None

    @property
    def kind(self) -> str:
        """The reason without the service's words on this particular call."""
        return self.reason.partition(": ")[0]

    @property
    def is_long_wait(self) -> bool:
        """True where the service asks for a wait that is said and is no try."""
        return self.retry_after is not None and self.retry_after > LONG_WAIT_SECONDS

    @property
    def whole_reason(self) -> str:
        """The reason with the service's own words."""
        return f"{self.reason}: {self.said}" if self.said and self.said not in self.reason else self.reason


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What messages name: the host and the model. And what they must never contain: the key."""

    host: str
    model: str
    key: str = field(repr=False)

    def without_key(self, text: str) -> str:
        """A text without the key and without its beginning, which some services show."""
        for secret in (self.key, self.key[:12]) if len(self.key) >= 8 else ():
            text = text.replace(secret, "***")
        return text

    def scrubbed(self, text: str) -> str:
        """One short line without the key, or anything else that looks like a key."""
        line = re.sub(r"\b(sk-|Bearer )\S+", "***", self.without_key(" ".join(text.split())))
        return line if len(line) <= LONGEST_QUOTED else f"{line[:LONGEST_QUOTED].rstrip()}…"


# ------------------------------------------------------------------------------------------------ without a reply


def and_says(problem: str, said: str) -> str:
    """A problem with the service's own words for it."""
    return f"{problem} It says: {said.rstrip('.')}." if said else problem


def wrong_address(host: str, said: str = "") -> ModelError:
    problem = f"{host} answers, but not as a model service."
    return ModelError(and_says(problem, said), "Check the base URL: it usually ends with /v1.")


def wait_in_words(host: str, failure: CallFailure) -> str:
    """A sentence with the wait that a service asks for, and its own words."""
    return f"{host} asks to wait {in_units(failure.retry_after or 0.0)}: {failure.said or failure.reason}"


def too_long_a_wait(host: str, failure: CallFailure) -> ServiceDown:
    """The error that pauses a run whose service asks for a long wait."""
    seconds = failure.retry_after or 0.0
    if seconds == inf:
        problem = f"{host} takes no more calls for now, and does not say how long."
        return ServiceDown(
            and_says(problem, failure.said), "Resume the run once its limit is renewed; answers so far are kept."
        )
    problem = f"{host} asks to wait {in_units(seconds)}, until {moment_in(seconds):%Y-%m-%d %H:%M} UTC."
    return ServiceDown(and_says(problem, failure.said), "Resume the run then; answers so far are kept.")


def failure_from_connection(error: BaseException, endpoint: Endpoint) -> CallFailure:
    """There was no connection, or it broke."""
    causes = [*_causes(error)]
    forbidden = next((cause for cause in causes if isinstance(cause, ModelError)), None)
    if forbidden is not None:
        return CallFailure(Action.END_RUN, "the address may not be contacted", forbidden)
    names = {type(cause).__name__ for cause in causes}
    host, slow = endpoint.host, "ConnectTimeout" in names
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        reason, sentence = "no secure connection", f"No secure connection to {host}."
    elif any(isinstance(cause, socket.gaierror) for cause in causes):
        reason, sentence = "the host was not found", f"The host {host} was not found."
    elif slow or names & {"ConnectError", "ProxyError", "UnsupportedProtocol"}:
        reason, sentence = "the host cannot be reached", f"{host} cannot be reached."
    else:
        return CallFailure(Action.RETRY, "the connection broke", billed=True)
    error_of_run = ModelError(sentence, "Check the base URL and the network.")
    return CallFailure(Action.RETRY_UNREACHED, reason, error_of_run, slow=slow)


def _causes(error: BaseException | None) -> list[BaseException]:
    """An error and everything that led to it."""
    causes: list[BaseException] = []
    while error is not None and error not in causes:
        causes.append(error)
        error = error.__cause__ or error.__context__
    return causes


# ------------------------------------------------------------------------------------------------ the end of a run

FAILURES_TO_PROBE = 8
"""Failed calls in a row after which calls go out one at a time."""

ALIKE_FAILURES, ALIKE_SECONDS = 20, 20.0
"""Failed calls, all for one reason and before any answer, that end a run. If a retry may help, this many seconds must have
passed as well: the service may be starting.
"""

FAILURES_TO_PAUSE = 50
"""Failed calls in a row after which a service that has answered before counts as away."""

TIMEOUTS_TO_PAUSE = 10
"""Timeouts without an answer after which it counts as away."""


class ServiceHealth:
    """Counts the answers and failures of a service, and decides when a run slows down, pauses or ends.

    - Away: after an answer, FAILURES_TO_PAUSE calls in a row fail. The run pauses.
    - Silent: FAILURES_TO_PAUSE failures or TIMEOUTS_TO_PAUSE timeouts since the last answer. The run pauses; it ends where no
      answer ever came.
    - Refuses all: ALIKE_FAILURES calls, or all calls of a short run, fail for one reason before any answer. The run ends.
    - Unreachable: nothing connects before any answer. The run ends soon (`Schedule`).

    limit: calls in flight that the service took last. fresh_answers: answers to calls that were sent after the present row of
    failures began; an earlier call says nothing about the time since.
    """

    def __init__(self, host: str, timeout: float, limit: int) -> None:
        self.host, self.timeout, self.limit = host, timeout, limit
        self.answers = self.fresh_answers = 0
        self._answered_at = time.monotonic()
        self._since_answer: Counter[str] = Counter()
        self._in_row: Counter[str] = Counter()
        self._row_began_at = 0.0
        self._refusal: ModelError | None = None

    def restart(self) -> None:
        """Resets the failures since the last answer: after an answer, and before each set of prompts."""
        self._since_answer.clear()
        self._answered_at = time.monotonic()

    def record_answer(self, sent_at: float) -> None:
        """Counts an answer to a call that was sent at this time."""
        self.answers += 1
        self.restart()
        if not self._in_row or sent_at > self._row_began_at:
            self.fresh_answers += 1
            self._in_row.clear()

    def record_failure_in_row(self, failure: CallFailure) -> ServiceDown | None:
        """Counts a failure since the last fresh answer. Returns the error that pauses the run, if there are too many."""
        if not self._in_row:
            self._row_began_at = time.monotonic()
        self._in_row[failure.kind] += 1
        return self._away(self._in_row) if self.answers and self._in_row.total() >= FAILURES_TO_PAUSE else None

    def record_failure_since_answer(self, failure: CallFailure) -> ModelError | None:
        """Counts a failure since the last answer. Returns the error that ends or pauses the run, if there are too many."""
        failures = self._since_answer
        failures[failure.kind] += 1
        self._refusal = failure.error if failure.action is Action.FAIL_PROMPT else None
        count, silent_seconds = failures.total(), time.monotonic() - self._answered_at
        if count < FAILURES_TO_PROBE:
            return None
        is_away = count >= FAILURES_TO_PAUSE or silent_seconds > TIMEOUTS_TO_PAUSE * self.timeout
        if self.answers:
            return self._away(failures) if is_away else None
        are_alike = count >= ALIKE_FAILURES and len(failures) == 1
        are_lasting = failure.action is Action.FAIL_PROMPT or silent_seconds > ALIKE_SECONDS
        return self._never_answered(failure) if is_away or (are_alike and are_lasting) else None

    def probe_wait(self, failure: CallFailure) -> float | None:
        """Returns the seconds before the next single call to a service that seems to be away, else None."""
        excess = self._since_answer.total() - FAILURES_TO_PROBE
        if excess < 0:
            return None
        wait = wait_before(excess + 1, requested=failure.retry_after)
        return wait if failure.retry_after else min(wait, LONGEST_PROBE_WAIT_SECONDS)

    def is_silent_for_long(self, seconds: float) -> bool:
        """Returns whether the last answer will be too old after this many seconds."""
        return time.monotonic() + seconds - self._answered_at > LONGEST_PATIENCE_SECONDS

    def refuses_all(self) -> ModelError | None:
        """Returns the error that ends even a short run: all prompts were refused for one reason that is not theirs."""
        return self._refusal if not self.answers and len(self._since_answer) == 1 else None

    def _away(self, failures: Counter[str]) -> ServiceDown:
        (reason, _), *_ = failures.most_common(1)
        return ServiceDown(
            f"{self.host} gave {self.answers:,} answers, and none to the last {failures.total():,} calls: {reason}.",
            "Resume the run once it is back.",
        )

    def _never_answered(self, failure: CallFailure) -> ModelError:
        failures = self._since_answer
        (kind, count), *_ = failures.most_common(1)
        if failure.error is not None and failure.kind == kind:
            return failure.error
        reason = failure.whole_reason if failure.kind == kind else kind
        return ModelError(
            f"{self.host} has answered none of {failures.total():,} calls. {count:,} failed like this: {reason}.",
            "Check the model's name, the base URL and the service's logs.",
        )
