"""Whoever signs in calls models of the router with their own credits: the token goes there alone, and stays nowhere."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import module_folder_fixture, serve_app
from mock_service import Behaviour, MockService
from openid_provider import CLIENT, SECRET, TOKEN, BrowserSession, OpenIDProvider
from strangers import open_store, wait_for_run_end
from waiting import wait_until

from medfact.models import ServiceSettings
from medfact.results.compare import Comparisons
from medfact.results.live import Reports
from medfact.runs.jobs import Jobs
from medfact.spec import RunSpec
from medfact.store import Store
from medfact.web.hub_tokens import LONGEST_SECONDS, USUAL_SECONDS, Token, Tokens, token_in
from medfact.web.services import Services

SCOPES = "openid profile inference-api"
MODELS = ("meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen3-8B")
GRANTED = {"expires_in": 28_800, "scope": SCOPES, "token_type": "bearer"}


@pytest.fixture(scope="module")
def provider() -> Iterator[OpenIDProvider]:
    with OpenIDProvider() as server:
        server.token_fields = dict(GRANTED)
        yield server


@pytest.fixture(scope="module")
def router() -> Iterator[MockService]:
    """It takes the token, and nothing else."""
    with MockService(Behaviour(key=TOKEN, listed_models=MODELS, latency=0.02)) as service:
        yield service


home = module_folder_fixture()


@pytest.fixture(scope="module")
def page(home: Path, provider: OpenIDProvider, router: MockService) -> Iterator[str]:
    oauth = {"OAUTH_CLIENT_ID": CLIENT, "OAUTH_CLIENT_SECRET": SECRET, "OPENID_PROVIDER_URL": provider.url}
    with serve_app(home, MEDFACT_HF_ROUTER=router.base_url, OAUTH_SCOPES=SCOPES, **oauth) as url:
        yield url
    held = [path for path in home.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
    assert held == [], "the token is in no file, log or database"


def chosen(router: MockService, **row: Any) -> dict[str, Any]:
    """A set-up with one model of the router."""
    rows = [{"id": "router", "model": MODELS[0], "address": router.base_url, "is_open": False, **row}]
    return {"models": [], "rows": rows, "pairs": 10, "shots": 0}


def test_a_model_of_the_router_is_chosen_from_its_list_and_asked_without_a_key(
    page: str, provider: OpenIDProvider, router: MockService, home: Path
) -> None:
    person = BrowserSession(page)
    with person.open_visitor() as before:
        assert "add-router" not in before.fetch_page()["fragments"]["models"]
        assert "to call models with your own credits" in before.fetch_page()["fragments"]["notice"]
    person.sign_in(provider)
    with person.open_visitor() as visitor:
        shown = visitor.fetch_page()["fragments"]
        assert "called with your own credits" in shown["notice"]
        assert "add-router" in shown["models"]
        opened = visitor.press_button("add_router", setup={"models": [], "rows": []})
        assert MODELS[0] in opened["fragments"]["models"], "its names are suggested"
        (row,) = opened["setup"]["rows"]
        assert row["address"] == router.base_url
        answer = visitor.press_button("evaluate", setup={**chosen(router), "rows": [{**row, "model": MODELS[0]}]})
        assert "run" in answer["show"], answer["fragments"].get("go-said")
        run = answer["show"]["run"]
        assert wait_for_run_end(home, run).state == "complete"
        for page_of in ("evaluate", "runs"):
            assert TOKEN not in str(visitor.fetch_page(page_of, run=run))
    assert TOKEN not in str(person.cookies)
    assert {call.headers["authorization"] for call in router.calls} == {f"Bearer {TOKEN}"}


def test_the_token_goes_to_no_other_host_port_or_scheme(page: str, provider: OpenIDProvider, router: MockService) -> None:
    person = BrowserSession(page)
    person.sign_in(provider)
    with MockService(Behaviour(listed_models=MODELS)) as elsewhere, person.open_visitor() as visitor:
        port = router.base_url.rpartition(":")[2]
        for address in (elsewhere.base_url, f"http://localhost:{port}", f"https://127.0.0.1:{port}", f"http://[::1]:{port}"):
            setup = chosen(router, address=address, model="m")
            visitor.press_button("test_row", "router", setup=setup)
            visitor.press_button("list_names", "router", setup=setup)
        assert elsewhere.calls, "it was asked"
        assert all(TOKEN not in str(call) for call in elsewhere.calls)


def test_no_other_visitor_spends_them(page: str, provider: OpenIDProvider, router: MockService) -> None:
    BrowserSession(page).sign_in(provider)
    with BrowserSession(page).open_visitor() as stranger:
        assert "add-router" not in stranger.fetch_page()["fragments"]["models"]
        before = len(router.calls)
        said = stranger.press_button("test_row", "router", setup=chosen(router))["fragments"]["models-said"]
        assert "key" in said, said
        assert all(TOKEN not in str(call.headers) for call in router.calls[before:])
        assert not stranger.press_button("evaluate", setup=chosen(router))["show"].get("run"), "no run was begun"


def test_at_sign_out_it_is_forgotten_and_what_goes_on_with_it_stops(
    page: str, provider: OpenIDProvider, router: MockService, home: Path
) -> None:
    person = BrowserSession(page)
    provider.person = {"sub": secrets.token_hex(4), "preferred_username": "grace"}
    person.sign_in(provider)
    router.behaviour.latency = 0.5
    try:
        with person.open_visitor() as visitor:
            run = visitor.press_button("evaluate", setup={**chosen(router), "pairs": 200})["show"]["run"]
            wait_until(lambda: open_store(home).pulse(run) and open_store(home).run(run).state == "running")
            person.get("sign-out")
            assert wait_for_run_end(home, run).state == "stopped"
    finally:
        router.behaviour.latency = 0.02
    person.sign_in(provider)
    with person.open_visitor() as visitor:
        provider.token_fields = {"scope": "openid profile"}
        BrowserSession(page).sign_in(provider)  # the same person, now without leave to call models
        provider.token_fields = dict(GRANTED)
        assert "sign in again" in visitor.fetch_page()["fragments"]["notice"]
        said = visitor.press_button("test_row", "router", setup=chosen(router))["fragments"]["models-said"]
        assert "key" in said, "what was tested with the token is not known to pass without it"
    person.sign_in(provider)
    with person.open_visitor() as visitor:
        before = open_store(home).run(run).finished_at
        visitor.press_button("resume", run=run)
        wait_until(lambda: open_store(home).run(run).state == "running")
        visitor.press_button("stop", run=run)
        wait_for_run_end(home, run, before)


def test_nobody_brings_a_token_without_the_state_that_was_given(page: str, provider: OpenIDProvider) -> None:
    mine, victim = BrowserSession(page), BrowserSession(page)
    provider.person = {"sub": "mallory", "preferred_username": "mallory"}
    address = provider.authorize(mine.get("sign-in").headers["location"])
    assert victim.get(address).status_code == 400
    with victim.open_visitor() as visitor:
        assert "add-router" not in visitor.fetch_page()["fragments"]["models"]


# ------------------------------------------------------------------------------------------------ what is held


def test_a_token_is_held_no_longer_than_it_is_valid_and_for_a_session_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OAUTH_SCOPES", raising=False)
    told = {"access_token": "t", "scope": SCOPES}
    assert [token_in({**told, **more}) for more in ({}, {"expires_in": 60}, {"expires_in": 10**9}, {"expires_in": -1})] == [
        Token("t", USUAL_SECONDS), Token("t", 60.0), Token("t", LONGEST_SECONDS), Token("t", USUAL_SECONDS),
    ]  # fmt: skip
    held = Tokens()
    held.keep("ada", Token("t", 0.0))
    assert not held.has("ada")


@pytest.mark.parametrize("told", [{}, {"scope": "openid profile"}, {"scope": None}, {"access_token": 5, "scope": SCOPES}])
def test_a_token_that_calls_no_models_is_dropped(told: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OAUTH_SCOPES", raising=False)
    assert token_in({"access_token": "t", **told}) is None


def test_a_run_from_a_file_spends_nobodys_credits(tmp_path: Path) -> None:
    """Whoever resumes it has not chosen its service: its file has."""
    store = Store(f"sqlite:///{tmp_path / 'm.db'}")
    jobs = Jobs(store)
    reports = Reports(store, jobs)
    services = Services(store, jobs, reports, Comparisons(store, reports))
    try:
        services.tokens.keep("ada", Token("secret", 60.0))
        spec = RunSpec(model="openai:m", service=ServiceSettings(base_url="https://router.huggingface.co/v1"))
        assert services.token_for("ada", spec) == "secret"
        assert services.token_for("grace", spec) is None
        assert services.token_for("ada", spec.as_imported()) is None
    finally:
        jobs.close()


def test_a_token_is_for_the_router_alone_and_no_text_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Tokens()
    held.keep("ada", Token("secret", 60.0))
    for address in (
        "https://router.huggingface.co/v1",
        "https://router.huggingface.co/other/v1",
        "https://ROUTER.huggingface.co/v1",
    ):
        assert held.of("ada", ServiceSettings(base_url=address)) == "secret"
    others = (
        None, "http://router.huggingface.co/v1", "https://router.huggingface.co:8443/v1", "https://huggingface.co/v1",
        "https://router.huggingface.co.evil.example/v1", "https://evil.example/router.huggingface.co", "no address",
        "https://evil.example#@router.huggingface.co/v1", "https://router.huggingface.co@evil.example/v1",
    )  # fmt: skip
    assert [held.of("ada", ServiceSettings(base_url=address)) for address in others] == [None] * len(others)
    assert held.of("grace", ServiceSettings(base_url="https://router.huggingface.co/v1")) is None
    assert "secret" not in repr(Token("secret", 1.0)) + repr(held)
    held.forget("ada")
    assert not held.has("ada")
