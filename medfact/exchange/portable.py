"""A spec as it goes from one machine to another."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import urlsplit

from medfact.errors import ModelError
from medfact.models import HERE, is_service
from medfact.models.services.policy import address_of
from medfact.spec import RunSpec

_ASKED = ("dtype", "thinking", "template", "max_tokens")
"""What of a placement decides what a model says, on whatever machine."""

HUB = "hf:"
"""How the name of a data set of the hub begins."""

_HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?(:[\w.-]*(/[\w.\[\]:%+-]+)?)?(@[\w./-]+)?")


def portable(spec: RunSpec) -> RunSpec:
    """A spec without what belongs to one machine: its folders, where a model is placed on it, and leave to run code there.

    The address of a service keeps its host and path; a name, a password or a key in it is taken out.
    """
    base_url = spec.service.base_url
    return replace(
        spec,
        facts=_name(spec.facts),
        pool=_name(spec.pool),
        templates=_name(spec.templates),
        demonstrations=_name(spec.demonstrations),
        placement=replace(HERE, **{name: getattr(spec.placement, name) for name in _ASKED}),
        service=replace(spec.service, key=None, base_url=base_url and _bare(base_url)),
    )


def addressed(spec: RunSpec) -> RunSpec:
    """A spec that says where its service is, which another machine may take to be elsewhere."""
    if not is_service(spec.model):
        return spec
    try:
        return replace(spec, service=replace(spec.service, base_url=address_of(spec.service)))
    except ModelError:  # what it says is no address
        return spec


def _name(path: str | None) -> str | None:
    """The name of a file or folder without the folders that it is in; names of a pool or of the hub as they are."""
    if path is None:
        return None
    prefix, rest = (HUB, path.removeprefix(HUB)) if path.startswith(HUB) else ("", path)
    if prefix and _HUB_NAME.fullmatch(rest):
        return path
    name = re.split(r"[\\/]", rest.rstrip("\\/"))[-1]
    return prefix + ("" if name in {".", ".."} else name)


def _bare(address: str) -> str:
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
