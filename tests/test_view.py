"""Values that travel beside the page library's own ways are checked as it checks them."""

from typing import Any

import gradio as gr
import pytest

from medfact.web.view import preprocessed


@pytest.mark.parametrize(
    ("component", "value"),
    [
        (lambda: gr.Slider(10, 1000), 1_000_000),
        (lambda: gr.CheckboxGroup([("a coin", "baseline:random")]), ["baseline:other"]),
        (lambda: gr.Radio([("none", 0), ("five", 5)]), 7),
        (lambda: gr.Number(minimum=0), -3),
    ],
    ids=["slider", "checkboxes", "radio", "number"],
)
def test_a_gathered_value_that_its_component_cannot_have_is_refused(component: Any, value: object) -> None:
    with pytest.raises(gr.Error):
        preprocessed([component()], [value])
