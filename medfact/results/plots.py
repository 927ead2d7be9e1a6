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
from medfact.results.rarity import FactPoint, Rarity
from medfact.results.report import Report
from medfact.results.wording import interval
from medfact.statements import VARIANTS

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "pentagon")
_GREY = "#888888"

Plot = dict[str, Any]
Reports = Mapping[str, Report]
"""The reports of several runs, by what to call them."""

PANELS_A_ROW = 3
PANEL_PIXELS = 300


def ways_of_asking(reports: Reports) -> Plot:
    """Right answers by the way of asking: one row a variant, a dot with its interval a model, from 0 to 100."""
    asked = [key for key in VARIANTS if any(key in report.by_variant for report in reports.values())]
    rows: dict[str, Mapping[str, Estimate | None]] = {}
    for key in asked:
        rows[VARIANTS[key].plain] = {name: report.by_variant.get(key) for name, report in reports.items()}
    return _dots(rows)


def three_views(reports: Reports) -> Plot:
    """TPEval's three views (its Figure 7): by whether the fact holds, by polarity, and by form."""
    forms = dict.fromkeys(form for report in reports.values() for form in report.by_form)
    rows: dict[str, Mapping[str, Estimate | None]] = {
        "facts that hold": {name: report.positive_accuracy for name, report in reports.items()},
        "false facts": {name: report.negative_accuracy for name, report in reports.items()},
        "affirmed": {name: report.by_polarity.get("affirmed") for name, report in reports.items()},
        "denied": {name: report.by_polarity.get("negated") for name, report in reports.items()},
    }
    return _dots(rows | {VARIANTS[form].plain: {name: r.by_form.get(form) for name, r in reports.items()} for form in forms})


def diagnoses(reports: Reports) -> Plot:
    """Why facts fail: a row a diagnosis, a dot with its interval a model, from 0 to 100 % of its facts."""
    found = {name: report.diagnosis.by_name for name, report in reports.items() if report.diagnosis}
    rows = {diagnosis: {name: by[diagnosis].share for name, by in found.items()} for diagnosis in DIAGNOSES}
    plot = _dots(rows, "facts")
    if plot:
        plot["layout"] |= {"shapes": []}
        plot["layout"]["xaxis"]["title"] = {"text": "facts, %"}
    return plot


def risk_coverage(reports: Reports) -> Plot:
    """Right answers among the surest ones: a row a share of the answers that is kept, a dot with its interval a model."""
    found = {name: report.probabilities.overall.selective for name, report in reports.items() if report.probabilities}
    labels = [f"surest {share:.0%}" if share < 1 else "all answers" for share in COVERAGES]
    return _dots({label: {name: parts[n].accuracy for name, parts in found.items()} for n, label in enumerate(labels)})


def _dots(rows: Mapping[str, Mapping[str, Estimate | None]], of: str = "statements right") -> Plot:
    """Rows of dots with intervals: row → model → estimate; of: of what. Nothing where there is no value at all."""
    names = list(next(iter(rows.values()), {}))
    traces = [_dots_of_model(index, name, len(names), rows, of) for index, name in enumerate(names)]
    if not any(trace["x"] for trace in traces):
        return {}
    return _plot(
        traces,
        xaxis={"title": {"text": "right answers, %"}, "range": [-1, 101], "fixedrange": True, "zeroline": False},
        yaxis={
            "tickvals": list(range(len(rows))),
            "ticktext": [_text(label).replace(", reversed", ",<br>reversed") for label in rows],
            "range": [len(rows) - 0.4, -0.6],
            "fixedrange": True,
            "automargin": True,
            "zeroline": False,
        },
        shapes=[
            {"type": "line", "x0": 50, "x1": 50, "yref": "y domain", "y0": 0, "y1": 1, "line": {"dash": "dot", "color": _GREY}}
        ],
        height=110 + len(rows) * max(34, 15 * len(names)),
    )


