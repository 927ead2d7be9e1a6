"""Blocks as Plotly specifications, for the page and the notebook. They compute nothing.

Colours are Okabe and Ito's, which the colour-blind can tell apart, and marker shapes differ too. Text and grid colours are
left to the page, so that dark mode is right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from textwrap import wrap
from typing import Any

from medfact.metrics.uncertainty import Estimate
from medfact.results.blocks import Block, Cell, Curve, CurveLine, Differences, Panel, Point, Shares, Square
from medfact.results.rarity import FactPoint, Rarity
from medfact.results.wording import counted, interval

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "pentagon")
GREY = "#888888"
_BAND = "rgba(0,114,178,0.18)"

Plot = dict[str, Any]


def plot_of(block: Block) -> Plot:
    """The figure of a block; nothing where it has nothing to draw."""
    if not isinstance(block, Shares | Square | Curve) or not block.is_drawn:
        return {}
    if isinstance(block, Shares):
        return _dots(block)
    return _squares(block) if isinstance(block, Square) else _curve(block)


# ------------------------------------------------------------------------------------------------ shares, differences


def _dots(block: Shares) -> Plot:
    """Rows of dots with intervals, a colour and a shape a column."""
    names = block.heads
    traces = [_dots_of_column(place, name, len(names), block) for place, name in enumerate(names)]
    half = {"type": "line", "x0": 50, "x1": 50, "yref": "y domain", "y0": 0, "y1": 1, "line": {"dash": "dot", "color": GREY}}
    x_axis = {"title": {"text": block.axis}, "range": _range(block), "fixedrange": True, "zeroline": not block.coin}
    y_axis = {
        "tickvals": list(range(len(block.rows))),
        "ticktext": [wrapped(row.name) for row in block.rows],
        "range": [len(block.rows) - 0.4, -0.6],
        "fixedrange": True,
        "automargin": True,
        "zeroline": False,
    }
    tallest = max(lines_of(row.name) for row in block.rows)
    height = 110 + len(block.rows) * max(34, 15 * len(names), 16 * tallest + 6)
    more = {} if len(names) > 1 else {"showlegend": False}
    return specification(traces, xaxis=x_axis, yaxis=y_axis, shapes=[half] if block.coin else [], height=height, **more)


def _range(block: Shares) -> list[float]:
    """What is shown of the axis: all shares there are, or all of the widest difference."""
    if not isinstance(block, Differences):
        return [-1, 101]
    known = [cell.known for row in block.rows for cell in row.cells.values()]
    ends = [abs(100 * end) for one in known if one for end in one[:3] if end is not None]
    widest = 1.05 * max(ends, default=0) + 1
    return [-widest, widest]


def _dots_of_column(place: int, name: str, columns: int, block: Shares) -> Plot:
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
        "customdata": [[cell.many, _beside(cell)] for _, cell in shown],
        "hovertemplate": f"{sign} of %{{customdata[0]}} (%{{customdata[1]}})",
    }


def _beside(cell: Cell) -> str:
    """What stands beside a dot that is pointed at."""
    if cell.estimate is None:
        return ""
    return plain("; ".join(cell.under)) if cell.signed else interval(cell.estimate)


# ------------------------------------------------------------------------------------------------ squares

PANELS_A_ROW = 3
PANEL_PIXELS = 300

LARGEST_DOT = 20
"""Pixels across of the dot that stands for most."""


def _squares(block: Square) -> Plot:
    """A square a run, three to a row; a run keeps the colour that it has among all."""
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
    return specification(traces, **layout, showlegend=False, height=120 + PANEL_PIXELS * rows)


def _axes_of_panel(block: Square, place: int, columns: int, rows: int, axis: str) -> Plot:
    left, top, alone = (place % columns) / columns, 1 - (place // columns) / rows, len(block.panels) == 1
    above = 0.0 if alone else 0.1  # room for the name, and below for the title of the axis of all rows but the last
    under = 0.2 if rows > 1 else 0.0
    fixed: Plot = {"fixedrange": True, "range": [-0.04, 1.04], "dtick": 0.25, "constrain": "domain"}
    if alone:
        fixed["constraintoward"] = "left"
    wide, high = [left + 0.06 / columns, left + 0.94 / columns], [top - (1 - under) / rows, top - above / rows]
    title = {"title": {"text": block.axes[1]}} if place % columns == 0 else {}
    return {
        f"xaxis{axis}": {**fixed, "domain": wide, "anchor": f"y{axis}", "title": {"text": block.axes[0]}},
        f"yaxis{axis}": {**fixed, "domain": high, "anchor": f"x{axis}", "scaleanchor": f"x{axis}", **title},
    }


def _name_of_panel(name: str, place: int, columns: int, rows: int) -> Plot:
    return {
        "text": "<br>".join(map(plain, wrap(name, 18))),
        "xref": "paper",
        "yref": "paper",
        "showarrow": False,
        "x": (place % columns + 0.5) / columns,
        "y": 1 - (place // columns + 0.08) / rows,
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
    """What lies between two lines. band: x and both ends, from left to right."""
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
    traces = [_coin(block.coin)] if block.coin else []
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
    y_axis["range"] = _reach(block) if block.signed else [0, 102]
    x_axis |= {"range": [0, block.end]} if block.end else {}
    zero = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 0, "y1": 0, "line": {"dash": "dash", "color": GREY}}
    shapes = [zero] if block.signed else []
    return specification(traces, xaxis=x_axis, yaxis=y_axis, shapes=shapes, height=320 if block.band else 380)


def _coin(shares: Sequence[float]) -> Plot:
    line = {"dash": "dot", "color": GREY}
    x, y = list(range(1, len(shares) + 1)), [100 * share for share in shares]
    return {"x": x, "y": y, "mode": "lines", "name": "a coin", "line": line}


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


def _reach(block: Curve) -> list[float]:
    widest = min(105.0, 100 * half_width(next(iter(block.lines.values()))))
    return [-widest, widest]


def half_width(line: CurveLine) -> float:
    """How far an axis goes from 0: all of a line and the bounds at its end; the wide ones of its start are cut."""
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
