"""Connections of browsers: a request's head is read within bounds of bytes and of seconds, before anybody else sees it; and an
answer that nobody reads ends.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from medfact.web.clients import counted_address, is_behind_proxy

HEAD_BYTES = 32_000
"""Of a request's first line and headers, or of anything else that is neither that nor a body."""

HEAD_SECONDS, REST_SECONDS = 6.0, 20.0
"""How long a head may take to arrive, from its first byte or from the connection, and how long the rest of a body that was
answered already."""

UNREAD_SECONDS = 20.0
"""So long an answer waits for its reader to take some more of it."""

MOST_OF_ONE_ADDRESS, MOST_WAITING = 100, 2_000
"""Connections that owe a head, of one network address and of all; beyond that the oldest is closed."""

MOST_AHEAD = 16
"""Requests that one connection sends before the first of them is answered."""

PIECE_BYTES = 8_192
"""What arrives is read in pieces of this size, so that no head gets far beyond its bound."""

TOO_LONG = f"The head of a request is {HEAD_BYTES:,} bytes at most."
TOO_SLOW = "That took too long to arrive."
TOO_MANY = f"{MOST_AHEAD} requests are the most before the first is answered."


class Connection(HttpToolsProtocol):
    """A connection that waits neither long nor for much."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._unread = 0  # bytes since the last head, piece of a body or end of one that was complete
        self._owes_body = False
        self._patience: asyncio.TimerHandle | None = None
        self._reader: asyncio.TimerHandle | None = None
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self.resume_writing()
        self._leave()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), PIECE_BYTES):
            piece = data[start : start + PIECE_BYTES]
            self._unread += len(piece)
            super().data_received(piece)
            if self.transport.is_closing():
                return
            if self._unread > HEAD_BYTES:
                return self._end(431, TOO_LONG)
            if len(self.pipeline) > MOST_AHEAD:
                return self._end(429, TOO_MANY)
        if not self._is_answering():
            self._wait()

    def on_headers_complete(self) -> None:
        self._unread, self._owes_body = 0, True
        self._stop_waiting()
        super().on_headers_complete()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._owes_body:  # what follows a body is no header, whatever it says
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        self._unread = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unread, self._owes_body = 0, False
        self._stop_waiting()
        super().on_message_complete()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._answered = cycle  # while others wait behind it
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._is_answering() and (self._unread or self._owes_body):
            self._wait()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._reader is not None:
            self._reader.cancel()

    def _watch_reader(self) -> None:
        """Ends the connection if nothing more of the answer is read in time."""
        unread = self.transport.get_write_buffer_size()

        def look() -> None:
            if self.transport.get_write_buffer_size() < unread:
                self._watch_reader()
            else:
                self.transport.abort()

        self._reader = self.loop.call_later(UNREAD_SECONDS, look)

    def send_400_response(self, msg: str) -> None:
        self._end(400, msg)

    def _unsupported_upgrade_warning(self) -> None:
        """No page opens another protocol; such a request is answered as any other."""

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self) -> None:
        """From now on what is owed has a time, if it has none yet."""
        if self._patience is None:
            seconds = REST_SECONDS if self._owes_body else HEAD_SECONDS
            self._patience = self.loop.call_later(seconds, self.give_up)
            WAITING.add(self, "" if is_behind_proxy() or not self.client else counted_address(self.client[0]))

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
            WAITING.discard(self)

    def give_up(self) -> None:
        """Closes a connection that owes something for too long, or beside too many others."""
        self._stop_waiting()
        if self._unread and not self._owes_body:
            self._end(408, TOO_SLOW)
        else:
            self.transport.close()

    def _leave(self) -> None:
        """Tells what is answering that nobody listens any more."""
        if self._is_answering():
            self._answered.disconnected = True
            self._answered.message_event.set()
            self.pipeline.clear()

    def _end(self, status: int, sentence: str) -> None:
        """Says why, unless something else is being said, and closes."""
        if self._is_answering():
            self._leave()
        else:
            headers = f"content-type: text/plain; charset=utf-8\r\ncontent-length: {len(sentence)}\r\nconnection: close\r\n\r\n"
            self.transport.write(STATUS_LINE[status] + (headers + sentence).encode("ascii"))
        self.transport.close()


class Waiting:
    """The connections that owe something, the oldest first."""

    def __init__(self) -> None:
        self._all: OrderedDict[Connection, str] = OrderedDict()
        self._of: Counter[str] = Counter()

    def add(self, connection: Connection, address: str) -> None:
        """Counts one more. Beyond the most the oldest gives way: of the same address, where one is known, or of all."""
        self._all[connection] = address
        self._of[address] += 1
        if address and self._of[address] > MOST_OF_ONE_ADDRESS:
            next(one for one, of in self._all.items() if of == address).give_up()
        elif len(self._all) > MOST_WAITING:
            next(iter(self._all)).give_up()

    def discard(self, connection: Connection) -> None:
        """Counts one less."""
        address = self._all.pop(connection)
        self._of[address] -= 1
        if not self._of[address]:
            del self._of[address]


WAITING = Waiting()
