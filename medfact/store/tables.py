"""The tables of the database, as they are at the newest version of its schema."""

from __future__ import annotations

import re
from typing import Any

import sqlalchemy as sql
from sqlalchemy.dialects import postgresql

UNWRITABLE = re.compile("[\x00\ud800-\udfff]")
"""What some database or file cannot hold: zero bytes, and halves of characters."""


def writable(text: str) -> str:
    """A text as it is stored: with the sign for an unknown character where one cannot be written."""
    return text if text.isascii() and "\x00" not in text else UNWRITABLE.sub("\ufffd", text)


class Words(sql.TypeDecorator[str]):
    """Text of any length and content; the same comes back from every database. length: for SQLite alone, which ignores it."""

    impl = sql.Text
    cache_ok = True

    def __init__(self, length: int | None = None) -> None:
        super().__init__()
        self.length = length

    @property
    def python_type(self) -> type[str]:
        return str

    def load_dialect_impl(self, dialect: sql.Dialect) -> Any:
        if dialect.name == "postgresql":
            return postgresql.TEXT()
        return sql.String(self.length) if self.length else sql.Text()

    def process_bind_param(self, value: str | None, dialect: sql.Dialect) -> str | None:
        return None if value is None else writable(value)


metadata = sql.MetaData()

schema_version = sql.Table("schema_version", metadata, sql.Column("version", sql.Integer, primary_key=True))

runs = sql.Table(
    "runs",
    metadata,
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=True),
    sql.Column("run", Words(32), unique=True, nullable=False),
    sql.Column("owner", Words(64), nullable=False, index=True),
    sql.Column("state", Words(16), nullable=False),
    sql.Column("reason", Words()),
    sql.Column("started_at", Words(32), nullable=False),
    sql.Column("finished_at", Words(32)),
    sql.Column("model", Words(512), nullable=False),
    sql.Column("model_revision", Words(128)),
    sql.Column("chat", sql.Boolean),
    sql.Column("decoding", Words()),
    sql.Column("dataset", Words(512), nullable=False),
    sql.Column("dataset_fingerprint", Words(64), nullable=False),
    sql.Column("pool", Words(256), nullable=False),
    sql.Column("shots", sql.Integer, nullable=False),
    sql.Column("spec", Words(), nullable=False),
    sql.Column("versions", Words(), nullable=False),
    sql.Column("notes", Words(), nullable=False),
    sql.Column("statements", sql.Integer, nullable=False),
    sql.Column("facts", sql.Integer, nullable=False, server_default="0"),
    sql.Column("pool_text", Words()),
    sql.Column("name", Words()),
    sql.Column("note", Words()),
    sql.Column("changed", sql.Integer, nullable=False, server_default="0"),
    sql.Column("worker", Words(200)),
    sql.Column("beat_at", Words(32)),
    sql.Column("deleted_at", Words(32)),
)
"""`changed` grows with every write about a run's answers or state; `worker` is the process that asks now, or is going to."""

events = sql.Table(
    "events",
    metadata,
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=True),
    sql.Column("run", Words(32), nullable=False, index=True),
    sql.Column("at", Words(32), nullable=False),
    sql.Column("what", Words(32), nullable=False),
    sql.Column("said", Words()),
)
"""What happened to a run: its states with their reasons, what was noted of its model, and where a copy of it came from."""

sheets = sql.Table(
    "sheets",
    metadata,
    sql.Column("run", Words(32), primary_key=True),
    sql.Column("columns", sql.LargeBinary, nullable=False),
    sql.Column("figures", Words()),
    sql.Column("figures_of", sql.Integer),
)
"""What is made from a run's other rows so that pages open at once; it can be made anew. figures_of: the `changed` it is of."""

FACT_TEXTS = (
    "fact_id",
    "negative_of",
    "head",
    "relation",
    "tail",
    "head_type",
    "tail_type",
    "head_id",
    "tail_id",
    "source",
    "source_id",
    "strength",
    "specialty",
)

statements = sql.Table(
    "statements",
    metadata,
    sql.Column("statement_id", Words(32), primary_key=True),
    *(sql.Column(name, Words(), nullable=name not in {"fact_id", "head", "relation"}) for name in FACT_TEXTS),
    sql.Column("positive", sql.Boolean, nullable=False),
    sql.Column("k", sql.Integer, nullable=False),
    sql.Column("pool", Words(256), nullable=False),
    sql.Column("variant", Words(16), nullable=False),
    sql.Column("text", Words(), nullable=False),
    sql.Column("origin", Words(64), nullable=False),
)

run_statements = sql.Table(
    "run_statements",
    metadata,
    sql.Column("run", Words(32), primary_key=True),
    sql.Column("position", sql.Integer, primary_key=True),
    sql.Column("statement_id", Words(32), nullable=False),
    sql.Column("shots_of", Words(300), nullable=False),
    sql.Column("draw", sql.Integer, nullable=False, server_default="0"),
    sql.Column("fact", sql.Integer, nullable=False, server_default="0"),
    sql.Index("ix_run_statements_statement", "run", "statement_id", "draw"),
    sql.Index("ix_run_statements_fact", "run", "fact"),
)
"""`fact` counts the facts of a run from 0, in the order in which they are asked first."""

demonstrations = sql.Table(
    "demonstrations",
    metadata,
    sql.Column("run", Words(32), primary_key=True),
    sql.Column("shots_of", Words(300), primary_key=True),
    sql.Column("position", sql.Integer, primary_key=True),
    sql.Column("text", Words(), nullable=False),
    sql.Column("label", sql.Boolean, nullable=False),
)

rejections = sql.Table(
    "rejections",
    metadata,
    sql.Column("owner", Words(64), primary_key=True),
    sql.Column("fact_id", Words(32), primary_key=True),
    sql.Column("tail", Words(1000), primary_key=True),
    sql.Column("rejected_at", Words(32), nullable=False),
)

answers = sql.Table(
    "answers",
    metadata,
    sql.Column("run", Words(32), primary_key=True),
    sql.Column("statement_id", Words(32), primary_key=True),
    sql.Column("draw", sql.Integer, primary_key=True, autoincrement=False, server_default="0"),
    sql.Column("key", Words(64), nullable=False, index=True),
    sql.Column("answer", sql.Boolean),
    sql.Column("p_true", sql.Float(53)),
    sql.Column("p_mass", sql.Float(53)),
    sql.Column("raw", Words()),
    sql.Column("failure", Words()),
    sql.Column("asked_at", Words(32), nullable=False),
    sql.Column("p_low", sql.Float(53)),
    sql.Column("p_high", sql.Float(53)),
    sql.Column("cut", Words(32)),
    sql.Column("served_model", Words()),
    sql.Column("fingerprint", Words()),
    sql.Column("prompt_tokens", sql.Integer),
    sql.Column("completion_tokens", sql.Integer),
    sql.Column("seconds", sql.Float(53)),
    sql.Column("attempts", sql.Integer),
    sql.Column("position", sql.Integer),
    sql.Column("batch", sql.Integer, nullable=False, server_default="0"),
    sql.Index("ix_answers_batch", "run", "batch"),
)
"""`batch` is the `changed` of the run with which an answer was saved, `position` that of its statement."""
