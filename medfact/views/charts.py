"""Figures without a script, as SVG: for a report that opens offline and prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from textwrap import wrap
from typing import NamedTuple

from markupsafe import Markup

from medfact.metrics.measures import Calibration, Coherence
from medfact.metrics.uncertainty import Estimate
from medfact.results.compare import Pair
from medfact.results.evidence_plots import SHORT
from medfact.results.probability_plots import has_band
from medfact.results.wording import SCORES, counted, points
from medfact.views.fragments import render

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999999")
"""Okabe and Ito's, which colour-blind people tell apart; shapes differ too."""

SHAPES = ("circle", "square", "diamond", "triangle")

_LEFT, _WIDTH, _ROW, _TOP = 190, 460, 15, 26
"""Pixels: for the names, for 0 to 100 %, for a point, and above the first."""


_LETTERS = 26
"""Letters of a name that fit beside the points."""


class Mark(NamedTuple):
    """A point with its interval, in pixels. title: what it is, with its numbers."""

    x: float
    y: float
    low: float | None
    high: float | None
    colour: str
    shape: str
    title: str


def dots(rows: Mapping[str, Mapping[str, Estimate | None]], names: Sequence[str], title: str) -> Markup:
    """Shares with their intervals: a row each, a point for each of the names. title: the finding, also for who cannot see it.

    rows: what it is called → name → share. Empty where nothing has a value.
    """
    ticks = [(_LEFT + _WIDTH * step / 5, f"{20 * step}%") for step in range(6)]
    return _rows(rows, names, title, ticks, _mark)


def differences(pairs: Sequence[Pair], names: Mapping[str, str], title: str) -> Markup:
    """Paired differences in points with their intervals: a row a pair of runs, a point for each accuracy; at 0 there is none.

    names: run → what to call it.
    """
    rows: dict[str, dict[str, Estimate | None]] = {}
    for pair in pairs:
        of = Estimate(pair.difference, pair.low_all, pair.high_all, pair.n)
        rows.setdefault(f"{names[pair.a]}\nless {names[pair.b]}", {})[SHORT[pair.metric]] = of
    units = {name: SCORES[metric].of for metric, name in SHORT.items()}
    ends = [abs(end) for of in rows.values() for one in of.values() if one for end in one[:3] if end is not None]
    reach = -(-100 * max(ends, default=0) // 5) * 5 or 5

    def mark(name: str, label: str, estimate: Estimate, y: float, place: int) -> Mark:
        value, low, high = (None if end is None else 0.5 + 50 * end / reach for end in estimate[:3])
        bounds = "" if estimate.low is None or estimate.high is None else f", {points(estimate.low)} to {points(estimate.high)}"
        size = f"{points(estimate.value or 0.0)} points of {counted(estimate.n, units[name])}"
        said = f"{' '.join(label.split())}, {name}: {size}{bounds}"
        return _mark(name, label, Estimate(value, low, high, estimate.n), y, place)._replace(title=said)

    ticks = [
        (_LEFT + _WIDTH * step / 4, points(reach * (step - 2) / 200).removesuffix(".0") if step != 2 else "0")
        for step in range(5)
    ]
    return _rows(rows, list(SHORT.values()), title, ticks, mark)


def _rows(
    rows: Mapping[str, Mapping[str, Estimate | None]],
    names: Sequence[str],
    title: str,
    ticks: Sequence[tuple[float, str]],
    mark: Callable[[str, str, Estimate, float, int], Mark],
) -> Markup:
    marks: list[Mark] = []
    labels: list[tuple[list[str], float]] = []
    y = float(_TOP)
    for label, shares in rows.items():
        start, lines = y, [line for part in label.split("\n") for line in wrap(part, _LETTERS)]
        for place, name in enumerate(names):
            estimate = shares.get(name)
            y += _ROW
            if estimate is not None and estimate.value is not None:
                marks.append(mark(name, label, estimate, y - _ROW / 2, place))
        y = max(y, start + _ROW * len(lines))
        labels.append((lines, (start + y - _ROW * (len(lines) - 1)) / 2))
        y += 8
    if not marks:
        return Markup()
    legend = [(name, COLOURS[place % len(COLOURS)], SHAPES[place % len(SHAPES)]) for place, name in enumerate(names)]
    return render(
        "chart_dots", marks=marks, labels=labels, ticks=ticks, legend=legend, height=y + 26, left=_LEFT, line=_ROW, title=title
    )


def _mark(name: str, label: str, estimate: Estimate, y: float, place: int) -> Mark:
    def x(share: float | None) -> float | None:
        return None if share is None else round(_LEFT + _WIDTH * share, 1)

    bounds = "" if estimate.low is None or estimate.high is None else f", {estimate.low:.1%} to {estimate.high:.1%}"
    said = f"{name}, {label}: {estimate.value:.1%} of {estimate.n:,}{bounds}"
    colour, shape = COLOURS[place % len(COLOURS)], SHAPES[place % len(SHAPES)]
    return Mark(x(estimate.value) or _LEFT, y, x(estimate.low), x(estimate.high), colour, shape, said)


_SIDE, _MARGIN = 300, 56


def calibration(name: str, found: Calibration, place: int, title: str) -> Markup:
    """Share of true statements against mean P(True) of one run, with the band of a calibrated model; points grow with their
    number of statements. place: of the run among all, for its colour. Empty where nothing has a P(True).
    """
    most = max((one.n for one in found.bins), default=0)
    marks, above, below = [], [], []
    banded = has_band(found)
    for one in found.bins:
        if one.mean_p_true is None or one.positive_rate is None:
            continue
        said = f"P(True) {one.mean_p_true:.2f}, true {one.positive_rate:.1%} of {one.n:,}"
        marks.append((*_place(one.mean_p_true, one.positive_rate), round(2 + 5 * (one.n / most) ** 0.5, 1), said))
        if banded and one.least is not None and one.most is not None:
            above.append(_place(one.mean_p_true, one.most))
            below.append(_place(one.mean_p_true, one.least))
    axes = ("P(True)", "share that is true")
    return _square(name, marks, place, title, axes, band=[*above, *reversed(below)], curve=True, rising=True)


def coherence(name: str, found: Coherence, place: int, title: str) -> Markup:
    """P(True) of a statement's negation against its own, for one run; points grow with their number of couples."""
    most = max((one.n for one in found.couples), default=0)
    marks = [
        (
            *_place(one.p_true, one.p_negated),
            round(1 + 6 * (one.n / most) ** 0.5, 1),
            f"P(True) about {one.p_true:.2f}, of the negation about {one.p_negated:.2f}: {one.n:,}",
        )
        for one in found.couples
    ]
    return _square(name, marks, place, title, ("P(True) of a statement", "of its negation"), rising=False)


def _place(x: float, y: float) -> tuple[float, float]:
    """Shares as pixels of a square."""
    return round(_MARGIN + _SIDE * x, 1), round(_MARGIN / 2 + _SIDE * (1 - y), 1)


def _square(
    name: str,
    marks: Sequence[tuple[float, float, float, str]],
    place: int,
    title: str,
    axes: tuple[str, str],
    **more: object,
) -> Markup:
    colour = COLOURS[place % len(COLOURS)]
    known = {"band": [], "curve": False, **more}
    values = {"name": name, "marks": marks, "colour": colour, "side": _SIDE, "margin": _MARGIN, "title": title}
    return render("chart_square", **values, axes=axes, **known) if marks else Markup()
