"""Figures as Plotly specifications, in plain records: a page that moves makes them often. They compute nothing.

Colours are Okabe and Ito's, which the colour-blind can tell apart; text and grid colours are left to the page, so that dark
mode is right. Markers differ in shape too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medfact.statements import VARIANTS

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "pentagon")
_GREY = "#888888"

Figure = dict[str, Any]
Trace = dict[str, Any]


def accuracy_by_variant(reports: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Accuracy of each way of saying, one group of bars per variant and one colour per model, with intervals.

    Args:
        reports: model name → its report.
    """
    bars = []
    for index, (model, report) in enumerate(reports.items()):
        by = report["by_variant"]
        keys = [key for key in VARIANTS if key in by and by[key]["value"] is not None]
        bar = _bars(index, model, [_broken(VARIANTS[key].plain) for key in keys], [by[key] for key in keys])
        bar["customdata"] = [[key, by[key]["n"]] for key in keys]
        bar["hovertemplate"] = "%{x:.1f} % of %{customdata[1]} statements right<br>variant: %{customdata[0]}"
        bars.append(bar)
    return _bar_figure(bars, len(reports))


def by_statements(reports: Mapping[str, Mapping[str, Any]], curve: str) -> Figure:
    """Accuracy against the number of statements a fact, one line per model, with intervals; dotted, a fair coin's.

    Args:
        reports: model name → its report. curve: `joint_any_order` (PretextTrans, Figure 5), `joint_ordered` or
            `average_ordered` (TPEval, Figure 6).
    """
    longest = max((len(report["curves"][curve]) for report in reports.values()), default=0)
    steps = list(range(1, longest + 1))
    coin = [50.0 if curve == "average_ordered" else 100 * 0.5**step for step in steps]
    lines: list[Trace] = [
        {"type": "scatter", "x": steps, "y": coin, "mode": "lines", "name": "a coin", "line": {"dash": "dot", "color": _GREY}}
    ]
    for index, (model, report) in enumerate(reports.items()):
        points = report["curves"][curve]
        lines.append(
            {
                "type": "scatter",
                "name": model,
                "x": steps[: len(points)],
                "y": [100 * point["value"] for point in points],
                "error_y": _errors(points),
                "mode": "lines+markers",
                "line": {"color": _colour(index)},
                "marker": {"color": _colour(index), "symbol": SYMBOLS[index % len(SYMBOLS)], "size": 8},
                "customdata": [point["n"] for point in points],
                "hovertemplate": "%{x} statements: %{y:.1f} % (n = %{customdata})",
            }
        )
    what = "right answers, %" if curve == "average_ordered" else "facts with all right, %"
    return _page_figure(
        lines,
        xaxis={"title": {"text": "statements a fact"}, "dtick": 1, "fixedrange": True},
        yaxis={"title": {"text": what}, "range": [0, 102], "fixedrange": True},
        height=380,
    )


def three_views(reports: Mapping[str, Mapping[str, Any]]) -> Figure:
    """TPEval's three views (its Figure 7): by whether the fact holds, by polarity, and by form; one colour a model."""
    bars = []
    for index, (model, report) in enumerate(reports.items()):
        views = {
            "facts that hold": report["positive_accuracy"],
            "false facts": report["negative_accuracy"],
            **{"affirmed" if key == "affirmed" else "denied": e for key, e in report["by_polarity"].items()},
            **{_broken(VARIANTS[form].plain): e for form, e in report["by_form"].items()},
        }
        shown = {name: estimate for name, estimate in views.items() if estimate["value"] is not None}
        bar = _bars(index, model, list(shown), list(shown.values()))
        bar["customdata"] = [estimate["n"] for estimate in shown.values()]
        bar["hovertemplate"] = "%{x:.1f} % of %{customdata} statements right"
        bars.append(bar)
    between = {"type": "line", "xref": "x domain", "x0": 0, "x1": 1, "line": {"color": _GREY, "width": 0.5}}
    return _bar_figure(bars, len(reports), *({**between, "y0": place, "y1": place} for place in (1.5, 3.5)))


def _bars(index: int, model: str, names: Sequence[str], estimates: Sequence[Mapping[str, Any]]) -> Trace:
    """One model's bars, lying, with intervals."""
    return {
        "type": "bar",
        "name": model,
        "orientation": "h",
        "y": list(names),
        "x": [100 * estimate["value"] for estimate in estimates],
        "error_x": _errors(estimates),
        "marker": {"color": _colour(index), "pattern": {"shape": _PATTERNS[index % len(_PATTERNS)]}},
    }


