"""Figures of P(True): calibration curves, and what models give to a statement and to its negation. They compute nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import wrap

from medfact.metrics.measures import Bin, Calibration
from medfact.results.plots import GREY, Plot, Reports, colour, marker, plain, plot_of
from medfact.results.report import Report

PANELS_A_ROW = 3
PANEL_PIXELS = 300

LARGEST_DOT = 20
"""Pixels across of the dot that stands for most."""


def of_one_source(reports: Reports) -> dict[str, Report]:
    """The reports whose P(True) comes from where the first one's does; a service's log-probabilities are a model's own."""
    own = {"first token": "logprobs"}
    sources = {m: own.get(r.p_true_source, r.p_true_source) for m, r in reports.items() if r.calibration.n}
    first = next(iter(sources.values()), None)
    return {model: reports[model] for model, source in sources.items() if source == first}


def calibration(reports: Reports) -> Plot:
    """Share of true statements against P(True): a square a model, dots as large as they speak for; the diagonal is perfect, and
    where a calibrated model's dots lie in 95 of 100 tests is grey.

    Models whose P(True) comes from another source than the first one's are left out: the two do not compare.
    """
    return _panels(reports, of_one_source(reports), _calibration_traces, ("P(True)", "share that is true"))


def coherence(reports: Reports) -> Plot:
    """P(True) of a statement's negation against its own: a square a model, dots as large as the couples that lie there, 400 at
    most; on the falling line the two add up to 1. Models without P(True) are left out.
    """
    drawn = {name: report for name, report in of_one_source(reports).items() if report.coherence.couples}
    return _panels(reports, drawn, _coherence_traces, ("P(True) of a statement", "P(True) of its negation"))


def _panels(
    reports: Reports,
    drawn: Reports,
    traces_of: Callable[[int, str, Report], Sequence[Plot]],
    titles: tuple[str, str],
) -> Plot:
    """A square a model, three to a row, from 0 to 1 both ways; a model keeps the colour that it has among all reports."""
    if not drawn:
        return {}
    columns = min(len(drawn), PANELS_A_ROW)
    rows = -(-len(drawn) // columns)
    traces: list[Plot] = []
    layout: Plot = {"annotations": []}
    for place, (name, report) in enumerate(drawn.items()):
        axis = "" if place == 0 else str(place + 1)
        left, top = (place % columns) / columns, 1 - (place // columns) / rows
        above = (
            0.1 if len(drawn) > 1 else 0.0
        )  # room for the name, and below for the title of the axis of all rows but the last
        under = 0.2 if rows > 1 else 0.0
        domain = [left + 0.06 / columns, left + 0.94 / columns], [top - (1 - under) / rows, top - above / rows]
        fixed: Plot = {"fixedrange": True, "range": [-0.04, 1.04], "dtick": 0.25, "constrain": "domain"}
        if len(drawn) == 1:
            fixed["constraintoward"] = "left"
        layout[f"xaxis{axis}"] = {**fixed, "domain": domain[0], "anchor": f"y{axis}", "title": {"text": titles[0]}}
        layout[f"yaxis{axis}"] = {**fixed, "domain": domain[1], "anchor": f"x{axis}", "scaleanchor": f"x{axis}"}
        if place % columns == 0:
            layout[f"yaxis{axis}"]["title"] = {"text": titles[1]}
        label = {
            "text": "<br>".join(map(plain, wrap(name, 18))),
            "xref": "paper",
            "yref": "paper",
            "showarrow": False,
            "x": left + 0.5 / columns,
            "y": top - 0.08 / rows,
        }
        if len(drawn) > 1:
            layout["annotations"].append(label | {"yanchor": "bottom", "xanchor": "center"})
        axes = {"xaxis": f"x{axis}", "yaxis": f"y{axis}"}
        traces += [trace | axes for trace in traces_of(list(reports).index(name), name, report)]
    return plot_of(traces, **layout, showlegend=False, height=120 + PANEL_PIXELS * rows)


def _line(y: Sequence[float]) -> Plot:
    line = {"dash": "dot", "color": GREY}
    return {"type": "scatter", "x": [0, 1], "y": list(y), "mode": "lines", "line": line, "hoverinfo": "skip"}


def _sizes(counts: Sequence[int], least: int) -> list[float]:
    largest = max(counts, default=1)
    return [round(least + (LARGEST_DOT - least) * (n / largest) ** 0.5, 1) for n in counts]


def _calibration_traces(index: int, name: str, report: Report) -> list[Plot]:
    bins = [b for b in report.calibration.bins if b.n]
    own = {
        "type": "scatter",
        "name": name,
        "x": [b.mean_p_true for b in bins],
        "y": [b.positive_rate for b in bins],
        "mode": "markers+lines",
        "marker": {**marker(index, 0), "size": _sizes([b.n for b in bins], 6)},
        "line": {"color": colour(index), "width": 1},
        "customdata": [[b.n, b.least, b.most] for b in bins],
        "hovertemplate": "P(True) %{x:.2f}: %{y:.0%} of %{customdata[0]} statements are true; calibrated, "
        "%{customdata[1]:.0%} to %{customdata[2]:.0%} would be",
    }
    return [*_band(bins), _line((0, 1)), own]


def has_band(found: Calibration) -> bool:
    """Whether it is drawn where a calibrated model's dots lie."""
    return len(_bounded([b for b in found.bins if b.n])) > 1


def _bounded(bins: Sequence[Bin]) -> list[tuple[float | None, float, float]]:
    return [(b.mean_p_true, b.least, b.most) for b in bins if b.least is not None and b.most is not None]


def _band(bins: Sequence[Bin]) -> list[Plot]:
    """Where a calibrated model's dots lie; nothing where there are too few heads to say."""
    known = _bounded(bins)
    if len(known) < 2:
        return []
    outline = {
        "type": "scatter",
        "mode": "lines",
        "x": [*(x for x, _, _ in known), *(x for x, _, _ in reversed(known))],
        "y": [*(most for _, _, most in known), *(least for _, least, _ in reversed(known))],
        "fill": "toself",
        "fillcolor": "rgba(136,136,136,0.25)",
        "line": {"width": 0},
        "hoverinfo": "skip",
    }
    return [outline]


def _coherence_traces(index: int, name: str, report: Report) -> list[Plot]:
    couples = report.coherence.couples
    dots = {
        "type": "scatter",
        "name": name,
        "x": [one.p_true for one in couples],
        "y": [one.p_negated for one in couples],
        "mode": "markers",
        "marker": {**marker(index, 0), "size": _sizes([one.n for one in couples], 4), "opacity": 0.7},
        "customdata": [one.n for one in couples],
        "hovertemplate": "P(True) about %{x:.2f}, of the negation about %{y:.2f}: %{customdata} couples",
    }
    return [_line((1, 0)), dots]
