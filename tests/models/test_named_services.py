"""Services that are known by name: each is asked at its own address, with its own key, which goes nowhere else."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from medfact.errors import ModelError
from medfact.models import ServiceSettings, check_spec, key_of_named, provider_of, service_of, spec_of_service, typed_model
from medfact.models.services.named import named_services
from medfact.models.services.policy import address_of, environment_key, host_of, key_of
from medfact.models.services.prices import age_of, price_of

KEYED = [service for service in named_services() if service.key and service.is_fixed]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every service has its key in the environment, which is its own name."""
    for name in ("OPENAI_BASE_URL", "MEDFACT_KEYS", "AWS_REGION", "AZURE_OPENAI_ENDPOINT", "MEDFACT_PUBLIC"):
        monkeypatch.delenv(name, raising=False)
    for service in named_services():
        if service.key:
            monkeypatch.setenv(service.key, f"sk-of-{service.title.replace(' ', '-')}")


def asked(spec: str, **settings: str) -> ServiceSettings:
    service = service_of(spec, ServiceSettings(**settings))  # type: ignore[arg-type]
    assert service is not None
    return service


@pytest.mark.parametrize("service", KEYED, ids=lambda service: service.title)
def test_a_key_goes_to_its_own_address_and_to_no_other(service: object, monkeypatch: pytest.MonkeyPatch) -> None:
    for other in KEYED:
        key = key_of(asked(f"{other.prefix}m"))
        assert (key == f"sk-of-{service.title.replace(' ', '-')}") == (other == service)  # type: ignore[attr-defined]
    monkeypatch.setenv("MEDFACT_PUBLIC", "1")
    assert environment_key(asked(f"{service.prefix}m")) == "", "a public server never gives its own key"  # type: ignore[attr-defined]


@pytest.mark.parametrize("service", KEYED, ids=lambda service: service.title)
def test_without_its_key_a_service_gets_none_of_another(service: object, monkeypatch: pytest.MonkeyPatch) -> None:
    spec, variable = f"{service.prefix}m", service.key  # type: ignore[attr-defined]
    monkeypatch.delenv(variable)
    with pytest.raises(ModelError, match=f"Set {variable}"):
        key_of(asked(spec))
    assert key_of_named(spec, asked(spec)) is None, "also where a person has named the address"


def test_a_key_goes_to_no_address_that_only_begins_or_ends_like_its_own() -> None:
    for address in ("https://api.groq.com.evil.example/openai/v1", "http://api.groq.com/openai/v1", "https://api.groq.com/v1"):
        assert environment_key(ServiceSettings(base_url=address)) == ""


def test_a_service_with_an_address_is_asked_there_whatever_a_record_says() -> None:
    assert host_of(asked("groq:m", base_url="https://evil.example/v1")) == "api.groq.com"
    assert host_of(asked("ollama:mistral:7b", base_url="https://evil.example/v1")) == "localhost"


def test_a_region_and_a_resource_come_from_the_environment_or_from_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match="Set AWS_REGION, or give the whole address"):
        address_of(asked("bedrock:m"))
    with pytest.raises(ModelError, match="lacks AZURE_OPENAI_ENDPOINT"):
        address_of(asked("azure:m"))
    typed = asked("azure:m", base_url="https://one.openai.azure.com/openai/v1")
    assert key_of_named("azure:m", typed) == "sk-of-Azure-OpenAI"
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    assert key_of(asked("bedrock:m")) == "sk-of-Amazon-Bedrock"
    assert host_of(asked("bedrock:m")) == "bedrock-runtime.eu-west-1.amazonaws.com"
    monkeypatch.setenv("MEDFACT_PUBLIC", "1")
    with pytest.raises(ModelError, match="lacks AWS_REGION"):
        address_of(asked("bedrock:m"))


