"""Runs out of the page's way: a job outlives the page that started it.

Local models compute in a process of their own that can be killed; everything else runs in a thread. Each kind has one lane,
in which jobs wait their turn. A page polls a job's snapshot; its version says whether anything has changed.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from medfact.errors import MedfactError, StoreError
from medfact.models import HERE, Model, Placement, is_local, is_service, load_model, zero_gpu
from medfact.models.machine import memory_is_short
from medfact.runner import Answered, Event, Failed, Finished, Loading, Started, answer
from medfact.store import FAILED_RUN, RUNNING, STOPPED, Answer, Store

PATIENCE = 1.5
"""Seconds that a local model has to end its batch after Stop, before its process is killed."""

RATE_WINDOW = 3.0
"""Seconds over which statements per second are counted."""

IDLE = 900.0
"""Seconds that a local model is kept loaded after its last run."""

LOOK = 5.0
"""Seconds between two looks at whether it should be kept."""

WAITING = "waiting"
"""State of a job that has not had its turn yet; the other states are those of its run."""


@dataclass(frozen=True)
class Snapshot:
    """A job at one moment. rate: statements per second, seconds_left: until the end; None where not known yet.

    loading: what is going on while the model is loaded. answers: those that came since the job was started.
    `version` grows with every change.
    """

    version: int
    state: str
    reason: str | None
    total: int
    done: int
    rate: float | None
    seconds_left: float | None
    answers: tuple[Answer, ...]
    loading: str | None = None


@dataclass
class _Job:
    run: str
    model: str
    state: str = WAITING
    reason: str | None = None
    version: int = 1
    total: int = 0
    before: int = 0
    loading: str | None = None
    answers: list[Answer] = field(default_factory=list)
    arrivals: list[tuple[float, int]] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)
    key: str | None = field(default=None, repr=False)

    def take(self, event: Event) -> None:
        """Brings the job up to date with one event."""
        if isinstance(event, Started):
            self.state, self.total, self.before = RUNNING, event.statements, event.answered
        elif isinstance(event, Loading):
            self.loading = event.said
        elif isinstance(event, Answered):
            self.loading = None
            self.answers += event.answers
            self.arrivals.append((time.monotonic(), len(self.answers)))
        elif isinstance(event, Failed):
            self.state, self.reason = FAILED_RUN, str(event.error)
        else:
            self.state, self.reason = event.state, event.reason
        self.version += 1

    def snapshot(self) -> Snapshot:
        rate = self._rate() if self.state == RUNNING else None
        done = self.before + len(self.answers)
        return Snapshot(
            version=self.version,
            state=self.state,
            reason=self.reason,
            total=self.total,
            done=done,
            rate=rate,
            seconds_left=(self.total - done) / rate if rate else None,
            answers=tuple(self.answers),
            loading=self.loading,
        )

    def _rate(self) -> float | None:
        recent = [a for a in self.arrivals if a[0] >= time.monotonic() - RATE_WINDOW]
        if len(recent) < 2 or recent[-1][0] == recent[0][0]:
            return None
        return (recent[-1][1] - recent[0][1]) / (recent[-1][0] - recent[0][0])


class Jobs:
    """All jobs of one database. Make one for an application, and close it at the end."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._jobs: dict[str, _Job] = {}
        self._lock = threading.Lock()
        self._local = _LocalProcess(store.url)
        self._sliced = _Kept(lambda *given, **options: zero_gpu.in_slices(load_model(*given, **options)))
        self._lanes: dict[bool, queue.Queue[_Job | None]] = {True: queue.Queue(), False: queue.Queue()}
        for local, lane in self._lanes.items():
            threading.Thread(target=self._serve, args=(lane, local), daemon=True, name=f"lane-{local}").start()

    def submit(self, run: str, key: str | None = None) -> None:
        """Queues a recorded run; nothing happens when it is waiting or running already. A model behind a service waits for no
        other.

        key: of its service; kept in memory, for this job alone.
        """
        with self._lock:
            known = self._jobs.get(run)
            if known is None or known.state not in {WAITING, RUNNING}:
                record = self.store.run(run)
                job = _Job(run, record.model, total=record.statements, key=key)
                self._jobs[run] = job
                if is_service(record.model):
                    lane: queue.Queue[_Job | None] = queue.Queue()
                    lane.put(job)
                    lane.put(None)
                    threading.Thread(target=self._serve, args=(lane, False), daemon=True, name=f"service-{run}").start()
                else:
                    self._lanes[is_local(record.model)].put(job)

    def snapshot(self, run: str) -> Snapshot | None:
        """The job of a run, or None where this process has not had one."""
        with self._lock:
            job = self._jobs.get(run)
        return job.snapshot() if job else None

    def stop(self, run: str) -> None:
        """Asks a job to end; it does within PATIENCE and a little, and what it has answered is kept."""
        with self._lock:
            job = self._jobs.get(run)
        if job is not None and job.state in {WAITING, RUNNING}:
            job.stop.set()

    def warm_up(self, model: str) -> None:
        """Loads a local model in its process, so that the first run need not wait for it."""
        if not zero_gpu.is_there():
            self._local.warm_up(model)

    def close(self) -> None:
        """Stops everything; runs that were going on can be resumed."""
        for job in list(self._jobs.values()):
            job.stop.set()
        for lane in self._lanes.values():
            lane.put(None)
        self._local.kill()

    def _serve(self, lane: queue.Queue[_Job | None], local: bool) -> None:
        while (job := lane.get()) is not None:
            with contextlib.suppress(StoreError):
                self._work(job, local)

    def _work(self, job: _Job, local: bool) -> None:
        if job.stop.is_set():
            self.store.set_state(job.run, STOPPED)
            job.take(Finished(job.run, STOPPED, 0, 0.0))
            return
        try:
            for event in self._events(job, local):
                job.take(event)
        except MedfactError as error:
            job.take(Failed(job.run, error))
        except _Died as died:
            self._bury(job, died)

    def _events(self, job: _Job, local: bool) -> Iterator[Event]:
        if not local:
            return answer(job.run, self.store, stopped=job.stop.is_set, key=job.key)
        if zero_gpu.is_there():  # which lends its GPU to the page's own process alone
            return answer(job.run, self.store, stopped=job.stop.is_set, load=self._sliced.load)
        return self._local.answer(job)

    def _bury(self, job: _Job, died: _Died) -> None:
        """The local process is gone: by Stop, or for a reason that becomes the run's."""
        if job.stop.is_set():
            self.store.set_state(job.run, STOPPED)
            job.take(Finished(job.run, STOPPED, 0, 0.0))
            return
        error = StoreError(
            f"The model's process ended (exit code {died.code}), often for lack of memory.",
            "What was answered is kept; resume the run, or take a smaller model.",
        )
        self.store.set_state(job.run, FAILED_RUN, str(error))
        job.take(Failed(job.run, error))


