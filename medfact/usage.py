"""How long each visitor's work took lately, so that whoever has used least comes first."""

from __future__ import annotations

import time
from collections.abc import Hashable

from cachetools import LRUCache

MOST_REMEMBERED = 10_000
"""Of so many the use is remembered, the latest ones."""


class Usage:
    """Seconds that each has used; what is long ago counts less. half_life: seconds after which half of it is forgiven."""

    def __init__(self, half_life: float) -> None:
        self._half_life = half_life
        self._used: LRUCache[Hashable, tuple[float, float]] = LRUCache(MOST_REMEMBERED)

    def add(self, who: Hashable, seconds: float) -> None:
        """Charges somebody."""
        self._used[who] = self.lately(who) + seconds, time.monotonic()

    def lately(self, who: Hashable) -> float:
        """Seconds that somebody has used lately."""
        now = time.monotonic()
        seconds, at = self._used.get(who, (0.0, now))
        return float(seconds * 0.5 ** ((now - at) / self._half_life))
