"""Figures as Plotly specifications. They compute nothing.

Colours are Okabe and Ito's, which the colour-blind can tell apart, and marker shapes differ too. Text and grid colours are
left to the page, so that dark mode is right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from textwrap import wrap
from typing import Any

from medfact.metrics.diagnosis import DIAGNOSES
from medfact.metrics.discrimination import COVERAGES
from medfact.metrics.uncertainty import Estimate
from medfact.results.means import curves_of_means
from medfact.results.rarity import FactPoint, Rarity
from medfact.results.report import Report
from medfact.results.wording import counted, interval
from medfact.statements import VARIANTS

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "pentagon")
GREY = "#888888"

Plot = dict[str, Any]
Reports = Mapping[str, Report]
"""The reports of several runs, by what to call them."""

Rows = dict[str, Mapping[str, Estimate | None]]
"""What a row is called → what a run is called → its share."""


def ways_of_asking(reports: Reports) -> Plot:
    """Right answers by the way of asking: one row a variant, a dot with its interval a model, from 0 to 100."""
    return dots(rows_by_way(reports))


def rows_by_way(reports: Reports) -> Rows:
    asked = [key for key in VARIANTS if any(key in report.by_variant for report in reports.values())]
    return {VARIANTS[key].plain: {name: report.by_variant.get(key) for name, report in reports.items()} for key in asked}


def three_views(reports: Reports) -> Plot:
    """TPEval's three views (its Figure 7): by whether the fact holds, by polarity, and by form."""
    forms = dict.fromkeys(form for report in reports.values() for form in report.by_form)
    rows: dict[str, Mapping[str, Estimate | None]] = {
        "facts that hold": {name: report.positive_accuracy for name, report in reports.items()},
        "false facts": {name: report.negative_accuracy for name, report in reports.items()},
        "affirmed": {name: report.by_polarity.get("affirmed") for name, report in reports.items()},
        "denied": {name: report.by_polarity.get("negated") for name, report in reports.items()},
    }
    return dots(rows | {VARIANTS[form].plain: {name: r.by_form.get(form) for name, r in reports.items()} for form in forms})


def diagnoses(reports: Reports) -> Plot:
    """Why facts fail: a row a diagnosis, a dot with its interval a model, from 0 to 100 % of its facts."""
    plot = dots(rows_by_diagnosis(reports), "fact")
    if plot:
        plot["layout"] |= {"shapes": []}
        plot["layout"]["xaxis"]["title"] = {"text": "facts, %"}
    return plot


def rows_by_diagnosis(reports: Reports) -> Rows:
    found = {name: report.diagnosis.by_name for name, report in reports.items() if report.diagnosis}
    return {diagnosis: {name: by[diagnosis].share for name, by in found.items()} for diagnosis in DIAGNOSES}


def risk_coverage(reports: Reports) -> Plot:
    """Right answers among the surest ones: a row a share of the answers that is kept, a dot with its interval a model."""
    return dots(rows_by_sureness(reports))


def rows_by_sureness(reports: Reports) -> Rows:
    found = {name: report.probabilities.overall.selective for name, report in reports.items() if report.probabilities}
    labels = [f"surest {share:.0%}" if share < 1 else "all answers" for share in COVERAGES]
    return {label: {name: parts[n].accuracy for name, parts in found.items()} for n, label in enumerate(labels)}


def dots(rows: Mapping[str, Mapping[str, Estimate | None]], of: str = "statement") -> Plot:
    """Rows of dots with intervals: row → model → estimate; of: of what. Nothing where there is no value at all."""
    names = list(next(iter(rows.values()), {}))
    traces = [dots_of_model(index, name, len(names), rows, of) for index, name in enumerate(names)]
    if not any(trace["x"] for trace in traces):
        return {}
    return plot_of(
        traces,
        xaxis={"title": {"text": "right answers, %"}, "range": [-1, 101], "fixedrange": True, "zeroline": False},
        yaxis={
            "tickvals": list(range(len(rows))),
            "ticktext": list(map(wrapped, rows)),
            "range": [len(rows) - 0.4, -0.6],
            "fixedrange": True,
            "automargin": True,
            "zeroline": False,
        },
        shapes=[
            {"type": "line", "x0": 50, "x1": 50, "yref": "y domain", "y0": 0, "y1": 1, "line": {"dash": "dot", "color": GREY}}
        ],
        height=110 + len(rows) * max(34, 15 * len(names), 16 * max(map(lines_of, rows)) + 6),
    )


def dots_of_model(index: int, name: str, models: int, rows: Mapping[str, Mapping[str, Estimate | None]], of: str) -> Plot:
    shown = [
        (place, estimate) for place, by in enumerate(rows.values()) if (estimate := by[name]) and estimate.value is not None
    ]
    estimates = [estimate for _, estimate in shown]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [100 * (estimate.value or 0.0) for estimate in estimates],
        "y": [place + 0.7 * (index - (models - 1) / 2) / models for place, _ in shown],
        "error_x": errors(estimates),
        "marker": marker(index, 10),
        "customdata": [[counted(estimate.n, of), interval(estimate)] for estimate in estimates],
        "hovertemplate": "%{x:.1f}% of %{customdata[0]} (%{customdata[1]})",
    }


