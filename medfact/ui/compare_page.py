"""The page Compare: two to eight runs beside each other, in their figures and fact by fact."""

from __future__ import annotations

import gradio as gr

from medfact.ui.services import Services
from medfact.ui.view import view


def build(services: Services, page: gr.Blocks) -> None:
    """Lays the page out and wires it."""
    gr.Markdown("# Compare")
    view("pairs", {"none": ""}, elem_id="pairs")
