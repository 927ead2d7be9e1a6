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
from functools import partial

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

from medfact.proxies import unusable_proxies, without_unusable_proxies

with without_unusable_proxies():
    import gradio as gr
import uvicorn
from anyio import to_thread
from fastapi import FastAPI

from medfact import log_setup
from medfact.errors import MedfactError, Mistake
from medfact.limits import is_public_server, restrict_by_default
from medfact.models.local import zero_gpu
from medfact.reviews.invitations import invitation_files
from medfact.store.bucket import Copies, copies_of
from medfact.web import downloads, health, layout, sign_in, updates, upload_gate
from medfact.web.api import gradio_door
from medfact.web.api.tools import Tools
from medfact.web.connections import Connection
from medfact.web.copying import CopyingOut
from medfact.web.guard import Guarded, WithHeaders
from medfact.web.host import query_of_host
from medfact.web.housekeeping import Housekeeping
from medfact.web.pages.every import PAGES
from medfact.web.request_log import RequestLog
from medfact.web.services import demonstration_run, keep_up, open_services
from medfact.web.uploads import LARGEST_UPLOAD_BYTES

MOST_AT_ONCE = 200
"""Requests that each have a thread. `compute_slot` decides who of them comes next; of more, whoever came first."""

KEEP_ALIVE_SECONDS = 30
"""How long a connection stays open after an answer."""


def create_app(url: str | None = None) -> FastAPI:
    """The whole application on one database; `url` is the default one's when not given."""
    copies = _read_in(url)
    services = open_services(url)
    demonstration, store = demonstration_run(services), services.store

    def kept() -> list[str]:
        return [*(one.run for one in store.publications.published()), *services.jobs.going_runs()]

    housekeeping, over = Housekeeping(store, services.uploads, kept), threading.Event()
    copying = CopyingOut(copies, services.jobs.going_runs, store.database.erased) if copies is not None else None

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = MOST_AT_ONCE
        if is_public_server():
            housekeeping.begin()
        if copying is not None:
            copying.begin()
        threading.Thread(target=updates.prepare, args=(services, demonstration), daemon=True, name="first-page").start()
        threading.Thread(target=keep_up, args=(services, demonstration, over), daemon=True, name="demonstration").start()
        async with tools.open():
            yield
        over.set()
        housekeeping.end()
        services.close()
        if copying is not None:
            copying.end()

    page, tools = layout.build_site(PAGES.values(), services), Tools(services)
    app = FastAPI(lifespan=lifespan, openapi_url=None)
    app.add_exception_handler(MedfactError, updates.refused)
    app.add_exception_handler(OSError, health.refused)
    has_answer, check_file = partial(gradio_door.has_answer, page), services.quota.check_file
    app.add_middleware(Guarded, uploads=services.uploads, has_answer=has_answer, check_file=check_file)
    app.add_middleware(WithHeaders)
    app.add_middleware(RequestLog)
    signing_in = sign_in.routes(PAGES, services.tokens, services.signed_out)
    known = [layout.routes(), updates.routes(services, demonstration), downloads.routes(services)]
    known += [upload_gate.routes(services.uploads), health.routes(services), signing_in, gradio_door.routes(page)]
    for router in known:
        app.include_router(router)
    app.router.routes.extend(tools.routes)
    os.environ["GRADIO_TEMP_DIR"] = str(services.uploads.folder)  # where the page library puts files
    return _mounted(app, page)


def _read_in(url: str | None) -> Copies | None:
    """Where the database is copied to, once what lies there is read in; None where that is nowhere."""
    copies = copies_of(url, invitation_files())
    if copies is not None:
        copies.read_in()
    return copies


def _mounted(app: FastAPI, page: gr.Blocks) -> FastAPI:
    """The application with the page library's pages and endpoints."""
    # As it is after `launch`; else the page library lets a request name any file of the server as an upload.
    page.has_launched = True
    # It says that pages are not rendered on the server, which they never were.
    warnings.filterwarnings("ignore", message="SSR mode is not supported", category=UserWarning)
    mounted: FastAPI = gr.mount_gradio_app(
        app,
        page,
        path="",
        root_path=os.environ.get("GRADIO_ROOT_PATH") or None,  # the prefix that a reverse proxy strips
        theme=layout.theme(),
        css=layout.style(),
        head=layout.SCRIPT,
        show_error=False,
        run_history=False,
        enable_monitoring=False,
        max_file_size=LARGEST_UPLOAD_BYTES,
        allowed_paths=[],
        ssr_mode=False,
        mcp_server=False,  # it would call this server by whatever name was asked for; ours is in `api/`
        footer_links=[],
    )
    return mounted


def serve(host: str | None = None, port: int | None = None, url: str | None = None) -> int:
    """Serves the application on this machine, or, on Hugging Face Spaces, on all its addresses. Returns the exit code.

    host, port: otherwise from GRADIO_SERVER_NAME and GRADIO_SERVER_PORT; port 0 takes any free one. url: of the database.
    """
    restrict_by_default()
    host = host or os.environ.get("GRADIO_SERVER_NAME") or ("0.0.0.0" if os.environ.get("SPACE_ID") else "127.0.0.1")
    try:
        log_setup.configure()
        listening = _listening(host, os.environ.get("GRADIO_SERVER_PORT") or 7860 if port is None else port)
        token = query_of_host()
        app = create_app(url)
    except MedfactError as error:
        print(f"medfact: {error}", file=sys.stderr)
        return 2
    zero_gpu.announce()
    for name, problem in unusable_proxies().items():
        print(f"medfact: The environment variable {name} {problem}, so nothing is reached through it.", file=sys.stderr)
    address = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
    print(f"medfact is ready: {address}{f'/{token}' if token else ''}", flush=True)
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
