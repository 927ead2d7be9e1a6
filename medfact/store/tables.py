"""The tables of the database, as they are at the newest version of its schema."""

from __future__ import annotations

import sqlalchemy as sql

metadata = sql.MetaData()

schema_version = sql.Table("schema_version", metadata, sql.Column("version", sql.Integer, primary_key=True))

runs = sql.Table(
    "runs",
    metadata,
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=True),
    sql.Column("run", sql.String(32), unique=True, nullable=False),
    sql.Column("owner", sql.String(64), nullable=False, index=True),
    sql.Column("state", sql.String(16), nullable=False),
    sql.Column("reason", sql.Text),
    sql.Column("started_at", sql.String(32), nullable=False),
    sql.Column("finished_at", sql.String(32)),
    sql.Column("model", sql.String(512), nullable=False),
    sql.Column("model_revision", sql.String(128)),
    sql.Column("chat", sql.Boolean),
    sql.Column("decoding", sql.Text),
    sql.Column("dataset", sql.String(512), nullable=False),
    sql.Column("dataset_fingerprint", sql.String(64), nullable=False),
    sql.Column("pool", sql.String(256), nullable=False),
    sql.Column("shots", sql.Integer, nullable=False),
    sql.Column("spec", sql.Text, nullable=False),
    sql.Column("versions", sql.Text, nullable=False),
    sql.Column("notes", sql.Text, nullable=False),
    sql.Column("statements", sql.Integer, nullable=False),
    sql.Column("facts", sql.Integer, nullable=False, server_default="0"),
    sql.Column("pool_text", sql.Text),
    sql.Column("name", sql.Text),
    sql.Column("note", sql.Text),
    sql.Column("changed", sql.Integer, nullable=False, server_default="0"),
    sql.Column("worker", sql.String(200)),
    sql.Column("beat_at", sql.String(32)),
    sql.Column("deleted_at", sql.String(32)),
)
"""`changed` grows with every write about a run's answers or state; `worker` is the process that asks now, or is going to."""

events = sql.Table(
    "events",
    metadata,
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=True),
    sql.Column("run", sql.String(32), nullable=False, index=True),
    sql.Column("at", sql.String(32), nullable=False),
    sql.Column("what", sql.String(32), nullable=False),
    sql.Column("said", sql.Text),
)
"""What happened to a run: its states with their reasons, what was noted of its model, and where a copy of it came from."""

sheets = sql.Table(
    "sheets",
    metadata,
    sql.Column("run", sql.String(32), primary_key=True),
    sql.Column("columns", sql.LargeBinary, nullable=False),
    sql.Column("figures", sql.Text),
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
    sql.Column("statement_id", sql.String(32), primary_key=True),
    *(sql.Column(name, sql.Text, nullable=name not in {"fact_id", "head", "relation"}) for name in FACT_TEXTS),
    sql.Column("positive", sql.Boolean, nullable=False),
    sql.Column("k", sql.Integer, nullable=False),
    sql.Column("pool", sql.String(256), nullable=False),
    sql.Column("variant", sql.String(16), nullable=False),
    sql.Column("text", sql.Text, nullable=False),
    sql.Column("origin", sql.String(64), nullable=False),
)

run_statements = sql.Table(
    "run_statements",
    metadata,
    sql.Column("run", sql.String(32), primary_key=True),
    sql.Column("position", sql.Integer, primary_key=True),
    sql.Column("statement_id", sql.String(32), nullable=False),
    sql.Column("shots_of", sql.String(300), nullable=False),
    sql.Column("draw", sql.Integer, nullable=False, server_default="0"),
    sql.Column("fact", sql.Integer, nullable=False, server_default="0"),
    sql.Index("ix_run_statements_statement", "run", "statement_id", "draw"),
    sql.Index("ix_run_statements_fact", "run", "fact"),
)
"""`fact` counts the facts of a run from 0, in the order in which they are asked first."""

demonstrations = sql.Table(
    "demonstrations",
    metadata,
    sql.Column("run", sql.String(32), primary_key=True),
    sql.Column("shots_of", sql.String(300), primary_key=True),
    sql.Column("position", sql.Integer, primary_key=True),
    sql.Column("text", sql.Text, nullable=False),
    sql.Column("label", sql.Boolean, nullable=False),
)

rejections = sql.Table(
    "rejections",
    metadata,
    sql.Column("owner", sql.String(64), primary_key=True),
    sql.Column("fact_id", sql.String(32), primary_key=True),
    sql.Column("tail", sql.String(1000), primary_key=True),
    sql.Column("rejected_at", sql.String(32), nullable=False),
)

answers = sql.Table(
    "answers",
    metadata,
    sql.Column("run", sql.String(32), primary_key=True),
    sql.Column("statement_id", sql.String(32), primary_key=True),
    sql.Column("draw", sql.Integer, primary_key=True, autoincrement=False, server_default="0"),
    sql.Column("key", sql.String(64), nullable=False, index=True),
    sql.Column("answer", sql.Boolean),
    sql.Column("p_true", sql.Float(53)),
    sql.Column("p_mass", sql.Float(53)),
    sql.Column("raw", sql.Text),
    sql.Column("failure", sql.Text),
    sql.Column("asked_at", sql.String(32), nullable=False),
    sql.Column("p_low", sql.Float(53)),
    sql.Column("p_high", sql.Float(53)),
    sql.Column("cut", sql.String(32)),
    sql.Column("served_model", sql.Text),
    sql.Column("fingerprint", sql.Text),
    sql.Column("prompt_tokens", sql.Integer),
    sql.Column("completion_tokens", sql.Integer),
    sql.Column("seconds", sql.Float(53)),
    sql.Column("attempts", sql.Integer),
    sql.Column("position", sql.Integer),
    sql.Column("batch", sql.Integer, nullable=False, server_default="0"),
    sql.Index("ix_answers_batch", "run", "batch"),
)
"""`batch` is the `changed` of the run with which an answer was saved, `position` that of its statement."""
