"""About how many bytes rows take: their texts, and something for the rest."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sql

from medfact.store import schema

ROW_BYTES = 200
"""What a row takes beside its texts."""


def bytes_of(table: sql.Table, dialect: str) -> Any:
    """The bytes of a group of rows of a table, as an expression for a query."""
    columns = [column for column in table.c if isinstance(column.type, schema.StoredText | sql.LargeBinary)]
    sizes = (sql.func.coalesce(_length(column, dialect), 0) for column in columns)
    return sql.func.coalesce(sql.func.sum(sum(sizes, sql.literal(ROW_BYTES))), 0)


def _length(column: sql.Column[Any], dialect: str) -> Any:
    """The bytes of a text; `length` counts characters."""
    if dialect == "postgresql":
        return sql.func.octet_length(column)
    return sql.func.length(sql.cast(column, sql.LargeBinary))
