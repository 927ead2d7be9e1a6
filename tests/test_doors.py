"""The app over plain HTTP, as a visitor who means ill would use it: on a laptop, and on a server that strangers use."""

from __future__ import annotations

import gzip
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from browser import ROOT, served
from mock_service import Behaviour, MockService
from visitors import Visitor, file_data

from medfact.errors import Mistake
from medfact.exchange import export_run
from medfact.models import ApiSettings
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import COMPLETE, RUNNING, Store
from medfact.web.app import SESSIONS
from medfact.web.guard import EVENT_BYTES
from medfact.web.keys import Keys
from medfact.web.uploads import MOST_FILES_EACH, Uploads

KEY = "sk-of-whoever-runs-the-server-0123456789"
TYPED = "sk-typed-by-a-visitor-0123456789"
TABLE = b"head,relation,tail\n" + b"".join(b"disease%d,symptoms,sign%d\n" % (n, n) for n in range(14))


@pytest.fixture(scope="module")
def laptop_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("laptop")


@pytest.fixture(scope="module")
def laptop(laptop_home: Path) -> Iterator[str]:
    """The app as on a laptop, whose owner has a key of his own in the environment."""
    with served(laptop_home, OPENAI_API_KEY=KEY) as url:
        yield url


@pytest.fixture(scope="module")
def space_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("space")


@pytest.fixture(scope="module")
def space(space_home: Path) -> Iterator[str]:
    """The app as on a server that strangers use."""
    with served(space_home, OPENAI_API_KEY=KEY, SPACE_ID="somebody/medfact", GRADIO_SERVER_NAME="127.0.0.1") as url:
        yield url


@pytest.fixture
def visitor(laptop: str) -> Iterator[Visitor]:
    with Visitor(laptop) as visitor:
        yield visitor


@pytest.fixture
def stranger(laptop: str) -> Iterator[Visitor]:
    with Visitor(laptop) as visitor:
        yield visitor


def store_of(home: Path, owner: str = "local") -> Store:
    return Store(f"sqlite:///{home / 'medfact.db'}", owner)


def evaluate(visitor: Visitor, *models: str, ticket: str = "", service: str = "", address: str = "", other: str = "") -> Any:
    """What comes of pressing Evaluate, on ten facts without demonstrations: the runs, or what is said."""
    values = [ticket, list(models), other, service, address, True, 0, 10, 0]
    said, shown = visitor.call("evaluate", None, "medfact", "", values)
    return json.loads(shown)["runs"] if isinstance(shown, str) else json.loads(said)["text"]


def until_ended(home: Path, run: str, before: str | None = None) -> Any:
    """The record of a run once it has ended, another time than before."""
    for _ in range(600):
        record = store_of(home).run(run)
        if record.finished_at and record.finished_at != before:
            return record
        time.sleep(0.1)
    raise AssertionError(record.state)


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
    """An event names a file of the server as an upload; the page's state is saved, and fetched."""
    named = path.format(home=laptop_home, root=ROOT)
    for event in ("take_file", "take_pool", "import_run"):
        more = {"take_pool": [None], "import_run": ["", ""]}.get(event, [])
        said = json.dumps(visitor.call(event, file_data(named), *more))
        assert "true facts were read" not in said
        assert "root:" not in said
        assert KEY not in said
    assert visitor.http.get("/gradio_api/deep_link", params={"session_hash": visitor.session}).status_code == 404
    for address in (f"/gradio_api/file={named}", f"/file={named}", f"/gradio_api/file/{named}"):
        assert visitor.http.get(address).status_code == 404


def test_a_link_out_of_the_upload_folder_leads_nowhere(visitor: Visitor, laptop_home: Path) -> None:
    link = laptop_home / "uploads" / "link.csv"
    link.symlink_to(ROOT / "assets" / "datasets" / "clinical-core.csv")
    assert "true facts were read" not in json.dumps(visitor.call("take_file", file_data(link)))


