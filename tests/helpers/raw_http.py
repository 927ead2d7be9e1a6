"""HTTP over a plain socket."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

import psutil
from browser import app_fixture

from medfact.web.connections import HEAD_SECONDS

TIMEOUT = HEAD_SECONDS + 20
"""Seconds that a test waits for a server to give up on a slow client, with a margin for a busy machine."""


url = app_fixture("app_home", is_watched=True, MEDFACT_USER_HEADER="X-Forwarded-User")
"""Fixture: URL of a running app."""


def connect(url: str) -> socket.socket:
    """Opens a TCP connection to the host and port of a URL, with TIMEOUT."""
    parts = urlsplit(url)
    connection = socket.create_connection((str(parts.hostname), int(parts.port or 0)), timeout=TIMEOUT)
    connection.settimeout(TIMEOUT)
    return connection


def request_head(url: str, *lines: str, method: str = "GET", path: str = "/healthz") -> bytes:
    """Returns an HTTP request without a body. url: of the server, for the header Host. lines: more headers, "Name: value"."""
    return "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: {urlsplit(url).netloc}", *lines, "", ""]).encode()


def receive_all(connection: socket.socket) -> bytes:
    """Reads until the other end closes or resets the connection, and returns all bytes; b"" if it sends none."""
    received = b""
    try:
        while piece := connection.recv(1 << 16):
            received += piece
    except ConnectionResetError:
        pass
    return received


def find_app_process(url: str) -> psutil.Process:
    """Returns the process, started by this one, that listens on the port of a URL."""
    port = urlsplit(url).port
    children = psutil.Process().children(recursive=True)
    return next(
        child for child in children if any(c.laddr.port == port for c in child.net_connections() if c.status == "LISTEN")
    )
