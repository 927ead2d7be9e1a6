"""A page's requests to the server, without HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from medfact.results.compare import Comparisons
from medfact.results.live import Reports
from medfact.runs.jobs import Jobs
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Store
from medfact.web.pages import Visitor
from medfact.web.services import Services
from medfact.web.updates import PAGES, Question
from medfact.web.updates import answer as updates

OWNER = "somebody"


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    store = Store(f"sqlite:///{tmp_path / 'medfact.db'}")
    jobs = Jobs(store)
    reports = Reports(store, jobs)
    start(RunSpec(model="baseline:random", limit=4, shots=0), store.of("demonstration"))
    yield Services(store, jobs, reports, Comparisons(store, reports))
    jobs.close()


def look(services: Services, of: str = "evaluate", owner: str = OWNER, drawn: Any = None, **show: Any) -> dict[str, Any]:
    """The fragments that a page gets. The demonstration is the first run of every visitor."""
    question = Question(page=of, show=show, drawn=drawn or {})
    first = services.store.runs("demonstration")[0].run
    return dict(json.loads(updates(Visitor(services, owner, (owner,), first), PAGES[of], question)))
