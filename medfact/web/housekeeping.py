"""Housekeeping of a public server: runs, uploads and models of the hub are kept no longer than they may be.

Age alone erases anything (`quota.py` refuses what has no room), so a wrong clock could erase all of it. Hence nothing is erased
while the clock may be wrong; runs of the host, published ones and those that go on are never erased.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from math import isinf

from medfact.errors import MedfactError
from medfact.limits import HOSTS, limits
from medfact.log_setup import suppressed
from medfact.store import Store
from medfact.web.uploads import MEGABYTE, Uploads

_log = logging.getLogger(__package__)

EVERY_SECONDS = 30.0
"""Time between two rounds."""

JUMP_SECONDS = 86_400.0
"""A clock that is ahead by more than this since the last round was set, or is wrong."""

ERASED_AT_ONCE = 20
"""Runs that are erased in one transaction: others wait for it."""

CLOCK_JUMPED = (
    "The clock jumped ahead by over a day, so nothing is erased for its age until it is back, or until the server was "
    "restarted. Check the clock first."
)
CLOCK_IN_DOUBT = (
    "The newest run here is over a day old by this machine's clock, so nothing is erased for its age within the first "
    "day. Check the clock."
)


class Housekeeping:
    """Erases what is too old. kept: runs that stay, such as those that the host has published."""

    def __init__(self, store: Store, uploads: Uploads, kept: Callable[[], Iterable[str]] = tuple) -> None:
        self._store, self._uploads, self._kept = store, uploads, kept
        self._over = threading.Event()
        self._warned = False
        self._looked_at = time.time()
        self._not_before = time.monotonic() + JUMP_SECONDS if store.is_clock_in_doubt() else 0.0

    def begin(self) -> None:
        """Cleans up from now on, in a thread."""
        if self._not_before:
            _log.warning(CLOCK_IN_DOUBT)
        threading.Thread(target=self._keep, daemon=True, name="housekeeping").start()

    def end(self) -> None:
        self._over.set()

    def _keep(self) -> None:
        while not self._over.wait(EVERY_SECONDS):
            try:
                self.clean()
            except (MedfactError, OSError):
                _log.debug("A round of housekeeping failed; the next one tries again.", exc_info=True)
            except Exception:  # nothing may end this: the disk would fill
                _log.exception("A round of housekeeping failed.")

    def clean(self) -> list[str]:
        """One round; the runs that were erased."""
        tidy_hub(limits().in_all.hub_megabytes * MEGABYTE)
        if not self._is_clock_right():
            return []
        self._uploads.clean()
        stay, days = set(self._kept()), limits().in_all.run_days
        if isinf(days):
            return []
        before = _before(timedelta(days=days))
        gone = [run.run for run in self._store.disk.ended(HOSTS) if run.ended_at < before and run.run not in stay]
        for start in range(0, len(gone), ERASED_AT_ONCE):
            self._store.disk.erase(gone[start : start + ERASED_AT_ONCE])
        return gone

    def _is_clock_right(self) -> bool:
        """Whether the clock can be believed: rounds follow each other in seconds, so a day between two of them is a jump."""
        now = time.time()
        if now - self._looked_at > JUMP_SECONDS:
            if not self._warned:
                _log.warning(CLOCK_JUMPED)
            self._warned = True
            return False
        self._looked_at, self._warned = now, False
        return time.monotonic() >= self._not_before


def tidy_hub(most: float) -> None:
    """Removes models that were fetched from the hub, those that were not used for longest, until so many bytes are left."""
    if isinf(most):
        return
    from huggingface_hub import scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    with suppressed(_log, CacheNotFound, OSError):
        cache = scan_cache_dir()
        total, gone = cache.size_on_disk, []
        for repository in sorted(cache.repos, key=lambda one: one.last_accessed):
            if total <= most:
                break
            total -= repository.size_on_disk
            gone += [revision.commit_hash for revision in repository.revisions]
        if gone:
            cache.delete_revisions(*gone).execute()


def _before(ago: timedelta) -> str:
    return (datetime.now(UTC) - ago).isoformat(timespec="milliseconds")
