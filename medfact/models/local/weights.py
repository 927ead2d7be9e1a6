"""Which files of a repository transformers loads: many publish the same weights more than once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from medfact.models.local.placement import Placement

SAFE, PICKLED = ".safetensors", (".bin", ".pt", ".pth")

_SAFE_NAMES = ("model.safetensors", "model.safetensors.index.json")
_PICKLED_NAMES = ("pytorch_model.bin", "pytorch_model.bin.index.json")
"""The one file with all weights, and the index of several."""


def weight_files(names: Iterable[str], placement: Placement, read: Callable[[str], str]) -> list[str]:
    """The files with the weights, among those of a repository; none where there are none that may be loaded. read: gives the
    text of a file.
    """
    there = set(names)
    found = _named(there, _SAFE_NAMES, read)
    return found or (_named(there, _PICKLED_NAMES, read) if placement.any_weights else [])


def _named(there: set[str], names: tuple[str, str], read: Callable[[str], str]) -> list[str]:
    single, index = names
    if single in there:
        return [single]
    return sorted(there & _indexed(read(index))) if index in there else []


def _indexed(text: str) -> set[str]:
    """The files that an index names; none where it is damaged."""
    try:
        return {str(file) for file in json.loads(text)["weight_map"].values()}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return set()
