"""Limits of a public server, read from one file; a private server has few.

A server is public on Hugging Face Spaces, and with MEDFACT_PUBLIC=1. Its limits are in `assets/public-limits.yaml`, or in the
file that MEDFACT_LIMITS names.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from medfact.assets import ASSETS
from medfact.errors import Mistake

FILE = ASSETS / "public-limits.yaml"  # default limits of a public server

UNLIMITED = math.inf
"""Value of a limit that does not limit."""

SIGNED_IN = "hf-"
"""Prefix of owners who have signed in with Hugging Face."""

HOSTS = ("local", "demonstration")
"""Owners of runs who are not visitors: the user of the command line, and the app, which runs a demonstration."""

REQUEST_KINDS = ("page", "script", "update", "button", "download", "upload", "call")
"""Kinds of HTTP requests with separate rate limits; `call` is a call of the API."""


def is_public_server() -> bool:
    """Returns True if untrusted visitors use this server."""
    return bool(os.environ.get("SPACE_ID")) or os.environ.get("MEDFACT_PUBLIC", "") not in {"", "0"}


def allows_run_imports() -> bool:
    """Returns True if visitors may import runs: on a public server only with MEDFACT_IMPORTS."""
    return not is_public_server() or os.environ.get("MEDFACT_IMPORTS", "") not in {"", "0"}


_acts_as_host: ContextVar[bool | None] = ContextVar("acts_as_host", default=None)  # set by `acting_as_host`
_restricted_by_default = False


def is_restricted() -> bool:
    """Returns True if the current request or job has only a visitor's permissions.

    On a public server every request has; on a private one, every request except the host's. The host is the user of the
    command line or notebook.
    """
    acts_as_host = _acts_as_host.get()
    return is_public_server() or (_restricted_by_default if acts_as_host is None else not acts_as_host)


def hub_token() -> bool | None:
    """Argument `token` for Hugging Face libraries: False (anonymous) for visitors of a private server, else None."""
    return False if is_restricted() and not is_public_server() else None


@contextmanager
def acting_as_host(is_host: bool) -> Iterator[None]:
    """Runs the body as the host (True) or as a visitor (False). New threads do not inherit it."""
    token = _acts_as_host.set(is_host)
    try:
        yield
    finally:
        _acts_as_host.reset(token)


def restrict_by_default() -> None:
    """Makes `is_restricted` true in this process, which serves visitors, except within `acting_as_host(True)`."""
    global _restricted_by_default
    _restricted_by_default = True


def _check_number(name: str, value: object) -> None:
    """Raises ValueError if a value is not a number from 0 on."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise ValueError(f"{name} is not a number from 0 on")


