"""Hugging Face's ZeroGPU: a shared GPU, lent to a decorated function for a slice of time.

Source: the documentation of Spaces, "ZeroGPU" (the `spaces` package, its decorator `GPU` and its `duration` in seconds).
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from medfact.models.prompt import Completion, Prompt
from medfact.models.providers import Model, ModelInfo

SLICE_SECONDS = 60
"""Length of the slices requested."""

USED_SHARE = 0.7
"""Share of a slice after which no further pack starts; the rest is for moving weights and for packs under way."""


def is_there() -> bool:
    """Whether this is a Space with ZeroGPU."""
    return bool(os.environ.get("SPACES_ZERO_GPU")) and importlib.util.find_spec("spaces") is not None


def prepare() -> None:
    """Imports the `spaces` package where this is such a Space: it must come before torch, whose calls to CUDA it replaces."""
    if is_there():
        importlib.import_module("spaces")


def announce() -> None:
    """Tells such a Space that this app computes in slices. The package does so when Gradio launches a page; ours is mounted."""
    if not is_there():
        return
    importlib.import_module("spaces").GPU(duration=SLICE_SECONDS)(_nothing)
    begin = getattr(importlib.import_module("spaces.zero"), "startup", None)
    if begin is not None:
        begin()


def _nothing() -> None:
    """Stands for the models, which are decorated when they are loaded."""


@dataclass(frozen=True)
class Sliced:
    """A local model that computes in slices of a shared GPU."""

    spec: str
    chat: bool
    info: ModelInfo
    work: Callable[[Sequence[Prompt]], list[tuple[int, Completion]]]

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """As the model's own. Prompts that one slice leaves go into the next."""
        remaining = list(range(len(prompts)))
        while remaining:
            done = self.work([prompts[index] for index in remaining])
            yield from ((remaining[at], completion) for at, completion in done)
            answered = {at for at, _ in done}
            remaining = [index for at, index in enumerate(remaining) if at not in answered]


def in_slices(model: Model) -> Sliced:
    """A local model that computes on ZeroGPU; each slice answers at least one prompt."""
    spaces = importlib.import_module("spaces")

    def work(prompts: Sequence[Prompt]) -> list[tuple[int, Completion]]:
        begun, done = time.monotonic(), []
        for answer in model.complete(prompts):
            done.append(answer)
            if time.monotonic() - begun > USED_SHARE * SLICE_SECONDS:
                break
        return done

    return Sliced(model.spec, model.chat, model.info, spaces.GPU(duration=SLICE_SECONDS)(work))
