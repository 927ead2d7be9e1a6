"""So many requests compute at the same time; the others wait, and whoever waits for something else lets them go on.

A crowd's requests share one interpreter's time: forty threads at once make none of them quicker, and leave the process that
asks the models a third of its own. Of those who wait, whoever has computed least lately comes first, so that a look never waits
for another visitor's many runs; each second of waiting makes up for a second of computing, so that everybody's turn comes.
Those who computed much lately share some of the places: a few who press without end leave the others to everybody else.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from medfact.usage import Usage

AT_ONCE = 4
"""More are no quicker in one interpreter, and a short request waits longer beside them (`benchmarks/README.md`)."""

HALF_LIFE_SECONDS = 60.0
"""After so long, half of what somebody has computed is forgiven."""

MUCH_SECONDS = 3.0
"""Whoever has used so much of the processor's time lately shares FOR_MANY places with others like them. A visit uses 0.4 s."""

FOR_MANY = 2
"""Two, so that somebody alone on a server can look at a page while their large run is being recorded."""

PATIENCE_SECONDS = 10.0
"""After so long, whoever has had a place before goes on without one: nothing here may keep a server from answering."""


@dataclass(eq=False)
class Place:
    """Of one who computes, or waits to. since: when they came. of_many: they had computed much."""

    who: Hashable
    since: float
    of_many: bool = False
    is_given: threading.Event = field(default_factory=threading.Event)


class Places:
    """Places for those who compute, and how much each has computed lately."""

    def __init__(self, number: int, for_many: int = FOR_MANY) -> None:
        self.free, self._free_for_many = number, for_many
        self._lock = threading.Lock()
        self._waiting: list[Place] = []
        self._usage = Usage(HALF_LIFE_SECONDS)

    def take(self, who: Hashable, seconds: float | None = None) -> Place | None:
        """A place, when there is one; None where there was none for so many seconds."""
        mine = Place(who, time.monotonic())
        with self._lock:
            self._waiting.append(mine)
            self._give()
        if mine.is_given.wait(seconds):
            return mine
        with self._lock:  # it may have been given just now
            if mine.is_given.is_set():
                return mine
            self._waiting.remove(mine)
            return None

    def give_back(self, place: Place, seconds: float) -> None:
        """Gives a place to the next. seconds: of the processor's time, which were used there."""
        with self._lock:
            self._usage.add(place.who, seconds)
            self.free += 1
            self._free_for_many += place.of_many
            self._give()

    def _give(self) -> None:
        """Gives what is free to those who wait."""
        while self.free and (first := self._first()) is not None:
            self._waiting.remove(first)
            first.of_many = self._computed_much(first)
            self.free -= 1
            self._free_for_many -= first.of_many
            first.is_given.set()

    def _first(self) -> Place | None:
        """Who comes next of those who may; None where nobody does."""
        now = time.monotonic()
        may = [one for one in self._waiting if self._free_for_many or not self._computed_much(one)]
        return min(may, key=lambda one: self._usage.lately(one.who) - (now - one.since), default=None)

    def _computed_much(self, place: Place) -> bool:
        return self._usage.lately(place.who) >= MUCH_SECONDS


@dataclass
class _Mine:
    """The place of this thread, None while it has given it away. before: the processor's time that it had used by then."""

    who: Hashable
    place: Place | None
    before: float


_places = Places(AT_ONCE)
_mine: ContextVar[_Mine | None] = ContextVar("mine", default=None)


@contextmanager
def computing(who: Hashable) -> Iterator[None]:
    """Within it this thread is one of AT_ONCE that compute. Waits for a place, unless it takes part already.

    who: for whom; those who have computed little come first.
    """
    if _mine.get() is not None:
        yield
        return
    token = _mine.set(mine := _Mine(who, _places.take(who), time.thread_time()))
    try:
        yield
    finally:
        _mine.reset(token)
        _give_back(mine)


@contextmanager
def waiting_elsewhere() -> Iterator[None]:
    """Within it a thread that computes has given its place away: it waits for a service, or for another process."""
    mine = _mine.get()
    if mine is None or mine.place is None:
        yield
        return
    _give_back(mine)
    try:
        yield
    finally:
        mine.place, mine.before = _places.take(mine.who, PATIENCE_SECONDS), time.thread_time()


def _give_back(mine: _Mine) -> None:
    if mine.place is not None:
        _places.give_back(mine.place, time.thread_time() - mine.before)
        mine.place = None
