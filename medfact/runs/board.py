"""A run's statements and answers as arrays, which move as answers come."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medfact.metrics import PENDING, Names, Records
from medfact.statements import VARIANTS
from medfact.store import News, Sheet, Store


class Board:
    """A run's records, which move as answers come: one row per statement, by position. alone: held by whoever brings it up to
    date where several do.
    """

    def __init__(self, sheet: Sheet) -> None:
        self.alone = Lock()
        self.sheet = sheet
        self.changed = -1
        self._moving = Lock()
        count = len(sheet.fact)
        self.answer = np.full(count, PENDING, dtype=np.int8)
        self.p_true, self.p_mass = np.full(count, np.nan), np.full(count, np.nan)
        self._committed: NDArray[np.int8] | None = None
        self._names = _names_of(sheet)
        self._negated = np.array([VARIANTS[str(key)].negated for key in sheet.variants], dtype=bool)[sheet.variant]

    def take(self, news: News) -> None:
        """Brings the rows up to date with what was answered since `changed`."""
        with self._moving:
            self.answer[news.position] = news.answer
            self.p_true[news.position] = news.p_true
            self.p_mass[news.position] = news.p_mass
            if news.committed is not None:
                self._committed = np.full_like(self.answer, PENDING) if self._committed is None else self._committed
                self._committed[news.position] = news.committed
            self.changed = news.changed

    def records(self) -> Records:
        """The records as they stand; later answers do not move them."""
        sheet, fact = self.sheet, self.sheet.fact
        draws = int(sheet.draw.max(initial=0)) + 1
        positive = sheet.positive[fact]
        with self._moving:
            answer, p_true, p_mass = self.answer.copy(), self.p_true.copy(), self.p_mass.copy()
            committed = None if self._committed is None else self._committed.copy()
        return Records(
            fact=fact * draws + sheet.draw,
            pair=sheet.pair[fact] * draws + sheet.draw,
            head=sheet.head[fact],
            tail=sheet.tail[fact],
            draw=sheet.draw,
            positive=positive,
            label=positive != self._negated,
            answer=answer,
            p_true=p_true,
            p_mass=p_mass,
            bounds=sheet.bounds[fact] if sheet.bounds.any() else None,
            committed=committed,
            **self._names,
        )

    def fates(self, *, committed: bool = False) -> NDArray[np.int8]:
        """Of each statement by position: 1 right, 0 wrong, or what `Records.answer` has beside these. committed: by the answers
        that replies commit to, whatever the run's reading.
        """
        records = self.records().as_committed if committed else self.records()
        return np.where(records.answer >= 0, (records.answer == records.label).astype(np.int8), records.answer)


def _names_of(sheet: Sheet) -> dict[str, Any]:
    """The names of each statement's variant, relation, semantic type and difficulty, as `Records` has them."""
    coded = {"variants": sheet.variant, "relations": sheet.relation[sheet.fact]}
    coded |= {"tail_types": sheet.tail_type[sheet.fact], "difficulties": sheet.difficulty[sheet.fact]}
    return {name: Names([str(one) for one in getattr(sheet, name)], code) for name, code in coded.items()}


def board_of(store: Store, run_id: str) -> Board:
    """A run's records as they are on disk now."""
    board = Board(store.answers.sheet(run_id))
    board.take(store.answers.news(run_id))
    return board
