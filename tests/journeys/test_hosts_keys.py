"""On a server of a group the keys, services and folders of its machine are the host's; others get what the host lends them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import module_folder_fixture, serve_app
from mock_service import Behaviour, MockService
from programs import ApiClient
from small_models import write_small_llama
from strangers import open_store, wait_for_run_end
from visitors import Visitor

from medfact.runs.costs import purse_of
from medfact.store import COMPLETE, STOPPED

KEY, LISTED = "sk-of-the-host-0123456789", "sk-listed-0123456789"
INSIDE = "internal-admin-page secret=INNER-SECRET"


@pytest.fixture(scope="module")
def openai() -> Iterator[MockService]:
    """What OPENAI_BASE_URL names."""
    with MockService(Behaviour(key=KEY)) as service:
        yield service


@pytest.fixture(scope="module")
def listed() -> Iterator[MockService]:
    """What MEDFACT_KEYS names."""
    with MockService(Behaviour(key=LISTED)) as service:
        yield service


@pytest.fixture(scope="module")
def environment(openai: MockService, listed: MockService) -> dict[str, str]:
    keys = f"{listed.base_url} {LISTED}"
    return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": openai.base_url, "MEDFACT_KEYS": keys, "MEDFACT_ENCODER_KEY": KEY}


home = module_folder_fixture()


@pytest.fixture(scope="module")
def group(home: Path, environment: dict[str, str]) -> Iterator[str]:
    """A server that other machines of the network reach, too."""
    with serve_app(home, GRADIO_SERVER_NAME="0.0.0.0", **environment) as url:
        yield url
    assert "Traceback" not in (home / "log.txt").read_text()


def rows(model: str, address: str = "") -> dict[str, Any]:
    return {"rows": [{"id": "a", "model": model, "address": address}], "models": [], "pairs": 1, "shots": 0}


def pressed(visitor: Visitor, setup: dict[str, Any], key: str = "") -> str:
    """What all buttons of a row say, and Evaluate and Write."""
    if key:
        visitor.press_button("keep_key", "a", setup=setup, fields={"key": key})
    told = [visitor.press_button(button, "a", setup=setup)["fragments"]["models-said"] for button in ("test_row", "list_names")]
    answer = visitor.press_button("evaluate", setup=setup)
    assert not answer["show"].get("run"), answer
    told.append(answer["fragments"]["go-said"])
    writing = {"page_name": "write", "data": "clinical-core", "kind": "llmeval", "pairs": 1, "fields": {"key": key}}
    answer = visitor.press_button("start", **writing, setup=setup)
    assert not answer["show"].get("writing"), answer
    return " ".join([*told, answer["fragments"]["form-said"]])


def called(program: ApiClient, **said: Any) -> str:
    with pytest.raises(ValueError, match=r"\.") as refused:
        program.call("evaluate", limit=1, **said)
    return str(refused.value)


def test_nobody_but_the_host_spends_the_hosts_keys(group: str, home: Path, openai: MockService, listed: MockService) -> None:
    at_default, at_listed = rows("m"), rows("openai:m", listed.base_url)
    with Visitor(group, as_host=False) as visitor, ApiClient(group, as_host=False) as program:
        for setup in (at_default, at_listed):
            said = pressed(visitor, setup)
            assert "not a public address" in said
            assert "If this server is yours, open the address that it printed" in said
        said = called(program, model="openai:m") + called(program, model="openai:m", address=listed.base_url)
        assert said.count("not a public address") == 2
        own = {"cookie": f"medfact-visitor={visitor.cookie}"}
    assert "No key for api.groq.com. Type it." in called(ApiClient(group, as_host=False, **own), model="groq:m")
    assert openai.calls == []
    assert listed.calls == []
    with Visitor(group) as host, ApiClient(group) as program:
        for setup in (at_default, at_listed):
            (run,) = host.evaluate(**{**setup, "models": []})  # type: ignore[misc]
            assert wait_for_run_end(home, run).state == COMPLETE
        assert program.call("evaluate", model="openai:m", limit=1)["state"] == COMPLETE
    assert {call.headers["authorization"] for call in openai.calls} == {f"Bearer {KEY}"}
    assert {call.headers["authorization"] for call in listed.calls} == {f"Bearer {LISTED}"}


def test_what_listens_inside_the_network_is_not_reached_and_not_quoted(group: str) -> None:
    with MockService(Behaviour(constant_fault="redirect", reply_text=INSIDE)) as inside:
        with Visitor(group, as_host=False) as visitor, ApiClient(group, as_host=False) as program:
            for address in (inside.base_url, inside.base_url.replace("http", "https"), "http://169.254.169.254/v1"):
                said = pressed(visitor, rows("m", address), key="sk-typed-0123456789")
                said += called(program, model="openai:m", address=address, key="sk-typed-0123456789")
                assert "INNER-SECRET" not in said
                assert said.count("not a public address") >= 3
        assert inside.calls == []


def test_no_folder_of_the_server_is_opened_or_told_of(group: str, tmp_path: Path) -> None:
    """One with a model in it, one that is there, and one that is not: the answer is the same."""
    model = write_small_llama(tmp_path / "model")
    (tmp_path / "there").mkdir()
    with Visitor(group, as_host=False) as visitor, ApiClient(group, as_host=False) as program:
        told = {}
        for folder in (model, tmp_path / "there", tmp_path / "absent"):
            answer = visitor.press_button(
                "evaluate", setup={"rows": [{"id": "a", "where": "machine", "model": str(folder)}], "models": []}
            )
            page = answer["fragments"]["go-said"]
            encoder = {"models": ["baseline:random"], "retrieval": "dense", "encoder": str(folder), "pairs": 1}
            words = called(program, model=f"baseline:embedding:{folder}")
            dense = visitor.press_button("evaluate", setup=encoder)["fragments"]["go-said"]
            told[folder] = [
                one.replace(str(folder), "FOLDER") for one in (page, called(program, model=f"hf:{folder}"), words, dense)
            ]
        assert len({str(one) for one in told.values()}) == 1, told
        assert all("is not the name of a repository" in one for one in next(iter(told.values()))), told
    with Visitor(group) as host:
        (run,) = host.evaluate(f"hf:{model}", pairs=1)  # type: ignore[misc]
    with Visitor(group, as_host=False) as visitor:
        assert "is not the name of a repository" in visitor.press_button("again", run=run)["fragments"]["said"]
    shutil.rmtree(tmp_path / "there")


# ------------------------------------------------------------------------- lent keys

PRICED = "[{service: 'openai:', provider: O, source: s, as_of: 2026-01-02, models: {m: [1000, 1000]}}]"


def lending(home: Path, environment: dict[str, str], budget: str) -> Any:
    prices = home / "prices.yaml"
    prices.write_text(PRICED)
    return serve_app(home, MEDFACT_SHARE_KEYS="1", MEDFACT_SHARED_BUDGET=budget, MEDFACT_PRICES=str(prices), **environment)


def spent(home: Path, run: str) -> float:
    store = open_store(home)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("MEDFACT_PRICES", str(home / "prices.yaml"))
        return purse_of(store.run(run), store).spent


def test_a_lent_key_serves_each_visitor_within_a_budget(
    tmp_path: Path, environment: dict[str, str], openai: MockService
) -> None:
    """At a thousand dollars a million tokens, a call of some 50 tokens costs about five cents, and sixteen more than 0.3."""
    setup = {**rows("m"), "pairs": 3}  # more statements than are in flight at once
    with lending(tmp_path, environment, "0.3") as url:
        with Visitor(url, as_host=False) as ada:
            before = len(openai.calls)
            assert "lends its key" in ada.press_button("test_row", "a", setup=setup)["fragments"]["models-said"]
            assert len(openai.calls) == before, "a test would be paid by nobody's budget"
            (run,) = ada.evaluate(**setup)  # type: ignore[misc]
            assert wait_for_run_end(tmp_path, run).state == STOPPED
            assert 0.3 <= spent(tmp_path, run) < 2.5, "and what was in flight"
            assert {call.headers["authorization"] for call in openai.calls[before:]} == {f"Bearer {KEY}"}
            many = len(openai.calls)
            refused = pressed_all(ada, setup, run)
            assert refused.count("nothing of that is left") == 3, refused
            ada.press_button("delete", run, page_name="runs")
            assert "nothing of that is left" in str(ada.evaluate(**setup)), "what was deleted was paid all the same"
            assert len(openai.calls) == many
        with Visitor(url, as_host=False) as ben:
            (other,) = ben.evaluate(**setup)  # type: ignore[misc]
            assert wait_for_run_end(tmp_path, other).state == STOPPED
            said = str(ben.evaluate(**rows("of-no-price")))
            assert "The price of openai:of-no-price is not known, so this server lends no key for it." in said
        with Visitor(url) as host:
            (whole,) = host.evaluate(**setup)  # type: ignore[misc]
            assert wait_for_run_end(tmp_path, whole).state == COMPLETE
        with MockService() as inside, Visitor(url, as_host=False) as eve:
            assert "not a public address" in str(eve.evaluate(**rows("m", inside.base_url)))
            assert inside.calls == []


def pressed_all(visitor: Visitor, setup: dict[str, Any], run: str) -> str:
    """Evaluate, Write, and a program with the same cookie."""
    told = [str(visitor.evaluate(**setup))]
    writing = {"page_name": "write", "data": "clinical-core", "kind": "llmeval", "pairs": 1}
    told.append(visitor.press_button("start", **writing, setup={"rows": [{"model": "openai:m"}]})["fragments"]["form-said"])
    with ApiClient(str(visitor.http.base_url), as_host=False, cookie=f"medfact-visitor={visitor.cookie}") as program:
        told.append(called(program, model="openai:m"))
    visitor.press_button("resume", run=run)
    return " ".join(told)


def test_many_cookies_spend_ten_times_what_one_may(tmp_path: Path, environment: dict[str, str], openai: MockService) -> None:
    """With nothing to spend nobody is served; a dollar's worth of cookies ends, too."""
    with lending(tmp_path, environment, "0") as url, Visitor(url, as_host=False) as visitor:
        before = len(openai.calls)
        assert "nothing of that is left" in str(visitor.evaluate(**rows("m")))
        assert len(openai.calls) == before
    with lending(tmp_path, environment, "0.05") as url:
        runs: list[str] = []
        for _ in range(12):
            with Visitor(url, as_host=False) as visitor:
                begun = visitor.evaluate(**rows("m"))
            if isinstance(begun, str):
                break
            runs += begun
            wait_for_run_end(tmp_path, begun[0])
        assert 1 <= len(runs) <= 10
        assert "nothing of that is left" in str(begun)
