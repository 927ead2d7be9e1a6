"""The app over plain HTTP, as a visitor who means ill would use it: on a laptop, and on a server that strangers use."""

from __future__ import annotations

import gzip
import io
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from browser import app_fixture
from installed import ROOT
from mock_service import Behaviour, MockService
from strangers import KEY, TABLE, open_store, space_visitor, wait_for_run_end
from strangers import laptop as laptop
from strangers import laptop_home as laptop_home
from strangers import visitor as visitor
from visitors import Visitor, visitor_fixture

from medfact.limits import PRIVATE_LIMITS
from medfact.store import COMPLETE, RUNNING
from medfact.web.evaluate.rows import ACTIONS as ROWS
from medfact.web.guard import UPDATE_BYTES
from medfact.web.updates import PAGES
from medfact.web.uploads import Uploads

MOST_FILES = int(PRIVATE_LIMITS.visitor.files)
TYPED = "sk-typed-by-a-visitor-0123456789"


HANGS = Behaviour(max_answers=1, final_fault="hang")
"""A service that answers when it is tested, and no more."""


@pytest.fixture(scope="module")
def space_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("space")


space = app_fixture(
    "space_home", OPENAI_API_KEY=KEY, SPACE_ID="somebody/medfact", GRADIO_SERVER_NAME="127.0.0.1", MEDFACT_IMPORTS="1"
)
"""The app as on a server that strangers use."""


stranger = visitor_fixture("laptop")


# ------------------------------------------------------------------------- files of the server

PATHS = [
    "/etc/passwd",
    "/proc/self/environ",
    "/proc/self/cmdline",
    "{home}/medfact.db",
    "{home}/log.txt",
    "{root}/medfact/__init__.py",
    "{root}/assets/datasets/clinical-core.csv",
    "assets/datasets/clinical-core.csv",
    "{home}/uploads/../medfact.db",
    "{home}/uploads",
    "/tmp",
]


@pytest.mark.parametrize("path", PATHS)
def test_no_file_of_the_server_is_read(path: str, visitor: Visitor, laptop_home: Path) -> None:
    """A page names a file of the server as an upload; or its address is asked for directly."""
    named = path.format(home=laptop_home, root=ROOT)
    source = {"source": {"facts": named, "columns": []}, "pool": named, "models": ["baseline:random"]}
    answers = [
        visitor.press_button("take_file", named),
        visitor.press_button("take_pool", named),
        visitor.press_button(
            "use_columns", setup={"mapping": {"path": named, "columns": ["a"]}}, fields={"head": "a", "tail": "a"}
        ),
        visitor.press_button("evaluate", setup=source),
        visitor.press_button("bring", named, page_name="runs"),
        visitor.fetch_page("facts", data="own", pool=named),
    ]
    for answer in answers:
        told = json.dumps(answer)
        assert "read." not in told
        assert "root:" not in told
        assert KEY not in told
        assert not answer["show"].get("run")
    assert visitor.http.get("/gradio_api/deep_link", params={"session_hash": "x"}).status_code == 404
    for address in (f"/gradio_api/file={named}", f"/file={named}", f"/gradio_api/file/{named}"):
        assert visitor.http.get(address).status_code == 404


def test_a_link_out_of_the_upload_folder_leads_nowhere(visitor: Visitor, laptop_home: Path) -> None:
    link = laptop_home / "uploads" / "link.csv"
    link.symlink_to(ROOT / "assets" / "datasets" / "clinical-core.csv")
    assert "not here, or not yours" in json.dumps(visitor.press_button("take_file", link))


