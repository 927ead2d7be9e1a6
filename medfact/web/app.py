"""The application: the page, mounted in a server with its own headers, static files and limits."""

from __future__ import annotations

import argparse
import os
import socket
import sys
import threading
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

from medfact.proxies import unusable_proxies, without_unusable_proxies

with without_unusable_proxies():
    import gradio as gr
import uvicorn
from fastapi import FastAPI

from medfact.errors import MedfactError, Mistake
from medfact.limits import is_public_server
from medfact.models.local import zero_gpu
from medfact.views.fragments import render
from medfact.web import disk, downloads, files, health, sign_in, updates, upload_form
from medfact.web.connections import Connection
from medfact.web.demonstration import keep_up
from medfact.web.guard import Guarded
from medfact.web.headers import WithHeaders
from medfact.web.housekeeping import Housekeeping
from medfact.web.inputs import layout
from medfact.web.parts import part
from medfact.web.services import demonstration_run, open_services
from medfact.web.uploads import LARGEST_UPLOAD_BYTES

KEEP_ALIVE_SECONDS = 30
"""How long a connection stays open after an answer."""

FOOTER = """
**What this is not.** Not medical advice, not a test of a clinician, and not a licence for a model: a model that masters these
facts can
still be wrong, and mastery of a fact is not competence. No clinician has reviewed the bundled facts yet. Not for clinical use;
not a place for patient data.
"""


REVIEW = """# Review
Is what a model is asked true, clear and fair? The keys stand on the buttons; at the foot of the page they can be switched off.
"""

WRITE = """# Write
A language model can say the facts in other words, so that no model is helped by sentences that it has read before. Each new
sentence must pass guards: it may not deny, strengthen, narrow or swap anything. What the guards stop stands as its template.
"""


def build_page() -> gr.Blocks:
    """The pages: places for the server's fragments, and the inputs of Evaluate."""
    with gr.Blocks(title="medfact", analytics_enabled=False, delete_cache=(3600, 86400), fill_width=True) as page:
        _top()
        part("hero", "game", "game-said", "notice")
        with gr.Row(elem_id="workbench"):
            with gr.Column(elem_id="setup", min_width=300):
                layout.build()
            with gr.Column(elem_id="results", min_width=300):
                part("said", "progress", "scores", "tab", "rarity")
                layout.frequencies()
                part("rarity-said", "drawer")
        _bottom()
    with page.route("Facts", "/facts"):
        _top("# Facts\nEach true fact has false partners: other findings that no source lists for it.")
        part("said", "to-review", "filters", "cards", "rejected")
        _bottom()
    with page.route("Review", "/review", show_in_navbar=False):
        _top(REVIEW)
        part("choice", "said", "fact")
        _bottom()
    with page.route("Studio", "/studio", show_in_navbar=False):
        _top("# Studio\nThe sentences in which facts are stated: side by side, to change, to add to, and to sign off.")
        part("choice", "said", "relation", "edited")
        _bottom()
    with page.route("Write", "/write"):
        _top(WRITE)
        part("form", "form-said", "writings", "said", "opened")
        _bottom()
    with page.route("Runs", "/runs"):
        _top("# Runs\nA run is one model, asked about one set of facts. Whoever has the link of a run can read its answers.")
        part("notice", "filters")
        bring = gr.UploadButton("Bring a run from a file (.gz)", file_types=[".gz"], size="sm", elem_id="runs-import")
        bring.upload(None, bring, None, js="(file) => window.medfact.act('bring', file)", **layout.FRONTEND)
        part("runs", "said", "chosen")
        _bottom()
    with page.route("Compare", "/compare"):
        _top("# Compare\nTwo to eight runs: what they share, where they differ, and every fact.")
        part("choose", "compared", "facts", "drawer")
        _bottom()
    with page.route("Gallery", "/gallery"):
        _top("# Gallery\nRuns that the host of this server chose to show.")
        part("gallery")
        _bottom()
    return page


def _top(introduction: str = "") -> None:
    gr.Navbar(main_page_name="Evaluate")
    part("offline")
    if introduction:
        gr.Markdown(introduction)


def _bottom() -> None:
    """What every page ends with: the way back to what a first visitor saw, the keys, and what this is not."""
    gr.HTML(f'<mf-part name="help" id="help">{render("help")}</mf-part>', apply_default_css=False, js_on_load=None)
    gr.Markdown(FOOTER, elem_id="footer")


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
        button_primary_background_fill="#005a92",
        button_primary_background_fill_hover="#00466f",
        button_primary_text_color="#ffffff",
        button_primary_background_fill_dark="#0072B2",
        button_primary_background_fill_hover_dark="#005a92",
        button_primary_text_color_dark="#ffffff",
    )


