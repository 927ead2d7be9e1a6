"""The table of endpoints: what the library gets of a call, what callers may say, and which addresses are open."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import orjson
import pytest
from installed import ROOT
from programs import API, PASSWD

from medfact.errors import Mistake
from medfact.views.fragments import render
from medfact.web.api.calls import CALL_BYTES, is_call, query_for, taken
from medfact.web.api.endpoints import ENDPOINTS, Endpoint
from medfact.web.api.gradio_door import _let_go
from medfact.web.guard import is_used, most_bytes
from medfact.web.pace import kind_of

SECRET = "sk-said-by-a-caller-0123456789"


LOOK = """
import json, re
import gradio as gr
from gradio.routes import App
with gr.Blocks(analytics_enabled=False) as site:
    gr.Textbox()
queue = site._queue
parts = [queue.event_ids_to_events, queue.pending_event_ids_session, queue.pending_messages_per_session]
assert not any(map(len, parts))
app = App.create_app(site)
inner = [route for one in app.routes if hasattr(one, "original_router") for route in one.original_router.routes]
paths = [route.path for route in [*app.routes, *inner] if hasattr(route, "path")]
print(json.dumps([re.sub(r"\\{[^}]+\\}", "0" * 32, path) for path in paths]))
"""


def all_addresses() -> set[str]:
    """Every address of the installed page library, with names in place of its parameters. Its queue has the parts that hold
    answers."""
    done = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


PAGES_USE = {"/config", "/config/", "/", "/theme.css", "/favicon.ico", "/robots.txt", "/manifest.json", f"/static/{'0' * 32}",
             f"/assets/{'0' * 32}", f"{API}/upload", f"{API}/upload/", f"{API}/file={'0' * 32}"}  # fmt: skip
PROGRAMS_USE = {f"{API}/info", f"{API}/info/", f"{API}/queue/join", f"{API}/queue/data"}


def test_of_the_librarys_addresses_those_alone_are_open_that_pages_and_programs_use() -> None:
    found = all_addresses()
    assert len(found) > 60
    assert {path for path in found if is_used(path)} - PAGES_USE == PROGRAMS_USE


@pytest.mark.parametrize("name", ENDPOINTS)
def test_an_endpoint_is_called_by_its_name_and_no_other(name: str) -> None:
    for way in ("call", "call/v2"):
        assert is_call(f"{API}/{way}/{name}")
        assert is_used(f"{API}/{way}/{name}/{'a' * 32}")
        for closed in (f"{name}x", f"{name}/../js_fn", "js_fn", f"{name}/x", f"{name}/{'a' * 33}", f"{name}%2f"):
            assert not is_used(f"{API}/{way}/{closed}")
    assert most_bytes(f"{API}/call/{name}") == CALL_BYTES
    assert kind_of(f"{API}/call/{name}") == kind_of(f"{API}/queue/data") == kind_of(f"{API}/mcp/") == "call"


@pytest.mark.parametrize("said", [SECRET, PASSWD, [PASSWD], {"key": SECRET}, [[[[PASSWD]]]]])
def test_the_library_gets_nothing_that_a_caller_says(said: Any) -> None:
    names = list(ENDPOINTS["evaluate"].signature.parameters)
    for path, body in (
        (f"{API}/call/v2/evaluate", dict.fromkeys(names, said)),
        (f"{API}/call/evaluate", {"data": [said] * len(names), "event_data": said, "session_hash": said}),
        (f"{API}/queue/join", {"fn_index": 2, "data": [said], "session_hash": "abc", "trigger_id": said, "event_data": said}),
    ):
        kept, sent = taken(path, body)
        assert said in kept.values()
        record = orjson.loads(sent)
        assert set(record.get("data", record.values())) == {None}
        assert record.keys() <= {"data", "fn_index", "session_hash", *names}
    assert query_for(f"{API}/queue/data", b"key=" + SECRET.encode() + b"&session_hash=abc") == b"session_hash=abc"
    assert query_for(f"{API}/call/report/{'a' * 32}", b"key=" + SECRET.encode()) == b""


@pytest.mark.parametrize(
    "body",
    [
        None, [], "x", 3, {}, {"data": {}}, {"data": [], "fn_index": 0}, {"data": [], "fn_index": 0, "session_hash": "a/../b"},
        {"data": [], "fn_index": len(ENDPOINTS), "session_hash": "a"}, {"data": [], "fn_index": -1, "session_hash": "a"},
        {"data": [], "fn_index": True, "session_hash": "a"}, {"data": [1], "fn_index": 0, "session_hash": "a"},
        {"data": [], "fn_index": 0, "session_hash": "a" * 65},
    ],
)  # fmt: skip
def test_a_call_that_no_client_makes_is_refused(body: Any) -> None:
    with pytest.raises(Mistake):
        taken(f"{API}/queue/join", body)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("evaluate", {"limit": "ten"}), ("evaluate", {"limit": 0}), ("evaluate", {"limit": 10**9}),
        ("evaluate", {"limit": True}),
        ("evaluate", {"key": {"a": SECRET}}), ("evaluate", {"key": SECRET * 20}), ("evaluate", {"key": [SECRET]}),
        ("evaluate", {"rows": [{"head": PASSWD}]}), ("evaluate", {"rows": [PASSWD]}), ("evaluate", {"rows": SECRET}),
        ("evaluate", {"rows": [{"head": "x" * 401}]}), ("evaluate", {"rows": [{}] * 1001}), ("evaluate", {SECRET[:2]: 1}),
        ("evaluate", {"seconds": 601}), ("evaluate", {"model": 3}), ("report", {}), ("report", {"run": ["x"]}),
        ("compare", {"runs": ["x"]}), ("compare", {"runs": ["x"] * 9}), ("answers", {"run": "x", "limit": 201}),
        ("check_statement", {"sentence": "x" * 1001}), ("statements", {"limit": 26}),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told_in_one_sentence_without_the_value(name: str, said: dict[str, Any]) -> None:
    with pytest.raises(Mistake) as mistake:
        ENDPOINTS[name].checked(said)
    assert SECRET not in mistake.value.public
    assert "\n" not in mistake.value.public
    assert "passwd" not in mistake.value.public


FACT = {"head": "gout", "relation": "symptoms", "tail": "joint pain"}

READ: list[tuple[str, str, Any, Any]] = [
    *(("statements", "limit", value, 7) for value in (7, "7", " 7 ", 7.0, "7.0", "+7", "0.7e1")),
    *(("statements", "holds", value, False) for value in (False, "false", "False", " FALSE", 0, 0.0, "0", "no")),
    *(("statements", "holds", value, True) for value in (True, "true", "TRUE", 1, 1.0, "1", "yes")),
    *(("statements", "limit", value, 5) for value in (None, "", " ", "null", "None")),
    *(("statements", "rows", value, []) for value in (None, "", "[]", "null", [])),
    *(("statements", "rows", value, [FACT]) for value in
      ([FACT], FACT, json.dumps([FACT]), json.dumps(FACT), f" {json.dumps([FACT], indent=1)}\n", [json.dumps(FACT)])),
    ("statements", "rows", [{**FACT, "positive": False, "source": None, "head_id": 7, "until": ""}],
     [{**FACT, "positive": "false", "head_id": "7"}]),
    ("statements", "head", "null", "null"), ("statements", "head", "", ""),
    ("evaluate", "budget", "0.5", 0.5), ("evaluate", "budget", 1, 1.0), ("evaluate", "shots", "-1", -1),
    ("evaluate", "send_facts", "", False),
    ("compare", "runs", '["a", "b"]', ["a", "b"]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "argument", "value", "read"), READ)
def test_what_has_one_meaning_is_read(name: str, argument: str, value: Any, read: Any) -> None:
    found = ENDPOINTS[name].checked({argument: value})[argument]
    assert (found, type(found)) == (read, type(read))


@pytest.mark.parametrize(
    ("name", "argument", "value", "may_be"),
    [
        *(("statements", "limit", value, "integer from 1 to 25") for value in
          (7.5, "7.5", "seven", "7, 8", "1,000", "٧", True, [7], float("nan"), float("inf"), "1e999", "9" * 5000, 26, "0")),
        *(("statements", "holds", value, "boolean") for value in ("maybe", 2, "2", 0.5, [], "t")),
        *(("statements", "rows", value, "list, 1,000 at most") for value in ("[", "asthma", "[1]", 7, "[[]]", "[" * 9999)),
        ("compare", "runs", "a", "list, 8 at most"), ("evaluate", "budget", "1 dollar", "number from 0 to"),
        ("evaluate", "model", 3, "string"),
    ],
)  # fmt: skip
def test_what_could_be_several_things_is_refused(name: str, argument: str, value: Any, may_be: str) -> None:
    with pytest.raises(Mistake) as mistake:
        ENDPOINTS[name].checked({argument: value})
    assert str(mistake.value).startswith(f"{name}: {argument}")
    assert f"{argument} may be: {may_be}" in str(mistake.value)


def test_what_is_not_said_is_as_usual() -> None:
    assert ENDPOINTS["evaluate"].checked({"limit": None}) == ENDPOINTS["evaluate"].checked({})
    assert ENDPOINTS["evaluate"].checked({})["limit"] == 10


@pytest.mark.parametrize("endpoint", ENDPOINTS.values(), ids=lambda one: one.name)
def test_everything_is_told_of_an_endpoint(endpoint: Endpoint) -> None:
    row = next(line for line in (ROOT / "docs" / "api.md").read_text().splitlines() if line.startswith(f"| `{endpoint.name}`"))
    page = render("agents", address="x", endpoints=list(ENDPOINTS.values()), tools="/y", has_tools=True)
    part = page.partition(f'id="endpoint-{endpoint.name}"')[2].partition("<h3")[0]
    assert endpoint.about
    for one in endpoint.parameters:
        assert one.about, one.name
        assert f"`{one.name}`" in row
        assert f"<code>{one.name}</code>" in part
    assert set(re.findall(r"`(\w+)`", row.split("|")[2])) == {one.name for one in endpoint.parameters}


class _Queue:
    """The parts of the library's queue that hold answers."""

    def __init__(self, going: str) -> None:
        self.event_ids_to_events = {going: None}
        self.pending_event_ids_session = {"going": {going}, "over": {"gone"}}
        self.pending_messages_per_session = {"going": 1, "over": 2}


class _Site:
    _queue = _Queue("now")


def test_answers_that_nobody_reads_are_let_go() -> None:
    site: Any = _Site()
    for session in ("going", "over", "never there"):
        _let_go(site, session)
    assert site._queue.pending_event_ids_session.keys() == site._queue.pending_messages_per_session.keys() == {"going"}


def test_no_module_of_the_door_imports_the_tools_at_once() -> None:
    for file in (ROOT / "medfact" / "web").rglob("*.py"):
        assert not re.search(r"^\s*(from|import) mcp", file.read_text(), re.MULTILINE), file
