"""Fixtures of the app: its state, its jobs, visitors of a Space, and processes that start quickly."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from forked_workers import context_of_forks, serve_forks, socket_of_messages
from processes import CONTEXT, CommandProcess, start_fork_server
from strangers import space_visitor
from visitors import visitor_fixture

from medfact.results.compare import Comparisons
from medfact.results.live import Reports
from medfact.runs.jobs import Jobs
from medfact.store import Store
from medfact.web.services import Services

SPACE = {"SPACE_ID": "somebody/medfact", "GRADIO_SERVER_NAME": "127.0.0.1"}
"""Environment variables of a server that Hugging Face starts as a Space."""


@contextmanager
def services_on(store: Store) -> Iterator[Services]:
    """Yields the state of a server on this store, without HTTP, and closes its jobs."""
    jobs = Jobs(store)
    reports = Reports(store, jobs)
    yield Services(store, jobs, reports, Comparisons(store, reports))
    jobs.close()


@pytest.fixture
def services(store: Store) -> Iterator[Services]:
    """State of a server on the test's store."""
    with services_on(store) as services:
        yield services


@pytest.fixture
def jobs(store: Store) -> Iterator[Jobs]:
    """Jobs of the test's store, closed at the end."""
    jobs = Jobs(store)
    yield jobs
    jobs.close()


@pytest.fixture(scope="module")
def quick_processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Starts the fork server, so that each `CommandProcess` begins without imports; the first command waits for them."""
    with start_fork_server():
        assert CommandProcess(tmp_path_factory.mktemp("first"), "--version").wait(300).code == 0
        yield


@pytest.fixture
def quick_workers(quick_processes: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Lets the workers of jobs begin without imports, too, with the environment that the test has now."""
    requests, server = socket_of_messages()
    forks = CONTEXT.Process(target=serve_forks, args=(server, dict(os.environ)))
    forks.start()
    server.close()
    monkeypatch.setattr("medfact.runs.jobs.worker.multiprocessing", context_of_forks(requests))
    yield
    requests.close()
    forks.kill()
    forks.join()


@pytest.fixture
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Removes the key and the address of a service from the environment."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def space_visitor_fixture(app: str) -> Any:
    """Returns a fixture: a visitor of the Space that the fixture `app` starts."""
    return visitor_fixture(app, space_visitor)