# ---------------------------------------------------------------------------------------- the local process


class _Died(Exception):
    """The local process ended without being asked to."""

    def __init__(self, code: int | None) -> None:
        super().__init__(code)
        self.code = code


class _LocalProcess:
    """A process that keeps local models loaded. It is started when first needed, and again after it died."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._context = multiprocessing.get_context("spawn")
        self._lock = threading.Lock()
        self._process: Any = None
        self._connection: Connection | None = None
        self._stop: Any = None

    def _ready(self) -> Connection:
        with self._lock:
            if self._connection is None or not self._process.is_alive():
                # Threads that wait for each other by spinning starve where the page, or its browser, needs a processor too.
                os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
                ours, theirs = self._context.Pipe()
                self._stop = self._context.Event()
                self._process = self._context.Process(target=_local_process, args=(theirs, self._stop, self._url), daemon=True)
                self._process.start()
                theirs.close()
                self._connection = ours
            return self._connection

    def warm_up(self, model: str) -> None:
        self._ready().send(("warm up", model))

    def answer(self, job: _Job) -> Iterator[Event]:
        connection = self._ready()
        process = self._process
        self._stop.clear()
        deadline: float | None = None
        try:
            connection.send(("answer", job.run))
            while True:
                if job.stop.is_set() and deadline is None:
                    self._stop.set()
                    deadline = time.monotonic() + PATIENCE
                if deadline is not None and time.monotonic() > deadline:
                    self.kill()
                    raise _Died(None)
                if connection.poll(0.05):
                    event = connection.recv()
                    if event is None:
                        return
                    yield event
        except (EOFError, OSError):
            process.join(1)
            self.kill()
            raise _Died(process.exitcode) from None

    def kill(self) -> None:
        with self._lock:
            if self._process is not None:
                self._process.kill()
                self._process.join()
            if self._connection is not None:
                self._connection.close()
            self._process = self._connection = None


def _local_process(connection: Connection, stop: Any, url: str) -> None:
    """The loop of the local process: runs one job at a time, and keeps the last model loaded."""
    store = Store(url)
    kept = _Kept()
    while True:
        try:
            while not connection.poll(LOOK):
                kept.release_if(time.monotonic() - kept.used > IDLE or memory_is_short())
            kind, name = connection.recv()
        except (EOFError, KeyboardInterrupt):
            return
        if kind == "warm up":
            with contextlib.suppress(MedfactError):
                kept.load(name)
            continue
        try:
            for event in answer(name, store, stopped=stop.is_set, load=kept.load):
                connection.send(event)
        except MedfactError as error:
            connection.send(Failed(name, error))
        kept.used = time.monotonic()
        connection.send(None)


class _Kept:
    """The last model that was loaded, for the runs that come after; `used` is when it was last asked for."""

    def __init__(self, load: Callable[..., Model] = load_model) -> None:
        self._load = load
        self._model: dict[tuple[str, Placement], Model] = {}
        self.used = time.monotonic()

    def load(self, spec: str, *, placement: Placement = HERE, **options: Any) -> Model:
        self.used = time.monotonic()
        if (spec, placement) not in self._model:
            self._model.clear()
            gc.collect()
            self._model[spec, placement] = self._load(spec, placement=placement, **options)
        return self._model[spec, placement]

    def release_if(self, wanted: bool) -> None:
        if wanted and self._model:
            self._model.clear()
            gc.collect()
