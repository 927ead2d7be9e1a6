"""How much arrives: so many requests of one network address at the same time, which share the threads of the server, and so
many uploads at once and files and bytes an hour, of one visitor and of all; one file a form.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import ceil

from cachetools import LRUCache
from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from medfact.errors import MedfactError
from medfact.limits import Quota, allows_run_imports, is_public_server, limits
from medfact.web.pace import ADDRESS_TIMES, MOST_KEPT
from medfact.web.uploads import HOUR_SECONDS, Uploads, plain_name
from medfact.web.visitors import owner_of

SOON_SECONDS = 5
"""When to try again where others upload just now."""

HERE = "you and others at your network address"


RUN_ENDING = ".gz"
"""The ending of files that hold a run; no other file of visitors has it."""


def no_runs_from_files() -> str:
    """Why this server takes no runs from files; "" where it does."""
    if allows_run_imports():
        return ""
    return "This server imports no runs from files, because anybody may have written them. medfact on your own machine does."


class NotNow(MedfactError):
    """A request that may come again. seconds: after how many."""

    def __init__(self, problem: str, seconds: float) -> None:
        self.seconds = max(1, ceil(seconds))
        minutes = ceil(self.seconds / 60)
        wait = f"{self.seconds} seconds" if self.seconds < 120 else f"{minutes} minutes"
        super().__init__(problem, f"Try again in {'a second' if self.seconds == 1 else wait}.")


AT_ONCE, STREAMS_AT_ONCE = 12, 64
"""So many requests and streams of one address, on a public server. A stream tells how a run goes, or sends a finished file."""


class AtOnce:
    """Requests that are being answered, by address. most: of one; says: what they are, to one who has too many."""

    def __init__(self, most: int = AT_ONCE, says: str = "requests of your network address are being answered") -> None:
        self._busy: Counter[str] = Counter()
        self._most, self._says = most, says

    @contextmanager
    def one_more(self, address: str) -> Iterator[None]:
        """Meanwhile one more is answered. Raises NotNow where its address has many."""
        if not is_public_server():
            yield
            return
        if self._busy[address] >= self._most:
            raise NotNow(f"{self._most} {self._says}, which is the most at once.", 1)
        self._busy[address] += 1
        try:
            yield
        finally:
            self._busy[address] -= 1
            self._busy += Counter()  # without those at nought


class UploadGate:
    """Counts uploads of visitors, and of network addresses, which many visitors share. clock: seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._visitors, self._addresses = _Counts(1, "you", clock), _Counts(ADDRESS_TIMES, HERE, clock)
        self._lock = threading.Lock()

    @contextmanager
    def uploading(self, owner: str, megabytes: float, address: str = "") -> Iterator[None]:
        """Meanwhile a visitor uploads a body of so many megabytes. Raises NotNow where that may not begin."""
        keys = [(self._visitors, owner), *([(self._addresses, address)] if address else [])]
        with self._lock:
            if self._visitors.now.total() >= limits().in_all.uploads_at_once:
                raise NotNow("Many visitors upload files just now.", SOON_SECONDS)
            for counts, key in keys:
                counts.check(key, limits().quota_for(owner), megabytes)
            for counts, key in keys:
                counts.begin(key, megabytes)
        try:
            yield
        finally:
            with self._lock:
                for counts, key in keys:
                    counts.end(key)


class _Counts:
    """Uploads by key, of which each may have so many times what a visitor may. whom: the words of a refusal for it."""

    def __init__(self, times: float, whom: str, clock: Callable[[], float]) -> None:
        self._times, self._whom, self._clock = times, whom, clock
        self.now: Counter[str] = Counter()
        self._lately: LRUCache[str, deque[tuple[float, float]]] = LRUCache(MOST_KEPT)

    def begin(self, key: str, megabytes: float) -> None:
        self.now[key] += 1
        self._lately.setdefault(key, deque()).append((self._clock(), megabytes))

    def end(self, key: str) -> None:
        self.now[key] -= 1
        self.now += Counter()  # without those at nought

    def check(self, key: str, share: Quota, megabytes: float) -> None:
        """Raises NotNow where one more of so many megabytes may not begin."""
        lately, at, who = self._lately.get(key, deque()), self._clock(), self._whom.capitalize()
        while lately and at - lately[0][0] > HOUR_SECONDS:
            lately.popleft()
        if self.now[key] >= share.uploads_at_once * self._times:
            raise NotNow(f"{who} upload {self.now[key]} files just now, which is the most at once.", SOON_SECONDS)
        until = HOUR_SECONDS - (at - lately[0][0]) if lately else HOUR_SECONDS
        if len(lately) >= share.uploads_an_hour * self._times:
            raise NotNow(f"{who} have uploaded {len(lately)} files within an hour, which is the most.", until)
        if sum(size for _, size in lately) + megabytes > (most := share.megabytes_an_hour * self._times):
            raise NotNow(f"{most:,.0f} MB are the most that {self._whom} may upload within an hour.", until)


# ------------------------------------------------------------------------------------------------ the form

MOST_FIELDS = 8
"""Of a form, beside its file."""

NO_ROOM = 507
"""The status (Insufficient Storage) of an upload for which there is no room."""

WANTED = "Send one file, with its name, in the field “files” of a form."


class _UploadParser(MultiPartParser):
    """Reads the form of an upload. A file whose name says that it is none for this server is refused before its content."""

    def on_headers_finished(self) -> None:
        super().on_headers_finished()
        sent = self._current_part.file
        if sent is not None and plain_name(sent.filename or "").lower().endswith(RUN_ENDING) and (why := no_runs_from_files()):
            raise MultiPartException(why)


def routes(uploads: Uploads) -> APIRouter:
    """The address to which the page library sends files; its own is never reached."""
    router = APIRouter(include_in_schema=False)

    @router.post("/gradio_api/upload")
    async def upload(request: Request) -> Response:
        if not request.headers.get("content-type", "").startswith("multipart/form-data"):
            return PlainTextResponse(WANTED, status_code=400)
        try:
            form = await _UploadParser(request.headers, request.stream(), max_files=1, max_fields=MOST_FIELDS).parse()
        except MultiPartException as error:
            return PlainTextResponse(error.message, status_code=400)
        try:
            sent = form.get("files")
            if not isinstance(sent, UploadFile) or not (name := plain_name(sent.filename or "")):
                return PlainTextResponse(WANTED, status_code=400)
            path = await run_in_threadpool(uploads.put, owner_of(request), name, sent.file)
            return JSONResponse([uploads.name_of(path)])
        except MedfactError as error:
            return PlainTextResponse(error.public, status_code=NO_ROOM)
        finally:
            await form.close()

    return router
