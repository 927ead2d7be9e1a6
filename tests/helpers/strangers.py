"""The app over HTTP on a laptop and on a public server, and tables that strangers send."""

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
    return tmp_path_factory.mktemp("laptop")


laptop = app_fixture("laptop_home", OPENAI_API_KEY=KEY)
"""The app as on a laptop, whose owner has a key of his own in the environment."""


def space_visitor(address: str) -> Visitor:
    """A visitor of a Space, whose cookie travels over https alone."""
    return Visitor(address, cookie=f"medfact-visitor={secrets.token_hex(16)}")


visitor = visitor_fixture("laptop")


def open_store(home: Path, owner: str = "local") -> Store:
    return Store(f"sqlite:///{home / 'medfact.db'}", owner)


def wait_for_run_end(home: Path, run: str, before: str | None = None) -> Any:
    """The record of a run once it has ended, another time than before."""
    wait_until(lambda: open_store(home).run(run).finished_at not in (None, before))
    return open_store(home).run(run)


def import_visitor_run(visitor: Visitor, home: Path, spec: RunSpec, tmp_path: Path) -> str:
    """A run of this spec, taken from a file that the visitor brings."""
    other = Store(f"sqlite:///{tmp_path / 'other.db'}")
    run = start(spec, other)
    other.set_state(run, "stopped")
    with (tmp_path / "run.gz").open("wb") as file:
        export_run(other, run, file)
    answer = visitor.press_button("bring", visitor.upload("run.gz", (tmp_path / "run.gz").read_bytes()), page_name="runs")
    assert "Imported" in answer["fragments"]["said"]
    return run
