"""The tables of the database at its newest schema."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import sqlalchemy as sql

from medfact.facts import Fact

_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")
"""Characters that some database or file cannot hold: zero bytes and lone surrogates."""


def storable(text: str) -> str:
    """A text as it is stored: the replacement character stands for each character that cannot be stored."""
    return text if text.isascii() and "\x00" not in text else _NOT_STORABLE.sub("\ufffd", text)


RECORD_LENGTH = 32
"""Hexadecimal characters of a fact's record: 128 bits, which nobody can meet on purpose."""


def record_id(values: Mapping[str, Any]) -> str:
    """A hash of everything that is recorded of a fact. What is not known is left out, so that columns can be added."""
    known = {name: storable(value) if isinstance(value, str) else value for name, value in values.items() if value is not None}
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:RECORD_LENGTH]


class StoredText(sql.TypeDecorator[str]):
    """Text of any length and content, the same on every database."""

    impl = sql.Text
    cache_ok = True

    @property
    def python_type(self) -> type[str]:
        return str

    def process_bind_param(self, value: str | None, dialect: sql.Dialect) -> str | None:
        return None if value is None else storable(value)


metadata = sql.MetaData()

migrations = sql.Table("migrations", metadata, sql.Column("number", sql.Integer, primary_key=True))
"""Numbers of schemas: of the one at which the database was created, and of each one to which it was migrated."""

runs = sql.Table(
    "runs",
    metadata,
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=True),
    sql.Column("run", StoredText(), unique=True, nullable=False),
    sql.Column("owner", StoredText(), nullable=False, index=True),
    sql.Column("state", StoredText(), nullable=False),
    sql.Column("reason", StoredText()),
    sql.Column("started_at", StoredText(), nullable=False),
    sql.Column("finished_at", StoredText()),
    sql.Column("model", StoredText(), nullable=False),
    sql.Column("model_revision", StoredText()),
    sql.Column("chat", sql.Boolean),
    sql.Column("decoding", StoredText()),
    sql.Column("dataset", StoredText(), nullable=False),
    sql.Column("dataset_fingerprint", StoredText(), nullable=False),
    sql.Column("pool", StoredText(), nullable=False),
    sql.Column("shots", sql.Integer, nullable=False),
    sql.Column("spec", StoredText(), nullable=False),
    sql.Column("versions", StoredText(), nullable=False),
    sql.Column("notes", StoredText(), nullable=False),
    sql.Column("statements", sql.Integer, nullable=False),
    sql.Column("facts", sql.Integer, nullable=False),
    sql.Column("pool_text", StoredText()),
    sql.Column("population", StoredText()),
    sql.Column("name", StoredText()),
    sql.Column("note", StoredText()),
    sql.Column("changed", sql.Integer, nullable=False, server_default="0"),
    sql.Column("worker", StoredText()),
    sql.Column("beat_at", StoredText()),
    sql.Column("deleted_at", StoredText()),
)
"""`changed` grows with every write about a run's answers or state. `worker` is the process that runs it or will run it."""

events = sql.Table(
    "events",
    metadata,
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=True),
    sql.Column("run", StoredText(), nullable=False, index=True),
    sql.Column("at", StoredText(), nullable=False),
    sql.Column("what", StoredText(), nullable=False),
    sql.Column("said", StoredText()),
)
"""The history of a run: its states with their reasons, notes on its model, and the import of a copy."""

sheets = sql.Table(
    "sheets",
    metadata,
    sql.Column("run", StoredText(), primary_key=True),
    sql.Column("columns", sql.LargeBinary, nullable=False),
    sql.Column("figures", StoredText()),
    sql.Column("figures_of", sql.Integer),
)
"""A cache, so that pages open at once. `figures_of` is the run's `changed` when `figures` was computed."""

_TYPES: dict[str, Any] = {"bool": sql.Boolean, "bool | None": sql.Boolean, "int": sql.Integer}
"""Type of a fact's field → that of its column; any other is text."""

_FACT_TYPES = {one.name: str(one.type) for one in fields(Fact)}

FACT_TEXTS = tuple(name for name, kind in _FACT_TYPES.items() if kind not in _TYPES)

facts = sql.Table(
    "facts",
    metadata,
    sql.Column("record", StoredText(), primary_key=True),
    *(
        sql.Column(name, _TYPES.get(kind, StoredText)(), nullable=kind.endswith("| None"), index=name == "fact_id")
        for name, kind in _FACT_TYPES.items()
    ),
)
"""Facts as runs and reviewers name and describe them. `record` is a hash of all other columns: whoever describes a fact in
another way adds a row, and changes nobody's."""

statements = sql.Table(
    "statements",
    metadata,
    sql.Column("statement_id", StoredText(), primary_key=True),
    sql.Column("fact_id", StoredText(), nullable=False),
    sql.Column("pool", StoredText(), nullable=False),
    sql.Column("variant", StoredText(), nullable=False),
    sql.Column("text", StoredText(), nullable=False),
    sql.Column("origin", StoredText(), nullable=False),
)
"""What a statement's id is a hash of, the same for all runs. What its fact is called stands in `facts`."""

run_statements = sql.Table(
    "run_statements",
    metadata,
    sql.Column("run", StoredText(), primary_key=True),
    sql.Column("position", sql.Integer, primary_key=True),
    sql.Column("statement_id", StoredText(), nullable=False),
    sql.Column("shots_of", StoredText(), nullable=False),
    sql.Column("draw", sql.Integer, nullable=False),
    sql.Column("fact", sql.Integer, nullable=False),
    sql.Index("ix_run_statements_statement", "run", "statement_id", "draw"),
    sql.Index("ix_run_statements_fact", "run", "fact"),
)
"""`fact` numbers the facts of a run from 0, in the order in which they are first asked."""

