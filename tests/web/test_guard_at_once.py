"""One network address does not take all the threads of a public server."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from medfact.web.api.caller import Caller
from medfact.web.guard import Guarded
from medfact.web.pace import Neighbours
from medfact.web.turns import Turns
from medfact.web.upload_gate import AT_ONCE, STREAMS_AT_ONCE, AtOnce, NotNow, UploadGate
from medfact.web.uploads import Uploads

CARD = "/download/x/card.svg"


class Slow:
    """An application that answers when it is told to."""

    def __init__(self) -> None:
        self.go_on, self.inside = asyncio.Event(), 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.inside += 1
        await self.go_on.wait()
        self.inside -= 1
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"done"})


def client(app: Any, address: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app, client=(address, 1)), base_url="http://localhost")


async def _flooded(app: Slow, door: Guarded) -> tuple[httpx.Response, list[int]]:
    """What one too many is told; and the answers to another address, to a page, and to the many themselves."""
    async with client(door, "9.9.9.9") as one, client(door, "8.8.8.8") as other:
        many = [asyncio.create_task(one.get(CARD)) for _ in range(AT_ONCE)]
        while app.inside < AT_ONCE:
            await asyncio.sleep(0.01)
        beyond = [asyncio.create_task(one.post("/updates", json={})), asyncio.create_task(one.get(CARD))]
        more = [asyncio.create_task(other.get(CARD)), asyncio.create_task(one.get("/facts"))]
        done, _ = await asyncio.wait(beyond, timeout=5)
        refused = [task.result() for task in done]
        app.go_on.set()
        answers = [answer.status_code for answer in await asyncio.gather(*many, *more)]
        answers.append((await one.get(CARD)).status_code)
        assert [answer.status_code for answer in refused] == [429, 429]
        return refused[0], answers


def test_so_many_requests_of_an_address_are_answered_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDFACT_PUBLIC", "1")

    async def played() -> tuple[Guarded, httpx.Response, list[int]]:
        app = Slow()
        door = Guarded(app, Uploads())
        return door, *await _flooded(app, door)

    door, refused, answers = asyncio.run(played())
    assert refused.headers["retry-after"] == "1"
    assert "12 requests of your network address" in refused.text
    assert answers == [200] * (AT_ONCE + 3)
    assert not door._answered._busy, "who was answered is not remembered"


def test_views_for_frames_and_calls_of_programs_count_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDFACT_PUBLIC", "1")

    async def framed() -> int:
        app = Slow()
        async with client(Guarded(app, Uploads()), "9.9.9.9") as one:
            many = [asyncio.create_task(one.get(f"/embed/{'0' * 32}")) for _ in range(AT_ONCE)]
            while app.inside < AT_ONCE:
                await asyncio.sleep(0.01)
            beyond = await one.get(f"/embed/{'1' * 32}")
            app.go_on.set()
            assert [answer.status_code for answer in await asyncio.gather(*many)] == [200] * AT_ONCE
            return beyond.status_code

    async def called() -> tuple[list[int], int]:
        go_on, busy = threading.Event(), AtOnce()

        def slow(_: object, __: Caller) -> int:
            go_on.wait(20)
            return 1

        def call(address: str) -> Any:
            caller = Caller("caller", address, (), False, Turns(), UploadGate(), busy)
            services: Any = SimpleNamespace(neighbours=Neighbours())
            return caller.answered(slow, services)

        many = [asyncio.create_task(call("9.9.9.9")) for _ in range(AT_ONCE)]
        await asyncio.sleep(0)
        with pytest.raises(NotNow, match="12 requests of your network address"):
            await call("9.9.9.9")
        other = asyncio.create_task(call("8.8.8.8"))
        go_on.set()
        return await asyncio.gather(*many), await other

    assert asyncio.run(framed()) == 429
    assert asyncio.run(called()) == ([1] * AT_ONCE, 1)


STREAMS = ["/gradio_api/queue/data?session_hash=abc", f"/gradio_api/call/evaluate/{'0' * 32}"]


@pytest.mark.parametrize("path", [*STREAMS, CARD])
def test_streams_of_an_address_leave_it_its_pages_and_have_a_bound_of_their_own(
    path: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As many as may be are on their way: runs that are followed, and files that nobody has read yet."""
    monkeypatch.setenv("MEDFACT_PUBLIC", "1")
    limits = tmp_path / "limits.yaml"
    limits.write_text("{}")  # no pace: this is about what goes on at the same time
    monkeypatch.setenv("MEDFACT_LIMITS", str(limits))

    async def played() -> tuple[list[int], int, list[int]]:
        begun, go_on = 0, asyncio.Event()

        async def streaming(scope: Any, receive: Any, send: Any) -> None:
            nonlocal begun
            await send({"type": "http.response.start", "status": 200, "headers": []})
            if scope["path"] == path.partition("?")[0]:
                begun += 1
                await go_on.wait()
            await send({"type": "http.response.body", "body": b"done"})

        door = Guarded(streaming, Uploads(), lambda _: True)
        async with client(door, "9.9.9.9") as one, client(door, "8.8.8.8") as other:
            many = []
            for count in range(1, STREAMS_AT_ONCE + 1):
                many.append(asyncio.create_task(one.get(path)))
                while begun < count:
                    await asyncio.sleep(0)
            pages = [(await one.get("/facts")).status_code, (await one.post("/updates", json={})).status_code]
            beyond = (await one.get(path)).status_code
            more = asyncio.create_task(other.get(path))
            go_on.set()
            ended = [answer.status_code for answer in await asyncio.gather(*many, more)]
            return [*pages, (await one.get(path)).status_code], beyond, ended

    after, beyond, ended = asyncio.run(played())
    assert after == [200] * 3
    assert beyond == 429
    assert ended == [200] * (STREAMS_AT_ONCE + 1)


def test_a_large_body_that_is_refused_is_not_received() -> None:
    """It is refused here for want of a cookie; a small one, and a request without a body, leave the connection open."""

    async def asked(**headers: str) -> tuple[int, str | None]:
        async with client(Guarded(Slow(), Uploads()), "9.9.9.9") as one:
            answer = await one.post("/gradio_api/upload", headers=headers, content=b"")
            return answer.status_code, answer.headers.get("connection")

    async def looked() -> tuple[int, str | None]:
        async with client(Guarded(Slow(), Uploads()), "9.9.9.9") as one:
            answer = await one.get("/secret")
            return answer.status_code, answer.headers.get("connection")

    assert asyncio.run(asked(**{"content-length": "40000000"})) == (403, "close")
    assert asyncio.run(asked(**{"transfer-encoding": "chunked"})) == (403, "close")
    assert asyncio.run(asked(**{"content-length": "1000"})) == (403, None)
    assert asyncio.run(looked()) == (404, None)
