"""HTML fragments of pages and reports, from templates with autoescape; and figures of blocks as SVG, for offline and print."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache, partial
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from medfact.assets import ENGLISH, pool_language
from medfact.datasets.bundled import title
from medfact.datasets.sources import about_source, independent, links_of, sources_of
from medfact.languages import name_in
from medfact.negatives import DIFFICULTIES, PREFERENCES
from medfact.prototypes.grammar import scope_prefix
from medfact.results import wording
from medfact.results.blocks import Block, Cell, Curve, Differences, Panel, Section, Shares, Square
from medfact.results.plots import colour, plot_of
from medfact.statements import VARIANTS
from medfact.table_formats import linked_endings

GLYPHS = ("●", "■", "◆", "▲", "✚", "✖", "★", "⬟")  # of each run in a comparison, as in figures (`results.plots.SYMBOLS`)

TEMPLATES = Path(__file__).parent / "templates"


@cache
def environment() -> Environment:
    """The Jinja environment of `templates/`, with filters that format numbers and names."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,  # it would check the file's date on each use
    )
    environment.filters |= {
        "percent": wording.percent,
        "points": wording.points,
        "count": wording.count,
        "interval": wording.interval,
        "bounds": lambda estimate: wording.bounds_in_points(estimate.low, estimate.high),
        "date": wording.date,
        "counted": wording.counted,
        "run_name": wording.run_name,
        "data_title": title,
        "twice": lambda names: [(name, name) for name in names],
        "lang": _lang_attribute,
        "numbered": lambda names: list(enumerate(names)),
    }
    environment.globals |= {
        "VARIANTS": VARIANTS,
        "FATES": wording.FATES,
        "GLYPHS": GLYPHS,
        "DIFFICULTIES": DIFFICULTIES,
        "PREFERENCES": PREFERENCES,
        "linked_endings": linked_endings,
        "about_source": about_source,
        "links_of": links_of,
        "bounds_before": scope_prefix,
        "describe_label": wording.describe_label,
        "named": _localized_name,
        "name_in": name_in,
        "ENGLISH": ENGLISH,
        "sources_of": sources_of,
        "independent": independent,
    }
    return environment


def _lang_attribute(pool: str) -> Markup:
    """HTML attribute `lang` for the sentences of a pool; "" for English."""
    code = pool_language(pool)
    return Markup(' lang="{}"').format(code) if code else Markup()


def _localized_name(entity: str, code: str) -> Markup:
    """HTML of an entity's name in a language; in English if the language has no name for it."""
    if (name := name_in(code, entity)) is None:
        return Markup("<bdi>{}</bdi>").format(entity)
    return Markup('<bdi lang="{}" title="{}">{}</bdi>').format(code, entity, name.text)


def render(template: str, **values: object) -> Markup:
    """Renders a template by its name: `scores` is `templates/scores.html`."""
    return Markup(environment().get_template(f"{template}.html").render(**values))


def render_sections(sections: Iterable[Section], runs: Iterable[str] = ()) -> Markup:
    """Renders sections for a page, whose script draws the figures. runs: the names of the page's runs."""
    return render("blocks", sections=list(sections), plot=partial(plot_of, runs=list(runs)))


def fragment_hash(fragment: str) -> str:
    """Short hash of a fragment, by which a page detects changes."""
    return hashlib.blake2b(fragment.encode(), digest_size=8).hexdigest()


# ------------------------------------------------------------------------------------------------ figures as SVG

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
        if self.low < 0:
            return [(self.pixel(value), wording.points(value).removesuffix(".0") if value else "0") for value in values]
        return [(self.pixel(value), f"{100 * value:.0f}{unit}") for value in values]


def _path(x: _Scale, y: _Scale, line: Iterable[tuple[float, float | None]]) -> str:
    """Attribute `points` of a line."""
    return " ".join(f"{x.pixel(step)},{y.pixel(value)}" for step, value in line)


def svg(block: Block) -> Markup:
    """Renders the figure of a block as SVG, for reports that are opened offline or printed; "" without anything to draw."""
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
    scale, y = _Scale(-limit, limit or 1.0, _LEFT, _WIDTH), float(_TOP)
    legend = [(name, colour(index), SHAPES[index % len(SHAPES)]) for index, name in enumerate(block.heads)]
    marks: list[dict[str, Any]] = []
    labels: list[tuple[list[str], float]] = []
    for row in block.rows:
        for index, (name, fill, shape) in enumerate(legend):
            cell = row.cells.get(name, Cell())
            if cell.known:
                bounds = wording.bounds_in_points(cell.known.low, cell.known.high) if limit else wording.interval(cell.known)
                size = f"{wording.points(cell.known.value or 0.0)} points" if limit else f"{cell.known.value:.1%}"
                title = f"{name}, {' '.join(row.name.split())}: {size} of {cell.many}, {bounds}"
                x, low, high = (None if end is None else scale.pixel(end) for end in cell.known[:3])
                place = {"x": x, "low": low, "high": high, "y": y + _ROW * (index + 0.5)}
                marks.append(place | {"colour": fill, "shape": shape, "title": title})
        lines = [line for part in row.name.split("\n") for line in wrap(part, _LABEL_CHARACTERS)]
        height = _ROW * max(len(legend), len(lines))
        labels.append((lines, y + (height - _ROW * (len(lines) - 1)) / 2))
        y += height + 8
    drawn = {"marks": marks, "labels": labels, "ticks": scale.ticks(4 if limit else 5, "%"), "legend": legend, "height": y + 26}
    return render("chart_dots", **drawn, left=_LEFT, line=_ROW, title=block.finding)


def _square_plot(block: Square, name: str, panel: Panel) -> Markup:
    """Renders the square plot of one run; the area of a point is proportional to its number of statements."""
    x, y = _Scale(0, 1, _MARGIN, _SIDE), _Scale(0, 1, _MARGIN / 2 + _SIDE, -_SIDE)
    most, radius = max(point.n for point in panel.points), 5 if block.curve else 6
    return render(
        "chart_square",
        name=name,
        marks=[
            (x.pixel(point.x), y.pixel(point.y), round(1.5 + (point.n / most) ** 0.5 * radius, 1), point.words)
            for point in panel.points
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
    lines = [
        {
            "name": name,
            "colour": colour(index),
            "path": _path(x, y, ((step, estimate.value) for step, estimate in line)),
            "bounds": [
                (x.pixel(step), y.pixel(estimate.low), y.pixel(estimate.high))
                for step, estimate in line
                if not block.band and estimate.low is not None and estimate.high is not None
            ],
            "dashed": name in block.dashed,
        }
        for index, (name, line) in enumerate(block.lines.items())
    ]
    marked = None
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
        bands=[
            _path(x, y, [(step, e.low) for step, e in line] + [(step, e.high) for step, e in reversed(line)])
            for line in block.lines.values()
            if block.band
        ],
        coin=_path(x, y, enumerate(block.coin, 1)),
        ticks=y.ticks(4),
        zero=y.pixel(0.0),
        marked=marked,
        left=_CURVE_LEFT,
        right=_CURVE_LEFT + _CURVE_WIDTH,
        bottom=_CURVE_TOP + _CURVE_HEIGHT,
        end=wording.count(int(block.last_step)),
    )
