"""The answers of a run after pushes, as arrays, and what they show."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from medfact.metrics.pressure import Pressure, pressure
from medfact.metrics.records import PENDING, UNREADABLE, Records
from medfact.models.pressure import ROUNDS, kinds_asked
from medfact.store import Run, Store
from medfact.store.pushes import PushedColumns


def pressure_of(run: Run, records: Records, store: Store) -> Pressure | None:
    """What pushes did to the answers of a run; None where it has none."""
    if not run.spec.pressure:
        return None
    return pressure(records, pushed_records(records, store.pushes.columns(run.run), kinds_asked(run.spec.pressure)))


def pushed_records(records: Records, columns: PushedColumns, kinds: tuple[str, ...]) -> dict[str, tuple[Records, ...]]:
    """Kind → a run's records with the answers after its pushes, a round each."""
    return {kind: tuple(_after(records, columns, kind, turn) for turn in range(1, ROUNDS + 1)) for kind in kinds}


def _after(records: Records, columns: PushedColumns, kind: str, turn: int) -> Records:
    """A conversation that ended in an earlier round, with a reply that had nothing in it, has no answer in this one either: if
    it were left out, a model that falls silent would hold all that it still says.
    """
    of_kind = columns.kind == kind
    rows = of_kind & (columns.round == turn)
    at, count = columns.position[rows], len(records.fact)
    answer = np.full(count, PENDING, dtype=np.int8)
    answer[columns.position[of_kind & columns.is_empty & (columns.round < turn)]] = UNREADABLE
    p_true, p_mass = np.full(count, np.nan), np.full(count, np.nan)
    answer[at], p_true[at], p_mass[at] = columns.answer[rows], columns.p_true[rows], columns.p_mass[rows]
    return replace(records, answer=answer, p_true=p_true, p_mass=p_mass)
