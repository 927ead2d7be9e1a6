"""On a Space no visitor reaches a folder, an address inside the network, another's upload or run, or a key.

Each is tried over plain HTTP, against the app as a Space starts it, with keys of the host's in its environment.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest
from app_builders import SPACE, space_visitor_fixture
from browser import disable_rate_limits, module_folder_fixture, serve_app
from installed import ROOT
from mock_service import MockService
from strangers import TABLE, import_visitor_run, open_store, wait_for_run_end
from visitors import Visitor

from medfact.models import ServiceSettings
from medfact.results.recall import READ
from medfact.runs.start import start
from medfact.spec import RunSpec

KEY = "sk-of-the-host-of-the-space-0123456789"
NAMES = ("OPENAI_API_KEY", "MEDFACT_ENCODER_KEY", "UMLS_API_KEY", "NCBI_API_KEY", "HF_TOKEN", "OAUTH_CLIENT_SECRET")
MARK = "what-only-the-server-may-read"


home = module_folder_fixture()


@pytest.fixture(scope="module")
def space(home: Path) -> Iterator[str]:
    """The app as a Space starts it; its requests are not counted, or the tests would wait for each other."""
    (home / "secret.csv").write_text(f"head,relation,tail\n{MARK},symptoms,x\n")
    uncounted = disable_rate_limits(home)["MEDFACT_LIMITS"]
    with serve_app(home, **dict.fromkeys(NAMES, KEY), **SPACE, MEDFACT_LIMITS=uncounted, MEDFACT_IMPORTS="1") as url:
        yield url
    assert not re.search(f"Traceback|{KEY}", (home / "log.txt").read_text())


visitor, stranger = space_visitor_fixture("space"), space_visitor_fixture("space")


# ------------------------------------------------------------------------- folders


def paths(home: Path) -> list[str]:
    return [
        "/etc/passwd",
        "/proc/self/environ",
        str(home / "secret.csv"),
        str(home / "medfact.db"),
        f"{home}/uploads/../secret.csv",
        str(ROOT / "assets/datasets/clinical-core.csv"),
        "assets/datasets/clinical-core.csv",
        "file:///etc/passwd",
        "~/.bashrc",
        "hf:/etc",
        "/data",
    ]


def test_no_field_of_a_page_names_a_file_of_the_server(visitor: Visitor, home: Path) -> None:
    for number, path in enumerate(paths(home)):
        visitor.http.headers["cookie"] = f"medfact-visitor={number:032x}"  # nobody may press so many buttons
        fields: list[dict[str, Any]] = [
            {"source": {"facts": path, "columns": []}},
            {"pool": path},
            {"retrieval": "sparse", "settings": [READ], "corpus": path},
            {"dataset": path},
            {"rows": [{"id": "a", "where": "machine", "model": path}]},
            {"models": [path]},
            {"models": [f"hf:{path}"]},
            {"models": [f"baseline:embedding:{path}"]},
            {"retrieval": "dense", "settings": [READ], "encoder": path},
            {"drafts": path},
            {"writing": path},
            {"studio": f"{path}:{path}"},
        ]
        for field in fields:
            said = visitor.evaluate(**{"models": ["baseline:random"], **field})
            told = json.dumps(said)
            assert MARK not in told
            assert "root:" not in told
            if field.keys() & {"source", "pool", "corpus", "rows", "models", "encoder"}:
                assert isinstance(said, str), f"{field} was taken"
        for name in ("take_file", "take_pool", "take_documents", "take_frequencies"):
            assert MARK not in json.dumps(visitor.press_button(name, path))
        for address in (
            f"/gradio_api/file={path}",
            f"/download/{path}/answers.csv",
            f"/export/{path}",
            f"/static/{path}",
            f"/page/{path}.js",
        ):
            answer = visitor.http.get(address)
            assert answer.status_code in {403, 404, 405}, (address, answer.status_code)


UPWARDS = [
    "../../../../etc/passwd", "..%2f..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/etc/passwd", "..%252f..%252fetc%252fpasswd",
    "..\\..\\etc\\passwd", "/etc/passwd", "%2fetc%2fpasswd", "passwd%00.js",
]  # fmt: skip
"""Dots, encoded ones, twice encoded ones, backslashes and zero bytes."""


def test_no_way_of_writing_an_address_leads_out_of_the_static_folders(space: str) -> None:
    parsed = httpx.URL(space)
    for prefix in ("static", "assets", "page", "gradio_api/file=", "export", "download/x"):
        for up in UPWARDS:
            with socket.create_connection((parsed.host, parsed.port or 80), timeout=60) as plain:
                plain.sendall(f"GET /{prefix}/{up} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
                answer = b"".join(iter(lambda: plain.recv(65_536), b""))
            assert answer.split(b" ", 2)[1][:1] in b"34", (prefix, up, answer[:100])
            assert b"root:" not in answer


# ------------------------------------------------------------------------- addresses inside the network


INSIDE = [
    "https://localhost:{port}/v1", "https://LOCALHOST.:{port}/v1", "https://127.0.0.1:{port}/v1", "https://127.1:{port}/v1",
    "https://2130706433:{port}/v1", "https://0x7f000001:{port}/v1", "https://0177.0.0.1:{port}/v1", "https://[::1]:{port}/v1",
    "https://[::ffff:127.0.0.1]:{port}/v1", "https://0.0.0.0:{port}/v1", "https://169.254.169.254/latest", "http://localhost:{port}/v1",
    "https://10.0.0.1/v1", "https://[fd00::1]/v1", "https://user@127.0.0.1:{port}/v1", "https://127.0.0.1:{port}@example.com/v1",
    "ftp://127.0.0.1:{port}/", "gopher://127.0.0.1:{port}/", "https://127。0。0。1:{port}/v1",
]  # fmt: skip
"""Ways of writing an address of this machine or its network: as a name, a number, hexadecimal, octal, mapped, full-width."""


@pytest.mark.parametrize("address", INSIDE)
def test_no_address_inside_is_asked_however_it_is_written(address: str, visitor: Visitor) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.2)
        said = visitor.evaluate(service="m", address=address.format(port=listening.getsockname()[1]), key="sk-typed-0123456789")
        assert isinstance(said, str), "no run was recorded"
        with pytest.raises(TimeoutError):
            listening.accept()


def test_no_imported_run_leads_inside_when_it_is_resumed_or_repeated(visitor: Visitor, home: Path, tmp_path: Path) -> None:
    """Not with a typed key either. `test_strangers_runs.py` tries every field, the encoder's too."""
    with MockService() as service:
        spec = RunSpec(model="openai:m", limit=4, shots=0, service=ServiceSettings(base_url=service.base_url))
        run = import_visitor_run(visitor, spec, tmp_path)
        before = open_store(home).run(run).finished_at
        visitor.resume(run, "sk-typed-0123456789")
        visitor.press_button("again", run=run)
        assert "not a public address" in str(wait_for_run_end(home, run, before).reason)
        assert service.calls == []


