"""Which uploads may begin: so many at once, and so many files and bytes an hour, of one visitor and of all."""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import ceil

from medfact.errors import MedfactError
from medfact.limits import limits

HOUR_SECONDS = 3_600.0
MEGABYTE = 1_000_000
MOST_VISITORS = 10_000
SOON_SECONDS = 5
"""When to try again where others upload just now."""


class NotNow(MedfactError):
    """A request that may come again. seconds: after how many."""

    def __init__(self, problem: str, seconds: float) -> None:
        self.seconds = max(1, ceil(seconds))
        minutes = ceil(self.seconds / 60)
        wait = f"{self.seconds} seconds" if self.seconds < 120 else f"{minutes} minutes"
        super().__init__(problem, f"Try again in {'a second' if self.seconds == 1 else wait}.")


class UploadGate:
    """Counts uploads. clock: seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._now: Counter[str] = Counter()
        self._lately: OrderedDict[str, deque[tuple[float, float]]] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def uploading(self, owner: str, megabytes: float) -> Iterator[None]:
        """Meanwhile a visitor uploads a body of so many megabytes. Raises NotNow where that may not begin."""
        with self._lock:
            self._check(owner, megabytes)
            self._now[owner] += 1
            self._lately.setdefault(owner, deque()).append((self._clock(), megabytes))
            self._lately.move_to_end(owner)
            while len(self._lately) > MOST_VISITORS:
                self._lately.popitem(last=False)
        try:
            yield
        finally:
            with self._lock:
                self._now[owner] -= 1
                self._now += Counter()  # without those at nought

    def _check(self, owner: str, megabytes: float) -> None:
        share, now = limits().of(owner), self._clock()
        lately = self._lately.get(owner, deque())
        while lately and now - lately[0][0] > HOUR_SECONDS:
            lately.popleft()
        if self._now[owner] >= share.uploads_at_once:
            raise NotNow(f"You upload {self._now[owner]} files just now, which is the most at once.", SOON_SECONDS)
        if self._now.total() >= limits().in_all.uploads_at_once:
            raise NotNow("Many visitors upload files just now.", SOON_SECONDS)
        if len(lately) >= share.uploads_an_hour:
            until = HOUR_SECONDS - (now - lately[0][0])
            raise NotNow(f"You have uploaded {len(lately)} files within an hour, which is the most.", until)
        if sum(size for _, size in lately) + megabytes > share.megabytes_an_hour:
            most = f"{share.megabytes_an_hour:,.0f} MB are the most that you may upload within an hour."
            raise NotNow(most, HOUR_SECONDS - (now - lately[0][0]) if lately else HOUR_SECONDS)
