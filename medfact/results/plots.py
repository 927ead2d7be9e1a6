"""Blocks as Plotly specifications, for the page and the notebook. They compute nothing.

Colours are Okabe and Ito's, which the colour-blind can tell apart, dark enough for white paper; marker shapes differ too. The
page puts others in their place in dark mode (`--mf-line-…` in its style), and has its own for text and grid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from textwrap import wrap
from typing import Any

from medfact.metrics.uncertainty import Estimate
from medfact.results.blocks import Block, Cell, Curve, CurveLine, Differences, Panel, Parts, Point, Row, Shares, Square
from medfact.results.rarity import FactPoint, Rarity
from medfact.results.wording import counted, interval

COLOURS = ("#0072B2", "#B87A00", "#008A64", "#B35A8C", "#2F8FC9", "#C75300", "#8A7E00", "#808080")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "pentagon")
GREY = COLOURS[7]
ON_BARS = "#000000"
"""Of text within the bars of parts, in both modes."""
_BAND = "rgba(0,114,178,0.18)"

Plot = dict[str, Any]


def plot_of(block: Block, runs: Sequence[str] = ()) -> Plot:
    """The figure of a block; nothing where it has nothing to draw.

    runs: the names of those that a page shows, in its order. A click on a point of one then leads to its facts alone.
    """
    if not isinstance(block, Shares | Square | Curve) or not block.is_drawn:
        return {}
    if isinstance(block, Parts):
        return _stack(block, runs)
    if isinstance(block, Shares):
        return _dots(block, runs)
    return _squares(block) if isinstance(block, Square) else _curve(block)


# ------------------------------------------------------------------------------------------------ shares, differences


def _dots(block: Shares, runs: Sequence[str]) -> Plot:
    """Rows of dots with intervals, a colour and a shape a column."""
    names = block.heads
    traces = [_dots_of_column(place, name, len(names), block, runs) for place, name in enumerate(names)]
    few = any(cell.known and cell.known.low is None for row in block.rows for cell in row.cells.values())
    x_axis = {
        "title": {"text": block.axis + (" (no bar: too few for an interval)" if few else "")},
        "range": _range(block),
        "fixedrange": True,
        "zeroline": not block.coin,
    }
    y_axis = {
        "tickvals": list(range(len(block.rows))),
        "ticktext": [wrapped(row.name) for row in block.rows],
        "range": [len(block.rows) - (0 if block.coin else 0.4), -0.6],  # the last strip is the coin's name
        "fixedrange": True,
        "automargin": True,
        "zeroline": False,
    }
    tallest = max(lines_of(row.name) for row in block.rows)
    height = 120 + len(block.rows) * max(30, 12 * len(names), 16 * tallest + 4)
    more: Plot = {} if len(names) > 1 else {"showlegend": False}
    if block.coin:
        more |= {"shapes": [_HALF], "annotations": [_NAME_OF_HALF]}
    return specification(traces, xaxis=x_axis, yaxis=y_axis, height=height, **more)


_HALF = {"type": "line", "x0": 50, "x1": 50, "yref": "y domain", "y0": 0, "y1": 1, "line": {"dash": "dot", "color": GREY}}
_NAME_OF_HALF = {
    "text": "50%: a coin", "x": 50, "yref": "y domain", "y": 0, "yanchor": "bottom", "xanchor": "left", "xshift": 3,
    "showarrow": False,
}  # fmt: skip


def _range(block: Shares) -> list[float]:
    """The range of the axis: all shares, or all of the widest difference."""
    if not isinstance(block, Differences):
        return [-2, 102]
    cells = (cell for row in block.rows for cell in row.cells.values())
    ends = [abs(100 * end) for cell in cells for end in (cell.known or ())[:3] if end is not None]
    widest = 1.05 * max(ends, default=0) + 1
    return [-widest, widest]


def _dots_of_column(place: int, name: str, columns: int, block: Shares, runs: Sequence[str]) -> Plot:
    shown = [(row, cell) for row, of in enumerate(block.rows) if (cell := of.cells.get(name)) and cell.known]
    estimates = [cell.known for _, cell in shown if cell.known]
    sign = "%{x:+.1f} points" if isinstance(block, Differences) else "%{x:.1f}%"
    return {
        "mode": "markers",
        "name": name,
        "x": [100 * (estimate.value or 0.0) for estimate in estimates],
        "y": [row + 0.7 * (place - (columns - 1) / 2) / columns for row, _ in shown],
        "error_x": errors(estimates),
        "marker": marker(place, 10),
        "cliponaxis": False,
        **_opening((block.rows[row] for row, _ in shown), name, runs),
        "customdata": [[cell.many, _beside(cell)] for _, cell in shown],
        "hovertemplate": f"{sign} of %{{customdata[0]}} (%{{customdata[1]}})",
    }


def _opening(rows: Iterable[Row], name: str, runs: Sequence[str]) -> Plot:
    """The view that a click on a point of these rows opens, in the column of this name."""
    model = {"model": runs.index(name)} if len(runs) > 1 and name in runs else {}
    opens = [{**row.opens, **model} if row.opens else None for row in rows]
    return {"meta": opens} if any(opens) else {}


def _beside(cell: Cell) -> str:
    """The words beside a dot under the pointer."""
    if cell.estimate is None:
        return ""
    return plain("; ".join(cell.under)) if cell.signed else interval(cell.estimate)


# ------------------------------------------------------------------------------------------------ parts of a whole

_OF_PARTS = ((2, ""), (5, ""), (1, ""), (4, ""), (3, ""), (6, ""), (6, "/"), (7, ""), (7, "."))
"""The colour of each part, and a pattern where two share one. None is so dark that black text cannot be read on it."""

_NUMBERED_FROM = 9
"""Percent from which a part has room for its number, on a telephone too. Its name stands in the legend."""


def _stack(block: Parts, runs: Sequence[str]) -> Plot:
    """A bar a column, made of a part a row. Parts of one name have one line in the legend."""
    names, parts = block.heads, [row.name for row in block.rows]
    traces = [
        _part(parts.index(row.name), row, names, runs) | {"showlegend": parts.index(row.name) == place, "legendgroup": row.name}
        for place, row in enumerate(block.rows)
    ]
    x_axis = {"ticksuffix": "%", "range": [0, 100], "fixedrange": True, "zeroline": False}
    y_axis = {"type": "category", "autorange": "reversed", "fixedrange": True, "automargin": True}
    y_axis |= {"ticktext": [wrapped(name) for name in names], "tickvals": list(range(len(names)))}
    bars = 12 + 48 * len(names)  # pixels; the legend lies below the numbers of the axis, on a phone a name a line
    legend = {"orientation": "h", "y": -34 / bars, "yanchor": "top", "x": 0, "traceorder": "normal"}
    more = {"margin": {"l": 56, "r": 28, "t": 8, "b": 205}, "legend": legend | {"maxheight": 195, "font": {"size": 12}}}
    return specification(traces, xaxis=x_axis, yaxis=y_axis, barmode="stack", bargap=0.25, height=213 + bars, **more)


def _part(place: int, row: Row, names: Sequence[str], runs: Sequence[str]) -> Plot:
    colour_of, pattern = _OF_PARTS[place % len(_OF_PARTS)]
    cells = [row.cells.get(name, Cell()) for name in names]
    shares = [100 * (cell.known.value or 0.0) if cell.known else 0.0 for cell in cells]
    hatch = {"shape": pattern, "fillmode": "overlay", "fgcolor": ON_BARS, "fgopacity": 0.35, "size": 6}
    hover = f"%{{x:.1f}}% of %{{customdata[0]}} (%{{customdata[1]}})<br>{plain(row.name)}: %{{customdata[2]}}<extra></extra>"
    opens = [_opening([row], name, runs).get("meta", [None])[0] for name in names]
    return {
        "type": "bar",
        "orientation": "h",
        "name": row.name,
        "x": shares,
        "y": list(range(len(names))),
        "marker": {"color": colour(colour_of), "line": {"width": 0}, **({"pattern": hatch} if pattern else {})},
        "text": [f"{share:.0f}%" if share >= _NUMBERED_FROM else "" for share in shares],
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "textfont": {"color": ON_BARS, "size": 12},
        "constraintext": "none",
        **({"meta": opens} if any(opens) else {}),
        "customdata": [[cell.many, _beside(cell), plain(row.note)] for cell in cells],
        "hovertemplate": hover,
    }


# ------------------------------------------------------------------------------------------------ squares

PANELS_A_ROW = 2
PANEL_PIXELS = {1: 460, 2: 400}
"""Of a square, by how many stand in a row."""

BARS = 0.18
"""Of a panel's height, for the bars beneath its square."""

