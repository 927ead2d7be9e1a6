"""Arguments as agents and their clients send them: numbers, truth values, lists and mappings as texts, and texts for nothing.

Only what has one meaning is read. Everything else is left as it came, for the model of the endpoint to refuse.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

Schema = Mapping[str, Any]

_NUMBER = re.compile(r"[+-]?[0-9]{1,30}(\.[0-9]{0,30})?([eE][+-]?[0-9]{1,3})?")

_TRUTH = {"true": True, "false": False, "yes": True, "no": False, "1": True, "0": False}

_NOTHING = ("", "null", "none")


def read_argument(value: Any, schema: Schema) -> Any:
    """A value of the type that a schema wants, where the value has one meaning; else the value itself. None for nothing."""
    kind = schema.get("type")
    if isinstance(value, str) and value.strip().lower() in (_NOTHING if kind != "string" else _NOTHING[:1]):
        return None
    match kind:
        case "integer" | "number":
            return _number(value, kind)
        case "boolean":
            return _truth(value)
        case "array":
            return _list(value, schema["items"])
        case "object":
            return _mapping(value, schema)
        case _:
            return value


def _number(value: Any, kind: str) -> Any:
    number: Any = value
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        number = int(value) if value.strip().lstrip("+-").isdigit() else float(value)
    if kind == "integer" and isinstance(number, float) and number.is_integer():
        return int(number)
    return number


def _truth(value: Any) -> Any:
    """1, 1.0 and their texts are true: nothing else is meant by them here."""
    if isinstance(value, str):
        return _TRUTH.get(value.strip().lower(), value)
    return bool(value) if isinstance(value, int | float) and value in (0, 1) else value


def _list(value: Any, items: Schema) -> Any:
    """A list. One value is a list of one; the texts of a list and of a mapping are what they say."""
    if isinstance(value, str) and value.strip()[:1] in ("[", "{"):
        value = _parsed(value)
    if isinstance(value, str | Mapping):
        value = [value]
    return [read_argument(item, items) for item in value] if isinstance(value, list) else value


def _mapping(value: Any, schema: Schema) -> Any:
    """A mapping of names to texts. A number or truth value has one text; what is nothing is left out."""
    if isinstance(value, str):
        value = _parsed(value)
    if not isinstance(value, Mapping) or schema.get("additionalProperties", {}).get("type") != "string":
        return value
    return {name: _text(cell) for name, cell in value.items() if cell not in (None, "")}


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else value


def _parsed(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
