"""Statements as rows of the table `statements`."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from medfact.facts import Fact
from medfact.statements import Statement
from medfact.store.schema import FACT_TEXTS

FACT_COLUMNS = (*FACT_TEXTS, "positive", "k")
STATEMENT_COLUMNS = (*FACT_COLUMNS, "statement_id", "pool", "variant", "text", "origin")

_fact_values = attrgetter(*FACT_COLUMNS)
_own_values = attrgetter(*STATEMENT_COLUMNS[len(FACT_COLUMNS) :])


def statement_values(statement: Statement) -> tuple[Any, ...]:
    """The values of a statement's row, in the order of STATEMENT_COLUMNS."""
    return (*_fact_values(statement.fact), *_own_values(statement))


def fact_of(values: Sequence[Any]) -> Fact:
    """The fact of the first values of a statement's row, in the order of FACT_COLUMNS."""
    return Fact(**dict(zip(FACT_COLUMNS, values, strict=False)))


def statement_of(values: Sequence[Any], facts: dict[str, Fact]) -> Statement:
    """The statement of a row's values. facts: by id, so that the statements of a fact share one object."""
    fact = facts.get(values[0])
    if fact is None:
        fact = fact_of(values)
        facts[fact.fact_id] = fact
    statement_id, pool, variant, text, origin = values[len(FACT_COLUMNS) :]
    return Statement(fact, pool, variant, text, origin, statement_id)
