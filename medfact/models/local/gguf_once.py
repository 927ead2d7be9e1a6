"""A GGUF file is read once while its model is loaded.

transformers reads the whole file anew for the configuration, the tokenizer and the weights, and makes the table of the tensors'
names once for each part of the model. A small model takes less than half as long to load without that: `benchmarks/README.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

_lock = Lock()


@contextmanager
def read_once(file: Path | None) -> Iterator[None]:
    """Meanwhile transformers gets what was read of a GGUF file before. file: None where the model has none."""
    if file is None:
        yield
        return
    import gguf

    with _lock:
        usual: dict[str, Callable[..., Any]] = {name: getattr(gguf, name) for name in ("GGUFReader", "get_tensor_name_map")}
        vars(gguf).update({name: cache(function) for name, function in usual.items()})
        try:
            yield
        finally:
            vars(gguf).update(usual)
