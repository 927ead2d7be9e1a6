"""A run pair by pair: each true fact with its false partners, and which of their statements were answered right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from medfact.metrics.diagnosis import BLIND, CASE, DIAGNOSES, DIRECTION, MASTERED, NO, OPPOSITE, YES, diagnose
from medfact.runs.board import Board
from medfact.statements import ABSENT, IMPLICATIONS, UNREADABLE, VARIANTS

FILTERS = {
    "all": "all pairs",
    "missed": "not mastered",
    "mastered": "mastered",
    "fragile": "right when asked plainly, but not mastered",
    "denied": "wrong only when denied",
    OPPOSITE: "a fact of which it believes the opposite",
    BLIND: "a fact where it overlooks “not”",
    YES: "a false fact to which it says only “true”",
    NO: "a true fact to which it says only “false”",
    DIRECTION: "a fact known in one direction alone",
    CASE: "a fact known in general alone, or in a patient alone",
}
"""Which pairs are shown → what a person reads. A diagnosis: pairs one of whose facts has it (`metrics.diagnosis`)."""

Fates = NDArray[np.int8]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Pairs:
    """The pairs of a run. members: of each pair its facts' numbers, the true one first. relation: of each pair, its name.

    variants: the columns of `fate`, a row a fact, of the first draw of demonstrations. positive: whether each holds.
    committed: as `fate`, by the answers that replies commit to, which tell the diagnosis; None where they are the same.
    """

    variants: tuple[str, ...]
    members: tuple[tuple[int, ...], ...]
    relation: tuple[str, ...]
    fate: Fates
    positive: NDArray[np.bool_]
    committed: Fates | None = None

    def diagnosis(self, number: int) -> str | None:
        """The diagnosis of a fact by its number; None unless it has all of PretextTrans' eight variants, answered readably."""
        fate = (self.fate if self.committed is None else self.committed)[number]
        if self.variants != tuple(IMPLICATIONS) or (fate < 0).any():
            return None
        return diagnose((fate == 1).tolist(), bool(self.positive[number]))

    def right(self, pair: int) -> int:
        """How many statements of a pair were answered right."""
        return int((self.fate[list(self.members[pair])] == 1).sum())

    def asked(self, pair: int) -> int:
        """How many statements a pair has."""
        return int((self.fate[list(self.members[pair])] != ABSENT).sum())

    def chosen(self, only: str = "all", relation: str = "") -> list[int]:
        """The pairs that pass a filter of FILTERS and are of a relation ("": any), fewest right answers first."""
        of_relation = [pair for pair in range(len(self.members)) if relation in ("", self.relation[pair])]
        found = [pair for pair in of_relation if self._passes(pair, only)]
        begun = {pair: bool((self.fate[list(self.members[pair])] >= UNREADABLE).any()) for pair in found}
        return sorted(found, key=lambda pair: (not begun[pair], self.right(pair) - self.asked(pair)))

    def _passes(self, pair: int, only: str) -> bool:
        if only in DIAGNOSES and only != MASTERED:
            return any(self.diagnosis(number) == only for number in self.members[pair])
        fate = self.fate[list(self.members[pair])]
        done = bool((fate[fate != ABSENT] >= UNREADABLE).all())
        wrong = (fate != 1) & (fate != ABSENT)
        negated = np.array([VARIANTS[key].negated for key in self.variants], dtype=bool)
        plain = np.array([VARIANTS[key].form == key and key in ("none", "S1") for key in self.variants], dtype=bool)
        return {
            "all": True,
            "missed": done and bool(wrong.any()),
            "mastered": done and not wrong.any(),
            "fragile": done and bool(wrong.any()) and not wrong[:, plain].any(),
            "denied": done and bool(wrong.any()) and not wrong[:, ~negated].any(),
        }[only]


def pairs_of_run(board: Board) -> Pairs:
    """The pairs of a run."""
    sheet = board.sheet
    keys = tuple(key for key in VARIANTS if key in set(map(str, sheet.variants)))
    column = np.array([keys.index(str(key)) for key in sheet.variants], dtype=np.int64)
    first = sheet.draw == 0
    tables = np.full((2, len(sheet.positive), len(keys)), ABSENT, dtype=np.int8)
    for table, fate in zip(tables, (board.fates(), board.fates(committed=True)), strict=True):
        table[sheet.fact[first], column[sheet.variant[first]]] = fate[first]
    members: dict[int, list[int]] = {}
    for number, pair in enumerate(sheet.pair.tolist()):
        members.setdefault(pair, []).append(number)
    ordered = [tuple(sorted(group, key=lambda number: not sheet.positive[number])) for group in members.values()]
    relations = tuple(str(sheet.relations[sheet.relation[group[0]]]) for group in ordered)
    return Pairs(keys, tuple(ordered), relations, tables[0], np.asarray(sheet.positive, dtype=bool), tables[1])
