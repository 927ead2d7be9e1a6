"""Figures as Plotly specifications. They draw what they are given and compute nothing.

Colours are Okabe and Ito's, which the colour-blind can tell apart; text and grid colours are left to the page, so that dark
mode is right. Markers differ in shape too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from medfact.statements import VARIANTS

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "pentagon")
_GREY = "#888888"

Figure = dict[str, Any]


def accuracy_by_variant(reports: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Accuracy of each way of saying, one group of bars per variant and one colour per model, with intervals.

    Args:
        reports: model name → its report.
    """
    figure = go.Figure()
    for index, (model, report) in enumerate(reports.items()):
        by = report["by_variant"]
        keys = [key for key in VARIANTS if key in by and by[key]["value"] is not None]
        figure.add_bar(
            name=model,
            orientation="h",
            y=[_broken(VARIANTS[key].plain) for key in keys],
            x=[100 * by[key]["value"] for key in keys],
            error_x=_errors([by[key] for key in keys]),
            marker={"color": COLOURS[index % len(COLOURS)], "pattern": {"shape": _PATTERNS[index % len(_PATTERNS)]}},
            customdata=[[key, by[key]["n"]] for key in keys],
            hovertemplate="%{x:.1f} % of %{customdata[1]} statements right<br>variant: %{customdata[0]}",
        )
    figure.add_vline(x=50, line={"dash": "dot", "color": _GREY})
    figure.update_xaxes(title="right answers, %", range=[0, 100], fixedrange=True)
    figure.update_yaxes(autorange="reversed", fixedrange=True)
    return _page_figure(figure, barmode="group", height=340 + 80 * len(reports))


def by_statements(reports: Mapping[str, Mapping[str, Any]], curve: str) -> Figure:
    """Accuracy against the number of statements a fact, one line per model, with intervals; dotted, a fair coin's.

    Args:
        reports: model name → its report. curve: `joint_any_order` (PretextTrans, Figure 5), `joint_ordered` or
            `average_ordered` (TPEval, Figure 6).
    """
    figure = go.Figure()
    longest = max((len(report["curves"][curve]) for report in reports.values()), default=0)
    steps = list(range(1, longest + 1))
    coin = [50.0 if curve == "average_ordered" else 100 * 0.5**step for step in steps]
    figure.add_scatter(x=steps, y=coin, mode="lines", name="a coin", line={"dash": "dot", "color": _GREY})
    for index, (model, report) in enumerate(reports.items()):
        points = report["curves"][curve]
        colour = COLOURS[index % len(COLOURS)]
        figure.add_scatter(
            name=model,
            x=steps[: len(points)],
            y=[100 * point["value"] for point in points],
            error_y=_errors(points),
            mode="lines+markers",
            line={"color": colour},
            marker={"color": colour, "symbol": SYMBOLS[index % len(SYMBOLS)], "size": 8},
            customdata=[point["n"] for point in points],
            hovertemplate="%{x} statements: %{y:.1f} % (n = %{customdata})",
        )
    what = "right answers, %" if curve == "average_ordered" else "facts with all right, %"
    figure.update_xaxes(title="statements a fact", dtick=1, fixedrange=True)
    figure.update_yaxes(title=what, range=[0, 102], fixedrange=True)
    return _page_figure(figure, height=380)


def three_views(reports: Mapping[str, Mapping[str, Any]]) -> Figure:
    """TPEval's three views (its Figure 7): by whether the fact holds, by polarity, and by form; one colour a model."""
    figure = go.Figure()
    for index, (model, report) in enumerate(reports.items()):
        views = {
            "facts that hold": report["positive_accuracy"],
            "false facts": report["negative_accuracy"],
            **{"affirmed" if key == "affirmed" else "denied": e for key, e in report["by_polarity"].items()},
            **{_broken(VARIANTS[form].plain): e for form, e in report["by_form"].items()},
        }
        shown = {name: estimate for name, estimate in views.items() if estimate["value"] is not None}
        figure.add_bar(
            name=model,
            orientation="h",
            y=list(shown),
            x=[100 * estimate["value"] for estimate in shown.values()],
            error_x=_errors(list(shown.values())),
            marker={"color": COLOURS[index % len(COLOURS)], "pattern": {"shape": _PATTERNS[index % len(_PATTERNS)]}},
            customdata=[estimate["n"] for estimate in shown.values()],
            hovertemplate="%{x:.1f} % of %{customdata} statements right",
        )
    figure.add_vline(x=50, line={"dash": "dot", "color": _GREY})
    for boundary in (1.5, 3.5):
        figure.add_hline(y=boundary, line={"color": _GREY, "width": 0.5})
    figure.update_xaxes(title="right answers, %", range=[0, 100], fixedrange=True)
    figure.update_yaxes(autorange="reversed", fixedrange=True)
    return _page_figure(figure, barmode="group", height=340 + 80 * len(reports))


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
    figure = go.Figure()
    figure.add_scatter(
        x=[0, 1], y=[0, 1], mode="lines", line={"dash": "dot", "color": _GREY}, showlegend=False, hoverinfo="skip"
    )
    for index, model in enumerate(reports):  # a model has the same colour in every figure
        if model in drawn:
            _add_calibration(figure, index, model, [b for b in drawn[model]["calibration"]["bins"] if b["n"]])
    if len(figure.data) == 1:  # the diagonal alone
        return {}
    figure.update_xaxes(
        title="P(True), the model's own",
        anchor="y2",
        range=[-0.02, 1.02],
        fixedrange=True,
    )
    figure.update_layout(
        yaxis={"title": "share that is true", "range": [-0.04, 1.04], "domain": [0.32, 1], "fixedrange": True},
        yaxis2={"title": "statements", "domain": [0, 0.22], "rangemode": "tozero", "fixedrange": True},
        barmode="overlay",
    )
    return _page_figure(figure, height=400)


def _add_calibration(figure: Any, index: int, model: str, bins: Sequence[Mapping[str, Any]]) -> None:
    colour = COLOURS[index % len(COLOURS)]
    counts = [b["n"] for b in bins]
    figure.add_scatter(
        name=model,
        legendgroup=model,
        x=[b["mean_p_true"] for b in bins],
        y=[b["positive_rate"] for b in bins],
        mode="markers+lines",
        marker={"color": colour, "symbol": SYMBOLS[index % len(SYMBOLS)], "size": 9},
        line={"color": colour, "width": 1},
        customdata=counts,
        hovertemplate="P(True) %{x:.2f}: %{y:.0%} of %{customdata} statements are true",
    )
    figure.add_bar(
        name=model,
        legendgroup=model,
        showlegend=False,
        x=[(b["low"] + b["high"]) / 2 for b in bins],
        y=counts,
        width=0.045,
        yaxis="y2",
        marker={"color": colour},
        opacity=0.7,
        hovertemplate="%{y} statements",
    )


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


def _page_figure(figure: go.Figure, **layout: Any) -> Figure:
    figure.update_layout(
        template="none",
        margin={"l": 56, "r": 12, "t": 36, "b": 64},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        showlegend=True,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        uirevision="keep",
        **layout,
    )
    made: Figure = figure.to_plotly_json()
    made["layout"].pop("template", None)
    return made
