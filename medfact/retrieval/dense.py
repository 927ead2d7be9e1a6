"""Dense retrieval: the cosine of vectors from a sentence encoder (Reimers and Gurevych 2019; MKJ, Section 4.6)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

import numpy as np

from medfact.models.encoder import Encoder, Vectors
from medfact.retrieval.ranking import Ranked, best

_ENCODED_AT_ONCE = 2_048
"""Passages whose vectors are in memory at a time."""

_QUERIES_AT_ONCE = 64
"""Queries whose scores over all passages are in memory at a time."""


class Dense:
    """The vectors of all passages, and the encoder of the queries."""

    def __init__(self, vectors: Vectors, encoder: Encoder) -> None:
        self._vectors, self._encoder = vectors, encoder

    @classmethod
    def build(cls, passages: Sequence[str], encoder: Encoder, file: Path, tell: Callable[[str], None]) -> Dense:
        """Encodes all passages into a file, part by part."""
        vectors: Vectors | None = None
        for start in range(0, len(passages), _ENCODED_AT_ONCE):
            tell(f"Encoding passages: {start:,} of {len(passages):,}.")
            part = encoder.passages(passages[start : start + _ENCODED_AT_ONCE])
            if vectors is None:
                shape = (len(passages), part.shape[1])
                vectors = np.lib.format.open_memmap(file, mode="w+", dtype=np.float32, shape=shape)
            vectors[start : start + len(part)] = part
        assert isinstance(vectors, np.memmap)
        vectors.flush()
        return cls(vectors, encoder)

    @classmethod
    def open(cls, file: Path, encoder: Encoder) -> Dense:
        """Vectors that were saved; they stay on disk until they are read."""
        return cls(np.load(file, mmap_mode="r"), encoder)

    def rank(
        self, queries: Sequence[str], k: int, left_out: Sequence[Collection[int]] | None = None
    ) -> Iterator[tuple[Ranked, ...]]:
        """For each query the k passages with the highest cosine. left_out: for each query, passages never returned."""
        for start in range(0, len(queries), _QUERIES_AT_ONCE):
            part = self._encoder.queries(queries[start : start + _QUERIES_AT_ONCE])
            for number, scores in enumerate(part @ self._vectors.T, start):
                yield best(scores, k, left_out[number] if left_out else ())
