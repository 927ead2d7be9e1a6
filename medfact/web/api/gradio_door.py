"""The endpoints as the page library's own, which its clients for Python and JavaScript, and curl, call by name."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gradio as gr
from fastapi import APIRouter
from fastapi.responses import JSONResponse

from medfact.errors import MedfactError
from medfact.web.api.caller import Caller
from medfact.web.api.calls import SCHEMA
from medfact.web.api.endpoints import ENDPOINTS, Endpoint
from medfact.web.services import Services

_log = logging.getLogger(__package__)

AT_ONCE, FOLLOWED_AT_ONCE, WAITING = 8, 200, 256
"""Calls that are answered at the same time, of runs that are told of, and of calls that wait."""

LOOK_SECONDS = 0.5
"""Between two looks at a run that is told of."""

QUEUE_SECONDS = 0.05
"""Between two looks of the library's queue, as the library has it on Windows. Elsewhere it looks every millisecond, which costs
a server at rest 4 % of a core instead of 1.
"""

UNREAD_SECONDS = 300.0
"""How long an answer is kept that nobody reads: the library itself keeps it for ever."""


def open_endpoints(services: Services, site: gr.Blocks) -> None:
    """Makes the endpoints of a site, which has no function yet: their numbers are their places in the table."""
    for endpoint in ENDPOINTS.values():
        gr.api(
            _function(endpoint, services, site),
            api_name=endpoint.name,
            api_description=endpoint.about,
            concurrency_limit=FOLLOWED_AT_ONCE if endpoint.follow else AT_ONCE,
            concurrency_id="followed" if endpoint.follow else "answered",
        )
    site.queue(max_size=WAITING, api_open=False)
    site._queue.sleep_when_free = QUEUE_SECONDS


def _function(endpoint: Endpoint, services: Services, site: gr.Blocks) -> Callable[..., Any]:
    """An endpoint as the library calls it: it is handed the request, which holds all that was said."""

    async def once(*given: Any) -> Any:
        with _said_in_one_sentence(given[-1], site):
            return await answer(endpoint, services, *_taken(given[-1]))

    async def streamed(*given: Any) -> AsyncIterator[Any]:
        with _said_in_one_sentence(given[-1], site):
            async for told in follow(endpoint, services, *_taken(given[-1])):
                yield told

    made: Any = streamed if endpoint.follow else once
    parameters = [*endpoint.signature.parameters.values()]
    request = inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=gr.Request, default=None)
    made.__signature__ = endpoint.signature.replace(parameters=[*parameters, request])
    made.__annotations__ = {one.name: one.annotation for one in (*parameters, request)}
    made.__name__ = endpoint.name
    return made  # type: ignore[no-any-return]


def _taken(request: gr.Request) -> tuple[Caller, dict[str, Any]]:
    """Who calls, and what they say, which nothing holds any more."""
    state = request.request.scope["state"]
    return state["caller"], state.pop("said")


async def answer(endpoint: Endpoint, services: Services, caller: Caller, said: dict[str, Any]) -> Any:
    """What an endpoint says to a caller. Raises MedfactError."""
    return await caller.answered(endpoint.function, services, **endpoint.checked(said))


async def follow(endpoint: Endpoint, services: Services, caller: Caller, said: dict[str, Any]) -> AsyncIterator[Any]:
    """How it goes with what an endpoint has begun, whenever that has changed. Raises MedfactError."""
    assert endpoint.follow is not None
    begun = await answer(endpoint, services, caller, said)
    loop, last = asyncio.get_running_loop(), None
    until = loop.time() + begun["seconds"]
    while True:
        told = await caller.answered(endpoint.follow, services, run=begun["run"])
        if told != last:
            yield told
        if "finding" in told or loop.time() >= until:
            return
        last = told
        await asyncio.sleep(LOOK_SECONDS)


@contextmanager
def _said_in_one_sentence(request: gr.Request, site: gr.Blocks) -> Iterator[None]:
    """Errors as the library tells them, without a traceback; and afterwards what nobody reads is let go of."""
    try:
        yield
    except MedfactError as error:
        _log.debug("The call was refused.", exc_info=True)
        raise gr.Error(error.public, print_exception=False) from None
    finally:
        asyncio.get_running_loop().call_later(UNREAD_SECONDS, _let_go, site, request.session_hash)


def _let_go(site: gr.Blocks, session: str) -> None:
    """Drops the answers of a session of which nothing goes on."""
    queue = site._queue
    if not any(event in queue.event_ids_to_events for event in queue.pending_event_ids_session.get(session, ())):
        queue.pending_event_ids_session.pop(session, None)
        if session in queue.pending_messages_per_session:
            del queue.pending_messages_per_session[session]


def has_answer(site: gr.Blocks, asked: str) -> bool:
    """Whether something of a call, or of a session of calls, was not read yet. Of what there is not, the library would wait for
    ever, or fail."""
    queue = site._queue
    return bool(queue.pending_event_ids_session.get(asked)) or any(
        asked in ids for ids in queue.pending_event_ids_session.values()
    )


def routes(site: gr.Blocks) -> APIRouter:
    """What the endpoints are, for programs that look. The library's own answer repeats the address of whoever asked first."""
    router = APIRouter(include_in_schema=False)

    @router.get(SCHEMA)
    @router.get(f"{SCHEMA}/")
    def info() -> JSONResponse:
        return JSONResponse(site.get_api_info())

    return router