def scores(estimates: Mapping[str, Estimate], of: str) -> Plot:
    """One score of several runs: a row a run, a dot with its interval, from 0 to 100; of: of what."""
    plot = dots({name: {"": estimate} for name, estimate in estimates.items()}, of)
    if plot:
        plot["layout"] |= {"showlegend": False, "shapes": [], "margin": {"l": 56, "r": 12, "t": 8, "b": 30}}
        del plot["layout"]["xaxis"]["title"]
    return plot


def by_statements(reports: Reports, curve: str) -> Plot:
    """Accuracy against the number of statements a fact, one line per model, with intervals; dashed, the mean over models that
    were asked the same; dotted, a fair coin's.

    Args:
        curve: `joint_any_order` (PretextTrans, Figure 5), `joint_ordered` or `average_ordered` (TPEval, Figure 6).
    """
    means = curves_of_means(reports.values(), curve)
    lines = {name: getattr(report.curves, curve) for name, report in reports.items()} | means
    longest = max(map(len, lines.values()), default=0)
    if not longest:
        return {}
    steps = list(range(1, longest + 1))
    coin = [50.0 if curve == "average_ordered" else 100 * 0.5**step for step in steps]
    traces = [
        {"type": "scatter", "x": steps, "y": coin, "mode": "lines", "name": "a coin", "line": {"dash": "dot", "color": GREY}}
    ]
    for index, (name, estimates) in enumerate(lines.items()):
        traces.append(
            {
                "type": "scatter",
                "name": name,
                "x": steps[: len(estimates)],
                "y": [100 * estimate.value for estimate in estimates],
                "error_y": errors(estimates),
                "mode": "lines+markers",
                "line": {"color": colour(index)} | ({"dash": "dash", "width": 4} if name in means else {}),
                "marker": marker(index, 8),
                "customdata": [estimate.n for estimate in estimates],
                "hovertemplate": "%{x} statements: %{y:.1f}% (n = %{customdata})",
            }
        )
    title = "right answers, %" if curve == "average_ordered" else "facts with all right, %"
    return plot_of(
        traces,
        xaxis={"title": {"text": "statements a fact"}, "dtick": 1, "fixedrange": True},
        yaxis={"title": {"text": title}, "range": [0, 102], "fixedrange": True, "automargin": True},
        height=380,
    )


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
    return plot_of(
        traces,
        xaxis={"title": {"text": "times the tail is named, plus 1 (log scale)"}, "type": "log", "fixedrange": True} | decades,
        yaxis={"title": {"text": "right answers, %"}, "range": [-5, 105], "fixedrange": True, "automargin": True},
        height=420,
    )


def _dots_of_facts(known: Sequence[FactPoint]) -> Plot:
    step = -(-len(known) // MOST_POINTS)
    shown = known[::step]
    spread = [JITTER * (place * 0.618 % 1 - 0.5) for place in range(len(shown))]  # the golden ratio repeats nothing
    return {
        "type": "scatter",
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
    line = {"type": "scatter", "mode": "lines", "name": "fitted line", "x": x, "y": shares, "line": {"color": colour(0)}}
    bounds = [(low, high) for *_, low, high in band if low is not None and high is not None]
    if len(bounds) < len(band):
        return [line]
    outline = {
        "type": "scatter",
        "mode": "lines",
        "name": "95% band",
        "x": [*x, *reversed(x)],
        "y": [*(100 * high for _, high in bounds), *(100 * low for low, _ in reversed(bounds))],
        "fill": "toself",
        "fillcolor": "rgba(0,114,178,0.15)",
        "line": {"width": 0},
        "hoverinfo": "skip",
    }
    return [outline, line]


def _dots_of_types(view: Rarity) -> Plot:
    shown = {name: of for name, of in view.types.items() if of.mean_log_frequency is not None and of.accuracy.value is not None}
    estimates = [Estimate(of.accuracy.value, of.accuracy.low, of.accuracy.high, of.accuracy.n) for of in shown.values()]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "semantic types of tails",
        "x": [10 ** (of.mean_log_frequency or 0.0) for of in shown.values()],
        "y": [100 * (estimate.value or 0.0) for estimate in estimates],
        "error_y": errors(estimates),
        "marker": {**marker(1, 10), "symbol": "diamond"},
        "text": [plain(name) for name in shown],
        "customdata": [[counted(estimate.n, "statement"), interval(estimate)] for estimate in estimates],
        "hovertemplate": "%{text}: right on %{y:.1f}% of %{customdata[0]} (%{customdata[1]})<extra></extra>",
    }


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
    return "<br>".join(map(plain, wrap(label, LETTERS_A_LINE)))


def lines_of(label: str) -> int:
    return len(wrap(label, LETTERS_A_LINE))


def plain(text: str) -> str:
    """Text that is shown as it stands: the library reads some markup, links among it."""
    return escape(text, quote=False)


def plot_of(traces: Sequence[Plot], **layout: Any) -> Plot:
    return {
        "data": [{**trace, "name": plain(trace["name"])} if "name" in trace else trace for trace in traces],
        "layout": {
            "margin": {"l": 56, "r": 12, "t": 36, "b": 64},
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
            "showlegend": True,
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            **layout,
        },
    }
