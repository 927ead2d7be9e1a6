"""An id opens a run, so a public server tells nobody another's: whatever a stranger asks, of whatever there is to ask."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import sqlalchemy as sql
from browser import demonstration_database, disable_rate_limits, serve_app
from installed import ROOT
from programs import API
from recorded import complete_run
from strangers import TABLE, open_store
from visitors import Visitor

from medfact.answers.prompts import RETRY
from medfact.curation.checks import RULES
from medfact.results.exports import LOGS
from medfact.runs.start import start, start_planned
from medfact.spec import RunSpec
from medfact.store import Candidate, Store, schema
from medfact.web.api.endpoints import ENDPOINTS
from medfact.web.evaluate.form import Setup
from medfact.web.guard import is_used
from medfact.web.pages.every import PAGES
from medfact.web.visitors import COOKIE, owner_of_cookie
from medfact.writing.runs import planned_writing

ID = re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")

COOKIES = {"victim": "1" * 32, "stranger": "2" * 32}
WRONG = "f" * 32
PRIVATE = "Seen by its owner alone"
PROPOSALS = [Candidate("gout", "therapeutic drugs", tail, f"Gout is treated with {tail}.", "Gout") for tail in ("a", "b")]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("public")
    (folder / "medfact.db").write_bytes(demonstration_database().read_bytes())
    return folder


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[str]:
    """A public server. It counts no requests, or most would be answered by a refusal."""
    with serve_app(home, **disable_rate_limits(home)) as url:
        yield url
    assert "Traceback" not in (home / "log.txt").read_text()


@dataclass
class Stranger:
    """Somebody who asks, and remembers each id of 32 digits that came back and was not sent."""

    visitor: Visitor
    got: dict[str, str] = field(default_factory=dict)
    private: list[str] = field(default_factory=list)
    """Questions whose answers say what another visitor calls a run, or notes of it."""

    def ask(self, method: str, path: str, **sent: Any) -> httpx.Response:
        answer = self.visitor.http.request(method, path, **sent)
        body = answer.content
        text = (gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body).decode("utf-8", "replace")
        if PRIVATE in text + str(answer.headers):
            self.private.append(f"{method} {path} {sent}"[:400])
        known = set(ID.findall(f"{path} {sent} {self.visitor.cookie}".lower()))
        found = set(ID.findall(f"{answer.headers}\n{text}".lower())) - known
        for one in found:
            self.got.setdefault(one, f"{method} {path} {sent}"[:400])
        return answer

    def told(self, home: Path) -> dict[str, str]:
        """Ids that came back of what is in the database and is neither one's own nor shown to all → what was asked."""
        store, own = open_store(home), self.visitor.owner
        with store.database.reading() as connection:
            rows = [str(row) for table in schema.metadata.sorted_tables for row in connection.execute(sql.select(table))]
        mine = {own, *(run.run for run in (*store._all_runs(own, "demonstration"), *store.deleted(own)))}
        others = {one for row in rows for one in ID.findall(row)} - mine
        return {one: asked for one, asked in self.got.items() if one in others}


def writing_in(store: Store) -> list[str]:
    """A writing of two attempts, whose model nobody asks."""
    spec, planned = planned_writing("rephrase", RunSpec(model="openai:writer", limit=2, shots=0))
    first = start_planned(spec, planned, store)
    return [first, start_planned(spec.override(task=RETRY, writing=first), planned, store)]


def orphan_in(store: Store) -> str:
    """A later attempt whose first one is there no more."""
    first, later = writing_in(store)
    with store.database.writing() as connection:
        connection.execute(schema.runs.update().where(schema.runs.c.run == first).values(deleted_at="2999"))
    return later


def answered_in(store: Store, **spec: Any) -> str:
    return complete_run(RunSpec(model="baseline:random", limit=2, shots=0, **spec), store)


@pytest.fixture(scope="module")
def sought(server: str, home: Path) -> dict[str, str]:
    """What a stranger may ask for, by what it is: of somebody else, of the host, of nobody, and of one's own."""
    with Visitor(server, cookie=f"{COOKIE}={COOKIES['victim']}") as victim:
        theirs, host = open_store(home, victim.owner), open_store(home)
        run = answered_in(theirs)
        deleted = answered_in(theirs)
        for one in (run, deleted):
            theirs.describe(one, name=f"{PRIVATE}: name", note=f"{PRIVATE}: note")
        theirs.delete(deleted)
        racing = [start(RunSpec(model="baseline:random", limit=2, shots=0, race="e" * 32, racers=2), theirs) for _ in range(2)]
        for one in racing:
            theirs.set_state(one, "stopped")
        first, later = writing_in(theirs)
        curation = theirs.curations.begin("notes", "notes.csv", PROPOSALS, 2, {}).curation
        victim.press_button("judge", page_name="review", reviewer="ada", fields={"verdict": "true"})
        path = victim.upload("theirs.csv", TABLE)
        answered_in(host)
        own = owner_of_cookie(COOKIES["stranger"])
        return {
            "nothing": WRONG, "a run": run, "half of it": run[:16], "more than it": f"{run}0", "in capitals": run.upper(),
            "two": f"{WRONG},{run}", "a deleted run": deleted, "one that races": racing[0], "a writing": first,
            "its second attempt": later, "an attempt whose first is gone": orphan_in(theirs), "a curation": curation,
            "an upload": path, "an attempt of one's own whose first is gone": orphan_in(open_store(home, own)),
        }  # fmt: skip


