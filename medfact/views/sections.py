"""Sections as HTML: with Plotly's figures on a page, and with SVG in the report that is one file."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

from medfact.results.blocks import Block, Section
from medfact.results.plots import plot_of
from medfact.views.charts import svg
from medfact.views.fragments import environment, render


def on_a_page(sections: Iterable[Section]) -> Markup:
    """Sections with figures that a page's script draws."""
    return render("blocks", sections=list(sections), draw=_plotted)


def in_a_file(sections: Iterable[Section]) -> Markup:
    """Sections with figures that need no script."""
    return render("blocks", sections=list(sections), draw=svg)


def _plotted(block: Block) -> Markup:
    if not (plot := plot_of(block)):
        return Markup()
    figure = getattr(environment().get_template("plot.html").module, "figure")  # noqa: B009 - a macro of the template
    return Markup(figure(plot, block.name, block.label, block.finding))  # type: ignore[union-attr]