run_facts = sql.Table(
    "run_facts",
    metadata,
    sql.Column("run", StoredText(), primary_key=True),
    sql.Column("fact", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("record", StoredText(), nullable=False, index=True),
    sql.Column("statement_id", StoredText()),
)
"""How a run names and describes its facts, by their numbers. After those that it asks come true facts of which it asks false
partners alone; of these, `statement_id` is a statement, which bears out whose id theirs is."""

demonstrations = sql.Table(
    "demonstrations",
    metadata,
    sql.Column("run", StoredText(), primary_key=True),
    sql.Column("shots_of", StoredText(), primary_key=True),
    sql.Column("position", sql.Integer, primary_key=True),
    sql.Column("text", StoredText(), nullable=False),
    sql.Column("label", sql.Boolean, nullable=False),
)

retrieved = sql.Table(
    "retrieved",
    metadata,
    sql.Column("run", StoredText(), primary_key=True),
    sql.Column("statement_id", StoredText(), primary_key=True),
    sql.Column("passages", StoredText(), nullable=False),
    sql.Column("gold", sql.Integer, nullable=False),
)
"""`passages` is a JSON list, best first, of [text, source, score, gold]; `gold` the rank of the first gold one, 0 for none."""

verdicts = sql.Table(
    "verdicts",
    metadata,
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=True),
    sql.Column("owner", StoredText(), nullable=False, index=True),
    sql.Column("reviewer", StoredText(), nullable=False),
    sql.Column("fact_id", StoredText(), nullable=False, index=True),
    sql.Column("statement_id", StoredText(), nullable=False),
    sql.Column("verdict", StoredText(), nullable=False),
    sql.Column("reasons", StoredText(), nullable=False),
    sql.Column("wording", StoredText(), nullable=False),
    sql.Column("comment", StoredText(), nullable=False),
    sql.Column("evidence", StoredText(), nullable=False),
    sql.Column("role", StoredText(), nullable=False),
    sql.Column("blind", sql.Boolean, nullable=False),
    sql.Column("queue", StoredText(), nullable=False),
    sql.Column("bulk", sql.Boolean, nullable=False),
    sql.Column("seconds", sql.Float(53)),
    sql.Column("decided_at", StoredText(), nullable=False),
    sql.Column("record", StoredText(), nullable=False, index=True),
    sql.Column("language", StoredText(), nullable=False),
)
"""A log: rows are added, never changed. `record` (of `facts`) is the fact as the reviewer was shown it, "" if not known;
`language` is that of the names and sentences that were judged.
"""

log = sql.Table(
    "log",
    metadata,
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=True),
    sql.Column("at", StoredText(), nullable=False),
    sql.Column("owner", StoredText(), nullable=False),
    sql.Column("kind", StoredText(), nullable=False),
    sql.Column("subject", StoredText(), nullable=False),
    sql.Column("person", StoredText(), nullable=False),
    sql.Column("run", StoredText(), index=True),
    sql.Column("content", StoredText(), nullable=False),
    sql.Index("ix_log_subject", "kind", "subject"),
    sql.Index("ix_log_owner", "owner", "kind"),
)
"""Rows are added and erased, never changed. `kind`: of the event, see `log.Kind`. `subject`: what it is about. `person`: under
whose name it was said. `run`: the run with which it is erased. `content`: the rest of the event, as JSON."""

erased_runs = sql.Table(
    "erased_runs",
    metadata,
    sql.Column("run", StoredText(), primary_key=True),
    sql.Column("content", StoredText(), nullable=False),
)
"""Of a run that was erased, its id, which no other run may take, and a hash of what it held; "" if it could not be read."""


def _reply_columns() -> list[sql.Column[Any]]:
    """What is recorded of a reply, in whichever table."""
    return [
        sql.Column("answer", sql.Boolean),
        sql.Column("p_true", sql.Float(53)),
        sql.Column("p_mass", sql.Float(53)),
        sql.Column("raw", StoredText()),
        sql.Column("failure", StoredText()),
        sql.Column("asked_at", StoredText(), nullable=False),
        sql.Column("p_low", sql.Float(53)),
        sql.Column("p_high", sql.Float(53)),
        sql.Column("cut", StoredText()),
        sql.Column("served_model", StoredText()),
        sql.Column("fingerprint", StoredText()),
        sql.Column("prompt_tokens", sql.Integer),
        sql.Column("completion_tokens", sql.Integer),
        sql.Column("seconds", sql.Float(53)),
        sql.Column("attempts", sql.Integer),
        sql.Column("reasoning_tokens", sql.Integer),
        sql.Column("stated", StoredText()),
        sql.Column("upstream", StoredText()),
        sql.Column("position", sql.Integer),
    ]


answers = sql.Table(
    "answers",
    metadata,
    sql.Column("run", StoredText(), primary_key=True),
    sql.Column("statement_id", StoredText(), primary_key=True),
    sql.Column("draw", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("key", StoredText(), nullable=False, index=True),
    *_reply_columns(),
    sql.Column("batch", sql.Integer, nullable=False),
    sql.Index("ix_answers_batch", "run", "batch"),
)
"""`batch` is the run's `changed` when the answer was saved, `position` that of its statement."""

pushes = sql.Table(
    "pushes",
    metadata,
    sql.Column("run", StoredText(), primary_key=True),
    sql.Column("statement_id", StoredText(), primary_key=True),
    sql.Column("draw", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("kind", StoredText(), primary_key=True),
    sql.Column("round", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("key", StoredText(), nullable=False),
    *_reply_columns(),
)
"""Replies after pushes against the answers of a run: of each answer, by the kind of push and its round."""
