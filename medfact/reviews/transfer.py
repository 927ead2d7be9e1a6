"""Verdicts as rows of a table, and back: for other tools, other machines and other reviewers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from medfact.assets import ENGLISH, language_codes
from medfact.datasets import read_table
from medfact.datasets.headers import Columns
from medfact.errors import FactsError
from medfact.facts import Fact, digest
from medfact.reviews.verdicts import (
    ADJUDICATOR,
    FACT_VERDICTS,
    GAME,
    QUEUES,
    REASONS,
    REVIEWER,
    STATEMENTS_ALONE,
    WITHDRAWN,
    who,
)
from medfact.statements import Statement
from medfact.store import Verdict

LONGEST_NAME, LONGEST_TEXT = 120, 20_000
"""Characters of a reviewer's name, and of a comment, a wording or a link."""

_COLUMNS = ("reviewer", "fact_id", "verdict")


def browser_of(owner: str) -> str:
    """What an owner is called in a table: an owner's own name would open what is theirs."""
    return digest(owner)[:12]


def _row(verdict: Verdict, before: str | None, about: Statement | None, fact: Fact | None) -> dict[str, Any]:
    """A verdict with all its circumstances. before: the reviewer's verdict on the same thing until then. about: the statement
    that it is about, if it is about one; fact: the fact.
    """
    said = vars(verdict) | {"reasons": ", ".join(verdict.reasons), "statement_id": verdict.statement_id or None}
    found = {name: fact and getattr(fact, name) for name in ("head", "relation", "tail", "positive")}
    found |= {"browser": browser_of(verdict.owner), "before": before}
    found |= {"variant": about and about.variant, "statement": about and about.text}
    return {name: found[name] if name in found else said[name] for name in _ROW}


_ROW = (
    "number", "decided_at", "browser", "reviewer", "role", "fact_id", "head", "relation", "tail", "positive", "statement_id",
    "variant", "statement", "verdict", "before", "reasons", "wording", "comment", "evidence", "blind", "queue", "bulk",
    "seconds", "language",
)  # fmt: skip

NOBODY_KNOWS: Mapping[str, Fact] = {}


def rows_of(
    log: Sequence[Verdict], statements: Sequence[Statement], shown: Mapping[str, Fact] = NOBODY_KNOWS
) -> Iterator[dict[str, Any]]:
    """A row for each verdict of a log, in its order, with what the reviewer said before. shown: facts as reviewers were shown
    them, by `Verdict.record`; others are named as the statements name them.
    """
    by_id = {statement.statement_id: statement for statement in statements}
    of_fact = {statement.fact.fact_id: statement.fact for statement in statements}
    last: dict[tuple[str, ...], str] = {}
    for verdict in log:
        thing = (who(verdict), verdict.fact_id, verdict.statement_id, str(verdict.queue == GAME))
        fact = shown.get(verdict.record) or of_fact.get(verdict.fact_id)
        yield _row(verdict, last.get(thing), by_id.get(verdict.statement_id), fact)
        last[thing] = verdict.verdict


def verdicts_in(path: Path) -> list[Verdict]:
    """The verdicts of a table, such as `rows_of` makes. Its own numbers, times and owners are not taken over.

    Raises FactsError, naming the row, where one cannot be.
    """
    columns, rows = read_table(path, needed=Columns(lambda names: set(_COLUMNS) <= set(names), fewest=2))
    if missing := [name for name in _COLUMNS if name not in columns]:
        raise FactsError(f"{path.name} has no column {missing[0]!r}.", "It needs reviewer, fact_id and verdict.")
    return [_verdict(path.name, number, row) for number, row in rows]


def _verdict(name: str, number: int, row: Mapping[str, str]) -> Verdict:
    def text(column: str, default: str = "") -> str:
        return (row.get(column) or "").strip() or default

    statement = text("statement_id")
    # a game asks of each statement whether it is true
    of_statement = FACT_VERDICTS if text("queue") == GAME else STATEMENTS_ALONE
    known = {
        "verdict": [WITHDRAWN, *(of_statement if statement else FACT_VERDICTS)],
        "role": [REVIEWER, ADJUDICATOR],
        "queue": [*QUEUES],
        "language": language_codes(),
    }
    defaults = {"role": REVIEWER, "queue": Verdict.queue, "language": ENGLISH}
    values = {column: text(column, defaults.get(column, "")) for column in known}
    for column, names in known.items():
        if values[column] not in names:
            raise FactsError(f"{name}, row {number}: {values[column]!r} is no {column}.", f"It is one of: {', '.join(names)}.")
    for column, most in (("reviewer", LONGEST_NAME), ("fact_id", 32), ("statement_id", 32)):
        if len(text(column)) > most or (column != "statement_id" and not text(column)):
            raise FactsError(f"{name}, row {number}: its {column} is missing, or longer than {most} characters.")
    texts: dict[str, Any] = {column: text(column)[:LONGEST_TEXT] for column in ("wording", "comment", "evidence")}
    reasons = tuple(reason for reason in (one.strip() for one in text("reasons").split(",")) if reason in REASONS)
    return Verdict(
        text("reviewer"),
        text("fact_id"),
        values["verdict"],
        statement_id=statement,
        reasons=reasons,
        role=values["role"],
        blind=_flag(name, number, "blind", text("blind", "true")),
        queue=values["queue"],
        bulk=_flag(name, number, "bulk", text("bulk", "false")),
        seconds=_seconds(name, number, text("seconds")),
        language=values["language"],
        **texts,
    )


def _flag(name: str, number: int, column: str, text: str) -> bool:
    flags = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if text.lower() not in flags:
        raise FactsError(f"{name}, row {number}: {column} is {text[:40]!r}.", "Write true or false.")
    return flags[text.lower()]


def _seconds(name: str, number: int, text: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        raise FactsError(f"{name}, row {number}: seconds is {text[:40]!r}.", "Write a number.") from None
