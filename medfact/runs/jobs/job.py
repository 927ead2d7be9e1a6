"""A job: a run that waits for its turn or is being asked, and how far it is."""

from __future__ import annotations

import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from medfact.errors import MedfactError, ServiceDown, StoreError
from medfact.extras import not_installed_errors
from medfact.runs.events import AnswersSaved, Event, Failed, Loading, Noted, PushesSaved, Started
from medfact.runs.patience import never, patient
from medfact.store import FAILED_RUN, GOING, PAUSED, RUNNING, WAITING, Store

_log = logging.getLogger(__package__)

_RATE_SECONDS = 3.0
"""The time over which statements per second are averaged."""

_LEAST_RATE_SECONDS = 0.3
"""A rate over a shorter time means nothing."""


@dataclass(frozen=True)
class JobUpdate:
    """What an event changes in a job. The answers themselves are on disk.

    state: from now on. loading: the current step. answered: number of new answers. total: statements of the run, and
    answered_before: how many had an answer when it was started or resumed; both come with its start alone.
    """

    state: str = RUNNING
    reason: str | None = None
    loading: str | None = None
    answered: int = 0
    total: int | None = None
    answered_before: int = 0


def _update_of(event: Event) -> JobUpdate:
    match event:
        case Started():
            return JobUpdate(total=event.statements, answered_before=event.answered)
        case Loading() | PushesSaved():
            return JobUpdate(loading=event.step)
        case AnswersSaved():
            return JobUpdate(answered=len(event.answers))
        case Noted():
            return JobUpdate()
        case Failed():
            return JobUpdate(PAUSED if isinstance(event.error, StoreError | ServiceDown) else FAILED_RUN, event.error.public)
    return JobUpdate(event.state, event.reason)


@dataclass(frozen=True)
class Together:
    """The runs of a race: asked by one process, at the same time. token: names this time that they are asked."""

    token: str
    runs: tuple[str, ...]


Ask = Callable[..., Iterator[Event]]
"""Asks a run of a store, with the options of `runs.run.answer`, and yields events. A module's function: processes get it."""


def ask_run(ask: Ask, run: str, store: Store, report: Callable[[JobUpdate], None], **options: Any) -> None:
    """Asks a run to its end and reports every change, errors of medfact itself included. options: of `answer`."""
    try:
        with not_installed_errors():
            for event in ask(run, patient(store, options.get("stopped", never)), **options):
                report(_update_of(event))
        return
    except StoreError as error:
        _log.debug("Run %s pauses: the database cannot be used.", run, exc_info=True)
        report(JobUpdate(PAUSED, error.public))
        return
    except MedfactError as error:
        _log.debug("Run %s failed.", run, exc_info=True)
        reason = error.public
    except Exception as error:
        _log.exception("Run %s failed by an error in medfact itself.", run)
        reason = f"An error in medfact itself: {type(error).__name__}. The answers so far are kept."
    with contextlib.suppress(StoreError):
        store.set_state(run, FAILED_RUN, reason)
    report(JobUpdate(FAILED_RUN, reason))


@dataclass(frozen=True)
class Snapshot:
    """A job at one moment. rate: statements per second; seconds_left: until the end; None if not known yet.
    seconds_of_answering: what its answers will take, at the speed of the run before it where its own is not known.

    loading: the current step while the model is loaded, or its answers are pushed. ahead: number of runs before it while it
    waits; seconds_ahead: until its turn, None if not known. `version` changes with everything else.
    """

    version: int
    state: str
    reason: str | None
    total: int
    done: int
    rate: float | None
    seconds_left: float | None
    loading: str | None = None
    ahead: int = 0
    seconds_ahead: float | None = None
    seconds_of_answering: float | None = None


@dataclass(eq=False)
class Job:
    """A run that is asked or waits. key: of its service, kept in memory until its turn. budget: replaces that of its spec.
    race: the runs that it races with, itself among them; its kind is that of them all.

    last_sign: time of its last update, on the monotonic clock. stopping: stopped by hand. silent: gave no sign for too long.
    round: of its queue. started_at: when it left the queue. done_before: answers from before that. claim: the number of the
    run's last claim when it was queued.
    for_host: true for runs that the host of the server has queued. Only these use folders and keys of this machine.
    """

    run: str
    owner: str
    kind: str
    total: int
    version: int
    key: str | None = field(repr=False)
    budget: float | None
    race: Together | None = None
    claim: int = 0
    for_host: bool = False
    state: str = WAITING
    reason: str | None = None
    done: int = 0
    loading: str | None = None
    stopping: bool = False
    silent: bool = False
    round: int = 0
    started_at: float | None = None
    done_before: int = 0
    last_sign: float = field(default_factory=time.monotonic)
    _progress: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=256))

    @property
    def going(self) -> bool:
        return self.state in GOING

    def apply(self, update: JobUpdate) -> None:
        """Applies what an event has changed."""
        self.last_sign = time.monotonic()
        self.state, self.reason, self.loading = update.state, update.reason, update.loading
        if update.total is not None:
            self.total = update.total
            self.done = self.done_before = update.answered_before
        self.done += update.answered
        if update.answered:
            self._progress.append((self.last_sign, self.done))
        self.version += 1

    @property
    def run_seconds(self) -> float:
        """Seconds since it was started, loading of its model among them; those that race with it share the time."""
        racers = len(self.race.runs) if self.race else 1
        return 0.0 if self.started_at is None else (time.monotonic() - self.started_at) / racers

    @property
    def rate(self) -> float | None:
        """Statements per second lately; None if not known."""
        recent = [point for point in self._progress.copy() if point[0] >= time.monotonic() - _RATE_SECONDS]
        if len(recent) < 2 or recent[-1][0] - recent[0][0] < _LEAST_RATE_SECONDS:
            return None
        return (recent[-1][1] - recent[0][1]) / (recent[-1][0] - recent[0][0])

    @property
    def mean_rate(self) -> float | None:
        """Statements per second since it was started; None before the first answer."""
        return (self.done - self.done_before) / self.run_seconds or None if self.run_seconds else None

    def snapshot(self, ahead: int, seconds_ahead: float | None, last_rate: float | None) -> Snapshot:
        """The job now. ahead, seconds_ahead: of its queue. last_rate: of the run that was asked before."""
        left = self.total - self.done
        rate = self.rate if self.state == RUNNING else None
        seconds_left = left / rate if rate else None
        answering = seconds_left or (left / last_rate if last_rate else None)
        version = 1000 * self.version + ahead
        return Snapshot(
            version,
            self.state,
            self.reason,
            self.total,
            self.done,
            rate,
            seconds_left,
            self.loading,
            ahead,
            seconds_ahead,
            answering,
        )
