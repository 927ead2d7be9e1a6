"""The parts of a server on a store of its own, without HTTP, and a run whose answers are there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from recorded import recorded

from medfact.results.compare import Comparisons
from medfact.results.live import Reports
from medfact.runs.jobs import Jobs
from medfact.spec import RunSpec
from medfact.store import Store
from medfact.web.services import Services


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    store = Store(f"sqlite:///{tmp_path / 'medfact.db'}")
    jobs = Jobs(store)
    reports = Reports(store, jobs)
    yield Services(store, jobs, reports, Comparisons(store, reports))
    jobs.close()


@pytest.fixture
def run(services: Services) -> str:
    """Four pairs, of a coin."""
    return recorded(RunSpec(model="baseline:random", limit=4, shots=0), services.store)
