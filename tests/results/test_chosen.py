"""What was chosen for runs, and the falling line: the first two sections of Summary, in words and figures made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from recorded import complete_run
from records import with_figures
from small_facts import StubModel

from medfact.metrics.comparison import Contrast
from medfact.metrics.pressure import AfterPush, Pressure
from medfact.metrics.uncertainty import Estimate
from medfact.results.blocks import Curve, Section, Table
from medfact.results.report import Report, report_of
from medfact.results.sections import PAGE, Figures, sections_of
from medfact.results.text import latex_tables, report_text
from medfact.spec import RunSpec, describe_options
from medfact.store import RUNNING, Store


@pytest.fixture
def report(store: Store, facts_file: Any) -> Report:
    run = complete_run(
        RunSpec(model="answerer", facts=str(facts_file), limit=2, shots=0), store, load=StubModel(lambda prompt: "True").load
    )
    return report_of(store, store.run(run))


def sections(**reports: Report) -> list[Section]:
    return list(sections_of(Figures(reports), PAGE, "summary"))


def test_settings_that_are_as_usual_are_not_named() -> None:
    assert describe_options(RunSpec(model="m"), 0) == {}
    everything = RunSpec(
        model="m",
        asked_in="es",
        pressure=("doubt", "guideline"),
        retrieval="sparse",
        leave_out=True,
        stated=True,
        effort="high",
    )
    assert list(describe_options(everything, 5).values()) == [
        "In Spanish",
        "Pushed: “Are you sure?”, “Current guidelines say otherwise”",
        "With passages, the fact left out",
        "5 worked examples",
        "Confidence as stated",
        "Reasoning effort high",
    ]
    assert describe_options(RunSpec(model="m"), 1) == {"shots": "1 worked example"}


def test_a_run_without_a_choice_has_no_such_block(report: Report) -> None:
    assert report.chosen is None
    assert "What was chosen" not in [section.title for section in sections(m=report)]


def test_a_choice_stands_beside_the_same_model_without_it(report: Report) -> None:
    """In English 50 % of 32 statements, in Spanish 45 % of 32; another model in English says nothing of this one."""
    spanish = with_figures(report, chosen={"language": "In Spanish"}, average_accuracy=Estimate(0.45, 0.4, 0.5, 32))
    other = with_figures(report, model="other", average_accuracy=Estimate(0.9, 0.8, 1.0, 32))
    first, *_ = sections(other=other, one=report, two=spanish)
    assert first.title == "What was chosen"
    (table,) = first.blocks
    assert isinstance(table, Table)
    (row,) = table.rows
    assert (row.name, row.note, row.opens) == ("In Spanish", "two", {"tab": "statistics", "statistics": "runs"})
    cell = row.cells["with it"]
    assert cell.estimate == spanish.average_accuracy
    assert cell.many == "32 statements"
    english = report.average_accuracy
    assert english.value == 0.5
    assert cell.under[0].startswith("right answers; in English: 50.0% (")
    alone, *_ = sections(two=spanish)
    assert isinstance(alone.blocks[0], Table)
    assert alone.blocks[0].rows[0].cells["with it"].under == ("right answers",)
    told = report_text(spanish)
    assert told.index("What was chosen") < told.index("Scores")
    assert "In Spanish" in told
    assert "In Spanish" in latex_tables({"two": spanish})


def test_a_push_stands_beside_asking_again(report: Report) -> None:
    """Of 10 right answers 6 are kept after the push, 4 when merely asked again: the push's share is the row's."""
    share, less = Estimate(0.6, 0.3, 0.8, 10), {"held": Contrast(0.6, 0.4, 0.2, -0.1, 0.5, 10, 0.2, 0.2, -0.1, 0.5)}
    push = AfterPush("doubt", 1, share, share, share, share, share, less, {}, (), None, None)
    control = replace(push, kind="control", held=Estimate(0.4, 0.2, 0.7, 10), less_control={})
    pressed = replace(report, chosen={"pressure": "Pushed"}, pressure=Pressure(share, (control, push)))
    first, *_ = sections(m=pressed)
    assert isinstance(first.blocks[0], Table)
    cell = first.blocks[0].rows[0].cells["with it"]
    assert cell.estimate == share
    assert cell.under[0].startswith("still right after the costliest push, 40.0% (20.0–70.0%) when merely asked again; ")


def falls(report: Report, *shares: float) -> Report:
    points = tuple(Estimate(share, share / 2, share, 24) for share in shares)
    return with_figures(report, curves={**report.curves, "joint_any_order": points})


def test_the_falling_line_is_the_first_figure_once_a_run_has_ended(report: Report) -> None:
    one, two = falls(report, 0.87, 0.4, 0.02), falls(report, 0.6, 0.3, 0.1)
    first, *_ = sections(one=one, two=two)
    (curve,) = first.figures
    assert isinstance(curve, Curve)
    assert list(curve.lines) == ["one", "two"]
    assert [(step, point.value) for step, point in curve.lines["one"]] == [(1, 0.87), (2, 0.4), (3, 0.02)]
    assert curve.coin == (0.5, 0.25, 0.125)
    assert first.finding == (
        "one: 87.0% of 24 facts right, asked in one way; 2.0% (1.0–2.0%) in all 3. "
        "two: 60.0% of 24 facts right, asked in one way; 10.0% (5.0–10.0%) in all 3."
    )
    titles = [section.title for section in sections(one=replace(one, state=RUNNING))]
    assert first.title not in titles, "while it runs, the live line stands in its place"
    assert first.title not in [section.title for section in sections(one=falls(report, 0.5))], "one way of asking cannot fall"
