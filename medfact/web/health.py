"""Whether the page can serve: for whoever starts and watches the server."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse

from medfact.errors import StoreError
from medfact.store.engine import file_of
from medfact.web.disk import trouble_with
from medfact.web.services import DEMONSTRATION_OWNER, Services

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
        traceback.print_exc(file=sys.stderr)
        return "The database cannot be used: it is damaged."
    file = file_of(services.store.url)
    folders = {services.uploads.folder, *([file.absolute().parent] if file else [])}
    return next(filter(None, map(trouble_with, folders)), "")


def kept_for_a_moment(look: Callable[[], str], clock: Callable[[], float] = time.monotonic) -> Callable[[], str]:
    """The same, looked up once in KEPT_SECONDS, however many ask."""
    lock = threading.Lock()
    kept, until = "", float("-inf")

    def found() -> str:
        nonlocal kept, until
        with lock:
            if clock() >= until:
                kept = look()
                until = clock() + KEPT_SECONDS
            return kept

    return found
