"""Pages in Gradio: places for fragments, buttons for files, navigation and colours; their scripts and styles."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import gradio as gr
import plotly
from fastapi import APIRouter, Request, Response

from medfact.assets import ASSETS
from medfact.views.fragments import render
from medfact.web.api.gradio_door import open_endpoints
from medfact.web.pages import FIRST, Bring, Page
from medfact.web.services import Services

ASIDE = 50
"""Pages from this place on stand aside in the navigation."""

FRONTEND: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden", "queue": False}
"""Options of events that no request follows: they run in the browser alone."""

FOOTER = """
**What this is not.** Not for clinical use, not medical advice, and not a place for patient data. A model that masters these
facts can still be wrong: mastery of a fact is not competence. [Use via API](agents)
"""


def build_site(pages: Iterable[Page], services: Services) -> gr.Blocks:
    """All pages, the first at the server's own address; before them the endpoints that programs call."""
    pages = list(pages)
    first, *others = pages
    with gr.Blocks(title="medfact", analytics_enabled=False, delete_cache=(3600, 86400), fill_width=True) as site:
        open_endpoints(services, site)
        _build(site, first, pages)
    for page in others:
        with site.route(page.title, page.path, show_in_navbar=False):
            _build(site, page, pages)
    return site


def _build(site: gr.Blocks, page: Page, pages: Sequence[Page]) -> None:
    """The frame of every page, its own parts within, and what this is not."""
    gr.Navbar(visible=False)
    of_all("frame", frame(page, pages))
    part("offline")
    if page.introduction:
        gr.Markdown(page.introduction)
    for are_files, group in groupby(page.parts, lambda one: isinstance(one, Bring)):
        if are_files:
            for file in group:
                bring(file)  # type: ignore[arg-type]
        else:
            part(*group)  # type: ignore[arg-type]
    if page.build is not None:
        page.build(site)
    of_all("aside", aside(page, pages))
    gr.Markdown(FOOTER, elem_id="footer")


def of_all(name: str, content: str) -> None:
    """What stands on every page, and never changes."""
    gr.HTML(f'<mf-part name="{name}">{content}</mf-part>', apply_default_css=False, js_on_load=None, elem_id=name)


def frame(page: Page, pages: Sequence[Page]) -> str:
    """The head of every page: the name, which leads home, the main pages, and the tabs of pages that belong together."""
    head = page.under or page.name
    together = [one for one in pages if head in (one.name, one.under)]
    main = [one for one in pages if one.is_listed and not one.under and one.name != FIRST and one.place < ASIDE]
    return render("frame", here=page.name, head=head, main=main, tabs=together if len(together) > 1 else [])


def aside(page: Page, pages: Sequence[Page]) -> str:
    """The pages that are always within reach, and the switch of colours; on a Space, the way to a duplicate of it."""
    listed = [one for one in pages if one.is_listed and one.place >= ASIDE]
    return render("aside", here=page.name, aside=listed, duplicate=duplicate_link())


def duplicate_link() -> str:
    """Where one makes a Space of one's own of this one; "" on any other server."""
    space = os.environ.get("SPACE_ID", "")
    return f"https://huggingface.co/spaces/{space}?duplicate=true" if re.fullmatch(r"[\w.-]+/[\w.-]+", space, re.A) else ""


def part(*names: str) -> gr.HTML:
    """Places for fragments, one under the other. Only names from the code stand here: no data passes the library's
    templates."""
    places = "".join(f'<mf-part name="{name}" id="{name}"></mf-part>' for name in names)
    return gr.HTML(places, apply_default_css=False, js_on_load=None, elem_id=f"{names[0]}-box")


def bring(file: Bring) -> None:
    """A button for a file, which the page's script uploads and tells the server of; or why there is none."""
    if closed := file.closed():
        gr.Markdown(closed)
        return
    gr.HTML(render("bring", file=file), apply_default_css=False, js_on_load=None, elem_id=f"{file.button}-box")


def theme() -> gr.themes.Base:
    """System fonts and colours with enough contrast, in light and in dark mode."""
    fonts = ("system-ui", "-apple-system", "Segoe UI", "Roboto", "sans-serif")
    made = gr.themes.Base(
        primary_hue="blue", neutral_hue="slate", font=fonts, font_mono=("ui-monospace", "Menlo", "Consolas", "monospace")
    )
    return made.set(
        body_text_color_subdued="*neutral_600",
        body_text_color_subdued_dark="*neutral_300",
        block_info_text_color="*neutral_600",
        block_info_text_color_dark="*neutral_300",
        block_label_text_color="*neutral_700",
        block_label_text_color_dark="*neutral_200",
        block_title_text_color="*neutral_700",
        block_title_text_color_dark="*neutral_200",
        input_placeholder_color="*neutral_500",
        input_placeholder_color_dark="*neutral_400",
        checkbox_border_color="*neutral_500",
        checkbox_border_color_dark="*neutral_300",
        button_primary_background_fill="#005a92",
        button_primary_background_fill_hover="#00466f",
        button_primary_text_color="#ffffff",
        button_primary_background_fill_dark="#0072B2",
        button_primary_background_fill_hover_dark="#005a92",
        button_primary_text_color_dark="#ffffff",
    )


# ------------------------------------------------------------------------------------------------ scripts and styles


PAGE = ASSETS / "page"
SCRIPTS = {"medfact": PAGE / "medfact.js", "plotly.min": Path(plotly.__file__).parent / "package_data" / "plotly.min.js"}
SCRIPT = '<script src="page/medfact.js" defer></script>'


def style() -> str:
    """The style sheet of the pages."""
    return (PAGE / "medfact.css").read_text(encoding="utf-8")


@cache
def _packed(path: Path) -> tuple[bytes, bytes, str]:
    content = path.read_bytes()
    return content, gzip.compress(content, compresslevel=6), f'"{hashlib.sha256(content).hexdigest()[:32]}"'


def routes() -> APIRouter:
    """The addresses of the scripts: compressed; nothing where the browser has one already. It asks each time: a new version of
    the application must not be drawn by an old script.
    """
    router = APIRouter(include_in_schema=False)

    @router.get("/page/{name}.js")
    def script(name: str, request: Request) -> Response:
        if name not in SCRIPTS:
            return Response(status_code=404)
        content, packed, tag = _packed(SCRIPTS[name])
        headers = {"ETag": tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(content, media_type="text/javascript", headers=headers)
        return Response(packed, media_type="text/javascript", headers={**headers, "Content-Encoding": "gzip"})

    return router
