"""Blocks as Plotly specifications, for the page and the notebook.

Colours are Okabe and Ito's, which colour-blind readers can distinguish, dark enough for white paper; marker shapes differ too.
In dark mode the page replaces them (`--mf-line-…` in its style). It also sets the colours of text and grid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from textwrap import wrap
from typing import Any

from medfact.metrics.uncertainty import Estimate
from medfact.results.blocks import Block, Cell, Curve, CurveLine, Differences, Figure, Panel, Parts, Row, Shares, Square
from medfact.results.rarity import FactPoint, Rarity
from medfact.results.wording import counted, interval

Plot = dict[str, Any]

# ------------------------------------------------------------------------------------------------ theme

COLOURS = ("#0072B2", "#B87A00", "#008A64", "#B35A8C", "#2F8FC9", "#C75300", "#8A7E00", "#808080")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "pentagon")
GREY = COLOURS[7]
ON_BARS = "#000000"  # text within bars, in both modes
BANDS = ("rgba(0,114,178,0.18)", "rgba(0,114,178,0.15)", "rgba(136,136,136,0.25)")  # at any time, of a fit, of chance

THEME: Plot = {
    "margin": {"l": 56, "r": 12, "t": 36, "b": 64},
    "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
    "showlegend": True,
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
}
AXIS: Plot = {"fixedrange": True, "zeroline": False}
Y_AXIS = AXIS | {"automargin": True}
GUIDE = {"dash": "dot", "color": GREY}  # line of a coin, or of perfection

MAX_LETTERS = 22  # a line of a row's name: a phone's screen has room for points beside it
MIN_NUMBERED = 9  # percent of a part that has room for its number, on a phone too
PANEL_PIXELS = {1: 460, 2: 400}  # of a square, by the number in a row: at most two
BARS = 0.18  # share of a panel's height for the bars below its square
BAR_AXES = 51  # number of the first y axis of bars
MIN_DOT, MAX_DOT = 5, 20  # pixels across
MOST_POINTS = 1_500  # facts in a plot: of more, evenly chosen ones
JITTER = 4.0  # percentage points over which facts of one share are spread


def colour(index: int) -> str:
    return COLOURS[index % len(COLOURS)]


def marker(index: int, size: int) -> Plot:
    return {"color": colour(index), "symbol": SYMBOLS[index % len(SYMBOLS)], "size": size}


def axis_title(text: str) -> Plot:
    return {"title": {"text": text}}


def plain(text: str) -> str:
    """Escapes text: Plotly reads some markup, links among it."""
    return escape(text, quote=False)


def wrapped(label: str, letters: int = MAX_LETTERS) -> str:
    """A name in lines."""
    return "<br>".join(plain(line) for part in label.split("\n") for line in wrap(part, letters))


def errors(estimates: Sequence[Estimate]) -> Plot:
    """Error bars in percentage points; of length 0 without an interval."""
    above = [0.0 if high is None else 100 * (high - (value or 0.0)) for value, _, high, _ in estimates]
    below = [0.0 if low is None else 100 * ((value or 0.0) - low) for value, low, _, _ in estimates]
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below, "thickness": 1.5}


def area(band: Sequence[tuple[float, float, float]], fill: str, **trace: str) -> Plot:
    """Area between two lines. band: x and both ends, from left to right."""
    return {
        **trace,
        "mode": "lines",
        "x": [*(x for x, _, _ in band), *(x for x, _, _ in reversed(band))],
        "y": [*(high for *_, high in band), *(low for _, low, _ in reversed(band))],
        "fill": "toself",
        "fillcolor": fill,
        "line": {"width": 0},
        "hoverinfo": "skip",
    }


def specification(traces: Iterable[Plot], **layout: Any) -> Plot:
    """Traces and a layout, completed by the theme."""
    named = [trace | {"name": plain(trace["name"])} if "name" in trace else trace for trace in traces]
    return {"data": [{"type": "scatter", **trace} for trace in named], "layout": THEME | layout}


def plot_of(block: Block, runs: Sequence[str] = ()) -> Plot:
    """Returns the figure of a block; {} if the block has nothing to draw.

    Args:
        runs: names of the runs of a page, in its order. A click on a point of one then opens only its facts.
    """
    return _RENDERERS[type(block)](block, runs) if isinstance(block, Figure) and block.is_drawn else {}


# ------------------------------------------------------------------------------------------------ shares, differences


def _dots(block: Shares, runs: Sequence[str]) -> Plot:
    """Rows of dots with intervals, a colour and a shape for each column."""
    names, cells = block.heads, [cell for row in block.rows for cell in row.cells.values()]
    is_short = any(cell.known and cell.known.low is None for cell in cells)
    lines = max(wrapped(row.name).count("<br>") for row in block.rows) + 1
    widest = 1.05 * (100 * block.extent) + 1 if isinstance(block, Differences) else 0.0
    layout: Plot = {} if len(names) > 1 else {"showlegend": False}
    if block.coin:
        half = {"type": "line", "x0": 50, "x1": 50, "yref": "y domain", "y0": 0, "y1": 1, "line": GUIDE}
        place = {"x": 50, "yref": "y domain", "y": 0, "yanchor": "bottom", "xanchor": "left", "xshift": 3, "showarrow": False}
        layout |= {"shapes": [half], "annotations": [place | {"text": "50%: a coin"}]}
    return specification(
        (_dots_of_column(index, name, block, runs) for index, name in enumerate(names)),
        xaxis=AXIS
        | axis_title(block.axis + (" (no bar: too few for an interval)" if is_short else ""))
        | {"range": [-widest, widest] if widest else [-2, 102], "zeroline": not block.coin},
        yaxis=Y_AXIS
        | {"tickvals": list(range(len(block.rows))), "ticktext": [wrapped(row.name) for row in block.rows]}
        | {"range": [len(block.rows) - (0 if block.coin else 0.4), -0.6]},  # the last strip has the coin's name
        height=120 + len(block.rows) * max(30, 12 * len(names), 16 * lines + 4),
        **layout,
    )


def _dots_of_column(index: int, name: str, block: Shares, runs: Sequence[str]) -> Plot:
    cells = {number: row.cells[name] for number, row in enumerate(block.rows) if name in row.cells and row.cells[name].known}
    estimates, columns = [cell.known for cell in cells.values() if cell.known], len(block.heads)
    opens = [_opened_view(block.rows[number], name, runs) for number in cells]
    return {
        "mode": "markers",
        "name": name,
        "x": [100 * (estimate.value or 0.0) for estimate in estimates],
        "y": [number + 0.7 * (index - (columns - 1) / 2) / columns for number in cells],
        "error_x": errors(estimates),
        "marker": marker(index, 10),
        "cliponaxis": False,
        **({"meta": opens} if any(opens) else {}),
        "customdata": [[cell.many, _hover_text(cell)] for cell in cells.values()],
        "hovertemplate": ("%{x:+.1f} points" if isinstance(block, Differences) else "%{x:.1f}%")
        + " of %{customdata[0]} (%{customdata[1]})",
    }


def _opened_view(row: Row, name: str, runs: Sequence[str]) -> Plot | None:
    """View that a click on a row's point opens, in the column of a run."""
    model = {"model": runs.index(name)} if len(runs) > 1 and name in runs else {}
    return {**row.opens, **model} if row.opens else None


