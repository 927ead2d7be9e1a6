"""The app on a laptop, visitors of it and of a Space, and files that they send."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import pytest
from browser import app_fixture
from visitors import Visitor, visitor_fixture
from waiting import wait_until

from medfact.exchange import export_run
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Store

KEY = "sk-of-whoever-runs-the-server-0123456789"
"""API key in the environment of the app, which is its owner's."""

TABLE = b"head,relation,tail\n" + b"".join(b"disease%d,symptoms,sign%d\n" % (n, n) for n in range(14))
"""Content of a CSV file with 14 facts."""


@pytest.fixture(scope="module")
def laptop_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder in which the app on a laptop keeps its data."""
    return tmp_path_factory.mktemp("laptop")


laptop = app_fixture("laptop_home", OPENAI_API_KEY=KEY)
"""Fixture: URL of the app as on a laptop whose owner has a key in the environment."""


def space_visitor(address: str) -> Visitor:
    """Returns a new visitor of the Space at an address.

    Its cookie is set as a header, because an HTTP client sends the Space's own cookie only over HTTPS.
    """
    return Visitor(address, cookie=f"medfact-visitor={secrets.token_hex(16)}")


visitor = visitor_fixture("laptop")
"""Fixture: a visitor of the app on a laptop."""


def open_store(home: Path, owner: str = "local") -> Store:
    """Opens the store of an app. home: the app's folder. owner: whose runs the store shows."""
    return Store(f"sqlite:///{home / 'medfact.db'}", owner)


def wait_for_run_end(home: Path, run: str, before: str | None = None) -> Any:
    """Waits until a run of the app in a folder has ended, and returns its record.

    before: `finished_at` of an earlier end, if the run was resumed; None if it never ended before.
    """
    wait_until(lambda: open_store(home).run(run).finished_at not in (None, before))
    return open_store(home).run(run)


def import_visitor_run(visitor: Visitor, spec: RunSpec, folder: Path) -> str:
    """Exports a stopped run of a spec from a new store, uploads it as the visitor, and asserts that the app imports it.

    Returns the id of the run. folder: for the store and the exported file.
    """
    other = Store(f"sqlite:///{folder / 'other.db'}")
    run = start(spec, other)
    other.set_state(run, "stopped")
    with (folder / "run.gz").open("wb") as file:
        export_run(other, run, file)
    response = visitor.press_button("bring", visitor.upload("run.gz", (folder / "run.gz").read_bytes()), page_name="runs")
    assert "Imported" in response["fragments"]["said"]
    return run
