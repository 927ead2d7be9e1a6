"""The host: the person who started this server, which prints an address with a token, as Jupyter does.

A request that brings the token is the host's, wherever it comes from. No network address counts: a tunnel or a proxy on this
machine lends its own to every stranger.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, urlencode

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from medfact.errors import Mistake
from medfact.limits import is_public_server
from medfact.models.services.policy import shared_budget
from medfact.web.clients import scheme_of

FIELD = "token"
"""The field of the printed address."""

COOKIE_SECONDS = 30 * 24 * 3600

_GIVEN = re.compile(r"[A-Za-z0-9_-]{8,200}")


@cache
def token() -> str:
    """The token of this server: MEDFACT_TOKEN, or a random one until it ends. Raises Mistake where that cannot be one."""
    given = os.environ.get("MEDFACT_TOKEN", "").strip()
    if given and not _GIVEN.fullmatch(given):
        raise Mistake(
            "MEDFACT_TOKEN is no token.", "Set it to 8 to 200 letters, digits, - or _, or unset it: a random one is printed."
        )
    return given or secrets.token_urlsafe(24)


def query_of_host() -> str:
    """The query of the printed address; "" on a public server. Raises Mistake for settings that cannot be."""
    if is_public_server():
        return ""
    shared_budget()
    return f"?{FIELD}={token()}"


def is_host(request: Any) -> bool:
    """Recognizes the host by the cookie, or by `Authorization: Bearer TOKEN` from a program."""
    if is_public_server():
        return False
    kind, _, sent = request.headers.get("authorization", "").partition(" ")
    return _is_token(request.cookies.get(_cookie(), "")) or (kind.lower() == "bearer" and _is_token(sent.strip()))


def opened(request: Request) -> Response | None:
    """The answer to a printed address: the host's cookie, and the way to the same page without the token, which so stays in no
    history. None for any other address, and on a public server.
    """
    if is_public_server() or request.method not in {"GET", "HEAD"} or FIELD not in request.query_params:
        return None
    rest = [(name, value) for name, value in parse_qsl(request.url.query, keep_blank_values=True) if name != FIELD]
    answer = RedirectResponse(request.scope["path"] + (f"?{urlencode(rest, safe=',:')}" if rest else ""), status_code=303)
    answer.headers["cache-control"] = "no-store"
    if _is_token(request.query_params[FIELD]):
        is_secure = scheme_of(request.scope) == "https"
        answer.set_cookie(_cookie(), token(), max_age=COOKIE_SECONDS, httponly=True, samesite="lax", secure=is_secure)
    return answer


def _is_token(text: str) -> bool:
    return hmac.compare_digest(text.encode(), token().encode())


def _cookie() -> str:
    """The name of the host's cookie. Servers at other ports of a machine have others, since browsers send each of them all."""
    return f"medfact-host-{hashlib.sha256(token().encode()).hexdigest()[:8]}"
