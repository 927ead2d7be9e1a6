"""Blocks as figures without a script, as SVG: for a report that opens offline and prints."""

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
"""Pixels: for the names, for 0 to 100 %, for a point, and above the first."""

_LETTERS = 26
"""Letters of a name that fit beside the points."""

_SIDE, _MARGIN = 300, 56
"""Pixels of a square."""

_CURVE_LEFT, _CURVE_TOP, _CURVE_WIDTH, _CURVE_HEIGHT = 60, 12, 620, 220
"""Pixels of a curve's place and size."""


def svg(block: Block) -> Markup:
    """The figure of a block; nothing where it has nothing to draw."""
    if isinstance(block, Shares):
        return _dots(block) if block.is_drawn else Markup()
    if isinstance(block, Square):
        return Markup().join(_square(block, name, panel) for name, panel in block.panels.items() if panel.points)
    return _curve(block) if isinstance(block, Curve) and block.is_drawn else Markup()


def _colour(place: int) -> str:
    return COLOURS[place % len(COLOURS)]


# ------------------------------------------------------------------------------------------------ shares, differences


class Mark(NamedTuple):
    """A point with its interval, in pixels. title: what it is, with its numbers."""

    x: float
    y: float
    low: float | None
    high: float | None
    colour: str
    shape: str
    title: str


def _dots(block: Shares) -> Markup:
    widest, names = _widest(block), block.heads
    marks: list[Mark] = []
    labels: list[tuple[list[str], float]] = []
    y = float(_TOP)
    for row in block.rows:
        start, lines = y, [line for part in row.name.split("\n") for line in wrap(part, _LETTERS)]
        for place, name in enumerate(names):
            y += _ROW
            cell = row.cells.get(name)
            if cell is not None and cell.known:
                marks.append(_mark(f"{name}, {' '.join(row.name.split())}", cell, y - _ROW / 2, place, widest))
        y = max(y, start + _ROW * len(lines))
        labels.append((lines, (start + y - _ROW * (len(lines) - 1)) / 2))
        y += 8
    legend = [(name, _colour(place), SHAPES[place % len(SHAPES)]) for place, name in enumerate(names)]
    drawn = {"marks": marks, "labels": labels, "ticks": _ticks(widest), "legend": legend, "height": y + 26}
    return render("chart_dots", **drawn, left=_LEFT, line=_ROW, title=block.finding)


def _widest(block: Shares) -> float | None:
    """How far a difference may be from 0 on the axis, a multiple of 5 points; None where shares are drawn."""
    if not isinstance(block, Differences):
        return None
    cells = (cell for row in block.rows for cell in row.cells.values())
    ends = [abs(end) for cell in cells for end in (cell.known or ())[:3] if end is not None]
    return (-(-100 * max(ends, default=0) // 5) * 5 or 5) / 100


def _ticks(widest: float | None) -> list[tuple[float, str]]:
    if widest is None:
        return [(_LEFT + _WIDTH * step / 5, f"{20 * step}%") for step in range(6)]
    places = [(_LEFT + _WIDTH * step / 4, widest * (step - 2) / 2) for step in range(5)]
    return [(x, points(value).removesuffix(".0") if value else "0") for x, value in places]


def _mark(what: str, cell: Cell, y: float, place: int, widest: float | None) -> Mark:
    def x(end: float | None) -> float | None:
        along = end if end is None or widest is None else 0.5 + 0.5 * end / widest
        return None if along is None else round(_LEFT + _WIDTH * along, 1)

    value, low, high, _ = cell.known or (0.0, None, None, 0)
    size = f"{points(value or 0.0)} points" if widest else f"{value:.1%}"
    between = bounds_in_points(low, high) if widest else interval(cell.known) if cell.known else NO_VALUE
    return Mark(
        x(value) or _LEFT,
        y,
        x(low),
        x(high),
        _colour(place),
        SHAPES[place % len(SHAPES)],
        f"{what}: {size} of {cell.many}, {between}",
    )


# ------------------------------------------------------------------------------------------------ squares


def _square(block: Square, name: str, panel: Panel) -> Markup:
    """The square of one run; points grow with how many they stand for."""
    most = max(point.n for point in panel.points)
    marks = [
        (*_place(point.x, point.y), round(1.5 + (5 if block.curve else 6) * (point.n / most) ** 0.5, 1), point.words)
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
        band=[_place(x, high) for x, _, high in panel.band] + [_place(x, low) for x, low, _ in reversed(panel.band)],
        curve=block.curve,
        rising=block.rising,
    )


def _place(x: float, y: float) -> tuple[float, float]:
    """Shares as pixels of a square."""
    return round(_MARGIN + _SIDE * x, 1), round(_MARGIN / 2 + _SIDE * (1 - y), 1)


# ------------------------------------------------------------------------------------------------ curves


class _Scale(NamedTuple):
    """From what is counted and shares to pixels. least, most: of the shares."""

    end: float
    least: float
    most: float

    def x(self, step: float) -> float:
        return round(_CURVE_LEFT + _CURVE_WIDTH * step / self.end, 1)

    def y(self, share: float) -> float:
        up = (min(max(share, self.least), self.most) - self.least) / (self.most - self.least)
        return round(_CURVE_TOP + _CURVE_HEIGHT * (1 - up), 1)


def _curve(block: Curve) -> Markup:
    lines = list(block.lines.values())
    widest = min(1.0, half_width(lines[0])) if block.signed else 1.0
    end = block.end or max(line[-1][0] for line in lines if line)
    scale = _Scale(end, -widest if block.signed else 0.0, widest)
    shares = (-widest, -widest / 2, 0.0, widest / 2, widest) if block.signed else (0.0, 0.25, 0.5, 0.75, 1.0)
    ticks = [(scale.y(one), points(one).removesuffix(".0") if block.signed and one else f"{100 * one:.0f}") for one in shares]
    marked = None
    if block.marked:
        place, words = block.marked
        at, of = lines[0][place]
        marked = scale.x(at), scale.y(of.value or 0.0), words
    return render(
        "chart_curve",
        title=block.finding,
        label=block.label,
        axes=block.axes,
        lines=[_drawn_line(block, scale, at, name, line) for at, (name, line) in enumerate(block.lines.items())],
        bands=[
            _path(scale, [(step, one.low) for step, one in line] + [(step, one.high) for step, one in reversed(line)])
            for line in lines
            if block.band
        ],
        coin=_path(scale, enumerate(block.coin, 1)),
        ticks=ticks,
        zero=scale.y(0.0),
        marked=marked,
        left=_CURVE_LEFT,
        right=_CURVE_LEFT + _CURVE_WIDTH,
        bottom=_CURVE_TOP + _CURVE_HEIGHT,
        end=count(int(end)),
    )


def _drawn_line(block: Curve, scale: _Scale, at: int, name: str, line: CurveLine) -> dict[str, object]:
    bounds = [
        (scale.x(step), scale.y(one.low), scale.y(one.high))
        for step, one in line
        if not block.band and one.low is not None and one.high is not None
    ]
    return {
        "name": name,
        "colour": _colour(at),
        "path": _path(scale, ((step, one.value) for step, one in line)),
        "bounds": bounds,
        "dashed": name in block.dashed,
    }


def _path(scale: _Scale, places: Iterable[tuple[float, float | None]]) -> str:
    return " ".join(f"{scale.x(step)},{scale.y(share or 0.0)}" for step, share in places)
