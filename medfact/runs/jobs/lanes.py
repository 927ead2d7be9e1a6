"""Lanes: in which order jobs get their turn, and which one gives way, by what their owners have used."""

from __future__ import annotations

import time
from collections import Counter

from cachetools import LRUCache

from medfact.concurrency import DecayedUsage
from medfact.models import BASELINE, LOCAL, SERVICE, provider_of
from medfact.runs.jobs.job import Job

HALF_LIFE_SECONDS = 600.0
"""After so long, half of what an owner has used is forgiven."""

DAY_SECONDS = 86_400

MOST_OWNERS = 10_000
"""Owners whose use is remembered, the latest ones."""


class UsedToday:
    """Seconds that runs of each owner took since midnight, UTC."""

    def __init__(self) -> None:
        self._used: LRUCache[str, tuple[float, float]] = LRUCache(MOST_OWNERS)

    def add(self, owner: str, seconds: float) -> None:
        """Charges an owner."""
        self._used[owner] = _day(), self.seconds(owner) + seconds

    def seconds(self, owner: str) -> float:
        """Seconds that an owner has used today."""
        day, seconds = self._used.get(owner, (_day(), 0.0))
        return seconds if day == _day() else 0.0


def _day() -> float:
    return time.time() // DAY_SECONDS


SLICE_SECONDS, SHORT_SLICE_SECONDS = 0.5, 0.2
"""How long a job may answer, at least, before it gives way to one of an owner who has used less: usually, and if its own owner
has used much.
"""

MUCH_SECONDS = 10.0
"""An owner whose runs have taken more lately rests between two turns, until nobody else has come for CALM_SECONDS, but not
longer than LONGEST_REST_SECONDS.
"""

CALM_SECONDS = 5.0

LONGEST_REST_SECONDS = 60.0
"""Counted from the beginning of the last turn: on a busy server, too, every run goes on."""


def kind_of(*models: str) -> str:
    """The kind of a model, or of several that are asked together: who has the least room decides."""
    lanes = {provider_of(model).lane for model in models}
    return next((lane for lane in (LOCAL, SERVICE) if lane in lanes), BASELINE)


