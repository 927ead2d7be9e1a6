"""Results that are kept for all visitors. Whoever needs one that is being computed waits for it, and computes nothing."""

from __future__ import annotations

from collections.abc import Callable
from threading import Condition
from typing import Any, TypeVar, cast

from cachetools import LRUCache, cached

Function = TypeVar("Function", bound=Callable[..., Any])


def _one(_: Any) -> float:
    return 1


def keep(most: float, size: Callable[[Any], float] = _one) -> Callable[[Function], Function]:
    """Decorates a function of hashable arguments: its latest results are kept while their sizes sum up to at most `most`.

    A larger one is kept alone.
    """
    room: LRUCache[Any, Any] = LRUCache(most, getsizeof=lambda result: min(size(result), most))
    return cast(Callable[[Function], Function], cached(room, condition=Condition()))
