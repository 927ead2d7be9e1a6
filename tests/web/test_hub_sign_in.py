"""Signing in with Hugging Face, against a provider on this machine that speaks OpenID Connect."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest
from browser import module_folder_fixture, serve_app
from cachetools import TTLCache
from fastapi import FastAPI
from fastapi.testclient import TestClient
from openid_provider import CLIENT, SECRET, BrowserSession, OpenIDProvider
from strangers import wait_for_run_end
from visitors import Visitor

from medfact.limits import SIGNED_IN, limits
from medfact.web import sign_in
from medfact.web.sign_in import PERSON, opened, sealed


@pytest.fixture(scope="module")
def provider() -> Iterator[OpenIDProvider]:
    with OpenIDProvider() as server:
        yield server


home = module_folder_fixture()


@pytest.fixture(scope="module")
def public(home: Path, provider: OpenIDProvider) -> Iterator[str]:
    oauth = {"OAUTH_CLIENT_ID": CLIENT, "OAUTH_CLIENT_SECRET": SECRET, "OPENID_PROVIDER_URL": provider.url}
    with serve_app(home, MEDFACT_PUBLIC="1", **oauth) as url:
        yield url
    assert SECRET not in (home / "log.txt").read_text()


def test_one_signs_in_and_finds_ones_runs_in_another_browser(public: str, provider: OpenIDProvider, home: Path) -> None:
    here, there = BrowserSession(public), BrowserSession(public)
    with here.open_visitor() as before:
        (earlier,) = before.evaluate("baseline:random")
        assert "Sign in with Hugging Face" in before.fetch_page()["fragments"]["notice"]
    back = here.sign_in(provider)
    assert (back.status_code, back.headers["location"]) == (303, "../runs")
    with here.open_visitor() as signed_in:
        (run,) = signed_in.evaluate("baseline:random")
        wait_for_run_end(home, run)
        shown = signed_in.fetch_page("runs")["fragments"]
        assert run in shown["runs"]
        assert earlier in shown["runs"], "what this browser did before is still there"
        assert "Signed in as <bdi>ada</bdi>" in shown["notice"]
    there.sign_in(provider)
    with there.open_visitor() as elsewhere:
        shown = elsewhere.fetch_page("runs")["fragments"]["runs"]
        assert run in shown
        assert earlier not in shown
    assert there.get("sign-out").headers["location"] == "./"
    with there.open_visitor() as nobody:
        assert run not in nobody.fetch_page("runs")["fragments"].get("runs", "")


def test_the_cookies_travel_over_https_alone_and_no_script_reads_them(public: str, provider: OpenIDProvider) -> None:
    person = BrowserSession(public)
    begun = person.get("sign-in")
    assert {"secure", "httponly", "samesite=lax"} <= person.attributes
    person.get(provider.authorize(begun.headers["location"]))
    cookies = person.cookies[PERSON]
    assert cookies
    assert "token-of-ada" not in str(base64.urlsafe_b64decode(cookies.partition(".")[0]))
    assert "example.org" not in str(base64.urlsafe_b64decode(cookies.partition(".")[0])), "nothing but id and name"


def test_no_other_browser_is_signed_in_by_a_link(public: str, provider: OpenIDProvider) -> None:
    """Somebody's callback address, opened by another: it would sign the other in as that somebody."""
    mine, victim = BrowserSession(public), BrowserSession(public)
    address = provider.authorize(mine.get("sign-in").headers["location"])
    assert victim.get(address).status_code == 400
    assert not victim.cookies.get(PERSON)
    victim.get("sign-in")
    assert victim.get(address).status_code == 400, "with a state of its own, too"
    assert not victim.cookies.get(PERSON)


def test_an_answer_is_good_once(public: str, provider: OpenIDProvider) -> None:
    person = BrowserSession(public)
    address = provider.authorize(person.get("sign-in").headers["location"])
    kept = dict(person.cookies)
    assert person.get(address).status_code == 303
    assert person.get(address).status_code == 400, "the state is gone"
    again = BrowserSession(public)
    again.cookies = kept
    assert again.get(address).status_code == 400, "whoever kept the cookie comes too late"
    another = provider.authorize(f"{provider.url}/authorize?" + urlencode(asked_with(address)))
    assert again.get(another).status_code == 400, "with another code of the provider's, too"
    assert not again.cookies.get(PERSON)


