"""Each named service by every door: its own company is asked, with its own key, and nobody else hears of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import module_folder_fixture, serve_app
from companies import InterceptingProxy, ProxiedCall
from harnesses import AGENTS
from programs import ApiClient
from strangers import open_store, wait_for_run_end
from visitors import Visitor, visitor_fixture

from medfact.models.services.named import NamedService, named_services
from medfact.web.evaluate.form import ModelRow

PLACES = {"AWS_REGION": "eu-here-1", "AZURE_OPENAI_ENDPOINT": "https://somebody.openai.azure.com"}
KEYS = {service.key: f"sk-of-{service.prefix[:-1]}-0123456789" for service in named_services() if service.key}
AWAY = [service for service in named_services() if service.key]
HERE = [service for service in named_services() if not service.key]


@pytest.fixture(scope="module")
def companies() -> Iterator[InterceptingProxy]:
    with InterceptingProxy() as companies:
        yield companies


home = module_folder_fixture()


@pytest.fixture(scope="module")
def laptop(home: Path, companies: InterceptingProxy) -> Iterator[str]:
    """The host's own app, with a key of every company."""
    found = next(iter(AGENTS.glob("lib/python*/site-packages")), None)
    agents = {"PYTHONPATH": str(found)} if found else {}
    with serve_app(home, **companies.environment, **PLACES, **KEYS, **agents) as url:
        yield url
    assert "Traceback" not in (home / "log.txt").read_text()


visitor = visitor_fixture("laptop")