def _hover_text(cell: Cell) -> str:
    return plain("; ".join(cell.under)) if cell.signed else interval(cell.estimate) if cell.estimate else ""


# ------------------------------------------------------------------------------------------------ parts of a whole

# Colour of each part, and a pattern where two share one. Black text is readable on all of them.
_OF_PARTS = ((2, ""), (5, ""), (1, ""), (4, ""), (3, ""), (6, ""), (6, "/"), (7, ""), (7, "."))


def _stack(block: Parts, runs: Sequence[str]) -> Plot:
    """A bar a column, made of a part a row. Parts of one name share a line of the legend."""
    names, parts = block.heads, [row.name for row in block.rows]
    traces = [
        _part(parts.index(row.name), row, names, runs) | {"showlegend": parts.index(row.name) == index, "legendgroup": row.name}
        for index, row in enumerate(block.rows)
    ]
    bars = 12 + 48 * len(names)  # pixels; the legend is below the numbers of the axis, on a phone with a name a line
    return specification(
        traces,
        xaxis=AXIS | {"ticksuffix": "%", "range": [0, 100]},
        yaxis=Y_AXIS
        | {"type": "category", "autorange": "reversed"}
        | {"ticktext": [wrapped(name) for name in names], "tickvals": list(range(len(names)))},
        barmode="stack",
        bargap=0.25,
        height=213 + bars,
        margin={"l": 56, "r": 28, "t": 8, "b": 205},
        legend=THEME["legend"]
        | {"y": -34 / bars, "yanchor": "top", "traceorder": "normal", "maxheight": 195, "font": {"size": 12}},
    )


