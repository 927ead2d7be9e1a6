"""The page Docs: the words, a file of facts, the keys, privacy, and what this is not."""

from __future__ import annotations

from medfact.views.fragments import render
from medfact.web.pages import Page, Show, View, Visitor


def view(_: Visitor, show: Show) -> View:
    """The same for everybody."""
    return View({"docs": render("docs")}, show)


PAGE = Page(
    "docs",
    "Docs",
    ("docs",),
    Show,
    view,
    introduction="# Docs\nWhat the words mean, what a file looks like, which keys there are, and what is kept.",
    place=53,
)
