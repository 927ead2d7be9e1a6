"""User names, passwords and keys in addresses, which earlier versions recorded: taken out when a database is opened."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

import sqlalchemy as sql
from sqlalchemy.exc import SQLAlchemyError

from medfact.models.services.addresses import without_secrets
from medfact.store import schema

_ANYWHERE = re.compile(r"(//)[^/?#\"\s\\]*@")
"""A user name in a text that is no record."""


def remove_secrets(engine: sql.Engine) -> None:
    """Takes user names, passwords and keys out of recorded addresses. A database that cannot be written is left as it is."""
    row = schema.runs.c
    with engine.connect() as connection:
        suspects = sql.or_(row.spec.contains("@"), row.spec.contains("?"))
        found = connection.execute(sql.select(row.run, row.spec).where(suspects)).all()
    cleaned = {one.run: spec for one in found if (spec := _without(one.spec)) != one.spec}
    if not cleaned:
        return
    with suppress(SQLAlchemyError), engine.begin() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("PRAGMA secure_delete=ON")
        for run, spec in cleaned.items():
            connection.execute(schema.runs.update().where(row.run == run).values(spec=spec))
    if engine.dialect.name == "sqlite":
        with suppress(SQLAlchemyError), engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")  # else its log would keep what was there


def _without(text: str) -> str:
    """The text of a spec with all its addresses cleaned; as it is where there is nothing to clean."""
    try:
        spec = json.loads(text)
    except ValueError:
        return _ANYWHERE.sub(r"\1", text)
    cleaned = _cleaned(spec)
    return text if cleaned == spec else json.dumps(cleaned)


def _cleaned(spec: Any) -> Any:
    if not isinstance(spec, dict):
        return spec
    addresses = {name: _address(spec[name]) for name in ("base_url", "encoder_url") if name in spec}
    replicas = spec.get("replicas")
    if isinstance(replicas, list):
        addresses["replicas"] = [_address(one) for one in replicas]
    service = {"service": _cleaned(spec["service"])} if "service" in spec else {}
    return {**spec, **addresses, **service}


def _address(value: Any) -> Any:
    return without_secrets(value) if isinstance(value, str) else value
