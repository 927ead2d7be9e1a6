"""Inputs that are drawn as the settings of a run declare them: a box to tick, a list to choose from, a number or a text."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import gradio as gr

from medfact.errors import MedfactError
from medfact.setting import checked_value
from medfact.spec import FIELDS, SETTINGS

FURTHER = [path.removeprefix("spec.") for path, declared in SETTINGS.items() if declared.has_input]
"""The settings that have a place on the page by their declaration alone."""


def label_of(name: str) -> dict[str, Any]:
    """What the input of a field of a spec is called, in Gradio's terms."""
    declared = SETTINGS[f"spec.{name}"]
    return {"label": declared.label, **({"info": declared.info} if declared.info else {})}


def control(name: str, elem_id: str, **more: Any) -> Any:
    """The input of a field of a spec. more: what is otherwise than declared, in Gradio's terms."""
    default, declared = FIELDS[f"spec.{name}"].default, SETTINGS[f"spec.{name}"]
    settings = {**label_of(name), "elem_id": elem_id, "value": default, **more}
    if isinstance(default, bool):
        return gr.Checkbox(**settings)
    if declared.choices:
        meanings = declared.choices if isinstance(declared.choices, Mapping) else dict.fromkeys(declared.choices, "")
        named = [(f"{one}: {meaning}" if meaning else one, one) for one, meaning in meanings.items()]
        usual = [("as usual with the method", "")] if default is None else []
        return gr.Dropdown([*usual, *named], filterable=False, **{**settings, "value": default or ""})
    if declared.bounds:
        return gr.Number(**{"minimum": declared.bounds.least, "maximum": declared.bounds.most, **settings})
    return gr.Textbox(max_length=300, **settings)


def further_in(record: Mapping[str, Any]) -> dict[str, Any]:
    """The values of FURTHER in what a browser says, which may have gathered them before; what cannot be is at its default."""
    gathered = record.get("further")
    told = {**(gathered if isinstance(gathered, Mapping) else {}), **record}
    values: dict[str, Any] = {}
    for name in FURTHER:
        with suppress(KeyError, MedfactError):
            values[name] = checked_value(FIELDS[f"spec.{name}"], told[name] if told[name] != "" else None)
    return values
