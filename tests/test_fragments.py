"""Fragments of pages say what is so: each sentence stands only where it holds, and a name never turns its surroundings."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from medfact.facts import Fact
from medfact.metrics.measures import Bin, Calibration
from medfact.metrics.uncertainty import Estimate
from medfact.results.probability_plots import has_band
from medfact.results.wording import SCORES
from medfact.views.fragments import environment, render

PLOT = {"data": [], "layout": {"height": 320}}


def macro(template: str, name: str, *given: object) -> str:
    return str(getattr(environment().get_template(f"{template}.html").module, name)(*given))


def test_each_race_stands_above_its_own_figure_and_the_rest_in_words() -> None:
    races = [("A and B.", PLOT), ("A and C: none.", {}), ("A and D.", PLOT), ("B and C.", PLOT), ("B and D.", PLOT)]
    drawn = macro("races", "race_figures", races)
    assert drawn.count("<figure") == 3
    for line in ("A and B.", "A and D.", "B and C."):
        assert f'<figcaption class="mf-finding">{line}</figcaption>' in drawn
    assert "<li>A and C: none.</li><li>B and D.</li>" in drawn
    assert "Three races are drawn; the others are said in words alone." in drawn
    few = macro("races", "race_figures", races[:3])
    assert "Three races" not in few
    assert "<li>A and C: none.</li></ul>" in few


@pytest.mark.parametrize(
    ("unjudged", "board", "said"),
    [
        (1, (), "1 false fact is accepted that only rules vouch for: it may be true."),
        (1, ("listed",), "1 more false fact is accepted that only rules vouch for: it may be true."),
        (3, (), "3 false facts are accepted that only rules vouch for: a few may be true."),
        (3, ("listed",), "3 more false facts are accepted that only rules vouch for: a few may be true."),
    ],
)
def test_more_false_facts_are_more_than_those_listed(unjudged: int, board: tuple[str, ...], said: str) -> None:
    assert macro("danger_board", "unjudged", SimpleNamespace(unjudged=unjudged, board=board)) == said


def test_a_name_does_not_turn_what_stands_beside_it() -> None:
    line = macro("macros", "fact_line", Fact("\u202eevil", "symptoms", "أزيز"))
    assert "<bdi>\u202eevil</bdi>" in line
    assert "<bdi>أزيز</bdi>" in line


@pytest.mark.parametrize(("text", "said"), [("", "81 of 640 statements<"), ("complete", "81 of 640 statements · complete<")])
def test_a_dot_separates_two_things(text: str, said: str) -> None:
    run = {"run": "r", "name": "a coin", "done": 81, "total": 640, "text": text, "going": False, "reason": ""}
    more = {"demonstration": False, "races": [], "may_stop": True, "may_resume": False, "others": False, "keeping": ""}
    assert said in render("progress", runs=[run], ids="r", **more)


def scores(estimate: Estimate) -> str:
    report: dict[str, Any] = {"unreadable": 0, "failed": 0, "joint_accuracy": estimate}
    live = SimpleNamespace(run=SimpleNamespace(run="r"), report=report)
    more = {"sort": "", "words_alone": None, "chance": {}, "settings": "", "estimand": "like", "notes": [], "bills": []}
    more |= {"scores_of": {"joint_accuracy": [report]}, "false_on_purpose": "Half are false.", "labels": []}
    score = SimpleNamespace(**{**vars(SCORES["joint_accuracy"]), "by_chance": lambda _: ""})
    return render("scores", scores=[score], rows=[("a coin", live)], about_intervals="They are wide.", ids="r", **more)


def test_intervals_are_explained_where_there_are_some() -> None:
    assert "Below each score: n and the 95% interval" in scores(Estimate(0.5, 0.4, 0.6, 40))
    without = scores(Estimate(0.5, None, None, 14))
    assert "Below each score: n. Half are false. Mastery" in without
    assert "They are wide." not in without


def bins(*bounded: bool) -> Calibration:
    made = tuple(Bin(0.0, 1.0, 8, 0.5, 0.5, 0.4 if one else None, 0.6 if one else None) for one in bounded)
    return Calibration(16, 1.0, 0.1, None, None, None, None, made)


def test_a_band_needs_two_points() -> None:
    assert not has_band(bins(False, False))
    assert not has_band(bins(True, False))
    assert has_band(bins(True, True))
