"""A line of the log for each HTTP request, and an id that all lines of one request share."""

from __future__ import annotations

import logging
import secrets
import time
from typing import Any

from medfact.log_setup import request_id

_log = logging.getLogger(__package__)


class RequestLog:
    """ASGI middleware: logs method, path, status and milliseconds of each request at the debug level, and every exception.

    Queries, headers and bodies are left out: they hold keys, texts and cookies.
    """

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id.set(secrets.token_hex(4))
        began, status = time.monotonic(), 0

        async def noting_status(message: Any) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self.app(scope, receive, noting_status)
        finally:
            milliseconds = (time.monotonic() - began) * 1000
            _log.debug("%s %r answered %d in %.0f ms", scope["method"], scope["path"], status, milliseconds)