def test_keys_of_other_addresses_are_listed_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDFACT_KEYS", "http://127.0.0.1:8001/v1/ one== http://127.0.0.1:8002/v1 two")
    found = [environment_key(ServiceSettings(base_url=f"http://127.0.0.1:800{port}/v1")) for port in (1, 2, 3)]
    assert found == ["one==", "two", ""]
    monkeypatch.setenv("MEDFACT_KEYS", "sk-secret-alone")
    with pytest.raises(ModelError, match="MEDFACT_KEYS cannot be read") as error:
        environment_key(ServiceSettings(base_url="http://127.0.0.1:8001/v1"))
    assert "sk-secret" not in str(error.value.public)


@pytest.mark.parametrize(
    ("typed", "spec", "address"),
    [
        ("mistral:7b@http://127.0.0.1:1/v1", "openai:mistral:7b", "http://127.0.0.1:1/v1"),
        ("openai:m@https://h.example/v1?a=b@c", "openai:m", "https://h.example/v1?a=b@c"),
        ("hf:meta-llama/Llama-3.1-8B-Instruct@groq", "huggingface:meta-llama/Llama-3.1-8B-Instruct:groq", None),
        ("hf:a/b", "hf:a/b", None),
        ("medfact-tiny", "medfact-tiny", None),
        ("m@host", "m@host", None),
    ],
)
def test_a_name_may_say_where_it_is_asked(typed: str, spec: str, address: str | None) -> None:
    assert typed_model(typed) == (spec, address)


def test_each_name_is_a_provider_whose_models_are_named_after_it() -> None:
    for service in named_services():
        check_spec(f"{service.prefix}m")
        assert provider_of(f"{service.prefix}m").name_of(f"{service.prefix}m") == "m"
        assert provider_of(f"{service.prefix}m").is_paid == (service.key is not None)
    assert spec_of_service("mistral:7b", "ollama:") == "ollama:mistral:7b", "Ollama's own name of a model"
    assert spec_of_service("mistral:7b") == "openai:mistral:7b"
    assert spec_of_service("groq:m", "groq:") == "groq:m"


def test_a_price_is_of_a_model_at_one_service_and_ones_own_goes_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    price = price_of("anthropic:claude-haiku-4-5-20251001")
    assert price is not None
    assert (price.input, price.output, price.provider) == (1.0, 5.0, "Anthropic")
    assert price_of("openai:claude-haiku-4-5") is None
    assert price_of("openrouter:gpt-4o") is None
    own = tmp_path / "own.yaml"
    own.write_text(
        "[{service: 'groq:', provider: G, source: s, as_of: 2026-01-02, models: {m: [1, 2]}},"
        " {provider: O, source: s, as_of: 2026-01-02, models: {gpt-4o: [7, 8]}}]"
    )
    monkeypatch.setenv("MEDFACT_PRICES", str(own))
    found = [price_of(spec) for spec in ("groq:m", "openai:gpt-4o", "openai:gpt-4o-mini")]
    assert [one.input for one in found if one] == [1.0, 7.0, 0.15]
    monkeypatch.setenv("MEDFACT_PRICES", str(tmp_path / "none.yaml"))
    with pytest.raises(ModelError, match=r"none\.yaml cannot be read"):
        price_of("groq:m")


def test_a_price_has_an_age() -> None:
    today = date(2026, 11, 27)
    assert [age_of(day, today) for day in ("2026-11-26", "2026-11-01", "2025-08-31", "2025", "")] == [
        "1 day old",
        "26 days old",
        "15 months old",
        "",
        "",
    ]


def test_the_table_in_the_documents_is_the_file() -> None:
    lines = (Path(__file__).parents[2] / "docs" / "services.md").read_text(encoding="utf-8").splitlines()
    rows = {
        line.split("|")[1].strip(): [cell.strip() for cell in line.split("|")[2:-1]] for line in lines if line.startswith("| `")
    }
    for service in named_services():
        logprobs = {None: "?", 0: "none"}.get(service.logprobs, str(service.logprobs))
        names = [service.key, service.seed, service.effort]
        key, seed, effort = (f"`{name}`" if name else none for name, none in zip(names, ("none", "?", "?"), strict=True))
        source = f"[{service.as_of}]({service.source})"
        assert rows[f"`{service.prefix}`"] == [service.title, f"`{service.address}`", key, logprobs, seed, effort, source]
