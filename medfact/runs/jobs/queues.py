"""Queues of jobs, one for each kind of model: first come, first served, one job of each owner before a second."""

from __future__ import annotations

import time
from collections import Counter

from cachetools import LRUCache

from medfact.models import BASELINE, LOCAL, SERVICE, provider_of
from medfact.runs.jobs.job import Job

DAY_SECONDS = 86_400

MAX_OWNERS = 10_000
"""Owners whose use is remembered, the latest ones."""


def kind_of(*models: str) -> str:
    """The kind of a model, or of several that are asked together: the kind of which the fewest run at once decides."""
    lanes = {provider_of(model).lane for model in models}
    return next((lane for lane in (LOCAL, SERVICE) if lane in lanes), BASELINE)


class JobQueue:
    """Jobs of one kind of model. At most `max_running` run at once, at most `max_per_owner` of them one owner's.

    First come, first served, but one job of each owner before the second of any: an owner's jobs belong to rounds, each to the
    one after the owner's job before it. The runs of a race start together, as if they were one.
    """

    def __init__(self, max_running: int, max_per_owner: int) -> None:
        self.running: list[Job] = []
        self.last_rate: float | None = None
        self._waiting: list[Job] = []
        self._round = 0  # of the job that was started last
        self._max_running, self._max_per_owner = max_running, max_per_owner
        self._used_today: LRUCache[tuple[float, str], float] = LRUCache(MAX_OWNERS)

    def add(self, job: Job) -> None:
        """Queues a job behind those of its round."""
        rounds = [other.round + 1 for other in (*self.running, *self._waiting) if other.owner == job.owner]
        job.round = max([self._round, *rounds])
        self._waiting.append(job)
        self._waiting.sort(key=lambda waiting: waiting.round)

    def remove(self, job: Job) -> bool:
        """Takes a job out, and charges its owner for the time that it ran; returns whether it waited."""
        if job in self.running:
            self.running.remove(job)
            self._used_today[_day(), job.owner] = self._used_today.get((_day(), job.owner), 0.0) + job.run_seconds
            self.last_rate = job.rate or job.mean_rate or self.last_rate
        if job not in self._waiting:
            return False
        self._waiting.remove(job)
        return True

    def has_waiting(self) -> bool:
        """Whether any job waits."""
        return bool(self._waiting)

    def start_next(self) -> Job | None:
        """Moves the next job to the running ones and returns it; None if none waits that may run now."""
        races = {job.race for job in self.running if job.race}
        of_owner = Counter(job.owner for job in self.running)
        has_room = len(self.running) < self._max_running
        startable = (
            job for job in self._waiting if job.race in races or (has_room and of_owner[job.owner] < self._max_per_owner)
        )
        job = next(startable, None)
        if job is not None:
            self._waiting.remove(job)
            self.running.append(job)
            self._round = max(self._round, job.round)
            job.started_at = time.monotonic()
        return job

    def used_today(self, owner: str) -> float:
        """Seconds that runs of an owner took since midnight, UTC, those under way among them."""
        return self._used_today.get((_day(), owner), 0.0) + sum(job.run_seconds for job in self.running if job.owner == owner)

    def ahead_of(self, job: Job) -> tuple[int, float | None]:
        """How many jobs come before a waiting one, and about how many seconds they take; None where no speed is known yet."""
        if job not in self._waiting:
            return 0, None
        before = [*self.running, *self._waiting[: self._waiting.index(job)]]
        rates = [rate for other in self.running if (rate := other.rate)]
        rate = sum(rates) / len(rates) if rates else self.last_rate
        seconds = sum(other.total - other.done for other in before) / rate / self._max_running if rate else None
        return len(before), seconds


def _day() -> float:
    return time.time() // DAY_SECONDS
