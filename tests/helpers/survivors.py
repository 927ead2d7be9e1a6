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
"""Number of simultaneous calls of the service."""


STATEMENTS = 432
"""Number of statements: 8 for each of 27 positive and 27 negative facts."""


def stored_answers(store: Store, run: str) -> dict[str, Answer]:
    """Returns statement id → stored answer, for the answered statements of a run."""
    return {item.statement.statement_id: item.answer for item in store.answers.asked(run) if item.answer is not None}


def is_database_intact(url: str) -> bool:
    """Returns True if an SQLite file passes its integrity check. url: of the store, sqlite:///FILE."""
    with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///").partition("?")[0])) as connection:
        return connection.execute("pragma integrity_check").fetchone() == ("ok",)


def assert_run_complete(store: Store, run: str, statements: int = STATEMENTS) -> None:
    """Asserts that a run is complete, with exactly one answer for each statement, in an intact SQLite file.

    statements: their expected number.
    """
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
    """Creates a run of a service in the store, without executing it, and returns its id. facts: file of the facts."""
    settings = ServiceSettings(base_url=service.base_url, in_flight=IN_FLIGHT)
    return start(RunSpec(model="openai:gpt-4o", facts=str(facts), shots=0, service=settings), store)


def has_answers(store: Store, run: str) -> bool:
    """Returns True if the store has at least one answer of a run."""
    return len(store.answers.news(run).position) > 0


@contextlib.contextmanager
def lock_database(store: Store) -> Iterator[None]:
    """Locks the SQLite file of a store exclusively while the context is active, as another program does while it writes."""
    with contextlib.closing(sqlite3.connect(store.url.removeprefix("sqlite:///").partition("?")[0])) as connection:
        connection.execute("begin exclusive")
        yield
        connection.rollback()
