"""The rows that commands print, and where they go."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from medfact.facts import Fact
    from medfact.statements import Statement
    from medfact.store import Asked, Run, Store

OK, MISTAKE, SOME_FAILED = 0, 2, 3
"""Exit codes: complete, a user's mistake, complete but some calls failed."""

Rows = Iterable[dict[str, Any]]


def emit(rows: Rows, output: str | None) -> int:
    """Writes rows to a file, or prints them as JSON lines."""
    from medfact.datasets.table_writer import json_line, write_table

    if output:
        count = write_table(rows, Path(output))
        say(f"{count} rows written to {output}")
    else:
        for row in rows:
            print(json_line(row))
    return OK


def say(text: str) -> None:
    """Tells something on stderr."""
    print(text, file=sys.stderr)


def say_all(lines: Iterable[str]) -> None:
    """Tells notes on stderr."""
    for line in lines:
        say(f"note: {line}")


_FACT_COLUMNS = [
    "fact_id",
    "negative_of",
    "head",
    "relation",
    "tail",
    "positive",
    "head_type",
    "tail_type",
    "head_id",
    "tail_id",
    "source",
    "source_id",
]


def fact_row(fact: Fact) -> dict[str, Any]:
    """A row of `facts`, but for its role."""
    return {name: getattr(fact, name) for name in _FACT_COLUMNS}


def statement_row(statement: Statement) -> dict[str, Any]:
    """A row of `statements`."""
    fact = statement.fact
    return {
        "statement_id": statement.statement_id,
        "fact_id": fact.fact_id,
        "negative_of": fact.negative_of,
        "head": fact.head,
        "relation": fact.relation,
        "tail": fact.tail,
        "positive": fact.positive,
        "pool": statement.pool,
        "variant": statement.variant,
        "statement": statement.text,
        "label": statement.label,
    }


_SERVED = ("p_low", "p_high", "cut", "served_model", "fingerprint", "prompt_tokens", "completion_tokens", "seconds", "attempts")


def answer_row(item: Asked, record: Run) -> dict[str, Any]:
    """A row of `answers`: a statement with what the model said, or why its call failed."""
    given = item.answer
    return statement_row(item.statement) | {
        "model": record.model,
        "answer": given and given.answer,
        "p_true": given and given.p_true,
        "p_mass": given and given.p_mass,
        "raw": given and given.raw,
        "failure": given and given.failure,
        "shot_draw": item.draw,
        **{name: given and getattr(given, name) for name in _SERVED},
    }


def run_row(record: Run, store: Store) -> dict[str, Any]:
    """A row of `runs`."""
    from medfact.results.report import report_of

    report = report_of(store, record)
    return {
        "run": record.run,
        "owner": record.owner,
        "name": record.name,
        "note": record.note,
        "state": record.state,
        "reason": record.reason,
        "started_at": record.started_at,
        "finished_at": record.finished_at,
        "model": record.model,
        "dataset": record.dataset,
        "protocol": record.spec.protocol,
        "pool": record.pool,
        "shots": record.shots,
        "seed": record.spec.seed,
        "facts": record.facts,
        "statements": record.statements,
        "answered": report.answered,
        "failed": report.failed,
        "average_accuracy": report.average_accuracy.value,
        "joint_accuracy": report.joint_accuracy.value,
        "pair_joint_accuracy": report.pair_joint_accuracy.value,
        "usd": report.service and report.service["usd"],
    }
