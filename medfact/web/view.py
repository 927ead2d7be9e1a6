"""The bridge to `assets/page/medfact.js`: a view is a component whose value is data, drawn in the browser as text nodes.

The page library's own templates are not given data: they evaluate `${…}` inside values. Here the template is empty, and the
script reads the value and builds the elements.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import gradio as gr

QUIETLY: dict[str, Any] = {"show_progress": "hidden", "show_progress_on": [], "api_visibility": "private"}
"""Options of handlers that show no sign of being at work. Hiding it is not enough: at each answer the page library walks
through the state of every component that has ever been a place for such a sign."""

AT_ONCE: dict[str, Any] = {**QUIETLY, "queue": False}
"""Options of handlers that answer without waiting for a place in the queue."""


def view(name: str, value: Any, **options: Any) -> gr.HTML:
    """A component that the script draws as the view `name` (`facts`, `statements`, `figure`, …) from its value.

    The value travels as a text: the page library would walk through records at every change.
    """
    made = gr.HTML(
        value=json.dumps(value),
        html_template="<div></div>",
        css_template="",
        js_on_load=(
            f"window.medfact.mount('{name}', '{options.get('elem_id', '')}', element.firstElementChild || element, props, "
            "trigger, watch);"
        ),
        apply_default_css=False,
        **options,
    )
    made.postprocess = json.dumps  # of an instance: a class of our own would get files written beside it
    return made


class Heading(NamedTuple):
    """A heading between views: level 2 for a step, 3 within one."""

    text: str
    level: int = 3


class Text(NamedTuple):
    """A paragraph between views, begun in bold where it has a `lead`."""

    text: str
    lead: str = ""


class Place(NamedTuple):
    """Where a view of some kind (`scores`, `figure`, …) stands; the news fill it by its id."""

    id: str
    view: str


def places(*parts: Heading | Text | Place) -> gr.HTML:
    """Headings, paragraphs and views, one under the other in one component.

    A component for each would cost the page library a hundredth of a second while a page opens.
    """
    return view("places", [part._asdict() for part in parts], elem_classes="mf-places")


def message(text: str, kind: str = "") -> dict[str, str]:
    """The value of a `message` view; `kind` is "", "good" or "warn"."""
    return {"text": text, "kind": f"mf-{kind}" if kind else ""}


def gathered(event: Any, inputs: Sequence[Any], js: str = "(...values) => [values]") -> tuple[Any, gr.JSON]:
    """What may follow an event, and a hidden component that then holds the values of these inputs, as one list.

    At every answer of whatever handler, the page library walks through the state of all components on the page that were ever
    an input of one. A hidden component costs it nothing. js: makes the one list of the values.
    """
    values = gr.JSON(visible=False)
    return event(None, inputs, values, js=js, **AT_ONCE), values


def preprocessed(inputs: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """Gathered values as these components give them to a handler; each raises its own error for one that it cannot have."""
    return [component.preprocess(value) for component, value in zip(inputs, values, strict=True)]
