"""Figures without a script, as SVG: for a report that opens offline and prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from medfact.metrics.measures import Calibration
from medfact.metrics.uncertainty import Estimate
from medfact.views.fragments import render

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999999")
"""Okabe and Ito's, which colour-blind people tell apart; shapes differ too."""

SHAPES = ("circle", "square", "diamond", "triangle")

_LEFT, _WIDTH, _ROW, _TOP = 190, 460, 15, 26
"""Pixels: for the names, for 0 to 100 %, for a point, and above the first."""


@dataclass(frozen=True)
class Mark:
    """A point with its interval, in pixels. title: what it is, with its numbers."""

    x: float
    y: float
    low: float | None
    high: float | None
    colour: str
    shape: str
    title: str


def dots(rows: Sequence[tuple[str, Mapping[str, Estimate]]], names: Sequence[str], title: str) -> Markup:
    """Shares with their intervals: a row each, a point for each of the names. title: the finding, also for who cannot see it.

    rows: (what it is called, name → share). Empty where nothing has a value.
    """
    marks: list[Mark] = []
    labels: list[tuple[str, float]] = []
    y = float(_TOP)
    for label, shares in rows:
        start = y
        for place, name in enumerate(names):
            estimate = shares.get(name)
            y += _ROW
            if estimate is not None and estimate.value is not None:
                marks.append(_mark(name, label, estimate, y - _ROW / 2, place))
        labels.append((label, (start + y) / 2))
        y += 8
    if not marks:
        return Markup()
    ticks = [(_LEFT + _WIDTH * step / 5, f"{20 * step}%") for step in range(6)]
    legend = [(name, COLOURS[place % len(COLOURS)], SHAPES[place % len(SHAPES)]) for place, name in enumerate(names)]
    return render("chart_dots", marks=marks, labels=labels, ticks=ticks, legend=legend, height=y + 26, left=_LEFT, title=title)


def _mark(name: str, label: str, estimate: Estimate, y: float, place: int) -> Mark:
    def x(share: float | None) -> float | None:
        return None if share is None else round(_LEFT + _WIDTH * share, 1)

    bounds = "" if estimate.low is None or estimate.high is None else f", {estimate.low:.1%} to {estimate.high:.1%}"
    said = f"{name}, {label}: {estimate.value:.1%}{bounds} of {estimate.n:,}"
    colour, shape = COLOURS[place % len(COLOURS)], SHAPES[place % len(SHAPES)]
    return Mark(x(estimate.value) or _LEFT, y, x(estimate.low), x(estimate.high), colour, shape, said)


_SIDE, _MARGIN = 300, 44


def calibration(curves: Mapping[str, Calibration], title: str) -> Markup:
    """Share of true statements against mean P(True), a curve for each name; points grow with their number of statements."""
    drawn = []
    for place, (name, found) in enumerate(curves.items()):
        most = max((one.n for one in found.bins), default=0)
        marks = [
            Mark(
                round(_MARGIN + _SIDE * one.mean_p_true, 1),
                round(_MARGIN / 2 + _SIDE * (1 - one.positive_rate), 1),
                round(2 + 5 * (one.n / most) ** 0.5, 1),
                None,
                COLOURS[place % len(COLOURS)],
                SHAPES[place % len(SHAPES)],
                f"{name}: P(True) {one.mean_p_true:.2f}, true {one.positive_rate:.1%} of {one.n:,}",
            )
            for one in found.bins
            if one.mean_p_true is not None and one.positive_rate is not None
        ]
        if marks:
            drawn.append((name, COLOURS[place % len(COLOURS)], marks))
    return render("chart_calibration", curves=drawn, side=_SIDE, margin=_MARGIN, title=title) if drawn else Markup()