@pytest.fixture(scope="module")
def stranger(server: str, sought: dict[str, str]) -> Iterator[Stranger]:
    """With a run and a file of one's own."""
    with Visitor(server, cookie=f"{COOKIE}={COOKIES['stranger']}") as visitor:
        assert isinstance(visitor.evaluate("baseline:random"), list)
        visitor.upload("own.csv", TABLE)
        yield Stranger(visitor)


def test_no_page_tells_one(stranger: Stranger, sought: dict[str, str], home: Path) -> None:
    for page in PAGES.values():
        stranger.ask("GET", page.path or "/", params=dict.fromkeys(page.address, sought["a run"]))
        for wanted, name in product(sought.values(), page.show.model_fields):
            stranger.ask("POST", "/updates", json={"page": page.name, "show": {name: wanted}})
    assert stranger.told(home) == {}
    assert stranger.private == []


def test_no_choice_of_a_set_up_tells_one(stranger: Stranger, sought: dict[str, str], home: Path) -> None:
    for wanted, name in product(sought.values(), Setup.model_fields):
        for value in (wanted, [wanted]):
            asked = {"page": "evaluate", "setup": {"models": ["baseline:random"], "pairs": 4, name: value}}
            stranger.ask("POST", "/updates", json=asked)
    assert stranger.told(home) == {}
    assert stranger.private == []


def test_no_button_tells_one(stranger: Stranger, sought: dict[str, str], home: Path) -> None:
    for page in PAGES.values():
        for wanted, action in product(sought.values(), page.actions):
            for show in ({}, dict.fromkeys(page.show.model_fields, wanted)):
                fields = dict.fromkeys(("key", "name", "note", "head", "verdict", "run"), wanted)
                pressed = {"name": action, "about": wanted, "fields": fields}
                stranger.ask("POST", "/updates", json={"page": page.name, "show": show, "action": pressed})
    assert stranger.told(home) == {}
    assert stranger.private == []


def of_kind(schema: dict[str, Any], wanted: str) -> Any:
    """An id as what a parameter takes."""
    return [wanted, *wanted.split(",")] if schema.get("type") == "array" else wanted


def test_no_endpoint_and_no_tool_tells_one(stranger: Stranger, sought: dict[str, str], home: Path) -> None:
    for (name, endpoint), wanted in product(ENDPOINTS.items(), sought.values()):
        known = endpoint.schema["properties"]
        texts = [one for one, of in known.items() if "string" in (of.get("type"), of.get("items", {}).get("type"))]
        for names in filter(None, (endpoint.schema.get("required"), texts)):
            said = {one: of_kind(known[one], wanted) for one in names}
            begun = stranger.ask("POST", f"{API}/call/v2/{name}", json=said)
            if begun.status_code == 200:
                stranger.ask("GET", f"{API}/call/{name}/{begun.json()['event_id']}", headers={"x-said": str(said)})
            called = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": said}}
            stranger.ask("POST", f"{API}/mcp/", json=called, headers={"accept": "application/json, text/event-stream"})
    assert stranger.told(home) == {}
    assert stranger.private == []


CHOICES = {
    "kind": ["csv", "json", "svg", "txt"],
    "rule": RULES,
    "harness": LOGS,
    "name": ["scores", "answers", "mkj-table-1"],
    "pool": ["medfact"],
}
"""Parts of addresses that are no ids."""


LOOK = """
import os
from medfact.web.app import create_app
routes = [route for one in create_app().routes for route in getattr(getattr(one, "original_router", None), "routes", [one])]
print("\\n".join({route.path for route in routes if "GET" in (getattr(route, "methods", None) or ())}), flush=True)
os._exit(0)
"""


def addresses(home: Path) -> list[str]:
    """Those of files, exports, frames and all else that this server answers itself, as they are declared."""
    environment = {**os.environ, "MEDFACT_HOME": str(home)}
    done = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=True, cwd=ROOT, env=environment)
    return [path for path in sorted(done.stdout.split()) if "{" in path and is_used(re.sub(r"{\w+}", WRONG, path))]


def test_no_file_tells_one(stranger: Stranger, sought: dict[str, str], home: Path) -> None:
    declared = addresses(home)
    assert {"/export/{run}", "/embed/{run}", "/download/{runs}/report.html"} <= set(declared)
    for path, wanted in product(declared, sought.values()):
        parts = re.findall(r"{(\w+)}", path)
        for values in product(*(CHOICES.get(part, [wanted]) for part in parts)):
            stranger.ask("GET", path.format(**dict(zip(parts, (quote(value, safe="/,") for value in values), strict=True))))
    for wanted in sought.values():
        stranger.ask("GET", f"{API}/file={quote(wanted)}")
    assert stranger.told(home) == {}
    assert stranger.private == []
