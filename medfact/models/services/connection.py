"""The HTTP client for a service: it connects only where the policy allows, and bounds the size of a reply."""

from __future__ import annotations

import asyncio
import os
import socket
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from contextlib import aclosing
from functools import partial
from typing import Any

import httpx2
import openai

from medfact.errors import ModelError
from medfact.limits import is_restricted
from medfact.models.services.policy import (
    address_of,
    check_public,
    is_asked_with_shared_key,
    is_of_environment,
    is_on_this_machine,
    key_of,
    not_public,
)
from medfact.models.services.replies import MAX_BODY_BYTES
from medfact.models.services.settings import ServiceSettings
from medfact.proxies import check_proxies

TRUNCATED = "medfact_truncated"
"""The extension of a response that was not read to its end."""

CONNECT_SECONDS = 5.0
"""The longest time for making a connection."""

_ENCODINGS = {"gzip", "x-gzip", "deflate"}

GZIP_OR_ZLIB = zlib.MAX_WBITS | 32
"""Lets the decompressor find out by the first bytes."""

GZIP_MAGIC = b"\x1f\x8b"
"""How a part of a gzip file begins; what else follows a part is padding."""

RequestHook = Callable[[httpx2.Request], Coroutine[Any, Any, None]]


def service_client(
    settings: ServiceSettings, on_request: RequestHook, most_bytes: int = MAX_BODY_BYTES, **options: Any
) -> openai.AsyncOpenAI:
    """A client for a service. What the environment holds for OpenAI beside the key (OPENAI_ORG_ID, OPENAI_PROJECT_ID,
    OPENAI_CUSTOM_HEADERS) goes only where the environment's key goes unasked.

    on_request, most_bytes: as in `http_client`. options: further ones of the client.
    Raises ModelError where the address, the key, a proxy or one of these cannot be used.
    """
    address, key = address_of(settings), key_of(settings)

    async def prepared(request: httpx2.Request) -> None:
        if address.query:
            request.url = request.url.copy_with(query=address.query.encode())
        await on_request(request)

    return openai.AsyncOpenAI(
        api_key=key,
        base_url=address.base,
        default_headers=_headers_of_environment(is_of_environment(settings), key),
        http_client=http_client(settings, prepared, most_bytes),
        **options,
    )


def _headers_of_environment(are_sent: bool, key: str) -> dict[str, Any]:
    """What replaces the headers that the library takes from the environment. Raises ModelError where one cannot be sent."""
    named = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
    headers = {header: os.environ.get(variable, "").strip() for header, variable in named.items()}
    lines = (line.partition(":") for line in os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n"))
    custom = {name.strip(): value.strip() for name, colon, value in lines if colon}
    if not are_sent:
        dropped: dict[str, Any] = dict.fromkeys((*headers, *custom), openai.Omit())
        return {name: gone for name, gone in dropped.items() if name.lower() != "authorization"} | {
            "Authorization": f"Bearer {key}"
        }
    variables = [*(named.values()), *("OPENAI_CUSTOM_HEADERS" for _ in custom)]
    for variable, (name, value) in zip(variables, (*headers.items(), *custom.items()), strict=True):
        if not (name + value).isascii() or not (name + value).isprintable() or not name:
            raise ModelError(f"{variable} contains characters that cannot be sent.", f"Correct it, or unset {variable}.")
    return {name: value or openai.Omit() for name, value in headers.items()}


def http_client(settings: ServiceSettings, on_request: RequestHook, most_bytes: int = MAX_BODY_BYTES) -> httpx2.AsyncClient:
    """A client that follows no redirects, reads at most `most_bytes` of a reply, and connects only where the policy allows.

    on_request: called with each request just before it is sent. The caller bounds how long a reply may take.
    """
    on_this_machine = is_on_this_machine(settings)
    only_public = is_restricted() and not is_asked_with_shared_key(settings)
    if not (on_this_machine or only_public):
        check_proxies()
    timeout = httpx2.Timeout(None, connect=min(CONNECT_SECONDS, settings.timeout), write=settings.timeout)
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=settings.in_flight + 8, keepalive_expiry=5.0)
    options: dict[str, Any] = {"transport": PublicTransport(limits)} if only_public else {"limits": limits}
    return openai.DefaultAsyncHttpxClient(
        timeout=timeout,
        event_hooks={"request": [on_request], "response": [partial(_bound_body, most_bytes)]},
        follow_redirects=False,
        headers={"Accept-Encoding": "gzip, deflate"},
        trust_env=not on_this_machine,
        **options,
    )


