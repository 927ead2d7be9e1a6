"""A run that is checked against a baseline: asked disease by disease, until it is decided whether it knows less.

Facts that it must not affirm newly are asked before all others: the end may come early, and none of them may go unasked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

import numpy as np

from medfact.metrics.comparison import RunRecords
from medfact.metrics.race import CANNOT_TELL, Differences, GateResult, gate_result, raced
from medfact.models import is_local
from medfact.runs.board import Board
from medfact.runs.racing import LEAST_ELSEWHERE, LEAST_HERE, in_order_of_race, next_window, places_of
from medfact.store import DECIDED, Plan, Run, Store

CHECK_DECIDED = "The check was decided"
"""Beginning of the reason of a run that a check ended early."""


def in_order_of_check(plan: Plan, risky: Collection[str]) -> tuple[Plan, int]:
    """The same plan in the order of the race, all statements about some facts before the others, and how many these are.

    risky: ids of facts. Diseases count in the order of the race whatever is asked first, so the look at them stays valid.
    """
    raced = in_order_of_race(plan).statements
    first = tuple(one for one in raced if one.statement.fact.fact_id in risky)
    rest = tuple(one for one in raced if one.statement.fact.fact_id not in risky)
    return replace(plan, statements=(*first, *rest)), len(first)


class AgainstBaseline:
    """Asks a run in windows, as a race does (`RacingRuns`), and ends it once the check is decided. The run's plan is in the
    order of the check (`in_order_of_check`).

    margin: by how much it may know less, from 0 to 1. first: so many statements are asked whatever is decided. tell: gets the
    standing after each look.
    """

    def __init__(
        self,
        record: Run,
        store: Store,
        baseline: Board,
        margin: float,
        first: int = 0,
        tell: Callable[[GateResult], None] = lambda _: None,
    ) -> None:
        self._store, self._run, self._baseline = store, record.run, baseline
        self._margin, self._first, self._tell = margin, first, tell
        self._board = Board(store.answers.sheet(record.run))
        self._least = LEAST_HERE if is_local(record.model) else LEAST_ELSEWHERE
        self._end: tuple[str, str] | None = None

    def turn(self, run: str) -> AbstractContextManager[object]:
        """It never waits for another model."""
        return nullcontext()

    def windows(self, run: str, stopped: Callable[[], bool]) -> Generator[int, None, None]:
        """Window after window, the position before which statements are asked, until it is decided."""
        whole = places_of(self._board.sheet)
        places = whole[self._first :]
        after = np.cumsum(np.bincount(places, minlength=int(whole.max()) + 1))
        heads = 0
        if self._first:
            yield self._first
        while heads < len(after) and not stopped():
            heads = next_window(after, heads, self._least)
            yield self._first + (len(places) if heads == len(after) else int(np.searchsorted(places, heads)))
            if (differences := self.differences()) is None:
                continue
            self._tell(now := gate_result(differences, self._margin))
            if now.verdict != CANNOT_TELL and heads < len(after):
                self._end = DECIDED, f"{CHECK_DECIDED} after {now.asked:,} of {now.of:,} facts: {now.verdict}."
                return

    def differences(self) -> Differences | None:
        """New less baseline, from answers that are on disk; None where the two share no fact."""
        self._board.take(self._store.answers.news(self._run, self._board.changed))
        boards = (self._board, self._baseline)
        ours, theirs = (RunRecords(board.records(), board.sheet.identity[board.sheet.fact]) for board in boards)
        return raced(ours, theirs)

    def end_of(self, run: str) -> tuple[str, str] | None:
        """How the check ended the run, and why: a state and a reason. None where it did not."""
        return self._end

    def leave(self, run: str) -> None:
        """No other run waits for it."""
