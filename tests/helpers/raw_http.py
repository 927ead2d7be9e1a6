"""HTTP by hand over a socket."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import psutil
import pytest
from browser import served

from medfact.web.connections import HEAD_SECONDS

PATIENCE = HEAD_SECONDS + 20
"""A busy machine is late."""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("home")
    with served(home, MEDFACT_USER_HEADER="X-Forwarded-User") as address:
        yield address
    assert "Traceback" not in (home / "log.txt").read_text()


def connected(url: str) -> socket.socket:
    parts = urlsplit(url)
    made = socket.create_connection((str(parts.hostname), int(parts.port or 0)), timeout=PATIENCE)
    made.settimeout(PATIENCE)
    return made


def head(url: str, *lines: str, method: str = "GET", path: str = "/healthz") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: {urlsplit(url).netloc}", *lines, "", ""]).encode()


def answer(connection: socket.socket) -> bytes:
    """Whatever comes until the other end closes; b"" where it just ends."""
    said = b""
    try:
        while piece := connection.recv(1 << 16):
            said += piece
    except ConnectionResetError:
        pass
    return said


def process_at(url: str) -> psutil.Process:
    """The app's own process."""
    port = urlsplit(url).port
    children = psutil.Process().children(recursive=True)
    return next(one for one in children if any(c.laddr.port == port for c in one.net_connections() if c.status == "LISTEN"))
