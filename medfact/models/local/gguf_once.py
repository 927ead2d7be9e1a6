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

MOST_VALUES = 4_000_000
"""Most values read of a header, each of which takes some 200 bytes of memory. The largest vocabularies have 2,100,000."""

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
            """Reads values of the mapped file as plain arrays, and MOST_VALUES of them at most."""

            _values = 0

            @property
            def data(self) -> Any:
                self._values += 1
                self._check_room(0)
                return self._data

            @data.setter
            def data(self, mapped: Any) -> None:
                self._data = np.asarray(mapped)

            def _check_room(self, values: int) -> None:
                if self._values + values > MOST_VALUES:
                    raise ValueError(f"its header has more than {MOST_VALUES:,} values")

            def _get_field_parts(self, orig_offs: int, raw_type: int) -> Any:
                if raw_type == gguf.GGUFValueType.ARRAY:  # its length stands behind the type of its items
                    self._check_room(int(self._get(orig_offs + 4, np.uint64)[0]))
                return super()._get_field_parts(orig_offs, raw_type)

        usual: dict[str, Callable[..., Any]] = {name: getattr(gguf, name) for name in ("GGUFReader", "get_tensor_name_map")}
        vars(gguf).update(GGUFReader=cache(PlainReader), get_tensor_name_map=cache(gguf.get_tensor_name_map))
        try:
            yield
        finally:
            vars(gguf).update(usual)
