"""What a run holds, as a hash: so that an altered copy of a run that was erased can be told from a true one.

It is of what was asked, how, and what came of it. File names, addresses and the speed of calls belong to a machine, and a file
does not carry them all.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import sqlalchemy as sql

from medfact.models.services.replies import shortened
from medfact.spec import COMPARED, RunSpec
from medfact.store import schema
from medfact.store.entities import GOING, IMPORTED, PAUSED, STOPPED
from medfact.store.pushes import order_of_kinds
from medfact.store.schema import storable

WAS_GOING = "It was going on when it was exported."
DATABASE_ERROR = "Its database could not be written."
"""Replaces the database's own error, which names its folder."""

_RUN = (
    "started_at", "model", "model_revision", "chat", "dataset", "dataset_fingerprint", "pool", "shots", "statements", "facts",
)  # fmt: skip
_JSON = ("decoding", "versions", "notes", "pool_text", "population")
_SPEC = (
    "model", "dataset", "protocol", "limit", "per_relation", "negatives", "negative_difficulty", "shots", "seed", "shot_seed",
    "shot_draws", "question", "task", "writer", "retrieval", "passages", "leave_out", "reviewed", "racers",
)  # fmt: skip
_LATER = ("sourced",)
"""What earlier versions did not know: it counts where it says something."""
_SERVICE = ("temperature", "top_logprobs", "max_tokens", "repeats", "shots_as_turns", "seed", "completions")
_ANSWER = (
    "statement_id", "draw", "position", "key", "answer", "p_true", "p_mass", "p_low", "p_high", "raw", "failure", "cut",
    "served_model", "fingerprint", "prompt_tokens", "completion_tokens", "seconds", "attempts", "asked_at",
)  # fmt: skip
_PUSH = (*_ANSWER, "kind", "round")

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f]")
"""Control characters, which an import may leave out."""

_ROWS_AT_ONCE = 1_000


def ending_of(connection: sql.Connection, row: Any) -> dict[str, Any]:
    """How a run ended, as its file says it. One that is going on is written as stopped."""
    ended = {"state": row.state, "reason": row.reason, "finished_at": row.finished_at}
    if row.state in GOING:
        ended = {"state": STOPPED, "reason": WAS_GOING, "finished_at": _latest(connection, row.run) or row.started_at}
    elif row.state == PAUSED:
        ended["reason"] = public_reason(row.reason)
    return ended


def public_reason(reason: str | None) -> str | None:
    """Why a run paused, without details of its database."""
    return DATABASE_ERROR if reason is None or "database" in reason.lower() else reason


def _latest(connection: sql.Connection, run: str) -> str | None:
    """The time of a run's last event or answer."""
    times = (schema.events.c.at, schema.answers.c.asked_at, schema.pushes.c.asked_at)
    latest = [connection.execute(sql.select(sql.func.max(time)).where(time.table.c.run == run)).scalar() for time in times]
    return max(filter(None, latest), default=None)


def content_of(connection: sql.Connection, run: str) -> str:
    """A hash of all that a run's file holds; "" for a run whose record cannot be read."""
    told = hashlib.sha256()
    with suppress(ValueError, TypeError, AttributeError):
        told.update(_line(_of_run(connection, run)))
        for query in _queries(run):
            for row in connection.execute(query, execution_options={"yield_per": _ROWS_AT_ONCE}):
                told.update(_line(row))
        shot = schema.demonstrations.c
        shots = connection.execute(sql.select(shot.shots_of, shot.position, shot.text, shot.label).where(shot.run == run))
        told.update(b"".join(sorted(map(_line, shots))))
        return told.hexdigest()
    return ""


def _of_run(connection: sql.Connection, run: str) -> Iterator[Any]:
    row = connection.execute(sql.select(schema.runs).where(schema.runs.c.run == run)).one()
    yield from ending_of(connection, row).values()
    yield from (getattr(row, name) for name in _RUN)
    yield from (json.dumps(json.loads(getattr(row, name) or "{}") or {}, sort_keys=True) for name in _JSON)
    spec = json.loads(row.spec)
    service = spec.get("service") or {}
    yield from (json.dumps(spec.get(name)) for name in _SPEC)
    later = {name: spec.get(name) for name in (*COMPARED, *_LATER) if name not in _SPEC}
    yield from (f"{name}: {json.dumps(value)}" for name, value in later.items() if value not in (None, getattr(RunSpec, name)))
    yield from (json.dumps(service.get(name)) for name in _SERVICE)


def _queries(run: str) -> Iterable[sql.Select[Any]]:
    """What belongs to a run besides its row and its demonstrations, in an order that is the same in every database."""
    place, fact, found = schema.run_statements.c, schema.run_facts.c, schema.retrieved.c
    event, answer, push = schema.events.c, schema.answers.c, schema.pushes.c

    def rows(columns: Sequence[sql.Column[Any]], *order: Any) -> sql.Select[Any]:
        return sql.select(*columns).where(columns[0].table.c.run == run).order_by(*order)

    yield rows([place.position, place.statement_id, place.shots_of, place.draw, place.fact], place.position)
    yield rows([fact.fact, fact.record], fact.fact).where(fact.statement_id.is_(None))
    yield rows([fact.record, fact.statement_id], fact.statement_id).where(fact.statement_id.is_not(None))
    yield rows([found.statement_id, found.passages], found.statement_id)
    yield rows([event.at, event.what], event.number).where(event.what != IMPORTED)
    yield rows([answer[name] for name in _ANSWER], answer.position).where(answer.position.is_not(None))
    pushed = rows([push[name] for name in _PUSH], push.position, order_of_kinds(), push.round)
    yield pushed.where(push.position.is_not(None))


def _line(row: Iterable[Any]) -> bytes:
    """A row as text, the same before and after it was in a file."""
    return json.dumps([_told(value) for value in row]).encode() + b"\n"


def _told(value: Any) -> Any:
    if isinstance(value, str):
        return _UNSEEN.sub("", shortened(storable(value)))
    return None if isinstance(value, float) and not math.isfinite(value) else value
