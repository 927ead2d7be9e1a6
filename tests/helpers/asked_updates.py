"""Requests for the fragments of a page, answered without HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from app_builders import services_on

from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Store
from medfact.web.pages import Visitor
from medfact.web.services import Services
from medfact.web.updates import PAGES, Question
from medfact.web.updates import answer as answer_question

OWNER = "somebody"
"""Id of the visitor that makes the requests."""


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    """State of a server whose store holds one run, of owner "demonstration": a random baseline on a few facts, not executed."""
    store = Store(f"sqlite:///{tmp_path / 'medfact.db'}")
    start(RunSpec(model="baseline:random", limit=4, shots=0), store.of("demonstration"))
    with services_on(store) as services:
        yield services


def fetch_fragments(
    services: Services, page_name: str = "evaluate", owner: str = OWNER, drawn: Any = None, **show: Any
) -> dict[str, Any]:
    """Returns the JSON that the server answers to a page's request, with the fragments that the page lacks.

    page_name: key of PAGES. drawn: name → hash of the fragments that the page has; None for none. show: the page's parameters,
    such as run="…" and tab="facts".
    """
    question = Question(page=page_name, show=show, drawn=drawn or {})
    first = services.store.runs("demonstration")[0].run
    return dict(json.loads(answer_question(Visitor(services, owner, (owner,), first), PAGES[page_name], question)))
