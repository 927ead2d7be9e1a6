"""The cookie of a browser, over http and https: what it is called, and that nothing at rest opens what is its visitor's."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from browser import app_fixture, module_folder_fixture, serve_app
from strangers import TABLE, wait_for_run_end
from visitors import Visitor

from medfact.web.visitors import COOKIE, SECURE_COOKIE

HTTPS = {"X-Forwarded-Proto": "https"}


home = module_folder_fixture()


proxied = app_fixture("home", is_watched=True, MEDFACT_PROXY="1", MEDFACT_PUBLIC="1")
"""A public server behind a proxy, where some come by https and some do not."""


def given(url: str, **headers: str) -> tuple[str, str, set[str]]:
    """The name, the value and the attributes of the cookie that the first page gives."""
    (cookie,) = httpx.get(f"{url}runs", headers=headers).headers.get_list("set-cookie")
    first, *attributes = cookie.split("; ")
    name, _, value = first.partition("=")
    return name, value, {one.lower() for one in attributes}


def listed(url: str, cookie: str) -> str:
    """What the page Runs shows to whoever brings this cookie."""
    asked = httpx.post(f"{url}updates", json={"page": "runs"}, headers={"cookie": cookie})
    return str(asked.json()["fragments"]["runs"])


def test_over_https_the_cookie_is_this_hosts_alone_and_never_unencrypted(proxied: str) -> None:
    name, value, attributes = given(proxied, **HTTPS)
    assert name == "__Host-medfact-visitor"
    assert re.fullmatch("[0-9a-f]{32}", value)
    assert {"secure", "httponly", "path=/", "samesite=lax"} <= attributes
    assert not any(one.startswith("domain") for one in attributes)
    answer = httpx.get(f"{proxied}healthz", headers=HTTPS)
    assert answer.headers["strict-transport-security"] == "max-age=31536000"


@pytest.mark.parametrize("claimed", ["", "http", "https, http", "evil"])
def test_over_http_it_is_plain(proxied: str, claimed: str) -> None:
    sent = {"X-Forwarded-Proto": claimed} if claimed else {}
    name, _, attributes = given(proxied, **sent)
    assert name == "medfact-visitor"
    assert "secure" not in attributes
    assert "strict-transport-security" not in httpx.get(f"{proxied}healthz", headers=sent).headers


def test_nothing_is_believed_of_the_scheme_where_no_proxy_is_known(tmp_path: Path) -> None:
    with serve_app(tmp_path, MEDFACT_PUBLIC="1") as url:
        assert given(url, **HTTPS)[0] == "medfact-visitor"


def test_who_first_came_over_http_keeps_the_runs_over_https(proxied: str, home: Path) -> None:
    """The page gives the same cookie under its other name, once; from then on that one says who it is."""
    with Visitor(proxied) as visitor:
        (run,) = visitor.evaluate("baseline:random")
        wait_for_run_end(home, run)
    plain = f"{COOKIE}={visitor.cookie}"
    assert given(proxied, cookie=plain, **HTTPS)[:2] == (SECURE_COOKIE, visitor.cookie)
    both = f"{COOKIE}={'a' * 32}; {SECURE_COOKIE}={visitor.cookie}"
    for cookie in (plain, f"{SECURE_COOKIE}={visitor.cookie}", both):
        assert run in listed(proxied, cookie)
    for kept in ({"cookie": plain}, {"cookie": both, **HTTPS}, {"cookie": both}):
        assert "set-cookie" not in httpx.get(f"{proxied}runs", headers=kept).headers


def test_what_lies_in_the_database_and_the_folder_enters_as_nobody(proxied: str, home: Path) -> None:
    """Neither a cookie nor its owner's id opens a session that was read there."""
    with Visitor(proxied) as visitor:
        (run,) = visitor.evaluate("baseline:random")
        wait_for_run_end(home, run)
        visitor.upload("facts.csv", TABLE)
        visitor.fetch_page(setup={"models": ["baseline:random"]})
    kept = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert visitor.owner.encode() in kept
    assert visitor.cookie.encode() not in kept
    for name in (COOKIE, SECURE_COOKIE):
        assert run not in listed(proxied, f"{name}={visitor.owner}")
