"""Work on a CPU in two threads, each with half of the cores.

Two cores that multiply matrices of their own never wait; two that share every matrix wait for each other at each step
(`benchmarks/README.md`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import torch

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def threads_of(model: Any) -> int:
    """How many threads may compute with a model at once: two on a CPU of several cores, if computing changes nothing in it.

    Code from a repository may keep anything. Position encodings of the kinds "dynamic" and "longrope" change with the longest
    prompt.
    """
    kinds = " ".join(str(getattr(part, "rope_type", "")) for part in model.modules())
    is_fixed = type(model).__module__.startswith("transformers.") and "dynamic" not in kinds and "longrope" not in kinds
    return 2 if is_fixed and model.device.type == "cpu" and torch.get_num_threads() > 1 else 1


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
