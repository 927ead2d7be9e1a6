"""The jobs of one database: queued, given to a process in turn, stopped, and ended."""

from __future__ import annotations

import math
import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from medfact.errors import Mistake, StoreError
from medfact.limits import is_public_server, is_restricted, limits
from medfact.models import BASELINE, LOCAL, SERVICE, load_model
from medfact.models.local import zero_gpu
from medfact.runs.events import Event
from medfact.runs.jobs.job import Ask, Job, JobUpdate, Snapshot, Together
from medfact.runs.jobs.queues import JobQueue, kind_of
from medfact.runs.jobs.run_threads import ModelCache, RunThreads
from medfact.runs.jobs.worker import Worker
from medfact.runs.run import answer
from medfact.runs.supervision import record_end
from medfact.store import FAILED_RUN, GOING, PAUSED, RUNNING, STOPPED, WAITING, Store
from medfact.store.workers import in_words

STOP_SECONDS = 1.5
"""How long a local model may take to end its batch after Stop, before its process is killed."""

SILENT_SECONDS, SILENT_SECONDS_WHEN_WAITED_FOR = 600.0, 180.0
"""How long a local model may give no sign before its process is killed; the second applies while other runs wait."""

LOOK_SECONDS = 1.0
"""Time between two looks whether a local model still gives signs, and whether its owner has minutes left."""

_KEPT = "The answers so far are kept; resume the run, or choose a smaller model."


def _queues() -> dict[str, JobQueue]:
    """The queue of each kind of model. At a service there is always room for another owner."""
    services = JobQueue(32, 3) if is_public_server() else JobQueue(10, 8)
    return {LOCAL: JobQueue(1, 1), SERVICE: services, BASELINE: JobQueue(2, 2)}


def _of_owners_quota(ask: Ask, run: str, store: Store, **options: Any) -> Iterator[Event]:
    """Asks a run on a lent GPU, out of its owner's quota."""
    zero_gpu.ask_for(store.run(run).owner)
    yield from ask(run, store, **options)


def minutes_are_used_up(owner: str) -> Mistake:
    """What to say to an owner whose minutes of local models are used up."""
    minutes = limits().quota_for(owner).local_minutes_a_day
    return Mistake(
        f"You have used today's {minutes:,.0f} minutes of models on this server.",
        "Your answers are kept: go on after midnight (UTC), or choose a model behind a service.",
    )


