"""Cards to be posted: made once for what a run has answered, and one at a time."""

from __future__ import annotations

import threading

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from medfact.errors import MedfactError
from medfact.results.live import Reports
from medfact.web import downloads, posted
from medfact.web.services import Services
from medfact.web.updates import refused


@pytest.fixture
def page(services: Services) -> TestClient:
    app = FastAPI()
    app.add_exception_handler(MedfactError, refused)
    app.include_router(downloads.routes(services))
    return TestClient(app)


def test_a_card_is_made_again_where_answers_or_name_change_and_not_where_a_job_does(
    services: Services, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = posted.picture_now(services, [run], ["local"])
    versions = iter(range(100))
    monkeypatch.setattr(Reports, "version", lambda self, run: (*self._store.pulse(run), next(versions)))
    assert posted.picture_now(services, [run], ["local"]) is first
    services.store.describe(run, name="another", note=None)
    second = posted.picture_now(services, [run], ["local"])
    assert second != first
    services.store._update(run, changed=services.store.run(run).changed + 1)
    assert posted.picture_now(services, [run], ["local"]) is not second


def test_one_card_is_drawn_at_a_time(services: Services, page: TestClient, run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posted, "WAIT_SECONDS", 0.2)
    drawing, go_on = threading.Event(), threading.Event()

    def slow(_: object) -> bytes:
        drawing.set()
        assert go_on.wait(60)
        return b"drawn"

    monkeypatch.setattr(posted, "png_of", slow)
    got: list[bytes] = []
    thread = threading.Thread(target=lambda: got.append(posted.picture_now(services, [run], ["local"])), daemon=True)
    thread.start()
    try:
        assert drawing.wait(60)
        busy = page.get(f"/download/{run}/card.png")
        assert (busy.status_code, busy.headers["retry-after"]) == (429, "1")
        assert busy.text == "The server is drawing many cards just now. Try again in a second."
        assert page.get(f"/download/{run}/card.txt").status_code == 200, "what is made already does not wait"
    finally:
        go_on.set()
        thread.join(60)
    assert got == [b"drawn"]
    assert page.get(f"/download/{run}/card.png").content == b"drawn"