class Lane:
    """Jobs of one kind of model. At most `most` run at once, at most `most_of_owner` of them one owner's; the others wait.

    Whose runs have taken the least time lately comes first, so that a first run never waits for another owner's many. An owner
    whose runs have taken much rests between turns while others come; calm_seconds: how long nobody else must have come for the
    next turn. The runs of a race have their turn together, as if they were one.
    """

    def __init__(self, most: int, most_of_owner: int, calm_seconds: float = CALM_SECONDS) -> None:
        self.running: list[Job] = []
        self._usage, self._today = DecayedUsage(HALF_LIFE_SECONDS), UsedToday()
        self._waiting: list[Job] = []
        self._most, self._most_of_owner, self._calm_seconds = most, most_of_owner, calm_seconds
        self._last_came: tuple[str, float] | None = None
        self._last_turn: dict[str, float] = {}
        self.last_rate: float | None = None

    def add(self, job: Job) -> None:
        self._waiting.append(job)
        if self.used(job.owner) <= MUCH_SECONDS:
            self._last_came = job.owner, time.monotonic()

    def remove(self, job: Job) -> bool:
        """Takes a job out, and charges its owner for its turn; returns whether it waited."""
        waited = job in self._waiting
        if waited:
            self._waiting.remove(job)
        if job in self.running:
            self.running.remove(job)
            for used in (self._usage, self._today):
                used.add(job.owner, job.turn_seconds)
            self.last_rate = job.rate or job.rate_of_turn or self.last_rate
        return waited

    def pressing(self) -> int:
        """How many jobs run, or wait without resting."""
        return len(self.running) + sum(not self._rests(job) for job in self._waiting)

    def has_waiting(self) -> bool:
        return bool(self._waiting)

    def start_next(self) -> Job | None:
        """Moves the next job to the running ones and returns it; None if none waits that may run now."""
        under_way = {job.race for job in self.running if job.race}
        leaving = {job.race for job in self.running if job.race and job.giving_way}
        joining = [job for job in self._in_order() if job.race in under_way]
        others = self._allowed() if len(self.running) < self._most else []
        job = next((job for job in [*joining, *others] if job.race not in leaving), None)
        if job is not None:
            self._waiting.remove(job)
            self.running.append(job)
            job.begin_turn()
            self._last_turn.pop(job.owner, None)
            self._last_turn[job.owner] = time.monotonic()
            while len(self._last_turn) > MOST_OWNERS:
                del self._last_turn[next(iter(self._last_turn))]
        return job

    def _rests(self, job: Job) -> bool:
        """Whether a job waits for a calm moment: its owner has used much and had a turn lately, and somebody else, who has used
        little, came just now.
        """
        if self._last_came is None or self.used(job.owner) <= MUCH_SECONDS:
            return False
        now, (owner, came) = time.monotonic(), self._last_came
        rested = now - self._last_turn.get(job.owner, 0)
        return owner != job.owner and now - came < self._calm_seconds and rested < LONGEST_REST_SECONDS

    def to_give_way(self) -> list[Job]:
        """The running job that should make room now, with those that race with it: it had its slice, and another owner, who has
        used less, waits.
        """
        if len(self.running) < self._most or any(job.giving_way for job in self.running):
            return []
        first = next(iter(self._allowed()), None)
        ready = [job for job in self.running if first and job.owner != first.owner and job.had_slice(self._slice(job))]
        most = max(ready, key=lambda job: self.used(job.owner), default=None)
        if not first or not most or self.used(most.owner) <= self.used(first.owner) + SLICE_SECONDS:
            return []
        return [job for job in self.running if job is most or (most.race and job.race == most.race)]

    def _slice(self, job: Job) -> float:
        return SHORT_SLICE_SECONDS if self.used(job.owner) > MUCH_SECONDS else SLICE_SECONDS

    def used(self, owner: str) -> float:
        """Seconds that runs of an owner took lately, those under way among them."""
        return self._usage.seconds(owner) + sum(job.turn_seconds for job in self.running if job.owner == owner)

    def used_today(self, owner: str) -> float:
        """Seconds that runs of an owner took since midnight, UTC."""
        return self._today.seconds(owner) + sum(job.turn_seconds for job in self.running if job.owner == owner)

    def _allowed(self) -> list[Job]:
        """The waiting jobs that do not rest and whose owners may have one more running, in order."""
        of_owner = Counter(job.owner for job in self.running)
        return [job for job in self._in_order() if of_owner[job.owner] < self._most_of_owner and not self._rests(job)]

    def _in_order(self) -> list[Job]:
        """The waiting jobs: of who has used least first, to a slice; among equals, one of each owner, then a second of each,
        and so on, counting running ones; then of who had a turn longest ago.
        """
        earlier = Counter(job.owner for job in self.running)
        used = {owner: self.used(owner) // SLICE_SECONDS for owner in {job.owner for job in self._waiting}}
        rank: dict[Job, tuple[float, int, float]] = {}
        for job in self._waiting:
            rank[job] = used[job.owner], earlier[job.owner], self._last_turn.get(job.owner, 0)
            earlier[job.owner] += 1
        return sorted(self._waiting, key=rank.__getitem__)

    def ahead_of(self, job: Job) -> tuple[int, float | None]:
        """How many jobs come before a waiting one, and about how many seconds they take; None where no speed is known yet.

        Of another owner's job a slice counts at most: then it gives way.
        """
        if job not in self._waiting:
            return 0, None
        order = self._in_order()
        before = [*self.running, *order[: order.index(job)]]
        rates = [rate for other in self.running if (rate := other.rate)]
        rate = sum(rates) / len(rates) if rates else self.last_rate
        if not rate:
            return len(before), None
        left = ((other, (other.total - other.done) / rate) for other in before)
        return len(before), sum(
            seconds if other.owner == job.owner else min(seconds, self._slice(other)) for other, seconds in left
        ) / self._most
