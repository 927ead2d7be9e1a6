"""Titles of figures claim no more than intervals hold, and figures hold what the report has."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from records import with_figures
from small_facts import StubModel, make_fact_rows, write_csv

from medfact.metrics.groupings import GROUPINGS
from medfact.metrics.measures import Couples, TypeAccuracy
from medfact.metrics.uncertainty import Estimate
from medfact.models import Completion
from medfact.results import findings
from medfact.results.blocks import Differences, Shares
from medfact.results.compare import Pair
from medfact.results.plots import plot_of
from medfact.results.report import Report, report_of
from medfact.results.sections import SECTIONS, Figures
from medfact.results.sections.answers import rows_by_type
from medfact.results.sections.beside import pair_rows
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.statements import IMPLICATIONS
from medfact.store import Store
from medfact.views.fragments import svg


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Of 30 heads and more; it says True to what is affirmed, with P(True) 0.8, and False else, with 0.3."""
    home = tmp_path_factory.mktemp("home")
    store = Store(f"sqlite:///{home / 'runs.db'}")
    file = write_csv(home / "facts.csv", make_fact_rows(40))
    run = start(RunSpec(model="answerer", facts=str(file), shots=0), store)

    def reply(prompt: object) -> Completion:
        negated = " not " in prompt.statement  # type: ignore[attr-defined]
        return Completion(str(not negated), p_true=0.3 if negated else 0.8, p_mass=1.0)

    list(answer(run, store, load=StubModel(reply).load))  # type: ignore[arg-type]
    return report_of(store, store.run(run))


def of_relations(reports: Mapping[str, Report]) -> str:
    return findings.of_groups(reports, GROUPINGS["relation"])


def estimate(value: float, half: float) -> Estimate:
    return Estimate(value, value - half, value + half, 400)


def test_an_order_is_claimed_where_intervals_for_all_pairs_do_not_meet(report: Report) -> None:
    """60 and 50 % with ± 4.9 do not meet; with ± 5.1 they do. Of five there are 10 pairs: intervals grow by 2.81 / 1.96."""

    def title(*values: float, half: float) -> str:
        return of_relations({"m": with_figures(report, by_relation={f"r{i}": estimate(v, half) for i, v in enumerate(values)})})

    assert title(0.6, 0.5, half=0.049) == "m: 60.0% right about “r0”, 50.0% about “r1”"
    assert title(0.6, 0.5, half=0.051) == "No relation is shown to be known better than another"
    assert title(0.6, 0.5, 0.55, 0.55, 0.55, half=0.04).startswith("No relation")
    assert title(0.6, 0.5, 0.55, 0.55, 0.55, half=0.034).startswith("m: 60.0%")


def test_what_denial_changes_is_said_where_no_two_ways_are_shown_to_differ(report: Report) -> None:
    """Half of the error is for the 28 pairs of eight ways: intervals grow by 3.32 / 1.96 = 1.69, and 64 and 36 % with ± 9 each
    meet then (64 − 15.2 < 36 + 15.2). Half is for all affirmed ones against all denied ones: they grow by 2.24 / 1.96 = 1.14,
    and 60 and 38 % with ± 6 do not meet (60 − 6.9 > 38 + 6.9); with 47 % they would.
    """
    ways = {key: estimate(0.64 if place == 0 else 0.36 if place == 1 else 0.5, 0.09) for place, key in enumerate(IMPLICATIONS)}
    sides = {"affirmed": estimate(0.6, 0.06), "negated": estimate(0.38, 0.06)}
    made = with_figures(report, by_variant=ways, by_polarity=sides)
    assert findings.of_ways({"m": made}) == "m: 60.0% right when “affirmed”, 38.0% when “denied”"
    sides["negated"] = estimate(0.47, 0.06)
    assert findings.of_ways({"m": made}).startswith("No way of asking is shown")


def test_equal_relations_are_told_apart_in_hardly_any_draw() -> None:
    """Six relations of 200 answers each, all at 70 %: in at most 5 % of 1,000 draws a title claims an order."""
    randomness = np.random.default_rng(0)
    claimed = 0
    for _ in range(1000):
        shares = randomness.binomial(200, 0.7, 6) / 200
        half = 1.96 * np.sqrt(shares * (1 - shares) / 200)
        made = {f"r{i}": estimate(float(v), float(h)) for i, (v, h) in enumerate(zip(shares, half, strict=True))}
        claimed += bool(findings._apart(made, "about"))
    assert claimed <= 50


