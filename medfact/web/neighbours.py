"""Visitors who come from one network address: a new cookie is free, so what its visitors use is counted together too."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from cachetools import LRUCache

from medfact.web.visitors import NOBODY

MOST_VISITORS = 10_000
"""Visitors whose address is remembered, the latest ones."""

SURELY_BEGUN_SECONDS = 60.0
"""So long after they are allowed, runs are queued."""


class Neighbours:
    """From which address visitors ask, and which of them have begun runs."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._address: LRUCache[str, str] = LRUCache(MOST_VISITORS)
        self._began: LRUCache[str, str] = LRUCache(MOST_VISITORS)
        self._going: dict[str, tuple[str, float]] = {}
        self._lock = threading.Lock()

    def note(self, owner: str, address: str) -> None:
        """Remembers where a visitor asks from."""
        if owner != NOBODY and address:
            with self._lock:
                self._address[owner] = address

    def begins(self, owner: str) -> None:
        """A visitor begins runs."""
        with self._lock:
            if address := self._address.get(owner):
                self._began[owner] = address
                self._going[owner] = address, self._clock()

    def going(self, owner: str, going: Callable[[str], int]) -> int:
        """How many runs go on of the visitors at a visitor's address. going: how many of one visitor do."""
        with self._lock:
            counts = {one: going(one) for one in self._going}
            lately = self._clock() - SURELY_BEGUN_SECONDS
            self._going = {one: kept for one, kept in self._going.items() if counts[one] or kept[1] > lately}
            address = self._address.get(owner)
            return sum(counts[one] for one, (where, _) in self._going.items() if where == address)

    def minutes(self, owner: str, used: Callable[[str], float]) -> float:
        """How many minutes the visitors at a visitor's address have used. used: how many one visitor has."""
        with self._lock:
            address = self._address.get(owner)
            return sum(used(one) for one, where in self._began.items() if where == address)
