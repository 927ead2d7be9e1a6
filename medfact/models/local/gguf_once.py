"""A GGUF file is read once, and quickly, while its model is loaded.

transformers reads the whole file anew for the configuration, the tokenizer and the weights, and makes the table of the names of
tensors once for each part of the model. gguf cuts the file into hundreds of thousands of pieces, each of which numpy would keep
as a part of a mapped file. A small model takes less than half as long to load without all that: `benchmarks/README.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

_lock = Lock()


@contextmanager
def read_once(file: Path | None) -> Iterator[None]:
    """Meanwhile transformers gets what was read of a GGUF file before. file: None where the model has none."""
    if file is None:
        yield
        return
    import gguf

    with _lock:

        class PlainReader(gguf.GGUFReader):
            """Reads pieces of the mapped file as plain arrays."""

            @property
            def data(self) -> Any:
                return self._data

            @data.setter
            def data(self, mapped: Any) -> None:
                self._data = np.asarray(mapped)

        usual: dict[str, Callable[..., Any]] = {name: getattr(gguf, name) for name in ("GGUFReader", "get_tensor_name_map")}
        vars(gguf).update(GGUFReader=cache(PlainReader), get_tensor_name_map=cache(gguf.get_tensor_name_map))
        try:
            yield
        finally:
            vars(gguf).update(usual)