LARGEST_DOT = 20
"""Pixels across of the dot that stands for most."""


def _squares(block: Square) -> Plot:
    """A square a run, and beneath it how often each x occurs; a run keeps the colour that it has among all."""
    columns = min(len(block.panels), PANELS_A_ROW)
    rows = -(-len(block.panels) // columns)
    traces: list[Plot] = []
    layout: Plot = {"annotations": []}
    for place, (name, panel) in enumerate(block.panels.items()):
        axis = "" if place == 0 else str(place + 1)
        layout |= _axes_of_panel(block, place, columns, rows, axis)
        if len(block.panels) > 1:
            layout["annotations"].append(_name_of_panel(name, place, columns, rows))
        axes = {"xaxis": f"x{axis}", "yaxis": f"y{axis}"}
        traces += [trace | axes for trace in _traces_of_panel(block, name, panel)]
        if panel.bars:
            traces.append(_bars_of_panel(panel) | {"xaxis": f"x{axis}", "yaxis": f"y{place + 1 + BAR_AXES}"})
    has_bars = any(panel.bars for panel in block.panels.values())
    pixels = PANEL_PIXELS[columns] * (1 + BARS if has_bars else 1)
    return specification(traces, **layout, showlegend=False, bargap=0.1, height=round(90 + pixels * rows))


BAR_AXES = 50
"""The y axes of bars are numbered from here."""


def _axes_of_panel(block: Square, place: int, columns: int, rows: int, axis: str) -> Plot:
    left, top, panel = (place % columns) / columns, 1 - (place // columns) / rows, list(block.panels.values())[place]
    above = 0.0 if len(block.panels) == 1 else 0.08  # room for the name, and below for the title of the axis
    under = 0.16 if rows > 1 else 0.0
    fixed: Plot = {"fixedrange": True, "range": [-0.04, 1.04], "dtick": 0.25, "zeroline": False}
    wide = [left + 0.07 / columns, left + 0.97 / columns]
    low, high = top - (1 - under) / rows, top - above / rows
    floor = low + (high - low) * BARS if panel.bars else low
    title = {"title": {"text": block.axes[1]}} if place % columns == 0 else {}
    below = f"y{place + 1 + BAR_AXES}" if panel.bars else f"y{axis}"
    made = {
        f"xaxis{axis}": {**fixed, "domain": wide, "anchor": below, "title": {"text": block.axes[0]}},
        f"yaxis{axis}": {**fixed, "domain": [floor + 0.02 if panel.bars else floor, high], "anchor": f"x{axis}", **title},
    }
    bars = {"domain": [low, floor], "anchor": f"x{axis}", "fixedrange": True, "nticks": 3, "rangemode": "tozero"}
    return made | ({f"yaxis{place + 1 + BAR_AXES}": bars | {"title": {"text": "n"}}} if panel.bars else {})


def _bars_of_panel(panel: Panel) -> Plot:
    return {
        "type": "bar",
        "x": [(low + high) / 2 for low, high, _ in panel.bars],
        "y": [n for *_, n in panel.bars],
        "width": [high - low for low, high, _ in panel.bars],
        "marker": {"color": colour(panel.place)},
        "customdata": [[low, high] for low, high, _ in panel.bars],
        "hovertemplate": "from %{customdata[0]:.2f} to %{customdata[1]:.2f}: %{y}<extra></extra>",
    }


def _name_of_panel(name: str, place: int, columns: int, rows: int) -> Plot:
    return {
        "text": "<br>".join(map(plain, wrap(name, 30))),
        "xref": "paper",
        "yref": "paper",
        "showarrow": False,
        "x": (place % columns + 0.5) / columns,
        "y": 1 - (place // columns + 0.07) / rows,
        "yanchor": "bottom",
        "xanchor": "center",
    }


def _traces_of_panel(block: Square, name: str, panel: Panel) -> list[Plot]:
    perfect = [0, 1] if block.rising else [1, 0]
    line = {"x": [0, 1], "y": perfect, "mode": "lines", "line": {"dash": "dot", "color": GREY}}
    points = {
        "name": name,
        "x": [point.x for point in panel.points],
        "y": [point.y for point in panel.points],
        "mode": "markers+lines" if block.curve else "markers",
        "marker": {**marker(panel.place, 0), "size": _sizes(panel.points), "opacity": 1 if block.curve else 0.7},
        "cliponaxis": False,
        "line": {"color": colour(panel.place), "width": 1},
        "text": [point.words for point in panel.points],
        "customdata": [point.n for point in panel.points],
        "hovertemplate": "%{text}",
    }
    band = [area(panel.band, "rgba(136,136,136,0.25)")] if panel.band else []
    return [*band, {**line, "hoverinfo": "skip"}, points]


def _sizes(points: Sequence[Point]) -> list[float]:
    least, largest = 5, max((point.n for point in points), default=1)
    return [round(least + (LARGEST_DOT - least) * (point.n / largest) ** 0.5, 1) for point in points]


def area(band: Sequence[tuple[float, float, float]], fill: str, name: str = "") -> Plot:
    """The area between two lines. band: x and both ends, from left to right."""
    return {
        "mode": "lines",
        **({"name": name} if name else {}),
        "x": [*(x for x, _, _ in band), *(x for x, _, _ in reversed(band))],
        "y": [*(high for *_, high in band), *(low for _, low, _ in reversed(band))],
        "fill": "toself",
        "fillcolor": fill,
        "line": {"width": 0},
        "hoverinfo": "skip",
    }


# ------------------------------------------------------------------------------------------------ curves

FEW = 10
"""So few steps have a tick each: the library would put ticks at fractions of one."""


def _curve(block: Curve) -> Plot:
    """Lines with their bounds, as an area or at each point."""
    traces: list[Plot] = []
    if block.coin:
        x, y = list(range(1, len(block.coin) + 1)), [100 * share for share in block.coin]
        traces.append({"x": x, "y": y, "mode": "lines", "name": "a coin", "line": {"dash": "dot", "color": GREY}})
    for place, (name, line) in enumerate(block.lines.items()):
        if block.band:
            band = [(x, 100 * (one.low or 0.0), 100 * (one.high or 0.0)) for x, one in line]
            traces.append(area(band, _BAND, "bounds that hold at any time"))
        traces.append(_line(place, name, line, block))
    if block.marked:
        traces.append(_marked(block))
    longest = block.end or max((line[-1][0] for line in block.lines.values() if line), default=0)
    whole = {"tick0": 0, "dtick": 1} if longest <= FEW else {}
    x_axis = {"title": {"text": block.axes[0]}, "fixedrange": True, "zeroline": False, **whole}
    y_axis = {"title": {"text": block.axes[1]}, "fixedrange": True, "automargin": True, "zeroline": False}
    widest = min(105.0, 100 * half_width(next(iter(block.lines.values())))) if block.signed else 0.0
    y_axis["range"] = [-widest, widest] if block.signed else [0, 102]
    x_axis |= {"range": [0, block.end]} if block.end else {}
    zero = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 0, "y1": 0, "line": {"dash": "dash", "color": GREY}}
    return specification(
        traces, xaxis=x_axis, yaxis=y_axis, shapes=[zero] if block.signed else [], height=320 if block.band else 380
    )


def _line(place: int, name: str, line: CurveLine, block: Curve) -> Plot:
    estimates = [one for _, one in line]
    bounds = [interval(one).replace("%", "") if one.low is not None else "no interval" for one in estimates]
    hover = "%{x}: %{y:+.1f} points (%{customdata[1]})" if block.signed else "%{x} statements: %{y:.1f}% (n = %{customdata[0]})"
    return {
        "name": name,
        "mode": "lines+markers" if len(line) < 40 else "lines",
        "x": [x for x, _ in line],
        "y": [round(100 * (one.value or 0.0), 2) for one in estimates],
        **({} if block.band else {"error_y": errors(estimates)}),
        "line": {"color": colour(place)} | ({"dash": "dash", "width": 4} if name in block.dashed else {}),
        "marker": marker(place, 5 if block.band else 8),
        "customdata": [[one.n, text] for one, text in zip(estimates, bounds, strict=True)],
        "hovertemplate": hover,
    }


def _marked(block: Curve) -> Plot:
    place, words = block.marked or (0, "")
    x, one = next(iter(block.lines.values()))[place]
    return {
        "name": "decided",
        "mode": "markers",
        "x": [x],
        "y": [100 * (one.value or 0.0)],
        "marker": {"color": COLOURS[5], "symbol": "diamond", "size": 13},
        "hovertemplate": f"{plain(words)}<extra></extra>",
    }


def half_width(line: CurveLine) -> float:
    """Half-width of an axis around 0: all of a line and the bounds at its end; the wide ones of its start are cut."""
    steady = (abs(one.value or 0.0) for _, one in line[len(line) // 10 :])
    _, last = line[-1]
    return 1.15 * max(0.1, *steady, *(1.5 * abs(end or 0.0) for end in (last.low, last.high)))


# ------------------------------------------------------------------------------------------------ rarity

MOST_POINTS = 1_500
"""Facts that are drawn; of more, evenly chosen ones."""

JITTER = 4.0
"""Points of a hundred over which facts of one share are spread, so that they do not hide each other."""


def rarity(view: Rarity, points: Sequence[FactPoint]) -> Plot:
    """Right answers against how often the tail is named, on a log scale (MKJ, Figure 5): a dot a fact, a diamond with its
    interval a semantic type, the fitted line with its band. Nothing where no fact has a frequency.
    """
    known = [point for point in points if point.answered and point.tail_count is not None]
    if not known:
        return {}
    band = view.by_tail.line.band
    counts = [1 + (point.tail_count or 0) for point in known]
    decades = {"dtick": 1} if max(counts) >= 100 * min(counts) else {}  # else there might be no tick at all
    traces = [_dots_of_facts(known)]
    if band:
        traces += _line_and_band([(10**place.x, place.share, place.low, place.high) for place in band])
    if any(of.mean_log_frequency is not None for of in view.types.values()):
        traces.append(_dots_of_types(view))
    return specification(
        traces,
        xaxis={"title": {"text": "times the finding is named, plus 1 (log scale)"}, "type": "log", "fixedrange": True}
        | decades,
        yaxis={"title": {"text": "right answers, %"}, "range": [-5, 105], "fixedrange": True, "automargin": True},
        height=420,
    )


def _dots_of_facts(known: Sequence[FactPoint]) -> Plot:
    step = -(-len(known) // MOST_POINTS)
    shown = known[::step]
    spread = [JITTER * (place * 0.618 % 1 - 0.5) for place in range(len(shown))]  # the golden ratio repeats nothing
    return {
        "mode": "markers",
        "name": f"facts ({len(shown):,} of {len(known):,})" if step > 1 else "facts",
        "x": [1 + (point.tail_count or 0) for point in shown],
        "y": [100 * (point.share or 0.0) + by for point, by in zip(shown, spread, strict=True)],
        "marker": {"color": GREY, "symbol": "circle", "size": 5, "opacity": 0.5},
        "customdata": [[point.tail_count, point.right, point.answered] for point in shown],
        "hovertemplate": "named %{customdata[0]} times: %{customdata[1]} of %{customdata[2]} right<extra></extra>",
    }


def _line_and_band(band: Sequence[tuple[float, float, float | None, float | None]]) -> list[Plot]:
    """band: x, the fitted share and the bounds of its band, from left to right."""
    x = [place[0] for place in band]
    shares = [100 * place[1] for place in band]
    line = {"mode": "lines", "name": "fitted line", "x": x, "y": shares, "line": {"color": colour(0)}}
    bounds = [(at, 100 * low, 100 * high) for at, _, low, high in band if low is not None and high is not None]
    return [line] if len(bounds) < len(band) else [area(bounds, "rgba(0,114,178,0.15)", "95% band"), line]


def _dots_of_types(view: Rarity) -> Plot:
    shown = {name: of for name, of in view.types.items() if of.mean_log_frequency is not None and of.accuracy.value is not None}
    estimates = [of.accuracy.estimate for of in shown.values()]
    return {
        "mode": "markers",
        "name": "semantic types of findings",
        "x": [10 ** (of.mean_log_frequency or 0.0) for of in shown.values()],
        "y": [100 * (estimate.value or 0.0) for estimate in estimates],
        "error_y": errors(estimates),
        "marker": {**marker(1, 10), "symbol": "diamond"},
        "text": [plain(name) for name in shown],
        "customdata": [[counted(estimate.n, "statement"), interval(estimate)] for estimate in estimates],
        "hovertemplate": "%{text}: right on %{y:.1f}% of %{customdata[0]} (%{customdata[1]})<extra></extra>",
    }


# ------------------------------------------------------------------------------------------------ what all share


def colour(index: int) -> str:
    return COLOURS[index % len(COLOURS)]


def marker(index: int, size: int) -> Plot:
    return {"color": colour(index), "symbol": SYMBOLS[index % len(SYMBOLS)], "size": size}


def errors(estimates: Sequence[Estimate]) -> Plot:
    def side(end: str, sign: int) -> list[float]:
        ends = [(getattr(estimate, end), estimate.value) for estimate in estimates]
        return [0.0 if bound is None or value is None else sign * 100 * (bound - value) for bound, value in ends]

    return {"type": "data", "symmetric": False, "array": side("high", 1), "arrayminus": side("low", -1), "thickness": 1.5}


LETTERS_A_LINE = 22
"""Of the name of a row: a telephone's screen has room for points beside it."""


def wrapped(label: str) -> str:
    """The name of a row in lines."""
    return "<br>".join(map(plain, _lines(label)))


def lines_of(label: str) -> int:
    return len(_lines(label))


def _lines(label: str) -> list[str]:
    return [line for part in label.split("\n") for line in wrap(part, LETTERS_A_LINE)]


def plain(text: str) -> str:
    """Text that is shown as it stands: the library reads some markup, links among it."""
    return escape(text, quote=False)


def specification(traces: Sequence[Mapping[str, Any]], **layout: Any) -> Plot:
    """Traces with what every figure has in common."""
    return {
        "data": [
            {"type": "scatter", **trace} | ({"name": plain(trace["name"])} if "name" in trace else {}) for trace in traces
        ],
        "layout": {
            "margin": {"l": 56, "r": 12, "t": 36, "b": 64},
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
            "showlegend": True,
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            **layout,
        },
    }