def test_the_server_fetches_no_address_that_a_page_names(visitor: Visitor) -> None:
    """The page library would fetch a file whose path is a web address; its events are not taken at all."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.5)
        for host in (f"127.0.0.1:{listening.getsockname()[1]}", "example.invalid"):
            for scheme in ("http", "https"):
                address = f"{scheme}://{host}/x.csv"
                assert "not here, or not yours" in json.dumps(visitor.press_button("take_file", address))
                file = {"path": address, "url": address, "orig_name": "x.csv", "meta": {"_type": "gradio.FileData"}}
                body = {"fn_index": 0, "data": [file], "session_hash": "x"}
                for way, refusal in (("queue/join", 400), ("run/predict", 404), ("call/x", 404)):
                    assert visitor.http.post(f"/gradio_api/{way}", json=body).status_code == refusal
        with pytest.raises(TimeoutError):
            listening.accept()


def test_a_program_without_cookies_looks_and_does_nothing(laptop: str) -> None:
    answer = httpx.post(f"{laptop}gradio_api/upload", files={"files": ("facts.csv", TABLE)})
    assert answer.status_code == 403
    with Visitor(laptop) as program:
        program.http.cookies.clear()
        assert "needs a cookie" in program.evaluate("baseline:random")
        program.http.cookies.clear()
        assert program.fetch_page("runs")["fragments"]


def test_what_is_doubtful_about_a_file_is_said_above_what_is_folded(visitor: Visitor) -> None:
    """A table whose relation is the wrong way round makes false sentences: nobody should have to unfold that."""
    pairs = {"gout": "allopurinol", "migraine": "sumatriptan", "asthma": "salbutamol", "epilepsy": "valproic acid"}
    table = "head,relation,tail\nlevodopa,may treat,Parkinson disease\n" + "".join(
        f"{disease},may treat,{drug}\n" for disease, drug in pairs.items()
    )
    said = str(visitor.press_button("take_file", visitor.upload("mine.csv", table.encode()))["fragments"])
    assert "is the wrong way round in 4 rows of 5" in said
    assert said.index("is the wrong way round") < said.index("By relation")


def test_a_visitor_keeps_the_last_few_files(visitor: Visitor, laptop_home: Path) -> None:
    paths = [visitor.upload("facts.csv", TABLE + b"x,symptoms,%d\n" % number) for number in range(MOST_FILES + 3)]
    assert [(laptop_home / "uploads" / path).exists() for path in paths] == [False] * 3 + [True] * MOST_FILES


def test_uploads_that_broke_off_are_removed(tmp_path: Path) -> None:
    uploads = Uploads(tmp_path)
    old, new = tmp_path / "tmpold", tmp_path / "tmpnew"
    for file in (old, new):
        file.write_bytes(b"half")
    os.utime(old, (0, 0))
    uploads.put("somebody", "facts.csv", io.BytesIO(TABLE))
    assert (old.exists(), new.exists()) == (False, True)


# ------------------------------------------------------------------------- other visitors' runs


def test_whoever_has_a_link_reads_a_run_and_moves_nothing(visitor: Visitor, stranger: Visitor, laptop_home: Path) -> None:
    with MockService(HANGS) as hanging:
        (run,) = visitor.evaluate(service="m", address=hanging.base_url)
        shown = stranger.fetch_page(run=run)
        assert shown["show"].get("run", run) == run
        assert 'id="stop"' not in shown["fragments"]["progress"]
        assert 'id="stop"' in visitor.fetch_page(run=run)["fragments"]["progress"]
        for action in ("stop", "resume"):
            assert "not yours to stop or resume" in stranger.press_button(action, run=run)["fragments"]["said"]
        for action in ("delete", "save", "undo"):
            assert "no such" in stranger.press_button(action, run, page_name="runs")["fragments"]["said"]
        assert open_store(laptop_home).run(run).state in {RUNNING, "waiting"}
        visitor.press_button("stop", run=run)
        assert wait_for_run_end(laptop_home, run).state == "stopped"
    (demonstration,) = open_store(laptop_home).runs("demonstration")
    assert "not yours to stop" in visitor.press_button("stop", run=demonstration.run)["fragments"]["said"], (
        "its id is known to all"
    )


# ------------------------------------------------------------------------- keys and services


def test_the_servers_key_goes_to_no_address_that_a_visitor_types(visitor: Visitor, laptop_home: Path) -> None:
    with MockService() as service:
        (run,) = visitor.evaluate(service="m", address=service.base_url)
        assert wait_for_run_end(laptop_home, run).state == COMPLETE
        assert {call.headers["authorization"] for call in service.calls} == {"Bearer none"}


def test_a_typed_key_goes_to_the_run_and_nowhere_else(visitor: Visitor, stranger: Visitor, laptop_home: Path) -> None:
    with MockService(Behaviour(key=TYPED)) as service:
        answer = visitor.evaluate(service="m", address=service.base_url, key=TYPED)
        (run,) = answer
        assert wait_for_run_end(laptop_home, run).state == COMPLETE
        assert TYPED not in json.dumps(visitor.fetch_page(run=run)) + json.dumps(stranger.fetch_page(run=run))
    kept = [file for file in laptop_home.rglob("*") if file.is_file() and TYPED.encode() in file.read_bytes()]
    assert kept == []


def test_one_visitors_runs_hold_up_nobody_elses(visitor: Visitor, stranger: Visitor, laptop_home: Path) -> None:
    """Twelve runs that hang, more than are asked at once: the next visitor's is asked all the same."""
    with MockService(HANGS) as hanging, MockService() as service:
        pressed = [visitor.evaluate(service="m", address=hanging.base_url) for _ in range(12)]
        assert all(isinstance(runs, list) for runs in pressed)
        (quick,) = stranger.evaluate(service="m", address=service.base_url)
        assert wait_for_run_end(laptop_home, quick).state == COMPLETE
        for (run,) in pressed:
            visitor.press_button("stop", run=run)