# ------------------------------------------------------------------------- another's uploads and runs


def test_anothers_upload_is_nobody_elses(visitor: Visitor, stranger: Visitor) -> None:
    path = visitor.upload("facts.csv", TABLE)
    assert "14 true facts read" in json.dumps(visitor.press_button("take_file", path))
    for name in ("take_file", "take_pool", "take_documents", "take_frequencies"):
        told = json.dumps(stranger.press_button(name, path))
        assert "disease1" not in told
        assert "true facts read" not in told
    assert "not here, or not yours" in str(stranger.evaluate("baseline:random", source={"facts": path, "columns": []}))
    assert "not here, or not yours" in str(stranger.evaluate("baseline:random", pool=path))
    assert "not here, or not yours" in str(
        stranger.evaluate("baseline:random", retrieval="sparse", settings=[READ], corpus=path)
    )
    assert stranger.http.get(f"/gradio_api/file={path}").status_code == 404
    assert "not here" in json.dumps(stranger.press_button("bring", path, page_name="runs"))
    assert visitor.http.get(f"/gradio_api/file={path}").content == TABLE
    assert stranger.upload("facts.csv", TABLE) == path, "the same content: it is the property of both from now on"
    assert "14 true facts read" in json.dumps(stranger.press_button("take_file", path))


