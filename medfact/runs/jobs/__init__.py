"""Runs out of the page's way: a job outlives the page that started it.

Models on this machine compute in a process of their own, one run at a time, that can be killed; everything else in another,
several runs at once, each in a thread. Each kind has a lane, in which jobs wait their turn. What is answered is on disk; a page
polls a job's snapshot for the rest, and its version says whether anything has changed.
"""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from medfact.errors import Mistake, StoreError
from medfact.models import is_local, is_service, load_model
from medfact.models.local import zero_gpu
from medfact.runs.jobs.worker import Kept, Told, Worker, tell_all
from medfact.runs.run import answer
from medfact.store import FAILED_RUN, PAUSED, RUNNING, STOPPED, WAITING, Store
from medfact.store.workers import in_words

__all__ = ["WAITING", "Jobs", "Snapshot"]

PATIENCE = 1.5
"""Seconds that a local model has to end its batch after Stop, before its process is killed."""

LEAST_SECONDS_FOR_RATE = 0.3
"""Between the first answers and the last; the rate of a shorter time says nothing."""
RATE_WINDOW = 3.0
"""Seconds over which statements per second are counted."""

LOCAL, SERVICE, BASELINE = "local", "service", "baseline"

AT_ONCE = {LOCAL: 1, SERVICE: 10, BASELINE: 2}
"""Kind of a model → how many runs of it are asked at once; others wait their turn."""

OF_ONE = {LOCAL: 1, SERVICE: 8, BASELINE: 2}
"""Kind of a model → how many of these may be one owner's: there is always room for somebody else's at a service."""

SILENT_SECONDS, SILENT_SECONDS_WHEN_WAITED_FOR = 600.0, 180.0
"""A local model that gives no sign for so long is ended; the second, where other runs wait for it."""