# ------------------------------------------------------------------------- who may ask, and how much


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:7860", "x.hf.space", "", "[::1"]
)
def test_a_laptops_app_answers_to_its_own_name_alone(host: str, laptop: str) -> None:
    """By DNS rebinding another site's page would reach it under that site's name."""
    assert httpx.get(laptop, headers={"Host": host}).status_code in {400, 421}
    assert httpx.post(f"{laptop}updates", headers={"Host": host}, json={}).status_code in {400, 421}


@pytest.mark.parametrize("host", ["localhost:7860", "127.0.0.1", "[::1]:7860", "192.168.1.7:7860"])
def test_numbers_and_localhost_are_its_own(host: str, laptop: str) -> None:
    assert httpx.get(laptop, headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:1234"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
    ids=str,
)
def test_another_sites_page_moves_nothing(headers: dict[str, str], laptop: str) -> None:
    for address in ("updates", "gradio_api/upload"):
        assert httpx.post(laptop + address, headers=headers, json={}).status_code == 403
    origin = laptop.rstrip("/")
    assert (
        httpx.post(
            f"{laptop}updates", headers={"Origin": origin, "Sec-Fetch-Site": "same-origin"}, json={"page": "evaluate"}
        ).status_code
        == 200
    )


def test_no_other_site_shows_the_app_in_a_frame(laptop: str, space: str) -> None:
    for address in ("", "runs", "compare", "export/x", "nothing"):
        assert httpx.get(laptop + address).headers["content-security-policy"].endswith("frame-ancestors 'self'")
        policy = httpx.get(space + address).headers["content-security-policy"]
        assert policy.endswith("frame-ancestors 'self' https://huggingface.co")


def test_the_cookie_is_kept_inside_the_hubs_frame(laptop: str, space: str) -> None:
    attributes = set(httpx.get(space).headers["set-cookie"].lower().split("; "))
    assert {"partitioned", "secure", "samesite=none", "httponly"} <= attributes
    assert "partitioned" not in httpx.get(laptop).headers["set-cookie"].lower()


