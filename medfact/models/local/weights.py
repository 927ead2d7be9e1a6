"""The weights of a repository: which files transformers loads, as many publish them more than once, and how many they are."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable
from pathlib import Path

from medfact.models.local.placement import Placement

SAFE, PICKLED = ".safetensors", (".bin", ".pt", ".pth")

_SAFE_NAMES = ("model.safetensors", "model.safetensors.index.json")
_PICKLED_NAMES = ("pytorch_model.bin", "pytorch_model.bin.index.json")
"""The one file with all weights, and the index of several."""

_BITS = {"F64": 64, "F32": 32, "I32": 32, "F16": 16, "BF16": 16, "I16": 16, "I8": 8, "U8": 8, "F8_E4M3": 8, "F8_E5M2": 8}


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


def parameters_of(file: Path) -> int:
    """The number of parameters in a safetensors file, from its header."""
    with file.open("rb") as stream:
        length = struct.unpack("<Q", stream.read(8))[0]
        if length > 100_000_000:
            raise ValueError("the header is too long")
        header = json.loads(stream.read(length))
    tensors = [tensor for name, tensor in header.items() if name != "__metadata__"]
    return sum(
        (tensor["data_offsets"][1] - tensor["data_offsets"][0]) * 8 // _BITS.get(tensor["dtype"], 16) for tensor in tensors
    )
