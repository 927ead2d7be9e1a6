"""Hugging Face's ZeroGPU: a GPU that is lent for a slice of time, to a function that is marked for it.

Source: the documentation of Spaces, "ZeroGPU" (the `spaces` package, its decorator `GPU` and its `duration` in seconds).
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from medfact.models.prompt import Completion, Prompt

SLICE = 60
"""Seconds that a slice is asked for."""

USED = 0.7
"""The share of a slice after which no further pack is begun; the rest is for moving weights, and for what is under way."""


def is_there() -> bool:
    """Whether this is a Space with ZeroGPU."""
    return bool(os.environ.get("SPACES_ZERO_GPU")) and importlib.util.find_spec("spaces") is not None


@dataclass(frozen=True)
class Sliced:
    """A local model that computes in slices of a lent GPU."""

    model: Any
    work: Callable[[Sequence[Prompt]], list[tuple[int, Completion]]]

    @property
    def spec(self) -> str:
        return str(self.model.spec)

    @property
    def chat(self) -> bool:
        return bool(self.model.chat)

    @property
    def info(self) -> Any:
        return self.model.info

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """As the model's own; what a slice leaves over goes into the next one."""
        left = list(range(len(prompts)))
        while left:
            done = self.work([prompts[place] for place in left])
            yield from ((left[at], completion) for at, completion in done)
            answered = {at for at, _ in done}
            left = [place for at, place in enumerate(left) if at not in answered]


def in_slices(model: Any) -> Sliced:
    """A local model whose prompts are computed on ZeroGPU; a slice answers at least one of them."""
    spaces = importlib.import_module("spaces")

    def work(prompts: Sequence[Prompt]) -> list[tuple[int, Completion]]:
        begun, done = time.monotonic(), []
        for answer in model.complete(prompts):
            done.append(answer)
            if time.monotonic() - begun > USED * SLICE:
                break
        return done

    return Sliced(model, spaces.GPU(duration=SLICE)(work))
