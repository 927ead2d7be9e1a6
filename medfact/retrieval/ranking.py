"""The best of many scores, in an order that does not depend on the machine."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

Scores = np.ndarray[Any, np.dtype[np.float32]]


class Ranked(NamedTuple):
    """A passage by its place in the corpus, from 0, and its score: BM25, or a cosine from −1 to 1."""

    passage: int
    score: float


def best(scores: Scores, k: int, left_out: Collection[int] = (), above: float = -np.inf) -> tuple[Ranked, ...]:
    """The k passages with the highest scores over `above`, best first; of equal ones the first in the corpus.

    scores: one per passage. left_out: passages that are never returned.
    """
    if left_out:
        scores = scores.copy()
        scores[np.fromiter(left_out, dtype=np.int64)] = -np.inf
    k = min(k, len(scores))
    if k == 0:
        return ()
    least = np.partition(scores, len(scores) - k)[len(scores) - k]
    candidates = np.flatnonzero((scores >= least) & (scores > above))
    order = candidates[np.argsort(-scores[candidates], kind="stable")][:k]
    return tuple(Ranked(int(place), float(scores[place])) for place in order if scores[place] > -np.inf)
