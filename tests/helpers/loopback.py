"""HTTP servers on loopback, in a thread, for handlers that other helpers and tests define."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


class WholeReplies:
    """Mixin of a handler: it sends the head and the body of a reply together, and logs nothing.

    Apart, the body would wait 40 ms for the client to acknowledge the head.
    """

    wbufsize = -1
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        """Logs nothing."""


class LoopbackServer(ThreadingHTTPServer):
    """Context manager that serves at a free port, in threads."""

    daemon_threads = True
    request_queue_size = 256  # with fewer, the socket refuses many simultaneous calls

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)

    @property
    def url(self) -> str:
        """Address of the server."""
        return f"http://127.0.0.1:{self.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()
