"""What every answer of the server carries: nothing is loaded from, or sent to, another host; and a browser's cookie."""

from __future__ import annotations

import os
from typing import Any

from fastapi import Request
from starlette.datastructures import MutableHeaders

from medfact.web.visitors import welcome

POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'self'; "
    "form-action 'self'; frame-ancestors 'self'"
)
HUB = " https://huggingface.co"
"""Whose pages show a Space in a frame."""


def own_headers() -> dict[str, str]:
    """What every answer says: nothing of another host is loaded, and no other site shows the page in a frame."""
    return {
        "Content-Security-Policy": POLICY + (HUB if os.environ.get("SPACE_ID") else ""),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
    }


OPEN_TO_ALL = ("access-control-allow-origin", "access-control-allow-credentials")
"""With these the page library lets every origin read; no other page may."""


class WithHeaders:
    """The application, its answers given these headers as they begin: a visitor who leaves meanwhile disturbs nothing."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.headers = own_headers()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def sending(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name in OPEN_TO_ALL:
                    del headers[name]
                headers.update(self.headers)
                welcome(Request(scope), headers)
            await send(message)

        await self.app(scope, receive, sending if scope["type"] == "http" else send)
