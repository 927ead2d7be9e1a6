"""How many calls a service gets at once, and how long to wait before a retry."""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import inf

FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.5, 30.0
"""Bounds of the random wait before a retry: the first doubles with each try, up to the second."""

FIRST_WAIT_SECONDS_OVERLOADED = 2.0
"""The first bound at a service that reports too many calls but not when to retry."""

LONG_WAIT_SECONDS = 60.0
"""A longer wait that a service asks for is said, holds for all calls to it, and is no try."""

LONGEST_PATIENCE_SECONDS = 600.0
"""Where the end of a wait is further from the last answer, the run pauses."""

LONGEST_CREDIBLE_SECONDS = 366 * 86_400.0
"""A longer wait is a mistake, and passed over."""

SECONDS_SINCE_1970, MILLISECONDS_SINCE_1970 = 1e9, 1e11
"""A larger number is a moment, not a duration."""

LONGEST_PROBE_WAIT_SECONDS = 4.0
"""The longest pause between calls to a service that seems to be away, unless it asks for more."""

SUCCESSES_TO_GROW, SUCCESSES_TO_GROW_NEAR_LIMIT = 2, 6
"""Successful calls before the limit grows by one: far below the last limit that was too much, and near it."""

RECENT_CALLS, MIN_REJECTED, REJECTED_SHARE = 32, 3, 8
"""A service is overloaded if it rejected at least MIN_REJECTED, and more than one in REJECTED_SHARE, of its recent calls."""


_UNITS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}
_UNIT = r"(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)"
_DURATION = re.compile(rf"(?<!\d)(\d++(?:\.\d++)?)\s*+({_UNIT})(?![a-z])", re.IGNORECASE)
_AGAIN = r"(?:try(?:ing)? again|retry(?:ing)?|come back|wait|available|renew\w*|reset\w*|lifted|refill\w*|unblocked)"
_RETRY_IN = re.compile(
    rf"\b{_AGAIN}\b[^.;\d]{{0,50}}?((?:\d+(?:\.\d+)?\s*{_UNIT}(?![a-z])(?:\s*,?\s*(?:and\s+)?)?)+)", re.IGNORECASE
)
_RETRY_AFTER = re.compile(r"\bretry[-_ ]?after\W{1,4}(\d++)(?!\.*+\w)", re.IGNORECASE)
_RETRY_AT = re.compile(
    rf"\b{_AGAIN}\b[^.;\d]{{0,50}}?(\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?\s*(?:Z|UTC|GMT|[+-]\d\d:?\d\d)?)",
    re.IGNORECASE,
)
_LONG_LIMIT = re.compile(
    r"\bper[ -]?(?:hour|day|week|month)|Per(?:Hour|Day|Week|Month)"
    r"|\b(?:hourly|daily|weekly|monthly)\b|\b[TR]P[DH]\b|\btomorrow\b"
)
_SHORT_LIMIT = re.compile(r"\bper[ -]?(?:min|sec)|Per(?:Minute|Second)|\b[TR]P[MS]\b")
"""Words for limits that are renewed once an hour or less often, and sooner."""

clock = time.time
"""Seconds since 1970."""

HELD_LOOK_SECONDS = 0.05
"""Time between two looks whether calls may start again."""


