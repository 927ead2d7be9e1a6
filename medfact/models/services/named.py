"""Services that are known by name: `groq:MODEL` is a model at Groq. What each of them is stands in `assets/services.yaml`."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from medfact.assets import ASSETS
from medfact.limits import is_public_server

SERVICES = ASSETS / "services.yaml"

VARIABLE = re.compile(r"\{(\w+)\}")
"""What stands in an address for a variable of the environment."""


@dataclass(frozen=True, slots=True)
class NamedService:
    """A service, and what its documentation says of it. What each field means stands at the top of `services.yaml`."""

    prefix: str
    title: str
    address: str
    key: str | None
    logprobs: int | None
    seed: str | None
    effort: str | None
    lists: bool | None
    terms: str | None
    source: str
    as_of: str

    @property
    def is_fixed(self) -> bool:
        """Whether it has one address, the same for everybody."""
        return not VARIABLE.search(self.address)

    @property
    def filled_address(self) -> str:
        """The address with what the environment says of it; what is not set stays. A public server fills in nothing."""
        return VARIABLE.sub(lambda found: _from_environment(found[1]) or found[0], self.address)


def _from_environment(variable: str) -> str:
    return "" if is_public_server() else os.environ.get(variable, "").strip().rstrip("/")


@cache
def named_services(file: Path = SERVICES) -> tuple[NamedService, ...]:
    """All services of the file, in its order."""
    rows = yaml.safe_load(file.read_text(encoding="utf-8"))
    return tuple(NamedService(**{**row, "as_of": str(row["as_of"])}) for row in rows)


def service_named(spec: str) -> NamedService | None:
    """The service that the spec of a model names; None where it names none."""
    return next((service for service in named_services() if spec.startswith(service.prefix)), None)


def service_at(address: str) -> NamedService | None:
    """The service at an address; None where that is not known."""
    return next((service for service in named_services() if service.filled_address.rstrip("/") == address.rstrip("/")), None)


def seed_name_at(address: str) -> str:
    """The name of the seed for the service at an address; `seed`, as the protocol has it, where that is not known."""
    service = service_at(address)
    return (service and service.seed) or "seed"
