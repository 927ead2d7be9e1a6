"""The arrows of PretextTrans' tables: a paper's own are differences of its figures, those of one's runs are paired by fact."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from markupsafe import Markup
from recorded import complete_run
from records import make_forty_records
from small_facts import write_csv

from medfact.metrics.comparison import contrasts
from medfact.results.compare import Side, across_of_papers, sides_of
from medfact.results.live import Live, Version
from medfact.results.papers import CHANCE, PUBLISHED, RUN, PaperFigure, PaperTable, describe_arrow, tables
from medfact.results.report import Report, report_of
from medfact.spec import RunSpec
from medfact.store import Store
from medfact.web.pages.papers import papers_tab


@pytest.fixture
def runs(tmp_path: Path, store: Store) -> list[str]:
    """Always true, of 25 true facts: asked in PretextTrans' eight ways, of which four deny, and in the data set's one."""
    rows = [{"head": f"disease {n}", "relation": "therapeutic drugs", "tail": f"drug {n}"} for n in range(30)]
    facts = str(write_csv(tmp_path / "facts.csv", rows))
    made = []
    for pool in ("pretexttrans-disek", "origin"):
        spec = RunSpec("baseline:always-true", facts=facts, protocol="pretexttrans", shots=0, negatives=0, pool=pool)
        made.append(complete_run(spec, store))
    return made


@pytest.fixture
def reports(runs: list[str], store: Store) -> list[Report]:
    return [report_of(store, store.run(run)) for run in runs]


def rephrased(side: Side) -> Side:
    """The same run, as if a model had rephrased its sentences."""
    return replace(side, run=replace(side.run, spec=replace(side.run.spec, writer="openai:writer")))


def row_of(tables_of: list[PaperTable], name: str, model: str, dataset: str = "") -> dict[str, Any]:
    """Column → arrow."""
    (table,) = (one for one in tables_of if one.name == name)
    (row,) = (row for row in table.rows if row.model == model and row.detail.startswith(dataset))
    return dict(zip(table.columns, row.arrows, strict=True))


def test_a_papers_own_arrows_are_differences_of_its_figures() -> None:
    """On MedLAMA, Gemma-7B: 73.3, 61.1 (↓12.2), 59.4 (↓13.9). Llama3-70B: −LogImp 83.0 against 76.9 (↑6.1); 83.0 plainly, then
    80.6 (↓2.4), 76.9 (↓6.1). The paper subtracts before it rounds, so that some of its arrows are 0.1 off."""
    made = tables([], "pretexttrans")
    first = row_of(made, "Table 3", "Gemma-7B", "MedLAMA")
    assert first["Origin"] is None
    assert first["LLMEval"] == (pytest.approx(0.611 - 0.733), None, None, None)
    assert describe_arrow(first["PretextTrans"]) == "↓13.9"
    parts = row_of(made, "Table 13", "Llama3-70B", "MedLAMA")
    assert describe_arrow(parts["−LogImp"]) == "↑6.1"
    steps = row_of(made, "Table 14", "Llama3-70B", "MedLAMA")
    assert steps["None"] is None
    assert [describe_arrow(steps[name]) for name in ("+DN", "+All")] == ["↓2.4", "↓6.1"]
    assert not any(arrow for table in made for row in table.rows if row.origin == CHANCE for arrow in row.arrows)


def test_arrows_within_a_run_are_paired_by_fact(reports: list[Report]) -> None:
    """Ten of 40 facts are right plainly alone: 1 against 1/2 of two ways, 1/4 of four, 1/8 of eight, so that the falls are
    10/40 · 1/2 = 0.125, 10/40 · 3/4 = 0.1875 and 10/40 · 7/8 = 0.21875."""
    found = contrasts(make_forty_records(40))
    report = replace(reports[0], contrasts=found)
    arrows = row_of(tables([report], "pretexttrans"), "Table 14", "always says true")
    assert arrows["None"] is None
    assert [(arrows[name].value, arrows[name].n) for name in ("+DN", "+DN+Inv", "+All")] == [
        (-0.125, 40), (-0.1875, 40), (-0.21875, 40)
    ]  # fmt: skip
    whole = found["plain_less_all"]
    assert (arrows["+All"].low, arrows["+All"].high) == (-whole.high, -whole.low)
    part = row_of(tables([replace(report, rephraser="openai:writer")], "pretexttrans"), "Table 13", "always says true")
    assert (part["−LogImp"].value, part["−LogImp"].low) == (0.21875, whole.low)
    assert part["−LMReph"] is None, "no run without a rephraser stands beside it"


@pytest.mark.parametrize("turned", [False, True])
def test_arrows_between_runs_are_paired_by_fact(turned: bool, runs: list[str], reports: list[Report], store: Store) -> None:
    """Who says always True is right on the one plain statement, and on four of eight: 1/2 less 1, whichever run is first."""
    eight, plain = sides_of(store, runs)
    sides = [rephrased(eight), plain]
    both = [replace(reports[0], rephraser="openai:writer"), reports[1]]
    across = across_of_papers(sides[::-1] if turned else sides)
    arrows = row_of(tables(both[::-1] if turned else both, "pretexttrans", across), "Table 3", "always says true")
    assert arrows["Origin"] is arrows["LLMEval"] is None
    assert (arrows["PretextTrans"].value, arrows["PretextTrans"].n) == (-0.5, 25)
    assert row_of(tables(both, "pretexttrans"), "Table 3", "always says true")["PretextTrans"] is None, "nothing compares them"


def test_the_part_without_rephrasing_is_paired_with_the_whole(runs: list[str], reports: list[Report], store: Store) -> None:
    """Two runs that answer alike: −LMReph is 0.0 points off; −LogImp is 1 less 1/2."""
    again = complete_run(store.run(runs[0]).spec, store)
    bare, other = sides_of(store, [runs[0], again])
    whole = replace(report_of(store, store.run(again)), rephraser="openai:writer")
    across = across_of_papers([bare, rephrased(other)])
    arrows = row_of(tables([reports[0], whole], "pretexttrans", across), "Table 13", "always says true")
    assert (arrows["−LMReph"].value, arrows["−LMReph"].n) == (0.0, 25)
    assert (arrows["−LogImp"].value, arrows["−LogImp"].n) == (0.5, 25)


def test_runs_of_other_models_or_other_parts_are_not_compared(runs: list[str], store: Store) -> None:
    eight, plain = sides_of(store, runs)
    other = replace(plain, run=replace(plain.run, model="baseline:random"))
    assert across_of_papers([eight, plain]) == [], "Table 3 has no column for sentences that nothing rephrased"
    assert across_of_papers([rephrased(eight), other]) == []


def test_arrows_in_words() -> None:
    assert describe_arrow(None) == describe_arrow(PaperFigure(None)) == ""
    assert describe_arrow(PaperFigure(0.019)) == "↑1.9"
    assert describe_arrow(PaperFigure(-0.0001, -0.02, 0.02, 40)) == "0.0 points (−2.0 to +2.0), n = 40 facts"
    assert describe_arrow(PaperFigure(-0.125, None, None, 1)) == "↓12.5 points (too few diseases to say), n = 1 fact"


def test_files_and_pages_tell_arrows(runs: list[str], store: Store, medfact: Callable[..., Any]) -> None:
    """True alone: right plainly, and in half of two ways, of four, of eight: 50 points down each time."""
    out = medfact("tables", runs[0], "--paper", "pretexttrans", "--db", store.url).out
    rows = [row for row in map(json.loads, out.splitlines()) if (row["table"], row["from"]) == ("Table 14", RUN)]
    assert [(row["column"], row["difference"], row["difference_n"], row["less"]) for row in rows] == [
        ("None", None, None, None), ("+DN", -0.5, 25, "None"), ("+DN+Inv", -0.5, 25, "None"), ("+All", -0.5, 25, "None")
    ]  # fmt: skip
    assert rows[1]["difference_low"] <= -0.5 <= rows[1]["difference_high"]
    theirs = [row for row in map(json.loads, out.splitlines()) if row["from"] == PUBLISHED and row["less"]]
    assert theirs
    assert all(row["difference_low"] is row["difference_n"] is None for row in theirs)


def test_the_page_draws_them(runs: list[str], reports: list[Report], store: Store) -> None:
    run = store.run(runs[0])
    report = replace(reports[0], contrasts=contrasts(make_forty_records(40)))
    live = Live(run, None, report, Version(run.changed, run.state, 0), run.state)
    shown = papers_tab({"always says true": live}, SimpleNamespace(paper="pretexttrans"), Markup(), ())
    assert "↓21.9 points (" in shown
    assert "n = 40 facts" in shown
    assert "↓13.9</span>" in shown, "Gemma-7B in the paper's Table 3"
    assert "the difference from “None”, in points" in shown
