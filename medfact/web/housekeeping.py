"""Housekeeping of a public server: nothing is kept longer than it may be, and the disk stays under its quota.

Uploads go first, then the abandoned runs of the visitor who holds most, the oldest first, and what visitors without a name have
said; never a run that goes on, and never the host's own.
"""

from __future__ import annotations

import shutil
import sys
import threading
import traceback
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import isinf
from typing import NamedTuple

from medfact.errors import MedfactError
from medfact.limits import HOSTS, limits
from medfact.store import Ended, Store
from medfact.web.uploads import MEGABYTE, Uploads

EVERY_SECONDS = 30.0
"""Time between two rounds."""

YOUNG = timedelta(minutes=10)
"""A run that ended so lately is not abandoned."""

ERASED_AT_ONCE = 20
"""Runs that are erased in one transaction: others wait for it."""


class Housekeeping:
    """Keeps the limits. kept: runs that stay, such as those that the host has published."""

    def __init__(self, store: Store, uploads: Uploads, kept: Callable[[], Iterable[str]] = tuple) -> None:
        self._store, self._uploads, self._kept = store, uploads, kept
        self._sizes: dict[str, float] = {}
        self._over = threading.Event()

    def begin(self) -> None:
        """Cleans up from now on, in a thread."""
        threading.Thread(target=self._keep, daemon=True, name="housekeeping").start()

    def end(self) -> None:
        self._over.set()

    def _keep(self) -> None:
        while not self._over.wait(EVERY_SECONDS):
            try:
                self.clean()
            except (MedfactError, OSError):
                continue  # another time
            except Exception:  # nothing may end this: the disk would fill
                traceback.print_exc(file=sys.stderr)

    def clean(self) -> list[str]:
        """One round; the runs that were erased."""
        self._uploads.clean()
        tidy_hub(limits().in_all.hub_megabytes * MEGABYTE)
        stay = set(self._kept())
        runs = [run for run in self._store.disk.ended(HOSTS) if run.run not in stay]
        gone = too_old(runs) + beyond_each(runs)
        self._erase(gone)
        return gone + self._make_room([run for run in runs if run.run not in set(gone)])

    def _make_room(self, runs: Sequence[Ended]) -> list[str]:
        """Lets go of uploads, then of what visitors hold in the database, until the quota holds."""
        if (excess := self._excess()) > 0:
            self._uploads.keep_at_most(max(0.0, self._uploads.kept_bytes - excess))
        gone: list[str] = []
        if self._store.disk.used_bytes() is None or (excess := self._excess()) <= 0:
            return gone
        order = largest_first(self._holdings(runs))
        while excess > 0 and (part := _so_many(order, excess)):
            self._erase([one.run for one in part if one.run])
            for owner in (one.owner for one in part if not one.run):
                self._store.of(owner).contributions.erase()
            gone += [one.run for one in part if one.run]
            excess = self._excess()
        return gone

    def _holdings(self, runs: Sequence[Ended]) -> dict[str, Holding]:
        """What each visitor holds. Only those whom nobody knows lose what they have said; it counts for no figure of others."""
        there = {run.run for run in runs}
        self._sizes = {run: size for run, size in self._sizes.items() if run in there}
        unknown = [run.run for run in runs if run.run not in self._sizes]
        self._sizes |= self._store.disk.run_bytes(unknown)
        said = {owner: size for owner, size in self._store.contributions.bytes().items() if owner not in HOSTS}
        may_go = frozenset(run.run for run in runs if run.ended_at < _before(YOUNG))
        return holdings(runs, self._sizes, said, may_go, [owner for owner in said if not limits().knows(owner)])

    def _excess(self) -> float:
        """Bytes beyond the quota, or, where that is more, beyond what the disk must have free. A database on a server
        counts for nothing: what is erased there frees nothing at once."""
        used, spare = self._store.disk.used_bytes() or 0, self._store.disk.spare_bytes()
        over = used + self._uploads.kept_bytes - limits().in_all.disk_megabytes * MEGABYTE
        short = limits().in_all.free_megabytes * MEGABYTE - spare - shutil.disk_usage(self._uploads.folder).free
        return max(over, short)

    def _erase(self, runs: Sequence[str]) -> None:
        for start in range(0, len(runs), ERASED_AT_ONCE):
            self._store.disk.erase(runs[start : start + ERASED_AT_ONCE])


def _so_many(order: Iterator[Going], excess: float) -> list[Going]:
    """The next that give way, until about so many bytes are free; not too many at once."""
    part: list[Going] = []
    while len(part) < ERASED_AT_ONCE and sum(one.size for one in part) < excess and (one := next(order, None)):
        part.append(one)
    return part


def too_old(runs: Iterable[Ended]) -> list[str]:
    """Runs that ended longer ago than runs are kept."""
    days = limits().in_all.run_days
    return [] if isinf(days) else [run.run for run in runs if run.ended_at < _before(timedelta(days=days))]


def beyond_each(runs: Sequence[Ended]) -> list[str]:
    """Of each visitor's runs, the oldest, as far as all together have more statements than are kept. The latest stays."""
    total: defaultdict[str, int] = defaultdict(int)
    gone = []
    for run in reversed(runs):
        total[run.owner] += run.statements
        if total[run.owner] > limits().of(run.owner).statements_kept and total[run.owner] > run.statements:
            gone.append(run.run)
    return gone


def tidy_hub(most: float) -> None:
    """Removes models that were fetched from the hub, those that were not used for longest, until so many bytes are left."""
    if isinf(most):
        return
    from huggingface_hub import scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    with suppress(CacheNotFound, OSError):
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


# ------------------------------------------------------------------------------------------------ who gives way


class Going(NamedTuple):
    """What gives way next: a run, or "" for all that its owner has said. size: about how many bytes that frees."""

    owner: str
    run: str
    size: float


@dataclass
class Holding:
    """What one visitor holds. size: in all, in bytes. runs: those that may go, with their sizes, the oldest first. said: the
    size of what was said here and may go, 0 for none.
    """

    size: float = 0.0
    runs: deque[tuple[str, float]] = field(default_factory=deque)
    said: float = 0.0


def holdings(
    runs: Iterable[Ended],
    sizes: Mapping[str, float],
    said: Mapping[str, float],
    may_go: frozenset[str],
    erasable: Iterable[str],
) -> dict[str, Holding]:
    """Owner → what the owner holds. sizes: of runs. may_go: runs that may be erased. erasable: owners whose words may be."""
    found: dict[str, Holding] = {}
    for run in runs:
        one = found.setdefault(run.owner, Holding())
        one.size += sizes[run.run]
        if run.run in may_go:
            one.runs.append((run.run, sizes[run.run]))
    for owner, size in said.items():
        found.setdefault(owner, Holding()).size += size
    for owner in erasable:
        found[owner].said = said[owner]
    return found


def largest_first(found: Mapping[str, Holding]) -> Iterator[Going]:
    """What gives way, one after the other: of whoever holds most then, the oldest run; where there is none, what was said."""
    while left := {owner: one for owner, one in found.items() if one.runs or one.said}:
        owner = max(left, key=lambda name: left[name].size)
        one = left[owner]
        run, size = one.runs.popleft() if one.runs else ("", one.said)
        one.size -= size
        if not run:
            one.said = 0.0
        yield Going(owner, run, size)
