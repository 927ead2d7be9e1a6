"""The tokens of those who have signed in with Hugging Face and let this page call models with their own credits.

A token is in this process's memory alone, no longer than it is valid, and goes to Hugging Face's router alone: never to a
browser, a cookie, the database, a file or a log. It is forgotten when its owner signs out, and when the server restarts.

Source: the documentation of Spaces, "Adding a Sign-In with HF button" (the scope `inference-api`), and of Inference Providers.
"""

from __future__ import annotations

import os
import threading
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from cachetools import TLRUCache

from medfact.errors import ModelError
from medfact.models import ServiceSettings
from medfact.models.services.policy import address_of

ROUTER = "https://router.huggingface.co/v1"
SCOPE = "inference-api"
"""What a person must have agreed to."""

MOST_HELD, LONGEST_SECONDS, USUAL_SECONDS, LONGEST_TOKEN = 10_000, 8 * 3_600.0, 3_600.0, 8_000
"""Tokens that are held, the latest; for how long at most, and for how long where nothing is said of it; characters of one."""


class Token(NamedTuple):
    """What calls models for a person, and for how long. Its text is shown nowhere."""

    value: str
    seconds: float

    def __repr__(self) -> str:
        return "Token(…)"


def router() -> str:
    """The address of the router: `MEDFACT_HF_ROUTER`, which the host of a server alone can set, else Hugging Face's own."""
    return os.environ.get("MEDFACT_HF_ROUTER", "").strip() or ROUTER


def is_offered() -> bool:
    """Whether people who sign in here are asked to let the page call models for them."""
    return SCOPE in os.environ.get("OAUTH_SCOPES", "").split()


def token_in(answer: dict[str, Any]) -> Token | None:
    """The token in what the provider has answered; None where it calls no models."""
    value, seconds = answer.get("access_token"), answer.get("expires_in")
    granted = answer.get("scope", os.environ.get("OAUTH_SCOPES", ""))
    if not isinstance(value, str) or len(value) > LONGEST_TOKEN or SCOPE not in str(granted).split():
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        seconds = USUAL_SECONDS
    return Token(value, min(float(seconds), LONGEST_SECONDS))


class Tokens:
    """The tokens, by owner."""

    def __init__(self) -> None:
        self._held: TLRUCache[str, Token] = TLRUCache(MOST_HELD, ttu=lambda _, token, now: now + token.seconds)
        self._lock = threading.Lock()

    def keep(self, owner: str, token: Token) -> None:
        with self._lock:
            self._held[owner] = token

    def forget(self, owner: str) -> None:
        with self._lock:
            self._held.pop(owner, None)

    def has(self, owner: str) -> bool:
        with self._lock:
            return owner in self._held

    def of(self, owner: str, service: ServiceSettings) -> str | None:
        """The token of an owner for a service: for the router alone."""
        with self._lock:
            token = self._held.get(owner)
        return token.value if token is not None and is_router(service) else None


def is_router(service: ServiceSettings) -> bool:
    """Whether all that is sent to a service goes to the router: the same scheme, host and port."""
    try:
        own, asked = urlsplit(address_of(ServiceSettings(base_url=router())).base), urlsplit(address_of(service).base)
    except ModelError:
        return False
    return (asked.scheme, asked.netloc) == (own.scheme, own.netloc)
