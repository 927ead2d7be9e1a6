"""Which requests the server takes: sent to its own name, by its own pages, to an address that they use, and not too large.

The page library sees little of them: it believes whatever is said of addresses, and keeps what it is asked for.
"""

from __future__ import annotations

import asyncio
import gzip
import ipaddress
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, nullcontext, suppress
from typing import Any
from urllib.parse import urlsplit

import orjson
from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import PlainTextResponse
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect

from medfact.errors import Mistake
from medfact.limits import acting_as_host, is_public_server
from medfact.reviews.invitations import invitation_of
from medfact.web.api import calls
from medfact.web.api.caller import caller_of
from medfact.web.clients import address_of, is_behind_proxy, name_in, scheme_of, warn_of_unread_addresses
from medfact.web.host import is_host, opened
from medfact.web.pace import BUTTON, EMBED, Pace, kind_of
from medfact.web.pages.every import PAGES
from medfact.web.turns import Turns
from medfact.web.upload_gate import NO_ROOM, STREAMS_AT_ONCE, AtOnce, NotNow, UploadGate
from medfact.web.uploads import LARGEST_UPLOAD_BYTES, MEGABYTE, Uploads
from medfact.web.visitors import NOBODY, owner_of, user_header, welcome, why_nobody

UPDATE_BYTES = 64_000
UPLOAD_BYTES = LARGEST_UPLOAD_BYTES + 100_000
"""The largest body of a question or of anything else that a page sends, and of an upload (a file, and its frame)."""

RECEIVED_BYTES = 1_000_000
"""A body that is refused is received to its end up to this size, so that whoever sent it surely reads why."""

BODY_SECONDS, PIECE_SECONDS, UPLOAD_SECONDS = 20.0, 30.0, 900.0
"""How long the body of a question may take to arrive, the next piece of an upload, and a whole upload."""

UPLOAD = "/gradio_api/upload"
FILE = "/gradio_api/file="

USED = re.compile(
    r"/(updates|healthz|config|theme\.css|favicon\.ico|robots\.txt|manifest\.json)"
    r"|/sign-in|/sign-out|/login/callback"
    r"|/(export|download)/[^/]{1,400}(/[^/]{1,100})?"
    r"|/(page|assets|static)/[\w./@+-]{1,200}"
    r"|/gradio_api/upload/?"
    r"|/gradio_api/file=.{1,4000}"
)
"""The addresses that pages use beside their own; those of programs are in `api/calls.py`. The page library has more: other
events, streams that never end, the progress of uploads, which it keeps for ever under whatever name is asked for, and others
that write a page's state into files or fetch addresses."""


def is_used(path: str) -> bool:
    """Whether a page, what pages use, or what programs use has this address."""
    if any(used.fullmatch(path) for used in (USED, EMBED)) or calls.is_for_programs(path):
        return True
    return any(path in (page.path, f"{page.path}/") for page in PAGES.values())


SENT_ONCE = ("host", "origin", "sec-fetch-site", "content-type", "authorization")
"""Headers that decide who asks and whether they may. Sent twice, two who read a request could believe two things."""

_SPACE_NAME = re.compile(r"[a-z0-9-]+\.(static\.)?hf\.space")


def own_places() -> frozenset[str]:
    """The names of this server besides "localhost", some with a port: `MEDFACT_HOSTS`, and what a Space is called."""
    given = f"{os.environ.get('MEDFACT_HOSTS', '')},{os.environ.get('SPACE_HOST', '')}"
    return frozenset(name.strip().lower() for name in given.split(",") if name.strip())


def is_own_host(host: str) -> bool:
    """Whether a Host header names this server. A number always may: only a name can be made to point elsewhere later."""
    name = name_in(host)
    try:
        ipaddress.ip_address(name)
    except ValueError:
        on_space = bool(os.environ.get("SPACE_ID")) and _SPACE_NAME.fullmatch(name) is not None
        return name == "localhost" or name in set(map(name_in, own_places())) or on_space
    return True


def is_own_page(headers: Headers) -> bool:
    """Whether a request that may change something comes from a page of this server, or from no page at all. A page at another
    port of the same host is another's."""
    origin = headers.get("origin")
    if headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}:
        return False
    if origin is None:
        return True
    sent_from = origin.partition("://")[2].lower()
    return sent_from == headers.get("host", "").lower() or sent_from in own_places()


