"""Work on a CPU in two threads, each with half of the cores.

Two cores that share every matrix wait for each other, longer where other threads run too. Two that multiply matrices
of their own do not (`benchmarks/README.md`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import torch

from medfact.models.local.memory import sizes

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


LEAST_WIDTH = 512
"""Hidden size from which threads save time. In narrower models they wait for Python more than cores do for each other."""

KNOWN_PARTS = ("torch.nn.", "transformers.models.", "transformers.activations")
"""The modules whose classes keep nothing from one computation to the next. Code from a repository and quantized layers may."""

CHANGING_POSITIONS = ("dynamic", "longrope")
"""Kinds of rotary position encodings that a model makes anew for a longer prompt."""


def threads_of(model: Any) -> int:
    """How many threads compute with a model at once: two with a wide model on a CPU of several cores, if computing changes
    nothing in it.
    """
    parts = list(model.modules())
    kinds = " ".join(str(getattr(part, "rope_type", "")) for part in parts)
    is_fixed = all(type(part).__module__.startswith(KNOWN_PARTS) for part in parts)
    is_fixed = is_fixed and not any(kind in kinds for kind in CHANGING_POSITIONS)
    is_wide = max(sizes(model.config, "hidden_size"), default=0) >= LEAST_WIDTH
    return 2 if is_fixed and is_wide and model.device.type == "cpu" and torch.get_num_threads() > 1 else 1


def side_by_side(work: Callable[[_Item], _Result], items: Sequence[_Item]) -> list[_Result]:
    """The result of each item, each computed in a thread of its own; one item alone has all cores."""
    if len(items) == 1:
        return [work(items[0])]
    cores = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(len(items), "model", torch.set_num_threads, (cores // len(items),)) as pool:
            return list(pool.map(work, items))
    finally:
        torch.set_num_threads(cores)  # what a thread sets would hold for all that begin later
