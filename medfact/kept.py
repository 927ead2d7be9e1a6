"""Results that are kept for all visitors. Whoever needs one that is being computed waits for it, and computes nothing."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Condition
from typing import Any, TypeVar, cast

from cachetools import LRUCache, cached
from cachetools.keys import hashkey

Function = TypeVar("Function", bound=Callable[..., Any])


def _one(_: Any) -> float:
    return 1


def keep(
    most: float, size: Callable[[Any], float] = _one, key: Callable[..., Hashable] = hashkey
) -> Callable[[Function], Function]:
    """Decorates a function: its latest results are kept while their sizes sum up to at most `most`. A larger one is kept alone.

    key: what stands for the arguments, where they cannot be hashed themselves.
    """
    room: LRUCache[Any, Any] = LRUCache(most, getsizeof=lambda result: min(size(result), most))
    return cast(Callable[[Function], Function], cached(room, key, condition=Condition()))
