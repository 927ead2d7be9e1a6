"""Static SVG figures of blocks, for reports that are opened offline or printed."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap
from typing import Any, NamedTuple

from markupsafe import Markup

from medfact.results.blocks import Block, Cell, Curve, Differences, Panel, Shares, Square
from medfact.results.plots import colour
from medfact.results.wording import bounds_in_points, count, interval, points
from medfact.views.fragments import render

SHAPES = ("circle", "square", "diamond", "triangle")

# Pixels: width of the names, width of 0 to 100 %, height of a point, and the space above the first.
_LEFT, _WIDTH, _ROW, _TOP = 190, 460, 15, 26
_LABEL_CHARACTERS = 26  # of a label's line
_SIDE, _MARGIN = 300, 56  # pixels: side and margin of a square
_CURVE_LEFT, _CURVE_TOP, _CURVE_WIDTH, _CURVE_HEIGHT = 60, 12, 620, 220  # pixels: position and size of a curve


class _Scale(NamedTuple):
    """Maps values of an axis to pixels. A negative length points up."""

    low: float
    high: float
    start: float
    length: float

    def pixel(self, value: float | None) -> float:
        clipped = min(max(value or 0.0, self.low), self.high)
        return round(self.start + self.length * (clipped - self.low) / (self.high - self.low), 1)

    def ticks(self, steps: int, unit: str = "") -> list[tuple[float, str]]:
        """Pixels and labels of evenly spaced values: differences in points, shares in percent."""
        values = [self.low + (self.high - self.low) * step / steps for step in range(steps + 1)]
        is_signed = self.low < 0
        labels = [points(v).removesuffix(".0") if is_signed and v else f"{100 * v:.0f}{unit * (not is_signed)}" for v in values]
        return list(zip(map(self.pixel, values), labels, strict=True))


def _path(x: _Scale, y: _Scale, line: Iterable[tuple[float, float | None]]) -> str:
    """Attribute `points` of a line."""
    return " ".join(f"{x.pixel(step)},{y.pixel(value)}" for step, value in line)


def svg(block: Block) -> Markup:
    """Renders the figure of a block as SVG; "" if the block has nothing to draw."""
    match block:
        case Shares() if block.is_drawn:
            return _dot_plot(block)
        case Square():
            return Markup().join(_square_plot(block, name, panel) for name, panel in block.panels.items() if panel.points)
        case Curve() if block.is_drawn:
            return _line_chart(block)
    return Markup()


def _dot_plot(block: Shares) -> Markup:
    limit = (-(-100 * block.extent // 5) * 5 or 5) / 100 if isinstance(block, Differences) else 0.0  # a multiple of 5 points
    scale, names = _Scale(-limit, limit or 1.0, _LEFT, _WIDTH), block.heads
    marks: list[dict[str, Any]] = []
    labels: list[tuple[list[str], float]] = []
    y = float(_TOP)
    for row in block.rows:
        start, lines = y, [line for part in row.name.split("\n") for line in wrap(part, _LABEL_CHARACTERS)]
        for index, name in enumerate(names):
            y += _ROW
            cell = row.cells.get(name, Cell())
            if cell.known:
                value, low, high, _ = cell.known
                bounds = bounds_in_points(low, high) if limit else interval(cell.known)
                size = f"{points(value or 0.0)} points" if limit else f"{value:.1%}"
                title = f"{name}, {' '.join(row.name.split())}: {size} of {cell.many}, {bounds}"
                ends = [None if end is None else scale.pixel(end) for end in (value, low, high)]
                mark = dict(zip(("x", "low", "high"), ends, strict=True))
                style = {"colour": colour(index), "shape": SHAPES[index % len(SHAPES)]}
                marks.append(mark | style | {"y": y - _ROW / 2, "title": title})
        y = max(y, start + _ROW * len(lines))
        labels.append((lines, (start + y - _ROW * (len(lines) - 1)) / 2))
        y += 8
    legend = [(name, colour(index), SHAPES[index % len(SHAPES)]) for index, name in enumerate(names)]
    ticks = scale.ticks(4 if limit else 5, "%")
    drawn = {"marks": marks, "labels": labels, "ticks": ticks, "legend": legend, "height": y + 26}
    return render("chart_dots", **drawn, left=_LEFT, line=_ROW, title=block.finding)


def _square_plot(block: Square, name: str, panel: Panel) -> Markup:
    """Renders the square plot of one run; the area of a point is proportional to its number of statements."""
    x, y = _Scale(0, 1, _MARGIN, _SIDE), _Scale(0, 1, _MARGIN / 2 + _SIDE, -_SIDE)
    radii = [(point.n / max(other.n for other in panel.points)) ** 0.5 * (5 if block.curve else 6) for point in panel.points]
    return render(
        "chart_square",
        name=name,
        marks=[
            (x.pixel(point.x), y.pixel(point.y), round(1.5 + radius, 1), point.words)
            for point, radius in zip(panel.points, radii, strict=True)
        ],
        colour=colour(panel.place),
        side=_SIDE,
        margin=_MARGIN,
        title=panel.finding,
        axes=block.axes,
        band=_path(x, y, [(at, high) for at, _, high in panel.band] + [(at, low) for at, low, _ in reversed(panel.band)]),
        curve=block.curve,
        rising=block.rising,
    )


def _line_chart(block: Curve) -> Markup:
    limit = min(1.0, block.extent) if block.signed else 1.0
    x = _Scale(0, block.last_step, _CURVE_LEFT, _CURVE_WIDTH)
    y = _Scale(-limit if block.signed else 0.0, limit, _CURVE_TOP + _CURVE_HEIGHT, -_CURVE_HEIGHT)
    lines, bands, marked = [], [], None
    for index, (name, line) in enumerate(block.lines.items()):
        bounds = [(step, e.low, e.high) for step, e in line if e.low is not None and e.high is not None]
        if block.band:
            bands.append(_path(x, y, [(step, e.low) for step, e in line] + [(step, e.high) for step, e in line[::-1]]))
        lines.append(
            {
                "name": name,
                "colour": colour(index),
                "path": _path(x, y, ((step, estimate.value) for step, estimate in line)),
                "bounds": [] if block.band else [(x.pixel(at), y.pixel(low), y.pixel(high)) for at, low, high in bounds],
                "dashed": name in block.dashed,
            }
        )
    if block.marked:
        index, label = block.marked
        step, estimate = next(iter(block.lines.values()))[index]
        marked = x.pixel(step), y.pixel(estimate.value), label
    return render(
        "chart_curve",
        title=block.finding,
        label=block.label,
        axes=block.axes,
        lines=lines,
        bands=bands,
        coin=_path(x, y, enumerate(block.coin, 1)),
        ticks=y.ticks(4),
        zero=y.pixel(0.0),
        marked=marked,
        left=_CURVE_LEFT,
        right=_CURVE_LEFT + _CURVE_WIDTH,
        bottom=_CURVE_TOP + _CURVE_HEIGHT,
        end=count(int(block.last_step)),
    )