@pytest.mark.parametrize("event", ["take_file", "runs_to_compare"])
def test_the_server_fetches_no_address_that_an_event_names(event: str, visitor: Visitor) -> None:
    """A file whose path is a web address would be fetched by the page library: any address, and however large."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.5)
        for host in (f"127.0.0.1:{listening.getsockname()[1]}", "example.invalid"):
            for scheme in ("http", "https"):
                answer = visitor.call(event, {**file_data(f"{scheme}://{host}/x.csv"), "url": f"{scheme}://{host}/x.csv"})
                assert answer == "There is no such file of yours."
        with pytest.raises(TimeoutError):
            listening.accept()


def test_an_upload_is_its_own_visitors_and_nobody_elses(visitor: Visitor, stranger: Visitor) -> None:
    path = visitor.upload("facts.csv", TABLE)
    assert "14 true facts were read" in json.dumps(visitor.call("take_file", file_data(path)))
    assert visitor.http.get(f"/gradio_api/file={path}").content == TABLE
    assert "not here, or not yours" in json.dumps(stranger.call("take_file", file_data(path)))
    assert stranger.http.get(f"/gradio_api/file={path}").status_code == 404
    assert stranger.upload("facts.csv", TABLE) == path  # the same content: now it is both's
    assert "14 true facts were read" in json.dumps(stranger.call("take_file", file_data(path)))


def test_what_a_program_without_cookies_uploads_is_the_first_ones_that_takes_it(laptop: str) -> None:
    answer = httpx.post(f"{laptop}gradio_api/upload", files={"files": ("facts.csv", TABLE + b"x,symptoms,y\n")})
    (path,) = answer.json()
    with Visitor(laptop) as one, Visitor(laptop) as other:
        for program in (one, other):
            program.http.cookies.clear()
        assert "15 true facts were read" in json.dumps(one.call("take_file", file_data(path)))
        assert "not here, or not yours" in json.dumps(other.call("take_file", file_data(path)))


def test_a_visitor_keeps_the_last_few_files(visitor: Visitor) -> None:
    paths = [visitor.upload("facts.csv", TABLE + b"x,symptoms,%d\n" % number) for number in range(MOST_FILES_EACH + 3)]
    assert [Path(path).exists() for path in paths] == [False] * 3 + [True] * MOST_FILES_EACH


def test_uploads_that_broke_off_are_removed(tmp_path: Path) -> None:
    uploads = Uploads(tmp_path)
    old, new = tmp_path / "tmpold", tmp_path / "tmpnew"
    for file in (old, new):
        file.write_bytes(b"half")
    os.utime(old, (0, 0))
    uploads.add("somebody", [])
    assert (old.exists(), new.exists()) == (False, True)


def test_keys_of_others_do_not_push_ones_own_out() -> None:
    keys = Keys()
    ticket = keys.hold("ada", "sk-ada")
    eager = [keys.hold("eager", f"sk-{n}") for n in range(1_500)]
    assert keys.take("ada", ticket) == "sk-ada"
    assert keys.take("eager", eager[-1]) == "sk-1499"
    with pytest.raises(Mistake):
        keys.take("eager", eager[0])


def test_sentences_and_addresses_are_no_way_round(visitor: Visitor) -> None:
    for pool in ("/etc/passwd", "prototypes/medfact.yaml", f"{ROOT}/prototypes/medfact.yaml"):
        answer = visitor.call("evaluate", None, "medfact", pool, ["", ["baseline:random"], "", "", "", True, 0, 10, 0])
        assert "runs" not in json.dumps(answer)
    for address in ("/gradio_api/file=http://127.0.0.1:1/", "/gradio_api/proxy=http://127.0.0.1:1/", "/monitoring", "/login"):
        assert visitor.http.get(address).status_code == 404
    assert visitor.http.post("/gradio_api/component_server", json={}).status_code == 404


# ------------------------------------------------------------------------- other visitors' runs


def test_no_page_tells_of_other_visitors_runs(visitor: Visitor, laptop_home: Path) -> None:
    """Ids are told to their owners alone; the beginning of one opens nothing."""
    theirs = start(RunSpec(model="baseline:random", limit=4, shots=0), store_of(laptop_home, "0" * 32))
    for asked in ("zz", theirs[:8], theirs[:31], theirs[:-1] + "%", "", "../" + theirs, theirs.upper() + " "):
        told = json.dumps(visitor.call("compare", [asked, asked + "x"]))
        told += json.dumps(visitor.call("facts_of_runs", [asked, asked], "all", "every relation", "every pattern"))
        told += json.dumps(visitor.call("runs_to_compare", asked))
        told += json.dumps(visitor.news(asked))
        told += json.dumps(visitor.call("stop", [asked]))
        assert theirs not in told, asked
        assert visitor.http.get(f"/export/{asked}").status_code in {404, 405}
        assert visitor.http.get(f"/answer/{asked}/0").text in {"{}", "There is no such address."}
    assert theirs not in json.dumps(visitor.call("runs", "", "", 0))


def test_nobody_stops_the_demonstration(laptop_home: Path, tmp_path: Path) -> None:
    """Everybody sees it, so everybody knows its id; at the start of the app it is still going on."""
    with served(tmp_path) as url, Visitor(url) as visitor:
        (run,) = visitor.news()["runs"]
        visitor.call("stop", [run])
        assert until_ended(tmp_path, run).state == COMPLETE


# ------------------------------------------------------------------------- keys and services


def test_the_servers_key_goes_to_no_address_that_a_visitor_types(visitor: Visitor, laptop_home: Path) -> None:
    with MockService() as service:
        (run,) = evaluate(visitor, service="m", address=service.base_url)
        assert until_ended(laptop_home, run).state == COMPLETE
        assert {call.headers["authorization"] for call in service.calls} == {"Bearer none"}


def test_a_typed_key_goes_to_the_run_and_nowhere_else(visitor: Visitor, stranger: Visitor, laptop_home: Path) -> None:
    with MockService(Behaviour(key=TYPED)) as service:
        ticket = visitor.ticket(TYPED)
        assert TYPED not in ticket
        assert "did not arrive" in evaluate(stranger, service="m", address=service.base_url, ticket=ticket)
        ticket = visitor.ticket(TYPED)
        (run,) = evaluate(visitor, service="m", address=service.base_url, ticket=ticket)
        assert until_ended(laptop_home, run).state == COMPLETE
        assert "did not arrive" in evaluate(visitor, service="m", address=service.base_url, ticket=ticket)  # it is used up
    kept = [file for file in laptop_home.rglob("*") if file.is_file() and TYPED.encode() in file.read_bytes()]
    assert kept == []


def test_one_visitors_runs_hold_up_nobody_elses(visitor: Visitor, stranger: Visitor, laptop_home: Path) -> None:
    """Twelve runs that hang, more than are asked at once: the next visitor's is asked all the same."""
    with MockService(Behaviour(latency=60)) as hanging, MockService() as service:
        pressed = [evaluate(visitor, service="m", address=hanging.base_url) for _ in range(12)]
        assert all(isinstance(runs, list) for runs in pressed)
        (quick,) = evaluate(stranger, service="m", address=service.base_url)
        assert until_ended(laptop_home, quick).state == COMPLETE
        for (run,) in pressed:
            visitor.call("stop", [run])


