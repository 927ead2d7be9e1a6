"""How many calls a service gets at once, and how long to wait before a retry."""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.5, 30.0
"""Bounds of the random wait before a retry: the first doubles with each try, up to the second."""

FIRST_WAIT_SECONDS_OVERLOADED = 2.0
"""The first bound at a service that reports too many calls but not when to retry."""

LONGEST_RETRY_AFTER_SECONDS = 60.0
"""The longest wait that a service may ask for."""

LONGEST_PROBE_WAIT_SECONDS = 4.0
"""The longest pause between calls to a service that seems to be away, unless it asks for more."""

SUCCESSES_TO_GROW, SUCCESSES_TO_GROW_NEAR_LIMIT = 2, 6
"""Successful calls before the limit grows by one: far below the last limit that was too much, and near it."""

RECENT_CALLS, MIN_REJECTED, REJECTED_SHARE = 32, 3, 8
"""A service is overloaded if it rejected at least MIN_REJECTED, and more than one in REJECTED_SHARE, of its recent calls."""


HELD_LOOK_SECONDS = 0.05
"""Time between two looks whether calls may start again."""


class Gate:
    """Limits the calls in flight, first come, first served. The limit halves when the service is overloaded, then grows again.

    A single rejection says little: some services reject a few calls, however many are in flight. When a service seems to be
    away, `probe` lets in one call at a time, after a wait, until one succeeds. must_wait: whether nobody may enter for now.
    """

    def __init__(self, limit: int, largest: int | None = None, must_wait: Callable[[], bool] = lambda: False) -> None:
        self.limit = limit
        self.largest = largest or limit
        self.inside = 0
        self._queue: deque[asyncio.Future[None]] = deque()
        self._successes = 0
        self._rejections: deque[bool] = deque(maxlen=RECENT_CALLS)
        self._narrowed_at = float("-inf")
        self._too_much = 2 * self.largest
        self._shut = False
        self._probing = False
        self._opens_at = 0.0
        self._must_wait, self._is_held = must_wait, False

    async def enter(self) -> None:
        """Waits for a slot. Whoever enters must leave. Raises CancelledError if the gate is shut."""
        if self._shut:
            raise asyncio.CancelledError
        turn = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        self._admit()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self.leave()
            raise

    @property
    def load(self) -> float:
        """Calls inside and waiting, as a share of the limit."""
        return (self.inside + len(self._queue)) / self.limit

    def leave(self) -> None:
        self.inside -= 1
        self._admit()

    def shut(self) -> None:
        """Admits no further calls; those inside leave in their own time."""
        self._shut = True
        while self._queue:
            self._queue.popleft().cancel()

    def widen(self, limit: int) -> None:
        """Raises the limit, if the new one is higher."""
        self.limit = max(self.limit, limit)
        self._admit()

    def probe(self, seconds: float) -> None:
        """Admits one call at a time from now on, the next one after this many seconds."""
        self._probing, self._opens_at = True, max(self._opens_at, time.monotonic() + seconds)
        asyncio.get_running_loop().call_later(seconds + 0.001, self._admit)

    def succeeded(self) -> None:
        """Notes a successful call."""
        self._probing, self._opens_at = False, 0.0
        self._admit()
        self._rejections.append(False)
        self._successes += 1
        near_limit = 4 * self.limit >= 3 * self._too_much
        needed = SUCCESSES_TO_GROW_NEAR_LIMIT if near_limit else SUCCESSES_TO_GROW
        if self._successes >= needed and self.limit < self.largest:
            self._successes = 0
            self.widen(self.limit + 1)

    def rejected(self, seconds: float) -> bool:
        """Notes that the service rejected a call, which took this many seconds, as one too many.

        Calls that were already in flight when the gate narrowed do not narrow it again.

        Returns whether the gate has narrowed since the call was sent: then the load was the cause, not the call.
        """
        if time.monotonic() - seconds <= self._narrowed_at:
            return True
        self._rejections.append(True)
        self._successes = 0
        count = sum(self._rejections)
        if self.limit > 1 and count >= MIN_REJECTED and count * REJECTED_SHARE > len(self._rejections):
            self._too_much, self.limit = self.limit, self.limit // 2
            self._narrowed_at = time.monotonic()
            self._rejections.clear()
            return True
        return False

    def _admit(self) -> None:
        if time.monotonic() < self._opens_at or self._holds():
            return
        while self._queue and self.inside < (1 if self._probing else self.limit):
            turn = self._queue.popleft()
            if not turn.done():
                self.inside += 1
                turn.set_result(None)

    def _holds(self) -> bool:
        """Whether nobody may enter for now; looks again a little later."""
        if self._must_wait() and not self._is_held:
            self._is_held = True
            asyncio.get_running_loop().call_later(HELD_LOOK_SECONDS, self._look_again)
        return self._is_held

    def _look_again(self) -> None:
        self._is_held = False
        self._admit()


def wait_before(attempt: int, *, overloaded: bool = False, requested: float | None = None) -> float:
    """Seconds to wait after this many tries (1, 2, …): random up to a doubling bound, at least what the service requested."""
    first = FIRST_WAIT_SECONDS_OVERLOADED if overloaded and requested is None else FIRST_WAIT_SECONDS
    wait = random.uniform(0.0, min(LONGEST_WAIT_SECONDS, first * 2.0 ** (attempt - 1)))
    return wait if requested is None else max(requested, wait) + random.uniform(0.0, 0.1)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The wait in seconds that a service asks for (Retry-After: seconds or a date), bounded; None if it asks for none."""
    text = headers.get("retry-after", "")
    milliseconds = _number(headers.get("retry-after-ms", ""))
    seconds = _number(text) if milliseconds is None else milliseconds / 1000
    seconds = _seconds_until(text) if seconds is None else seconds
    return None if seconds is None else min(max(seconds, 0.0), LONGEST_RETRY_AFTER_SECONDS)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return None if number != number else number


def _seconds_until(text: str) -> float | None:
    """Seconds until a date; None where it is none. Its parser raises whatever an absurd date leads to."""
    try:
        date = parsedate_to_datetime(text)
        return (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError, OverflowError, IndexError, AttributeError):
        return None
