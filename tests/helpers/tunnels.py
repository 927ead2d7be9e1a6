"""A tunnel as of `ssh -R` or socat: connections to its end look like connections from this machine."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit


@contextmanager
def open_tunnel(to: str) -> Iterator[str]:
    """The address of its other end, which passes on every byte as it is."""
    port = int(urlsplit(to).port or 0)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def listen() -> None:
            with suppress(OSError):
                while True:
                    outer, _ = listening.accept()
                    inner = socket.create_connection(("127.0.0.1", port))
                    for ends in ((outer, inner), (inner, outer)):
                        threading.Thread(target=_pass_on, args=ends, daemon=True).start()

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        listening.shutdown(socket.SHUT_RDWR)
    thread.join()


def _pass_on(source: socket.socket, to: socket.socket) -> None:
    with suppress(OSError), source, to:
        while piece := source.recv(65_536):
            to.sendall(piece)
