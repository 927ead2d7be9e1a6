"""What owners have used of a lane: lately, which decides whose turn it is, and today, which has a limit."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

HALF_LIFE_SECONDS = 600.0
"""After so long, half of what an owner has used is forgiven."""

DAY_SECONDS = 86_400

MOST_OWNERS = 10_000
"""Owners whose use is remembered, the latest ones."""


@dataclass
class _Used:
    at: float
    lately: float = 0.0
    today: float = 0.0


class Usage:
    """Seconds that runs of each owner took. clock: seconds since 1970, UTC."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._used: OrderedDict[str, _Used] = OrderedDict()

    def add(self, owner: str, seconds: float) -> None:
        """Charges an owner."""
        used = self._used.setdefault(owner, _Used(self._clock()))
        used.lately, used.today, used.at = self.lately(owner) + seconds, self.today(owner) + seconds, self._clock()
        self._used.move_to_end(owner)
        while len(self._used) > MOST_OWNERS:
            self._used.popitem(last=False)

    def lately(self, owner: str) -> float:
        """Seconds that an owner has used; what is long ago counts less."""
        used = self._used.get(owner)
        return used.lately * 0.5 ** ((self._clock() - used.at) / HALF_LIFE_SECONDS) if used else 0.0

    def today(self, owner: str) -> float:
        """Seconds that an owner has used since midnight, UTC."""
        used = self._used.get(owner)
        return used.today if used and used.at // DAY_SECONDS == self._clock() // DAY_SECONDS else 0.0
