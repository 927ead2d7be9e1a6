"""Settings of a service are checked before anything is recorded, budgets hold, and the environment is used where it may be."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from asked_updates import OWNER
from asked_updates import services as services
from odd_service import Reply, ScriptedService, chat_reply
from recorded import complete_run, finished_event
from service_models import KEY, ModelLoader, make_prompts
from service_models import load_service_model as load_service_model
from waiting import HANG_SECONDS

import medfact as package
from medfact.errors import MedfactError, Mistake, ModelError
from medfact.models import ServiceSettings, load_encoder
from medfact.models.services.addresses import parsed_address, without_secrets
from medfact.models.services.policy import host_of
from medfact.runs.costs import bill_of, describe_bill, dollars
from medfact.runs.events import Finished
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import COMPLETE, STOPPED, Answer, Store
from medfact.web.evaluate.begin import begin
from medfact.web.evaluate.form import ModelRow, Setup
from medfact.web.pages import Action, Visitor
from medfact.web.pages.write import WriteShow
from medfact.web.pages.write import start as start_writing
from medfact.web.services import Services

__all__ = ["load_service_model", "services"]

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("API_KEY", "BASE_URL", "ORG_ID", "PROJECT_ID", "CUSTOM_HEADERS"):
        monkeypatch.delenv(f"OPENAI_{name}", raising=False)


# ------------------------------------------------------------------------------------------------ addresses

NO_ADDRESS = [
    "127.0.0.1:8000/v1", "localhost:8000", "api.example.org/v1", "file:///etc/passwd", "ftp://example.org",
    "javascript:alert(1)", "//example.org/v1", "http://", "http:///v1", "http://exa mple.org/v1", "http://example.org/v 1", "http://example.org/\tv1",
    "http://example.org/\x00v1", "http://example.org/\u200bv1", "http://example.org\\v1", "http://example.org:99999/v1",
    "http://example.org:0/v1", "http://example.org:http/v1", "http://example.org:-1/v1", "http://[::1/v1", "http://a..b/v1",
    "http://-a/v1", "http://xn--/v1", f"http://{'a' * 64}.org/v1", "http://example.org/v1#top", "http://fe80::1/v1",
    f"http://example.org/{'a' * 3_000}", "0", "http://\ud800.org/v1",
]  # fmt: skip
SECRETS = [
    "https://me:secret@example.org/v1",
    "https://me@example.org/v1",
    "me:secret@example.org/v1",
    "//me:secret@example.org/v1",
    "https://example.org/v1?api_key=secret",
    "https://example.org/v1?key=secret",
    "https://example.org/v1?api-version=1&subscription-key=secret",
    "https://example.org/v1?access_token=secret",
]


@pytest.mark.parametrize("address", [*NO_ADDRESS, *SECRETS], ids=lambda text: ascii(text)[:50])
def test_what_is_no_address_is_refused_in_one_sentence(address: str) -> None:
    with pytest.raises(ModelError) as raised:
        parsed_address(address)
    assert "\n" not in str(raised.value)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("address", "base", "host"),
    [
        (" https://example.org/v1/ ", "https://example.org/v1", "example.org"),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1", "127.0.0.1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1", "::1"),
        ("HTTP://Example.ORG", "http://example.org", "example.org"),
        ("https://exämple.org/v1", "https://xn--exmple-cua.org/v1", "xn--exmple-cua.org"),
        ("http://127。0。0。1/v1", "http://127.0.0.1/v1", "127.0.0.1"),
        ("http://my_model:80/v1", "http://my_model:80/v1", "my_model"),
        ("https://x.example/d/g?api-version=2024-06-01", "https://x.example/d/g", "x.example"),
        ("https://x.example/v1/chat/completions", "https://x.example/v1", "x.example"),
        ("https://x.example/v1/chat/completions//", "https://x.example/v1", "x.example"),
        ("https://x.example/v1/Completions/", "https://x.example/v1", "x.example"),
        ("https://x.example/v1/responses", "https://x.example/v1", "x.example"),
        ("https://x.example/v1/embeddings?api-version=1", "https://x.example/v1", "x.example"),
        (
            "https://x.example/openai/deployments/d/chat/completions?api-version=1",
            "https://x.example/openai/deployments/d",
            "x.example",
        ),
        ("https://x.example/my-completions", "https://x.example/my-completions", "x.example"),
        ("https://completions.example/chat", "https://completions.example/chat", "completions.example"),
    ],
)
def test_an_address_is_taken_apart(address: str, base: str, host: str) -> None:
    parsed = parsed_address(address)
    assert (parsed.base, parsed.host, host_of(ServiceSettings(base_url=address))) == (base, host, host)


SHOWN = [
    "127.0.0.1:8000/v1",
    "file:///etc/passwd",
    "http://example.org:99999/v1",
    "http://exa mple.org/v1",
    SECRETS[0],
    SECRETS[4],
]


@pytest.mark.parametrize("address", SHOWN)
@pytest.mark.parametrize(
    "options", [("--base-url",), ("--base-url", "http://127.0.0.1:9/v1", "--base-url"), ("--encoder-url",)]
)
@pytest.mark.parametrize("model", ["openai:m", "medfact-tiny"])
def test_a_run_with_a_wrong_address_is_not_recorded(
    address: str, options: tuple[str, ...], model: str, url: str, medfact: Callable[..., Any]
) -> None:
    more = ("--retrieval", "dense", "--encoder", "openai:e") if options == ("--encoder-url",) else ()
    outcome = medfact("run", "--db", url, "--limit", 1, "--model", model, *options, address, *more)
    assert outcome.code == 2, outcome.err
    assert outcome.err.count("\n") == 1
    assert outcome.err.startswith(("medfact: The base URL", "medfact: The address of the encoder"))
    assert "secret" not in outcome.err
    assert Store(url).runs() == []
    assert medfact("runs", "--db", url).code == 0


def test_nothing_else_that_asks_models_records_a_wrong_address(url: str, medfact: Callable[..., Any], facts_file: Path) -> None:
    wrong = "127.0.0.1:8000/v1"
    for command in (("write", "rephrase"), ("run", "--dry-run")):
        outcome = medfact(*command, "--db", url, "--limit", 1, "--model", "openai:m", "--base-url", wrong)
        assert (outcome.code, outcome.err.count("Traceback")) == (2, 0), outcome.err
    with pytest.raises(Mistake, match="not a web address"):
        package.evaluate("openai:m", limit=1, db=url, service={"base_url": wrong}, progress=False)
    with pytest.raises(Mistake, match="contains a user name"):
        package.evaluate("openai:m", limit=1, db=url, service={"base_url": SECRETS[0]}, progress=False)
    with pytest.raises(Mistake, match="not a web address"):
        start(RunSpec("openai:m", limit=1, service=ServiceSettings(base_url=wrong)), Store(url))
    assert Store(url).runs() == []


def test_a_resumed_run_keeps_its_state_where_a_wrong_address_is_typed(
    url: str, medfact: Callable[..., Any], facts_file: Path
) -> None:
    store = Store(url)
    run = start(
        RunSpec("openai:m", facts=str(facts_file), limit=1, service=ServiceSettings(base_url="http://127.0.0.1:9/v1")), store
    )
    before = store.run(run)
    outcome = medfact("resume", run, "--db", url, "--base-url", "127.0.0.1:8000/v1")
    assert (outcome.code, "not a web address" in outcome.err) == (2, True)
    assert store.run(run) == before


def test_the_environment_s_address_is_checked_too(
    url: str, medfact: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "127.0.0.1:8000/v1")
    assert medfact("run", "--db", url, "--limit", 1, "--model", "openai:m").code == 2
    assert Store(url).runs() == []
    assert medfact("run", "--db", url, "--limit", 1, "--model", "baseline:random").code == 0


@pytest.mark.parametrize(
    ("address", "clean"),
    [
        ("https://me:secret@example.org/v1", "https://example.org/v1"),
        ("https://example.org/v1?key=secret", "https://example.org/v1"),
        ("https://me@example.org/v1?api-version=2&api%5Fkey=secret&b=a%20b", "https://example.org/v1?api-version=2&b=a%20b"),
    ],
)
def test_no_record_holds_a_secret(address: str, clean: str) -> None:
    service = ServiceSettings(base_url=address)
    record = RunSpec("openai:m", service=service, encoder_url=address).to_record()
    assert "secret" not in json.dumps(record)
    spec = RunSpec.from_record(record)
    assert (spec.service.base_url, spec.encoder_url) == (clean, clean)
    assert without_secrets(None) is None


def test_a_query_of_the_address_goes_with_every_call(load_service_model: ModelLoader) -> None:
    with ScriptedService(Reply(chat_reply("True"))) as service:
        for query in ("?api-version=2024-06-01", "/?api-version=2024-06-01&deployment=a%20b"):
            list(load_service_model(service.base_url + query).complete(make_prompts(1)))
        paths = [request.path for request in service.requests]
    assert paths == [
        "/v1/chat/completions?api-version=2024-06-01",
        "/v1/chat/completions?api-version=2024-06-01&deployment=a%20b",
    ]


# ------------------------------------------------------------------------------------------------ budgets

UNCOUNTED: dict[str, Any] = {
    "none": None,
    "empty": {},
    "null": {"prompt_tokens": None, "completion_tokens": None},
    "zero": {"prompt_tokens": 0, "completion_tokens": 0},
    "texts": {"prompt_tokens": "30", "completion_tokens": "2"},
    "fractions": {"prompt_tokens": 30.0, "completion_tokens": 2.0},
    "words": {"prompt_tokens": "many", "completion_tokens": []},
}


def priced(service: ScriptedService, facts: Path, **more: Any) -> RunSpec:
    own = ServiceSettings(base_url=service.base_url, key=KEY, in_flight=4, timeout=10)
    return RunSpec("openai:gpt-4o", facts=str(facts), shots=0, service=own, **more)


@pytest.mark.parametrize("usage", UNCOUNTED.values(), ids=UNCOUNTED)
def test_a_budget_holds_however_a_service_counts(usage: Any, facts_file: Path, store: Store) -> None:
    """432 prompts of about 30 tokens at $2.50 a million: the budget is spent after about ten of them."""
    with ScriptedService(Reply(chat_reply("True", usage=usage))) as service:
        run = start(priced(service, facts_file, budget=0.001), store)
        last = finished_event(answer(run, store, key=KEY))
        asked = len(service.requests)
    assert (last.state, last.reason) == (STOPPED, "The budget of $0.001 is spent. Resume with a larger one to go on.")
    assert asked < 40
    spent = store.answers.tokens_used(run)
    assert 0.001 <= (2.5 * spent[0] + 10 * spent[1]) / 1e6 < 0.002
    again = [*answer(run, store, key=KEY)][-1]  # what was estimated counts after a restart, too
    assert isinstance(again, Finished)
    assert again.state == STOPPED


def test_the_bill_says_what_is_estimated(url: str, facts_file: Path, medfact: Callable[..., Any]) -> None:
    with ScriptedService(Reply(chat_reply("True", usage=None))) as service:
        common = ("--facts", facts_file, "--shots", 0, "--limit", 1, "--db", url, "--base-url", service.base_url)
        outcome = medfact("run", *common, "--model", "openai:gpt-4o")
        assert "note: The service does not count the tokens of all its replies" in outcome.err
    report = medfact("report", outcome.rows[0]["run"], "--db", url).out
    assert "(estimated: the service does not count them all)" in report
    assert "$0.00 " not in report
    assert outcome.rows[0]["usd"] > 0


def test_a_bill_without_tokens_has_no_price(facts_file: Path, store: Store) -> None:
    """The file of a run may leave them out."""
    with ScriptedService(Reply(chat_reply("True"))) as service:
        run = complete_run(priced(service, facts_file, limit=1), store, key=KEY)
    old = [replace(item.answer, prompt_tokens=None, completion_tokens=None) for item in store.answers.asked(run) if item.answer]
    assert all(isinstance(one, Answer) for one in old)
    other = start(priced(service, facts_file, limit=1), store)
    store.answers.save(other, old)
    bill = bill_of(store.run(other), store)
    assert bill is not None
    assert (bill["usd"], bill["uncounted"]) == (None, 16)
    assert "the service did not count the tokens of 16 replies, so its cost is not known" in describe_bill(bill)[0]


@pytest.mark.parametrize(
    ("usd", "words"),
    [
        (0, "$0.00"),
        (0.001, "$0.001"),
        (0.00123, "$0.0012"),
        (0.000004, "$0.000004"),
        (0.05, "$0.05"),
        (0.5, "$0.50"),
        (1234.5, "$1,234.50"),
    ],
)
def test_a_small_sum_is_not_called_nothing(usd: float, words: str) -> None:
    assert dollars(usd) == words


@pytest.mark.parametrize("budget", ["1", "nan", "inf", "-1", "0"])
def test_a_budget_that_cannot_be_kept_is_said_before_anything_is_recorded(
    budget: str, url: str, medfact: Callable[..., Any]
) -> None:
    outcome = medfact("run", "--db", url, "--limit", 1, "--model", "openai:unheard-of", "--budget", budget)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert Store(url).runs() == []
    with pytest.raises(MedfactError):
        package.evaluate("openai:unheard-of", limit=1, db=url, budget=float(budget) or -1.0, progress=False)
    assert Store(url).runs() == []


# ------------------------------------------------------------------------------------------------ the environment

OWN = {
    "OPENAI_ORG_ID": "org-mine",
    "OPENAI_PROJECT_ID": "proj-mine",
    "OPENAI_CUSTOM_HEADERS": "X-Team: mine\nAuthorization: Bearer x",
}


def test_organization_and_project_go_only_where_the_key_goes_unasked(
    load_service_model: ModelLoader, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in OWN.items():
        monkeypatch.setenv(name, value)
    with ScriptedService(Reply(chat_reply("True"))) as service:
        list(load_service_model(service.base_url).complete(make_prompts(1)))
        monkeypatch.setenv("OPENAI_BASE_URL", service.base_url)
        list(load_service_model("", base_url=None).complete(make_prompts(1)))
        monkeypatch.setenv("MEDFACT_PUBLIC", "1")
        elsewhere, own = (request.headers for request in service.requests)
    assert "mine" not in str(elsewhere)
    assert elsewhere["authorization"] == f"Bearer {KEY}"
    assert (own["openai-organization"], own["openai-project"], own["x-team"]) == ("org-mine", "proj-mine", "mine")


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("value", ["X: a\x00b", "X: ü", "X: a\rb", "X: \ud800"], ids=ascii)
def test_an_odd_value_of_the_environment_is_a_sentence_or_nothing(
    name: str, value: str, load_service_model: ModelLoader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", {**os.environ, name: value})
    with ScriptedService(Reply(chat_reply("True"))) as service:
        ((_, done),) = load_service_model(service.base_url).complete(make_prompts(1))
        assert done.text == "True"
        os.environ["OPENAI_BASE_URL"] = service.base_url
        with pytest.raises(ModelError, match=f"{name} contains characters that cannot be sent"):
            load_service_model("", base_url=None)


def test_an_encoder_s_service_gets_none_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in OWN.items():
        monkeypatch.setenv(name, value)
    vectors = {
        "data": [{"index": 0, "embedding": [1.0, 0.0], "object": "embedding"}],
        "model": "e",
        "usage": {},
        "object": "list",
    }
    with ScriptedService(Reply(vectors)) as service:
        load_encoder("openai:e", ServiceSettings(base_url=f"{service.base_url}?api-version=1")).queries(["x"])
        (request,) = service.requests
    assert "mine" not in str(request.headers)
    assert request.path == "/v1/embeddings?api-version=1"


# ------------------------------------------------------------------------------------------------ proxies

UNUSABLE = [
    "socks5://127.0.0.1:9",
    "socks5h://me:secret@127.0.0.1:9",
    "socks4://127.0.0.1:9",
    "socks://127.0.0.1:9",
    "nonsense://x",
    "http://[::1",
]


@pytest.fixture
def without_socksio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "socksio", None)
    monkeypatch.setattr("medfact.proxies.importlib.util.find_spec", lambda name: None)


@pytest.mark.usefixtures("without_socksio")
@pytest.mark.parametrize("proxy", UNUSABLE)
@pytest.mark.parametrize("name", ["ALL_PROXY", "https_proxy"])
def test_a_proxy_that_cannot_be_used_is_named_where_it_is_needed(
    proxy: str, name: str, load_service_model: ModelLoader, monkeypatch: pytest.MonkeyPatch
) -> None:
    for other in ("ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv(name, proxy)
    with pytest.raises(Mistake, match=f"The environment variable {name} names") as raised:
        load_service_model("https://models.invalid/v1")
    assert "secret" not in str(raised.value)
    with ScriptedService(Reply(chat_reply("True"))) as service:  # this machine is reached without it
        ((_, done),) = load_service_model(service.base_url).complete(make_prompts(1))
    assert done.text == "True"


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:9", "nonsense://x"])
def test_the_page_starts_whatever_proxy_the_environment_names(proxy: str, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "ALL_PROXY": proxy, "MEDFACT_HOME": str(tmp_path), "GRADIO_SERVER_PORT": str(port)}
    log = tmp_path / "log.txt"
    with log.open("wb") as output:
        page = subprocess.Popen([sys.executable, "app.py"], cwd=ROOT, env=environment, stdout=output, stderr=output)
    try:
        with httpx2.Client(trust_env=False, base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            answers = [_until_there(client, page, method) for method in ("HEAD", "GET")]
            assert client.get("/").status_code == 200
    finally:
        page.terminate()
        page.wait(30)
    assert [(reply.status_code, reply.text) for reply in answers] == [(200, ""), (200, "ok")]
    said_of_it = log.read_text(encoding="utf-8")
    assert "Traceback" not in said_of_it
    assert "ALL_PROXY" in said_of_it


def _until_there(client: httpx2.Client, page: subprocess.Popen[bytes], method: str) -> httpx2.Response:
    end = time.monotonic() + HANG_SECONDS
    while time.monotonic() < end:
        assert page.poll() is None
        try:
            return client.request(method, "/healthz")
        except httpx2.ConnectError:
            time.sleep(0.2)
    raise AssertionError("the page did not start")


def test_a_complete_run_needs_no_proxy(
    facts_file: Path, url: str, medfact: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    outcome = medfact("run", "--facts", facts_file, "--shots", 0, "--limit", 1, "--db", url, "--model", "hf:nobody/nothing")
    assert (outcome.code, outcome.err.count("Traceback")) == (2, 0)
    outcome = medfact("run", "--facts", facts_file, "--shots", 0, "--limit", 1, "--db", url, "--model", "medfact-tiny")
    assert outcome.rows[0]["state"] == COMPLETE


# ------------------------------------------------------------------------------------------------ the page


@pytest.mark.parametrize("address", SHOWN)
def test_the_page_records_no_wrong_address(address: str, services: Services) -> None:
    before = len(services.store.runs())
    with pytest.raises(Mistake, match="The base URL"):
        begin(services, OWNER, Setup(rows=[ModelRow(model="m", address=address)], pairs=1), lambda _: KEY)
    writer = Setup(rows=[ModelRow(model="m", address=address)])
    show = WriteShow(data="clinical-core", setup=writer, pairs=1)
    visitor = Visitor(services, OWNER, (OWNER,), services.store.runs("demonstration")[0].run)
    with pytest.raises(Mistake, match="The base URL"):
        start_writing(visitor, show, Action("start", fields={"key": KEY}))
    assert len(services.store.runs()) == before