def test_more_runs_than_can_be_named_are_counted(report: Report) -> None:
    apart = with_figures(report, by_relation={"a": estimate(0.9, 0.01), "b": estimate(0.1, 0.01)})
    same = with_figures(report, by_relation={"a": estimate(0.5, 0.01), "b": estimate(0.5, 0.01)})
    assert of_relations({"1": apart, "2": same}).endswith("; 2: no relation is shown to be known better than another")
    many = {str(n): apart if n < 3 else same for n in range(5)}
    assert of_relations(many) == "In 3 of 5 runs right answers depend on the relation"


def pair(difference: float, low: float, high: float, p: float) -> Pair:
    return Pair(0.5, 0.5, difference, low, high, 300, p, p, low, high, 1, 2, a="x", b="y", metric="average_accuracy")


def test_types_of_few_facts_are_listed_below_and_not_ranked(report: Report) -> None:
    """By right answers: low before high, both of 20 facts or more; a perfect one of 19 stands last."""
    kinds = {
        "high": TypeAccuracy(0.8, 0.7, 0.9, 160, 20),
        "low": TypeAccuracy(0.3, 0.2, 0.4, 800, 100),
        "few": TypeAccuracy(1.0, 0.9, 1.0, 152, 19),
    }
    made = {"m": with_figures(report, by_tail_type=kinds)}
    assert [row.name for row in rows_by_type(made)] == ["low (100 facts)", "high (20 facts)", "few (19 facts, not ranked)"]
    title = findings.of_types(made, GROUPINGS["tail_type"])
    assert title == "m: 80.0% right about “high”, 30.0% about “low”. Types of under 20 facts are not ranked"


def differences(names: dict[str, str]) -> Differences:
    rows = pair_rows([pair(0.1, 0.0, 0.2, 0.01)], names)
    return Differences(name="differences", label="differences", heading="runs", rows=rows, finding="title")


def test_every_figure_has_a_title_and_a_name_is_no_markup(report: Report) -> None:
    name = "<b>the & best</b>"
    reports = {name: report, "other": report}
    made = [SECTIONS[one].make(Figures(reports)) for one in ("coherence", "relations")]
    figures = [block for section in made if section for block in section.figures]
    assert len(figures) == 2
    figures.append(differences({"x": name, "y": "other"}))
    for block in figures:
        assert block.finding
        assert plot_of(block)["data"]
        assert "<b>" not in json.dumps(plot_of(block))
    drawn = svg(differences({"x": name, "y": "other"}))
    assert "<b>" not in drawn
    assert "&lt;b&gt;" in drawn


def test_the_points_of_coherence_are_few_however_many_couples(report: Report) -> None:
    """All couples are at (0.8, 0.3): one square. Of every square there are 400 points."""
    (one,) = report.coherence.couples
    assert (one.p_true, one.p_negated) == (pytest.approx(0.825), pytest.approx(0.325))
    assert one.n == report.coherence.n
    every = tuple(Couples((i + 0.5) / 20, (j + 0.5) / 20, 10_000) for i in range(20) for j in range(20))
    full = with_figures(report, coherence=replace(report.coherence, couples=every))
    made = SECTIONS["coherence"].make(Figures({"m": full}))
    assert len(json.dumps(plot_of(made.figures[0]))) < 50_000


def test_a_differences_point_lies_where_its_value_says() -> None:
    """+10 of ± 20 points: three quarters of the way from left to right, 190 + 0.75 · 460."""
    drawn = svg(differences({"x": "X", "y": "Y"}))
    assert 'cx="535.0"' in drawn
    assert "right answers, X less Y: +10.0 points of 300 statements, 0.0 to +20.0" in drawn


def test_a_relation_alone_has_no_figure(report: Report, tmp_path: Path) -> None:
    alone = with_figures(report, by_relation={"symptoms": estimate(0.5, 0.1)})
    made = SECTIONS["relations"].make(Figures({"m": alone}))
    assert made.figures == []
    assert [row.name for block in made.blocks if isinstance(block, Shares) for row in block.rows] == ["symptoms"]


def test_what_too_few_diseases_cannot_show_is_not_called_chance(report: Report) -> None:
    """Without an interval nothing is said of whether P(True) is off, in neither direction."""
    probabilities = report.probabilities
    off = replace(probabilities.off, defect=None)
    few = replace(probabilities, off=replace(off, shift=Estimate(0.4, None, None, 176)))
    enough = replace(probabilities, off=replace(off, shift=Estimate(0.01, -0.02, 0.04, 640)))
    said = findings.of_calibration({"m": replace(report, probabilities=few)})
    assert said == "Too few diseases to say whether the probability of “true” is off by more than chance"
    said = findings.of_calibration({"m": replace(report, probabilities=enough)})
    assert said == "It is not shown that the probability of “true” is off by more than chance"