def test_anothers_run_is_seen_by_its_whole_link_alone_and_moved_by_nobody(
    visitor: Visitor, stranger: Visitor, home: Path
) -> None:
    (run,) = visitor.evaluate("baseline:random")
    wait_for_run_end(home, run)
    assert run not in json.dumps([stranger.fetch_page(page) for page in ("evaluate", "runs", "review", "write", "facts")])
    for part in (run[:31], f"{run[:-1]}%", run.upper(), "%", "_" * 32):
        assert run not in json.dumps(stranger.fetch_page(run=part)) or part == run.upper()
        assert stranger.http.get(f"/export/{part}").status_code == 404
    for name in ("delete", "save", "undo", "stop", "resume"):
        for page in ("runs", "evaluate", "write"):
            stranger.press_button(name, run, page_name=page, run=run, fields={"name": "mine now"})
    record = open_store(home).run(run)
    assert (record.owner, record.name, record.state) == (visitor.owner, None, "complete")


@pytest.mark.parametrize(
    "cookie", ["medfact-visitor=local", "medfact-visitor=demonstration", "medfact-visitor=nobody", "medfact-visitor="]
)
def test_no_cookie_makes_a_visitor_the_host(cookie: str, space: str, home: Path) -> None:
    theirs = start(RunSpec(model="baseline:random", limit=4, shots=0), open_store(home))
    with Visitor(space, cookie=cookie) as forger:
        assert theirs not in json.dumps(forger.fetch_page("runs"))
        forger.press_button("delete", theirs, page_name="runs")
        assert "needs a cookie" in str(forger.evaluate("baseline:random"))
    assert open_store(home).run(theirs).owner == "local"


@pytest.mark.parametrize("header", ["X-Forwarded-User", "Remote-User", "X-Forwarded-For", "Forwarded", "X-Real-IP"])
def test_no_header_makes_a_visitor_another(header: str, space: str, home: Path) -> None:
    theirs = start(RunSpec(model="baseline:random", limit=4, shots=0), open_store(home))
    with Visitor(space, **{header: "127.0.0.1", "cookie": f"medfact-visitor={'e' * 32}"}) as forger:
        assert theirs not in json.dumps(forger.fetch_page("runs"))


# ------------------------------------------------------------------------- keys


def test_no_key_of_the_host_comes_out(visitor: Visitor, home: Path) -> None:
    """Not with an error, a page, a download or a file of a run; and to no service."""
    said = [visitor.evaluate(service="gpt-4o"), visitor.evaluate(service="m", address="https://api.openai.com/v1")]
    assert all("No key for api.openai.com" in unescape(str(one)) for one in said)
    (run,) = visitor.evaluate("baseline:random")
    wait_for_run_end(home, run)
    for address in ("/", "/config", "/gradio_api/info", "/gradio_api/startup-events", "/healthz", f"/export/{run}",
                    f"/download/{run}/report.html", f"/download/{run}/log-inspect", "/nothing"):  # fmt: skip
        assert KEY.encode() not in visitor.http.get(address).content
    pages = [visitor.fetch_page(page) for page in ("evaluate", "facts", "review", "studio", "write", "runs")]
    assert KEY not in json.dumps([*pages, visitor.fetch_page("runs", told=run)])
    kept = [file for file in home.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()]
    assert kept == []
