"""The page Runs: a visitor's runs, to open, name, compare, export, import and delete."""

from __future__ import annotations

import gradio as gr

from medfact.ui.services import Services
from medfact.ui.view import AT_ONCE, view
from medfact.ui.visitors import owners_seen_by


def build(services: Services, page: gr.Blocks) -> None:
    """Lays the page out and wires it."""
    gr.Markdown("# Runs")
    table = view("runs", {"none": ""}, elem_id="runs")

    def listed(request: gr.Request) -> dict[str, object]:
        return {"none": f"{len(services.store.runs(*owners_seen_by(request)))} runs"}

    page.load(listed, None, table, api_name="runs", **AT_ONCE)
