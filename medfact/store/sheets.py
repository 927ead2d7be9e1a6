"""A run's statements as arrays without their texts, from which all figures are computed."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from medfact.caching import shared_cache
from medfact.facts import Fact, digest
from medfact.statements import Statement
from medfact.store.entities import Asked

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Sheet:
    """Arrays with an entry per statement (by position), and arrays with an entry per fact (by its number in the run).

    Per statement: `fact` (number), `draw` (number of the draw of demonstrations), `variant` (index into `variants`).
    Per fact: `identity` (a number, the same for the same fact in every run), `pair` (the same for a positive fact and its
    negatives), `head` and `tail` (codes), `relation`, `tail_type` and `difficulty` (indices into
    `relations`, `tail_types`, `difficulties`, where "" is a positive fact's, or unknown), `positive`, `bounds` (codes of where
    and of whom it is said; the same where it is said of everybody everywhere).
    """

    fact: Ints
    draw: Ints
    variant: Ints
    variants: NDArray[np.str_]
    identity: Ints
    pair: Ints
    head: Ints
    tail: Ints
    relation: Ints
    relations: NDArray[np.str_]
    tail_type: Ints
    tail_types: NDArray[np.str_]
    difficulty: Ints
    difficulties: NDArray[np.str_]
    positive: NDArray[np.bool_]
    bounds: Ints

    def to_bytes(self) -> bytes:
        """The arrays, compressed."""
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **{f.name: getattr(self, f.name) for f in fields(self)})
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Sheet:
        with np.load(io.BytesIO(data), allow_pickle=False) as saved:
            arrays = dict(saved)
        for array in arrays.values():
            array.setflags(write=False)  # runs of one plan share them
        return cls(**{f.name: arrays[f.name] for f in fields(cls)})


STATEMENTS_KEPT = 200_000
"""Statements of the sheets that are kept, those used last."""


@shared_cache(STATEMENTS_KEPT, lambda sheet: 1 + len(sheet.fact) if sheet else 1)
def readable_sheet(data: bytes) -> Sheet | None:
    """A sheet that was kept; None where it is damaged, so that it is made anew. Many visitors begin runs of the same plan,
    whose sheets are equal.
    """
    try:
        return Sheet.from_bytes(data)
    except (ValueError, OSError, EOFError, BadZipFile):
        return None


def fact_numbers(statements: Iterable[Statement]) -> list[int]:
    """The number of each statement's fact. Facts are numbered from 0 in the order in which they come."""
    numbers: dict[str, int] = {}
    return [numbers.setdefault(statement.fact.fact_id, len(numbers)) for statement in statements]


def sheet_of(planned: Iterable[Asked]) -> Sheet:
    """The sheet of statements in the order in which they are asked. Keeps their facts in memory, not the statements."""
    first: dict[str, tuple[int, Fact]] = {}
    asked = []
    for p in planned:
        number, _ = first.setdefault(p.statement.fact.fact_id, (len(first), p.statement.fact))
        asked.append((number, p.draw, p.statement.variant))
    facts = [fact for _, fact in first.values()]
    variant, variants = _codes([key for _, _, key in asked])
    relation, relations = _codes([fact.relation for fact in facts])
    tail_type, tail_types = _codes([fact.tail_type or "" for fact in facts])
    difficulty, difficulties = _codes([fact.difficulty or "" for fact in facts])
    return Sheet(
        fact=np.array([number for number, _, _ in asked], dtype=np.int64),
        draw=np.array([draw for _, draw, _ in asked], dtype=np.int64),
        variant=variant,
        variants=variants,
        identity=np.array([_identity(fact.fact_id, fact.tail) for fact in facts], dtype=np.int64),
        pair=_codes([fact.negative_of or fact.fact_id for fact in facts])[0],
        head=_codes([fact.head for fact in facts])[0],
        tail=_codes([fact.tail_key for fact in facts])[0],
        relation=relation,
        relations=relations,
        tail_type=tail_type,
        tail_types=tail_types,
        difficulty=difficulty,
        difficulties=difficulties,
        positive=np.array([fact.positive for fact in facts], dtype=bool),
        bounds=_codes([repr((fact.region, fact.population)) for fact in facts])[0],
    )


def _identity(fact_id: str, tail: str | None) -> int:
    """The tail counts too: a negative's id depends only on its positive fact and its number, not on the tail drawn."""
    return int(digest(fact_id, tail)[:15], 16)


def _codes(values: Sequence[str]) -> tuple[Ints, NDArray[np.str_]]:
    names = sorted(set(values))
    place = {name: number for number, name in enumerate(names)}
    return np.array([place[value] for value in values], dtype=np.int64), np.array(names, dtype=np.str_)
