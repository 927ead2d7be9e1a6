"""Keys of services on their way from a page to a run.

The page library keeps what its events carry. So a key does not go through its events: the page hands it in at an address of its
own and gets a ticket for it, and the event carries the ticket.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from medfact.errors import Mistake
from medfact.web.visitors import is_same, owner_of

KEPT_SECONDS = 120.0
MOST_TICKETS, MOST_TICKETS_EACH = 10_000, 10
"""Of all visitors, and of one: beyond that the oldest ones go."""


class Typed(BaseModel):
    """A key as it was typed."""

    key: str = Field(max_length=400)


class Keys:
    """Keys that were handed in, each for one event of the same visitor soon after."""

    def __init__(self) -> None:
        self._held: OrderedDict[str, tuple[str, str, float]] = OrderedDict()
        self._lock = threading.Lock()

    def hold(self, owner: str, key: str) -> str:
        """A ticket for a key; "" for no key."""
        if not key:
            return ""
        ticket = secrets.token_hex(16)
        with self._lock:
            self._held[ticket] = owner, key, time.monotonic()
            own = [held for held, (held_by, *_) in self._held.items() if held_by == owner]
            for held in own[:-MOST_TICKETS_EACH]:
                del self._held[held]
            while len(self._held) > MOST_TICKETS:
                self._held.popitem(last=False)
        return ticket

    def take(self, owner: str, ticket: object) -> str | None:
        """The key of a ticket, once; None where there is no ticket. Raises Mistake where it is too late, or another's."""
        if not ticket:
            return None
        with self._lock:
            held_by, key, since = self._held.pop(str(ticket), ("", "", 0.0))
        if not is_same(held_by, owner) or time.monotonic() - since > KEPT_SECONDS:
            raise Mistake("The key did not arrive.", "Type it again.")
        return key

    def routes(self) -> APIRouter:
        """The address at which pages hand keys in."""
        router = APIRouter(include_in_schema=False)

        @router.post("/key")
        def hold(typed: Typed, request: Request) -> dict[str, str]:
            return {"ticket": self.hold(owner_of(request), typed.key.strip())}

        return router
