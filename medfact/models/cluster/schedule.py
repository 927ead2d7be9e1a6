"""Distributes prompts over workers: who is free gets the next batch, and what a lost worker had goes to others."""

from __future__ import annotations

import itertools
import time
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Sequence

from medfact.errors import ServiceDown
from medfact.models.cluster.actors import Actors, Answered, Joined, Lost
from medfact.models.prompt import Completion, Prompt, groups_of

BATCHES_AT_ONCE = 2
"""Batches of one worker: one that it computes, and the next, so that it never waits."""

MOST_LOSSES = 3
"""Workers that a batch may cost before its prompts fail: something in it may end them."""

LOOK_SECONDS = 0.2
"""The longest time between two looks whether the run was stopped."""

PATIENCE_SECONDS = 120.0
"""How long a run waits for the replacement of its last worker."""

NEW_WEIGHT = 0.3
"""Weight of the latest batch in a worker's speed."""

SECONDS_A_BATCH = 5.0
"""How long a worker should compute a batch: that much is lost with it, and answers arrive that often."""

FIRST_BATCH, SMALLEST_BATCH, LARGEST_BATCH = 32, 8, 512
"""Prompts of a batch: before the speed of workers is known, and at least and at most."""

ROUNDS_LEFT = 4
"""A worker gets at most one in so many of its share of what is left, so that all end at about the same time."""


_NUMBERS = itertools.count()
"""Numbers of batches: never the same, so that a late one is not taken for another."""


class Batches:
    """Prompts that are still to be asked; returned ones come first.

    A worker gets whole groups where possible, so that it computes shared beginnings once. Pull-based: it gets the next batch
    when it has room for it, so a slow one gets less.
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


class Distribution:
    """One set of prompts on its way through workers.

    seconds_left: None while batches may be sent; then the seconds that those on their way have left. tell: gets a sentence
    about each worker that is lost.
    """

    def __init__(
        self,
        prompts: Sequence[Prompt],
        workers: Actors,
        joined: Sequence[int],
        seconds_left: Callable[[], float | None],
        tell: Callable[[str], None],
    ) -> None:
        self._prompts, self._workers, self._seconds_left, self._tell = prompts, workers, seconds_left, tell
        self._batches = Batches(groups_of(prompts))
        self._under_way: dict[int, dict[int, list[int]]] = {worker: {} for worker in joined}
        self._per_second: dict[int, float] = {}
        self._losses: defaultdict[int, int] = defaultdict(int)
        self._why = ""

    def completions(self) -> Iterator[tuple[int, Completion]]:
        """The index of each prompt and its completion, as batches are answered.

        Raises ServiceDown if all workers are gone. What had arrived was yielded before.
        """
        ending_since: float | None = None
        alone_since = time.monotonic()
        while self._batches.left or any(self._under_way.values()):
            seconds_left = self._seconds_left()
            if seconds_left is None:
                self._send()
            else:
                ending_since = ending_since or time.monotonic()
                if not any(self._under_way.values()) or time.monotonic() - ending_since >= seconds_left:
                    return
            alone_since = time.monotonic() if self._under_way else alone_since
            if not (self._under_way or self._workers.expected) or time.monotonic() - alone_since > PATIENCE_SECONDS:
                raise ServiceDown(f"No worker of the cluster is left: {self._why}.", "Resume the run once the cluster is back.")
            for event in self._workers.events(LOOK_SECONDS):
                if isinstance(event, Joined):
                    self._under_way[event.worker] = {}
                elif isinstance(event, Answered):
                    yield from self._arrived(event)
                else:
                    yield from self._lost(event)

    def _send(self) -> None:
        """Fills up the workers, those with the least to do first."""
        for waiting in range(BATCHES_AT_ONCE):
            for worker, under_way in self._under_way.items():
                if len(under_way) == waiting and (batch := self._batches.take(len(self._under_way), self._speed(worker))):
                    number = next(_NUMBERS)
                    under_way[number] = batch
                    self._workers.submit(worker, number, [self._prompts[index] for index in batch])

    def _speed(self, worker: int) -> float | None:
        """Prompts that a worker answers in a second; of a new one, what the others do."""
        known = self._per_second.get(worker)
        return known if known is not None else min(self._per_second.values(), default=None)

    def _arrived(self, event: Answered) -> Iterator[tuple[int, Completion]]:
        batch = self._under_way.get(event.worker, {}).pop(event.batch, None)
        if batch is None:
            return  # it was lost before, and is on its way elsewhere
        speed = len(batch) / max(event.seconds, 1e-6)
        self._per_second[event.worker] = (1 - NEW_WEIGHT) * self._per_second.get(event.worker, speed) + NEW_WEIGHT * speed
        yield from ((batch[at], completion) for at, completion in event.completions)

    def _lost(self, event: Lost) -> Iterator[tuple[int, Completion]]:
        """Puts the batches of a lost worker back. Prompts that have cost too many workers fail."""
        self._per_second.pop(event.worker, None)
        self._why = event.why.rstrip(".")
        batches = self._under_way.pop(event.worker, {})
        self._tell(f"A worker of the cluster was lost ({self._why}); others got its statements.")
        for number, batch in enumerate(batches.values()):
            if number == 0:  # the one that it computed
                for index in batch:
                    self._losses[index] += 1
            failed = [index for index in batch if self._losses[index] >= MOST_LOSSES]
            yield from ((index, Completion(None, failure=f"{MOST_LOSSES} workers were lost with it")) for index in failed)
            if remaining := [index for index in batch if self._losses[index] < MOST_LOSSES]:
                self._batches.put_back(remaining)