def create_app(url: str | None = None) -> FastAPI:
    """The whole application on one database; `url` is the default one's when not given."""
    services = open_services(url)
    demonstration = demonstration_run(services)

    store = services.store

    def kept() -> list[str]:
        return [*(one.run for one in store.publications.published()), *services.jobs.going_runs()]

    housekeeping, over = Housekeeping(store, services.uploads, kept), threading.Event()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if is_public_server():
            housekeeping.begin()
        threading.Thread(target=updates.prepare, args=(services, demonstration), daemon=True, name="first-page").start()
        threading.Thread(target=keep_up, args=(services, demonstration, over), daemon=True, name="demonstration").start()
        yield
        over.set()
        housekeeping.end()
        services.uploads.keep_at_most(0)
        services.close()

    app = FastAPI(lifespan=lifespan, openapi_url=None)
    app.add_exception_handler(MedfactError, updates.refused)
    app.add_exception_handler(OSError, disk.refused)
    app.add_middleware(Guarded, uploads=services.uploads)
    app.add_middleware(WithHeaders)
    known = [files.routes(), updates.routes(services, demonstration), downloads.routes(services)]
    for router in (*known, upload_form.routes(services.uploads), health.routes(services), sign_in.routes()):
        app.include_router(router)
    os.environ["GRADIO_TEMP_DIR"] = str(services.uploads.folder)  # where the page library puts files
    return _mounted(app)


def _mounted(app: FastAPI) -> FastAPI:
    """The application with the page library's pages."""
    page = build_page()
    # As it is after `launch`; else the page library lets a request name any file of the server as an upload.
    page.has_launched = True
    # It says that pages are not rendered on the server, which they never were.
    warnings.filterwarnings("ignore", message="SSR mode is not supported", category=UserWarning)
    mounted: FastAPI = gr.mount_gradio_app(
        app,
        page,
        path="",
        root_path=os.environ.get("GRADIO_ROOT_PATH") or None,  # the prefix that a reverse proxy strips
        theme=theme(),
        css=files.style(),
        head=files.SCRIPT,
        show_error=False,
        run_history=False,
        enable_monitoring=False,
        max_file_size=LARGEST_UPLOAD_BYTES,
        allowed_paths=[],
        ssr_mode=False,
        footer_links=[],
    )
    return mounted


def serve(host: str | None = None, port: int | None = None, url: str | None = None) -> int:
    """Serves the application on this machine, or, on Hugging Face Spaces, on all its addresses. Returns the exit code.

    host, port: otherwise from GRADIO_SERVER_NAME and GRADIO_SERVER_PORT; port 0 takes any free one. url: of the database.
    """
    host = host or os.environ.get("GRADIO_SERVER_NAME") or ("0.0.0.0" if os.environ.get("SPACE_ID") else "127.0.0.1")
    try:
        listening = _listening(host, os.environ.get("GRADIO_SERVER_PORT") or 7860 if port is None else port)
        app = create_app(url)
    except MedfactError as error:
        print(f"medfact: {error}", file=sys.stderr)
        return 2
    zero_gpu.announce()
    for name, problem in unusable_proxies().items():
        print(f"medfact: The environment variable {name} {problem}, so nothing is reached through it.", file=sys.stderr)
    print(f"medfact is ready: http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}", flush=True)
    # who a request comes from is read in `clients.py`, and only from a proxy that is known to be there
    config = uvicorn.Config(
        app, http=Connection, ws="none", log_level="warning", proxy_headers=False, timeout_keep_alive=KEEP_ALIVE_SECONDS
    )
    uvicorn.Server(config).run(sockets=[listening])
    return 0


def serve_command(options: argparse.Namespace) -> int:
    """The command `app`. Raises and returns as `serve` does."""
    return serve(options.host, options.port, options.db)


def _listening(host: str, port: str | int) -> socket.socket:
    """A socket that waits for browsers. Raises Mistake if the address cannot be had, before anything heavy is loaded."""
    try:
        return socket.create_server((host, int(port)), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, OverflowError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise Mistake(
            f"The page cannot be served at {host}:{port} ({reason}).", "Choose another port, such as --port 7861."
        ) from error
