"""What a scheduler sees of workers, wherever they are: they join, answer batches, and may be lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from medfact.errors import MedfactError
from medfact.models.prompt import Completion, Prompt


@dataclass(frozen=True)
class Joined:
    """A worker holds the model and can be asked."""

    worker: int


@dataclass(frozen=True)
class Answered:
    """A worker has answered a batch. seconds: that it computed."""

    worker: int
    batch: int
    completions: list[tuple[int, Completion]]
    seconds: float


@dataclass(frozen=True)
class Lost:
    """A worker is gone, with all its batches. error: what it said itself, if it said anything."""

    worker: int
    why: str
    error: MedfactError | None = None


Event = Joined | Answered | Lost


class Workers(Protocol):
    """A changing set of workers, known by numbers that are never used twice."""

    @property
    def expected(self) -> int:
        """Workers that are there or on their way."""
        ...

    def submit(self, worker: int, batch: int, prompts: Sequence[Prompt]) -> None:
        """Sends a batch, under a number of the caller's, to a worker that has joined."""
        ...

    def events(self, seconds: float) -> list[Event]:
        """What has happened; waits this long for the first event."""
        ...
