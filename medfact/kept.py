"""Results that are kept for all visitors. Whoever needs one that is being computed waits for it, and computes nothing.

A server answers in few threads. There nobody waits in one: `MustWait` says what for, and the request comes back after that.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from functools import wraps
from threading import Lock
from typing import Any, TypeVar, cast

from cachetools import LRUCache
from cachetools.keys import hashkey

Function = TypeVar("Function", bound=Callable[..., Any])

_may_wait: ContextVar[bool] = ContextVar("may_wait", default=True)


class MustWait(Exception):
    """What is asked for needs something that others do just now. until: done when they have done it."""

    def __init__(self, until: Future[None]) -> None:
        super().__init__()
        self.until = until


@contextmanager
def without_waiting() -> Iterator[None]:
    """Within it nothing here waits for others: MustWait is raised instead."""
    token = _may_wait.set(False)
    try:
        yield
    finally:
        _may_wait.reset(token)


class Alone:
    """What is done by one at a time, for each key."""

    def __init__(self) -> None:
        self._busy: dict[Hashable, Future[None]] = {}
        self._lock = Lock()

    @contextmanager
    def at(self, key: Hashable = None, seconds: float | None = None) -> Iterator[None]:
        """Meanwhile nobody else is at this key. Waits for whoever is, so many seconds at most: then raises TimeoutError."""
        while (other := self._taken(key)) is not None:
            if not _may_wait.get():
                raise MustWait(other)
            other.result(seconds)
        try:
            yield
        finally:
            with self._lock:
                done = self._busy.pop(key)
            done.set_result(None)

    def _taken(self, key: Hashable) -> Future[None] | None:
        """Takes a key; who is at it, where somebody is."""
        with self._lock:
            other = self._busy.get(key)
            if other is None:
                self._busy[key] = Future()
            return other


def _one(_: Any) -> float:
    return 1


_NOTHING = object()


def _no(_: Exception) -> bool:
    return False


class _Failure:
    """An error as a result."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def keep(
    most: float,
    size: Callable[[Any], float] = _one,
    key: Callable[..., Hashable] = hashkey,
    fails: Callable[[Exception], bool] = _no,
) -> Callable[[Function], Function]:
    """Decorates a function: its latest results are kept while their sizes sum up to at most `most`. A larger one is kept alone.

    key: what stands for the arguments, where they cannot be hashed themselves. fails: whether an error would come again, and is
    kept as a result is. The function's `cache` holds what is kept.
    """
    room: LRUCache[Any, Any] = LRUCache(most, getsizeof=lambda one: 1 if isinstance(one, _Failure) else min(size(one), most))
    alone, lock = Alone(), Lock()

    def found(place: Hashable) -> Any:
        with lock:
            return room.get(place, _NOTHING)

    def kept(function: Callable[..., Any]) -> Callable[..., Any]:
        def made(*arguments: Any, **named: Any) -> Any:
            try:
                return function(*arguments, **named)
            except Exception as error:
                if not fails(error):
                    raise
                return _Failure(copy(error))  # without what led to it

        @wraps(function)
        def once(*arguments: Any, **named: Any) -> Any:
            place = key(*arguments, **named)
            if (result := found(place)) is _NOTHING:
                with alone.at(place):
                    if (result := found(place)) is _NOTHING:
                        result = made(*arguments, **named)
                        with lock:
                            room[place] = result
            if isinstance(result, _Failure):
                raise copy(result.error)
            return result

        once.cache, once.cache_clear = room, room.clear  # type: ignore[attr-defined]
        return once

    return cast(Callable[[Function], Function], kept)
