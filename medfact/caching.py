"""Shared caches: concurrent callers share one computation.

A server has few threads. Its callers do not block: `ResultPending` names the missing result, and the request is retried.
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

_may_block: ContextVar[bool] = ContextVar("may_block", default=True)


class ResultPending(Exception):
    """Raised in place of blocking while another thread computes the result. until: done when that thread has finished."""

    def __init__(self, until: Future[None]) -> None:
        super().__init__()
        self.until = until


@contextmanager
def without_blocking() -> Iterator[None]:
    """While active, caches and locks raise ResultPending instead of blocking on another thread."""
    token = _may_block.set(False)
    try:
        yield
    finally:
        _may_block.reset(token)


class KeyedLock:
    """A lock per key."""

    def __init__(self) -> None:
        self._held: dict[Hashable, Future[None]] = {}
        self._lock = Lock()

    @contextmanager
    def acquire(self, key: Hashable = None, timeout: float | None = None) -> Iterator[None]:
        """Holds the lock of a key. Raises TimeoutError if it is not released within `timeout` seconds."""
        while (holder := self._try_acquire(key)) is not None:
            if not _may_block.get():
                raise ResultPending(holder)
            holder.result(timeout)
        try:
            yield
        finally:
            with self._lock:
                released = self._held.pop(key)
            released.set_result(None)

    def _try_acquire(self, key: Hashable) -> Future[None] | None:
        """Acquires a key; returns the future of its holder if it is locked."""
        with self._lock:
            holder = self._held.get(key)
            if holder is None:
                self._held[key] = Future()
            return holder


_MISSING = object()


def shared_cache(
    max_size: float,
    size: Callable[[Any], float] = lambda _: 1,
    key: Callable[..., Hashable] = hashkey,
    is_permanent: Callable[[Exception], bool] = lambda _: False,
) -> Callable[[Function], Function]:
    """Decorates a function with an LRU cache. A result larger than `max_size` is cached as the only entry.

    size: of a result. key: makes a hashable key of the arguments. is_permanent: selects errors that are cached like results.
    """
    cache: LRUCache[Any, Any] = LRUCache(
        max_size, lambda result: 1 if isinstance(result, Exception) else min(size(result), max_size)
    )
    key_lock, lock = KeyedLock(), Lock()

    def lookup(entry: Hashable) -> Any:
        with lock:
            return cache.get(entry, _MISSING)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        def compute(*arguments: Any, **named: Any) -> Any:
            try:
                return function(*arguments, **named)
            except Exception as error:
                if not is_permanent(error):
                    raise
                return copy(error)  # without its traceback and cause

        @wraps(function)
        def cached(*arguments: Any, **named: Any) -> Any:
            entry = key(*arguments, **named)
            if (result := lookup(entry)) is _MISSING:
                with key_lock.acquire(entry):
                    if (result := lookup(entry)) is _MISSING:
                        result = compute(*arguments, **named)
                        with lock:
                            cache[entry] = result
            if isinstance(result, Exception):
                raise copy(result)
            return result

        cached.cache, cached.cache_clear = cache, cache.clear  # type: ignore[attr-defined]
        return cached

    return cast(Callable[[Function], Function], decorate)