def _part(index: int, row: Row, names: Sequence[str], runs: Sequence[str]) -> Plot:
    colour_index, pattern = _OF_PARTS[index % len(_OF_PARTS)]
    hatch = {"shape": pattern, "fillmode": "overlay", "fgcolor": ON_BARS, "fgopacity": 0.35, "size": 6}
    cells = [row.cells.get(name, Cell()) for name in names]
    shares = [100 * (cell.known.value or 0.0) if cell.known else 0.0 for cell in cells]
    opens = [_opened_view(row, name, runs) for name in names]
    return {
        "type": "bar",
        "orientation": "h",
        "name": row.name,
        "x": shares,
        "y": list(range(len(names))),
        "marker": {"color": colour(colour_index), "line": {"width": 0}, **({"pattern": hatch} if pattern else {})},
        "text": [f"{share:.0f}%" if share >= MIN_NUMBERED else "" for share in shares],
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "textfont": {"color": ON_BARS, "size": 12},
        "constraintext": "none",
        **({"meta": opens} if any(opens) else {}),
        "customdata": [[cell.many, _hover_text(cell), plain(row.note)] for cell in cells],
        "hovertemplate": "%{x:.1f}% of %{customdata[0]} (%{customdata[1]})<br>"
        f"{plain(row.name)}: %{{customdata[2]}}<extra></extra>",
    }


# ------------------------------------------------------------------------------------------------ squares


