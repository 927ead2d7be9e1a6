"""What the page library gets to see of a request: it believes whatever is said of addresses, and keeps what it is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from medfact.web.clients import is_behind_proxy

OURS = re.compile(r"/(updates|healthz|sign-in|sign-out|login/callback)|/(export|download|page)/.+|/gradio_api/upload/?")
"""The addresses that this server answers itself. All others are the library's."""

READ = {b"host", b"accept", b"accept-encoding", b"content-length", b"if-none-match", b"if-modified-since", b"user-agent"}
"""The headers that the library gets. Pages ask for no ranges: its answers to them repeat the request's headers."""

FORWARDED = {b"x-forwarded-host", b"x-forwarded-proto"}
"""Of which it makes the address of its pages; they count where a proxy is known to write them."""


def as_seen(scope: Any, is_own_host: Callable[[str], bool]) -> Any:
    """A request as its answerer sees it: whole where that is this server's own code, else without what pages do not send."""
    if OURS.fullmatch(scope["path"]):
        return scope
    return {**scope, "headers": list(_headers(scope, is_own_host)), "query_string": b""}


def _headers(scope: Any, is_own_host: Callable[[str], bool]) -> Iterator[tuple[bytes, bytes]]:
    for name, value in scope["headers"]:
        if name in READ or (name in FORWARDED and _counts(name, value.decode("latin-1"), is_own_host)):
            yield name, value


def _counts(name: bytes, value: str, is_own_host: Callable[[str], bool]) -> bool:
    return is_behind_proxy() and (value in {"http", "https"} if name == b"x-forwarded-proto" else is_own_host(value))
