"""A provider of models is declared once: one that the tests declare is asked through every door, without another file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from mock_service import MockService
from recorded import complete_run
from small_facts import make_fact_rows, write_csv

import medfact as notebook
from medfact.cli import main
from medfact.errors import Mistake, NotInstalled, UnknownName
from medfact.exchange.rows import addressed
from medfact.models import (
    SERVICE,
    Completion,
    LoadOptions,
    ModelInfo,
    Prompt,
    Provider,
    ServiceSettings,
    check_spec,
    is_local,
    known_models,
    load_model,
    provider_of,
    register,
    service_of,
    unregister,
)
from medfact.models.services.prices import Price
from medfact.results.compare import Comparisons
from medfact.results.live import Reports
from medfact.results.wording import model_name
from medfact.runs.checks import check_settings
from medfact.runs.costs import bill_of, costs, describe_bill
from medfact.runs.jobs import Jobs
from medfact.runs.jobs.queues import kind_of
from medfact.runs.retrieve import encoder_settings
from medfact.runs.run import answer, check_address
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import COMPLETE, Store
from medfact.web.evaluate.begin import begin
from medfact.web.evaluate.form import ModelRow, Setup
from medfact.web.evaluate.models_step import host_at, model_choices
from medfact.web.services import Services
from medfact.writing.runs import ask_or_write

ADDRESS = "https://models.example/v1"


@dataclass
class Echo:
    """A model that says True where the statement is long."""

    spec: str
    info: ModelInfo
    chat: bool = False
    takes_all: bool = True

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        for place, prompt in enumerate(prompts):
            yield place, Completion(str(len(prompt.statement) > 40))


class Echoes:
    """A provider of models at an address of its own, which notes how each was loaded."""

    def __init__(self) -> None:
        self.loaded: list[tuple[str, LoadOptions]] = []
        self.provider = Provider(
            prefixes=("echo:",),
            load=self.load,
            patterns=("echo:<model>",),
            help=("echo:MODEL",),
            titles={"echo:loud": "a loud echo"},
            lane=SERVICE,
            service=lambda settings: replace(settings, base_url=settings.base_url or ADDRESS),
            price=lambda spec: Price(spec, 10.0, 20.0, "Echo", "its page", "2026-01-01") if spec == "echo:loud" else None,
            begins="listening",
        )

    def load(self, spec: str, options: LoadOptions) -> Echo:
        self.loaded.append((spec, options))
        return Echo(spec, {"revision": "1", "decoding": {"source": "echo"}})


@contextmanager
def registered(provider: Provider) -> Iterator[None]:
    register(provider)
    try:
        yield
    finally:
        unregister(provider)


@pytest.fixture
def echoes() -> Iterator[Echoes]:
    found = Echoes()
    with registered(found.provider):
        yield found


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "facts.csv", make_fact_rows())


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("MEDFACT_HOME", str(tmp_path / "home"))
    return f"sqlite:///{tmp_path / 'runs.db'}"


@pytest.fixture
def medfact(url: str, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def call(*arguments: str) -> tuple[int, str, str]:
        code = main([*arguments, "--db", url])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def test_the_command_line_asks_it_and_resumes_it(
    echoes: Echoes, url: str, medfact: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another")
    code, out, _ = medfact("run", "--model", "echo:loud", "--limit", "4", "--shots", "0")
    row = json.loads(out)
    assert (code, row["model"], row["state"], row["answered"], row["failed"]) == (0, "echo:loud", COMPLETE, 64, 0)
    ((spec, options),) = echoes.loaded
    assert (spec, options.service.base_url) == ("echo:loud", ADDRESS)
    assert options.service.key is None, "the key of another service"

    store = Store(url)
    stopped = complete_run(RunSpec(model="echo:loud", limit=4, shots=0), store, stopped=lambda: True)
    code, out, _ = medfact("resume", stopped)
    assert (code, json.loads(out)["answered"]) == (0, 64)
    code, out, _ = medfact("report", row["run"], "--json")
    assert json.loads(out)["average_accuracy"]["n"] == 64


def test_own_facts_go_to_it_only_with_consent(
    echoes: Echoes, url: str, facts: Path, medfact: Callable[..., tuple[int, str, str]]
) -> None:
    code, _, err = medfact("run", "--model", "echo:loud", "--facts", str(facts), "--limit", "4", "--shots", "0")
    assert code == 2
    assert "Your facts go to models.example." in err
    assert not echoes.loaded
    with pytest.raises(Mistake, match=r"Your facts go to models\.example\."):
        notebook.evaluate("echo:loud", facts, db=url, limit=4, shots=0, progress=False)
    assert not echoes.loaded
    code, out, _ = medfact("run", "--model", "echo:loud", "--facts", str(facts), "--limit", "4", "--shots", "0", "--yes")
    assert (code, json.loads(out)["state"]) == (0, COMPLETE)


def test_a_notebook_asks_it_and_resumes_it(echoes: Echoes, url: str, facts: Path) -> None:
    run = notebook.evaluate("echo:quiet", facts, db=url, limit=4, shots=0, progress=False, send_facts=True)
    assert run.record.state == COMPLETE
    assert len(run.answers()) == 64
    before = len(echoes.loaded)
    assert run.resume(progress=False).record.state == COMPLETE
    assert len(echoes.loaded) == before, "nothing was left to ask"


@pytest.fixture
def services(url: str) -> Iterator[Services]:
    store = Store(url)
    jobs = Jobs(store, ask_or_write)
    reports = Reports(store, jobs)
    yield Services(store, jobs, reports, Comparisons(store, reports))
    jobs.close()


def test_the_page_names_its_host_wants_consent_and_gives_it_a_lane(echoes: Echoes, services: Services, facts: Path) -> None:
    with facts.open("rb") as file:
        own = services.uploads.put("ada", "facts.csv", file)
    machine = ModelRow(where="machine", model="echo:loud")
    setup = Setup(models=[], rows=[machine], source={"facts": str(own), "columns": []}, pairs=4, shots=0)
    assert setup.names == ["echo:loud"], "a spec is taken as it is, not as a repository"
    assert host_at("", setup) == "models.example"
    with pytest.raises(Mistake, match=r"Your own facts would go to models\.example"):
        begin(services, "ada", setup, None)
    assert services.store.runs("ada") == []
    assert kind_of("echo:loud") == SERVICE
    assert kind_of("echo:loud", "medfact-tiny") == "local", "who has the least room decides"
    assert (provider_of("echo:loud").begins, model_name("echo:loud"), model_name("echo:quiet")) == (
        "listening",
        "a loud echo",
        "quiet",
    )
    assert (
        host_at("", Setup(models=["medfact-tiny"], rows=[machine, ModelRow(model="m")])) == "models.example and api.openai.com"
    )
    assert host_at("", Setup()) == ""


def test_what_it_costs_is_its_own(echoes: Echoes) -> None:
    said = costs(RunSpec(model="echo:loud", limit=4, shots=0))
    assert said["usd"] == pytest.approx((said["prompt_tokens"] * 10 + said["completion_tokens"] * 20) / 1e6, rel=0.1)
    assert "the price of echo:quiet is not known" in costs(RunSpec(model="echo:quiet", limit=4, shots=0))["said"]
    check_settings(RunSpec(model="echo:loud", budget=1.0))
    with pytest.raises(Mistake, match="so a budget cannot be kept"):
        check_settings(RunSpec(model="echo:quiet", budget=1.0))


def test_one_that_costs_nothing_says_so(url: str, medfact: Callable[..., tuple[int, str, str]]) -> None:
    free = replace(Echoes().provider, price=None)
    with registered(free):
        said = costs(RunSpec(model="echo:m", limit=4, shots=0))
        assert (said["usd"], said["said"]) == (None, "64 statements at models.example: free.")
        _, out, _ = medfact("run", "--model", "echo:m", "--limit", "4", "--shots", "0")
        bill = bill_of(Store(url).run(json.loads(out)["run"]), Store(url))
        assert bill is not None
        assert (bill["host"], bill["usd"]) == ("models.example", 0.0)
        assert "free" in describe_bill(bill)[0]


def test_its_key_goes_to_no_encoder_elsewhere(echoes: Echoes) -> None:
    def settings(model: str, base_url: str | None = None) -> ServiceSettings:
        service = ServiceSettings(key="k", base_url=base_url)
        spec = RunSpec(model=model, retrieval="dense", encoder="openai:e", service=service)
        return encoder_settings(spec)

    assert settings("echo:m").key is None
    assert settings("echo:m", base_url="http://127.0.0.1:1/v1").key == "k", "both are asked there"
    assert settings("openai:m").key == settings("medfact-tiny").key == "k"


def test_a_file_that_names_it_is_not_trusted_and_keeps_its_address(echoes: Echoes, url: str) -> None:
    spec = RunSpec(model="echo:loud", limit=4, shots=0)
    assert addressed(spec).service.base_url == ADDRESS
    record = Store(url).run(start(spec, Store(url)))
    check_address(record)
    with pytest.raises(Mistake, match=r"names the service at models\.example"):
        check_address(replace(record, spec=replace(spec, imported=("service",))))


def test_nobody_knows_it_before_it_is_registered_or_afterwards(url: str) -> None:
    with pytest.raises(UnknownName, match="There is no model 'echo:loud'"):
        check_spec("echo:loud")
    found = Echoes()
    with registered(found.provider):
        check_spec("echo:loud")
        with pytest.raises(UnknownName, match=r"There is: .*echo:<model>"):
            check_spec("echo: ")
        run = start(RunSpec(model="echo:loud", limit=4, shots=0), Store(url))
    assert service_of("echo:loud", ServiceSettings()) is None
    assert (kind_of("echo:loud"), is_local("echo:loud"), model_name("echo:loud")) == ("baseline", False, "echo:loud")
    (event,) = [event for event in answer(run, Store(url)) if hasattr(event, "error")]
    assert isinstance(event.error, UnknownName)


def test_what_it_needs_is_named_where_it_is_not_installed() -> None:
    needy = Provider(prefixes=("needy:",), load=lambda spec, _: pytest.fail("loaded"), needs=("no_such_module",))
    with registered(needy), pytest.raises(NotInstalled, match="pip install no_such_module"):
        load_model("needy:m")


def test_a_rule_is_no_model_that_writes_and_a_later_provider_takes_its_own_specs(echoes: Echoes) -> None:
    assert provider_of("baseline:tail").reads_aside
    assert not provider_of("baseline:random").reads_aside
    assert provider_of("baseline:embedding:some/encoder").names_source("baseline:embedding:some/encoder")
    assert all(provider_of(name).is_rule for name in ("baseline:random", "baseline:tail", "baseline:embedding"))
    assert not any(provider_of(name).is_rule for name in ("medfact-tiny", "hf:some/model", "openai:m", "echo:loud"))


def test_the_page_offers_what_comes_with_it_but_for_what_shows_nothing_new() -> None:
    offered = ["medfact-tiny", "medfact-tiny-narrow", "baseline:random", "baseline:always-true", "baseline:negation-cue"]
    assert model_choices() == offered
    assert known_models() == [*offered[:4], "baseline:always-false", offered[4], "baseline:tail"]


def test_a_service_of_ones_own_is_one_more_provider() -> None:
    """One that speaks OpenAI's protocol takes its client, and has an address of its own."""
    from medfact.models.services.provider import OPENAI

    with MockService() as service:
        mine = replace(
            OPENAI,
            prefixes=("mine:",),
            service=lambda settings: replace(settings, base_url=settings.base_url or service.base_url),
        )
        with registered(mine):
            model: Any = load_model("mine:m")
            prompt = Prompt("Is it so?", (("True",), ("False",)))
            ((_, completion),) = list(model.complete([prompt]))
            model.close()
    assert completion.failure is None
    assert completion.served is not None
