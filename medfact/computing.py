"""So many requests compute at the same time; the others wait, and whoever waits for something else lets them go on.

A crowd's requests share one interpreter's time: forty threads at once make none of them quicker, and leave the process that
asks the models a third of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

AT_ONCE = 8

PATIENCE_SECONDS = 10.0
"""After so long, whoever has had a place before goes on without one: nothing here may keep a server from answering."""

_places = threading.BoundedSemaphore(AT_ONCE)
_mine: ContextVar[list[bool]] = ContextVar("mine")
"""Whether this thread has a place; unset where it takes no part."""


@contextmanager
def computing() -> Iterator[None]:
    """Within it this thread is one of AT_ONCE that compute. Waits for a place, unless it takes part already."""
    if _mine.get(None) is not None:
        yield
        return
    _places.acquire()
    token = _mine.set(mine := [True])
    try:
        yield
    finally:
        _mine.reset(token)
        if mine[0]:
            _places.release()


@contextmanager
def waiting_elsewhere() -> Iterator[None]:
    """Within it a thread that computes has given its place away: it waits for a service, or for another process."""
    mine = _mine.get([False])
    if not mine[0]:
        yield
        return
    mine[0] = False
    _places.release()
    try:
        yield
    finally:
        mine[0] = _places.acquire(timeout=PATIENCE_SECONDS)