def imported(visitor: Visitor, home: Path, spec: RunSpec, tmp_path: Path) -> str:
    """A run of this spec, taken from a file that the visitor brings."""
    other = Store(f"sqlite:///{tmp_path / 'other.db'}")
    run = start(spec, other)
    other.set_state(run, "stopped")
    with (tmp_path / "run.gz").open("wb") as file:
        export_run(other, run, file)
    said = visitor.call("import_run", file_data(visitor.upload("run.gz", (tmp_path / "run.gz").read_bytes())), "", "")
    assert "Brought" in json.dumps(said)
    return run


def test_a_public_server_asks_no_address_inside(space: str, space_home: Path, tmp_path: Path) -> None:
    """Neither one that is typed nor one that an imported run names; and not with the server's key, wherever it would go."""
    with MockService() as service, Visitor(space) as visitor:
        for address in (service.base_url, service.base_url.replace("http", "https"), "http://169.254.169.254/v1"):
            assert "not a public address" in evaluate(visitor, service="m", address=address, ticket=visitor.ticket(TYPED))
        assert "No key for api.openai.com" in evaluate(visitor, service="gpt-4o")
        spec = RunSpec(model="openai:m", limit=4, shots=0, service=ApiSettings(base_url=service.base_url))
        run = imported(visitor, space_home, spec, tmp_path)
        before = store_of(space_home).run(run).finished_at
        visitor.call("resume", [run], visitor.ticket(TYPED), 0)
        record = until_ended(space_home, run, before)
        assert "not a public address" in str(record.reason)
        assert service.calls == []


