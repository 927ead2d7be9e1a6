"""What a person says of a service that speaks the OpenAI protocol: where it is, how it is asked. Light: no client is loaded."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from medfact.errors import ModelError
from medfact.models.prompt import Completion
from medfact.models.services.policy import is_public_server

OPENAI_URL = "https://api.openai.com/v1"
"""Where calls go when nobody says otherwise."""

NO_KEY = "none"
"""What a service of one's own gets where no key is given: the protocol wants some."""

MOST_ALTERNATIVES = 20
"""The protocol's largest `top_logprobs`."""


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """How a service is asked.

    base_url:       where it is, up to and with `/v1`; None takes OPENAI_BASE_URL, else OpenAI's own.
    key:            None takes OPENAI_API_KEY where `environment_key` allows it. Neither the key nor the address is part of the
                    text of this record.
    in_flight:      calls at once, at most; fewer where the service says that they are too many.
    tries:          calls for one prompt, at most, until it counts as failed.
    timeout:        seconds that one call may take.
    temperature:    None leaves the service's default.
    top_logprobs:   alternatives of each token that are asked for, from 0 (no P(True)) to 20.
    max_tokens:     tokens that a reply may take; None takes what the prompt says, or THINKING_TOKENS where the model thinks.
    repeats:        so many answers to each prompt, at the service's own temperature, in place of log-probabilities; 0: none.
    shots_as_turns: demonstrations as turns of a conversation rather than in one text. Whoever makes the prompts follows it: a
                    text goes out as one message of the user, messages as they are.
    completions:    whether prompts go to /completions as plain text, for a model without a chat template.
    fresh:          whether an identical prompt is asked anew each time, also within a run.
    seed:           sent where it is given. With repeats each one gets the next.
    """

    base_url: str | None = field(default=None, repr=False)
    key: str | None = field(default=None, repr=False)
    in_flight: int = 32
    tries: int = 6
    timeout: float = 60.0
    temperature: float | None = 0.0
    top_logprobs: int = 20
    max_tokens: int | None = None
    repeats: int = 0
    shots_as_turns: bool = False
    seed: int | None = None
    fresh: bool = False
    completions: bool = False

    def __post_init__(self) -> None:
        if self.completions and self.shots_as_turns:
            raise ModelError("Completions of a text have no turns.", "Leave out --completions or --shots-as-turns.")
        limits = {
            "calls in flight": self.in_flight >= 1,
            "tries": self.tries >= 1,
            "timeout": self.timeout > 0,
            "temperature": self.temperature is None or 0 <= self.temperature <= 2,
            "alternatives": 0 <= self.top_logprobs <= MOST_ALTERNATIVES,
            "reply's tokens": self.max_tokens is None or self.max_tokens >= 1,
            "repeats": self.repeats >= 0,
        }
        for name, fits in limits.items():
            if not fits:
                raise ModelError(
                    f"The {name} given for the service is out of range.",
                    "At least 1 call and 1 try, a temperature from 0 to 2, 0 to 20 alternatives.",
                )


class Watch:
    """Looks on while a service is asked, and may end it. This one lets everything pass."""

    def came(self, completion: Completion) -> None:
        """Is told of each completion as it comes, in the service's thread."""

    def in_vain(self, prompt_tokens: int) -> None:
        """Is told of each call that brought nothing, and may have to be paid for: about how many tokens its prompt has."""

    def patience(self) -> float | None:
        """Seconds that calls in flight still get, once no further ones may go out; None as long as they may."""
        return None


NOBODY = Watch()
"""Looks on at nothing."""

DEFAULTS = ApiSettings()
"""A service asked as it suits the method: one text, greedily, with the alternatives of each token."""


def address_of(settings: ApiSettings) -> str:
    """The base URL that calls go to.

    Raises:
        ModelError: it is no web address, or holds a name and password.
    """
    address = (settings.base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL).strip().rstrip("/")
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        parts, host = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not host:
        raise ModelError("The base URL is no web address.", "It looks like https://host/v1.")
    if "@" in parts.netloc:
        raise ModelError("The base URL holds a name or a password.", "Leave them out and set OPENAI_API_KEY.")
    return address


def host_of(settings: ApiSettings) -> str:
    """The name of the host that prompts go to, for people to see before they do. Raises as `address_of` does."""
    return str(urlsplit(address_of(settings)).hostname)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def environment_key(settings: ApiSettings) -> str:
    """The key in OPENAI_API_KEY, which goes to OPENAI_BASE_URL or to OpenAI alone, and never from a public server; else ""."""
    known = {OPENAI_URL, os.environ.get("OPENAI_BASE_URL", "").strip().rstrip("/")}
    if is_public_server() or address_of(settings) not in known:
        return ""
    return os.environ.get("OPENAI_API_KEY", "")


def key_of(settings: ApiSettings) -> str:
    """The key that is sent. A service of one's own may need none; OpenAI's does.

    Raises:
        ModelError: there is none, or it holds what no key holds. Says nothing of the key.
    """
    key = (settings.key or environment_key(settings)).strip()
    host = host_of(settings)
    if not key and host == urlsplit(OPENAI_URL).hostname:
        raise no_key(host)
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ModelError(f"The key for {host} holds characters that no key has.", "Copy it again.")
    return key or NO_KEY


def no_key(host: str) -> ModelError:
    """The error where a service wants a key and none is given."""
    return ModelError(f"No key for {host}.", "Type it." if is_public_server() else "Set OPENAI_API_KEY, or type it.")
