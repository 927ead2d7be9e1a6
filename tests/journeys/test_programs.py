"""The whole job from programs, against a server as on a laptop and one that strangers use; and what programs may not do."""

from __future__ import annotations

import json
import re
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from browser import disable_rate_limits, serve_app
from gradio_client import Client
from mock_service import Behaviour, MockService
from programs import API, PASSWD, ApiClient
from strangers import wait_for_run_end
from visitors import Visitor

from medfact.results.wording import FALSE_MARK
from medfact.web.api.calls import CALL_BYTES
from medfact.web.api.endpoints import ENDPOINTS

KEY = "sk-of-a-caller-0123456789"
HOSTS_KEY = "sk-of-whoever-runs-the-server-0123456789"
FACT = {"head": "gout", "relation": "therapeutic drugs", "tail": "allopurinol"}
ROWS = [{"head": f"disease{n}", "relation": "symptoms", "tail": f"sign{n}"} for n in range(14)]


@pytest.fixture(scope="module", params=["laptop", "public"])
def home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp(request.param)


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[str]:
    """The app; a public one counts no requests, or the tests would wait for each other."""
    with serve_app(home, OPENAI_API_KEY=HOSTS_KEY, **(disable_rate_limits(home) if is_public(home) else {})) as url:
        yield url
    log = (home / "log.txt").read_text()
    assert "Traceback" not in log
    assert KEY not in log


def is_public(home: Path) -> bool:
    return home.name.startswith("public")


@pytest.fixture
def program(server: str) -> Iterator[ApiClient]:
    with ApiClient(server) as program:
        yield program


# ------------------------------------------------------------------------- the whole job


def test_a_program_does_the_whole_job(program: ApiClient, home: Path) -> None:
    assert "clinical-core" in [one["data_set"] for one in program.call("data_sets")]
    eight = program.call("statements", **FACT)
    assert [one["label"] for one in eight] == [one["mark"] == "" for one in eight] == [True] * 4 + [False] * 4
    told = program.collect_outputs("evaluate", model="baseline:negation-cue", limit=10)
    run = told[-1]["run"]
    assert told[0].keys() >= {"run", "state", "answered", "statements"}
    assert told[-1] == told[-1] | {"state": "complete", "statements": 160, "answered": 160, "failed": 0}
    report = program.call("report", run=run)
    assert report["finding"] == told[-1]["finding"]
    assert report["figures"]["joint_accuracy"]["n"] == 20
    assert "FALSE (test statement)" in program.http.get(f"/{report['html']}").text
    answers = program.call("answers", run=run, offset=150, limit=20)
    assert len(answers) == 10
    assert all(one["mark"] == ("" if one["label"] else FALSE_MARK) for one in answers)
    other = program.call("evaluate", model="baseline:random", limit=10)["run"]
    compared = program.call("compare", runs=[run, other])
    assert (compared["facts"]["shared"], len(compared["findings"])) == (20, len(compared["pairs"]))
    owner = wait_for_run_end(home, run).owner
    assert owner.startswith("caller-") if is_public(home) else owner == "local"


def test_arguments_as_agents_send_them(program: ApiClient) -> None:
    """Numbers and truth values as texts, lists as JSON, and texts for nothing."""
    plain = program.call("statements", **FACT, holds=False)
    assert program.call("statements", **FACT, holds="False", limit="", rows="null") == plain
    assert [one["label"] for one in plain] == [False] * 4 + [True] * 4
    assert program.call("statements", limit="2") == program.call("statements", limit=2.0) == program.call("statements", limit=2)
    ran = program.call("evaluate", model="baseline:always-true", rows=json.dumps(ROWS), limit="5", seconds="60")
    assert (ran["state"], ran["statements"]) == ("complete", 80)


