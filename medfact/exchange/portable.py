"""What remains of a spec when its run goes to another machine."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar
from urllib.parse import urlsplit

from medfact.errors import ModelError
from medfact.models import Placement, ServiceSettings, provider_of, service_of
from medfact.models.services.policy import address_of
from medfact.setting import ADDRESS, ALL, LAST_PART, NOTHING, OF_MODEL, setting_metadata
from medfact.spec import RunSpec

Record = TypeVar("Record", RunSpec, Placement, ServiceSettings)

_HUB_PREFIX = "hf:"

_HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?(:[\w.-]*(/[\w.\[\]:%+-]+)?)?(@[\w./-]+)?")


def portable(spec: RunSpec) -> RunSpec:
    """A spec without folders, the placement of its model, and the permission to run its code, which belong to one machine.

    The address of a service keeps its host and path, but no user name, password or key.
    """
    return replace(_carried(spec), placement=_carried(spec.placement), service=_carried(spec.service))


def _carried(record: Record) -> Record:
    """A record with what each of its fields says that goes elsewhere."""
    values: dict[str, Any] = {}
    for one in fields(record):
        if (how := setting_metadata(one).export_policy) != ALL:
            values[one.name] = one.default if how == NOTHING else _CUT[how](getattr(record, one.name))
    return replace(record, **values)


def shown_model(model: str) -> str:
    """A model as others may read it: of one in a folder, the folder's last part."""
    return model if provider_of(model).is_remote else str(_name(model))


def addressed(spec: RunSpec) -> RunSpec:
    """A spec with the address of its service, even if it came from the environment of this machine."""
    service = service_of(spec.model, spec.service)
    if service is None:
        return spec
    try:
        return replace(spec, service=replace(service, base_url=address_of(service).whole))
    except ModelError:  # its address is not one
        return spec


def _name(path: str | None) -> str | None:
    """The last part of a path. Names of pools and of data sets on the hub stay as they are."""
    if path is None:
        return None
    prefix, rest = (_HUB_PREFIX, path.removeprefix(_HUB_PREFIX)) if path.startswith(_HUB_PREFIX) else ("", path)
    if prefix and _HUB_NAME.fullmatch(rest):
        return path
    name = re.split(r"[\\/]", rest.rstrip("\\/"))[-1]
    return prefix + ("" if name in {".", ".."} else name)


def _bare(address: str | None) -> str | None:
    """An address without user name, password, query and fragment."""
    if not address:
        return address
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


_CUT: Mapping[str, Callable[[Any], Any]] = {
    LAST_PART: _name,
    OF_MODEL: shown_model,
    ADDRESS: _bare,
}
"""How what travels of a field → what is left of its value."""
