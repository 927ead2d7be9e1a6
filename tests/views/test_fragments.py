"""Fragments of pages say what is so: each sentence stands only where it holds, and a name never turns its surroundings."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from medfact.facts import Fact
from medfact.metrics.measures import Bin, Calibration
from medfact.metrics.race import Differences, race
from medfact.metrics.uncertainty import Estimate
from medfact.results.blocks import Note, Section
from medfact.results.compare import Raced
from medfact.results.fact_table import OverModels
from medfact.results.sections import SECTIONS, Beside, Figures
from medfact.results.sections.probabilities import band_of
from medfact.views.fragments import environment, render, render_sections


def macro(template: str, name: str, *given: object) -> str:
    return str(getattr(environment().get_template(f"{template}.html").module, name)(*given))


def raced(a: str, b: str, heads: int = 12) -> Raced:
    """Two runs of which the first is right where the second is wrong, on so many diseases."""
    if not heads:
        return Raced(a, b, None, None, 1)
    more = np.ones(heads)
    found = Differences(more, more, np.arange(heads), np.ones(heads, dtype=np.int64), heads)
    return Raced(a, b, race(found, 1), found, 1)


def races(*found: Raced) -> Section:
    names = {run: run.upper() for run in "abcde"}
    made = SECTIONS["races"].make(Figures({}, beside=Beside(names, (), found, (), OverModels(), ())))
    assert made is not None
    return made


def test_each_race_stands_above_its_own_figure_and_the_rest_in_words() -> None:
    """The fourth race that could be drawn, and one of runs that share nothing, are told in words."""
    found = [raced("a", "b"), raced("a", "c", 0), raced("a", "d"), raced("b", "c"), raced("b", "d")]
    html = render_sections([races(*found)])
    assert html.count("<figure") == 3
    for line in ("Decided: A masters", "Decided: B masters"):
        assert f'<figcaption class="mf-finding">{line}' in html
    assert "<li>A and C share no fact, so they do not race.</li><li>Decided: B masters" in html
    assert "Three races are drawn; the text below gives the others." in html
    few = render_sections([races(*found[:3])])
    assert "Three races" not in few
    assert "<li>A and C share no fact, so they do not race.</li></ul>" in few


@pytest.mark.parametrize(
    ("unjudged", "board", "said"),
    [
        (1, (), "The model accepted 1 fact that we believe false."),
        (1, ("listed",), "The model accepted 1 more fact that we believe false."),
        (3, (), "The model accepted 3 facts that we believe false."),
        (3, ("listed",), "The model accepted 3 more facts that we believe false."),
    ],
)
def test_more_false_facts_are_more_than_those_listed(unjudged: int, board: tuple[str, ...], said: str) -> None:
    accepted: Any = SimpleNamespace(accepted=Estimate(None, None, None, 0), unjudged=unjudged, board=board)
    section = SECTIONS["false facts accepted"].make(Figures({}, {"m": accepted}))
    assert section is not None
    assert section.blocks[-1] == Note(lines=(said,))


def test_a_name_does_not_turn_what_stands_beside_it() -> None:
    line = macro("macros", "fact_line", Fact("\u202eevil", "symptoms", "أزيز"))
    assert "<bdi>\u202eevil</bdi>" in line
    assert "<bdi>أزيز</bdi>" in line


def about(has_intervals: bool) -> str:
    shown = {"settings": "", "estimand": "like", "notes": [], "labels": [], "bills": [], "others": False, "keeping": ""}
    about = {"about_intervals": "They are wide.", "false_on_purpose": "Half are false."}
    return render("about_numbers", has_intervals=has_intervals, **shown, **about)


def test_intervals_are_explained_where_there_are_some() -> None:
    assert "Below each score: n and the 95% interval" in about(True)
    assert "Below each score: n. Half are false. Mastery" in about(False)
    assert "They are wide." not in about(False)


def bins(*bounded: bool) -> Calibration:
    made = tuple(Bin(0.0, 1.0, 8, 0.5, 0.5, 0.4 if one else None, 0.6 if one else None) for one in bounded)
    return Calibration(16, 1.0, 0.1, None, None, None, None, made)


def test_a_band_needs_two_points() -> None:
    assert not band_of(bins(False, False))
    assert not band_of(bins(True, False))
    assert len(band_of(bins(True, True))) == 2
