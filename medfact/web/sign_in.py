"""Signing in with Hugging Face, where a Space offers it: OpenID Connect's code flow, with state and PKCE.

A Space whose README says `hf_oauth: true` gets OAUTH_CLIENT_ID, OAUTH_CLIENT_SECRET, OAUTH_SCOPES and OPENID_PROVIDER_URL. Of
the provider's answer, the person's id and name go into a signed cookie of the browser. A token that calls models stays in
memory (`hub_tokens.py`); any other is dropped.

Sources: OpenID Connect Core 1.0, Section 3.1; RFC 7636 (PKCE); the documentation of Spaces, "Adding a Sign-In with HF button".
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import os
import secrets
import time
from collections.abc import Callable, Collection, MutableMapping
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx2
from cachetools import TTLCache
from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse, RedirectResponse

from medfact.errors import ServiceDown
from medfact.limits import SIGNED_IN
from medfact.web.clients import scheme_of
from medfact.web.hub_tokens import Token, Tokens, token_in

_log = logging.getLogger(__package__)

STATE = "__Host-medfact-sign-in"
STATE_SECONDS, PERSON_SECONDS, MOST_STATES = 600, 14 * 86_400, 1_000_000
ANSWER_SECONDS, KNOWN_SECONDS = 10.0, 3_600.0
LONGEST_NAME = 120
CANNOT = "Signing in failed. Go back and try again. Everything works without it, with lower limits."


def is_offered() -> bool:
    """Whether this server has all that signing in needs."""
    return all(os.environ.get(name) for name in ("OAUTH_CLIENT_ID", "OAUTH_CLIENT_SECRET", "OPENID_PROVIDER_URL"))


def owner_of_person(person: str) -> str:
    """The owner of one who has signed in, the same in every browser."""
    return SIGNED_IN + hashlib.sha256(f"{os.environ.get('OPENID_PROVIDER_URL', '')} {person}".encode()).hexdigest()[:32]


def routes(pages: Collection[str], tokens: Tokens | None = None, left: Callable[[str], None] = lambda _: None) -> APIRouter:
    """The addresses for signing in and out. Without a provider they are not there. pages: where one may be led back to, besides
    the first page: never to an address that a link names. tokens: where they are kept. left: told of an owner who signs out.
    """
    held = Tokens() if tokens is None else tokens
    router = APIRouter(include_in_schema=False)

    @router.get("/sign-in")
    async def begin(request: Request, to: str = "") -> Response:
        return await _begun(request, to if to in pages else "") if is_offered() else Response(status_code=404)

    @router.get("/login/callback")
    async def back(request: Request, state: str = "", code: str = "") -> Response:
        return await _back(request, state, code, held) if is_offered() else Response(status_code=404)

    @router.get("/sign-out")
    def end(request: Request) -> Response:
        if request.headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}:
            return PlainTextResponse("Another site's page may not do that.", status_code=403)
        if (person := person_of(request)) is not None:
            held.forget(owner_of_person(person[0]))
            left(owner_of_person(person[0]))
        answer = RedirectResponse("./", status_code=303)
        _set(answer, PERSON, "", 0)
        return answer

    return router


async def _begun(request: Request, to: str) -> Response:
    """Sends a browser to the provider, with a state that only it can bring back."""
    try:
        where = (await _endpoints())["authorization_endpoint"]
    except ServiceDown as error:
        return PlainTextResponse(error.public, status_code=503)
    state, verifier = secrets.token_urlsafe(24), secrets.token_urlsafe(48)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    asked = {
        "response_type": "code",
        "client_id": os.environ["OAUTH_CLIENT_ID"],
        "redirect_uri": _own_address(request),
        "scope": os.environ.get("OAUTH_SCOPES") or "openid profile",
        "state": state,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
    answer = RedirectResponse(f"{where}?{urlencode(asked)}", status_code=303)
    content = {"state": state, "verifier": verifier, "to": to}
    _set(answer, STATE, sealed(STATE, content, STATE_SECONDS), STATE_SECONDS, "lax")
    return answer


async def _back(request: Request, state: str, code: str, held: Tokens) -> Response:
    """Takes a browser back that the provider sends: only with the state that it was sent away with, and once."""
    sent = opened(STATE, str(request.cookies.get(STATE, "")))
    is_it = sent is not None and bool(code) and secrets.compare_digest(str(sent["state"]).encode(), state.encode())
    if sent is None or not is_it or not _is_first(state):
        answer: Response = PlainTextResponse(CANNOT, status_code=400)
    else:
        try:
            person, token = await _person(code, str(sent["verifier"]), _own_address(request))
            held.forget(owner_of_person(person["sub"]))
            if token is not None:
                held.keep(owner_of_person(person["sub"]), token)
            answer = RedirectResponse(f"../{sent['to']}", status_code=303)
            _set(answer, PERSON, sealed(PERSON, person, PERSON_SECONDS), PERSON_SECONDS)
        except ServiceDown as error:
            answer = PlainTextResponse(error.public, status_code=503)
    _set(answer, STATE, "", 0, "lax")
    return answer


_brought_back: TTLCache[str, bool] = TTLCache(MOST_STATES, STATE_SECONDS)
"""States with which browsers came back: a cookie that somebody kept is good for no second time."""


def _is_first(state: str) -> bool:
    """Whether a state of this server's own making comes back for the first time, which is noted."""
    return not _brought_back.get(state) and bool(_brought_back.setdefault(state, True))


