"""Right answers by specialty, which facts have and statements do not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from medfact.facts import Fact
from medfact.metrics.uncertainty import Estimate
from medfact.runs.board import Board


def by_specialty(board: Board, facts: Sequence[Fact]) -> dict[str, Estimate]:
    """Specialty → right answers to the statements about its facts. facts: by their numbers in the run."""
    names = sorted({fact.specialty for fact in facts if fact.specialty})
    records, of = board.records(), np.array([fact.specialty or "" for fact in facts])[board.sheet.fact]
    return {name: records.accuracy(of == name) for name in names}
