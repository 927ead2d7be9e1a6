"""Facts and statements as rows of their tables."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import sqlalchemy as sql

from medfact.facts import FACT_COLUMNS, Fact
from medfact.statements import Statement
from medfact.store import schema
from medfact.store.schema import storable

RECORD_COLUMNS = ("record", *FACT_COLUMNS)
STATEMENT_COLUMNS = ("statement_id", "fact_id", "pool", "variant", "text", "origin")

RECORD_LENGTH = 32
"""Hexadecimal characters of a fact's record: 128 bits, which nobody can meet on purpose."""

_fact_values = attrgetter(*FACT_COLUMNS)


def record_id(values: Mapping[str, Any]) -> str:
    """A hash of everything that is recorded of a fact. What is not known is left out, so that columns can be added."""
    known = {name: storable(value) if isinstance(value, str) else value for name, value in values.items() if value is not None}
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:RECORD_LENGTH]


def record_values(fact: Fact) -> tuple[Any, ...]:
    """The values of a fact's row, in the order of RECORD_COLUMNS."""
    values = _fact_values(fact)
    return (record_id(dict(zip(FACT_COLUMNS, values, strict=True))), *values)


def statement_values(statement: Statement) -> tuple[Any, ...]:
    """The values of a statement's row, in the order of STATEMENT_COLUMNS."""
    own = (statement.pool, statement.variant, statement.text, statement.origin)
    return (statement.statement_id, statement.fact.fact_id, *own)


def fact_of(values: Sequence[Any]) -> Fact:
    """The fact of a row's values, in the order of FACT_COLUMNS."""
    return Fact(**dict(zip(FACT_COLUMNS, values, strict=True)))


def statement_of(values: Sequence[Any], fact: Fact) -> Statement:
    """The statement of a row's values, in the order of STATEMENT_COLUMNS. fact: as whoever asks names it."""
    statement_id, _, pool, variant, text, origin = values
    return Statement(fact, pool, variant, text, origin, statement_id)


def fact_columns() -> Iterable[sql.Column[Any]]:
    """The columns of `facts` from which `fact_of` makes a fact."""
    return (schema.facts.c[name] for name in FACT_COLUMNS)