def test_a_public_server_loads_no_folder_and_tells_of_none(space: str, space_home: Path, tmp_path: Path) -> None:
    with Visitor(space) as visitor:
        told = {
            evaluate(visitor, other=name).replace(name, "NAME")
            for name in ("/etc", "/nowhere", str(ROOT / "assets/models/medfact-tiny"), "../x", "./assets", "~/x")
        }
        assert told == {
            "'NAME' is not the name of a repository on the Hugging Face Hub. On a public page, name a model as OWNER/NAME."
        }
        spec = RunSpec(model=f"hf:{ROOT / 'assets/models/medfact-tiny'}", limit=4, shots=0)
        run = imported(visitor, space_home, spec, tmp_path)
        before = store_of(space_home).run(run).finished_at
        visitor.call("resume", [run], "", 0)
        assert "not the name of a repository" in str(until_ended(space_home, run, before).reason)


def test_a_relative_folder_is_no_repository_on_a_public_server(space: str, space_home: Path) -> None:
    with Visitor(space) as visitor:
        (run,) = evaluate(visitor, other="assets/models")
        assert "its repository was not reached" in str(until_ended(space_home, run).reason)


# ------------------------------------------------------------------------- who may ask, and how much


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:7860", "x.hf.space", "", "[::1"]
)
def test_a_laptops_app_answers_to_its_own_name_alone(host: str, laptop: str) -> None:
    """By DNS rebinding another site's page would reach it under that site's name."""
    assert httpx.get(laptop, headers={"Host": host}).status_code in {400, 421}
    assert httpx.post(f"{laptop}news", headers={"Host": host}, json={}).status_code in {400, 421}


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
    for address in ("news", "key", "gradio_api/run/predict", "gradio_api/queue/join", "gradio_api/upload"):
        assert httpx.post(laptop + address, headers=headers, json={}).status_code == 403
    origin = laptop.rstrip("/")
    assert httpx.post(f"{laptop}news", headers={"Origin": origin, "Sec-Fetch-Site": "same-origin"}, json={}).status_code == 200


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


@pytest.mark.parametrize(("address", "most"), [("news", 64_000), ("key", 128_000), ("gradio_api/run/predict", 128_000)])
def test_no_body_is_larger_than_a_page_sends(address: str, most: int, laptop: str) -> None:
    headers = {"Content-Type": "application/json"}
    assert httpx.post(laptop + address, content=b" " * (most + 1), headers=headers).status_code == 413
    assert httpx.post(laptop + address, content=chunks(most + 20_000), headers=headers).status_code == 413
    assert httpx.post(laptop + address, content=b" " * most, headers=headers).status_code in {400, 422}


def test_no_upload_is_larger_than_a_file_may_be(visitor: Visitor) -> None:
    assert visitor.http.post("/gradio_api/upload", files={"files": ("a.csv", b"x" * 50_200_000)}).status_code == 413
    assert visitor.http.post("/gradio_api/upload", content=chunks(50_300_000)).status_code in {400, 413}


def test_events_come_one_after_the_other(visitor: Visitor) -> None:
    """Forty presses at once: a visitor's events do not fill the queue of all."""
    number, _ = visitor._event("price")
    body = {"fn_index": number, "data": [], "session_hash": visitor.session}
    answers = [visitor.http.post("/gradio_api/queue/join", json=body).status_code for _ in range(40)]
    assert answers.count(429) == 20


def test_the_queue_cannot_be_passed_by(visitor: Visitor) -> None:
    """What waits for its turn in the queue cannot be asked for directly, where nobody counts."""
    number, queued = visitor._event("evaluate")
    assert queued
    body = {"fn_index": number, "data": [None, "medfact", "", []], "session_hash": visitor.session}
    answer = visitor.http.post("/gradio_api/run/predict", json=body)
    assert answer.status_code >= 400
    assert "queue" in answer.text.lower()


def test_what_pages_send_is_not_kept_without_end() -> None:
    """The page library keeps the inputs of so many pages' events: 256 MB, were each as large as it may be."""
    assert SESSIONS * EVENT_BYTES <= 256_000_000


