"""Places on a page that the server's fragments fill."""

from __future__ import annotations

import gradio as gr


def part(*names: str) -> gr.HTML:
    """Places for fragments, one under the other. Only names from the code stand here: no data passes the library's
    templates."""
    places = "".join(f'<mf-part name="{name}" id="{name}"></mf-part>' for name in names)
    return gr.HTML(places, apply_default_css=False, js_on_load=None, elem_id=f"{names[0]}-box")