class _NonNegativeFields:
    """Base of dataclasses whose fields are numbers from 0 on; others raise ValueError."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            _check_number(name, value)


@dataclass(frozen=True)
class Quota(_NonNegativeFields):
    """Maximum use per visitor. `assets/public-limits.yaml` explains each field and its unit."""

    files: float = UNLIMITED
    megabytes: float = UNLIMITED
    uploads_an_hour: float = UNLIMITED
    megabytes_an_hour: float = UNLIMITED
    uploads_at_once: float = UNLIMITED
    runs_going: float = UNLIMITED
    pairs_a_run: float = UNLIMITED
    statements_a_run: float = UNLIMITED
    statements_an_hour: float = UNLIMITED
    local_minutes_a_day: float = UNLIMITED
    kept_megabytes: float = UNLIMITED
    said_megabytes: float = UNLIMITED


@dataclass(frozen=True)
class TotalLimits(_NonNegativeFields):
    """Maximum use of all visitors together, and retention times."""

    uploads_megabytes: float = UNLIMITED
    uploads_at_once: float = UNLIMITED
    runs_going: float = UNLIMITED
    disk_megabytes: float = UNLIMITED
    free_megabytes: float = 0
    hub_megabytes: float = UNLIMITED
    run_days: float = UNLIMITED
    upload_hours: float = UNLIMITED


@dataclass(frozen=True)
class ModelLimits:
    """Models of the Hugging Face hub that visitors may load."""

    names: tuple[str, ...] = ()  # () for any model
    most_millions: float = UNLIMITED  # of parameters
    encoders: tuple[str, ...] | None = None  # None for any encoder

    def __post_init__(self) -> None:
        _check_number("most_millions", self.most_millions)
        names, encoders = self.names or (), self.encoders
        for models in (names, encoders or ()):
            if isinstance(models, str) or not all(isinstance(model, str) for model in models):
                raise ValueError("names of models are a list")
        object.__setattr__(self, "names", tuple(names))
        object.__setattr__(self, "encoders", None if encoders is None else tuple(encoders))


@dataclass(frozen=True)
class RateLimit(_NonNegativeFields):
    """A token bucket for requests."""

    at_once: float  # size of the bucket
    a_second: float  # tokens added per second


@dataclass(frozen=True)
class Limits:
    """All limits of a server."""

    visitor: Quota = Quota()
    signed_in: Quota = Quota()
    in_all: TotalLimits = TotalLimits()  # of all visitors together
    models: ModelLimits = ModelLimits()
    rates: Mapping[str, RateLimit] = field(default_factory=lambda: MappingProxyType({}))  # kind of request -> its limit, if any

    def quota_for(self, owner: str) -> Quota:
        """The quota of an owner: unlimited for hosts, larger for signed-in visitors than for others."""
        if owner in HOSTS:
            return Quota()
        return self.signed_in if self.is_signed_in(owner) else self.visitor

    @staticmethod
    def is_signed_in(owner: str) -> bool:
        """Returns True if an owner has signed in with Hugging Face, or with the proxy of MEDFACT_USER_HEADER."""
        return owner.startswith(SIGNED_IN) or bool(os.environ.get("MEDFACT_USER_HEADER", "").strip())


_PRIVATE_QUOTA = Quota(files=8, megabytes=150, runs_going=24, pairs_a_run=1_000, statements_a_run=100_000)
PRIVATE_LIMITS = Limits(_PRIVATE_QUOTA, _PRIVATE_QUOTA, TotalLimits(uploads_megabytes=2_000, upload_hours=24))
"""Limits of a server that is not public."""


def limits() -> Limits:
    """The limits of this server. Raises Mistake if the file of a public server is invalid."""
    return _read_limits(Path(os.environ.get("MEDFACT_LIMITS") or FILE)) if is_public_server() else PRIVATE_LIMITS


_SECTIONS: Mapping[str, type[Any]] = {"visitor": Quota, "signed_in": Quota, "in_all": TotalLimits, "models": ModelLimits}


@lru_cache(maxsize=4)
def _read_limits(path: Path) -> Limits:
    """Reads the limits of a public server from a YAML file."""
    import yaml

    try:
        sections = dict(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
        _check_names(sections, (*_SECTIONS, "rates"), "part")
        rates = sections.pop("rates", None) or {}
        _check_names(rates, REQUEST_KINDS, "kind of request")
        for name, kind in _SECTIONS.items():
            values = sections.get(name) or {}
            _check_names(values, [limit.name for limit in fields(kind)], "limit")
            sections[name] = kind(**values)
        return Limits(**sections, rates=MappingProxyType({name: RateLimit(*pair) for name, pair in rates.items()}))
    except (OSError, ValueError, TypeError, AttributeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())[:200]
        raise Mistake(f"The limits in {path} cannot be read: {reason}.", f"Compare them with {FILE.name}.") from None


def _check_names(values: Mapping[Any, Any], valid: Collection[str], noun: str) -> None:
    """Raises ValueError if a key is not valid. noun: of the keys, in the message."""
    if unknown := values.keys() - set(valid):
        raise ValueError(f"{', '.join(sorted(map(str, unknown)))}: no such {noun}")
