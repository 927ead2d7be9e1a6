"""Runs out of the page's way: a job outlives the page that started it.

Models on this machine compute in a process of their own, one run at a time, that can be killed; everything else in another,
several runs at once, each in a thread. Each kind has a lane, in which jobs wait their turn. What is answered is on disk; a page
polls a job's snapshot for the rest, and its version says whether anything has changed.
"""

from __future__ import annotations

import signal
import threading
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial

from medfact.errors import Mistake, StoreError
from medfact.jobs.worker import Kept, Told, Worker, tell_all
from medfact.models import is_local, is_service, load_model, zero_gpu
from medfact.runner import answer
from medfact.store import FAILED_RUN, PAUSED, RUNNING, STOPPED, WAITING, Store
from medfact.store.workers import in_words

__all__ = ["WAITING", "Jobs", "Snapshot"]

PATIENCE = 1.5
"""Seconds that a local model has to end its batch after Stop, before its process is killed."""

RATE_WINDOW = 3.0
"""Seconds over which statements per second are counted."""

LOCAL, SERVICE, BASELINE = "local", "service", "baseline"

AT_ONCE = {LOCAL: 1, SERVICE: 8, BASELINE: 2}
"""Kind of a model → how many runs of it are asked at once; others wait their turn."""


@dataclass(frozen=True)
class Snapshot:
    """A job at one moment. rate: statements per second; seconds_left: until the end; None where not known yet.

    loading: what is going on while the model is loaded. ahead: runs that come before it, while it waits; seconds_ahead: until
    its turn, None where not known. `version` grows with every change.
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


@dataclass
class _Job:
    run: str
    kind: str
    total: int
    version: int
    state: str = WAITING
    reason: str | None = None
    done: int = 0
    loading: str | None = None
    arrivals: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=256))
    stopping: bool = False
    key: str | None = field(default=None, repr=False)
    budget: float | None = None

    @property
    def going(self) -> bool:
        return self.state in {WAITING, RUNNING}

    def take(self, told: Told) -> None:
        """Brings the job up to date."""
        self.state, self.reason, self.loading = told.state, told.reason, told.loading
        if told.total is not None:
            self.total, self.done = told.total, told.before
        self.done += told.answered
        if told.answered:
            self.arrivals.append((time.monotonic(), self.done))
        self.version += 1

    @property
    def rate(self) -> float | None:
        recent = [a for a in self.arrivals.copy() if a[0] >= time.monotonic() - RATE_WINDOW]
        if len(recent) < 2 or recent[-1][0] == recent[0][0]:
            return None
        return (recent[-1][1] - recent[0][1]) / (recent[-1][0] - recent[0][0])

    @property
    def seconds_left(self) -> float | None:
        rate = self.rate
        return (self.total - self.done) / rate if rate else None


class Jobs:
    """All jobs of one database. Make one for an application, and close it at the end."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._jobs: dict[str, _Job] = {}
        self._waiting: dict[str, deque[_Job]] = {kind: deque() for kind in AT_ONCE}
        self._lock = threading.RLock()
        self._local, self._beside = (Worker(store.url, self._told, self._died) for _ in range(2))
        self._lent = Kept(lambda *given, **options: zero_gpu.in_slices(load_model(*given, **options)))
        self._stops: dict[str, threading.Event] = {}
        self._closed = False

    def submit(self, run: str, key: str | None = None, budget: float | None = None) -> None:
        """Queues a recorded run; nothing happens when it is waiting or running here already.

        key: of its service; kept in memory, for this job alone. budget: USD in all, in place of its spec's.
        Raises Mistake where another process asks it.
        """
        with self._lock:
            known = self._jobs.get(run)
            if known is not None and known.going:
                return
            record = self.store.run(run)
            if record.state == RUNNING and (known is None or known.state != PAUSED):
                raise Mistake(f"Run {run} is being asked by {in_words(record.worker)}.", "Watch it, or stop it there.")
            job = _Job(run, _kind(record.model), record.statements, known.version + 1 if known else 1, key=key, budget=budget)
            self._jobs[run] = job
            self._waiting[job.kind].append(job)
            self._begin(job.kind)

    def going(self) -> int:
        """How many runs are being asked now, or wait for their turn."""
        return sum(job.going for job in list(self._jobs.values()))

    def snapshot(self, run: str) -> Snapshot | None:
        """The job of a run, or None where this process has not had one."""
        with self._lock:
            job = self._jobs.get(run)
            if job is None:
                return None
            ahead, seconds = self._ahead(job)
            going = job.state == RUNNING
            return Snapshot(
                version=1000 * job.version + ahead,
                state=job.state,
                reason=job.reason,
                total=job.total,
                done=job.done,
                rate=job.rate if going else None,
                seconds_left=job.seconds_left if going else None,
                loading=job.loading,
                ahead=ahead,
                seconds_ahead=seconds,
            )

    def _ahead(self, job: _Job) -> tuple[int, float | None]:
        """How many runs come before one that waits, and the seconds that they take, where all their rates are known."""
        if job.state != WAITING:
            return 0, None
        running = [other for other in self._jobs.values() if other.kind == job.kind and other.state == RUNNING]
        before = [other for other in self._waiting[job.kind] if other is not job]
        before = before[: self._waiting[job.kind].index(job)] if job in self._waiting[job.kind] else []
        rates = [other.rate for other in running if other.rate]
        if not rates or len(rates) < len(running):
            return len(running) + len(before), None
        left = sum(other.total - other.done for other in (*running, *before))
        return len(running) + len(before), left / sum(rates)

    def stop(self, run: str) -> None:
        """Asks a job to end; it does within PATIENCE and a little, and what it has answered is kept."""
        with self._lock:
            job = self._jobs.get(run)
            if job is None or not job.going or job.stopping:
                return
            job.stopping = True
            waited = job in self._waiting[job.kind]
            if waited:
                self._waiting[job.kind].remove(job)
            elif run in self._stops:
                self._stops[run].set()
            else:
                self._worker(job.kind).stop(run)
                if job.kind == LOCAL:
                    timer = threading.Timer(PATIENCE, self._lose_patience, (job,))
                    timer.daemon = True
                    timer.start()
        if waited:
            self._record_end(job, Told(STOPPED))

    def _lose_patience(self, job: _Job) -> None:
        if job.going and self._jobs.get(job.run) is job:
            self._local.kill()

    def warm_up(self, model: str) -> None:
        """Starts the processes, and loads a local model in its own, so that the first run need not wait for them."""
        self._beside.prepare()
        if not zero_gpu.is_there():
            self._local.warm_up(model)

    def close(self) -> None:
        """Ends everything; runs that were going on can be resumed."""
        self._closed = True
        for stop in self._stops.values():
            stop.set()
        self._local.kill()
        self._beside.kill()

    # ------------------------------------------------------------------------------------------------ lanes

    def _worker(self, kind: str) -> Worker:
        return self._local if kind == LOCAL else self._beside

    def _begin(self, kind: str) -> None:
        """Gives the first ones in the lane their turn, as far as there is room."""
        while self._waiting[kind] and not self._closed:
            busy = sum(job.kind == kind and job.state == RUNNING for job in self._jobs.values())
            if busy >= AT_ONCE[kind]:
                return
            job = self._waiting[kind].popleft()
            job.state = RUNNING
            job.version += 1
            if kind == LOCAL and zero_gpu.is_there():  # which lends its GPU to the page's own process alone
                self._ask_here(job)
            else:
                self._worker(kind).ask(job.run, job.key, job.budget)
            job.key = None

    def _ask_here(self, job: _Job) -> None:
        stop = self._stops[job.run] = threading.Event()
        events = partial(answer, job.run, self.store, stopped=stop.is_set, load=self._lent.load)
        asking = (events, job.run, self.store, partial(self._told, job.run))
        threading.Thread(target=tell_all, args=asking, daemon=True, name=f"run-{job.run}").start()

    def _told(self, run: str, told: Told) -> None:
        with self._lock:
            job = self._jobs[run]
            if told.state == RUNNING:
                job.take(told)
            else:
                self._end(job, told)

    def _end(self, job: _Job, told: Told) -> None:
        job.take(told)
        self._stops.pop(job.run, None)
        self._begin(job.kind)

    def _died(self, runs: Iterable[str], code: int | None) -> None:
        """A process is gone: by Stop, at the end, or for a reason that becomes that of its runs."""
        if self._closed:
            return
        with self._lock:
            jobs = [self._jobs[run] for run in runs if self._jobs[run].state == RUNNING]
        for job in jobs:
            self._record_end(job, Told(STOPPED) if job.stopping else Told(FAILED_RUN, _why(code)))

    def _record_end(self, job: _Job, told: Told) -> None:
        """Ends a job whose process cannot say so itself. Pages go on meanwhile, however long the database takes."""
        try:
            self.store.set_state(job.run, told.state, told.reason, since=self.store.taken_up(job.run))
        except StoreError as error:
            told = Told(PAUSED if job.state == WAITING else FAILED_RUN, str(error))
        with self._lock:
            self._end(job, told)


def _kind(model: str) -> str:
    if is_local(model):
        return LOCAL
    return SERVICE if is_service(model) else BASELINE


def _why(code: int | None) -> str:
    """Why a process ended, from its exit code; a negative one is a signal's number."""
    after = "What was answered is kept; resume the run, or take a smaller model."
    if code == -signal.SIGKILL:
        return f"The model's process was killed, most often for lack of memory. {after}"
    if code is not None and code < 0:
        return f"The model's process crashed ({signal.Signals(-code).name}). {after}"
    return f"The model's process ended (exit code {code}). {after}"
