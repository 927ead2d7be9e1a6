"""Runs that are broken off, and what must be whole afterwards."""

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
"""Of 27 positive and 27 negative facts."""


def stored_answers(store: Store, run: str) -> dict[str, Answer]:
    """Statement → its answer, of those that are answered."""
    return {item.statement.statement_id: item.answer for item in store.answers.asked(run) if item.answer is not None}


def is_database_intact(url: str) -> bool:
    """True if the database file passes its integrity check."""
    with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///").partition("?")[0])) as connection:
        return connection.execute("pragma integrity_check").fetchone() == ("ok",)


def assert_run_complete(store: Store, run: str, statements: int = STATEMENTS) -> None:
    """The run is complete, with one answer for each statement and none beside."""
    assert store.run(run).state == COMPLETE
    assert len(store.answers.news(run).position) == statements
    assert len(stored_answers(store, run)) == statements
    assert is_database_intact(store.url)


@pytest.fixture
def service() -> Iterator[MockService]:
    with MockService(Behaviour(latency=0.02)) as mock:
        yield mock


def start_service_run(store: Store, facts: Path, service: MockService) -> str:
    """A run at a service that is recorded, and asked by nobody yet."""
    settings = ServiceSettings(base_url=service.base_url, in_flight=IN_FLIGHT)
    return start(RunSpec(model="openai:gpt-4o", facts=str(facts), shots=0, service=settings), store)


def has_answers(store: Store, run: str) -> bool:
    """True if some statements of a run have an answer on disk."""
    return len(store.answers.news(run).position) > 0


@contextlib.contextmanager
def lock_database(store: Store) -> Iterator[None]:
    """Another program writes, and does not end."""
    with contextlib.closing(sqlite3.connect(store.url.removeprefix("sqlite:///").partition("?")[0])) as connection:
        connection.execute("begin exclusive")
        yield
        connection.rollback()