def _bar_figure(bars: Sequence[Trace], models: int, *lines: dict[str, Any]) -> Figure:
    coin = {"type": "line", "x0": 50, "x1": 50, "yref": "y domain", "y0": 0, "y1": 1, "line": {"dash": "dot", "color": _GREY}}
    return _page_figure(
        bars,
        shapes=[coin, *lines],
        xaxis={"title": {"text": "right answers, %"}, "range": [0, 100], "fixedrange": True},
        yaxis={"autorange": "reversed", "fixedrange": True},
        barmode="group",
        height=340 + 80 * models,
    )


def _colour(index: int) -> str:
    return COLOURS[index % len(COLOURS)]


_PATTERNS = ("", "/", ".", "x", "-", "\\", "|", "+")


def of_one_source(reports: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The reports whose P(True) comes from where the first one's does; a service's log-probabilities are a model's own."""
    own = {"first token": "logprobs"}
    sources = {m: own.get(r["p_true_source"], r["p_true_source"]) for m, r in reports.items() if r["calibration"]["n"]}
    first = next(iter(sources.values()), None)
    return {model: reports[model] for model, source in sources.items() if source == first}


def calibration(reports: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Share of true statements against P(True), above a histogram of P(True); the diagonal is perfect.

    Models whose P(True) comes from another source than the first one's are left out: the two do not compare.
    """
    drawn = of_one_source(reports)
    traces: list[Trace] = []
    for index, model in enumerate(reports):  # a model has the same colour in every figure
        if model in drawn:
            traces += _calibration_traces(index, model, [b for b in drawn[model]["calibration"]["bins"] if b["n"]])
    if not traces:
        return {}
    perfect = {"type": "scatter", "x": [0, 1], "y": [0, 1], "mode": "lines", "line": {"dash": "dot", "color": _GREY}}
    return _page_figure(
        [{**perfect, "showlegend": False, "hoverinfo": "skip"}, *traces],
        xaxis={"title": {"text": "P(True), the model's own"}, "anchor": "y2", "range": [-0.02, 1.02], "fixedrange": True},
        yaxis={"title": {"text": "share that is true"}, "range": [-0.04, 1.04], "domain": [0.32, 1], "fixedrange": True},
        yaxis2={"title": {"text": "statements"}, "domain": [0, 0.22], "rangemode": "tozero", "fixedrange": True},
        barmode="overlay",
        height=400,
    )


def _calibration_traces(index: int, model: str, bins: Sequence[Mapping[str, Any]]) -> list[Trace]:
    counts = [b["n"] for b in bins]
    return [
        {
            "type": "scatter",
            "name": model,
            "legendgroup": model,
            "x": [b["mean_p_true"] for b in bins],
            "y": [b["positive_rate"] for b in bins],
            "mode": "markers+lines",
            "marker": {"color": _colour(index), "symbol": SYMBOLS[index % len(SYMBOLS)], "size": 9},
            "line": {"color": _colour(index), "width": 1},
            "customdata": counts,
            "hovertemplate": "P(True) %{x:.2f}: %{y:.0%} of %{customdata} statements are true",
        },
        {
            "type": "bar",
            "name": model,
            "legendgroup": model,
            "showlegend": False,
            "x": [(b["low"] + b["high"]) / 2 for b in bins],
            "y": counts,
            "width": 0.045,
            "yaxis": "y2",
            "marker": {"color": _colour(index)},
            "opacity": 0.7,
            "hovertemplate": "%{y} statements",
        },
    ]


def _errors(estimates: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    def side(end: str, sign: int) -> list[float]:
        return [0.0 if e[end] is None else sign * 100 * (e[end] - e["value"]) for e in estimates]

    return {
        "type": "data",
        "symmetric": False,
        "array": side("high", 1),
        "arrayminus": side("low", -1),
        "color": _GREY,
        "thickness": 1.5,
    }


def _broken(label: str) -> str:
    return label.replace("case, ", "case,<br>")


def _page_figure(traces: Sequence[Trace], **layout: Any) -> Figure:
    return {
        "data": list(traces),
        "layout": {
            "margin": {"l": 56, "r": 12, "t": 36, "b": 64},
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
            "showlegend": True,
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "uirevision": "keep",
            **layout,
        },
    }
