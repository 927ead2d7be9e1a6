"""Files, views for frames and answers to programs take one of the few places, as pages do."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from waiting import wait_until

from medfact import concurrency as places
from medfact.concurrency import COMPUTE_SLOTS
from medfact.web import downloads
from medfact.web.api.caller import Caller
from medfact.web.services import Services
from medfact.web.turns import Turns
from medfact.web.upload_gate import AtOnce, UploadGate

SOON = 20.0


def by_address(address: str) -> Callable[[Services, str], int]:
    """Asks at an address; the answer's status."""

    def asked(services: Services, run: str) -> int:
        app = FastAPI()
        app.include_router(downloads.routes(services))
        return TestClient(app).get(address.format(run=run)).status_code

    return asked


def by_a_program(services: Services, run: str) -> int:
    """Calls what an endpoint calls."""

    def called(services: Services, caller: Caller) -> int:
        return 200 if services.asked(run) else 404

    caller = Caller("caller-1", "9.9.9.9", (), False, Turns(), UploadGate(), AtOnce())
    found: Any = asyncio.run(caller.answered(called, services))
    return int(found)


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        (by_address("/download/{run}/scores.csv"), 200),
        (by_address("/download/{run}/report.html"), 200),
        (by_address("/download/{run}/card.txt"), 200),
        (by_address("/download/{run}/log-inspect"), 200),
        (by_address("/export/{run}"), 200),
        (by_address("/embed/{run}"), 404),  # it is not published
        (by_a_program, 200),
    ],
)
def test_it_waits_for_a_place(asked: Callable[[Services, str], int], status: int, services: Services, run: str) -> None:
    answers: list[int] = []
    thread = threading.Thread(target=lambda: answers.append(asked(services, run)), daemon=True)
    with ExitStack() as taken:
        for n in range(COMPUTE_SLOTS):
            assert places._semaphore.acquire(f"{n}", SOON)
            taken.callback(places._semaphore.release, f"{n}", 0.0)
        thread.start()
        wait_until(lambda: bool(places._semaphore._waiters))
        assert thread.is_alive()
        assert not answers
    thread.join(SOON)
    assert answers == [status]
    wait_until(lambda: places._semaphore.free == COMPUTE_SLOTS)
