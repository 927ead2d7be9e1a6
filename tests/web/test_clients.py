"""From which network address a request comes, behind a proxy and without one."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import httpx
import pytest
import uvicorn

from medfact.web import clients, connections
from medfact.web.clients import address_of
from medfact.web.connections import Connection
from medfact.web.guard import Guarded
from medfact.web.uploads import Uploads


def scope_of(*forwarded: str, peer: str = "10.0.0.2") -> dict[str, Any]:
    return {"type": "http", "client": (peer, 1), "headers": [(b"x-forwarded-for", one.encode()) for one in forwarded]}


@pytest.mark.parametrize(
    ("forwarded", "address"),
    [
        (["8.8.8.8"], "8.8.8.8"),
        (["8.8.8.8:5678"], "8.8.8.8"),
        (["1.1.1.1, 8.8.8.8:1, 10.0.0.7:443"], "8.8.8.8"),
        (["1.1.1.1:1", "8.8.4.4:65535"], "8.8.4.4"),
        (["[2a00:1450:4001:80b::200e]:443"], "2a00:1450:4001:80b::/64"),
        (["[2a00:1450:4001:80b::200e]"], "2a00:1450:4001:80b::/64"),
        (["2a00:1450:4001:80b::200e"], "2a00:1450:4001:80b::/64"),
        (['"[2a00:1450:4001:80b::200e]:443"'], "2a00:1450:4001:80b::/64"),
        (["8.8.8.8, [2001:db8::1]:443"], "8.8.8.8"),
        (["8.8.8.8, nothing:80"], "10.0.0.2"),
        (["8.8.8.8, 1.1.1:80"], "10.0.0.2"),
        (["8.8.8.8, []:80"], "10.0.0.2"),
        (["8.8.8.8:x"], "10.0.0.2"),
    ],
)
def test_the_last_public_address_counts_with_or_without_a_port(
    forwarded: list[str], address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2001:db8::/32 is for documents alone, and belongs to nobody."""
    monkeypatch.setenv("MEDFACT_PROXY", "1")
    assert address_of(scope_of(*forwarded)) == address
    monkeypatch.delenv("MEDFACT_PROXY")
    assert address_of(scope_of(*forwarded)) == "10.0.0.2"


def test_a_server_that_expects_no_proxy_says_once_that_one_is_there(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clients.warn_of_unread_addresses.cache_clear()

    async def answered(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def asked(headers: dict[str, str]) -> None:
        transport = httpx.ASGITransport(Guarded(answered, Uploads()), client=("9.9.9.9", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            assert (await client.get("/facts", headers=headers)).status_code == 200

    monkeypatch.setenv("MEDFACT_PROXY", "1")
    asyncio.run(asked({"X-Forwarded-For": "8.8.8.8"}))
    monkeypatch.delenv("MEDFACT_PROXY")
    asyncio.run(asked({}))
    assert caplog.text == ""
    for _ in range(3):
        asyncio.run(asked({"X-Forwarded-For": "8.8.8.8"}))
    said = caplog.text
    assert said.count("set MEDFACT_PROXY=1") == 1
    assert "8.8.8.8" not in said


def test_an_answer_that_nobody_reads_ends_and_one_that_is_read_slowly_comes_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """30 MB, more than the buffers between hold. Who reads nothing is let go of; who reads a little now and then is not."""
    monkeypatch.setattr(connections, "UNREAD_SECONDS", 0.3)
    size, left, ended = 30_000_000, threading.Event(), threading.Event()

    async def sending(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", str(size).encode())]})
        for _ in range(size // 100_000):
            await send({"type": "http.response.body", "body": b"x" * 100_000, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
        if scope["path"] == "/unread":
            left.set()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.listen()
        config = uvicorn.Config(sending, http=Connection, ws="none", lifespan="off", log_level="critical")
        server = uvicorn.Server(config)

        def serve() -> None:
            server.run(sockets=[listening])
            ended.set()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            address = listening.getsockname()
            with socket.create_connection(address, timeout=60) as unread:
                unread.sendall(b"GET /unread HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert left.wait(60), "the application is let go of"
            with socket.create_connection(address, timeout=60) as slow:
                slow.sendall(b"GET /slow HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                got = b"".join(iter(lambda: slow.recv(1 << 20), b""))
                assert got.endswith(b"x" * 1_000)
                assert len(got.partition(b"\r\n\r\n")[2]) == size
        finally:
            server.should_exit = True
            thread.join(60)
    assert ended.is_set()