@pytest.mark.parametrize(
    "content", [b'{"page": NaN}', b'{"chosen": 1e400}', b'{"key": "\\ud800"}', b'{"session_hash": "\\ud800"}', b"["]
)
@pytest.mark.parametrize("address", ["/news", "/key", "/gradio_api/queue/join", "/gradio_api/run/predict"])
def test_what_is_no_json_is_refused(address: str, content: bytes, visitor: Visitor) -> None:
    answer = visitor.http.post(address, content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code in {200, 400, 422}
    assert answer.status_code != 200 or address == "/news"


@pytest.mark.parametrize(
    "event", [{"fn_index": 99_999}, {"fn_index": -1}, {"fn_index": "0"}, {"fn_index": None}, {"session_hash": "a/b"}]
)
def test_an_event_that_no_page_has_is_refused(event: dict[str, object], visitor: Visitor) -> None:
    body = {"fn_index": 0, "data": [], "session_hash": visitor.session, **event}
    assert visitor.http.post("/gradio_api/queue/join", json=body).status_code == 400


@pytest.mark.parametrize("key", ["zz", "9" * 5_000, "-1", "٣"])
def test_a_fact_that_is_not_there_opens_nothing(key: str, visitor: Visitor) -> None:
    for runs in ([], ["zz", "yy"], ["zz", "zz"], "zz"):
        assert "Traceback" not in json.dumps(visitor.call("open_fact", runs, event={"key": key}))


def test_rubbish_is_refused_without_a_crash(visitor: Visitor) -> None:
    for content in (
        b"[" * 50_000,
        b"{" * 50_000,
        b"\xff\xfe",
        b"null",
        b'{"key": "' + b"x" * 500 + b'"}',
        b'{"asked": 5, "key": 5}',
    ):
        for address in ("/news", "/key"):
            answer = visitor.http.post(address, content=content, headers={"Content-Type": "application/json"})
            assert answer.status_code in {200, 400, 413, 422}, (address, content[:20])
            assert answer.status_code != 200 or b'"x' in content
    assert visitor.http.get("/").status_code == 200


# ------------------------------------------------------------------------- files that fill a memory


def test_a_table_that_is_too_much_is_refused(visitor: Visitor) -> None:
    relations = b"head,relation,tail\n" + b"".join(b"a%d,r%d,b%d\n" % (n, n, n) for n in range(20_000))
    said = json.dumps(visitor.call("take_file", file_data(visitor.upload("many.csv", relations))))
    assert "more than 500 relations" in said
    rows = b"head,relation,tail\n" + b"a,symptoms,b\n" * 150_000
    assert "more than 100,000 rows" in json.dumps(visitor.call("take_file", file_data(visitor.upload("rows.csv", rows))))


def test_sentences_that_multiply_are_refused(visitor: Visitor) -> None:
    """Nine aliases, each ten of the one before: a billion words in 500 bytes."""
    lines = ["a0: &a0 [lol]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    pool = "\n".join([*lines, "forms: [none]", "relations: {symptoms: {aliases: *a9, sentences: {none: '[X] has [Y].'}}}"])
    said = json.dumps(visitor.call("take_pool", file_data(visitor.upload("bomb.yaml", pool.encode())), None))
    assert "is an alias" in said


def test_a_run_with_much_that_happened_is_refused(visitor: Visitor) -> None:
    line = b'{"event":{"at":"2026-01-01T00:00:00+00:00","what":"stopped","said":"' + b"x" * 4_000_000 + b'"}}\n'
    path = visitor.upload("run.gz", gzip.compress(b'{"medfact":"run","format":1,"run":"' + b"0" * 32 + b'"}\n' + line))
    assert "Brought" not in json.dumps(visitor.call("import_run", file_data(path), "", ""))


# ------------------------------------------------------------------------- at the start


def test_a_database_that_cannot_be_opened_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    environment = {**os.environ, "MEDFACT_HOME": str(tmp_path / "file" / "home"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, "app.py"], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr.startswith("medfact: ")
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_what_a_page_says_of_a_broken_database_names_no_folder(tmp_path: Path) -> None:
    with served(tmp_path) as url, Visitor(url) as visitor:
        (run,) = evaluate(visitor, "baseline:random")
        until_ended(tmp_path, run)
        for file in tmp_path.glob("medfact.db*"):
            file.rename(tmp_path / f"away-{file.name}")
        answer = visitor.http.post("/news", json={"asked": [run]})
        assert answer.status_code == 503
        assert "its file is not there any more" in answer.text
        assert str(tmp_path) not in answer.text
        for file in tmp_path.glob("away-*"):
            file.rename(tmp_path / file.name.removeprefix("away-"))
        assert store_of(tmp_path).run(run).state != RUNNING