class Guarded:
    """The application behind a door: what it never gets is answered here."""

    def __init__(
        self,
        app: Any,
        uploads: Uploads,
        has_answer: Callable[[str], bool] = lambda _: False,
        check_file: Callable[[str, float, str], None] = lambda *_: None,
    ) -> None:
        """has_answer: whether there is something to read of a call, or of a session of calls. check_file: raises Mistake where
        an owner's upload of so many bytes from an address has no room.
        """
        self.app, self.uploads, self.has_answer, self.check_file = app, uploads, has_answer, check_file
        self._pace, self._gate = Pace(), UploadGate()
        self._answered, self._called_now = AtOnce(), AtOnce()
        self._sent = AtOnce(STREAMS_AT_ONCE, "answers are being sent to your network address")
        self._turns = Turns()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})  # no page opens one
        else:
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        if not is_behind_proxy() and "x-forwarded-for" in Headers(scope=scope):
            warn_of_unread_addresses()
        if (refusal := self._refusal(Request(scope))) is not None:
            await _refuse(refusal, scope, receive, send)
        else:
            answer = self._upload if scope["path"].rstrip("/") == UPLOAD else self._bounded
            with acting_as_host(is_host(Request(scope))):
                await answer(self._by_its_path(scope), receive, send)

    def _by_its_path(self, scope: Any) -> Any:
        """A request for a visitor's file as the library knows that; of any other address, as it came."""
        name = scope["path"].removeprefix(FILE)
        return scope if name == scope["path"] else {**scope, "path": f"{FILE}{(self.uploads.folder / name).as_posix()}"}

    def _refusal(self, request: Request) -> Response | None:
        path, headers = request.scope["path"], request.headers
        if twice := [name for name in (*SENT_ONCE, user_header()) if len(headers.getlist(name)) > 1]:
            return PlainTextResponse(f"The header {twice[0]} came twice.", status_code=400)
        if not is_own_host(headers.get("host", "")):
            return PlainTextResponse("This server does not answer to that name; see MEDFACT_HOSTS.", status_code=421)
        if (refusal := _not_here(path, request)) is not None:
            return refusal
        if (refusal := self._too_often(kind_of(path), request)) is not None:
            return refusal
        if request.method not in {"GET", "HEAD"} and not is_own_page(headers):
            return PlainTextResponse("Another site's page may not do that.", status_code=403)
        if path.rstrip("/") == UPLOAD and owner_of(request) == NOBODY:
            return PlainTextResponse(why_nobody(), status_code=403)
        if absent := self._absent(path, request):
            return PlainTextResponse(absent, status_code=404)
        if (length := headers.get("content-length", "")).isdecimal() and int(length) > most_bytes(path):
            return _too_large(path)
        return None

    def _absent(self, path: str, request: Request) -> str:
        """Why there is nothing at an address that names a file, or the answer to a call."""
        if path.startswith(FILE) and not self.uploads.has(owner_of(request), path.removeprefix(FILE)):
            return "There is no such file of yours."
        asked = calls.read_at(path, request.scope["query_string"])
        return "There is no such answer: it was read already, or is too old." if asked and not self.has_answer(asked) else ""

    def _too_often(self, kind: str, request: Request) -> Response | None:
        """Counts a request of a kind; the refusal where there were too many lately."""
        seconds = self._pace.wait(kind, owner_of(request), address_of(request.scope))
        return _not_now(NotNow("That is too much at once.", seconds)) if seconds else None

    async def _bounded(self, scope: Any, receive: Any, send: Any) -> None:
        """Reads a body before anybody else does, as far as it may go."""
        try:
            body = await asyncio.wait_for(_body(receive, most_bytes(scope["path"])), BODY_SECONDS)
        except TimeoutError:
            await PlainTextResponse("That took too long to arrive.", status_code=408)(scope, receive, send)
            return
        if body is None:
            return  # whoever asked has gone
        if len(body) > most_bytes(scope["path"]):
            await _too_large(scope["path"])(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        read = self._read(scope, body) if scope["method"] == "POST" else body
        if isinstance(read, Response):
            await read(scope, receive, send)
            return

        try:
            with ExitStack() as answering, self._sent.one_more(address_of(scope)) if _is_sent_long(scope) else nullcontext():
                if _may_take_long(scope):
                    answering.enter_context(self._answered.one_more(address_of(scope)))

                async def answer() -> None:
                    whole = [{"type": "http.request", "body": read, "more_body": False}]

                    async def receive_whole() -> Any:
                        return whole.pop() if whole else await receive()

                    async def send_noted(message: Any) -> None:
                        answering.close()  # what follows is sent, and takes no thread
                        await send(message)

                    await self.app({**as_seen(scope), "state": state}, receive_whole, send_noted)

                await self._turns.answered(address_of(scope), answer)
        except NotNow as refusal:
            await _not_now(refusal)(scope, receive, send)

    def _read(self, scope: Any, body: bytes) -> bytes | Response:
        """A body as its answerer gets it; the refusal of one that no page or program sends, and of a button where a visitor
        presses too many."""
        try:
            sent = orjson.loads(body or b"null")
        except orjson.JSONDecodeError:
            return PlainTextResponse("That is no JSON.", status_code=400)
        if calls.is_call(scope["path"]):
            return self._called(scope, sent, body)
        pressed = isinstance(sent, dict) and sent.get("action") is not None
        return (self._too_often(BUTTON, Request(scope)) if pressed else None) or body

    def _called(self, scope: Any, sent: Any, body: bytes) -> bytes | Response:
        """What the library gets of a call; who calls, and what is said, stays with the request."""
        state = scope["state"]
        state["caller"] = caller_of(Request(scope), self._turns, self._gate, self._called_now)
        if scope["path"].rstrip("/") == calls.TOOLS:
            return body
        try:
            state["said"], body = calls.taken(scope["path"], sent)
        except Mistake as mistake:
            return PlainTextResponse(mistake.public, status_code=400)
        return body

    async def _upload(self, scope: Any, receive: Any, send: Any) -> None:
        """Lets a file through if it may come now."""
        owner = owner_of(Request(scope))
        length = Headers(scope=scope).get("content-length", "")
        try:
            size = int(length) if length.isdecimal() else UPLOAD_BYTES
            with self._gate.uploading(owner, size / MEGABYTE, address_of(scope)):
                await run_in_threadpool(self.check_file, owner, size, address_of(scope))
                await asyncio.wait_for(self._uploaded(scope, receive, send), UPLOAD_SECONDS)
        except NotNow as refusal:
            await _refuse(_not_now(refusal), scope, receive, send)
        except Mistake as mistake:
            await _refuse(PlainTextResponse(mistake.public, status_code=NO_ROOM), scope, receive, send)
        except TimeoutError:
            await PlainTextResponse("That took too long to arrive.", status_code=408)(scope, receive, send)

    async def _uploaded(self, scope: Any, receive: Any, send: Any) -> None:
        """Lets a file through, piece by piece, as far as it may go."""
        size, begun = 0, False

        async def receive_counted() -> Any:
            nonlocal size
            message = await asyncio.wait_for(receive(), PIECE_SECONDS)
            size += len(message.get("body", b""))
            return message if size <= UPLOAD_BYTES else {"type": "http.disconnect"}

        async def send_noted(message: Any) -> None:
            nonlocal begun
            begun = True
            await send(message)

        with suppress(ClientDisconnect):
            await self.app(scope, receive_counted, send_noted)
        if not begun and size > UPLOAD_BYTES:
            await _too_large(UPLOAD)(scope, receive, send)


def _may_take_long(scope: Any) -> bool:
    """Returns True for requests whose answer may take a thread for long."""
    path = scope["path"]
    takes_thread = path.rstrip("/") == "/updates" or kind_of(path) in {"download", "call"} or EMBED.fullmatch(path) is not None
    return takes_thread and not _is_stream(scope)


def _is_stream(scope: Any) -> bool:
    """Returns True for the events of a call or a tool, whose work is counted separately (`Caller.answered`)."""
    path = scope["path"]
    return path.rstrip("/") == calls.TOOLS or calls.read_at(path, scope["query_string"]) is not None


def _is_sent_long(scope: Any) -> bool:
    """Returns True for answers that may be on their way for long."""
    return _is_stream(scope) or kind_of(scope["path"]) == "download"


def _not_here(path: str, request: Request) -> Response | None:
    """The refusal of an address that there is not, or not for whoever asks; the answer to the printed one."""
    if not is_used(path):
        return PlainTextResponse("There is no such address.", status_code=404)
    if (printed := opened(request)) is not None:
        return printed
    if is_closed_to(request) and not FOR_INVITED.fullmatch(path):
        return PlainTextResponse(REFUSED, status_code=403)
    return None


async def _refuse(response: Response, scope: Any, receive: Any, send: Any) -> None:
    """Answers without the body. A large one is not even received: the connection ends."""
    headers = Headers(scope=scope)
    length = headers.get("content-length", "")
    if int(length) > RECEIVED_BYTES if length.isdecimal() else "transfer-encoding" in headers:
        response.headers["Connection"] = "close"
    await response(scope, receive, send)


async def _body(receive: Any, most: int) -> bytes | None:
    """The body of a request, as far as it may go; None where whoever asked has gone."""
    body, more = bytearray(), True
    while more and len(body) <= most:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return bytes(body)


def most_bytes(path: str) -> int:
    """The largest body that is read of a request to an address."""
    if calls.is_call(path):
        return calls.CALL_BYTES
    return UPLOAD_BYTES if path.rstrip("/") == UPLOAD else UPDATE_BYTES


def _not_now(refusal: NotNow) -> Response:
    return PlainTextResponse(refusal.public, status_code=429, headers={"Retry-After": str(refusal.seconds)})


def _too_large(path: str) -> Response:
    return PlainTextResponse(f"That is too large: {most_bytes(path):,} bytes are the most.", status_code=413)


# ------------------------------------------------------------------------------------------------ the page library

OURS = re.compile(
    r"/(updates|healthz|sign-in|sign-out|login/callback)|/(export|download|page|embed)/.+|/gradio_api/(upload|info|mcp)/?"
)
"""The addresses that this server answers itself. All others are the library's."""

READ = {b"host", b"accept", b"accept-encoding", b"if-none-match", b"if-modified-since", b"user-agent"}
"""The headers that the library gets. Pages ask for no ranges: its answers to them repeat the request's headers."""

FORWARDED = {b"x-forwarded-host", b"x-forwarded-proto"}
"""Of which it makes the address of its pages; they count where a proxy is known to write them."""


def as_seen(scope: Any) -> Any:
    """A request as its answerer sees it: whole where that is this server's own code, else without what pages do not send."""
    if OURS.fullmatch(scope["path"]):
        return scope
    query = calls.query_for(scope["path"], scope["query_string"])
    sent_as = [(b"content-type", b"application/json")] if calls.is_call(scope["path"]) else []
    return {**scope, "headers": [*_headers(scope), *sent_as], "query_string": query}


def _headers(scope: Any) -> Iterator[tuple[bytes, bytes]]:
    for name, value in scope["headers"]:
        if name in READ or (name in FORWARDED and _counts(name, value.decode("latin-1"))):
            yield name, value


def _counts(name: bytes, value: str) -> bool:
    return is_behind_proxy() and (value in {"http", "https"} if name == b"x-forwarded-proto" else is_own_host(value))


# ------------------------------------------------------------------------------------------------ invited guests alone


FOR_INVITED = re.compile(
    r"/(review/?|updates|healthz|config|theme\.css|favicon\.ico|robots\.txt|manifest\.json)|/(page|assets|static)/[\w./@+-]{1,200}"
)
"""The addresses of the page Review, and of what is the same for all."""

REFUSED = "This server shows only the facts that you are invited to judge. Open the whole address of your invitation."
"""To a guest, and to the host who has not opened the printed address."""


def is_closed_to(request: Any) -> bool:
    """Whether whoever asks sees nothing but a packet."""
    return os.environ.get("MEDFACT_INVITED_ONLY", "") not in {"", "0"} and not is_host(request)


def is_invited(page: str, told: Mapping[str, Any]) -> bool:
    """Whether a question of a page is about a packet that this server has invited somebody to. told: what it shows, as it will
    be answered.
    """
    try:
        return page == "review" and bool(invitation_of(str(told.get("invited", ""))))
    except Mistake:
        return False


# ------------------------------------------------------------------------------------------------ headers of every answer


POLICY = (
    "default-src 'self'; script-src 'self'{scripts}; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'self'; "
    "form-action 'self'; frame-ancestors 'self'"
)
"""Styles may be inline: the page library and the plots write them so. Scripts are files of this server; besides these a page
runs those that carry its nonce, and the library makes functions of the `js=` texts of its inputs, which a policy calls eval."""

HUB = " https://huggingface.co"
"""Whose pages show a Space in a frame."""

EMBEDDED = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors *"
"""Of the view of a published run that any site may show in a frame: it loads nothing, and has no form and no script."""

PERMISSIONS = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"

OPEN_TO_ALL = ("access-control-allow-origin", "access-control-allow-credentials")
"""With these the page library lets every origin read; no other page may."""

GZIP_LEVEL = 4


def own_headers(nonce: str = "") -> dict[str, str]:
    """What every answer says: nothing of another host is loaded, and no other site shows it in a frame. nonce: of a page."""
    scripts = f" 'nonce-{nonce}' 'unsafe-eval'" if nonce else ""
    return {
        "Content-Security-Policy": POLICY.format(scripts=scripts) + (HUB if os.environ.get("SPACE_ID") else ""),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Permissions-Policy": PERMISSIONS,
    }


class WithHeaders:
    """The application, its answers given these headers as they begin: a visitor who leaves meanwhile disturbs nothing."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.headers = own_headers()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
        elif EMBED.fullmatch(scope["path"]):
            await self.app(without_cookies(scope), receive, lambda message: send(self._embedded(scope, message)))
        elif kind_of(scope["path"]) == "page":
            await self._page(scope, receive, send)
        else:
            await self.app(scope, receive, lambda message: send(self._with_headers(scope, message)))

    async def _page(self, scope: Any, receive: Any, send: Any) -> None:
        """Answers with a page as a whole."""
        start: dict[str, Any] = {}
        body = bytearray()

        async def take(message: Any) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
            elif message["type"] != "http.response.body":
                await send(message)
            else:
                body.extend(message.get("body", b""))
                if not message.get("more_body"):
                    whole = _finished(scope, start, bytes(body))
                    await send(start)
                    await send({"type": "http.response.body", "body": whole})

        plain = [header for header in scope["headers"] if header[0] != b"accept-encoding"]  # it is read here
        await self.app({**scope, "headers": plain}, receive, take)

    def _embedded(self, scope: Any, message: Any) -> Any:
        """The view itself may stand in any frame, and sets no cookie; what is said instead of it is as all else."""
        message = self._with_headers(scope, message)
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            del headers["set-cookie"]
            if message["status"] == 200:
                headers["Content-Security-Policy"] = EMBEDDED
        return message

    def _with_headers(self, scope: Any, message: Any) -> Any:
        if message["type"] == "http.response.start":
            finish(scope, MutableHeaders(scope=message), self.headers)
        return message


def without_cookies(scope: Any) -> Any:
    """A request as of a browser that nobody knows."""
    return {**scope, "headers": [header for header in scope["headers"] if header[0] != b"cookie"]}


def finish(scope: Any, headers: MutableHeaders, own: dict[str, str]) -> None:
    """Puts an answer's headers in order."""
    for name in OPEN_TO_ALL:
        del headers[name]
    headers.update(own)
    if is_public_server() and scheme_of(scope) == "https":
        headers["Strict-Transport-Security"] = "max-age=31536000"
    if location := headers.get("location"):
        headers["location"] = _within(scope, location)
    welcome(Request(scope), headers)


def _within(scope: Any, location: str) -> str:
    """Where a redirect leads: within this server as a path, and under the prefix that a reverse proxy has stripped."""
    parts = urlsplit(location)
    within = parts.netloc == Request(scope).headers.get("host", "") or (not parts.netloc and parts.path.startswith("/"))
    if not within:
        return location
    prefix = os.environ.get("GRADIO_ROOT_PATH", "").rstrip("/")
    path = parts.path if not prefix or parts.path.startswith(f"{prefix}/") else prefix + parts.path
    return path + (f"?{parts.query}" if parts.query else "")


def _finished(scope: Any, start: Any, body: bytes) -> bytes:
    """The body of an answer to a request for a page, its scripts marked as the page's own; its headers are put in order."""
    headers = MutableHeaders(scope=start)
    if not headers.get("content-type", "").startswith("text/html"):
        finish(scope, headers, own_headers())
        return body
    nonce = secrets.token_urlsafe(18)
    body = _marked(body, nonce)
    finish(scope, headers, own_headers(nonce))
    headers["cache-control"] = "no-store"
    headers.add_vary_header("Accept-Encoding")
    if "gzip" in Request(scope).headers.get("accept-encoding", ""):
        body = gzip.compress(body, GZIP_LEVEL)
        headers["content-encoding"] = "gzip"
    if scope["method"] != "HEAD":
        headers["content-length"] = str(len(body))
    return body


def _marked(page: bytes, nonce: str) -> bytes:
    """A page whose scripts carry a nonce. What is within them (the page's description, as JSON) holds no script's beginning."""
    return page.replace(b"<script", f'<script nonce="{nonce}"'.encode()).replace(
        b'href="/manifest.json"', b'href="manifest.json"'
    )