class Gate:
    """Limits the calls in flight, first come, first served. The limit halves when the service is overloaded, then grows again.

    A single rejection says little: some services reject a few calls, however many are in flight. When a service seems to be
    away, `probe` lets in one call at a time, after a wait, until one succeeds. must_wait: whether nobody may enter for now.
    """

    def __init__(
        self,
        limit: int,
        largest: int | None = None,
        must_wait: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
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
        self._opens_at = self._held_until = 0.0
        self._clock = clock
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
        self._probing, self._opens_at = True, max(self._opens_at, self._clock() + seconds)
        asyncio.get_running_loop().call_later(seconds + 0.001, self._admit)

    def hold(self, seconds: float) -> None:
        """Admits nobody for so many seconds, whatever succeeds meanwhile, then one call at a time until one succeeds."""
        self._held_until = max(self._held_until, self._clock() + seconds)
        self.probe(seconds)

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
        if self._clock() - seconds <= self._narrowed_at:
            return True
        self._rejections.append(True)
        self._successes = 0
        count = sum(self._rejections)
        if self.limit > 1 and count >= MIN_REJECTED and count * REJECTED_SHARE > len(self._rejections):
            self._too_much, self.limit = self.limit, self.limit // 2
            self._narrowed_at = self._clock()
            self._rejections.clear()
            return True
        return False

    def _admit(self) -> None:
        if self._clock() < max(self._opens_at, self._held_until) or self._holds():
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


def in_units(seconds: float) -> str:
    """A wait as services write it, such as 9m38s, in its two largest units."""
    left, parts = round(seconds), []
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        count, left = divmod(left, size)
        parts += [f"{count}{unit}"] if count else []
    return "".join(parts[:2]) or "0s"


def moment_in(seconds: float) -> datetime:
    """The moment so many seconds from now."""
    return datetime.fromtimestamp(clock() + seconds, UTC)


# ------------------------------------------------------------------------------------------------ what a service asks for


def retry_after(headers: Mapping[str, str], words: str = "", named: Sequence[tuple[str, str]] = ()) -> float | None:
    """Seconds that a service asks to wait, the longest where it names several. None if it asks for no wait; infinity if it
    names no time for a limit of an hour or longer.

    words: of its error. named: names and values in its body that may say when to retry.
    """
    body = {name.lower(): value for name, value in named}
    told = [_in_words(words), *map(_retry_after, (headers, *({name: text} for name, text in body.items())))]
    told += [_seconds_in(text) for name, text in body.items() if "delay" in name]
    waits = [seconds for seconds in told if seconds is not None and seconds <= LONGEST_CREDIBLE_SECONDS]
    resets = [*_resets(headers), *_resets(body)]
    is_long = any(map(_LONG_LIMIT.search, body.values())) or (not waits and _LONG_LIMIT.search(words) is not None)
    if is_long and not any(map(_SHORT_LIMIT.search, (words, *body.values()))):
        return max((seconds for seconds in (*waits, *resets) if seconds > LONG_WAIT_SECONDS), default=inf)
    waits = waits or resets
    return max(0.0, *waits) if waits else None


def _retry_after(values: Mapping[str, str]) -> float | None:
    """Seconds, milliseconds or a date after which to retry."""
    texts = {re.sub(r"[-_]", "", name.lower()): value for name, value in values.items()}
    milliseconds = _number(texts.get("retryafterms", ""))
    text = texts.get("retryafter") or texts.get("retryafterseconds") or ""
    return _until(text) if milliseconds is None else milliseconds / 1000


def _resets(values: Mapping[str, str]) -> list[float]:
    """Seconds until each limit that is used up is renewed."""
    texts = {name.lower(): text for name, text in values.items()}
    used_up = [
        name for name in texts if "reset" in name and (_number(texts.get(name.replace("reset", "remaining"), "")) or 0) <= 0
    ]
    seconds = [until for name in used_up if (until := _until(texts[name])) is not None]
    return [until for until in seconds if until <= LONGEST_CREDIBLE_SECONDS]


def _until(text: str) -> float | None:
    """Seconds until a moment: in so many of them, "6m0s", at a date, or at a number of seconds or milliseconds since 1970."""
    number = _number(text)
    if number is None:
        seconds = _seconds_in(text)
        return _seconds_until(text) if seconds is None else seconds
    if number > MILLISECONDS_SINCE_1970:
        number /= 1000
    return number - clock() if number > SECONDS_SINCE_1970 else number


def _in_words(words: str) -> float | None:
    """Seconds of the longest wait that a sentence asks for."""
    found = [_seconds_in(match[1]) for match in _RETRY_IN.finditer(words)]
    found += [_seconds_until(match[1]) for match in _RETRY_AT.finditer(words)]
    found += [float(match[1]) for match in _RETRY_AFTER.finditer(words)]
    return max((seconds for seconds in found if seconds is not None), default=None)


def _seconds_in(text: str) -> float | None:
    """A duration such as "1h2m3.5s", "24 hours" or "1 hour and 5 minutes"; None where it is none."""
    parts = [(float(number), unit.lower()) for number, unit in _DURATION.findall(text)]
    if not parts or re.sub(r"[\s,]|\band\b", "", _DURATION.sub("", text)):
        return None
    return sum(number * (0.001 if unit.startswith(("ms", "mill")) else _UNITS[unit[0]]) for number, unit in parts)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return None if number != number else number


def _seconds_until(text: str) -> float | None:
    """Seconds until a date, as HTTP or ISO 8601 writes it; None where it is none. The parsers raise many errors."""
    for parse, written in (
        (parsedate_to_datetime, text),
        (datetime.fromisoformat, re.sub(r"(?<!\s)\s*+(?:UTC|GMT)\Z", "Z", text)),
    ):
        try:
            date = parse(written.strip())
            return date.replace(tzinfo=date.tzinfo or UTC).timestamp() - clock()
        except (ValueError, TypeError, OverflowError, IndexError, AttributeError):
            continue
    return None
