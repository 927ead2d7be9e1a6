"""The address of a service, as a person types it: checked, and taken apart."""

from __future__ import annotations

import ipaddress
import re
from typing import NamedTuple
from urllib.parse import SplitResult, parse_qsl, urlsplit

from medfact.errors import ModelError
from medfact.models.services.named import VARIABLE

LONGEST_ADDRESS = 2_000
"""Characters of an address; a database may keep no more."""

_HOST = re.compile(r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?\.?", re.ASCII)
_SECRET = re.compile(
    r"(?:\A|[_.-])(?:key|apikey|token|secret|password|passwd|pwd|sig|signature|auth\w*|credentials?)\Z", re.IGNORECASE
)
_USER_INFO = re.compile(r"\A(\s*(?:[a-z][a-z0-9+.-]*:)?//)?[^/?#]*@", re.IGNORECASE)


_ENDPOINTS = ("/chat/completions", "/completions", "/responses", "/embeddings")
"""The paths of kinds of calls."""


class Address(NamedTuple):
    """A web address. host: in ASCII, as it is looked up. base: without the query."""

    base: str
    host: str
    query: str

    @property
    def whole(self) -> str:
        return f"{self.base}?{self.query}" if self.query else self.base


def parsed_address(text: str, name: str = "base URL") -> Address:
    """A web address without a slash at its end, nor the path of one kind of call, which is added to it. Names in other scripts
    become what is looked up (punycode).

    name: what to call it. Raises ModelError where it is none, or holds a secret: addresses are recorded.
    """
    text = text.strip()
    hint = "Write it as https://host/v1, or http://127.0.0.1:8000/v1."
    if len(text) > LONGEST_ADDRESS:
        raise ModelError(f"The {name} is longer than {LONGEST_ADDRESS:,} characters.", hint)
    if not text.isprintable() or any(character.isspace() or character == "\\" for character in text):
        raise ModelError(f"The {name} contains a space, a backslash or a control character.", hint)
    if lacking := VARIABLE.search(text):
        raise ModelError(f"The {name} lacks {lacking[1]}.", f"Set {lacking[1]}, or give the whole address.")
    if _USER_INFO.match(text):
        raise ModelError(f"The {name} contains a user name or password.", "Leave them out and set OPENAI_API_KEY.")
    try:
        parts, host, port = _parts(text)
    except ValueError:
        raise ModelError(f"The {name} is not a web address.", hint) from None
    if _holds_secret(parts.query):
        raise ModelError(f"The {name} contains a key.", "Leave it out and set OPENAI_API_KEY: addresses are recorded.")
    shown = f"[{host}]" if ":" in host else host
    base = f"{parts.scheme}://{shown}{'' if port is None else f':{port}'}{_without_endpoint(parts.path)}"
    return Address(base, host, parts.query)


def _without_endpoint(path: str) -> str:
    path = path.rstrip("/")
    while endpoint := next((endpoint for endpoint in _ENDPOINTS if path.lower().endswith(endpoint)), None):
        path = path[: -len(endpoint)].rstrip("/")
    return path


def _parts(text: str) -> tuple[SplitResult, str, int | None]:
    """The parts of an address, its host and its port. Raises ValueError where one is none."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.fragment or parts.port == 0:
        raise ValueError("no web address")
    if parts.netloc.endswith(":"):
        raise ValueError("no port")
    return parts, _ascii_host(parts.hostname), parts.port


def _ascii_host(host: str) -> str:
    """A host as it is looked up. Raises ValueError where it is none."""
    if ":" in host:
        return str(ipaddress.IPv6Address(host))
    host = host if host.isascii() else host.encode("idna").decode().lower()
    if not _HOST.fullmatch(host) or ".." in host or any(len(label) > 63 for label in host.split(".")):
        raise ValueError("no host")
    return host


def without_secrets(address: str | None) -> str | None:
    """An address without a user name, a password and the keys in its query."""
    if not address:
        return address
    base, _, query = _USER_INFO.sub(lambda found: found[1] or "", address, count=1).partition("?")
    kept = "&".join(part for part in query.split("&") if not _holds_secret(part))
    return f"{base}?{kept}" if kept else base


def _holds_secret(query: str) -> bool:
    return any(_SECRET.search(word) for word, _ in parse_qsl(query, keep_blank_values=True))