def _dots_of_model(index: int, name: str, models: int, rows: Mapping[str, Mapping[str, Estimate | None]], of: str) -> Plot:
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
        "error_x": _errors(estimates),
        "marker": _marker(index, 10),
        "customdata": [[estimate.n, interval(estimate)] for estimate in estimates],
        "hovertemplate": f"%{{x:.1f}}% of %{{customdata[0]}} {of} (%{{customdata[1]}})",
    }


def scores(estimates: Mapping[str, Estimate]) -> Plot:
    """One score of several runs: a row a run, a dot with its interval, from 0 to 100."""
    plot = _dots({name: {"": estimate} for name, estimate in estimates.items()})
    if plot:
        plot["layout"] |= {"showlegend": False, "shapes": [], "margin": {"l": 56, "r": 12, "t": 8, "b": 30}}
        del plot["layout"]["xaxis"]["title"]
    return plot


def by_statements(reports: Reports, curve: str) -> Plot:
    """Accuracy against the number of statements a fact, one line per model, with intervals; dotted, a fair coin's.

    Args:
        curve: `joint_any_order` (PretextTrans, Figure 5), `joint_ordered` or `average_ordered` (TPEval, Figure 6).
    """
    lines = {name: getattr(report.curves, curve) for name, report in reports.items()}
    longest = max(map(len, lines.values()), default=0)
    if not longest:
        return {}
    steps = list(range(1, longest + 1))
    coin = [50.0 if curve == "average_ordered" else 100 * 0.5**step for step in steps]
    traces = [
        {"type": "scatter", "x": steps, "y": coin, "mode": "lines", "name": "a coin", "line": {"dash": "dot", "color": _GREY}}
    ]
    for index, (name, estimates) in enumerate(lines.items()):
        traces.append(
            {
                "type": "scatter",
                "name": name,
                "x": steps[: len(estimates)],
                "y": [100 * estimate.value for estimate in estimates],
                "error_y": _errors(estimates),
                "mode": "lines+markers",
                "line": {"color": _colour(index)},
                "marker": _marker(index, 8),
                "customdata": [estimate.n for estimate in estimates],
                "hovertemplate": "%{x} statements: %{y:.1f}% (n = %{customdata})",
            }
        )
    title = "right answers, %" if curve == "average_ordered" else "facts with all right, %"
    return _plot(
        traces,
        xaxis={"title": {"text": "statements a fact"}, "dtick": 1, "fixedrange": True},
        yaxis={"title": {"text": title}, "range": [0, 102], "fixedrange": True, "automargin": True},
        height=380,
    )


def of_one_source(reports: Reports) -> dict[str, Report]:
    """The reports whose P(True) comes from where the first one's does; a service's log-probabilities are a model's own."""
    own = {"first token": "logprobs"}
    sources = {m: own.get(r.p_true_source, r.p_true_source) for m, r in reports.items() if r.calibration.n}
    first = next(iter(sources.values()), None)
    return {model: reports[model] for model, source in sources.items() if source == first}