async def _bound_body(most_bytes: int, response: httpx2.Response) -> None:
    """Makes the response decompress and count its body here, before anything else reads it."""
    encoding = response.headers.pop("content-encoding", "").strip().lower()
    if encoding not in {*_ENCODINGS, "", "identity"}:
        await response.aclose()
        raise httpx2.DecodingError(f"the reply is encoded as {encoding[:20]!r}, which was not requested")
    response.stream = _BoundedBody(response, encoding in _ENCODINGS, most_bytes)


class _BoundedBody(httpx2.AsyncByteStream):
    """The first bytes of a reply, decompressed."""

    def __init__(self, response: httpx2.Response, compressed: bool, most_bytes: int) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        self._stream, self._compressed, self._response, self._most = response.stream, compressed, response, most_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._most
        async with aclosing(_chunks(self._stream, self._compressed)) as chunks:
            async for chunk in chunks:
                yield chunk[:left]
                left -= len(chunk)
                if left < 0:
                    self._response.extensions[TRUNCATED] = True
                    return

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _chunks(stream: httpx2.AsyncByteStream, compressed: bool) -> AsyncGenerator[bytes, None]:
    """The body in pieces of at most MAX_BODY_BYTES each where it is compressed, so that none can fill the memory."""
    unpacking = _Unpacking()
    async for received in stream:
        if not compressed:
            yield received
            continue
        try:
            for piece in unpacking.pieces(received):
                yield piece
        except zlib.error as error:
            raise httpx2.DecodingError(str(error)) from error


class _Unpacking:
    """Unpacks gzip, of one part or several, and deflate, which some servers send without the header of zlib."""

    def __init__(self) -> None:
        self._part = zlib.decompressobj(wbits=GZIP_OR_ZLIB)
        self._before: bytes | None = b""  # what came before the first output; None after it

    def pieces(self, received: bytes) -> Iterator[bytes]:
        """What has arrived, unpacked, in pieces of at most MAX_BODY_BYTES. Raises zlib.error where it is not packed so."""
        rest = received
        while rest:
            if self._part.eof:
                if not rest.startswith(GZIP_MAGIC[: len(rest)]):
                    return
                self._part = zlib.decompressobj(wbits=GZIP_OR_ZLIB)
            yield self._piece(rest)
            rest = self._part.unconsumed_tail or self._part.unused_data

    def _piece(self, packed: bytes) -> bytes:
        try:
            piece = self._part.decompress(packed, MAX_BODY_BYTES)
        except zlib.error:
            if self._before is None:
                raise
            self._part = zlib.decompressobj(wbits=-zlib.MAX_WBITS)
            piece = self._part.decompress(self._before + packed, MAX_BODY_BYTES)
            self._before = None
        self._before = None if piece or self._before is None else self._before + packed
        return piece


class PublicTransport(httpx2.AsyncBaseTransport):
    """Connects only to public https addresses. It looks each host up once, so that a later change of DNS has no effect."""

    def __init__(self, limits: httpx2.Limits) -> None:
        self._transport = httpx2.AsyncHTTPTransport(limits=limits)
        self._addresses: dict[tuple[str, int], list[str]] = {}
        self._lookup = asyncio.Lock()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        host, port = request.url.host, request.url.port or 443
        if request.url.scheme != "https":
            raise not_public(host)
        addresses = await self._checked_addresses(host, port)
        pinned = httpx2.Request(
            request.method,
            request.url.copy_with(host=addresses[0]),
            headers=request.headers,  # these include the host's name
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": host},
        )
        try:
            return await self._transport.handle_async_request(pinned)
        except httpx2.ConnectError:
            addresses.append(addresses.pop(0))
            raise

    async def _checked_addresses(self, host: str, port: int) -> list[str]:
        """A host's addresses as they were at its first request. Raises ModelError if one is not public."""
        async with self._lookup:
            if (host, port) not in self._addresses:
                found = await _look_up(host, port)
                check_public(host, found)
                self._addresses[host, port] = found
            return self._addresses[host, port]

    async def aclose(self) -> None:
        await self._transport.aclose()


async def _look_up(host: str, port: int) -> list[str]:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise ModelError(f"The host {host} was not found.", "Check the base URL.") from None
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
