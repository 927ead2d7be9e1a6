"""So many requests compute at the same time; the others wait, and whoever waits for something else lets them go on.

A crowd's requests share one interpreter's time: forty threads at once make none of them quicker, and leave the process that
asks the models a third of its own. Of those who wait, whoever has computed least lately comes first, so that a look never waits
for another visitor's many runs; each second of waiting makes up for a second of computing, so that everybody's turn comes. What
somebody waits for, or has begun already, counts as if it had waited for some seconds.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from medfact.usage import Usage

AT_ONCE = 4
"""More are no quicker in one interpreter, and a short request waits longer beside them (`benchmarks/README.md`)."""

HALF_LIFE_SECONDS = 60.0
"""After so long, half of what somebody has computed is forgiven."""

PATIENCE_SECONDS = 10.0
"""After so long, whoever gave a place away, or holds a turn to read a file, goes on without one: others may wait for it."""


HEAD_START_SECONDS = 2.0
"""A pressed button, a look at runs, and what had a place already and waited for something else, count as if they had waited
so much longer.
"""


@dataclass(eq=False)
class _Waiting:
    who: Hashable
    since: float
    has_place: threading.Event = field(default_factory=threading.Event)


class Places:
    """Places for those who compute, and how much each has computed lately. One place is left for somebody else, whoever takes
    the others.
    """

    def __init__(self, number: int) -> None:
        self.free = number
        self._most = max(1, number - 1)
        self._lock = threading.Lock()
        self._taken: Counter[Hashable] = Counter()
        self._waiting: list[_Waiting] = []
        self._usage = Usage(HALF_LIFE_SECONDS)

    def take(self, who: Hashable, seconds: float | None = None, head_start: float = 0.0) -> bool:
        """Takes a place, when there is one. seconds: how long it may wait; returns whether it has one. head_start: for how many
        seconds it counts as having waited.
        """
        mine = _Waiting(who, time.monotonic() - head_start)
        with self._lock:
            self._waiting.append(mine)
            self._hand_out()
        if mine.has_place.wait(seconds):
            return True
        with self._lock:  # it may have been given just now
            if not mine.has_place.is_set():
                self._waiting.remove(mine)
            return mine.has_place.is_set()

    def give_back(self, who: Hashable, seconds: float) -> None:
        """Gives a place to the next, or back. seconds: how long it was taken."""
        with self._lock:
            self._usage.add(who, seconds)
            self._taken[who] -= 1
            if not self._taken[who]:
                del self._taken[who]
            self.free += 1
            self._hand_out()

    def charge(self, who: Hashable, seconds: float) -> None:
        """Counts what somebody has computed without a place."""
        with self._lock:
            self._usage.add(who, seconds)

    def _hand_out(self) -> None:
        while self.free and (may := [one for one in self._waiting if self._taken[one.who] < self._most]):
            now = time.monotonic()
            first = min(may, key=lambda one: self._usage.lately(one.who) - (now - one.since))
            self._waiting.remove(first)
            self.free -= 1
            self._taken[first.who] += 1
            first.has_place.set()


@dataclass
class _Place:
    """What this thread computes, for whom, and since when; None while it waits for something else. has: whether it has a place,
    or has waited too long for one.
    """

    who: Hashable
    since: float | None
    has: bool = True


_places = Places(AT_ONCE)
_mine: ContextVar[_Place | None] = ContextVar("mine", default=None)


@contextmanager
def computing(who: Hashable, seconds: float | None = None, head_start: float = 0.0) -> Iterator[None]:
    """Within it this thread is one of AT_ONCE that compute. Waits for a place, unless it takes part already.

    who: for whom; those who have computed little come first. seconds: after so long it goes on without a place. head_start: for
    how many seconds it counts as having waited.
    """
    if _mine.get() is not None:
        yield
        return
    has = _places.take(who, seconds, head_start)
    token = _mine.set(mine := _Place(who, time.monotonic(), has))
    try:
        yield
    finally:
        _mine.reset(token)
        _give_back(mine)


@contextmanager
def waiting_elsewhere() -> Iterator[None]:
    """Within it a thread that computes has given its place away: it waits for a service, or for another process."""
    mine = _mine.get()
    if mine is None or mine.since is None:
        yield
        return
    _give_back(mine)
    try:
        yield
    finally:
        _take_again(mine, HEAD_START_SECONDS)


def give_way() -> None:
    """Lets those go on who have computed less; for what takes long, now and then."""
    mine = _mine.get()
    if mine is not None and mine.since is not None:
        _give_back(mine)
        _take_again(mine, 0.0)


def _take_again(mine: _Place, head_start: float) -> None:
    mine.has = _places.take(mine.who, PATIENCE_SECONDS, head_start)
    mine.since = time.monotonic()


def _give_back(mine: _Place) -> None:
    if mine.since is not None:
        end = _places.give_back if mine.has else _places.charge
        end(mine.who, time.monotonic() - mine.since)
        mine.since = None
