"""Raw connections to the app: heads without an end, heads that never come, and what follows a body."""

from __future__ import annotations

import contextlib
import json
import secrets
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from raw_http import TIMEOUT, connect, find_app_process, receive_all, request_head
from raw_http import url as url

from medfact.web.connections import HEAD_BYTES, MOST_OF_ONE_ADDRESS, REST_SECONDS


def first_answer(connection: socket.socket) -> bytes:
    """The answer to one request: its head, and as much as its length says."""
    said = b""
    while b"\r\n\r\n" not in said:
        piece = connection.recv(1 << 16)
        if not piece:
            return said
        said += piece
    top, _, body = said.partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in top.lower().splitlines() if line.startswith(b"content-length:")), 0)
    while len(body) < length:
        body += connection.recv(1 << 16)
    return top + b"\r\n\r\n" + body


ENDLESS = {
    "one header": (b"X-Long: ", b"a" * 65_536),
    "its name": (b"", b"a" * 65_536),
    "many headers": (b"", b"x: y\r\n" * 10_000),
    "the address": (None, b"a" * 65_536),
}


@pytest.mark.parametrize("way", ENDLESS)
def test_a_head_without_an_end_is_cut_off(url: str, way: str) -> None:
    """Of 24 MB the server takes a few kB, keeps nothing, and says why."""
    before, (start, piece), sent = find_app_process(url).memory_info().rss, ENDLESS[way], 0
    with connect(url) as connection:
        try:
            connection.sendall(b"GET /" if start is None else request_head(url)[:-2] + start)
            while sent < 24_000_000:
                connection.sendall(piece)
                sent += len(piece)
        except (ConnectionError, BrokenPipeError):
            pass
        assert sent < 8_000_000, "a connection's buffers hold some of it"
    assert find_app_process(url).memory_info().rss - before < 20_000_000
    assert httpx.get(f"{url}healthz").text == "ok"


def test_whoever_sends_too_long_a_head_is_told(url: str) -> None:
    with connect(url) as connection:
        connection.sendall(request_head(url, f"X-Long: {'a' * 2 * HEAD_BYTES}"))
        said = receive_all(connection)
    assert said.startswith(b"HTTP/1.1 431 ")
    assert b"The head of a request is" in said


def test_a_long_head_that_is_within_bounds_is_read(url: str) -> None:
    """Cookies of other applications of one host, and what proxies add."""
    with connect(url) as connection:
        for _ in range(3):
            connection.sendall(request_head(url, f"Cookie: other={'a' * (HEAD_BYTES // 2)}"))
            assert first_answer(connection).startswith(b"HTTP/1.1 200 ")


def test_a_body_is_no_head(url: str) -> None:
    """Sixty thousand bytes that come in one piece with their head; then in many small ones."""
    body = json.dumps({"page": "docs", "show": {"x": "y" * 50_000}}).encode()
    lines = ("Content-Type: application/json", f"Content-Length: {len(body)}")
    with connect(url) as connection:
        connection.sendall(request_head(url, *lines, method="POST", path="/updates") + body)
        assert first_answer(connection).startswith(b"HTTP/1.1 200 ")
        chunked = b"".join(b"1\r\n%c\r\n" % byte for byte in body[:20_000]) + b"%x\r\n%s\r\n0\r\n\r\n" % (
            len(body) - 20_000,
            body[20_000:],
        )
        more = ("Content-Type: application/json", "Transfer-Encoding: chunked", "Connection: close")
        connection.sendall(request_head(url, *more, method="POST", path="/updates") + chunked)
        assert receive_all(connection).startswith(b"HTTP/1.1 200 ")


BEGUN = {
    "nothing": b"",
    "half a line": b"GET /hea",
    "half a head": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A",
    "empty lines": b"\r\n\r\n",
}


def test_a_head_that_does_not_come_is_not_waited_for(url: str) -> None:
    """However much of it has come."""
    with contextlib.ExitStack() as stack:
        begun = time.monotonic()
        connections = [stack.enter_context(connect(url)) for _ in BEGUN]
        for connection, sent in zip(connections, BEGUN.values(), strict=True):
            connection.sendall(sent)
        for connection in connections:
            receive_all(connection)
        assert time.monotonic() - begun < TIMEOUT


def dripped(connection: socket.socket, drop: bytes, seconds: float) -> None:
    """Sends drops until the other end closes, which must be soon."""
    until = time.monotonic() + seconds
    try:
        while time.monotonic() < until:
            connection.sendall(drop)
            time.sleep(0.2)
    except ConnectionError:
        return
    raise AssertionError(f"still open after {seconds} s")


DRIPPING = [(b"", b"x"), (b"GET /healthz HTTP/1.1\r\nX-Slow: ", b"y"), (b"", b"\r\n")]
"""How a head begins, and what of it comes again and again: of its first line, of a header's value, or empty lines."""


