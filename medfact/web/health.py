"""Whether the page can serve: for whoever starts and watches the server; and what it says of a disk without room."""

from __future__ import annotations

import errno
import logging
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from cachetools import TTLCache, cached
from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from medfact.errors import StoreError
from medfact.store.engine import file_of
from medfact.web.services import DEMONSTRATION_OWNER, Services

_log = logging.getLogger(__package__)

KEPT_SECONDS = 1.0
"""How long an answer holds: anybody may ask, any number of times."""


def routes(services: Services) -> APIRouter:
    """`/healthz`: 200 where the database can be read and the disk written, or could a moment ago, else 503 and why."""
    router = APIRouter(include_in_schema=False)
    problem = kept_for_a_moment(lambda: problem_of(services))

    @router.api_route("/healthz", methods=["GET", "HEAD"])
    def health() -> PlainTextResponse:
        found = problem()
        return PlainTextResponse(found or "ok", status_code=503 if found else 200, headers={"Cache-Control": "no-store"})

    return router


def problem_of(services: Services) -> str:
    """Why the server cannot do its work, in words of our own: what is stored is quoted to nobody. "" where it can."""
    try:
        services.store.runs(DEMONSTRATION_OWNER)
    except StoreError as error:
        return error.public
    except Exception:  # a record that is none
        _log.exception("The list of runs cannot be read.")
        return "The database cannot be used: it is damaged."
    file = file_of(services.store.url)
    folders = {services.uploads.folder, *([file.absolute().parent] if file else [])}
    return next(filter(None, map(trouble_with, folders)), "")


def kept_for_a_moment(look: Callable[[], str], clock: Callable[[], float] = time.monotonic) -> Callable[[], str]:
    """The same, looked up once in KEPT_SECONDS, however many ask."""
    found: Callable[[], str] = cached(TTLCache(1, KEPT_SECONDS, clock), condition=threading.Condition())(look)
    return found


# ------------------------------------------------------------------------------------------------ the disk

NO_ROOM = "The server's disk is full."
CANNOT_WRITE = "The server cannot write to its disk."

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_CLOSED = {errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO}

PROBE_BYTES = 1 << 16
"""A disk that does not take so many bytes is full."""


def trouble(error: OSError) -> str:
    """What to say of an error of the disk; "" of any other."""
    return NO_ROOM if error.errno in _FULL else CANNOT_WRITE if error.errno in _CLOSED else ""


def trouble_with(folder: Path) -> str:
    """Why nothing can be written in a folder; "" where it can: a file is written, and removed."""
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            if file.write(b"\1" * PROBE_BYTES) < PROBE_BYTES:
                return NO_ROOM
    except OSError as error:
        return trouble(error) or CANNOT_WRITE
    return ""


def refused(_: Request, error: Exception) -> Response:
    """The answer where the disk is in the way. Any other error of the system stays one."""
    said = trouble(error) if isinstance(error, OSError) else ""
    if not said:
        raise error
    return PlainTextResponse(f"{said} Try again later, or tell whoever runs it.", status_code=507)
