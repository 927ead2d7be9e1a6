"""Static SVG figures of blocks, for reports that are opened offline or printed."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap
from typing import NamedTuple

from markupsafe import Markup

from medfact.results.blocks import Block, Cell, Curve, CurveLine, Differences, Panel, Shares, Square
from medfact.results.plots import COLOURS, half_width
from medfact.results.wording import NO_VALUE, bounds_in_points, count, interval, points
from medfact.views.fragments import render

SHAPES = ("circle", "square", "diamond", "triangle")

_LEFT, _WIDTH, _ROW, _TOP = 190, 460, 15, 26
"""Pixels: width of the names, width of 0 to 100 %, height of a point, and the space above the first."""

_LABEL_CHARACTERS = 26
"""Characters of a label's line."""

_SIDE, _MARGIN = 300, 56
"""Pixels: side and margin of a square."""

_CURVE_LEFT, _CURVE_TOP, _CURVE_WIDTH, _CURVE_HEIGHT = 60, 12, 620, 220
"""Pixels: position and size of a curve."""


def svg(block: Block) -> Markup:
    """Renders the figure of a block as SVG; "" if the block has nothing to draw."""
    if isinstance(block, Shares):
        return _dot_plot(block) if block.is_drawn else Markup()
    if isinstance(block, Square):
        return Markup().join(_square_plot(block, name, panel) for name, panel in block.panels.items() if panel.points)
    return _line_chart(block) if isinstance(block, Curve) and block.is_drawn else Markup()


def _colour(index: int) -> str:
    return COLOURS[index % len(COLOURS)]


# ------------------------------------------------------------------------------------------------ shares, differences


class PlotMark(NamedTuple):
    """A plotted point with its interval, in pixels, and a tooltip with its numbers."""

    x: float
    y: float
    low: float | None
    high: float | None
    colour: str
    shape: str
    title: str


def _dot_plot(block: Shares) -> Markup:
    limit, names = _axis_limit(block), block.heads
    marks: list[PlotMark] = []
    labels: list[tuple[list[str], float]] = []
    y = float(_TOP)
    for row in block.rows:
        start, lines = y, [line for part in row.name.split("\n") for line in wrap(part, _LABEL_CHARACTERS)]
        for index, name in enumerate(names):
            y += _ROW
            cell = row.cells.get(name)
            if cell is not None and cell.known:
                marks.append(_plot_mark(f"{name}, {' '.join(row.name.split())}", cell, y - _ROW / 2, index, limit))
        y = max(y, start + _ROW * len(lines))
        labels.append((lines, (start + y - _ROW * (len(lines) - 1)) / 2))
        y += 8
    legend = [(name, _colour(index), SHAPES[index % len(SHAPES)]) for index, name in enumerate(names)]
    drawn = {"marks": marks, "labels": labels, "ticks": _ticks(limit), "legend": legend, "height": y + 26}
    return render("chart_dots", **drawn, left=_LEFT, line=_ROW, title=block.finding)


