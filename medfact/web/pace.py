"""How often a visitor may ask: token buckets by visitor and by network address, for each kind of address of the server.

A new cookie is free, so what visitors of one network address use is counted together too.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable

from cachetools import LRUCache

from medfact.limits import RateLimit, limits
from medfact.web.visitors import NOBODY

MOST_KEPT = 10_000
"""Visitors, and addresses, whose requests are counted: the latest ones."""

ADDRESS_TIMES = 10
"""So many visitors may share one address, as in a clinic."""

BUTTON = "button"
"""The kind of a question that a pressed button asks, beside that of its address."""

EMBED = re.compile(r"/embed/[0-9a-f]{32}")
"""The view of a published run that other sites show in a frame."""

KINDS = (
    ("upload", re.compile(r"/gradio_api/upload/?")),
    ("update", re.compile(r"/updates")),
    ("download", re.compile(r"/(export|download)/.+|/gradio_api/file=.+")),
    ("call", re.compile(r"/gradio_api/((call|queue)/.+|info/?|mcp/?)")),
    ("script", re.compile(r"/(page|assets|static)/.+|/(theme\.css|favicon\.ico|robots\.txt|manifest\.json)")),
    ("", re.compile(r"/healthz")),
)
"""Kinds of requests and the addresses that they name; any other is that of a page."""


def kind_of(path: str) -> str:
    """The kind of a request, as the limits name it; "" for one that is always answered."""
    return next((kind for kind, address in KINDS if address.fullmatch(path)), "page")


class Buckets:
    """Tokens by key: `at_once` of them at first, `a_second` more each second. clock: seconds."""

    def __init__(self, rate: RateLimit, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._left: LRUCache[str, tuple[float, float]] = LRUCache(MOST_KEPT)

    def wait(self, key: str) -> float:
        """Takes a token; the seconds until there is one where there is none, 0 where there was."""
        now = self._clock()
        left, at = self._left.get(key, (self._rate.at_once, now))
        left = min(self._rate.at_once, left + (now - at) * self._rate.a_second)
        allowed = left >= 1
        self._left[key] = (left - 1 if allowed else left), now
        if allowed:
            return 0.0
        return (1 - left) / self._rate.a_second if self._rate.a_second else 3_600.0


class Pace:
    """The requests of all visitors, as the limits of this server allow them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._of_visitors = {kind: Buckets(rate, clock) for kind, rate in limits().rates.items()}
        self._of_addresses = {
            kind: Buckets(RateLimit(rate.at_once * ADDRESS_TIMES, rate.a_second * ADDRESS_TIMES), clock)
            for kind, rate in limits().rates.items()
        }

    def wait(self, kind: str, owner: str, address: str) -> float:
        """Seconds until a visitor may send a request of a kind from an address; 0 where that is now, and it is counted."""
        if kind not in self._of_visitors:
            return 0.0
        if owner != NOBODY and (seconds := self._of_visitors[kind].wait(owner)):
            return seconds
        return self._of_addresses[kind].wait(address)


# ------------------------------------------------------------------------------------------------ one address

MOST_HOLDERS = 100_000
"""Visitors whose address is remembered because they have taken room or minutes: the latest ones."""

SURELY_BEGUN_SECONDS = 60.0
"""So long after they are allowed, runs are queued."""


class Neighbours:
    """From which address visitors ask, the latest ones, and which of them have taken anything of the server."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._address: LRUCache[str, str] = LRUCache(MOST_KEPT)
        self._took: LRUCache[str, str] = LRUCache(MOST_HOLDERS)
        self._going: dict[str, tuple[str, float]] = {}
        self._lock = threading.Lock()

    def note(self, owner: str, address: str) -> None:
        """Remembers where a visitor asks from."""
        if owner != NOBODY and address:
            with self._lock:
                self._address[owner] = address

    def takes(self, owner: str) -> None:
        """Remembers the address of a visitor who now takes room or minutes of the server."""
        with self._lock:
            if address := self._address.get(owner):
                self._took[owner] = address

    def at_address_of(self, owner: str) -> list[str]:
        """The visitor, and the others at the same address who have taken anything."""
        with self._lock:
            address = self._address.get(owner) or self._took.get(owner)
            return [owner, *(other for other, where in self._took.items() if where == address and other != owner)]

    def begins(self, owner: str) -> None:
        """A visitor begins runs."""
        self.takes(owner)
        with self._lock:
            if address := self._address.get(owner):
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
        return sum(map(used, self.at_address_of(owner)))
