"""Which of the page library's addresses programs use, and what the library gets of a call: nothing that a caller sent but
the number of a function and the name of a session. What is said stays with the request, in memory, until the function takes it.

The library would keep what it gets, look for files in it, and fetch addresses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from typing import Any
from urllib.parse import parse_qs

import orjson

from medfact.errors import Mistake
from medfact.web.api.endpoints import ENDPOINTS, Endpoint

API = "/gradio_api"

TOOLS = f"{API}/mcp"
"""Where agents find the endpoints as tools."""

_CALL = re.compile(rf"{API}/call(?P<named>/v2)?/(?P<name>{'|'.join(ENDPOINTS)})/?")
_JOIN = re.compile(rf"{API}/queue/join/?")
_ANSWER = re.compile(rf"{API}/call(/v2)?/({'|'.join(ENDPOINTS)})/[0-9a-f]{{32}}")
SESSION, SCHEMA = f"{API}/queue/data", f"{API}/info"
_SESSION = re.compile(r"[A-Za-z0-9_-]{1,64}")


def has_tools() -> bool:
    """Whether agents find tools here."""
    return find_spec("mcp") is not None


CALL_BYTES = 512_000
"""The largest body of a call."""


def is_for_programs(path: str) -> bool:
    """Whether an address is one that programs call, or read an answer at."""
    return is_call(path) or path in {SESSION, SCHEMA, f"{SCHEMA}/"} or _ANSWER.fullmatch(path) is not None


def is_call(path: str) -> bool:
    """Whether an endpoint or a tool is called at an address."""
    return path.rstrip("/") == TOOLS or any(one.fullmatch(path) for one in (_CALL, _JOIN))


def taken(path: str, sent: Any) -> tuple[dict[str, Any], bytes]:
    """What a caller says to an endpoint, not checked yet, and what the library gets of the body. Raises Mistake."""
    if not isinstance(sent, dict):
        raise Mistake("A call is a mapping.", "See docs/api.md.")
    if (called := _CALL.fullmatch(path)) is None:
        endpoint = _of_number(sent.get("fn_index"))
        if not isinstance(session := sent.get("session_hash"), str) or not _SESSION.fullmatch(session):
            raise Mistake("There is no session_hash of letters and digits.")
        number = list(ENDPOINTS).index(endpoint.name)
        return _said(endpoint, sent), _body(endpoint, fn_index=number, session_hash=session)
    endpoint = ENDPOINTS[called["name"]]
    if called["named"]:
        return sent, orjson.dumps(dict.fromkeys(endpoint.signature.parameters))
    return _said(endpoint, sent), _body(endpoint)


def _of_number(number: object) -> Endpoint:
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(ENDPOINTS):
        raise Mistake("There is no such function.", "Call an endpoint by its name.")
    return list(ENDPOINTS.values())[number]


def _said(endpoint: Endpoint, sent: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(data := sent.get("data"), list):
        raise Mistake("The values of a call are a list, under data.")
    return endpoint.named(data)


def _body(endpoint: Endpoint, **more: Any) -> bytes:
    return orjson.dumps({"data": [None] * len(endpoint.signature.parameters), **more})


def read_at(path: str, query: bytes) -> str | None:
    """The call, or the session of calls, whose answer is read at an address; None where none is."""
    if path == SESSION:
        with suppress(ValueError):  # there are too many fields
            said = parse_qs(query.decode("latin-1"), max_num_fields=64).get("session_hash", ["-"])[0]
            return said if _SESSION.fullmatch(said) else "-"
        return "-"
    return path.rpartition("/")[2] if _ANSWER.fullmatch(path) else None


def query_for(path: str, query: bytes) -> bytes:
    """What the library gets of the query of an address: the session whose answers are read."""
    return f"session_hash={read_at(path, query)}".encode() if path == SESSION else b""
