"""The page For agents: the endpoints and tools of this server, from their table, and how they are called."""

from __future__ import annotations

import os

from medfact.views.fragments import render
from medfact.web.api.calls import TOOLS, has_tools
from medfact.web.api.endpoints import ENDPOINTS
from medfact.web.pages import Page, Show, View, Visitor


def view(_: Visitor, show: Show) -> View:
    """The same for everybody."""
    drawn = render("agents", address=_address(), endpoints=list(ENDPOINTS.values()), tools=TOOLS, has_tools=has_tools())
    return View({"agents": drawn}, show)


def _address() -> str:
    """Where this server is, as far as it knows itself."""
    if host := os.environ.get("SPACE_HOST"):
        return f"https://{host}"
    return f"http://127.0.0.1:{os.environ.get('GRADIO_SERVER_PORT') or 7860}"


PAGE = Page(
    "agents",
    "For agents",
    ("agents",),
    Show,
    view,
    introduction="# For agents, and for programs\nThe same as on these pages, from Python, JavaScript, curl, or as tools.",
    place=54,
    is_listed=False,
)
