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


TABLE = b"head,relation,tail\n" + b"".join(b"disease%d,symptoms,sign%d\n" % (n, n) for n in range(14))


@pytest.fixture(scope="module")
def laptop_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the app on a laptop."""
    return tmp_path_factory.mktemp("laptop")


laptop = app_fixture("laptop_home", OPENAI_API_KEY=KEY)
"""The app as on a laptop whose owner has a key in the environment."""


def space_visitor(address: str) -> Visitor:
    """Opens a visitor of a Space. Its cookie is a header, because a client sends it only over HTTPS."""
    return Visitor(address, cookie=f"medfact-visitor={secrets.token_hex(16)}")


visitor = visitor_fixture("laptop")


def open_store(home: Path, owner: str = "local") -> Store:
    """Opens the store of an app."""
    return Store(f"sqlite:///{home / 'medfact.db'}", owner)


def wait_for_run_end(home: Path, run: str, before: str | None = None) -> Any:
    """Waits until a run has ended, and returns its record. before: the time of an earlier end, which does not count."""
    wait_until(lambda: open_store(home).run(run).finished_at not in (None, before))
    return open_store(home).run(run)


def import_visitor_run(visitor: Visitor, home: Path, spec: RunSpec, tmp_path: Path) -> str:
    """Exports a run of a spec from another store, uploads it as the visitor, asserts its import, and returns its id."""
    other = Store(f"sqlite:///{tmp_path / 'other.db'}")
    run = start(spec, other)
    other.set_state(run, "stopped")
    with (tmp_path / "run.gz").open("wb") as file:
        export_run(other, run, file)
    response = visitor.press_button("bring", visitor.upload("run.gz", (tmp_path / "run.gz").read_bytes()), page_name="runs")
    assert "Imported" in response["fragments"]["said"]
    return run
