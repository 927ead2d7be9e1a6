"""Who reviews where people sign in at a reverse proxy, and what the verdicts of strangers may do on a public server."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from browser import app_fixture, module_folder_fixture
from starlette.datastructures import Headers

from medfact.store import Store
from medfact.web.visitors import NOBODY, is_adjudicator, owner_of, owner_of_cookie, owners_reviewing

HEADER = "X-Forwarded-User"


def request_of(user: str | None = None, cookie: str = "a" * 32) -> Any:
    headers = Headers({"host": "127.0.0.1"} | ({} if user is None else {HEADER: user}))
    return SimpleNamespace(
        headers=headers,
        cookies={"medfact-visitor": cookie},
        client=SimpleNamespace(host="127.0.0.1"),
        scope={"http_version": "1.1", "scheme": "http"},
    )


def test_a_signed_in_person_is_one_owner_in_every_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    assert owner_of(request_of("ada")) == owner_of_cookie("a" * 32), "a header that nobody asked for says nothing"
    monkeypatch.setenv("MEDFACT_USER_HEADER", HEADER)
    assert owner_of(request_of("ada")) == owner_of(request_of("ada", "b" * 32)) != owner_of(request_of("ben"))
    assert owner_of(request_of()) == owner_of(request_of(" ")) == NOBODY


def test_whose_verdicts_are_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody's on one's own machine and where people sign in; one's own alone among strangers."""
    assert owners_reviewing(request_of()) == ()
    monkeypatch.setenv("MEDFACT_PUBLIC", "1")
    assert owners_reviewing(request_of()) == (owner_of_cookie("a" * 32),)
    monkeypatch.setenv("MEDFACT_USER_HEADER", HEADER)
    assert owners_reviewing(request_of("ada")) == ()
    assert owners_reviewing(request_of()) == (NOBODY,)


def test_who_adjudicates(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_adjudicator("", signed_in=True)
    monkeypatch.setenv("MEDFACT_ADJUDICATORS", "Dora , emil,")
    assert is_adjudicator(" dora", signed_in=False)
    assert not is_adjudicator("ada", signed_in=True)
    assert not is_adjudicator("", signed_in=True)
    monkeypatch.setenv("MEDFACT_PUBLIC", "1")
    assert not is_adjudicator("dora", signed_in=False), "a typed name is believed on one's own machine alone"
    assert is_adjudicator("dora", signed_in=True)


home = module_folder_fixture()


hosted = app_fixture("home", MEDFACT_PUBLIC="1", MEDFACT_USER_HEADER=HEADER, MEDFACT_ADJUDICATORS="dora")
"""A public server behind a proxy at which people sign in."""


def ask(url: str, user: str | None, action: object = None, **show: object) -> dict[str, Any]:
    headers = Headers({"host": "127.0.0.1"} | ({} if user is None else {HEADER: user}))
    question = {"page": "review", "show": show, "action": action}
    answer = httpx.post(f"{url}updates", json=question, headers=headers, timeout=60)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def judged(url: str, user: str | None, verdict: str, **show: object) -> tuple[str, dict[str, Any]]:
    """The fact that is up, and what the page says after this verdict on it."""
    fact = re.search(r'data-timed="(\w+)"', ask(url, user, **show)["fragments"]["fact"])
    assert fact
    about = {"name": "judge", "about": fact[1], "fields": {"verdict": verdict, "comment": f"by {user}"}}
    return fact[1], ask(url, user, about, **show)


def test_nobody_reviews_under_another_name(hosted: str, home: Path) -> None:
    """A name that is typed does not replace the one that signed in; who has not signed in may look, and do nothing."""
    _, answer = judged(hosted, None, "true", reviewer="dora")
    assert "Sign in first" in answer["fragments"]["said"]
    fact, _ = judged(hosted, "ada", "true", reviewer="dora")
    judged(hosted, "ben", "false", adjudicating=True, queue="disputed")
    log = Store(f"sqlite:///{home / 'medfact.db'}").verdicts.log()
    assert [(one.reviewer, one.role, one.fact_id) for one in log] == [("ada", "reviewer", fact), ("ben", "reviewer", fact)]
    for stranger in ("ada", "ben", None):
        seen = ask(hosted, stranger, reviewer="dora", adjudicating=True, queue="disputed")["fragments"]["fact"]
        assert "by ada" not in seen or stranger == "ada"
        assert "by ben" not in seen or stranger == "ben"
    decided = ask(hosted, "dora", adjudicating=True, queue="disputed")["fragments"]["fact"]
    assert "by ada" in decided
    assert "by ben" in decided


@pytest.mark.parametrize(
    "show",
    [
        {"run": "0" * 32},
        {"run": "../../etc/passwd,<script>"},
        {"data": "own"},
        {"data": "/etc/passwd"},
        {"queue": "everything", "place": -5, "bound": "nan"},
        {"place": 10**30, "relation": "x" * 10_000, "search": "%00\u0000"},
        {"reviewer": "<img src=x onerror=alert(1)>" * 10},
    ],
)
def test_rubbish_in_the_address_shows_a_page(hosted: str, show: dict[str, object]) -> None:
    answer = ask(hosted, "mallory", **show)
    assert "Traceback" not in str(answer)
    assert "<img src=x" not in str(answer["fragments"])
    assert "<script>" not in str(answer["fragments"])
    assert answer["fragments"]["choice"]


def test_verdicts_on_what_is_not_there_are_refused(hosted: str, home: Path) -> None:
    before = len(Store(f"sqlite:///{home / 'medfact.db'}").verdicts.log())
    for about in ("nothing", "", "../x", "x" * 2_000):
        said = ask(hosted, "mallory", {"name": "judge", "about": about, "fields": {"verdict": "true"}})["fragments"]["said"]
        assert "There is no such fact" in said
    fact = re.search(r'data-timed="(\w+)"', ask(hosted, "mallory")["fragments"]["fact"])
    assert fact
    for fields in ({}, {"verdict": "yes"}, {"verdict": "withdrawn"}):
        said = ask(hosted, "mallory", {"name": "judge", "about": fact[1], "fields": fields})["fragments"]["said"]
        assert "Say first whether the fact is true" in said
    assert "nothing to take back" in ask(hosted, "mallory", {"name": "undo"})["fragments"]["said"]
    assert len(Store(f"sqlite:///{home / 'medfact.db'}").verdicts.log()) == before
