"""`POST /updates`: a page says what it shows and which fragments it has, and gets the fragments that differ.

What a page shows is told with each question, and what visitors have chosen and said is in the database, so any process on it
can answer. Uploaded files, their owners, and how much a visitor asks and uses are known to one process alone.
"""

from __future__ import annotations

import logging
import secrets
from typing import Any
from urllib.parse import parse_qsl

import orjson
from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, Field

from medfact.concurrency import HEAD_START_SECONDS, SLOT_TIMEOUT_SECONDS, compute_slot
from medfact.datasets import bundled_knowledge
from medfact.datasets.isolated import has_turn
from medfact.errors import MedfactError
from medfact.log_setup import suppressed
from medfact.models.local import zero_gpu
from medfact.views.fragments import fragment_hash, render
from medfact.web.clients import address_of
from medfact.web.guard import REFUSED, is_closed_to, is_invited
from medfact.web.pages import FIRST, MOST_VALUES, SILENCE, Action, Fragment, Lenient, Message, Page, Show, Versioned, Visitor
from medfact.web.pages.every import PAGES
from medfact.web.services import Services
from medfact.web.sign_in import is_offered, person_of
from medfact.web.upload_gate import NotNow
from medfact.web.visitors import NOBODY, owner_of, owners_reviewing, owners_seen_by, user_of, why_nobody

_log = logging.getLogger(__package__)

PROCESS = secrets.token_hex(8)


class Question(BaseModel):
    """What a page asks.

    address: the query of the page's address, where it was not answered yet.
    show: what it shows.
    setup: what is chosen in its inputs; None before they have shown what was chosen last.
    settled: whether nothing was chosen there since the last answer: two pages of a visitor do not take turns at what is
    kept.
    drawn: the fingerprints of its fragments.
    """

    page: str = Field(max_length=40)
    address: str = ""
    show: dict[str, str | int | float | bool | None] = Field(default={}, max_length=MOST_VALUES)
    setup: dict[str, Any] | None = Field(default=None, max_length=MOST_VALUES)
    settled: bool = False
    drawn: dict[str, str] = Field(default={}, max_length=MOST_VALUES)
    action: Action | None = None

    @property
    def comes_first(self) -> bool:
        """Whether it presses a button or looks at runs, which somebody waits for; looking around can wait a little."""
        return self.action is not None or bool(self.show.get("run"))


def routes(services: Services, demonstration: str) -> APIRouter:
    """The address at which pages ask."""
    router = APIRouter(include_in_schema=False)

    @router.post("/updates")
    def updates(question: Question, request: Request) -> Response:
        page = PAGES.get(question.page)
        if page is None:
            return PlainTextResponse("There is no such page.", status_code=404)
        told = question.show | told_by_address(page, question.address)
        if is_closed_to(request) and not is_invited(page.name, told):
            return PlainTextResponse(REFUSED, status_code=403)
        services.neighbours.note(owner_of(request), address_of(request.scope))
        zero_gpu.note_visitor(owner_of(request), request.headers.get(zero_gpu.VISITOR_HEADER, ""))
        visitor = Visitor(
            services,
            owner_of(request),
            owners_seen_by(request),
            demonstration,
            user=user_of(request),
            reviewers=owners_reviewing(request),
            person=(person_of(request) or ("", ""))[1] if is_offered() else None,
        )
        acted: list[tuple[Show, Message]] = request.scope.setdefault("state", {}).setdefault("acted", [])
        patience, head_start = SLOT_TIMEOUT_SECONDS if has_turn() else None, HEAD_START_SECONDS if question.comes_first else 0.0
        with compute_slot(address_of(request.scope), patience, head_start):
            return Response(answer(visitor, page, question, acted), media_type="application/json")

    return router


def prepare(services: Services, demonstration: str) -> None:
    """Makes what the first page and the one behind its button show before anybody asks, and reads what an upload is held
    against: it is kept for all.
    """
    for name in (FIRST, "evaluate"):
        with suppressed(_log, MedfactError):  # whoever comes first is told
            answer(Visitor(services, NOBODY, (NOBODY,), demonstration), PAGES[name], Question(page=name))
    bundled_knowledge.prepare()


def answer(visitor: Visitor, page: Page, question: Question, acted: list[tuple[Show, Message]] | None = None) -> bytes:
    """The fragments that differ from what the page has, as JSON, and when it should ask again. acted: what the button has done,
    where the question had to wait after that and is answered anew: no button is pressed twice.
    """
    acted = [] if acted is None else acted
    told = question.show | told_by_address(page, question.address) | question.model_dump(include={"setup", "settled"})
    show = page.show.model_validate(told)
    said: dict[str, Fragment] = {}
    if question.action is not None:
        if not acted:
            acted.append(act(visitor, page, show, question.action))
        show, message = acted[0]
        said = {page.says.get(question.action.name, "said"): render("message", message=message)}
    view = page.view(visitor, show)
    fragments = {**view.fragments, **said}
    prints = {name: _print_of(fragment) for name, fragment in fragments.items()}
    new = [name for name in fragments if prints[name] != question.drawn.get(name)]
    after = view.show.model_dump()
    setup = view.show.setup.model_dump() if isinstance(view.show.setup, Lenient) else None
    return orjson.dumps(
        {
            "fragments": {name: _drawn(fragments[name]) for name in new},
            "drawn": {name: prints[name] for name in new},
            "show": {name: value for name, value in after.items() if question.show.get(name) != value},
            "setup": setup if setup != question.setup else None,
            "query": page.query(view.show) if view.query is None else view.query,
            "again": view.again,
            "title": view.title or f"{page.title} · medfact",
            "stop": {name: after[name] for name in page.stops},
            "tabs": [
                tab.name
                for tab in PAGES.values()
                if tab.has_work and tab.under in (page.name, page.under) and tab.has_work(visitor)
            ],
        }
    )


def _print_of(fragment: Fragment) -> str:
    """What a page is to say it has. A version counts within this process: another may draw it with another template."""
    return fragment_hash(f"{PROCESS} {fragment.version}" if isinstance(fragment, Versioned) else fragment)


def _drawn(fragment: Fragment) -> str:
    return fragment.draw() if isinstance(fragment, Versioned) else fragment


def told_by_address(page: Page, query: str) -> dict[str, str]:
    """What a page takes from its address: nothing but the fields that it has for that."""
    try:
        told = parse_qsl(query.removeprefix("?"), keep_blank_values=True, max_num_fields=MOST_VALUES)
    except ValueError:  # there are more
        return {}
    return {name: value for name, value in told if name in page.address}


def act(visitor: Visitor, page: Page, show: Show, pressed: Action) -> tuple[Show, Message]:
    """Does what a button says; a mistake is said, and nothing else changes."""
    if pressed.name not in page.actions:
        return show, SILENCE
    if visitor.owner == NOBODY:
        return show, Message(why_nobody(), "warn")
    try:
        return page.actions[pressed.name](visitor, show, pressed)
    except MedfactError as error:
        _log.debug("Action %s of page %s was refused.", pressed.name, page.name, exc_info=True)
        return show, Message(error.public, "warn")


def refused(_: Request, error: Exception) -> Response:
    """What cannot be had now, in one sentence; the page asks again."""
    _log.debug("The request was refused.", exc_info=error)
    if isinstance(error, NotNow):
        return PlainTextResponse(error.public, status_code=429, headers={"Retry-After": str(error.seconds)})
    return PlainTextResponse(getattr(error, "public", ""), status_code=503)
