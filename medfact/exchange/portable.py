"""What remains of a spec when its run goes to another machine."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import urlsplit

from medfact.errors import ModelError
from medfact.models import HERE, provider_of, service_of
from medfact.models.services.policy import address_of
from medfact.spec import RunSpec

_ANSWER_SETTINGS = ("dtype", "thinking", "template", "max_tokens")
"""Fields of a placement that affect answers on any machine."""

_HUB_PREFIX = "hf:"

_HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?(:[\w.-]*(/[\w.\[\]:%+-]+)?)?(@[\w./-]+)?")


def portable(spec: RunSpec) -> RunSpec:
    """A spec without folders, the placement of its model, and the permission to run its code, which belong to one machine.

    The address of a service keeps its host and path, but no user name, password or key. Replicas belong to one machine: a file
    names one address at most.
    """
    base_url = spec.service.base_url
    return replace(
        spec,
        facts=_name(spec.facts),
        pool=_name(spec.pool),
        templates=_name(spec.templates),
        demonstrations=_name(spec.demonstrations),
        corpus=_name(spec.corpus),
        entailment=spec.entailment and str(_name(spec.entailment)),
        encoder=_portable_encoder(spec.encoder),
        encoder_url=spec.encoder_url and _bare(spec.encoder_url),
        imported=(),
        placement=replace(HERE, **{name: getattr(spec.placement, name) for name in _ANSWER_SETTINGS}),
        service=replace(spec.service, key=None, base_url=base_url and _bare(base_url), replicas=()),
    )


def addressed(spec: RunSpec) -> RunSpec:
    """A spec with the address of its service, even if it came from the environment of this machine."""
    service = service_of(spec.model, spec.service)
    if service is None:
        return spec
    try:
        return replace(spec, service=replace(service, base_url=address_of(service)))
    except ModelError:  # its address is not one
        return spec


def _portable_encoder(encoder: str) -> str:
    return encoder if provider_of(encoder).is_remote else str(_name(encoder))


def _name(path: str | None) -> str | None:
    """The last part of a path. Names of pools and of data sets on the hub stay as they are."""
    if path is None:
        return None
    prefix, rest = (_HUB_PREFIX, path.removeprefix(_HUB_PREFIX)) if path.startswith(_HUB_PREFIX) else ("", path)
    if prefix and _HUB_NAME.fullmatch(rest):
        return path
    name = re.split(r"[\\/]", rest.rstrip("\\/"))[-1]
    return prefix + ("" if name in {".", ".."} else name)


def _bare(address: str) -> str:
    """An address without user name, password, query and fragment."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
