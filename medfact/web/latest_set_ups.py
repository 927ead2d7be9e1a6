"""What visitors have chosen last: told to a page at once, and written a moment later, many in one transaction."""

from __future__ import annotations

import logging
import threading

from medfact.errors import StoreError
from medfact.log_setup import suppressed
from medfact.store import Store
from medfact.store.contributions import MOST_SET_UPS

_log = logging.getLogger(__package__)

_TOGETHER_SECONDS = 0.2
"""How long what is chosen waits for what others choose, before it is written."""


class LatestSetUps:
    """Nobody waits for the database to keep what they chose. What cannot be written is kept for as long as this process
    lasts, and of as many owners as the database would keep.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._unwritten: dict[str, str] = {}
        self._lock, self._there, self._over = threading.Lock(), threading.Event(), threading.Event()
        self._writing = threading.Lock()
        self._thread: threading.Thread | None = None

    def last(self, owner: str) -> str:
        """What this owner chose last, as JSON; "" for nothing."""
        with self._lock:
            if owner in self._unwritten:
                return self._unwritten[owner]
        return self._store.of(owner).set_ups.last()

    def keep(self, owner: str, chosen: str) -> None:
        """Keeps what this owner has chosen, in place of what was kept before."""
        with self._lock:
            self._unwritten[owner] = chosen
            if len(self._unwritten) > MOST_SET_UPS:
                del self._unwritten[next(iter(self._unwritten))]
            if self._thread is None:
                self._thread = threading.Thread(target=self._write_on, daemon=True, name="set-ups")
                self._thread.start()
        self._there.set()

    def close(self) -> None:
        """Writes what is not written yet; nothing is kept after that."""
        self._over.set()
        self._there.set()
        self._write()

    def _write_on(self) -> None:
        while not self._over.is_set():
            self._there.wait()
            self._over.wait(_TOGETHER_SECONDS)
            self._there.clear()
            self._write()

    def _write(self) -> None:
        with self._writing:
            with self._lock:
                now = dict(self._unwritten)
            with suppressed(_log, StoreError):  # another time, or never: a page is shown all the same
                self._store.set_ups.keep_all(now)
                with self._lock:
                    for owner, chosen in now.items():
                        if self._unwritten.get(owner) == chosen:
                            del self._unwritten[owner]