def test_the_clients_of_the_page_library_do_it_too(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_TELEMETRY", True)  # it would tell the hub that it is used
    client = Client(server, verbose=False)
    assert len(client.predict(**FACT, api_name="/statements")) == 8
    told = list(client.submit(limit=10, api_name="/evaluate"))
    assert told[-1]["state"] == "complete"
    assert client.predict(told[-1]["run"], api_name="/report")["figures"]["answered"] == 160
    with pytest.raises(Exception, match="There is no such run"):
        client.predict("0" * 32, api_name="/report")
    client.close()


def test_facts_of_ones_own_come_as_rows(program: ApiClient) -> None:
    stated = program.call("statements", rows=ROWS, limit=3)
    assert {one["head"] for one in stated} <= {row["head"] for row in ROWS}
    assert {one["mark"] for one in stated} == {"", FALSE_MARK, f"PRESUMED {FALSE_MARK}"}, "of denied facts, and of partners"
    assert program.call("evaluate", model="baseline:random", rows=ROWS, limit=5)["state"] == "complete"
    with pytest.raises(ValueError, match="tail"):
        program.call("evaluate", model="baseline:random", rows=[{"head": "a", "relation": "symptoms"}])


def test_what_the_bundled_facts_say_of_a_sentence(program: ApiClient) -> None:
    known = program.call("check_statement", **FACT)
    assert (known["holds"], known["facts"][0]["tail"]) == (True, "allopurinol")
    assert known["facts"][0]["source"]
    denied = program.call("check_statement", sentence="Allopurinol is not a medication used to treat gout.")
    assert (denied["holds"], denied["facts"][0]["head"]) == (False, "gout")
    unknown = program.call("check_statement", sentence="The moon is made of cheese.")
    assert (unknown["holds"], unknown["facts"]) == (None, [])
    assert "does not make it false" in unknown["says"]
    near = program.call("check_statement", sentence="Somebody with gout got allopurinol.")
    assert near["holds"] is None
    assert {name for one in near["facts"] for name in (one["head"], one["tail"])} == {"gout", "allopurinol"}
    with pytest.raises(ValueError, match="Give a sentence, or"):
        program.call("check_statement", sentence="x", head="y")


# ------------------------------------------------------------------------- keys and services


def test_a_service_gets_the_callers_key_and_the_disk_does_not(program: ApiClient, home: Path) -> None:
    with MockService(Behaviour(key=KEY)) as service:
        said = {"model": "openai:m", "address": service.base_url, "key": KEY, "limit": 5}
        if is_public(home):
            with pytest.raises(ValueError, match="https"):
                program.call("evaluate", **said)
            assert not service.calls
        else:
            told = program.call("evaluate", **said)
            assert (told["state"], told["failed"]) == ("complete", 0)
    for address in ("/config", f"{API}/info"):
        assert KEY not in program.http.get(address).text
    assert [file for file in home.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()] == []


def test_a_public_server_never_spends_its_own_key(program: ApiClient, home: Path) -> None:
    if is_public(home):
        with pytest.raises(ValueError, match="No key for"):
            program.call("evaluate", model="openai:gpt-4o", limit=5)


def test_a_key_in_an_address_is_not_taken(program: ApiClient) -> None:
    answer = program.http.post(f"{API}/call/v2/evaluate?key={KEY}", json={"model": "medfact-tiny", "limit": 1, "seconds": 0})
    assert KEY not in answer.text
    with pytest.raises(ValueError, match="is behind no service"):
        program.call("evaluate", model="medfact-tiny", key=KEY)


# ------------------------------------------------------------------------- whose a run is


def test_a_run_is_opened_by_its_whole_id_alone(program: ApiClient, server: str) -> None:
    run = program.call("evaluate", model="baseline:random", limit=5)["run"]
    with ApiClient(server, cookie=f"medfact-visitor={secrets.token_hex(16)}") as other:
        assert other.call("report", run=run)["run"] == run
        for told in (run[:8], run.upper(), f"{run} ", "", "%", "0" * 32, "../x", f"{run},{run}"):
            for name, said in (("report", {"run": told}), ("answers", {"run": told}), ("compare", {"runs": [run, told]})):
                with pytest.raises(ValueError, match=r"There is no such run|cannot be so"):
                    other.call(name, **said)


def test_a_programs_runs_are_listed_to_its_cookie_and_on_a_public_server_to_no_other(server: str, home: Path) -> None:
    with Visitor(server) as visitor, ApiClient(server) as stranger:
        mine = ApiClient(server, cookie=f"medfact-visitor={visitor.cookie}")
        run = mine.call("evaluate", model="baseline:random", limit=5)["run"]
        nobodys = stranger.call("evaluate", model="baseline:random", limit=6)["run"]
        listed = json.dumps(visitor.fetch_page("runs"))
        assert run in listed
        assert (nobodys in listed) is not is_public(home)
        mine.http.close()


# ------------------------------------------------------------------------- what programs may not do


def test_no_file_of_the_server_is_read_and_no_address_fetched(program: ApiClient, home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.5)
        web = f"http://127.0.0.1:{listening.getsockname()[1]}/x.csv"
        named = {"path": web, "url": web, "orig_name": "x.csv", "meta": {"_type": "gradio.FileData"}}
        for name, endpoint in ENDPOINTS.items():
            for one in endpoint.parameters:
                refused_or_not(program, name, {one.name: [named, PASSWD]})
        for path in ("/proc/self/environ", f"{home}/medfact.db", "file:///etc/passwd", web):
            for name in ("address", "data_set", "protocol", "model"):
                refused_or_not(program, "evaluate", {name: path})
            refused_or_not(program, "evaluate", {"model": f"hf:{path}"})
        with pytest.raises(TimeoutError):
            listening.accept()
    uploads = [file for file in (home / "uploads").rglob("*") if file.is_file()]
    assert not [file for file in uploads if b"root:" in file.read_bytes()]


def refused_or_not(program: ApiClient, name: str, said: dict[str, Any]) -> None:
    """Calls an endpoint; what it tells holds nothing of the server's files."""
    try:
        usual = {"seconds": 0, "model": "baseline:random", "limit": 1} if name == "evaluate" else {}
        told = json.dumps(program.collect_outputs(name, **{**usual, **said}))
    except ValueError as mistake:
        told = str(mistake)
        assert "\n" not in told
    assert "root:" not in told
    assert HOSTS_KEY not in told


DEEP = "[" * 900 + "]" * 900


@pytest.mark.parametrize(
    ("content", "statuses"),
    [
        (b"", {200, 400}), (b"[", {400}), (b"null", {400}), (b"3", {400}), (b'{"data": 3}', {200, 400}),
        (f'{{"rows": {DEEP}}}'.encode(), {200, 400}), (b"[" * 5_000 + b"]" * 5_000, {400}), (b'{"limit": NaN}', {400}),
        (b'{"limit": 1e400}', {200, 400}), (b'{"model": "\\ud800"}', {400}), (b"\xff\xfe", {400}),
        (b'{"model": "' + b"x" * CALL_BYTES + b'"}', {413}), (b'{"' + b"x" * 9_000 + b'": 1}', {200}),
    ],
    ids=lambda one: repr(one)[:24],
)  # fmt: skip
def test_a_body_that_no_client_sends_harms_nothing(program: ApiClient, content: bytes, statuses: set[int]) -> None:
    for way in ("call/evaluate", "call/v2/evaluate", "queue/join"):
        answer = program.http.post(f"{API}/{way}", content=content, headers={"content-type": "application/json"})
        assert answer.status_code in statuses | {400}, (way, answer.text)
        assert "Traceback" not in answer.text
        if answer.status_code == 200:
            told = program.http.get(f"{API}/call/evaluate/{answer.json()['event_id']}").text
            assert told.count("event: error") == 1 or "generating" in told


def test_another_sites_page_calls_nothing(program: ApiClient) -> None:
    for header in ({"origin": "https://elsewhere.example"}, {"sec-fetch-site": "cross-site"}, {"origin": "null"}):
        for way in ("call/data_sets", "call/v2/data_sets", "queue/join", "mcp", "mcp/"):
            assert program.http.post(f"{API}/{way}", json={"data": []}, headers=header).status_code == 403
    assert program.http.post(f"{API}/call/data_sets", json={"data": []}, headers={"host": "a.example"}).status_code == 421
    answer = program.post("data_sets", {"data": []}, route="call")
    assert "access-control-allow-origin" not in answer.headers


def test_nothing_waits_for_an_answer_that_there_is_not(program: ApiClient) -> None:
    event = program.post("data_sets", {}).json()["event_id"]
    assert "complete" in program.http.get(f"{API}/call/data_sets/{event}").text
    for address in (f"call/data_sets/{event}", f"call/report/{'0' * 32}", "queue/data", "queue/data?session_hash=abc"):
        assert program.http.get(f"{API}/{address}", timeout=10).status_code == 404


def test_only_the_endpoints_functions_are_called_by_number(program: ApiClient) -> None:
    functions = program.http.get("/config").json()["dependencies"]
    assert [one["api_name"] for one in functions[: len(ENDPOINTS)]] == list(ENDPOINTS)
    for one in functions[len(ENDPOINTS) :]:
        body = {"fn_index": one["id"], "data": [], "session_hash": "abc"}
        assert program.http.post(f"{API}/queue/join", json=body).status_code == 400
        assert one["api_visibility"] == "private"
    assert set(program.http.get(f"{API}/info").json()["named_endpoints"]) == {f"/{name}" for name in ENDPOINTS}


@pytest.mark.parametrize("way", ["run", "api"])
def test_no_endpoint_answers_outside_the_queue(program: ApiClient, way: str) -> None:
    for name in ENDPOINTS:
        assert program.http.post(f"{API}/{way}/{name}", json={"data": []}).status_code == 404


def test_the_schema_names_no_address_that_another_caller_has_said(program: ApiClient) -> None:
    program.http.get(f"{API}/info", headers={"host": "6.6.6.6"})
    assert "6.6.6.6" not in program.http.get(f"{API}/info").text


# ------------------------------------------------------------------------- limits


@pytest.fixture
def narrow(tmp_path: Path) -> Iterator[str]:
    """A public server that allows little: an address without a cookie ten times as many calls at once."""
    home = tmp_path
    limits = {"visitor": {"statements_an_hour": 100, "pairs_a_run": 20}, "rates": {"call": [1, 0.02]}}
    (home / "limits.yaml").write_text(yaml.safe_dump(limits))
    with serve_app(home, MEDFACT_PUBLIC="1", MEDFACT_LIMITS=str(home / "limits.yaml")) as url:
        yield url


def test_a_program_is_held_to_what_a_visitor_is(narrow: str) -> None:
    with ApiClient(narrow) as program:
        with pytest.raises(ValueError, match="at most 20"):
            program.call("evaluate", model="baseline:random", limit=30)
        program.call("evaluate", model="baseline:random", limit=10)
        with pytest.raises(ValueError, match="statements"):  # 160 were begun within the hour, whoever has no cookie
            program.call("evaluate", model="baseline:random", limit=10)
        answers = [program.post("data_sets", {}) for _ in range(20)]
        refused = [answer for answer in answers if answer.status_code == 429]
        assert refused
        assert re.fullmatch(r"That is too much at once\. Try again in .+\.", refused[0].text)
        assert int(refused[0].headers["retry-after"]) >= 1
    assert httpx.get(f"{narrow}healthz").status_code == 200