def _set(answer: Response, name: str, value: str, seconds: int, same_site: str = "none") -> None:
    """Sets a cookie that scripts do not see and that travels over https alone; inside the Hub's frame, too, where it may."""
    answer.set_cookie(name, value, max_age=seconds, httponly=True, secure=True, samesite=same_site)  # type: ignore[arg-type]
    if same_site == "none":
        made = answer.headers.getlist("set-cookie")[-1]
        answer.raw_headers[-1] = (b"set-cookie", f"{made}; Partitioned".encode())


def _own_address(request: Request) -> str:
    """Where the provider sends browsers back to: this server, whose name the guard has checked."""
    if space := os.environ.get("SPACE_HOST", "").partition(",")[0].strip():
        return f"https://{space}/login/callback"
    prefix = os.environ.get("GRADIO_ROOT_PATH", "").rstrip("/")
    return f"{scheme_of(request.scope)}://{request.headers['host']}{prefix}/login/callback"


# ------------------------------------------------------------------------------------------------ the provider


_known: MutableMapping[str, dict[str, str]] = TTLCache(4, KNOWN_SECONDS)


async def _endpoints() -> dict[str, str]:
    """The provider's addresses, all of its own host; asked once an hour. Raises ServiceDown."""
    provider = os.environ["OPENID_PROVIDER_URL"].rstrip("/")
    if (kept := _known.get(provider)) is not None:
        return kept
    found = await _asked("GET", f"{provider}/.well-known/openid-configuration")
    names = ("authorization_endpoint", "token_endpoint", "userinfo_endpoint")
    home = urlsplit(provider)
    if any(urlsplit(str(found.get(name)))[:2] != home[:2] for name in names):
        raise _away("it names addresses of another host")
    made = {name: str(found[name]) for name in names}
    _known[provider] = made
    return made


async def _person(code: str, verifier: str, own_address: str) -> tuple[dict[str, str], Token | None]:
    """The id and the name of who brought a code of the provider's, and what calls models for them. Raises ServiceDown."""
    where = await _endpoints()
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": own_address, "code_verifier": verifier}
    own = (os.environ["OAUTH_CLIENT_ID"], os.environ["OAUTH_CLIENT_SECRET"])
    given = await _asked("POST", where["token_endpoint"], data=form, auth=own)
    token = given.get("access_token")
    if not isinstance(token, str):
        raise _away("it gave no token")
    told = await _asked("GET", where["userinfo_endpoint"], headers={"Authorization": f"Bearer {token}"})
    person = told.get("sub")
    if not isinstance(person, str) or not person:
        raise _away("it did not say who signed in")
    name = str(told.get("preferred_username") or told.get("name") or "somebody")
    return {"sub": person[:LONGEST_NAME], "name": name[:LONGEST_NAME]}, token_in(given)


async def _asked(method: str, url: str, **more: Any) -> dict[str, Any]:
    """What the provider answers, without following redirects. Raises ServiceDown."""
    try:
        async with httpx2.AsyncClient(timeout=ANSWER_SECONDS, follow_redirects=False) as client:
            answer = await client.request(method, url, **more)
        found = answer.json() if answer.status_code == 200 else None
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, ImportError):  # ImportError: a SOCKS proxy without its package
        _log.debug("The sign-in service failed.", exc_info=True)
        found = None
    if not isinstance(found, dict):
        raise _away("it does not answer as it should")
    return found


def _away(why: str) -> ServiceDown:
    return ServiceDown(f"Hugging Face could not be asked who you are: {why}.", CANNOT)


# ------------------------------------------------------------------------------------------------ signed cookies

PERSON = "__Host-medfact-person"
"""The cookie of one who has signed in."""


def secret() -> bytes:
    """What cookies are signed with: the secret that this server shares with the one that people sign in at; empty for none."""
    shared = os.environ.get("OAUTH_CLIENT_SECRET", "")
    return hmac.new(shared.encode(), b"medfact cookies 1", hashlib.sha256).digest() if shared else b""


def sealed(purpose: str, content: dict[str, Any], seconds: float) -> str:
    """A cookie's value, valid for so long and for one purpose."""
    record = json.dumps({**content, "purpose": purpose, "until": time.time() + seconds}, separators=(",", ":")).encode()
    return f"{base64.urlsafe_b64encode(record).decode()}.{_signature(record)}"


def opened(purpose: str, value: str) -> dict[str, Any] | None:
    """The content of a cookie that `sealed` has made for this purpose; None of any other, and of one that is too old."""
    text, _, signature = value.partition(".")
    try:
        record = base64.urlsafe_b64decode(text.encode("ascii"))
        if not secret() or not hmac.compare_digest(_signature(record), signature):
            return None
        content = dict(json.loads(record))
    except (ValueError, TypeError):
        return None
    return content if content.get("purpose") == purpose and content.get("until", 0) > time.time() else None


def _signature(record: bytes) -> str:
    return hmac.new(secret(), record, hashlib.sha256).hexdigest()


def person_of(request: Any) -> tuple[str, str] | None:
    """Who has signed in with Hugging Face in this browser: an id, and a name to show; None for nobody."""
    content = opened(PERSON, str(request.cookies.get(PERSON, "")))
    return (str(content["sub"]), str(content["name"])) if content else None