def test_a_head_that_comes_drop_by_drop_has_the_same_time(url: str) -> None:
    """Also after a request that was answered."""

    def drip(begun: bytes, drop: bytes) -> None:
        with connect(url) as connection:
            connection.sendall(request_head(url))
            assert first_answer(connection).startswith(b"HTTP/1.1 200 ")
            connection.sendall(begun)
            dripped(connection, drop, TIMEOUT)

    with ThreadPoolExecutor() as pool:
        for one in [pool.submit(drip, *sent) for sent in DRIPPING]:
            one.result()


def test_a_body_that_stops_after_its_refusal_is_not_waited_for(url: str) -> None:
    with connect(url) as connection:
        connection.sendall(request_head(url, "Content-Length: 900000", method="POST", path="/nothing"))
        assert first_answer(connection).startswith(b"HTTP/1.1 404 ")
        dripped(connection, b"x", REST_SECONDS + 20)


def test_half_sent_heads_of_one_address_are_few_and_delay_nobody(url: str) -> None:
    """150 of them: some are let go at once, all of them soon, and a whole request is answered meanwhile."""
    begun = [connect(url) for _ in range(150)]
    try:
        for connection in begun:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nX-Half: ")
        assert httpx.get(f"{url}healthz", timeout=TIMEOUT).text == "ok"
        time_left = time.monotonic() + TIMEOUT
        assert len(open_ones(begun)) <= MOST_OF_ONE_ADDRESS
        while open_ones(begun):
            assert time.monotonic() < time_left
            time.sleep(0.1)
    finally:
        for connection in begun:
            connection.close()
    assert httpx.get(f"{url}healthz", timeout=TIMEOUT).text == "ok"


def open_ones(connections: list[socket.socket]) -> list[socket.socket]:
    """Those that the other end has not closed."""
    found = []
    for connection in connections:
        connection.setblocking(False)
        try:
            if connection.recv(1 << 16):
                connection.recv(1)
        except BlockingIOError:
            found.append(connection)
        except ConnectionError:
            pass
    return found


def test_what_follows_a_body_is_no_header(url: str) -> None:
    """A proxy that sets who has signed in takes that header from a request's head, and may pass on what follows the body."""
    cookie, body = f"Cookie: medfact-visitor={secrets.token_hex(16)}", b'{"page": "review"}'
    lines = (cookie, "Content-Type: application/json", "Transfer-Encoding: chunked", "Connection: close")
    with connect(url) as connection:
        trailer = b"X-Forwarded-User: dora\r\nX-Forwarded-User2: dora\r\nX-Other: x\r\n"
        sent = request_head(url, *lines, method="POST", path="/updates") + b"%x\r\n%s\r\n0\r\n%s\r\n" % (
            len(body),
            body,
            trailer,
        )
        connection.sendall(sent)
        said = receive_all(connection)
    assert b"dora" not in said


def test_what_follows_a_body_has_an_end(url: str) -> None:
    lines = ("Content-Type: application/json", "Transfer-Encoding: chunked")
    with connect(url) as connection:
        connection.sendall(request_head(url, *lines, method="POST", path="/updates") + b"4\r\nnull\r\n0\r\nX-Long: ")
        sent = 0
        try:
            while sent < 24_000_000:
                connection.sendall(b"a" * 65_536)
                sent += 65_536
        except (ConnectionError, BrokenPipeError):
            pass
    assert sent < 8_000_000


def test_requests_that_do_not_wait_for_answers_are_few(url: str) -> None:
    """A thousand in one piece: whoever sends so many gets some answers, and no thousand tasks begin."""
    with connect(url) as connection:
        try:
            connection.sendall(request_head(url) * 1_000)
            said = receive_all(connection)
        except (ConnectionError, BrokenPipeError):
            said = b""
    assert said.count(b"HTTP/1.1 200 ") < 100
    assert httpx.get(f"{url}healthz").text == "ok"


def test_whoever_leaves_before_the_answers_leaves_no_trace(url: str) -> None:
    """The end of these tests looks for a crash in the log."""
    for _ in range(20):
        with connect(url) as connection:
            connection.sendall(request_head(url) * 5)
    assert httpx.get(f"{url}healthz").text == "ok"


def test_an_upgrade_is_no_way_round(url: str) -> None:
    with connect(url) as connection:
        connection.sendall(
            request_head(url, "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x", path="/nothing")
        )
        assert first_answer(connection).startswith(b"HTTP/1.1 404 ")


def test_rubbish_after_a_request_ends_the_connection(url: str) -> None:
    """Without a trace of a crash in the log, which the end of these tests looks through."""
    for _ in range(5):
        with connect(url) as connection:
            connection.sendall(request_head(url) + b"\x16\x03\x01 rubbish\r\n\r\n")
            receive_all(connection)
    assert httpx.get(f"{url}healthz").text == "ok"