LOOKS_EVERY = 5.0
"""Seconds between two looks at whether a local model still gives signs."""


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
    owner: str = ""
    number: int = 0
    state: str = WAITING
    reason: str | None = None
    done: int = 0
    loading: str | None = None
    arrivals: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=256))
    stopping: bool = False
    silent: bool = False
    heard: float = field(default_factory=time.monotonic)
    key: str | None = field(default=None, repr=False)
    budget: float | None = None

    @property
    def going(self) -> bool:
        return self.state in {WAITING, RUNNING}

    def take(self, told: Told) -> None:
        """Brings the job up to date."""
        self.heard = time.monotonic()
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
        if len(recent) < 2 or recent[-1][0] - recent[0][0] < LEAST_SECONDS_FOR_RATE:
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
        self._waiting: dict[str, list[_Job]] = {kind: [] for kind in AT_ONCE}
        self._turns: dict[tuple[str, str], int] = {}
        self._numbers = count(1)
        self._lock = threading.RLock()
        self._local, self._beside = (Worker(store.url, self._told, self._died) for _ in range(2))
        self._lent = Kept(lambda *given, **options: zero_gpu.in_slices(load_model(*given, **options)))
        self._stops: dict[str, threading.Event] = {}
        self._closed = False
        threading.Thread(target=self._look_after_local, daemon=True, name="looks-after-local").start()

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
            version = known.version + 1 if known else 1
            job = _Job(run, _kind(record.model), record.statements, version, record.owner, next(self._numbers))
            job.key, job.budget = key, budget
            self._jobs[run] = job
            self._waiting[job.kind].append(job)
            self._begin(job.kind)

    def going(self, owner: str | None = None) -> int:
        """How many runs (of an owner, where given) are being asked now, or wait for their turn."""
        return sum(job.going and owner in (None, job.owner) for job in list(self._jobs.values()))

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
        running = self._running(job.kind)
        waiting = self._in_turn(job.kind)
        before = waiting[: waiting.index(job)] if job in waiting else []
        rates = [other.rate for other in running if other.rate]
        if not rates or len(rates) < len(running):
            return len(running) + len(before), None
        left = sum(other.total - other.done for other in (*running, *before))
        return len(running) + len(before), left / sum(rates)

    def stop(self, run: str) -> None:
        """Asks a job to end; it does within PATIENCE and a little, and what it has answered is kept. A run that another program
        asks is stopped there, a moment later.
        """
        with self._lock:
            job = self._jobs.get(run)
            if job is not None and job.stopping:
                return
            if job is None or not job.going:
                if self.store.run(run).state in {WAITING, RUNNING}:
                    self.store.ask_to_stop(run)
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

    def _running(self, kind: str) -> list[_Job]:
        return [job for job in self._jobs.values() if job.kind == kind and job.state == RUNNING]

    def _in_turn(self, kind: str) -> list[_Job]:
        """The jobs that wait in a lane, in the order of their turns: one of each owner, then a second one of each, and so on.
        Who is being asked already comes later; who had a turn last, last of those alike.
        """
        ahead = Counter(job.owner for job in self._running(kind))
        rank: dict[str, tuple[int, int, int]] = {}
        for job in self._waiting[kind]:
            rank[job.run] = ahead[job.owner], self._turns.get((kind, job.owner), 0), job.number
            ahead[job.owner] += 1
        return sorted(self._waiting[kind], key=lambda job: rank[job.run])

    def _begin(self, kind: str) -> None:
        """Gives those whose turn it is theirs, as far as there is room."""
        while not self._closed:
            running = self._running(kind)
            of_owner = Counter(job.owner for job in running)
            free = (job for job in self._in_turn(kind) if of_owner[job.owner] < OF_ONE[kind])
            job = next(free, None) if len(running) < AT_ONCE[kind] else None
            if job is None:
                return
            self._waiting[kind].remove(job)
            self._turns[kind, job.owner] = next(self._numbers)
            job.state, job.heard = RUNNING, time.monotonic()
            job.version += 1
            if kind == LOCAL and zero_gpu.is_there():  # which lends its GPU to the page's own process alone
                self._ask_here(job)
            else:
                self._worker(kind).ask(job.run, job.key, job.budget)
            job.key = None

    def _look_after_local(self) -> None:
        """Ends the process of the local models where the run that it is asked gives no sign for long: a chat template may never
        end, and others wait.
        """
        while not self._closed:
            time.sleep(LOOKS_EVERY)
            with self._lock:
                most = SILENT_SECONDS_WHEN_WAITED_FOR if self._waiting[LOCAL] else SILENT_SECONDS
                quiet = [job for job in self._running(LOCAL) if time.monotonic() - job.heard > most]
                for job in quiet:
                    job.silent = True
            if quiet and not zero_gpu.is_there():
                self._local.kill()

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
            why = SILENT if job.silent else _why(code)
            self._record_end(job, Told(STOPPED) if job.stopping else Told(FAILED_RUN, why))

    def _record_end(self, job: _Job, told: Told) -> None:
        """Ends a job whose process cannot say so itself. Pages go on meanwhile, however long the database takes."""
        try:
            self.store.set_state(job.run, told.state, told.reason, since=self.store.taken_up(job.run))
        except StoreError as error:
            told = Told(PAUSED if job.state == WAITING else FAILED_RUN, error.public)
        with self._lock:
            self._end(job, told)


def _kind(model: str) -> str:
    if is_local(model):
        return LOCAL
    return SERVICE if is_service(model) else BASELINE


AFTER = "What was answered is kept; resume the run, or take a smaller model."

SILENT = f"The model gave no sign for minutes, and its process was ended. {AFTER}"


def _why(code: int | None) -> str:
    """Why a process ended, from its exit code; a negative one is a signal's number."""
    after = AFTER
    if code == -signal.SIGKILL:
        return f"The model's process was killed, most often for lack of memory. {after}"
    if code is not None and code < 0:
        return f"The model's process crashed ({signal.Signals(-code).name}). {after}"
    return f"The model's process ended (exit code {code}). {after}"
