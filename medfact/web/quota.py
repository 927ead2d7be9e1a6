"""Quotas of a public server: megabytes of each visitor, of each network address and of all, checked before anything is taken.

Nobody loses anything to somebody else: a server without room refuses what is new. The figures come from the database and the
uploads themselves; only which visitors share an address is remembered by this process.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from math import inf, isinf

from cachetools import LRUCache

from medfact.errors import Mistake
from medfact.limits import HOSTS, limits
from medfact.reviews.invitations import OWNER as INVITED
from medfact.store import GOING, Store
from medfact.web.pace import ADDRESS_TIMES, Neighbours
from medfact.web.uploads import MEGABYTE, Uploads

STATEMENT_BYTES = 1_000
"""Size of an answered statement in the database, measured on runs of a baseline; replies of services may take twice that."""

KEPT_SIZES = 100_000
"""Sizes of ended runs that are remembered: measuring reads all of a run (80 MB a second)."""


class Quota:
    """The room that visitors have in the database and in the folder of uploads."""

    def __init__(self, store: Store, uploads: Uploads, neighbours: Neighbours) -> None:
        self._store, self._uploads, self._neighbours = store, uploads, neighbours
        self._sizes: LRUCache[tuple[str, int], int] = LRUCache(KEPT_SIZES)

    def check_server(self, owner: str, size: float = 0) -> None:
        """Raises Mistake where the server has no room for so many bytes. Hosts and invited reviewers are never refused."""
        if owner in HOSTS or owner.startswith(INVITED) or size <= self._server_room():
            return
        days = limits().in_all.run_days
        raise Mistake(
            "The disk of this server is full. It takes nothing new.",
            f"{'' if isinf(days) else f'Runs are kept for {days:,.0f} days: try again later. '}What is here stays: export it, "
            "delete runs that you need no more, or use medfact on your own machine.",
        )

    def _server_room(self) -> float:
        """Bytes left under the quota or, where that is less, on the disk beyond what it must have free. A database server's
        disk is its own."""
        allowed, needed = limits().in_all.disk_megabytes * MEGABYTE, limits().in_all.free_megabytes * MEGABYTE
        if isinf(allowed) and not needed:
            return inf
        left = allowed - (self._store.disk.used_bytes() or 0) - self._uploads.kept_bytes
        return min(left, self._store.disk.spare_bytes() + shutil.disk_usage(self._uploads.folder).free - needed)

    def check_runs(self, owner: str, size: float) -> float:
        """Checks the room for runs of so many bytes and returns all that is left, in bytes. Raises Mistake.

        Deleted runs of the same visitor are erased where they stand in the way.
        """
        try:
            left = self._check_runs(owner, size)
        except Mistake:
            if not self._store.of(owner).disk.erase_deleted():
                raise
            left = self._check_runs(owner, size)
        self._neighbours.takes(owner)
        return left

    def check_statements(self, owner: str, statements: int) -> None:
        """Raises Mistake where runs that ask so many statements, pushes included, have no room."""
        self.check_runs(owner, statements * STATEMENT_BYTES)

    def _check_runs(self, owner: str, size: float) -> float:
        if isinf(most := limits().quota_for(owner).kept_megabytes * MEGABYTE):
            self.check_server(owner, size)
            return inf if owner in HOSTS else self._server_room()
        held = self._held_by_runs(self._neighbours.at_address_of(owner))
        own, here = most - held.get(owner, 0), most * ADDRESS_TIMES - sum(held.values())
        if size > own:
            raise Mistake(
                f"Your runs take {held.get(owner, 0) / MEGABYTE:,.1f} of the {most / MEGABYTE:,.0f} MB that a visitor has "
                "here, and this needs more than is left.",
                "Export and delete some on the page Runs, or use medfact on your own machine.",
            )
        if size > here:
            raise _of_address(most, "Runs")
        self.check_server(owner, size)
        return min(own, here, self._server_room())

    def _held_by_runs(self, owners: Sequence[str]) -> Mapping[str, float]:
        """Owner → bytes of the owner's runs, deleted ones too. Runs that go on count with the answers to come."""
        runs = self._store.disk.held(owners)
        new = [run.run for run in runs if (run.run, run.changed) not in self._sizes and run.state not in GOING]
        measured = self._store.disk.run_bytes(new)
        self._sizes.update({(run.run, run.changed): measured[run.run] for run in runs if run.run in measured})
        held: dict[str, float] = {}
        for run in runs:
            planned = run.calls * STATEMENT_BYTES
            held[run.owner] = held.get(run.owner, 0) + max(planned, self._sizes.get((run.run, run.changed), 0))
        return held

    def check_words(self, owner: str, size: float) -> None:
        """Raises Mistake where verdicts, edits and decisions of so many bytes have no room."""
        most = limits().quota_for(owner).said_megabytes * MEGABYTE
        contributions = self._store.contributions
        if not isinf(most):
            if contributions.bytes(owner).get(owner, 0) + size > most:
                raise Mistake(
                    f"What you have said here takes {most / MEGABYTE:g} MB, which is the most on this server.",
                    "Download your verdicts, and erase some of what you have said, on Review, Sentences or Facts; then go on.",
                )
            neighbours = [] if owner.startswith(INVITED) else self._neighbours.at_address_of(owner)
            if neighbours and sum(contributions.bytes(*neighbours).values()) + size > most * ADDRESS_TIMES:
                raise _of_address(most, "Verdicts and edits")
        self.check_server(owner, size)
        self._neighbours.takes(owner)

    def check_file(self, owner: str, size: float, address: str) -> None:
        """Raises Mistake where an upload of so many bytes from an address has no room."""
        self._neighbours.note(owner, address)
        most = limits().quota_for(owner).megabytes * MEGABYTE
        others = [name for name in self._neighbours.at_address_of(owner) if name != owner]
        if address and self._uploads.bytes_of(*others) + min(self._uploads.bytes_of(owner) + size, most) > most * ADDRESS_TIMES:
            raise _of_address(most, "Files")
        self._uploads.check_room(owner, size)
        self.check_server(owner, size)
        self._neighbours.takes(owner)


def _of_address(most: float, what: str) -> Mistake:
    return Mistake(
        f"{what} of all visitors at your network address take {most * ADDRESS_TIMES / MEGABYTE:,.0f} MB, which is the most on "
        "this server.",
        "Delete some of yours, or use medfact on your own machine.",
    )
