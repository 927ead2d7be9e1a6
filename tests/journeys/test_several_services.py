"""Several services in one command: each has its own key, price and bill, and no key is on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mock_service import Behaviour, MockService

from medfact.models import register, unregister
from medfact.models.services import named, policy
from medfact.models.services.named import NamedService, named_services
from medfact.models.services.provider import provider_of_service
from medfact.runs.costs import bill_of
from medfact.store import COMPLETE, Store

ONE, OTHER, OPENAI = "sk-of-one-0123456789", "sk-of-other-0123456789", "sk-of-openai-0123456789"
ASKED = ("--limit", 2, "--shots", 0)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEDFACT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OPENAI_API_KEY", OPENAI)
    for variable in ("OPENAI_BASE_URL", "MEDFACT_DATABASE_URL", "MEDFACT_PUBLIC"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path / "home"


@pytest.fixture
def pair() -> Iterator[tuple[MockService, MockService]]:
    with MockService(Behaviour(key=ONE)) as one, MockService(Behaviour(key=OTHER)) as other:
        yield one, other


@pytest.fixture
def called(pair: tuple[MockService, MockService], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """These two are known by name, as `one:` and `other:`, beside the services of the file."""
    like = named_services()[0]
    services: list[NamedService] = [
        replace(like, prefix=f"{name}:", title=name, address=service.base_url, key=f"{name.upper()}_KEY")
        for name, service in zip(("one", "other"), pair, strict=True)
    ]
    known = (*named_services(), *services)
    for module in (named, policy):
        monkeypatch.setattr(module, "named_services", lambda: known)
    providers = [provider_of_service(service) for service in services]
    for provider in providers:
        register(provider)
    monkeypatch.setenv("ONE_KEY", ONE)
    monkeypatch.setenv("OTHER_KEY", OTHER)
    yield
    for provider in providers:
        unregister(provider)


def keys_sent(service: MockService) -> set[str]:
    return {call.headers["authorization"] for call in service.calls}


def nowhere_in(home: Path, *keys: str) -> None:
    files = [file for file in home.rglob("*") if file.is_file()]
    assert files
    assert not [(file, key) for file in files for key in keys if key.encode() in file.read_bytes()]


def test_a_local_model_and_two_services_in_one_command(
    pair: tuple[MockService, MockService], called: None, home: Path, tmp_path: Path, medfact: Callable[..., Any]
) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("[{service: 'one:', provider: O, source: s, as_of: 2026-01-02, models: {m: [1, 2]}}]")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("MEDFACT_PRICES", str(prices))
        ran = medfact("run", "--model", "medfact-tiny", "--model", "one:m", "--model", "other:m", *ASKED)
        assert ran.code == 0, ran.err
        assert [keys_sent(service) for service in pair] == [{f"Bearer {ONE}"}, {f"Bearer {OTHER}"}]
        store = Store(f"sqlite:///{home / 'medfact.db'}")
        records = [store.run(row["run"]) for row in ran.rows]
        assert [record.model for record in records] == ["medfact-tiny", "one:m", "other:m"]
        assert {record.state for record in records} == {COMPLETE}
        local, first, second = (bill_of(record, store) for record in records)
        assert local is None
        assert first is not None
        assert second is not None
        spent = (first["prompt_tokens"] + 2 * first["completion_tokens"]) / 1e6
        assert first["usd"] == pytest.approx(spent)
        assert first["usd"] > 0
        assert second["usd"] is None, "a price of one service is none of another"
    compared = medfact("compare", *(row["run"] for row in ran.rows), "--json")
    assert compared.code == 0, compared.err
    nowhere_in(home, ONE, OTHER, OPENAI)


def test_services_at_typed_addresses_have_their_own_keys(
    pair: tuple[MockService, MockService], home: Path, monkeypatch: pytest.MonkeyPatch, medfact: Callable[..., Any]
) -> None:
    """Also in a race, and where a run is resumed; the key of OpenAI goes to neither."""
    one, other = pair
    monkeypatch.setenv("MEDFACT_KEYS", f"{one.base_url} {ONE} {other.base_url} {OTHER}")
    models = ("--model", f"m@{one.base_url}", "--model", f"m@{other.base_url}")
    ran = medfact("run", *models, "--race", *ASKED)
    assert ran.code == 0, ran.err
    again = medfact("run", "--again", ran.rows[0]["run"], *models)
    assert again.code == 0, again.err
    assert [keys_sent(service) for service in pair] == [{f"Bearer {ONE}"}, {f"Bearer {OTHER}"}]
    store = Store(f"sqlite:///{home / 'medfact.db'}")
    assert [store.run(row["run"]).spec.service.base_url for row in again.rows] == [one.base_url, other.base_url]
    nowhere_in(home, ONE, OTHER, OPENAI)


def test_a_run_goes_on_at_its_service_with_its_key(
    pair: tuple[MockService, MockService], called: None, home: Path, medfact: Callable[..., Any]
) -> None:
    one, other = pair
    one.behaviour.prompt_faults = {"500": 1.0}
    ran = medfact("run", "--model", "one:m", *ASKED, "--tries", 1, "--in-flight", 1)
    one.behaviour.prompt_faults = {}
    store = Store(f"sqlite:///{home / 'medfact.db'}")
    (run,) = store.runs()
    assert run.state != COMPLETE
    refused = medfact("resume", run.run, "--base-url", other.base_url)
    assert (refused.code, other.calls) == (2, [])
    assert "with an address of its own" in refused.err
    resumed = medfact("resume", run.run)
    assert resumed.code == 0, ran.err + resumed.err
    assert store.run(run.run).state == COMPLETE
    assert (keys_sent(one), other.calls) == ({f"Bearer {ONE}"}, [])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--model", "groq:m", "--base-url", "http://127.0.0.1:1/v1"), "Write m@ADDRESS for another one"),
        (("--model", "azure:m"), "lacks AZURE_OPENAI_ENDPOINT. Set AZURE_OPENAI_ENDPOINT"),
        (("--model", "m@http://user:secret@127.0.0.1/v1"), "user name or password"),
        (("--model", "m@http://"), "not a web address"),
    ],
)
def test_a_mistake_ends_with_one_line(
    arguments: tuple[str, ...], words: str, home: Path, monkeypatch: pytest.MonkeyPatch, medfact: Callable[..., Any]
) -> None:
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT", raising=False)
    ran = medfact("run", *arguments, *ASKED)
    assert (ran.code, words in ran.err, len(ran.err.strip().splitlines())) == (2, True, 1), ran.err
