"""Parts of the app that several test files build alike: its state, its jobs, servers of strangers, and quick processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from processes import Command, forked_quickly
from strangers import on_space
from visitors import Visitor

from medfact.results.compare import Comparisons
from medfact.results.live import Reports
from medfact.runs.jobs import Jobs
from medfact.store import Store
from medfact.web.services import Services

SPACE = {"SPACE_ID": "somebody/medfact", "GRADIO_SERVER_NAME": "127.0.0.1"}
"""Variables of a server that Hugging Face starts as a Space."""


@contextmanager
def services_on(store: Store) -> Iterator[Services]:
    """The state of a server on this store, without HTTP."""
    jobs = Jobs(store)
    reports = Reports(store, jobs)
    yield Services(store, jobs, reports, Comparisons(store, reports))
    jobs.close()


@pytest.fixture
def services(store: Store) -> Iterator[Services]:
    with services_on(store) as services:
        yield services


@pytest.fixture
def jobs(store: Store) -> Iterator[Jobs]:
    jobs = Jobs(store)
    yield jobs
    jobs.close()


@pytest.fixture(scope="module")
def quick_processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Commands start as forks that need not import everything first. The first one waits for the imports."""
    with forked_quickly():
        assert Command(tmp_path_factory.mktemp("first"), "--version").ended(300).code == 0
        yield


@pytest.fixture
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment names no key and no address of a service."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def space_visitor_of(app: str) -> Any:
    """A fixture: a visitor of the Space that the fixture `app` starts."""

    @pytest.fixture
    def visitor(request: pytest.FixtureRequest) -> Iterator[Visitor]:
        with on_space(request.getfixturevalue(app)) as visitor:
            yield visitor

    return visitor
