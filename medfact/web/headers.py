"""What every answer of the server carries: nothing is loaded from, or sent to, another host; and a browser's cookie."""

from __future__ import annotations

import gzip
import os
import secrets
from typing import Any
from urllib.parse import urlsplit

from fastapi import Request
from starlette.datastructures import MutableHeaders

from medfact.limits import is_public_server
from medfact.web.clients import scheme_of
from medfact.web.pace import EMBED, kind_of
from medfact.web.visitors import welcome

POLICY = (
    "default-src 'self'; script-src 'self'{scripts}; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'self'; "
    "form-action 'self'; frame-ancestors 'self'"
)
"""Styles may be inline: the page library and the plots write them so. Scripts are files of this server; besides these a page
runs those that carry its nonce, and the library makes functions of the `js=` texts of its inputs, which a policy calls eval."""

HUB = " https://huggingface.co"
"""Whose pages show a Space in a frame."""

EMBEDDED = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors *"
"""Of the view of a published run that any site may show in a frame: it loads nothing, and has no form and no script."""

PERMISSIONS = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"

OPEN_TO_ALL = ("access-control-allow-origin", "access-control-allow-credentials")
"""With these the page library lets every origin read; no other page may."""

GZIP_LEVEL = 4


def own_headers(nonce: str = "") -> dict[str, str]:
    """What every answer says: nothing of another host is loaded, and no other site shows it in a frame. nonce: of a page."""
    scripts = f" 'nonce-{nonce}' 'unsafe-eval'" if nonce else ""
    return {
        "Content-Security-Policy": POLICY.format(scripts=scripts) + (HUB if os.environ.get("SPACE_ID") else ""),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Permissions-Policy": PERMISSIONS,
    }


class WithHeaders:
    """The application, its answers given these headers as they begin: a visitor who leaves meanwhile disturbs nothing."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.headers = own_headers()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
        elif EMBED.fullmatch(scope["path"]):
            await self.app(without_cookies(scope), receive, lambda message: send(self._embedded(scope, message)))
        elif kind_of(scope["path"]) == "page":
            await self._page(scope, receive, send)
        else:
            await self.app(scope, receive, lambda message: send(self._with_headers(scope, message)))

    async def _page(self, scope: Any, receive: Any, send: Any) -> None:
        """Answers with a page as a whole."""
        start: dict[str, Any] = {}
        body = bytearray()

        async def take(message: Any) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
            elif message["type"] != "http.response.body":
                await send(message)
            else:
                body.extend(message.get("body", b""))
                if not message.get("more_body"):
                    whole = _finished(scope, start, bytes(body))
                    await send(start)
                    await send({"type": "http.response.body", "body": whole})

        plain = [header for header in scope["headers"] if header[0] != b"accept-encoding"]  # it is read here
        await self.app({**scope, "headers": plain}, receive, take)

    def _embedded(self, scope: Any, message: Any) -> Any:
        """The view itself may stand in any frame, and sets no cookie; what is said instead of it is as all else."""
        message = self._with_headers(scope, message)
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            del headers["set-cookie"]
            if message["status"] == 200:
                headers["Content-Security-Policy"] = EMBEDDED
        return message

    def _with_headers(self, scope: Any, message: Any) -> Any:
        if message["type"] == "http.response.start":
            finish(scope, MutableHeaders(scope=message), self.headers)
        return message


def without_cookies(scope: Any) -> Any:
    """A request as of a browser that nobody knows."""
    return {**scope, "headers": [header for header in scope["headers"] if header[0] != b"cookie"]}


def finish(scope: Any, headers: MutableHeaders, own: dict[str, str]) -> None:
    """Puts an answer's headers in order."""
    for name in OPEN_TO_ALL:
        del headers[name]
    headers.update(own)
    if is_public_server() and scheme_of(scope) == "https":
        headers["Strict-Transport-Security"] = "max-age=31536000"
    if location := headers.get("location"):
        headers["location"] = _within(scope, location)
    welcome(Request(scope), headers)


def _within(scope: Any, location: str) -> str:
    """Where a redirect leads: within this server as a path, and under the prefix that a reverse proxy has stripped."""
    parts = urlsplit(location)
    within = parts.netloc == Request(scope).headers.get("host", "") or (not parts.netloc and parts.path.startswith("/"))
    if not within:
        return location
    prefix = os.environ.get("GRADIO_ROOT_PATH", "").rstrip("/")
    path = parts.path if not prefix or parts.path.startswith(f"{prefix}/") else prefix + parts.path
    return path + (f"?{parts.query}" if parts.query else "")


def _finished(scope: Any, start: Any, body: bytes) -> bytes:
    """The body of an answer to a request for a page, its scripts marked as the page's own; its headers are put in order."""
    headers = MutableHeaders(scope=start)
    if not headers.get("content-type", "").startswith("text/html"):
        finish(scope, headers, own_headers())
        return body
    nonce = secrets.token_urlsafe(18)
    body = _marked(body, nonce)
    finish(scope, headers, own_headers(nonce))
    headers["cache-control"] = "no-store"
    headers.add_vary_header("Accept-Encoding")
    if "gzip" in Request(scope).headers.get("accept-encoding", ""):
        body = gzip.compress(body, GZIP_LEVEL)
        headers["content-encoding"] = "gzip"
    if scope["method"] != "HEAD":
        headers["content-length"] = str(len(body))
    return body


def _marked(page: bytes, nonce: str) -> bytes:
    """A page whose scripts carry a nonce. What is within them (the page's description, as JSON) holds no script's beginning."""
    return page.replace(b"<script", f'<script nonce="{nonce}"'.encode()).replace(
        b'href="/manifest.json"', b'href="manifest.json"'
    )
