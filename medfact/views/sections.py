"""Sections as HTML: with Plotly's figures on a page, and with SVG in the report that is one file."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from markupsafe import Markup

from medfact.results.blocks import Section
from medfact.results.plots import plot_of
from medfact.views.charts import svg
from medfact.views.fragments import render


def on_a_page(sections: Iterable[Section], runs: Iterable[str] = ()) -> Markup:
    """Sections with figures that a page's script draws. runs: the names of those that the page shows."""
    return render("blocks", sections=list(sections), plot=partial(plot_of, runs=list(runs)))


def in_a_file(sections: Iterable[Section]) -> Markup:
    """Sections with figures that need no script."""
    return render("blocks", sections=list(sections), plot=None, svg=svg)
