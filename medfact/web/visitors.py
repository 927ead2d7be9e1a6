"""Who visits: each browser is an owner of its own, by a cookie that says nothing else; a run's link opens it to anybody."""

from __future__ import annotations

import os
import re
import secrets
from typing import Any

from fastapi import Request, Response
from starlette.datastructures import MutableHeaders

from medfact.models.services.policy import is_public_server
from medfact.spec import LOCAL_OWNER

COOKIE = "medfact-visitor"
NOBODY = "nobody"
"""The owner of a request without a cookie: it may look, and do nothing."""
NO_COOKIE = "This page needs its cookie, which tells your runs and files from others'. Allow cookies for it, and load it again."
YEAR = 365 * 24 * 3600


def owner_of(request: Any) -> str:
    """The owner that a request comes from; `MEDFACT_OWNER` makes all one, for a machine that one person uses."""
    if one := os.environ.get("MEDFACT_OWNER"):
        return one
    cookie = str(request.cookies.get(COOKIE, ""))
    if re.fullmatch(r"[0-9a-f]{32}", cookie):
        return cookie
    return NOBODY


def owners_seen_by(request: Any) -> tuple[str, ...]:
    """Whose runs a request may list: its own, and, from this very machine, those of its command line."""
    here = request.client is not None and request.client.host in {"127.0.0.1", "::1"}
    forwarded = "x-forwarded-for" in request.headers or "forwarded" in request.headers
    alone = here and not forwarded and not is_public_server()
    return (owner_of(request), LOCAL_OWNER) if alone else (owner_of(request),)


def welcome(request: Request, headers: MutableHeaders) -> None:
    """Gives a browser that has none its cookie, with the page itself."""
    if owner_of(request) != NOBODY or "text/html" not in headers.get("content-type", ""):
        return
    # A Space is shown inside a page of another site, which only these cookies survive.
    inside = bool(os.environ.get("SPACE_ID"))
    made = Response()
    made.set_cookie(
        COOKIE, secrets.token_hex(16), max_age=YEAR, httponly=True, secure=inside, samesite="none" if inside else "lax"
    )
    # without "Partitioned" browsers drop it there
    headers.append("set-cookie", made.headers["set-cookie"] + ("; Partitioned" if inside else ""))
