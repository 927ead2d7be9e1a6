"""The keys that visitors have typed for services, and what one call there has shown: in this process's memory alone.

Neither is ever written to the database, to a file or to a log, and no key is told to a browser. After a restart a key is asked
for again.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cachetools import TTLCache

from medfact.concurrency import slot_released
from medfact.errors import Mistake

MOST_KEPT, KEPT_SECONDS = 4_000, 12 * 3_600
"""Rows of models whose keys are kept, the latest ones, and for how long."""

MOST_AT_ONCE, MOST_OF_ONE = 8, 3
"""Calls to services that are tried at the same time, of all visitors and of one: each holds a thread of the server."""

Row = tuple[str, str]
"""The owner and the id of a row of the set-up."""

Asked = tuple[str, str, str | None]
"""What a trial was of: model, address and key."""


@dataclass(frozen=True)
class Trial:
    """What one call to a service has shown. problem: why it cannot be asked, "" where it can. said: in words."""

    problem: str = ""
    said: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return not self.problem


class Trials:
    """Keys and trials by row. A key is of one place (scheme, host and port): it never goes to another one."""

    def __init__(self) -> None:
        self._keys: TTLCache[Row, tuple[str, str]] = TTLCache(MOST_KEPT, KEPT_SECONDS)
        self._trials: TTLCache[Row, tuple[Asked, Trial]] = TTLCache(MOST_KEPT, KEPT_SECONDS)
        self._names: TTLCache[Row, tuple[str, tuple[str, ...]]] = TTLCache(MOST_KEPT, KEPT_SECONDS)
        self._trying: Counter[str] = Counter()
        self._lock = threading.Lock()

    def keep_key(self, row: Row, place: str, key: str) -> None:
        """Keeps the key that was typed in a row for a place; "" forgets it."""
        with self._lock:
            self._trials.pop(row, None)
            self._keys.pop(row, None)
            if key:
                self._keys[row] = place, key

    def key(self, row: Row, place: str) -> str | None:
        """The key of a row for a place; None where none was typed for it."""
        with self._lock:
            of, key = self._keys.get(row, ("", None))
            return key if of == place else None

    def forget(self, row: Row) -> None:
        """Forgets what a row that is taken away has held."""
        with self._lock:
            self._keys.pop(row, None)
            self._trials.pop(row, None)
            self._names.pop(row, None)

    def note_names(self, row: Row, place: str, names: tuple[str, ...]) -> None:
        """Keeps the names of the models that the service of a row lists."""
        with self._lock:
            self._names[row] = place, names

    def names(self, row: Row, place: str) -> tuple[str, ...]:
        """Those names; () where nobody has asked that service for them."""
        with self._lock:
            of, names = self._names.get(row, ("", ()))
            return names if of == place else ()

    def note(self, row: Row, of: Asked, trial: Trial) -> None:
        """Keeps what a trial has shown."""
        with self._lock:
            self._trials[row] = of, trial

    def last(self, row: Row, of: Asked) -> Trial | None:
        """What the last trial of a row has shown; None where something has changed since."""
        with self._lock:
            asked, trial = self._trials.get(row, (None, None))
            return trial if asked == of else None

    @contextmanager
    def trying(self, owner: str) -> Iterator[None]:
        """Meanwhile a visitor's service is tried. Raises Mistake where too many are."""
        with self._lock:
            if self._trying[owner] >= MOST_OF_ONE or self._trying.total() >= MOST_AT_ONCE:
                raise Mistake("Other services are being tested just now.", "Try again in a few seconds.")
            self._trying[owner] += 1
        try:
            with slot_released():
                yield
        finally:
            with self._lock:
                self._trying[owner] -= 1
                self._trying += Counter()  # without those at nought
