"""The page's own files: its script, its style, and the plotting library from its wheel."""

from __future__ import annotations

import gzip
import hashlib
from functools import cache
from pathlib import Path

import plotly
from fastapi import APIRouter, Request, Response

from medfact.assets import ASSETS

PAGE = ASSETS / "page"
SCRIPTS = {"medfact": PAGE / "medfact.js", "plotly.min": Path(plotly.__file__).parent / "package_data" / "plotly.min.js"}
SCRIPT = '<script src="page/medfact.js" defer></script>'


def style() -> str:
    """The style sheet of the pages."""
    return (PAGE / "medfact.css").read_text(encoding="utf-8")


@cache
def _packed(path: Path) -> tuple[bytes, bytes, str]:
    content = path.read_bytes()
    return content, gzip.compress(content, compresslevel=6), f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def routes() -> APIRouter:
    """The addresses of the scripts: compressed; nothing where the browser has one already. It asks each time: a new version of
    the application must not be drawn by an old script.
    """
    router = APIRouter(include_in_schema=False)

    @router.get("/page/{name}.js")
    def script(name: str, request: Request) -> Response:
        if name not in SCRIPTS:
            return Response(status_code=404)
        content, packed, tag = _packed(SCRIPTS[name])
        headers = {"ETag": tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(content, media_type="text/javascript", headers=headers)
        return Response(packed, media_type="text/javascript", headers={**headers, "Content-Encoding": "gzip"})

    return router
