"""Fair limits on concurrent CPU-bound work: a request that blocks on I/O releases its slot.

All requests share one interpreter. Forty threads at once finish no sooner, and leave a third of the time to the process that
asks the models. Waiters are served by recent usage minus waiting time: a short request overtakes another visitor's long ones,
and no request starves.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from cachetools import LRUCache

COMPUTE_SLOTS = 4
"""Concurrent slots. More are no faster in one interpreter, and delay short requests (`benchmarks/README.md`)."""

HALF_LIFE_SECONDS = 60.0  # of an owner's recorded usage
SLOT_TIMEOUT_SECONDS = 10.0
"""Timeout after which a thread continues without a slot."""

HEAD_START_SECONDS = 2.0
"""Waiting time credited to urgent requests: pressed buttons, views of results, and threads that return from I/O."""

MAX_OWNERS = 10_000  # with recorded usage; the least recently used are dropped


class DecayedUsage:
    """Computing time of each owner in seconds, with exponential decay. half_life: in seconds."""

    def __init__(self, half_life: float) -> None:
        self._half_life = half_life
        self._used: LRUCache[Hashable, tuple[float, float]] = LRUCache(MAX_OWNERS)

    def add(self, owner: Hashable, seconds: float) -> None:
        """Adds computing time to the usage of an owner."""
        self._used[owner] = self.seconds(owner) + seconds, time.monotonic()

    def seconds(self, owner: Hashable) -> float:
        """Decayed usage of an owner, in seconds."""
        now = time.monotonic()
        seconds, updated_at = self._used.get(owner, (0.0, now))
        return float(seconds * 0.5 ** ((now - updated_at) / self._half_life))


@dataclass(eq=False)
class _Waiter:
    """A thread that waits for a slot."""

    owner: Hashable
    since: float  # start of the wait minus the head start, by the monotonic clock
    has_slot: threading.Event = field(default_factory=threading.Event)


class FairSemaphore:
    """A semaphore that serves the owner with the least recent usage first. No owner may hold all slots."""

    def __init__(self, slots: int) -> None:
        self.free = slots
        self._max_per_owner = max(1, slots - 1)
        self._lock = threading.Lock()
        self._held: Counter[Hashable] = Counter()
        self._waiters: list[_Waiter] = []
        self._usage = DecayedUsage(HALF_LIFE_SECONDS)

    def acquire(self, owner: Hashable, timeout: float | None = None, head_start: float = 0.0) -> bool:
        """Acquires a slot; returns False after the timeout. head_start: credited waiting time, in seconds."""
        waiter = _Waiter(owner, time.monotonic() - head_start)
        with self._lock:
            self._waiters.append(waiter)
            self._assign_slots()
        if waiter.has_slot.wait(timeout):
            return True
        with self._lock:  # the slot may have been assigned since the timeout
            if not waiter.has_slot.is_set():
                self._waiters.remove(waiter)
            return waiter.has_slot.is_set()

    def release(self, owner: Hashable, seconds: float, *, has_slot: bool = True) -> None:
        """Charges an owner for computing time and releases its slot, if it has one."""
        with self._lock:
            self._usage.add(owner, seconds)
            if has_slot:
                self._held[owner] -= 1
                self._held += Counter()  # drops owners without a slot
                self.free += 1
                self._assign_slots()

    def _assign_slots(self) -> None:
        """Assigns free slots to waiters, ordered by recent usage minus waiting time."""
        while self.free and (eligible := [entry for entry in self._waiters if self._held[entry.owner] < self._max_per_owner]):
            now = time.monotonic()
            chosen = min(eligible, key=lambda waiter: self._usage.seconds(waiter.owner) - (now - waiter.since))
            self._waiters.remove(chosen)
            self.free -= 1
            self._held[chosen.owner] += 1
            chosen.has_slot.set()


@dataclass
class _SlotHolder:
    """A thread that computes for an owner, with or without a slot."""

    owner: Hashable
    is_held: bool = False  # False after a timeout: the thread computes without a slot
    since: float | None = None  # start of the computation; None while the thread waits for I/O

    def acquire(self, timeout: float | None, head_start: float) -> None:
        """Acquires a slot, or continues without one after the timeout."""
        self.is_held = _semaphore.acquire(self.owner, timeout, head_start)
        self.since = time.monotonic()

    def release(self) -> None:
        """Charges the owner for the time since `acquire`, and releases the slot, if it is held."""
        if self.since is not None:
            _semaphore.release(self.owner, time.monotonic() - self.since, has_slot=self.is_held)
            self.since = None


_semaphore = FairSemaphore(COMPUTE_SLOTS)
_current: ContextVar[_SlotHolder | None] = ContextVar("current", default=None)


@contextmanager
def compute_slot(owner: Hashable, timeout: float | None = None, head_start: float = 0.0) -> Iterator[None]:
    """Holds a compute slot. Reentrant. After the timeout the thread continues without a slot.

    owner: charged for the time. head_start: credited waiting time, in seconds.
    """
    if _current.get() is not None:
        yield
        return
    slot = _SlotHolder(owner)
    slot.acquire(timeout, head_start)
    token = _current.set(slot)
    try:
        yield
    finally:
        _current.reset(token)
        slot.release()


@contextmanager
def slot_released() -> Iterator[None]:
    """Releases the thread's compute slot while it waits for a service or another process."""
    slot = _current.get()
    if slot is None or slot.since is None:
        yield
        return
    slot.release()
    try:
        yield
    finally:
        slot.acquire(SLOT_TIMEOUT_SECONDS, HEAD_START_SECONDS)


def yield_slot() -> None:
    """Yields the thread's slot to waiters with less usage. For long loops."""
    slot = _current.get()
    if slot is not None and slot.since is not None:
        slot.release()
        slot.acquire(SLOT_TIMEOUT_SECONDS, 0.0)
