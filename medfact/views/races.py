"""Races in the HTML report: each pair of its runs, in a sentence and as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from medfact.results.compare import Raced, races_of, sides_of
from medfact.results.race_plot import RaceCourse, race_course
from medfact.results.race_words import ABOUT, race_in_words
from medfact.store import Store
from medfact.views.fragments import render

_LEFT, _TOP, _WIDTH, _HEIGHT = 60, 12, 620, 220
"""Pixels of the drawing's place and size."""


def races(store: Store, names: Mapping[str, str]) -> Markup:
    """The races of all pairs of runs; nothing where there is one run, or nothing shared. names: run → what to call it."""
    found = [one for one in races_of(sides_of(store, list(names))) if one.race is not None] if len(names) > 1 else []
    return render("chart_race", races=[_drawn(one, names) for one in found], about=ABOUT) if found else Markup()


def _drawn(raced: Raced, names: Mapping[str, str]) -> tuple[str, dict[str, object] | None]:
    course = race_course(raced)
    return race_in_words(raced.a, raced.b, raced.race, names), None if course is None else _svg(course)


def _svg(course: RaceCourse) -> dict[str, object]:
    """The places of lines and marks in pixels."""
    steady = course.value[len(course.value) // 10 :]
    reach = min(1.0, 1.15 * max(0.1, *map(abs, steady), 1.5 * abs(course.low[-1]), 1.5 * abs(course.high[-1])))

    def x(heads: int) -> float:
        return round(_LEFT + _WIDTH * heads / course.of, 1)

    def y(share: float) -> float:
        return round(_TOP + _HEIGHT * (0.5 - max(-reach, min(reach, share)) / (2 * reach)), 1)

    def places(shares: Sequence[float]) -> list[str]:
        return [f"{x(heads)},{y(share)}" for heads, share in zip(course.heads, shares, strict=True)]

    at = course.decided_at
    ticks = [(y(share), f"{100 * share:+.0f}".replace("-", "−")) for share in (-reach, -reach / 2, reach / 2, reach)]
    return {
        "band": " ".join([*places(course.low), *reversed(places(course.high))]),
        "line": " ".join(places(course.value)),
        "decided": None if at is None else (x(course.heads[at]), y(course.value[at]), course.heads[at]),
        "ticks": ticks,
        "zero": y(0.0),
        "left": _LEFT,
        "right": _LEFT + _WIDTH,
        "bottom": _TOP + _HEIGHT,
        "middle": x(course.of // 2),
        "of": course.of,
    }
