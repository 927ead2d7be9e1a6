"""The scripts that draw the pages, put at the top of every page: they are there before the page library builds anything.

The library's own scripts and styles, some 80 for a page, are sent from here too: packed once and kept, where the library would
open and pack each file anew for every visitor.
"""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from functools import cache
from pathlib import Path
from typing import Any

import gradio
import plotly
from fastapi import Request, Response
from starlette.datastructures import MutableHeaders

from medfact.assets import ASSETS

PAGE = ASSETS / "page"
ADDRESS = "/page/{name}.js"

AT_THE_TOP = {"clocks": "", **dict.fromkeys(("medfact", "news", "runs", "compare"), " defer")}
"""Name → how it is run: `clocks` before anything else, the others in order, before the page library's module."""

FILES = {name: PAGE / f"{name}.js" for name in AT_THE_TOP}
FILES["plotly.min"] = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"

LIBRARY_ADDRESS = "/assets/{name}"
LIBRARY_FOLDER = Path(gradio.__file__).parent / "templates" / "frontend" / "assets"
LIBRARY = {path.name: path for path in LIBRARY_FOLDER.glob("*") if path.is_file()}
"""The page library's files; each name carries a fingerprint of what is in it."""

TYPES = {".js": "text/javascript", ".css": "text/css"}
"""What some systems call by other names."""

TOP = "".join(f'<script src="{ADDRESS.format(name=name)}"{how}></script>' for name, how in AT_THE_TOP.items()).encode()


@cache
def _packed(path: Path) -> tuple[bytes, str]:
    content = path.read_bytes()
    return gzip.compress(content, compresslevel=6), f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def script(name: str, request: Request) -> Response:
    """The script of this name. The browser asks each time whether there is a newer one: a new version of the application must
    not be drawn by an old script."""
    return _answer(FILES.get(name), request, "no-cache")


def of_library(name: str, request: Request) -> Response:
    """A file of the page library's, for good: another version of it has another name."""
    return _answer(LIBRARY.get(name), request, "public, max-age=31536000, immutable")


def _answer(path: Path | None, request: Request, kept: str) -> Response:
    """A file, compressed; nothing where the browser has it already. `kept` says how long the browser may keep it."""
    if path is None:
        return Response(status_code=404)
    packed, tag = _packed(path)
    headers = {"ETag": tag, "Cache-Control": kept, "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    media_type = TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0]
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(gzip.decompress(packed), media_type=media_type, headers=headers)
    return Response(packed, media_type=media_type, headers={**headers, "Content-Encoding": "gzip"})


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
