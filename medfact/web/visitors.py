"""Who visits: each browser is an owner of its own, by a cookie that says nothing else; a run's link opens it to anybody.

Where people sign in at a reverse proxy, its header says who asks, and a person is the owner, in whatever browser.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from typing import Any

from fastapi import Request, Response
from starlette.datastructures import MutableHeaders

from medfact.limits import SIGNED_IN, is_public_server
from medfact.reviews.invitations import invited_by
from medfact.spec import LOCAL_OWNER
from medfact.web.clients import scheme_of
from medfact.web.host import is_host
from medfact.web.sign_in import owner_of_person, person_of

COOKIE = "medfact-visitor"
SECURE_COOKIE = f"__Host-{COOKIE}"
"""Its name over https, where browsers take it from this host alone, and from nobody on an unencrypted way to it."""

NOBODY = "nobody"
"""The owner of a request without a cookie: it may look, and do nothing."""

LONGEST_NAME = 120
"""Characters of the name of somebody who has signed in."""
NO_COOKIE = "This page needs a cookie, to tell your runs and files from others'. Allow cookies for it, and load it again."
YEAR = 365 * 24 * 3600


def user_header() -> str:
    """The header in which a reverse proxy says who has signed in; "" where none does."""
    return os.environ.get("MEDFACT_USER_HEADER", "").strip()


def user_of(request: Any) -> str:
    """Who has signed in, as the reverse proxy says in the header that `MEDFACT_USER_HEADER` names; "" where nobody has."""
    header = user_header()
    return str(request.headers.get(header, "")).strip()[:LONGEST_NAME] if header else ""


def owner_of(request: Any) -> str:
    """The owner that a request comes from; `MEDFACT_OWNER` makes all one, for a machine that one person uses."""
    if one := os.environ.get("MEDFACT_OWNER"):
        return one
    if user_header():
        user = user_of(request)
        return hashlib.sha256(f"user {user}".encode()).hexdigest()[:32] if user else NOBODY
    person = person_of(request)
    return owner_of_person(person[0]) if person else browser_of(request)


def browser_of(request: Any) -> str:
    """The owner that a browser is by its cookie alone."""
    cookie = _cookie_of(request)
    return owner_of_cookie(cookie) if cookie else NOBODY


def owner_of_cookie(cookie: str) -> str:
    """The owner whose browser holds a cookie: a hash of it, so that nobody enters as an owner who reads the database."""
    return hashlib.sha256(f"browser {cookie}".encode()).hexdigest()[:32]


def _cookie_of(request: Any) -> str:
    """The value of a browser's cookie; "" for none. One that was given over http also counts over https."""
    values = (str(request.cookies.get(name, "")) for name in (SECURE_COOKIE, COOKIE))
    return next((value for value in values if re.fullmatch(r"[0-9a-f]{32}", value)), "")


def why_nobody() -> str:
    """What to say to a request that comes from nobody."""
    return "Sign in first: the server in front of this one says who you are, and has not." if user_header() else NO_COOKIE


def owners_seen_by(request: Any) -> tuple[str, ...]:
    """Whose runs a request may list: its own, those of the same browser before one signed in, and those of the command line for
    the host."""
    owner = owner_of(request)
    before = (browser_of(request),) if owner.startswith(SIGNED_IN) and browser_of(request) != NOBODY else ()
    return (owner, *before, LOCAL_OWNER) if is_host(request) else (owner, *before)


def owners_reviewing(request: Any) -> tuple[str, ...]:
    """Owners whose verdicts are added up for a request: everybody's, (), on one's own machine or where people sign in; else
    its own, and those of the colleagues it asked.

    On a public server anybody may call themselves a clinician, so there nobody's word changes another's figures.
    """
    if user_of(request) or not is_public_server():
        return ()
    owners = owners_seen_by(request)
    return (*owners, *(invitation.owner for invitation in invited_by(owners)))


def is_adjudicator(name: str, *, signed_in: bool) -> bool:
    """Whether a reviewer may see the verdicts of others and decide: `MEDFACT_ADJUDICATORS` lists names, with commas.

    A name that is only typed is believed on one's own machine alone.
    """
    names = {one.strip().casefold() for one in os.environ.get("MEDFACT_ADJUDICATORS", "").split(",")} - {""}
    return name.strip().casefold() in names and (signed_in or not is_public_server())


def welcome(request: Request, headers: MutableHeaders) -> None:
    """Gives a browser that has none its cookie, with the page itself; over https, also the one that it was given over http."""
    cookie, is_secure = _cookie_of(request), scheme_of(request.scope) == "https"
    is_kept = not is_secure or SECURE_COOKIE in request.cookies if cookie else owner_of(request) != NOBODY
    if is_kept or "text/html" not in headers.get("content-type", ""):
        return
    # A Space is shown inside a page of another site, which only these cookies survive.
    inside = bool(os.environ.get("SPACE_ID"))
    made = Response()
    made.set_cookie(
        SECURE_COOKIE if is_secure else COOKIE,
        cookie or secrets.token_hex(16),
        max_age=YEAR,
        httponly=True,
        secure=is_secure,
        samesite="none" if inside else "lax",
    )
    # without "Partitioned" browsers drop it there
    headers.append("set-cookie", made.headers["set-cookie"] + ("; Partitioned" if inside else ""))