def _squares(block: Square, _: Sequence[str]) -> Plot:
    """A square for each run, and below it how often each x occurs. A run keeps its colour among all."""
    columns = min(len(block.panels), max(PANEL_PIXELS))
    rows = -(-len(block.panels) // columns)
    traces: list[Plot] = []
    layout: Plot = {"annotations": []}
    for index, (name, panel) in enumerate(block.panels.items()):
        number = str(index + 1) if index else ""  # of Plotly's axes
        layout |= _panel_axes(block, panel, index, number, columns, rows)
        if len(block.panels) > 1:
            place = {"x": (index % columns + 0.5) / columns, "y": 1 - (index // columns + 0.07) / rows}
            anchors = {"xref": "paper", "yref": "paper", "showarrow": False, "yanchor": "bottom", "xanchor": "center"}
            layout["annotations"].append({"text": wrapped(name, 30), **place, **anchors})
        axes = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
        traces += [trace | axes for trace in _panel_traces(block, name, panel)]
        traces += [_histogram(panel) | axes | {"yaxis": f"y{index + BAR_AXES}"}] if panel.bars else []
    pixels = PANEL_PIXELS[columns] * (1 + BARS * any(panel.bars for panel in block.panels.values()))
    return specification(traces, **layout, showlegend=False, bargap=0.1, height=round(90 + pixels * rows))


def _panel_axes(block: Square, panel: Panel, index: int, number: str, columns: int, rows: int) -> Plot:
    left, top = (index % columns) / columns, 1 - (index // columns) / rows
    above = 0.0 if len(block.panels) == 1 else 0.08  # room for the name, and below for the title of the axis
    low, high = top - (1 - (0.16 if rows > 1 else 0.0)) / rows, top - above / rows
    floor = low + (high - low) * BARS if panel.bars else low
    square = AXIS | {"range": [-0.04, 1.04], "dtick": 0.25}
    bars = AXIS | {"zeroline": True, "nticks": 3, "rangemode": "tozero"} | axis_title("n")
    return {
        f"xaxis{number}": square
        | {"domain": [left + 0.07 / columns, left + 0.97 / columns]}
        | {"anchor": f"y{index + BAR_AXES if panel.bars else number}"}
        | axis_title(block.axes[0]),
        f"yaxis{number}": square
        | {"domain": [floor + 0.02 if panel.bars else floor, high], "anchor": f"x{number}"}
        | (axis_title(block.axes[1]) if index % columns == 0 else {}),
        **({f"yaxis{index + BAR_AXES}": bars | {"domain": [low, floor], "anchor": f"x{number}"}} if panel.bars else {}),
    }


def _panel_traces(block: Square, name: str, panel: Panel) -> list[Plot]:
    largest = max((point.n for point in panel.points), default=1)
    sizes = [round(MIN_DOT + (MAX_DOT - MIN_DOT) * (point.n / largest) ** 0.5, 1) for point in panel.points]
    perfect = {"x": [0, 1], "y": [0, 1] if block.rising else [1, 0], "mode": "lines", "line": GUIDE, "hoverinfo": "skip"}
    points = {
        "name": name,
        "x": [point.x for point in panel.points],
        "y": [point.y for point in panel.points],
        "mode": "markers+lines" if block.curve else "markers",
        "marker": {**marker(panel.place, 0), "size": sizes, "opacity": 1 if block.curve else 0.7},
        "cliponaxis": False,
        "line": {"color": colour(panel.place), "width": 1},
        "text": [point.words for point in panel.points],
        "customdata": [point.n for point in panel.points],
        "hovertemplate": "%{text}",
    }
    return [*([area(panel.band, BANDS[2])] if panel.band else []), perfect, points]


def _histogram(panel: Panel) -> Plot:
    return {
        "type": "bar",
        "x": [(low + high) / 2 for low, high, _ in panel.bars],
        "y": [n for *_, n in panel.bars],
        "width": [high - low for low, high, _ in panel.bars],
        "marker": {"color": colour(panel.place)},
        "customdata": [[low, high] for low, high, _ in panel.bars],
        "hovertemplate": "from %{customdata[0]:.2f} to %{customdata[1]:.2f}: %{y}<extra></extra>",
    }


# ------------------------------------------------------------------------------------------------ curves


def _curve(block: Curve, _: Sequence[str]) -> Plot:
    """Lines with their bounds, as an area or at each point."""
    steps = list(range(1, len(block.coin) + 1))
    coin = {"x": steps, "y": [100 * p for p in block.coin], "mode": "lines", "name": "a coin", "line": GUIDE}
    traces: list[Plot] = [coin] if block.coin else []
    for index, (name, line) in enumerate(block.lines.items()):
        if block.band:
            band = [(x, 100 * (estimate.low or 0.0), 100 * (estimate.high or 0.0)) for x, estimate in line]
            traces.append(area(band, BANDS[0], name="bounds that hold at any time"))
        traces.append(_line(index, name, line, block))
    if block.marked:
        index, text = block.marked
        step, estimate = next(iter(block.lines.values()))[index]
        point = {"x": [step], "y": [100 * (estimate.value or 0.0)], "hovertemplate": f"{plain(text)}<extra></extra>"}
        traces.append({"name": "decided", "mode": "markers", **point, "marker": marker(5, 13) | {"symbol": "diamond"}})
    zero = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 0, "y1": 0, "line": {"dash": "dash", "color": GREY}}
    widest = min(105.0, 100 * block.extent)
    return specification(
        traces,
        xaxis=AXIS
        | axis_title(block.axes[0])
        | ({"tick0": 0, "dtick": 1} if block.last_step <= 10 else {})  # no ticks at fractions
        | ({"range": [0, block.end]} if block.end else {}),
        yaxis=Y_AXIS | axis_title(block.axes[1]) | {"range": [-widest, widest] if block.signed else [0, 102]},
        shapes=[zero] if block.signed else [],
        height=320 if block.band else 380,
    )


def _line(index: int, name: str, line: CurveLine, block: Curve) -> Plot:
    estimates = [estimate for _, estimate in line]
    bounds = [interval(estimate).replace("%", "") if estimate.low is not None else "no interval" for estimate in estimates]
    hover = "%{x}: %{y:+.1f} points (%{customdata[1]})" if block.signed else "%{x} statements: %{y:.1f}% (n = %{customdata[0]})"
    return {
        "name": name,
        "mode": "lines+markers" if len(line) < 40 else "lines",
        "x": [x for x, _ in line],
        "y": [round(100 * (estimate.value or 0.0), 2) for estimate in estimates],
        **({} if block.band else {"error_y": errors(estimates)}),
        "line": {"color": colour(index)} | ({"dash": "dash", "width": 4} if name in block.dashed else {}),
        "marker": marker(index, 5 if block.band else 8),
        "customdata": [[estimate.n, text] for estimate, text in zip(estimates, bounds, strict=True)],
        "hovertemplate": hover,
    }


_RENDERERS: Mapping[type, Callable[[Any, Sequence[str]], Plot]] = {
    Shares: _dots,
    Differences: _dots,
    Parts: _stack,
    Square: _squares,
    Curve: _curve,
}


# ------------------------------------------------------------------------------------------------ rarity


def rarity(view: Rarity, points: Sequence[FactPoint]) -> Plot:
    """Right answers against how often the tail is named, on a log scale (MKJ, Figure 5).

    A dot is a fact, a diamond with its interval a semantic type; the fitted line has its band. Returns {} if no fact has a
    frequency.
    """
    facts = [(point, 1 + point.tail_count) for point in points if point.answered and point.tail_count is not None]
    if not facts:
        return {}
    ends = min(count for _, count in facts), max(count for _, count in facts)
    decades = {"dtick": 1} if ends[1] >= 100 * ends[0] else {}  # without it there might be no tick at all
    return specification(
        [_dots_of_facts(facts), *_fitted_line(view), *_dots_of_types(view)],
        xaxis=AXIS | axis_title("times the finding is named, plus 1 (log scale)") | {"type": "log"} | decades,
        yaxis=Y_AXIS | axis_title("right answers, %") | {"range": [-5, 105], "zeroline": True},
        height=420,
    )


def _dots_of_facts(facts: Sequence[tuple[FactPoint, int]]) -> Plot:
    drawn = facts[:: -(-len(facts) // MOST_POINTS)]
    spread = [JITTER * (index * 0.618 % 1 - 0.5) for index in range(len(drawn))]  # the golden ratio repeats nothing
    return {
        "mode": "markers",
        "name": f"facts ({len(drawn):,} of {len(facts):,})" if len(drawn) < len(facts) else "facts",
        "x": [count for _, count in drawn],
        "y": [100 * (point.share or 0.0) + shift for (point, _), shift in zip(drawn, spread, strict=True)],
        "marker": {"color": GREY, "symbol": "circle", "size": 5, "opacity": 0.5},
        "customdata": [[point.tail_count, point.right, point.answered] for point, _ in drawn],
        "hovertemplate": "named %{customdata[0]} times: %{customdata[1]} of %{customdata[2]} right<extra></extra>",
    }


def _fitted_line(view: Rarity) -> list[Plot]:
    """The fitted line and its band, if they exist."""
    places = view.by_tail.line.band
    line = {"x": [10**place.x for place in places], "y": [100 * place.share for place in places], "line": {"color": colour(0)}}
    band = [(10**p.x, 100 * p.low, 100 * p.high) for p in places if p.low is not None and p.high is not None]
    return (
        [
            *([area(band, BANDS[1], name="95% band")] if len(band) == len(places) else []),
            {"mode": "lines", "name": "fitted line", **line},
        ]
        if places
        else []
    )


def _dots_of_types(view: Rarity) -> list[Plot]:
    types = {
        name: group
        for name, group in view.types.items()
        if group.mean_log_frequency is not None and group.accuracy.value is not None
    }
    estimates = [group.accuracy.estimate for group in types.values()]
    dots = {
        "mode": "markers",
        "name": "semantic types of findings",
        "x": [10 ** (group.mean_log_frequency or 0.0) for group in types.values()],
        "y": [100 * (estimate.value or 0.0) for estimate in estimates],
        "error_y": errors(estimates),
        "marker": {**marker(1, 10), "symbol": "diamond"},
        "text": [plain(name) for name in types],
        "customdata": [[counted(estimate.n, "statement"), interval(estimate)] for estimate in estimates],
        "hovertemplate": "%{text}: right on %{y:.1f}% of %{customdata[0]} (%{customdata[1]})<extra></extra>",
    }
    return [dots] if types else []
