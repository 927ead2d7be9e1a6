"""The figure of a race: the difference between two models with its bounds, over the diseases counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from medfact.metrics.race import band
from medfact.results.compare import Raced
from medfact.results.plots import COLOURS, Plot

MOST_STEPS = 400
"""Diseases that are drawn; of more, evenly spread ones, the first, the deciding and the last among them."""
FEW = 10
"""So few diseases have a tick each: the library would put ticks at fractions of one."""

_BAND = "rgba(0,114,178,0.18)"
_ZERO = "#888888"


@dataclass(frozen=True)
class RaceCourse:
    """How a race went. heads: after how many diseases; value, low, high: the difference a − b so far and its bounds, −1 to 1.

    decided_at: index of the deciding disease among these, None where it is not decided. of: how many diseases there are.
    """

    heads: tuple[int, ...]
    value: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    decided_at: int | None
    of: int


def race_course(raced: Raced) -> RaceCourse | None:
    """The course of a race; None before a disease is complete in both runs."""
    if raced.found is None or raced.race is None or not raced.race.heads:
        return None
    drawn, count, decided = band(raced.found, raced.family), raced.race.heads, raced.race.decided_at
    heads = np.unique(np.linspace(1, count, min(count, MOST_STEPS)).round().astype(int))
    heads = np.union1d(heads, [decided]) if decided else heads
    rows = heads - 1
    value, low, high = (tuple(part[rows].tolist()) for part in drawn)
    at = int(np.searchsorted(heads, decided)) if decided else None
    return RaceCourse(tuple(heads.tolist()), value, low, high, at, raced.race.of)


def race_figure(course: RaceCourse) -> Plot:
    """The race as a Plotly specification; above zero the first model is better."""
    x, value, low, high = list(course.heads), _points(course.value), _points(course.low), _points(course.high)
    line = {
        "type": "scatter",
        "name": "difference so far",
        "mode": "lines+markers" if len(x) < 40 else "lines",
        "x": x,
        "y": value,
        "line": {"color": COLOURS[0]},
        "marker": {"color": COLOURS[0], "symbol": "circle", "size": 5},
        "customdata": list(zip(low, high, strict=True)),
        "hovertemplate": "after %{x} diseases: %{y:+.1f} points (%{customdata[0]:+.1f} to %{customdata[1]:+.1f})",
    }
    traces = [_edge("bounds", x, high, {}), _edge("bounds that hold at any time", x, low, {"fill": "tonexty"}), line]
    traces[0]["showlegend"] = False
    if course.decided_at is not None:
        traces.append(_deciding(x[course.decided_at], value[course.decided_at]))
    across = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 0, "y1": 0, "line": {"dash": "dash", "color": _ZERO}}
    fixed = {"fixedrange": True, "zeroline": False}
    whole = {"tick0": 0, "dtick": 1} if course.of <= FEW else {}
    return {
        "data": traces,
        "layout": {
            "margin": {"l": 56, "r": 12, "t": 36, "b": 48},
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
            "showlegend": True,
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "shapes": [across],
            "xaxis": {"title": {"text": f"diseases counted, of {course.of:,}"}, "range": [0, course.of], **whole, **fixed},
            "yaxis": {"title": {"text": "difference, points"}, "range": _range(value, low, high), "automargin": True, **fixed},
            "height": 320,
        },
    }


def _points(shares: Sequence[float]) -> list[float]:
    return [round(100 * share, 2) for share in shares]


def _range(value: Sequence[float], low: Sequence[float], high: Sequence[float]) -> list[float]:
    """What is shown of the axis: all of the line and the bounds at the end; the wide ones of the start are cut."""
    reach = 1.15 * max(10.0, *map(abs, value[len(value) // 10 :]), 1.5 * abs(low[-1]), 1.5 * abs(high[-1]))
    return [-min(reach, 105.0), min(reach, 105.0)]


def _edge(name: str, x: Sequence[int], y: Sequence[float], more: Plot) -> Plot:
    return {
        "type": "scatter", "name": name, "mode": "lines", "x": list(x), "y": list(y), "line": {"width": 0, "color": COLOURS[0]},
        "fillcolor": _BAND, "hoverinfo": "skip", **more,
    }  # fmt: skip


def _deciding(x: int, y: float) -> Plot:
    return {
        "type": "scatter",
        "name": "decided",
        "mode": "markers",
        "x": [x],
        "y": [y],
        "marker": {"color": COLOURS[5], "symbol": "diamond", "size": 13},
        "hovertemplate": f"decided after {x:,} diseases<extra></extra>",
    }
