"""What strangers may use of a public server, read from one small file; on one's own machine there are few limits.

A server is public on Hugging Face Spaces, and with MEDFACT_PUBLIC=1. Its limits stand in `assets/public-limits.yaml`, or in the
file that MEDFACT_LIMITS names.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from medfact.assets import ASSETS
from medfact.errors import Mistake

FILE = ASSETS / "public-limits.yaml"

NONE = math.inf
"""No limit."""

SIGNED_IN = "hf-"
"""How the owners begin who have signed in with Hugging Face."""

HOSTS = ("local", "demonstration")
"""Owners who are no visitors: the command line, and the app itself."""

RATES = ("page", "script", "update", "button", "download", "upload", "call")
"""Kinds of requests."""


def is_public_server() -> bool:
    """Whether strangers use this server."""
    return bool(os.environ.get("SPACE_ID")) or os.environ.get("MEDFACT_PUBLIC", "") not in {"", "0"}


def takes_runs_from_files() -> bool:
    """Whether visitors may bring runs in files: not on a public server, unless its host says so."""
    return not is_public_server() or os.environ.get("MEDFACT_IMPORTS", "") not in {"", "0"}


_for_host: ContextVar[bool | None] = ContextVar("for_host", default=None)
_restricts = False


def is_restricted() -> bool:
    """Returns True where the policy of a public server holds for the current request or job: on a public server always, on any
    other one for everybody but its host. A command line and a notebook are their host's own.
    """
    for_host = _for_host.get()
    return is_public_server() or (_restricts if for_host is None else not for_host)


def hub_login() -> bool | None:
    """The `token` of a call to the hub: False, which is no login, for a visitor of a server that is not public."""
    return False if is_restricted() and not is_public_server() else None


@contextmanager
def acting_for(host: bool) -> Iterator[None]:
    """Marks the current request or job as the host's, or as a visitor's. A new thread must be marked again."""
    before = _for_host.set(host)
    try:
        yield
    finally:
        _for_host.reset(before)


def restrict_by_default() -> None:
    """Restricts whatever this process does and nobody has marked as the host's: it serves visitors."""
    global _restricts
    _restricts = True


@dataclass(frozen=True)
class Share:
    """What one visitor may use. Each number is a most; see the file for what it counts."""

    files: float = 8
    megabytes: float = 150
    uploads_an_hour: float = NONE
    megabytes_an_hour: float = NONE
    uploads_at_once: float = NONE
    runs_going: float = 24
    pairs_a_run: float = 1_000
    statements_a_run: float = 100_000
    statements_an_hour: float = NONE
    local_minutes_a_day: float = NONE
    kept_megabytes: float = NONE
    said_megabytes: float = NONE


@dataclass(frozen=True)
class InAll:
    """What all visitors together may use, and what is kept for how long."""

    uploads_megabytes: float = 2_000
    uploads_at_once: float = NONE
    runs_going: float = NONE
    disk_megabytes: float = NONE
    free_megabytes: float = 0
    hub_megabytes: float = NONE
    run_days: float = NONE
    upload_hours: float = 24


@dataclass(frozen=True)
class Models:
    """Which models of the hub may be loaded. names: () for any that has at most so many millions of parameters. encoders: None
    for any."""

    names: tuple[str, ...] = ()
    most_millions: float = NONE
    encoders: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Rate:
    """So many requests at once, and then so many a second."""

    at_once: float
    a_second: float


@dataclass(frozen=True)
class Limits:
    """All limits of a server. rates: by kind of request; a kind that is missing has none."""

    visitor: Share = Share()
    signed_in: Share = Share()
    in_all: InAll = InAll()
    models: Models = Models()
    rates: Mapping[str, Rate] = field(default_factory=lambda: MappingProxyType({}))

    def of(self, owner: str) -> Share:
        """The share of an owner: more for those who have signed in, and no limit for the host's own runs."""
        if owner in HOSTS:
            return UNLIMITED
        return self.signed_in if self.knows(owner) else self.visitor

    @staticmethod
    def knows(owner: str) -> bool:
        """Whether an owner has signed in."""
        return owner.startswith(SIGNED_IN) or bool(os.environ.get("MEDFACT_USER_HEADER", "").strip())


OWN_MACHINE = Limits()
UNLIMITED = Share(**dict.fromkeys((one.name for one in fields(Share)), NONE))


def limits() -> Limits:
    """The limits of this server. Raises Mistake where the file of a public one cannot be read."""
    return _read(Path(os.environ.get("MEDFACT_LIMITS") or FILE)) if is_public_server() else OWN_MACHINE


@lru_cache(maxsize=4)
def _read(path: Path) -> Limits:
    import yaml

    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        known = {"visitor", "signed_in", "in_all", "models", "rates"}
        if not isinstance(found, dict) or set(found) - known:
            raise ValueError(f"its parts are {', '.join(sorted(known))}")
        sizes = {name: _numbers(kind, found.get(name)) for name, kind in _NUMBERS.items()}
        return Limits(**sizes, models=_models(found.get("models") or {}), rates=_rates(found.get("rates") or {}))
    except (OSError, ValueError, TypeError, AttributeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())[:200]
        raise Mistake(f"The limits in {path} cannot be read: {reason}.", f"Compare them with {FILE.name}.") from None


_NUMBERS: Mapping[str, type[Any]] = {"visitor": Share, "signed_in": Share, "in_all": InAll}

Numbers = TypeVar("Numbers")


def _numbers(kind: type[Numbers], found: Any) -> Numbers:
    """A part of the file that holds numbers alone; what is missing has no limit."""
    known = [one.name for one in fields(kind)]  # type: ignore[arg-type]
    found = dict(found or {})
    _check_known(found, known)
    free = 0.0 if "free_megabytes" in known and "free_megabytes" not in found else NONE
    return kind(**{name: _number(name, found.get(name, free if name == "free_megabytes" else NONE)) for name in known})


def _check_known(found: Iterable[Any], known: Iterable[str], what: str = "limit") -> None:
    if unknown := set(found) - set(known):
        raise ValueError(f"{', '.join(sorted(map(str, unknown)))}: no such {what}")


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise ValueError(f"{name} is no number from 0 on")
    return value


def _models(found: Mapping[str, Any]) -> Models:
    _check_known(found, [one.name for one in fields(Models)])
    names, encoders = found.get("names") or (), found.get("encoders")
    for listed in (names, encoders or ()):
        if isinstance(listed, str) or not all(isinstance(name, str) for name in listed):
            raise ValueError("names of models are a list")
    most = _number("most_millions", found.get("most_millions", NONE))
    return Models(tuple(names), most, None if encoders is None else tuple(encoders))


def _rates(found: Mapping[str, Any]) -> Mapping[str, Rate]:
    _check_known(found, RATES, "kind of request")
    return MappingProxyType({name: Rate(*(_number(name, value) for value in pair)) for name, pair in found.items()})
