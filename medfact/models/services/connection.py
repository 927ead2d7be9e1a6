"""The HTTP client for a service: where it may connect, and how much of an answer it takes in."""

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
from medfact.models.services.policy import checked_addresses, is_public_server, not_public
from medfact.models.services.replies import MOST_BYTES
from medfact.models.services.settings import ApiSettings, host_of, is_loopback

CUT_OFF = "medfact_cut_off"
"""The extension of a response whose end was not read."""

CONNECTS_WITHIN = 5.0
"""Seconds that a connection may take to be made."""

_PACKED = {"gzip", "x-gzip", "deflate"}

Hook = Callable[[httpx2.Request], Coroutine[Any, Any, None]]


def http_client(settings: ApiSettings, before: Hook) -> httpx2.AsyncClient:
    """A client that follows no redirect, reads MOST_BYTES of an answer at most, and connects to whom the policy allows.

    before: is called with each request when it is about to be sent. How long an answer may take is its caller's to bound.
    """
    timeout = httpx2.Timeout(None, connect=min(CONNECTS_WITHIN, settings.timeout), write=settings.timeout)
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=settings.in_flight + 8, keepalive_expiry=5.0)
    options: dict[str, Any] = {"transport": Pinned(limits)} if is_public_server() else {"limits": limits}
    return openai.DefaultAsyncHttpxClient(
        timeout=timeout,
        event_hooks={"request": [before], "response": [_bounded]},
        follow_redirects=False,
        headers={"Accept-Encoding": "gzip, deflate"},
        trust_env=not is_loopback(host_of(settings)),
        **options,
    )


async def _bounded(response: httpx2.Response) -> None:
    """Has an answer unpacked and counted here, before anybody reads it."""
    packing = response.headers.get("content-encoding", "").strip().lower()
    packed = packing in _PACKED
    if not packed and packing not in {"", "identity"}:
        await response.aclose()
        raise httpx2.DecodingError(f"the answer is packed as {packing[:20]!r}, which was not asked for")
    response.headers.pop("content-encoding", None)
    response.stream = _Bounded(response.stream, packed, response)  # type: ignore[arg-type]


class _Bounded(httpx2.AsyncByteStream):
    """The first MOST_BYTES of an answer."""

    def __init__(self, stream: httpx2.AsyncByteStream, packed: bool, response: httpx2.Response) -> None:
        self._stream, self._packed, self._response = stream, packed, response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MOST_BYTES
        async with aclosing(_unpacked(self._stream) if self._packed else _as_it_is(self._stream)) as chunks:
            async for chunk in chunks:
                yield chunk[:left]
                left -= len(chunk)
                if left < 0:
                    self._response.extensions[CUT_OFF] = True
                    return

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _as_it_is(stream: httpx2.AsyncByteStream) -> AsyncGenerator[bytes, None]:
    async for chunk in stream:
        yield chunk


async def _unpacked(stream: httpx2.AsyncByteStream) -> AsyncGenerator[bytes, None]:
    unpacking = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)  # of either kind, which its first bytes tell
    async for packed in stream:
        while packed:
            try:
                yield unpacking.decompress(packed, MOST_BYTES)
            except zlib.error as error:
                raise httpx2.DecodingError(str(error)) from error
            packed = unpacking.unconsumed_tail


class Pinned(httpx2.AsyncBaseTransport):
    """Connects to public https addresses alone. A host is looked up once, and what its name means later changes nothing."""

    def __init__(self, limits: httpx2.Limits) -> None:
        self._transport = httpx2.AsyncHTTPTransport(limits=limits)
        self._known: dict[tuple[str, int], list[str]] = {}
        self._looking = asyncio.Lock()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        host, port = request.url.host, request.url.port or 443
        if request.url.scheme != "https":
            raise not_public(host)
        addresses = await self._addresses(host, port)
        pinned = httpx2.Request(
            request.method,
            request.url.copy_with(host=addresses[0]),
            headers=request.headers,  # the host's name among them
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": host},
        )
        try:
            return await self._transport.handle_async_request(pinned)
        except httpx2.ConnectError:
            addresses.append(addresses.pop(0))
            raise

    async def _addresses(self, host: str, port: int) -> list[str]:
        """The addresses of a host that were checked when it was first asked. Raises ModelError where one is not public."""
        async with self._looking:
            if (host, port) not in self._known:
                self._known[host, port] = checked_addresses(host, await _look_up(host, port))
            return self._known[host, port]

    async def aclose(self) -> None:
        await self._transport.aclose()


async def _look_up(host: str, port: int) -> list[str]:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise ModelError(f"The host {host} is not found.", "Check the base URL.") from None
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