def asked_with(address: str) -> dict[str, str]:
    """What the browser that came back to an address was sent to the provider with."""
    state = parse_qs(urlsplit(address).query)["state"][0]
    whole = {"client_id": CLIENT, "response_type": "code", "code_challenge_method": "S256", "code_challenge": "x"}
    return whole | {"state": state, "redirect_uri": address.partition("?")[0]}


@pytest.mark.parametrize(
    "to", ["https://evil.example", "//evil.example", "\\evil.example", "/etc", "runs/../..", "javascript:alert(1)"]
)
def test_nobody_is_led_to_another_site(public: str, provider: OpenIDProvider, to: str) -> None:
    assert BrowserSession(public).sign_in(provider, to).headers["location"] == "../"


def test_no_cookie_of_ones_own_making_signs_anybody_in(public: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OAUTH_CLIENT_SECRET", "a guess")
    forged = sealed(PERSON, {"sub": "1234", "name": "ada"}, 1_000)
    for value in (forged, forged.partition(".")[0] + ".", "", ".", "é.x", forged.replace("e", "f")):
        person = BrowserSession(public)
        person.cookies[PERSON] = value.encode("ascii", "ignore").decode()
        with person.open_visitor() as visitor:
            assert "Sign in with Hugging Face" in visitor.fetch_page()["fragments"]["notice"]


def test_a_cookie_is_for_one_purpose_and_one_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert opened(PERSON, sealed(PERSON, {}, 10)) is None, "without a secret nothing is believed"
    monkeypatch.setenv("OAUTH_CLIENT_SECRET", SECRET)
    assert (opened(PERSON, sealed(PERSON, {"sub": "1"}, 10)) or {})["sub"] == "1"
    assert opened(PERSON, sealed("another", {"sub": "1"}, 10)) is None
    assert opened(PERSON, sealed(PERSON, {"sub": "1"}, -1)) is None


def test_a_provider_that_answers_otherwise_is_said_in_a_sentence(public: str, provider: OpenIDProvider) -> None:
    person = BrowserSession(public)
    address = provider.authorize(person.get("sign-in").headers["location"])
    provider.person, kept = {"sub": 5}, provider.person
    try:
        assert "did not say who signed in" in person.get(address).text
    finally:
        provider.person = kept


def test_the_provider_is_asked_for_its_addresses_once_an_hour(
    provider: OpenIDProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    oauth = {"OAUTH_CLIENT_ID": CLIENT, "OAUTH_CLIENT_SECRET": SECRET, "OPENID_PROVIDER_URL": provider.url}
    for name, value in oauth.items():
        monkeypatch.setenv(name, value)
    now = [0.0]
    monkeypatch.setattr(sign_in, "_known", TTLCache(4, sign_in.KNOWN_SECONDS, timer=lambda: now[0]))
    app = FastAPI()
    app.include_router(sign_in.routes(["runs"]))
    page = TestClient(app, follow_redirects=False)
    provider.has_foreign_token_endpoint = True
    try:
        answer = page.get("/sign-in")
        assert (answer.status_code, "addresses of another host" in answer.text) == (503, True)
        provider.has_foreign_token_endpoint = False
        assert page.get("/sign-in").status_code == 303, "what is wrong is not kept"
        provider.has_foreign_token_endpoint = True
        assert page.get("/sign-in").headers["location"].startswith(f"{provider.url}/authorize?")
        now[0] = sign_in.KNOWN_SECONDS
        assert page.get("/sign-in").status_code == 503
    finally:
        provider.has_foreign_token_endpoint = False


def test_another_site_signs_nobody_out(public: str, provider: OpenIDProvider) -> None:
    person = BrowserSession(public)
    person.sign_in(provider)
    assert person.get("sign-out", **{"sec-fetch-site": "cross-site"}).status_code == 403
    assert person.cookies[PERSON]


def test_who_has_signed_in_may_use_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDFACT_PUBLIC", "1")
    assert limits().quota_for(f"{SIGNED_IN}{'0' * 32}").runs_going > limits().quota_for("0" * 32).runs_going


def test_where_nobody_can_sign_in_there_is_no_such_address(tmp_path: Path) -> None:
    with serve_app(tmp_path) as url:
        assert httpx.get(f"{url}sign-in").status_code == 404
        assert httpx.get(f"{url}login/callback?code=x&state=y").status_code == 404
        with Visitor(url) as visitor:
            assert "Sign in" not in str(visitor.fetch_page()["fragments"]["notice"])
