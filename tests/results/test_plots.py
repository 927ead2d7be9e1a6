"""Figures: what users call their runs is shown as text, whatever markup the plotting library reads."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from recorded import complete_run
from records import with_figures
from small_facts import StubModel, make_fact_rows, write_csv

from medfact.metrics.uncertainty import Estimate
from medfact.models import Completion
from medfact.results.blocks import Cell, Parts, Row, Shares
from medfact.results.plots import Plot, plot_of
from medfact.results.report import Report, report_of
from medfact.results.sections import SECTIONS, Figures
from medfact.results.sections.answers import by_statements, share_of
from medfact.spec import RunSpec
from medfact.store import Store
from medfact.web.pages.papers import three_views

NAME = '<a href="https://example.org">the best model</a>'


@pytest.fixture
def report(tmp_path: Path, store: Store) -> Report:
    file = write_csv(tmp_path / "facts.csv", make_fact_rows())
    run = complete_run(
        RunSpec(model="answerer", facts=str(file), limit=12, shots=0),
        store,
        load=StubModel(lambda prompt: Completion("True", p_true=0.7, p_mass=1.0)).load,
    )
    return report_of(store, store.run(run))


def drawn(section: str, **reports: Report) -> Plot:
    """The first figure of a section."""
    made = SECTIONS[section].make(Figures(reports))
    return plot_of(made.figures[0])


@pytest.mark.parametrize(
    "section", ["ways of asking", "why facts fail", "surest answers", "calibration", "coherence", "relations"]
)
def test_a_name_is_no_link(report: Report, section: str) -> None:
    told = json.dumps(drawn(section, **{NAME: report, "another": replace(report, run="x")}))
    assert "<a" not in told
    assert "&lt;a" in told


def test_nor_in_the_three_views(report: Report) -> None:
    told = json.dumps(plot_of(three_views({NAME: report, "another": replace(report, run="x")})))
    assert "<a" not in told
    assert "&lt;a" in told


def test_neither_where_it_names_a_row(report: Report) -> None:
    row = Row(NAME, {"all right": share_of(report.joint_accuracy, "fact")})
    told = json.dumps(plot_of(Shares(name="s", label="scores", heading="run", rows=(row,), finding="", alone=True)))
    assert "<a" not in told
    assert "&lt;a" in told


def test_the_figures_hold_what_the_report_has(report: Report) -> None:
    """12 pairs, always True: 12 facts of 24 are right where they are affirmed; no fact is mastered."""
    diagnosed = drawn("why facts fail", m=report)["data"]
    assert {part["customdata"][0][0] for part in diagnosed} == {"24 facts"}
    assert len(diagnosed) == 9
    assert sum(part["x"][0] for part in diagnosed) == pytest.approx(100)
    sure = drawn("surest answers", m=report)["data"][0]
    assert sure["customdata"][-1][0] == "192 statements"
    assert sure["x"] == [pytest.approx(50)] * 4


def test_parts_of_one_name_have_one_line_in_the_legend() -> None:
    row = Row(
        "no clear pattern",
        {"a": Cell(Estimate(0.25, 0.1, 0.4, 24)), "b": Cell(Estimate(0.5, 0.4, 0.6, 24))},
        opens={"only": "x"},
    )
    block = Parts(name="p", label="", heading="", rows=(row._replace(name="mastered"), row, row), finding="")
    drawn = plot_of(block, ["b", "a"])["data"]
    assert [part["showlegend"] for part in drawn] == [True, True, False]
    assert drawn[1]["marker"] == drawn[2]["marker"] != drawn[0]["marker"]
    assert [opens["model"] for opens in drawn[0]["meta"]] == [1, 0], "the places of the runs on the page"
    assert "model" not in plot_of(block, ["a"])["data"][0]["meta"][0], "of one run there is nothing to filter"


def test_a_dot_without_a_bar_is_explained_and_the_coin_has_a_strip_of_its_own() -> None:
    few = Row("few", {"a": Cell(Estimate(0.25, None, None, 3))})
    known = Row("known", {"a": Cell(Estimate(0.5, 0.4, 0.6, 24))})
    block = Shares(name="s", label="", heading="", rows=(few, known), finding="")
    layout = plot_of(block)["layout"]
    assert layout["xaxis"]["title"]["text"] == "right answers, % (no bar: too few for an interval)"
    assert layout["yaxis"]["range"] == [2, -0.6], "the last row's marks end at 1.35, and the coin's name stands below"
    assert plot_of(replace(block, rows=(known, known)))["layout"]["xaxis"]["title"]["text"] == "right answers, %"


def curve(report: Report, model: str, **changes: object) -> Report:
    """The report as if of another model, right on 3/4 of 24 facts with one statement, and on 1/4 with two."""
    points = (Estimate(0.75, 0.6, 0.9, 24), Estimate(0.25, 0.1, 0.4, 24))
    return with_figures(report, model=model, curves={**report.curves, "joint_any_order": points}, **changes)


def traces(reports: dict[str, Report]) -> list[dict[str, Any]]:
    """The lines of mastery against the number of statements."""
    return list(plot_of(by_statements("curve", "before", reports, "joint_any_order"))["data"])


def test_the_mean_over_models_is_a_curve_of_its_own(report: Report) -> None:
    """3/4 and 1/4 of the one, 1/4 and 1/4 of the other: 1/2 and 1/4, between the means of the bounds. A coin that is asked too
    does not count, nor does a model with other demonstrations."""
    one, coin = curve(report, "one"), curve(report, "baseline:random")
    points = (Estimate(0.25, 0.2, 0.3, 24), Estimate(0.25, 0.1, 0.4, 24))
    other = with_figures(one, model="other", curves={**one.curves, "joint_any_order": points})
    shots = curve(report, "third", shots=5)
    drawn = traces({"1": one, "2": other, "3": coin, "4": shots})
    assert [line["name"] for line in drawn] == ["a coin", "1", "2", "3", "4", "mean of 2 models"]
    mean = drawn[-1]
    assert mean["y"] == pytest.approx([50, 25])
    assert mean["error_y"]["arrayminus"] == pytest.approx([10, 15])
    assert mean["error_y"]["array"] == pytest.approx([10, 15])
    assert [n for n, _ in mean["customdata"]] == [24, 24]
    assert mean["line"]["dash"] == "dash"
    alone = traces({"1": one, "2": shots})
    assert [line["name"] for line in alone] == ["a coin", "1", "2"], "of one model there is no mean"


def test_means_of_two_methods_are_two_curves(report: Report) -> None:
    asked = {f"{model} {method}": curve(report, model, method=method) for model in "ab" for method in ("LLMEval", "whole")}
    drawn = traces(asked)
    assert [line["name"] for line in drawn if line["name"].startswith("mean")] == [
        "mean of 2 models, LLMEval on facts.csv", "mean of 2 models, whole on facts.csv"
    ]  # fmt: skip


def test_every_statement_stands_in_the_histogram_beneath_its_calibration(report: Report) -> None:
    """192 statements, all with the same probability of true: one bar holds them all, and the square's point stands above it."""
    made = drawn("calibration", m=report)["data"]
    (bars,) = (trace for trace in made if trace["type"] == "bar")
    assert sum(bars["y"]) == 192
    (at,) = (x for x, n in zip(bars["x"], bars["y"], strict=True) if n)
    assert at == pytest.approx(0.7, abs=0.06)


def test_points_at_0_and_at_100_percent_are_whole_and_half_has_a_name(report: Report) -> None:
    made = drawn("ways of asking", m=report)
    dots = [trace for trace in made["data"] if trace.get("mode") == "markers"]
    assert {x for trace in dots for x in trace["x"]} <= {0.0, 50.0, 100.0}
    low, high = made["layout"]["xaxis"]["range"]
    assert low < 0
    assert high > 100
    assert all(trace["cliponaxis"] is False for trace in dots)
    assert [note["text"] for note in made["layout"]["annotations"]] == ["50%: a coin"]