@pytest.fixture
def command(
    companies: InterceptingProxy, home: Path, medfact: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """The command line in the same environment."""
    monkeypatch.setenv("MEDFACT_HOME", str(home))
    for name, value in {**companies.environment, **PLACES, **KEYS}.items():
        monkeypatch.setenv(name, value)
    return lambda *arguments: medfact("run", "--limit", 1, "--shots", 0, *arguments)


def asked(companies: InterceptingProxy, since: int) -> set[ProxiedCall]:
    return set(companies.calls[since:])


def ended(home: Path, runs: str) -> None:
    for run in runs.split(","):
        wait_for_run_end(home, run)


def by_endpoint(laptop: str, model: str, **more: object) -> None:
    with ApiClient(laptop) as program:
        assert program.call("evaluate", model=model, limit=1, **more)["state"] == "complete"


def by_tool(laptop: str, model: str) -> None:
    """An agent's call by hand, where the server has tools."""
    call = {"name": "evaluate", "arguments": {"model": model, "limit": 1}}
    with ApiClient(laptop, accept="application/json, text/event-stream") as program:
        sent = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        answer = program.http.post("/gradio_api/mcp/", json=sent)
    if answer.status_code != 404:
        told = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
        assert told[-1]["result"]["structuredContent"]["result"]["state"] == "complete", answer.text


def by_page(visitor: Visitor, home: Path, **row: str) -> str:
    runs = visitor.evaluate(rows=[{"id": "a", **row}], pairs=1)
    assert isinstance(runs, list), runs
    ended(home, ",".join(runs))
    return ",".join(runs)


def set_up_again(visitor: Visitor, home: Path, runs: str) -> dict[str, Any]:
    """The run's models are set up anew, and evaluated."""
    shown = visitor.press_button("set_up", run=runs)
    answer = visitor.press_button("evaluate", setup={**shown["setup"], "pairs": 1, "shots": 0})
    assert answer["show"].get("run"), answer["fragments"].get("go-said")
    ended(home, answer["show"]["run"])
    (row,) = shown["setup"]["rows"]
    return dict(row)


def by_writing(visitor: Visitor, home: Path, model: str, address: str = "", key: str = "") -> None:
    row = ModelRow.typed(model, address)
    setup = {"rows": [row.model_dump()]}
    if key:
        visitor.press_button("keep_key", row.id, page_name="write", setup=setup, fields={"key": key})
    shown = visitor.press_button("start", page_name="write", data="clinical-core", setup=setup, pairs=1, kind="llmeval")
    assert shown["show"].get("writing"), shown["fragments"].get("form-said")
    wait_for_run_end(home, shown["show"]["writing"])


@pytest.mark.parametrize("service", AWAY, ids=lambda service: service.prefix[:-1])
def test_every_door_asks_the_same_company_with_the_same_key(
    service: NamedService, companies: InterceptingProxy, laptop: str, home: Path, visitor: Visitor, command: Callable[..., Any]
) -> None:
    host = service.filled_address.split("/")[2]
    spec, row = f"{service.prefix}m", {"service": service.prefix, "model": "m"}
    runs: list[str] = []
    doors: dict[str, Callable[[], object]] = {
        "the endpoint": lambda: by_endpoint(laptop, spec),
        "the endpoint, with a space": lambda: by_endpoint(laptop, f" {spec} "),
        "the tool": lambda: by_tool(laptop, spec),
        "the page": lambda: runs.append(by_page(visitor, home, **row)),
        "a spec in the place of a name": lambda: by_page(visitor, home, model=spec),
        "the set-up of a run": lambda: set_up_again(visitor, home, runs[0]),
        "Write": lambda: by_writing(visitor, home, spec),
        "the command line": lambda: command("--model", spec),
    }
    for door, ask in doors.items():
        since = len(companies.calls)
        ask()
        heard = asked(companies, since)
        assert heard == {ProxiedCall(host, f"Bearer {KEYS[service.key]}", "m")} or (door == "the tool" and not heard), door


@pytest.mark.parametrize("service", HERE, ids=lambda service: service.prefix[:-1])
def test_a_service_of_this_machine_is_no_company(
    service: NamedService, companies: InterceptingProxy, laptop: str, home: Path, visitor: Visitor
) -> None:
    """Whether it runs here or not: it is asked at its own address."""
    since, spec = len(companies.calls), f"{service.prefix}m"
    with ApiClient(laptop) as program:
        run = program.call("evaluate", model=spec, limit=1, seconds=0)["run"]
    assert open_store(home).run(run).spec.service.base_url == service.address
    shown = visitor.press_button("evaluate", setup={"rows": [{"id": "a", "model": spec}], "models": [], "pairs": 1})
    assert shown["show"].get("run") or "localhost" in shown["fragments"]["go-said"]
    assert asked(companies, since) == set()


TYPED = "sk-typed-0123456789"
OTHER = "https://gateway.example/v1"


@pytest.mark.parametrize(
    ("model", "address", "host", "name"),
    [
        ("openai:m", OTHER, "gateway.example", "m"),
        (f"m@{OTHER}", "", "gateway.example", "m"),
        ("openai:mistral:7b", OTHER, "gateway.example", "mistral:7b"),
        ("azure:m", OTHER, "gateway.example", "m"),
        ("groq:m", "https://api.groq.com/openai/v1/", "api.groq.com", "m"),
        ("hf:nobody/none@groq", "", "router.huggingface.co", "nobody/none:groq"),
        ("openai:ft:gpt:me::1", "", "api.openai.com", "ft:gpt:me::1"),
    ],
)
def test_a_typed_key_goes_where_the_spec_and_the_address_say(
    model: str, address: str, host: str, name: str, companies: InterceptingProxy, laptop: str, home: Path, visitor: Visitor
) -> None:
    since = len(companies.calls)
    by_endpoint(laptop, model, address=address, key=TYPED)
    by_writing(visitor, home, model, address, TYPED)
    assert asked(companies, since) == {ProxiedCall(host, f"Bearer {TYPED}", name)}


@pytest.mark.parametrize(
    ("model", "address", "says"),
    [
        ("Groq:m", "", "Groq:"),
        ("GROQ:m", "", "GROQ:"),
        ("groq :m", "", "groq :"),
        ("nobody:m", "", "nobody:"),
        ("foo:groq:m", "", "foo:"),
        ("groq:m", OTHER, "an address of its own"),
        ("mistral:7b", OTHER, "an address of its own"),
    ],
)
def test_what_names_no_service_is_refused_and_goes_to_nobody(
    model: str,
    address: str,
    says: str,
    companies: InterceptingProxy,
    laptop: str,
    visitor: Visitor,
    command: Callable[..., Any],
) -> None:
    since, told = len(companies.calls), list[str]()
    with ApiClient(laptop) as program, pytest.raises(ValueError, match=r"\.") as refused:
        program.call("evaluate", model=model, address=address, key=TYPED, limit=1)
    told.append(str(refused.value))
    if not address:  # a name at an address is what that service calls its model
        chosen = {"rows": [{"id": "a", "model": model}], "models": [], "pairs": 1}
        writing = {"page_name": "write", "data": "clinical-core", "kind": "llmeval", "setup": chosen, "fields": {"key": TYPED}}
        told.append(visitor.press_button("start", **writing)["fragments"]["form-said"])
        visitor.press_button("keep_key", "a", setup=chosen, fields={"key": TYPED})
        for button in ("test_row", "list_names", "evaluate"):
            shown = visitor.press_button(button, "a", setup=chosen)
            told.append(shown["fragments"]["go-said" if button == "evaluate" else "models-said"])
    assert len(told) == (1 if address else 5)
    assert [one for one in told if says not in one and model[:6] not in one] == []
    line = command("--model", model, *(["--base-url", address] if address else []))
    assert line.code == 2, line.out
    assert asked(companies, since) == set()
