"""How many calls a service gets at once, and how long to wait before the next try."""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""Seconds before the second try, at most; doubled for each further one, up to the longest."""

FIRST_WAIT_WHEN_CROWDED = 2.0
"""The same where a service says that calls are too many, but not when to come again."""

LONGEST_ASKED = 60.0
"""The longest wait, in seconds, that a service may ask for."""

GROWS_AFTER, GROWS_SLOWLY_AFTER = 2, 6
"""Calls that must go well before one more may be in flight: far below the limit that was too much at last, and near it."""

LOOKS_BACK, CROWD, SHARE = 32, 3, 8
"""A service is crowded where, of so many calls or fewer, at least CROWD and more than one in SHARE were turned away."""


LONGEST_PROBE_WAIT = 4.0
"""Seconds between two calls to a service that seems to be away, at most, unless it asks for more."""


class Gate:
    """Lets so many in at once, in the order in which they came. Halved where a service is crowded, then widened by steps.

    One call that is turned away says little: some services turn away a few, however many are in flight. Where a service seems
    to be away, `probe` lets one in at a time, after a wait, until something goes well.
    """

    def __init__(self, limit: int, most: int | None = None) -> None:
        self.limit = limit
        self.most = most or limit
        self.inside = 0
        self._queue: deque[asyncio.Future[None]] = deque()
        self._went_well = 0
        self._turned_away: deque[bool] = deque(maxlen=LOOKS_BACK)
        self._narrowed = float("-inf")
        self._too_much = 2 * self.most
        self._shut = False
        self._probing = False
        self._opens = 0.0

    async def enter(self) -> None:
        """Waits for a place. Whoever enters must leave. Nobody enters a gate that is shut: CancelledError."""
        if self._shut:
            raise asyncio.CancelledError
        turn = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        self._let_in()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self.leave()
            raise

    def leave(self) -> None:
        self.inside -= 1
        self._let_in()

    def shut(self) -> None:
        """Lets nobody in any more; those inside leave when they will."""
        self._shut = True
        while self._queue:
            self._queue.popleft().cancel()

    def widen(self, limit: int) -> None:
        """A new limit, where that is more."""
        self.limit = max(self.limit, limit)
        self._let_in()

    def probe(self, seconds: float) -> None:
        """Lets one in at a time from now on, the next one after so many seconds."""
        self._probing, self._opens = True, max(self._opens, time.monotonic() + seconds)
        asyncio.get_running_loop().call_later(seconds + 0.001, self._let_in)

    def went_well(self) -> None:
        self._probing, self._opens = False, 0.0
        self._let_in()
        self._turned_away.append(False)
        self._went_well += 1
        near = 4 * self.limit >= 3 * self._too_much
        if self._went_well >= (GROWS_SLOWLY_AFTER if near else GROWS_AFTER) and self.limit < self.most:
            self._went_well = 0
            self.widen(self.limit + 1)

    def turned_away(self, seconds: float) -> bool:
        """A call that took so many seconds was one too many. Calls that were already out when the gate was narrowed are not
        counted against it again.

        Returns whether the gate was narrowed since the call left: then the crowd is to blame, and not the call.
        """
        if time.monotonic() - seconds <= self._narrowed:
            return True
        self._turned_away.append(True)
        self._went_well = 0
        count = sum(self._turned_away)
        if self.limit > 1 and count >= CROWD and count * SHARE > len(self._turned_away):
            self._too_much, self.limit = self.limit, self.limit // 2
            self._narrowed = time.monotonic()
            self._turned_away.clear()
            return True
        return False

    def _let_in(self) -> None:
        if time.monotonic() < self._opens:
            return
        while self._queue and self.inside < (1 if self._probing else self.limit):
            turn = self._queue.popleft()
            if not turn.done():
                self.inside += 1
                turn.set_result(None)


def wait_before(attempt: int, *, crowded: bool = False, asked: float | None = None) -> float:
    """Seconds to wait after so many tries (1, 2, ...): somewhere up to a bound that doubles, never less than was asked for."""
    first = FIRST_WAIT_WHEN_CROWDED if crowded and asked is None else FIRST_WAIT
    drawn = random.uniform(0.0, min(LONGEST_WAIT, first * 2.0 ** (attempt - 1)))
    return drawn if asked is None else max(asked, min(drawn, LONGEST_WAIT)) + random.uniform(0.0, 0.1)


def asked_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds that a service asks to wait (Retry-After: seconds or a date), at most LONGEST_ASKED; None: it does not say."""
    text = headers.get("retry-after", "")
    milliseconds = headers.get("retry-after-ms", "")
    try:
        seconds = float(milliseconds) / 1000 if milliseconds else float(text)
    except ValueError:
        try:
            date = parsedate_to_datetime(text)
        except ValueError:
            return None
        seconds = (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return min(max(seconds, 0.0), LONGEST_ASKED) if seconds == seconds else None
