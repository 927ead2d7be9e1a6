"""Runs that are interrupted, and checks that they are complete afterwards."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from mock_service import Behaviour, MockService

from medfact.models import ServiceSettings
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import COMPLETE, Answer, Store

IN_FLIGHT = 8


STATEMENTS = 432
"""Number of statements: 8 for each of 27 positive and 27 negative facts."""


def stored_answers(store: Store, run: str) -> dict[str, Answer]:
    """Returns the id of each answered statement → its answer."""
    return {item.statement.statement_id: item.answer for item in store.answers.asked(run) if item.answer is not None}


def is_database_intact(url: str) -> bool:
    """Returns True if the database file passes its integrity check."""
    with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///").partition("?")[0])) as connection:
        return connection.execute("pragma integrity_check").fetchone() == ("ok",)


def assert_run_complete(store: Store, run: str, statements: int = STATEMENTS) -> None:
    """Asserts that a run is complete, with one answer for each statement and no others, in an intact database."""
    assert store.run(run).state == COMPLETE
    assert len(store.answers.news(run).position) == statements
    assert len(stored_answers(store, run)) == statements
    assert is_database_intact(store.url)


@pytest.fixture
def service() -> Iterator[MockService]:
    """A mock service with a latency of 0.02 s."""
    with MockService(Behaviour(latency=0.02)) as mock:
        yield mock


def start_service_run(store: Store, facts: Path, service: MockService) -> str:
    """Records a run of a service without an answer, and returns its id."""
    settings = ServiceSettings(base_url=service.base_url, in_flight=IN_FLIGHT)
    return start(RunSpec(model="openai:gpt-4o", facts=str(facts), shots=0, service=settings), store)


def has_answers(store: Store, run: str) -> bool:
    """Returns True if a statement of a run has a stored answer."""
    return len(store.answers.news(run).position) > 0


@contextlib.contextmanager
def lock_database(store: Store) -> Iterator[None]:
    """Holds an exclusive lock on the database while the context is active, as another program does that writes."""
    with contextlib.closing(sqlite3.connect(store.url.removeprefix("sqlite:///").partition("?")[0])) as connection:
        connection.execute("begin exclusive")
        yield
        connection.rollback()
