"""Cookies that only this server can have made: their content is read, and signed with a secret."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import time
from typing import Any

PERSON = "medfact-person"
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
