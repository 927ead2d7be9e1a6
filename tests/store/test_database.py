"""Rows that are inserted many at once."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, Table

from medfact.store import Store, schema
from medfact.store.database import _ROWS_PER_INSERT, Database, _is_exact_as_json
from medfact.store.schema import storable

TEXTS = st.text(st.characters(exclude_categories=()), max_size=20) | st.sampled_from(
    ["\x00", "\ud800", "\\u0000", "'\"[1]", ""]
)
COLUMNS = ("statement_id", "fact_id", "pool", "variant", "text", "origin")


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Database:
    return Store(f"sqlite:///{tmp_path_factory.mktemp('rows') / 'medfact.db'}").database


Rows = Sequence[tuple[Any, ...]]
Insert = Callable[[Database, Connection, Table, Sequence[str], Rows], None]


def skipping(database: Database, connection: Connection, table: Table, columns: Sequence[str], rows: Rows) -> None:
    database.insert_rows(connection, database.insert_new(table), columns, rows)


BOTH = pytest.mark.parametrize("insert", [skipping, Database.insert_missing])


def inserted(database: Database, insert: Insert, rows: Rows) -> list[tuple[Any, ...]]:
    with database.writing() as connection:
        connection.execute(schema.statements.delete())
        insert(database, connection, schema.statements, COLUMNS, rows)
    with sqlite3.connect(str(database.file)) as opened:
        return opened.execute(f"SELECT {', '.join(COLUMNS)} FROM statements").fetchall()


@BOTH
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.tuples(TEXTS, TEXTS), max_size=5))
def test_every_text_is_read_back_as_it_can_be_stored(database: Database, insert: Insert, texts: list[tuple[str, str]]) -> None:
    rows = [(f"{number:032x}", "f", one, "plain", other, "") for number, (one, other) in enumerate(texts)]
    assert inserted(database, insert, rows) == [tuple(storable(value) if value else value for value in row) for row in rows]


@BOTH
def test_more_rows_than_one_command_takes_are_all_there_and_known_ones_stay(database: Database, insert: Insert) -> None:
    rows = [(f"{number:032x}", "f", "p", "plain", "text", "") for number in range(_ROWS_PER_INSERT + 1)]
    assert inserted(database, insert, [*rows, (rows[0][0], "f", "p", "plain", "another text", "")]) == rows


@BOTH
def test_of_rows_that_are_there_nothing_changes(database: Database, insert: Insert) -> None:
    earlier = [(f"{number:032x}", "f", "p", "plain", "text", "") for number in range(3)]
    later = [(f"{number:032x}", "g", "p", "plain", "another text", "") for number in range(1, 6)]
    inserted(database, insert, earlier)
    with database.writing() as connection:
        insert(database, connection, schema.statements, COLUMNS, later)
    with sqlite3.connect(str(database.file)) as opened:
        found = opened.execute(f"SELECT {', '.join(COLUMNS)} FROM statements ORDER BY statement_id").fetchall()
    assert found == [*earlier, *later[2:]]


@BOTH
def test_a_number_a_truth_and_nothing_stay_what_they_are(insert: Insert, tmp_path: Path) -> None:
    database = Store(f"sqlite:///{tmp_path / 'medfact.db'}").database
    columns = ("record", "fact_id", "head", "relation", "tail", "positive", "k")
    rows = [("r", "f", "gout", "treated by", None, False, 2**53 + 1), ("s", "g", "gout", "treated by", "rest", True, 0)]
    with database.writing() as connection:
        insert(database, connection, schema.facts, columns, rows)
    with sqlite3.connect(str(database.file)) as opened:
        assert opened.execute(f"SELECT {', '.join(columns)} FROM facts").fetchall() == [
            ("r", "f", "gout", "treated by", None, 0, 2**53 + 1),
            ("s", "g", "gout", "treated by", "rest", 1, 0),
        ]


def test_fractions_do_not_go_through_a_text(database: Database) -> None:
    insertion = schema.answers.insert()
    assert _is_exact_as_json(insertion, ("run", "statement_id", "draw", "answer"))
    assert not _is_exact_as_json(insertion, ("run", "p_true"))
    assert not _is_exact_as_json(insertion, ("run", "what is computed"))