class Jobs:
    """All jobs of one database. An application creates it once, and closes it at its end. ask: how a run is asked."""

    def __init__(self, store: Store, ask: Ask = answer) -> None:
        self.store = store
        self._jobs: dict[str, Job] = {}
        self._queues = _queues()
        self._lock = threading.RLock()
        self._local, self._beside = (Worker(store.url, self._update, self._died, ask) for _ in range(2))
        sliced = ModelCache(lambda *spec, **options: zero_gpu.in_slices(load_model(*spec, **options)))
        self._on_lent_gpu = RunThreads(store, sliced.load, self._update, partial(_of_owners_quota, ask))
        self._told_of_ends: list[Callable[[str], None]] = []
        self._closed = False
        threading.Thread(target=self._watch_local, daemon=True, name="watch-local").start()

    def submit(self, run: str, key: str | None = None, budget: float | None = None) -> None:
        """Queues a recorded run. Does nothing if it waits or runs here already.

        key: of its service; kept in memory for this job alone. budget: USD for the whole run, replaces that of its spec.
        Raises Mistake if another process asks it.
        """
        self.submit_all({run: (key, budget)})

    def submit_race(self, runs: Mapping[str, tuple[str | None, float | None]]) -> None:
        """Queues recorded runs that race, each with its key and its budget, to be asked side by side. They end together."""
        self.submit_all(runs, Together(secrets.token_hex(8), tuple(runs)))

    def submit_all(self, runs: Mapping[str, tuple[str | None, float | None]], race: Together | None = None) -> None:
        """Queues recorded runs that are not queued yet: all of them, or none where one cannot be. race: what joins them."""
        with self._lock:
            records = [self.store.run(run) for run in runs if not (run in self._jobs and self._jobs[run].going)]
            for record in records:
                known = self._jobs.get(record.run)
                if record.state == RUNNING and (known is None or known.state != PAUSED):
                    raise Mistake(
                        f"Run {record.run} is being asked by {in_words(record.worker)}.", "Watch it, or stop it there."
                    )
            kind = kind_of(*(record.model for record in records)) if records else ""
            if race:
                race = Together(race.token, tuple(record.run for record in records)) if len(records) > 1 else None
            for record in records:
                known = self._jobs.get(record.run)
                version = known.version + 1 if known else 1
                claim = self.store.last_claim(record.run)
                asking = (*runs[record.run], race, claim, not is_restricted())
                job = Job(record.run, record.owner, kind, record.statements, version, *asking)
                self._jobs[record.run] = job
                self._queues[kind].add(job)
            if records:
                self._start_next(kind)

    def tell_of_ends(self, tell: Callable[[str], None]) -> None:
        """Has every run that ends told, in the thread that learns of it: `tell` must be quick."""
        self._told_of_ends.append(tell)

    def going(self, owner: str | None = None) -> int:
        """How many runs (of an owner, if given) wait or run here."""
        return sum(job.going and owner in (None, job.owner) for job in list(self._jobs.values()))

    def going_runs(self) -> list[str]:
        """The runs that wait or run here."""
        return [run for run, job in list(self._jobs.items()) if job.going]

    def snapshot(self, run: str) -> Snapshot | None:
        """The job of a run, or None if this process has had none."""
        with self._lock:
            job = self._jobs.get(run)
            if job is None:
                return None
            queue = self._queues[job.kind]
            return job.snapshot(*queue.ahead_of(job), queue.last_rate)

    def stop(self, run: str) -> None:
        """Asks a job to end, and those that race with it, which takes little more than STOP_SECONDS; their answers are kept.

        If another program asks the run, that program is asked to stop it.
        """
        with self._lock:
            job = self._jobs.get(run)
            if job is None or not job.going:
                if self.store.run(run).state in GOING:
                    self.store.ask_to_stop(run)
                return
            others = [self._jobs[one] for one in job.race.runs] if job.race else []
            together = [one for one in others if one.race == job.race] or [job]  # one may have been resumed alone
            waited = [one for one in together if one.going and not one.stopping and self._stop_one(one)]
        for one in waited:
            self._record_end(one, JobUpdate(STOPPED))

    def _stop_one(self, job: Job) -> bool:
        """Asks a job to end; returns whether it waited."""
        job.stopping = True
        if job not in self._queues[job.kind].running:
            return self._queues[job.kind].remove(job)
        self._worker(job.kind).stop(job.run)
        if self._worker(job.kind) is self._local:
            timer = threading.Timer(STOP_SECONDS, self._kill_if_going, (job,))
            timer.daemon = True
            timer.start()
        return False

    def _kill_if_going(self, job: Job) -> None:
        if job.going and self._jobs.get(job.run) is job:
            self._local.kill()

    def warm_up(self, model: str) -> None:
        """Loads a local model in its process, so that the first run need not wait for it."""
        if not zero_gpu.is_there():
            self._local.warm_up(model)

    def close(self) -> None:
        """Ends everything; runs that were going on can be resumed."""
        self._closed = True
        self._on_lent_gpu.stop_all()
        self._local.kill()
        self._beside.kill()

    def _worker(self, kind: str) -> Any:
        """Who asks runs of a kind of model. A Space lends its GPU to the page's own process alone."""
        if kind != LOCAL:
            return self._beside
        return self._on_lent_gpu if zero_gpu.is_there() else self._local

    def _start_next(self, kind: str) -> None:
        """Starts jobs of a kind, as far as there is room."""
        while not self._closed and (job := self._queues[kind].start_next()) is not None:
            job.apply(JobUpdate())
            self._worker(kind).ask(job.run, job.key, job.budget, job.race, job.for_host)
            job.key = None

    def local_minutes_left(self, owner: str) -> float:
        """Minutes that local models may still work for an owner today."""
        return limits().quota_for(owner).local_minutes_a_day - self._queues[LOCAL].used_today(owner) / 60

    def _watch_local(self) -> None:
        """Stops local models whose owner has used up the day's minutes, and kills their process if its run gives no sign for
        long: a chat template may never end.
        """
        while not self._closed:
            time.sleep(LOOK_SECONDS)
            queue = self._queues[LOCAL]
            with self._lock:
                for job in queue.running:
                    if not job.stopping and self.local_minutes_left(job.owner) <= 0:
                        job.stopping = True
                        self._worker(LOCAL).stop(job.run, STOPPED, minutes_are_used_up(job.owner).public)
                most = SILENT_SECONDS_WHEN_WAITED_FOR if queue.has_waiting() else SILENT_SECONDS
                last = max((job.last_sign for job in queue.running), default=math.inf)  # in a race each waits for the others
                silent = list(queue.running) if time.monotonic() - last > most else []
                for job in silent:
                    job.silent = True
            if silent and not zero_gpu.is_there():
                self._local.kill()

    def _update(self, run: str, update: JobUpdate) -> None:
        """Applies an update of a run, and starts the next job if the run has ended."""
        with self._lock:
            job = self._jobs[run]
            job.apply(update)
            if not job.going:
                job.key = None
                self._queues[job.kind].remove(job)
                self._start_next(job.kind)
        if job.state == PAUSED:  # nobody has claimed the run if its database was away from the beginning
            end = (job.run, self.store, PAUSED, str(job.reason), job.claim)
            threading.Thread(target=record_end, args=end, daemon=True, name=f"pause-{job.run}").start()
        if not job.going:
            for tell in self._told_of_ends:
                tell(run)

    def _died(self, runs: Iterable[str], exit_code: int | None) -> None:
        """Ends the jobs of a process that is gone: by Stop, at the end, or for a reason, which the runs get."""
        if self._closed:
            return
        with self._lock:
            jobs = [self._jobs[run] for run in runs if self._jobs[run].state == RUNNING]
        for job in jobs:
            self._record_end(job, JobUpdate(STOPPED) if job.stopping else JobUpdate(FAILED_RUN, _why_died(job, exit_code)))

    def _record_end(self, job: Job, update: JobUpdate) -> None:
        """Ends a job whose process cannot record its end. Takes no lock meanwhile: the database may be slow."""
        try:
            self.store.set_state(job.run, update.state, update.reason, since=self.store.last_claim(job.run))
        except StoreError as error:
            update = JobUpdate(PAUSED if job.state == WAITING else FAILED_RUN, error.public)
        self._update(job.run, update)


def _why_died(job: Job, exit_code: int | None) -> str:
    """Why a job's process ended. A negative exit code is the number of a signal."""
    if job.silent:
        return f"The model gave no sign for minutes, and its process was ended. {_KEPT}"
    if exit_code == -signal.SIGKILL:
        return f"The model's process was killed, most often for lack of memory. {_KEPT}"
    if exit_code is not None and exit_code < 0:
        return f"The model's process crashed ({signal.Signals(-exit_code).name}). {_KEPT}"
    return f"The model's process ended (exit code {exit_code}). {_KEPT}"
