"""Which replica sends which prompt: prompts that share a beginning go to one of them, which has that beginning in its cache."""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Hashable, Sequence


class Division:
    """Prompts that are still to be sent. Each taker gets them in their order, so that first answers are of all kinds.

    A group belongs to the first that takes of it. A taker without prompts of its own takes over a group of another: whoever is
    slow keeps less. The last group of a taker is shared prompt by prompt, from its end.
    """

    def __init__(self, groups: Sequence[Hashable]) -> None:
        """groups: of each prompt."""
        self._waiting: defaultdict[Hashable, deque[int]] = defaultdict(deque)
        for index, group in enumerate(groups):
            self._waiting[group].append(index)
        self._free = [(indices[0], number, group) for number, (group, indices) in enumerate(self._waiting.items())]
        self._own: defaultdict[Hashable, list[tuple[int, int, Hashable]]] = defaultdict(list)
        self.left = len(groups)

    def take(self, taker: Hashable) -> int | None:
        """The index of the next prompt for this taker; None when all have been taken."""
        own = self._own[taker]
        if not own and not self._free and (shared := self._from_another(taker)) is not None:
            return shared
        heaps = [heap for heap in (own, self._free) if heap]
        if not heaps:
            return None
        _, number, group = heapq.heappop(min(heaps, key=lambda heap: heap[0][0]))
        index = self._waiting[group].popleft()
        if self._waiting[group]:
            heapq.heappush(own, (self._waiting[group][0], number, group))
        self.left -= 1
        return index

    def release(self, taker: Hashable) -> None:
        """Gives a taker's groups to whoever comes first."""
        for entry in self._own.pop(taker, ()):
            heapq.heappush(self._free, entry)

    def _from_another(self, taker: Hashable) -> int | None:
        """Takes over the largest group of whoever has the most left. If that is its only one, returns the last prompt of it."""
        owners = [owner for owner, heap in self._own.items() if heap]
        if not owners:
            return None
        owner = max(owners, key=lambda owner: sum(len(self._waiting[group]) for _, _, group in self._own[owner]))
        heap = self._own[owner]
        entry = max(heap, key=lambda entry: len(self._waiting[entry[2]]))
        indices = self._waiting[entry[2]]
        if len(heap) > 1 or len(indices) == 1:
            heap.remove(entry)
            heapq.heapify(heap)
            self._own[taker].append(entry)
            return None
        self.left -= 1
        return indices.pop()
