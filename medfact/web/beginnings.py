"""Runs that are being begun: they count before they are recorded and queued, so that nobody begins too many at once."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from medfact.concurrency import slot_released

_LOCKS = 4_096


class Beginnings:
    """How many runs each visitor is beginning. One visitor's are begun one after the other; recording them makes nobody else
    wait.
    """

    def __init__(self) -> None:
        self._of_owners = [threading.RLock() for _ in range(_LOCKS)]
        self._counting = threading.Lock()
        self._many: Counter[str] = Counter()

    @contextmanager
    def alone(self, owner: str) -> Iterator[None]:
        """Holds back what else this visitor begins, and now and then somebody else's."""
        lock = self._of_owners[hash(owner) % _LOCKS]
        if not lock.acquire(blocking=False):
            with slot_released():
                lock.acquire()
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def counted(self, owner: str, more: int, check: Callable[[], None]) -> Iterator[None]:
        """So many more runs of an owner count while this lasts, once a check has let them pass. check: is quick; raises
        MedfactError where there is no room.
        """
        with self._counting:
            check()
            self._many[owner] += more
        try:
            yield
        finally:
            with self._counting:
                self._many[owner] -= more
                if not self._many[owner]:
                    del self._many[owner]

    def going(self, owner: str | None = None) -> int:
        """How many runs, of an owner if given, are being begun."""
        return sum(self._many.copy().values()) if owner is None else self._many[owner]
