"""Heads drawn with replacement, as a bootstrap draws them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from medfact.metrics.clusters import Codes


@lru_cache(8)
def redrawn(heads: int, draws: int) -> Codes:
    """How often each head comes up in each draw of as many as there are: (draw, head). The same draws at every call."""
    times = np.random.default_rng(0).multinomial(heads, np.full(heads, 1 / heads), draws)
    times.setflags(write=False)
    return np.asarray(times)
