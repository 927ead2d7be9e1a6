"""Requests that wait, and hold no thread meanwhile: for a turn to read a visitor's file, or for what others compute."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from cachetools import FIFOCache

from medfact.caching import ResultPending, without_blocking
from medfact.datasets.isolated import MAX_PROCESSES, NeedsTurn, in_turn
from medfact.web.upload_gate import NotNow

MOST_LONG = 1
"""Long files that are read at the same time, beside MAX_PROCESSES others."""

MOST_WAITING, MOST_WAITING_OF_ONE = 32, 4
"""Requests that wait for a turn, of all network addresses and of one."""

TOO_MANY = "The server is reading many files just now."

WAIT_SECONDS = 60.0
"""How long a request may wait in all."""

AGAIN_SECONDS = 5
MOST_ADDRESSES = 10_000


@dataclass(eq=False)
class Place:
    """A request's place among those who wait for a turn, or have one. told: done when it is given."""

    turns: Turns
    address: str
    told: asyncio.Future[None]
    is_given: bool = False
    is_long: bool = False

    def becomes_long(self) -> bool:
        """Whether it may go on for long, beside those that do not."""
        self.is_long = self.is_long or self.turns.lengthen()
        return self.is_long

    def end(self) -> None:
        """Gives it up, once."""
        if self.is_given:
            self.is_given = False
            self.turns.release(long=self.is_long)

    def tell(self, refusal: NotNow | None = None) -> None:
        """Lets the request go on, in its own loop."""
        self.told.get_loop().call_soon_threadsafe(_tell, self.told, refusal)


class Turns:
    """Who reads next. Of the addresses that wait, the one comes first that has had no turn for longest."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free, self._free_long = MAX_PROCESSES, MOST_LONG
        self._waiting: list[Place] = []
        self._served: FIFOCache[str, int] = FIFOCache(MOST_ADDRESSES)
        self._turns = 0

    async def answered(self, address: str, answer: Callable[[], Awaitable[None]]) -> None:
        """Lets a request of an address be answered. Where it must wait, it is asked anew afterwards. Raises NotNow."""
        until, turns = asyncio.get_running_loop().time() + WAIT_SECONDS, list[Place]()
        try:
            while True:
                try:
                    with without_blocking(), in_turn(*turns):
                        return await answer()
                except ResultPending as other:
                    _end(turns)
                    await _patiently(asyncio.shield(asyncio.wrap_future(other.until)), until)
                except NeedsTurn:
                    _end(turns)
                    turns.append(await self._turn(address, until))
        finally:
            _end(turns)

    async def _turn(self, address: str, until: float) -> Place:
        """A place among those who read, when it comes to this address. Raises NotNow where too many wait, or for too long."""
        mine = Place(self, address, asyncio.get_running_loop().create_future())
        with self._lock:
            self._make_room(address)
            self._waiting.append(mine)
            self._serve()
        try:
            await _patiently(mine.told, until)
        except BaseException:
            with self._lock:
                if mine in self._waiting:
                    self._waiting.remove(mine)
            mine.end()
            raise
        return mine

    def _make_room(self, address: str) -> None:
        """Lets one more of an address wait, if need be in place of one of an address that has more. Raises NotNow."""
        many = Counter(one.address for one in self._waiting)
        if many[address] >= MOST_WAITING_OF_ONE:
            raise NotNow(TOO_MANY, AGAIN_SECONDS)
        if len(self._waiting) >= MOST_WAITING:
            most = max(many, key=lambda one: many[one])
            if many[most] <= many[address] + 1:
                raise NotNow(TOO_MANY, AGAIN_SECONDS)
            last = next(one for one in reversed(self._waiting) if one.address == most)
            self._waiting.remove(last)
            last.tell(NotNow(TOO_MANY, AGAIN_SECONDS))

    def _serve(self) -> None:
        """Gives free places to those who wait, whose lock is held."""
        while self._free and self._waiting:
            first = min(self._waiting, key=lambda one: self._served.get(one.address, 0))
            self._waiting.remove(first)
            self._free -= 1
            self._turns += 1
            self._served[first.address] = self._turns
            first.is_given = True
            first.tell()

    def lengthen(self) -> bool:
        """Moves a turn to the long ones, where there is room."""
        with self._lock:
            if not self._free_long:
                return False
            self._free_long -= 1
            self._free += 1
            self._serve()
            return True

    def release(self, *, long: bool) -> None:
        """Takes a place back."""
        with self._lock:
            self._free_long += long
            self._free += not long
            self._serve()


def _end(places: list[Place]) -> None:
    while places:
        places.pop().end()


def _tell(told: asyncio.Future[None], refusal: NotNow | None) -> None:
    if told.done():
        return
    if refusal is not None:
        told.set_exception(refusal)
    else:
        told.set_result(None)


async def _patiently(what: Any, until: float) -> None:
    """Waits, but not for ever. Raises NotNow."""
    try:
        async with asyncio.timeout_at(until):
            await what
    except TimeoutError:
        raise NotNow("The server is busy just now.", AGAIN_SECONDS) from None
