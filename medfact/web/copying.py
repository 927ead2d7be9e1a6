"""Copies the database out while the server runs: soon after a run has ended or something was erased for good, now and then
while runs go on, and at the end.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import closing, suppress

from medfact.store.bucket import Copies

_log = logging.getLogger(__package__)

LOOK_SECONDS = 5.0
"""Time between two looks whether a copy is due."""

WHILE_RUNS_GO_SECONDS = 300.0
"""Time between two copies while runs go on and none has ended."""

REST = 20
"""So many times as long as a copy took, none follows it."""


class CopyingOut:
    """Writes copies, in a thread. going: the runs that go on. erased: set when something was erased for good, which older
    copies still hold.
    """

    def __init__(self, copies: Copies, going: Callable[[], Iterable[str]], erased: threading.Event) -> None:
        self._copies, self._going, self._erased = copies, going, erased
        self._over, self._lock = threading.Event(), threading.Lock()
        self._last, self._not_before, self._problem = time.monotonic(), 0.0, ""

    def begin(self) -> None:
        threading.Thread(target=self._keep, daemon=True, name="copies").start()

    def end(self) -> None:
        """Writes the last copy."""
        self._over.set()
        self.write()

    def _keep(self) -> None:
        going, copied = set(self._going()), None
        with closing(sqlite3.connect(self._copies.file)) as database:
            while not self._over.wait(LOOK_SECONDS):
                now = set(self._going())
                with suppress(sqlite3.Error):  # another time
                    version = _version(database), self._copies.version_beside()
                    if version != copied and self._is_due(quiet=not now, ended=bool(going - now)) and self.write():
                        copied, going = version, now
                going |= now

    def _is_due(self, *, quiet: bool, ended: bool) -> bool:
        waited = time.monotonic() - self._last
        is_due = quiet or ended or self._erased.is_set() or waited >= WHILE_RUNS_GO_SECONDS
        return time.monotonic() >= self._not_before and is_due

    def write(self) -> bool:
        """Writes a copy; whether it could. Why it could not is said once."""
        with self._lock:
            begun, alone = time.monotonic(), self._erased.is_set()
            self._erased.clear()
            try:
                self._copies.write_out(alone)
            except (OSError, sqlite3.Error) as error:
                if alone:
                    self._erased.set()
                if str(error) != self._problem:
                    _log.warning("The database cannot be copied to %s: %s.", self._copies.folder, error)
                self._problem = str(error)
                return False
            self._problem, self._last = "", time.monotonic()
            self._not_before = self._last + REST * (self._last - begun)
            return True


def _version(database: sqlite3.Connection) -> int:
    """A number that changes when anybody else writes to the database."""
    return int(database.execute("PRAGMA data_version").fetchone()[0])
