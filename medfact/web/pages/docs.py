"""The page Docs: the words, the keys, and what this is not."""

from __future__ import annotations

from medfact.views.fragments import render
from medfact.web.pages import Page, Show, View, Visitor


def view(_: Visitor, show: Show) -> View:
    """The same for everybody."""
    return View({"docs": render("help")}, show)


PAGE = Page("docs", "Docs", ("docs",), Show, view, introduction="# Docs", place=53)
