"""The HTTP client for a service: it connects only where the policy allows, and bounds the size of a reply."""

from __future__ import annotations

import asyncio
import socket
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import aclosing
from typing import Any

import httpx2
import openai

from medfact.errors import ModelError
from medfact.limits import is_public_server
from medfact.models.services.policy import check_public, is_on_this_machine, not_public
from medfact.models.services.replies import MAX_BODY_BYTES
from medfact.models.services.settings import ServiceSettings

TRUNCATED = "medfact_truncated"
"""The extension of a response that was not read to its end."""

CONNECT_SECONDS = 5.0
"""The longest time for making a connection."""

_ENCODINGS = {"gzip", "x-gzip", "deflate"}

RequestHook = Callable[[httpx2.Request], Coroutine[Any, Any, None]]


def http_client(settings: ServiceSettings, on_request: RequestHook) -> httpx2.AsyncClient:
    """A client that follows no redirects, reads at most MAX_BODY_BYTES of a reply, and connects only where the policy allows.

    on_request: called with each request just before it is sent. The caller bounds how long a reply may take.
    """
    timeout = httpx2.Timeout(None, connect=min(CONNECT_SECONDS, settings.timeout), write=settings.timeout)
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=settings.in_flight + 8, keepalive_expiry=5.0)
    options: dict[str, Any] = {"transport": PublicTransport(limits)} if is_public_server() else {"limits": limits}
    return openai.DefaultAsyncHttpxClient(
        timeout=timeout,
        event_hooks={"request": [on_request], "response": [_bound_body]},
        follow_redirects=False,
        headers={"Accept-Encoding": "gzip, deflate"},
        trust_env=not is_on_this_machine(settings),
        **options,
    )


async def _bound_body(response: httpx2.Response) -> None:
    """Makes the response decompress and count its body here, before anything else reads it."""
    encoding = response.headers.pop("content-encoding", "").strip().lower()
    if encoding not in {*_ENCODINGS, "", "identity"}:
        await response.aclose()
        raise httpx2.DecodingError(f"the reply is encoded as {encoding[:20]!r}, which was not requested")
    response.stream = _BoundedBody(response, encoding in _ENCODINGS)


class _BoundedBody(httpx2.AsyncByteStream):
    """The first MAX_BODY_BYTES of a reply, decompressed."""

    def __init__(self, response: httpx2.Response, compressed: bool) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        self._stream, self._compressed, self._response = response.stream, compressed, response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_BODY_BYTES
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
    decompressor = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)  # detects gzip and zlib by their first bytes
    async for received in stream:
        if not compressed:
            yield received
            continue
        rest = received
        while rest:
            try:
                yield decompressor.decompress(rest, MAX_BODY_BYTES)
            except zlib.error as error:
                raise httpx2.DecodingError(str(error)) from error
            rest = decompressor.unconsumed_tail


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
