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
from medfact.runs.jobs.lanes import Lane, kind_of
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

LOOK_SECONDS = 5.0
"""Time between two looks whether a local model still gives signs."""

TURN_LOOK_SECONDS = 0.2
"""Time between two looks whether a run should give way."""

GAVE_WAY = "It lets another visitor's run go first, and continues by itself."

_KEPT = "The answers so far are kept; resume the run, or choose a smaller model."


def _lanes() -> dict[str, Lane]:
    """The lane of each kind of model. At a service there is always room for another owner, and nobody need rest."""
    services = Lane(32, 3, calm_seconds=0) if is_public_server() else Lane(10, 8, calm_seconds=0)
    return {LOCAL: Lane(1, 1), SERVICE: services, BASELINE: Lane(2, 2)}


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
        self._lanes = _lanes()
        self._lock = threading.RLock()
        self._local, self._beside = (Worker(store.url, self._update, self._died, ask) for _ in range(2))
        sliced = ModelCache(lambda *spec, **options: zero_gpu.in_slices(load_model(*spec, **options)))
        self._on_lent_gpu = RunThreads(store, sliced.load, self._update, partial(_of_owners_quota, ask))
        self._told_of_ends: list[Callable[[str], None]] = []
        self._closed = False
        for watch in (self._watch_local, self._watch_turns):
            threading.Thread(target=watch, daemon=True, name=watch.__name__.strip("_")).start()

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
                self._lanes[kind].add(job)
            if records:
                self._start_next(kind)

    def tell_of_ends(self, tell: Callable[[str], None]) -> None:
        """Has every run that ends told, in the thread that learns of it: `tell` must be quick."""
        self._told_of_ends.append(tell)

    def going(self, owner: str | None = None) -> int:
        """How many runs (of an owner, if given) wait or run here."""
        return sum(job.going and owner in (None, job.owner) for job in list(self._jobs.values()))

    def pressing(self) -> int:
        """How many runs wait or run here, without those that wait for a calm moment."""
        with self._lock:
            return sum(lane.pressing() for lane in self._lanes.values())

    def going_runs(self) -> list[str]:
        """The runs that wait or run here."""
        return [run for run, job in list(self._jobs.items()) if job.going]

    def snapshot(self, run: str) -> Snapshot | None:
        """The job of a run, or None if this process has had none."""
        with self._lock:
            job = self._jobs.get(run)
            if job is None:
                return None
            lane = self._lanes[job.kind]
            return job.snapshot(*lane.ahead_of(job), lane.last_rate)

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
        """Asks a job to end, also while it gives way; returns whether it waited."""
        job.stopping = True
        if job not in self._lanes[job.kind].running:
            return self._lanes[job.kind].remove(job)
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
        """Starts jobs of a lane, as far as there is room."""
        while not self._closed and (job := self._lanes[kind].start_next()) is not None:
            job.apply(JobUpdate())
            self._worker(kind).ask(job.run, job.key, job.budget, job.race, job.for_host)
            if kind == SERVICE:  # others may give way and come again
                job.key = None

    def _watch_turns(self) -> None:
        """Lets jobs that had their slice give way, starts those that waited for a calm moment, and stops those whose owner has
        used up the day's minutes.
        """
        while not self._closed:
            time.sleep(TURN_LOOK_SECONDS)
            with self._lock:
                for kind in (LOCAL, BASELINE):
                    for job in self._lanes[kind].to_give_way():
                        job.giving_way = True
                        self._worker(kind).stop(job.run, WAITING, GAVE_WAY)
                    self._start_next(kind)
                for job in self._lanes[LOCAL].running:
                    if not job.stopping and self.local_minutes_left(job.owner) <= 0:
                        job.stopping = True
                        self._worker(LOCAL).stop(job.run, STOPPED, minutes_are_used_up(job.owner).public)

    def local_minutes_left(self, owner: str) -> float:
        """Minutes that local models may still work for an owner today."""
        return limits().quota_for(owner).local_minutes_a_day - self._lanes[LOCAL].used_today(owner) / 60

    def _watch_local(self) -> None:
        """Kills the process of local models if its run gives no sign for long: a chat template may never end."""
        while not self._closed:
            time.sleep(LOOK_SECONDS)
            lane = self._lanes[LOCAL]
            with self._lock:
                most = SILENT_SECONDS_WHEN_WAITED_FOR if lane.has_waiting() else SILENT_SECONDS
                last = max((job.last_sign for job in lane.running), default=math.inf)  # in a race each waits for the others
                silent = list(lane.running) if time.monotonic() - last > most else []
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
            lane = self._lanes[job.kind]
            gave_way = job.state == WAITING and job in lane.running
            if gave_way or not job.going:
                lane.remove(job)
                if gave_way and not job.stopping:
                    lane.add(job)
                self._start_next(job.kind)
        if job.state == PAUSED:  # nobody has claimed the run if its database was away from the beginning
            end = (job.run, self.store, PAUSED, str(job.reason), job.claim)
            threading.Thread(target=record_end, args=end, daemon=True, name=f"pause-{job.run}").start()
        if gave_way and job.stopping:  # both at the same moment
            self._record_end(job, JobUpdate(STOPPED))
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
