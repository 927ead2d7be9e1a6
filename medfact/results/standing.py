"""How many facts still stand while answers come: those without a wrong answer so far."""

from __future__ import annotations

import numpy as np

from medfact.metrics.records import UNREADABLE
from medfact.metrics.uncertainty import Estimate
from medfact.results.blocks import CurveLine
from medfact.runs.board import Board

MOST_STEPS = 60
"""Places of the line that are drawn."""


def standing(board: Board) -> CurveLine:
    """Answers so far → the share of the run's facts without a wrong one among them, in the order in which they are asked."""
    fates, fact = board.fates(), board.sheet.fact
    answered = fates >= UNREADABLE
    nth = np.cumsum(answered)
    falls = np.full(len(board.sheet.positive), np.iinfo(np.int64).max)  # the answer at which each fact falls
    wrong = answered & (fates != 1)
    np.minimum.at(falls, fact[wrong], nth[wrong])
    last, facts = int(nth[-1]) if len(nth) else 0, len(falls)
    steps = np.unique(np.linspace(0, last, min(last + 1, MOST_STEPS)).round().astype(int))
    return tuple((float(step), Estimate(float((falls > step).mean()), None, None, facts)) for step in steps if facts)
