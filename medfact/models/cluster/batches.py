"""Which prompts go to a worker together: whole groups where possible, so that each worker computes shared beginnings once."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence

SECONDS_A_BATCH = 5.0
"""How long a worker should compute a batch: that much is lost with it, and answers arrive that often."""

FIRST_BATCH, SMALLEST_BATCH, LARGEST_BATCH = 32, 8, 512
"""Prompts of a batch: before the speed of workers is known, and at least and at most."""

ROUNDS_LEFT = 4
"""A worker gets at most one in so many of its share of what is left, so that all end at about the same time."""


class Batches:
    """Prompts that are still to be asked, by groups; returned ones come first.

    Pull-based: a worker gets the next batch when it has room for it, so a slow one gets less.
    """

    def __init__(self, groups: Sequence[Hashable]) -> None:
        """groups: of each prompt."""
        by_group: dict[Hashable, list[int]] = {}
        for index, group in enumerate(groups):
            by_group.setdefault(group, []).append(index)
        self._groups = deque(by_group.values())
        self._returned: deque[list[int]] = deque()
        self.left = len(groups)

    def take(self, workers: int, per_second: float | None) -> list[int]:
        """Indices of the next batch, at least one; empty when none is left.

        workers: that share what is left. per_second: prompts that a worker answers in a second, if that is known.
        """
        if self._returned:
            self.left -= len(self._returned[0])
            return self._returned.popleft()
        size = self._size(max(workers, 1), per_second)
        batch: list[int] = []
        while self._groups and len(batch) < size:
            group, room = self._groups.popleft(), size - len(batch)
            if len(group) <= room:
                batch += group
                continue
            if not batch:  # a group larger than a batch is split, but leaves no small rest
                batch = group[:room] if len(group) > 1.5 * room else group
                group = group[len(batch) :]
            if group:
                self._groups.appendleft(group)
            break
        self.left -= len(batch)
        return batch

    def put_back(self, batch: list[int]) -> None:
        """A batch that a worker lost: it is the next to go."""
        self._returned.append(batch)
        self.left += len(batch)

    def _size(self, workers: int, per_second: float | None) -> int:
        fitting = FIRST_BATCH if per_second is None else SECONDS_A_BATCH * per_second
        share = self.left / (ROUNDS_LEFT * workers)
        return int(min(max(min(fitting, share), SMALLEST_BATCH), LARGEST_BATCH))