def chunks(size: int) -> Iterator[bytes]:
    """A body whose length is not said."""
    for _ in range(size // 10_000):
        yield b" " * 10_000


def test_no_body_is_larger_than_a_page_sends(laptop: str) -> None:
    address, most = "updates", UPDATE_BYTES
    headers = {"Content-Type": "application/json"}
    assert httpx.post(laptop + address, content=b" " * (most + 1), headers=headers).status_code == 413
    assert httpx.post(laptop + address, content=chunks(most + 20_000), headers=headers).status_code == 413
    assert httpx.post(laptop + address, content=b" " * most, headers=headers).status_code in {400, 422}


def test_no_upload_is_larger_than_a_file_may_be(visitor: Visitor) -> None:
    assert visitor.http.post("/gradio_api/upload", files={"files": ("a.csv", b"x" * 50_200_000)}).status_code == 413
    assert visitor.http.post("/gradio_api/upload", content=chunks(50_300_000)).status_code in {400, 413}


def test_a_visitor_who_presses_without_end_waits(space: str) -> None:
    body = {"page": "evaluate", "action": {"name": "drop_file"}}
    with space_visitor(space) as visitor, space_visitor(space) as stranger:
        begun = time.monotonic()
        answers = [visitor.http.post("/updates", json=body) for _ in range(40)]
        free = 30 + (time.monotonic() - begun)
        assert [answer.status_code for answer in answers[:30]] == [200] * 30
        refused = [answer for answer in answers[30:] if answer.status_code == 429]
        assert len(refused) >= 39 - free, "one more a second"
        assert {(answer.headers["retry-after"], answer.text) for answer in refused} <= {
            ("1", "That is too much at once. Try again in a second.")
        }
        assert stranger.http.post("/updates", json=body).status_code == 200


RUBBISH = (
    *("zz", "-1", "9" * 30, "٣", "<img src=x onerror=alert(1)>", "' or 1=1 --", "${alert(1)}", "{{7*7}}", "x\0y"),
    *(None, -5, 10**18, 1.5, True),
)


@pytest.mark.parametrize("page", ["evaluate", "facts", "runs", "review"])
def test_no_page_breaks_on_what_an_address_says(page: str, visitor: Visitor) -> None:
    """Every kind of rubbish in all fields of a view, and four kinds in each field alone: the page is there, without markup."""
    names = sorted(set(PAGES[page].show.model_fields) - {"setup"})
    for value in RUBBISH:
        assert "<img" not in "".join(visitor.fetch_page(page, **dict.fromkeys(names, value))["fragments"].values())
    for place, name in enumerate(names):
        for value in (RUBBISH * 3)[place % len(RUBBISH) :: 4][:4]:
            assert visitor.fetch_page(page, **{name: value})["fragments"], (name, value)


@pytest.mark.parametrize(
    "name",
    [
        "evaluate",
        "again",
        "stop",
        *ROWS,
        "use_set",
        "use_relation",
        "take_rows",
        "resume",
        "use_columns",
        "take_pool",
        "drop_file",
    ],
)
def test_no_button_breaks_on_rubbish(name: str, visitor: Visitor) -> None:
    for setup in (
        {"models": 5},
        {"models": ["nothing"]},
        {"source": {}},
        {"source": {"facts": 5}},
        {"source": "", "mapping": "{}", "untold": [], "pending": {}},
        {"mapping": {}, "pairs": "many", "setup": {"setup": {}}},
        {},
        None,
    ):
        answer = visitor.press_button(name, "x", setup=setup, run="x,y", fields={"key": "a b", "budget": "much", "head": "x"})
        assert "Traceback" not in json.dumps(answer)


def test_rubbish_is_refused_without_a_crash(visitor: Visitor) -> None:
    for content in (
        b"[" * 50_000,
        b"{" * 50_000,
        b"\xff\xfe",
        b"[",
        b'{"page": "evaluate", "show": {"search": "\\ud800"}}',
        b'{"page": NaN}',
        b'{"show": {"page": 1e400}}',
        b"null",
        b'{"key": "' + b"x" * 500 + b'"}',
        b'{"asked": 5, "key": 5}',
    ):
        answer = visitor.http.post("/updates", content=content, headers={"Content-Type": "application/json"})
        assert answer.status_code in {400, 413, 422}, content[:20]
    assert visitor.http.get("/").status_code == 200


# ------------------------------------------------------------------------- files that fill a memory


def test_a_table_that_is_too_much_is_refused(visitor: Visitor) -> None:
    relations = b"head,relation,tail\n" + b"".join(b"a%d,r%d,b%d\n" % (n, n, n) for n in range(600))
    said = json.dumps(visitor.press_button("take_file", visitor.upload("many.csv", relations)))
    assert "more than 500 relations" in said
    rows = b"head,relation,tail\n" + b"a,symptoms,b\n" * 100_001
    assert "more than 100,000 rows" in json.dumps(visitor.press_button("take_file", visitor.upload("rows.csv", rows)))


def test_sentences_that_multiply_are_refused(visitor: Visitor) -> None:
    """Nine aliases, each ten of the one before: a billion words in 500 bytes."""
    lines = ["a0: &a0 [lol]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    pool = "\n".join([*lines, "forms: [none]", "relations: {symptoms: {aliases: *a9, sentences: {none: '[X] has [Y].'}}}"])
    said = json.dumps(visitor.press_button("take_pool", visitor.upload("bomb.yaml", pool.encode())))
    assert "is an alias" in said


def test_a_run_with_much_that_happened_is_refused(visitor: Visitor) -> None:
    line = b'{"event":{"at":"2026-01-01T00:00:00+00:00","what":"stopped","said":"' + b"x" * 4_000_000 + b'"}}\n'
    path = visitor.upload("run.gz", gzip.compress(b'{"medfact run":1,"run":"' + b"0" * 32 + b'"}\n' + line))
    assert "Imported" not in json.dumps(visitor.press_button("bring", path, page_name="runs"))


# ------------------------------------------------------------------------- at the start


def test_a_database_that_cannot_be_opened_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    environment = {**os.environ, "MEDFACT_HOME": str(tmp_path / "file" / "home"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, "app.py"], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr.startswith("medfact: ")
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
