"""Who calls an endpoint: a visitor as any other; a program without a cookie is the visitor of its network address."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from fastapi.concurrency import run_in_threadpool

from medfact.concurrency import compute_slot
from medfact.limits import acting_as_host
from medfact.spec import LOCAL_OWNER
from medfact.web.clients import address_of
from medfact.web.host import is_host
from medfact.web.services import Services
from medfact.web.turns import Turns
from medfact.web.upload_gate import AtOnce, UploadGate
from medfact.web.visitors import NOBODY, owner_of, owners_reviewing, user_header

_SALT = secrets.token_hex(16)
"""Nobody can tell an address from the owner that is made of it."""


@dataclass(frozen=True)
class Caller:
    """Who calls. address: of the network. reviewers: whose verdicts are added up, () for everybody's. is_host: True for
    the host. turns, gate, at_once: of the server, which calls wait at as pages do."""

    owner: str
    address: str
    reviewers: tuple[str, ...]
    is_host: bool
    turns: Turns
    gate: UploadGate
    at_once: AtOnce

    async def answered(self, function: Callable[..., Any], services: Services, /, **arguments: Any) -> Any:
        """What a function says to this caller, in a thread, when it is the caller's turn. Raises MedfactError, NotNow."""
        found: list[Any] = []

        def call() -> Any:
            with acting_as_host(self.is_host), compute_slot(self.address):
                return function(services, self, **arguments)

        async def answer() -> None:
            found.append(await run_in_threadpool(call))

        services.neighbours.note(self.owner, self.address)
        with self.at_once.one_more(self.address):
            await self.turns.answered(self.address, answer)
        return found[0]


def caller_of(request: Request, turns: Turns, gate: UploadGate, at_once: AtOnce) -> Caller:
    """Who sends a request."""
    return Caller(_owner(request), address_of(request.scope), owners_reviewing(request), is_host(request), turns, gate, at_once)


def _owner(request: Request) -> str:
    """The owner of a cookie or of one who has signed in; else the host; else one of the network address, which no cookie can
    name. Its runs are listed nowhere: their ids open them."""
    owner = owner_of(request)
    if owner != NOBODY or user_header():
        return owner
    if is_host(request):
        return LOCAL_OWNER
    return f"caller-{hashlib.sha256(f'{_SALT} {address_of(request.scope)}'.encode()).hexdigest()[:32]}"