def _axis_limit(block: Shares) -> float | None:
    """Upper limit of a symmetric axis of differences, a multiple of 5 percentage points; None for shares."""
    if not isinstance(block, Differences):
        return None
    cells = (cell for row in block.rows for cell in row.cells.values())
    ends = [abs(end) for cell in cells for end in (cell.known or ())[:3] if end is not None]
    return (-(-100 * max(ends, default=0) // 5) * 5 or 5) / 100


def _ticks(limit: float | None) -> list[tuple[float, str]]:
    if limit is None:
        return [(_LEFT + _WIDTH * step / 5, f"{20 * step}%") for step in range(6)]
    values = [(_LEFT + _WIDTH * step / 4, limit * (step - 2) / 2) for step in range(5)]
    return [(x, points(value).removesuffix(".0") if value else "0") for x, value in values]


def _plot_mark(label: str, cell: Cell, y: float, index: int, limit: float | None) -> PlotMark:
    """Makes the mark of a cell. limit: of the axis, as in `_axis_limit`."""

    def x(value: float | None) -> float | None:
        if value is None:
            return None
        return round(_LEFT + _WIDTH * (value if limit is None else 0.5 + 0.5 * value / limit), 1)

    value, low, high, _ = cell.known or (0.0, None, None, 0)
    size = f"{points(value or 0.0)} points" if limit else f"{value:.1%}"
    bounds = bounds_in_points(low, high) if limit else interval(cell.known) if cell.known else NO_VALUE
    return PlotMark(
        x(value) or _LEFT,
        y,
        x(low),
        x(high),
        _colour(index),
        SHAPES[index % len(SHAPES)],
        f"{label}: {size} of {cell.many}, {bounds}",
    )


# ------------------------------------------------------------------------------------------------ squares


def _square_plot(block: Square, name: str, panel: Panel) -> Markup:
    """Renders the square plot of one run; the area of a point is proportional to its number of statements."""
    max_n = max(point.n for point in panel.points)
    marks = [
        (*_pixels(point.x, point.y), round(1.5 + (5 if block.curve else 6) * (point.n / max_n) ** 0.5, 1), point.words)
        for point in panel.points
    ]
    return render(
        "chart_square",
        name=name,
        marks=marks,
        colour=_colour(panel.place),
        side=_SIDE,
        margin=_MARGIN,
        title=panel.finding,
        axes=block.axes,
        band=[_pixels(x, high) for x, _, high in panel.band] + [_pixels(x, low) for x, low, _ in reversed(panel.band)],
        curve=block.curve,
        rising=block.rising,
    )


def _pixels(x: float, y: float) -> tuple[float, float]:
    """Converts a point of a square plot from shares to pixels."""
    return round(_MARGIN + _SIDE * x, 1), round(_MARGIN / 2 + _SIDE * (1 - y), 1)


# ------------------------------------------------------------------------------------------------ curves


class _CurveScale(NamedTuple):
    """Converts counts (x) and shares (y) of a line chart to pixels."""

    end: float
    min_share: float
    max_share: float

    def x(self, step: float) -> float:
        return round(_CURVE_LEFT + _CURVE_WIDTH * step / self.end, 1)

    def y(self, share: float) -> float:
        clipped = min(max(share, self.min_share), self.max_share)
        height = (clipped - self.min_share) / (self.max_share - self.min_share)
        return round(_CURVE_TOP + _CURVE_HEIGHT * (1 - height), 1)


def _line_chart(block: Curve) -> Markup:
    lines = list(block.lines.values())
    limit = min(1.0, half_width(lines[0])) if block.signed else 1.0
    end = block.end or max(line[-1][0] for line in lines if line)
    scale = _CurveScale(end, -limit if block.signed else 0.0, limit)
    shares = (-limit, -limit / 2, 0.0, limit / 2, limit) if block.signed else (0.0, 0.25, 0.5, 0.75, 1.0)
    ticks = [(scale.y(y), points(y).removesuffix(".0") if block.signed and y else f"{100 * y:.0f}") for y in shares]
    marked = None
    if block.marked:
        index, label = block.marked
        step, estimate = lines[0][index]
        marked = scale.x(step), scale.y(estimate.value or 0.0), label
    return render(
        "chart_curve",
        title=block.finding,
        label=block.label,
        axes=block.axes,
        lines=[_curve_line(block, scale, index, name, line) for index, (name, line) in enumerate(block.lines.items())],
        bands=[
            _polyline_points(
                scale, [(step, bounds.low) for step, bounds in line] + [(step, bounds.high) for step, bounds in line[::-1]]
            )
            for line in lines
            if block.band
        ],
        coin=_polyline_points(scale, enumerate(block.coin, 1)),
        ticks=ticks,
        zero=scale.y(0.0),
        marked=marked,
        left=_CURVE_LEFT,
        right=_CURVE_LEFT + _CURVE_WIDTH,
        bottom=_CURVE_TOP + _CURVE_HEIGHT,
        end=count(int(end)),
    )


def _curve_line(block: Curve, scale: _CurveScale, index: int, name: str, line: CurveLine) -> dict[str, object]:
    bounds = [
        (scale.x(step), scale.y(estimate.low), scale.y(estimate.high))
        for step, estimate in line
        if not block.band and estimate.low is not None and estimate.high is not None
    ]
    return {
        "name": name,
        "colour": _colour(index),
        "path": _polyline_points(scale, ((step, estimate.value) for step, estimate in line)),
        "bounds": bounds,
        "dashed": name in block.dashed,
    }


def _polyline_points(scale: _CurveScale, shares: Iterable[tuple[float, float | None]]) -> str:
    return " ".join(f"{scale.x(step)},{scale.y(share or 0.0)}" for step, share in shares)
