"""The application: the page, mounted in a server with its own headers, static files and limits."""

from __future__ import annotations

import importlib.util
import os
import sys
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

if importlib.util.find_spec("matplotlib") is None:
    # The page library tries to import it at each call of a handler, and searches every folder anew: 7 % of the server's work.
    sys.modules.setdefault("matplotlib", None)  # Python's own way of saying that there is none

import gradio as gr
import uvicorn
from fastapi import FastAPI, Response

from medfact.errors import MedfactError
from medfact.web import (
    compare_page,
    evaluate_step,
    facts_step,
    news,
    results_step,
    run_buttons,
    runs_page,
    scripts,
    statements_step,
)
from medfact.web.guard import Guarded
from medfact.web.headers import WithHeaders
from medfact.web.services import Services, demonstration_run, open_services
from medfact.web.uploads import LARGEST_UPLOAD_BYTES
from medfact.web.view import Text, places

QUEUE_LOOKS = 0.05
"""Seconds between two looks of the page library's queue at what waits in it: its own number on Windows. The millisecond that it
takes elsewhere costs a tenth of a processor while nobody is there.
"""

SESSIONS = 2_000
"""Pages whose inputs the page library keeps, the last ones."""

INTRODUCTION = """
# medfact
**Does a language model know a medical fact, or only one way of saying it?**

Half of the statements below are false on purpose, and marked **FALSE (test statement)**. This page tests language models.
It is not for clinical use, and not a place for patient data.
"""

FOOTER = Text(
    lead="What this is not.",
    text="Not medical advice, not a test of a clinician, and not a licence for a model: a model that masters these facts can "
    "still be wrong, and mastery of a fact is not competence. No clinician has reviewed the bundled facts yet.",
)


def build_page(services: Services, demonstration: str) -> gr.Blocks:
    """The four steps on one page, and two pages that read: all runs, and some of them beside each other."""
    with gr.Blocks(title="medfact", analytics_enabled=False, delete_cache=(3600, 86400), fill_width=False) as page:
        gr.Navbar(main_page_name="Evaluate")
        gr.Markdown(INTRODUCTION)
        facts = facts_step.build(services)
        statements = statements_step.build(services, facts.source)
        evaluate = evaluate_step.build()
        places(*evaluate_step.PLACES, *results_step.PLACES, FOOTER)
        run_buttons.wire(services, demonstration, facts, statements, evaluate)
    with page.route("Runs", "/runs"):
        runs_page.build(services, page)
    with page.route("Compare", "/compare"):
        compare_page.build(services, page)
    page.queue(max_size=64, default_concurrency_limit=8, api_open=False)
    page._queue.sleep_when_free = QUEUE_LOOKS
    return page


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

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        services.close()

    app = FastAPI(lifespan=lifespan, openapi_url=None)

    app.add_exception_handler(MedfactError, news.refused)
    app.add_middleware(scripts.WithScripts)
    events: set[object] = set()  # of the page, which is made below
    app.add_middleware(Guarded, uploads=services.uploads, events=events)
    app.add_middleware(WithHeaders)

    for address, answer in ((scripts.ADDRESS, scripts.script), (scripts.LIBRARY_ADDRESS, scripts.of_library)):
        app.get(address, include_in_schema=False)(answer)

    @app.get("/export/{run}", include_in_schema=False)
    def export(run: str) -> Response:
        return runs_page.exported(services, run)

    app.include_router(news.routes(services, demonstration))
    app.include_router(services.keys.routes())

    os.environ["GRADIO_TEMP_DIR"] = str(services.uploads.folder)  # where the page library puts files
    page = build_page(services, demonstration)
    events.update(page.fns)
    # As it is after `launch`; else the page library lets an event name any file of the server as an upload.
    page.has_launched = True
    page.state_session_capacity = SESSIONS
    # It says that pages are not rendered on the server, which they never were.
    warnings.filterwarnings("ignore", message="SSR mode is not supported", category=UserWarning)
    return gr.mount_gradio_app(
        app,
        page,
        path="",
        theme=theme(),
        css=(scripts.PAGE / "medfact.css").read_text(encoding="utf-8"),
        show_error=False,
        run_history=False,
        enable_monitoring=False,
        max_file_size=LARGEST_UPLOAD_BYTES,
        allowed_paths=[],
        ssr_mode=False,
        footer_links=[],
    )


def serve() -> int:
    """Serves the application on this machine, or, on Hugging Face Spaces, on all its addresses. Returns the exit code."""
    host = os.environ.get("GRADIO_SERVER_NAME") or ("0.0.0.0" if os.environ.get("SPACE_ID") else "127.0.0.1")
    port = int(os.environ.get("GRADIO_SERVER_PORT") or 7860)
    try:
        app = create_app()
    except MedfactError as error:
        print(f"medfact: {error}", file=sys.stderr)
        return 2
    print(f"medfact is ready: http://{host}:{port}")
    uvicorn.run(app, host=host, port=port, log_level="warning")
    return 0
