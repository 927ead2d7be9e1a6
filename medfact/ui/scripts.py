"""The scripts that draw the pages, put at the top of every page: they are there before the page library builds anything."""

from __future__ import annotations

import gzip
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import plotly
from fastapi import Request, Response
from starlette.datastructures import MutableHeaders

ASSETS = Path(__file__).resolve().parents[2] / "assets" / "page"
ADDRESS = "/page/{name}.js"

AT_THE_TOP = {"clocks": "", **dict.fromkeys(("medfact", "runs", "compare"), " defer")}
"""Name → how it is run: `clocks` before anything else, the others in order, before the page library's module."""

FILES = {name: ASSETS / f"{name}.js" for name in AT_THE_TOP}
FILES["plotly.min"] = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"

TOP = "".join(f'<script src="{ADDRESS.format(name=name)}"{how}></script>' for name, how in AT_THE_TOP.items()).encode()


@cache
def _packed(name: str) -> tuple[bytes, str]:
    content = FILES[name].read_bytes()
    return gzip.compress(content, compresslevel=6), f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def answer(name: str, request: Request) -> Response:
    """The script of this name, compressed; nothing where the browser has it already. It asks each time: a new version of the
    application must not be drawn by an old script."""
    if name not in FILES:
        return Response(status_code=404)
    packed, tag = _packed(name)
    headers = {"ETag": tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(gzip.decompress(packed), media_type="text/javascript", headers=headers)
    return Response(packed, media_type="text/javascript", headers={**headers, "Content-Encoding": "gzip"})


class WithScripts:
    """The application, the head of each page begun with the scripts."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        begun: list[Any] = []

        async def sending(message: Any) -> None:
            if message["type"] == "http.response.start" and _is_page(message):
                begun.append(message)
                return
            if begun:
                start = begun.pop()
                if not message.get("more_body"):
                    message = {**message, "body": message["body"].replace(b"<head>", b"<head>" + TOP, 1)}
                    MutableHeaders(scope=start)["content-length"] = str(len(message["body"]))
                await send(start)
            await send(message)

        await self.app(scope, receive, sending if scope["type"] == "http" else send)


def _is_page(message: Any) -> bool:
    headers = MutableHeaders(scope=message)
    return headers.get("content-type", "").startswith("text/html") and "content-encoding" not in headers
