"""Lanes: in which order jobs get their turn."""

from __future__ import annotations

from collections import Counter
from itertools import count

from medfact.models import is_local, is_service
from medfact.runs.jobs.job import Job

LOCAL, SERVICE, BASELINE = "local", "service", "baseline"
"""Kinds of models."""


def kind_of(*models: str) -> str:
    """The kind of a model, or of several that are asked together: who has the least room decides."""
    if any(map(is_local, models)):
        return LOCAL
    return SERVICE if any(map(is_service, models)) else BASELINE


class Lane:
    """Jobs of one kind of model. At most `most` run at once, at most `most_of_owner` of them one owner's; the others wait.

    The runs of a race have their turn together, as if they were one.
    """

    def __init__(self, most: int, most_of_owner: int) -> None:
        self.running: list[Job] = []
        self._waiting: list[Job] = []
        self._most, self._most_of_owner = most, most_of_owner
        self._turns = count(1)
        self._last_turn: dict[str, int] = {}

    def add(self, job: Job) -> None:
        self._waiting.append(job)

    def remove(self, job: Job) -> bool:
        """Takes a job out; returns whether it waited."""
        waited = job in self._waiting
        for jobs in (self.running, self._waiting):
            if job in jobs:
                jobs.remove(job)
        return waited

    def has_waiting(self) -> bool:
        return bool(self._waiting)

    def start_next(self) -> Job | None:
        """Moves the next job to the running ones and returns it; None if none waits that may run now."""
        of_owner, order = Counter(job.owner for job in self.running), self._in_order()
        races = {job.race for job in self.running if job.race}
        room = len(self.running) < self._most
        allowed = (job for job in order if job.race in races or (room and of_owner[job.owner] < self._most_of_owner))
        job = next(allowed, None)
        if job is not None:
            self._waiting.remove(job)
            self.running.append(job)
            self._last_turn[job.owner] = next(self._turns)
        return job

    def _in_order(self) -> list[Job]:
        """The waiting jobs: one of each owner, then a second of each, and so on, counting running ones.

        Among equals, who had a turn longest ago comes first.
        """
        earlier = Counter(job.owner for job in self.running)
        rank: dict[Job, tuple[int, int]] = {}
        for job in self._waiting:
            rank[job] = earlier[job.owner], self._last_turn.get(job.owner, 0)
            earlier[job.owner] += 1
        return sorted(self._waiting, key=rank.__getitem__)

    def ahead_of(self, job: Job) -> tuple[int, float | None]:
        """How many jobs come before a waiting one, and the seconds that they take, if all running ones have a rate."""
        if job not in self._waiting:
            return 0, None
        order = self._in_order()
        before = [*self.running, *order[: order.index(job)]]
        rates = [other.rate for other in self.running if other.rate]
        if not rates or len(rates) < len(self.running):
            return len(before), None
        return len(before), sum(other.total - other.done for other in before) / sum(rates)
