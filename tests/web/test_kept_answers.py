"""What a server keeps so that many who ask cost little, and how much of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from medfact.errors import StoreError
from medfact.store import Store
from medfact.web import health, layout, services
from medfact.web.health import KEPT_SECONDS, kept_for_a_moment
from medfact.web.services import MOST_SPEEDS, seconds_for
from medfact.web.uploads import Uploads


def test_the_database_is_looked_at_once_a_second() -> None:
    now, looks = [0.0], []

    def look() -> str:
        looks.append(None)
        return f"problem {len(looks)}"

    problem = kept_for_a_moment(look, lambda: now[0])
    assert {problem() for _ in range(100)} == {"problem 1"}
    now[0] += KEPT_SECONDS
    assert problem() == "problem 2"


def test_health_is_said(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    class Services:
        def __init__(self) -> None:
            self.store, self.uploads = store, Uploads()

    def page() -> TestClient:
        app = FastAPI()
        app.include_router(health.routes(Services()))  # type: ignore[arg-type]
        return TestClient(app)

    assert page().get("/healthz").text == "ok"

    def away(*_: object) -> None:
        raise StoreError("The database is away.", "Start it.")

    monkeypatch.setattr(store, "runs", away)
    answer = page().get("/healthz")
    assert (answer.status_code, answer.headers["cache-control"]) == (503, "no-store")
    assert "The database cannot be used." in answer.text


def test_a_script_is_read_and_unpacked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    app = FastAPI()
    app.include_router(layout.routes())
    page = TestClient(app)
    first = page.get("/page/plotly.min.js", headers={"accept-encoding": "identity"})
    monkeypatch.setattr(layout.gzip, "decompress", lambda _: pytest.fail("unpacked again"))
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("read again"))
    for _ in range(3):
        plain = page.get("/page/plotly.min.js", headers={"accept-encoding": "identity"})
        assert (plain.content, plain.headers.get("content-encoding")) == (first.content, None)
    packed = page.get("/page/plotly.min.js", headers={"accept-encoding": "gzip"})
    assert (packed.content, packed.headers["content-encoding"]) == (first.content, "gzip")


def test_speeds_of_any_number_of_models_fill_no_memory(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "last_complete", lambda model: None)
    services._rate.cache_clear()  # type: ignore[attr-defined]
    for number in range(MOST_SPEEDS + 50):
        assert seconds_for(store, f"hf:{number}", 4) is None
    assert len(services._rate.cache) == MOST_SPEEDS  # type: ignore[attr-defined]
