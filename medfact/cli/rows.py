"""The rows that commands print, and where they go."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from medfact.cli import OK
from medfact.datasets.tables import json_line, write_table
from medfact.facts import Fact
from medfact.results.report import figures_of
from medfact.statements import Statement
from medfact.store import Asked, Run, Store

_TRIPLET = ("fact_id", "negative_of", "head", "relation", "tail", "positive")
_FACT = (*_TRIPLET, "head_type", "tail_type", "head_id", "tail_id", "source", "source_id")
_ANSWER = ("answer", "p_true", "p_mass", "raw", "failure")
_CALL = ("p_low", "p_high", "cut", "served_model", "fingerprint", "prompt_tokens", "completion_tokens", "seconds", "attempts")
_RUN = ("run", "owner", "name", "note", "state", "reason", "started_at", "finished_at", "model", "dataset")
_SCORES = ("average_accuracy", "joint_accuracy", "pair_joint_accuracy")


def emit(rows: Iterable[dict[str, Any]], output: str | None) -> int:
    """Writes rows to a file, or prints them as JSON lines. Returns the exit code 0."""
    if output:
        count = write_table(rows, Path(output))
        print_progress(f"{count} rows written to {output}")
    else:
        for row in rows:
            print(json_line(row))
    return OK


def print_progress(text: str) -> None:
    """Prints a line on stderr."""
    print(text, file=sys.stderr)


def print_notes(lines: Iterable[str]) -> None:
    """Prints notes on stderr."""
    for line in lines:
        print_progress(f"note: {line}")


def fact_row(fact: Fact) -> dict[str, Any]:
    """A row of `facts`, without the role."""
    return _fields(fact, _FACT)


def statement_row(statement: Statement) -> dict[str, Any]:
    """A row of `statements`."""
    return {
        "statement_id": statement.statement_id,
        **_fields(statement.fact, _TRIPLET),
        "pool": statement.pool,
        "variant": statement.variant,
        "statement": statement.text,
        "label": statement.label,
    }


def answer_row(asked: Asked, run: Run) -> dict[str, Any]:
    """A row of `answers`: a statement with the model's answer, or why its call failed."""
    return {
        **statement_row(asked.statement),
        "model": run.model,
        **_fields(asked.answer, _ANSWER),
        "shot_draw": asked.draw,
        **_fields(asked.answer, _CALL),
    }


def run_row(run: Run, store: Store) -> dict[str, Any]:
    """A row of `runs`."""
    report = figures_of(store, run)
    service = report["service"]
    return {
        **_fields(run, _RUN),
        "protocol": run.spec.protocol,
        "pool": run.pool,
        "shots": run.shots,
        "seed": run.spec.seed,
        "facts": run.facts,
        "statements": run.statements,
        "answered": report["answered"],
        "failed": report["failed"],
        **{name: report[name]["value"] for name in _SCORES},
        "usd": service and service["usd"],
    }


def _fields(record: object, names: Iterable[str]) -> dict[str, Any]:
    """Some fields of a record by their names; all None where there is no record."""
    return {name: record and getattr(record, name) for name in names}