def calibration(reports: Reports) -> Plot:
    """Share of true statements against P(True): a square a model, dots as large as they speak for; the diagonal is perfect.

    Models whose P(True) comes from another source than the first one's are left out: the two do not compare.
    """
    drawn = of_one_source(reports)
    if not drawn:
        return {}
    columns = min(len(drawn), PANELS_A_ROW)
    rows = -(-len(drawn) // columns)
    traces: list[Plot] = []
    layout: Plot = {"annotations": []}
    for place, (name, report) in enumerate(drawn.items()):
        axis = "" if place == 0 else str(place + 1)
        left, top = (place % columns) / columns, 1 - (place // columns) / rows
        domain = [left + 0.06 / columns, left + 0.94 / columns], [top - 0.8 / rows, top - 0.1 / rows]
        fixed = {"fixedrange": True, "range": [-0.04, 1.04], "dtick": 0.25}
        layout[f"xaxis{axis}"] = {**fixed, "domain": domain[0], "anchor": f"y{axis}", "title": {"text": "P(True)"}}
        layout[f"yaxis{axis}"] = {**fixed, "domain": domain[1], "anchor": f"x{axis}"}
        if place % columns == 0:
            layout[f"yaxis{axis}"]["title"] = {"text": "share that is true"}
        label = {
            "text": "<br>".join(map(_text, wrap(name, 18))),
            "xref": "paper",
            "yref": "paper",
            "showarrow": False,
            "x": left + 0.5 / columns,
            "y": top - 0.08 / rows,
        }
        layout["annotations"].append(label | {"yanchor": "bottom", "xanchor": "center"})
        traces += _calibration_traces(list(reports).index(name), name, report, axis)
    return _plot(traces, **layout, showlegend=False, height=120 + PANEL_PIXELS * rows)


def _calibration_traces(index: int, name: str, report: Report, axis: str) -> list[Plot]:
    bins = [b for b in report.calibration.bins if b.n]
    axes = {"xaxis": f"x{axis}", "yaxis": f"y{axis}"}
    largest = max(b.n for b in bins)
    perfect = {
        "type": "scatter",
        "x": [0, 1],
        "y": [0, 1],
        "mode": "lines",
        "line": {"dash": "dot", "color": _GREY},
        "hoverinfo": "skip",
    }
    own = {
        "type": "scatter",
        "name": name,
        "x": [b.mean_p_true for b in bins],
        "y": [b.positive_rate for b in bins],
        "mode": "markers+lines",
        "marker": {**_marker(index, 0), "size": [6 + 14 * (b.n / largest) ** 0.5 for b in bins]},
        "line": {"color": _colour(index), "width": 1},
        "customdata": [b.n for b in bins],
        "hovertemplate": "P(True) %{x:.2f}: %{y:.0%} of %{customdata} statements are true",
    }
    return [perfect | axes, own | axes]


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
    return _plot(
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
        "marker": {"color": _GREY, "symbol": "circle", "size": 5, "opacity": 0.5},
        "customdata": [[point.tail_count, point.right, point.answered] for point in shown],
        "hovertemplate": "named %{customdata[0]} times: %{customdata[1]} of %{customdata[2]} right<extra></extra>",
    }


def _line_and_band(band: Sequence[tuple[float, float, float | None, float | None]]) -> list[Plot]:
    """band: x, the fitted share and the bounds of its band, from left to right."""
    x = [place[0] for place in band]
    shares = [100 * place[1] for place in band]
    line = {"type": "scatter", "mode": "lines", "name": "fitted line", "x": x, "y": shares, "line": {"color": _colour(0)}}
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
        "error_y": _errors(estimates),
        "marker": {**_marker(1, 10), "symbol": "diamond"},
        "text": [_text(name) for name in shown],
        "customdata": [[estimate.n, interval(estimate)] for estimate in estimates],
        "hovertemplate": "%{text}: %{y:.1f}% of %{customdata[0]} statements right (%{customdata[1]})<extra></extra>",
    }


def _colour(index: int) -> str:
    return COLOURS[index % len(COLOURS)]


def _marker(index: int, size: int) -> Plot:
    return {"color": _colour(index), "symbol": SYMBOLS[index % len(SYMBOLS)], "size": size}


def _errors(estimates: Sequence[Estimate]) -> Plot:
    def side(end: str, sign: int) -> list[float]:
        ends = [(getattr(estimate, end), estimate.value) for estimate in estimates]
        return [0.0 if bound is None or value is None else sign * 100 * (bound - value) for bound, value in ends]

    return {"type": "data", "symmetric": False, "array": side("high", 1), "arrayminus": side("low", -1), "thickness": 1.5}


def _text(text: str) -> str:
    """Text that is shown as it stands: the library reads some markup, links among it."""
    return escape(text, quote=False)


def _plot(traces: Sequence[Plot], **layout: Any) -> Plot:
    return {
        "data": [{**trace, "name": _text(trace["name"])} if "name" in trace else trace for trace in traces],
        "layout": {
            "margin": {"l": 56, "r": 12, "t": 36, "b": 64},
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
            "showlegend": True,
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            **layout,
        },
    }
