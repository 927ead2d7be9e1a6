"""A tunnel like that of `ssh -R` or socat: connections through it come from this machine."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit


@contextmanager
def open_tunnel(url: str) -> Iterator[str]:
    """Opens a tunnel to the port of a URL on this machine while the context is active, and yields the tunnel's URL.

    It forwards every byte unchanged, in both directions.
    """
    port = int(urlsplit(url).port or 0)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def listen() -> None:
            with suppress(OSError):
                while True:
                    outer, _ = server.accept()
                    inner = socket.create_connection(("127.0.0.1", port))
                    for ends in ((outer, inner), (inner, outer)):
                        threading.Thread(target=_forward, args=ends, daemon=True).start()

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        server.shutdown(socket.SHUT_RDWR)
    thread.join()


def _forward(source: socket.socket, target: socket.socket) -> None:
    """Sends all that one connection receives to the other, and closes both at the end."""
    with suppress(OSError), source, target:
        while piece := source.recv(65_536):
            target.sendall(piece)
