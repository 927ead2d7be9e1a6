"""What is registered once is shown everywhere: a measure and a section of this file's own, with n and interval."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from html import escape, unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorded import complete_run
from small_facts import make_fact_rows, write_csv

from medfact.facts import Fact
from medfact.metrics.groupings import GROUPINGS, STATEMENT, Grouping, grouping
from medfact.metrics.measures import MEASURES, measured
from medfact.metrics.records import Facts, Records
from medfact.metrics.uncertainty import Estimate
from medfact.notebook import open_run
from medfact.results.blocks import Row, Section, Shares
from medfact.results.compare import Comparisons
from medfact.results.live import Reports
from medfact.results.sections import SECTIONS, Figures, section
from medfact.results.sections.answers import share_of
from medfact.results.wording import interval
from medfact.runs.jobs import Jobs
from medfact.spec import RunSpec
from medfact.statements import Statement
from medfact.store import Store
from medfact.views.report import html_report
from medfact.web.pages import Versioned, Visitor
from medfact.web.pages.evaluate import EvaluateShow, view
from medfact.web.services import Services

AT = "2026-11-24T02:00:00+00:00"


@pytest.fixture
def run(tmp_path: Path, store: Store) -> str:
    file = write_csv(tmp_path / "facts.csv", make_fact_rows(30))
    return complete_run(RunSpec(model="baseline:negation-cue", facts=str(file), shots=0), store)


@pytest.fixture
def page(store: Store) -> Iterator[Callable[..., str]]:
    """Shows runs on the page, as HTML."""
    jobs = Jobs(store)
    reports = Reports(store, jobs)
    services = Services(store, jobs, reports, Comparisons(store, reports))

    def shown(run: str, part: str, **more: Any) -> str:
        fragment = view(Visitor(services, "dora", ("dora",), run), EvaluateShow(run=run, **more)).fragments[part]
        drawn = fragment.draw() if isinstance(fragment, Versioned) else fragment
        return " ".join(unescape(re.sub(r"<[^>]+>", " ", drawn)).split())

    yield shown
    jobs.close()


@pytest.fixture
def measure() -> Iterator[None]:
    """The share of right answers to what is denied, registered as anybody would who computes it."""

    @measured("denied_accuracy", "right when denied", "denied accuracy: right answers over denied statements", always=True)
    def denied(records: Records, _: Facts) -> Estimate:
        return records.accuracy(records.negated)

    yield
    del MEASURES["denied_accuracy"]


def text_of(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def test_a_measure_is_shown_wherever_scores_are(
    measure: None, run: str, store: Store, page: Callable[..., str], medfact: Callable[..., Any]
) -> None:
    """“True unless denied” has half of all denied statements right."""
    found = json.loads(medfact("report", run, "--json", "--db", store.url).out)["denied_accuracy"]
    assert (found["value"], found["n"]) == (0.5, store.run(run).statements // 2)
    n, bounds = found["n"], f"{100 * found['low']:.1f}–{100 * found['high']:.1f}%"
    terminal = medfact("report", run, "--db", store.url).out
    assert re.search(rf"right when denied \(denied accuracy\) +50\.0% \({bounds}\) of {n} statements", terminal)
    assert f"50.0% of {n} statements, {bounds}" in page(run, "scores").partition("right when denied")[2]
    report = text_of(html_report(store, [run], AT)).partition("right when denied")[2]
    assert report.startswith(" denied accuracy: right answers over denied statements; a coin: 50%")
    assert f"50.0% of {n} statements, {bounds}" in report
    latex = medfact("report", run, "--latex", "--db", store.url).out.partition("{right when denied}")[2]
    assert re.search(rf"& 50\.0 & {100 * found['low']:.1f} to {100 * found['high']:.1f} & {n} ", latex.splitlines()[1])
    notebook = open_run(run, store.url).report()
    assert f"50.0% ({bounds}), n = {n}" in notebook._repr_html_()
    rows = notebook.frame().set_index("figure")
    assert rows.loc["denied_accuracy", "n"] == n
    again = open_run(run, store.url).report().reports[0]
    assert again.measure("denied_accuracy").n == n, "a report that was kept has it too"


@pytest.fixture
def affirmed_twice() -> Iterator[None]:
    """A measure whose coin depends on the run: two answers to each fact."""

    def coin(records: Records, facts: Facts) -> float:
        return 0.5 ** int(np.bincount(records.fact).min())

    @measured("rarest", "all of them", "rarest: facts with all answers right", of="fact", coin=coin, always=True)
    def rarest(_: Records, facts: Facts) -> Estimate:
        return facts.joint()

    yield
    del MEASURES["rarest"]


def test_a_coin_may_depend_on_the_run(
    affirmed_twice: None, run: str, store: Store, page: Callable[..., str], medfact: Callable[..., Any]
) -> None:
    made = json.loads(medfact("report", run, "--json", "--db", store.url).out)
    assert made["chance"]["rarest"] == 1 / 256
    assert list(made["chance"])[:3] == ["average_accuracy", "joint_accuracy", "pair_joint_accuracy"]
    assert "0.39% (1 in 256)" in page(run, "scores").partition("all of them")[2]
    report = text_of(html_report(store, [run], AT)).partition("all of them")[2]
    assert report.startswith(" rarest: facts with all answers right; a coin: 0.39% (1 in 256)")
    assert "all of them (rarest)" in medfact("report", run, "--db", store.url).out


def test_a_report_that_was_kept_before_a_measure_is_made_anew(run: str, store: Store, request: pytest.FixtureRequest) -> None:
    assert "denied_accuracy" not in open_run(run, store.url).report().reports[0].figures
    request.getfixturevalue("measure")
    assert open_run(run, store.url).report().reports[0].measure("denied_accuracy").value == 0.5


@pytest.fixture
def by_truth() -> Iterator[None]:
    """A table of right answers, and a figure that follows from it, registered as the average is."""

    @measured("by_truth", kind=Mapping[str, Estimate])
    def table(records: Records, _: Facts) -> dict[str, Estimate]:
        return {"true": records.accuracy(records.positive), "false": records.accuracy(~records.positive)}

    @measured("truths", kind=tuple[str, ...], derived=True)
    def truths(figures: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(figures["by_truth"])

    yield
    del MEASURES["by_truth"], MEASURES["truths"]


def test_a_table_is_registered_as_the_average_is(by_truth: None, run: str, store: Store, medfact: Callable[..., Any]) -> None:
    printed = json.loads(medfact("report", run, "--json", "--db", store.url).out)
    assert (printed["by_truth"]["true"], printed["by_truth"]["false"]) == (
        printed["positive_accuracy"],
        printed["negative_accuracy"],
    )
    assert printed["truths"] == ["true", "false"]
    computed, stored = (open_run(run, store.url).report() for _ in range(2))
    report = stored.reports[0]
    assert report.figures["by_truth"] == {"true": report.positive_accuracy, "false": report.negative_accuracy}
    assert report.figures == computed.reports[0].figures, "read back with its types"
    assert set(report.figures) == set(MEASURES), "nothing is in a report that is not registered"
    rows = stored.frame()
    assert set(rows[rows.group == "by_truth"]["name"]) == {"true", "false"}


def statement_length(statement: Statement) -> str:
    return "long" if len(statement.text) > 60 else "short"


def name_ending(fact: Fact) -> str:
    return "odd" if fact.head[-1] in "13579" else "even"


@pytest.fixture(params=["statement", "fact"])
def groups(request: pytest.FixtureRequest) -> Iterator[Grouping]:
    """A grouping of statements and one of facts, registered as anybody would who asks what answers depend on."""
    if request.param == "statement":
        grouping("length", "length of the <i>statement", STATEMENT)(statement_length)
    else:
        grouping("length", "ending of the <i>name")(name_ending)
    yield GROUPINGS["length"]
    del GROUPINGS["length"], MEASURES["by_length"]


def test_a_grouping_is_shown_wherever_results_are(
    groups: Grouping, run: str, store: Store, page: Callable[..., str], medfact: Callable[..., Any]
) -> None:
    made = json.loads(medfact("report", run, "--json", "--db", store.url).out)["by_length"]
    items = store.answers.asked(run)
    names = [str(groups.groups_of(item.statement if groups.reads == STATEMENT else item.statement.fact)) for item in items]
    right = [item.answer.answer == item.statement.label for item in items if item.answer]
    assert {name: (of["n"], of["value"]) for name, of in made.items()} == {
        name: (names.count(name), pytest.approx(sum(map(lambda n, r: n == name and r, names, right)) / names.count(name)))
        for name in sorted(set(names))
    }
    assert len(made) > 1
    name, figure = next(iter(made.items()))
    n, share, bounds = f"{figure['n']:,}", f"{100 * figure['value']:.1f}%", interval(Estimate(**figure))
    title = f"Right answers by {groups.title}"
    terminal = medfact("report", run, "--db", store.url).out
    assert title in terminal
    assert re.search(rf"{name} +{re.escape(share)}.*{n} statements", terminal.partition(title)[2])
    shown = page(run, "tab", tab="groups", group="length")
    assert title in shown
    assert f"{name} {share} of {n} statements, {bounds}" in shown
    assert shown.count("Right answers by") == 2, "the choice, and this section alone"
    html = html_report(store, [run], AT)
    assert escape(title) in html
    assert f"{name} {share} of {n} statements, {bounds}" in text_of(html)
    latex = medfact("report", run, "--latex", "--db", store.url).out
    assert r"\label{tab:medfact-by-length}" in latex
    assert f"& {n} " in latex.partition(f"{{{name}}}")[2].splitlines()[1]
    figures = open_run(run, store.url).report()
    assert figures.figure("length").data[0].customdata[0][0] == f"{n} statements"
    rows = figures.frame()
    assert set(rows[rows.group == "by_length"]["name"]) == set(made)
    assert figures.reports[0].by_length == open_run(run, store.url).report().reports[0].by_length, "made, and kept"


def test_facts_are_filtered_by_a_grouping(groups: Grouping, run: str, store: Store, page: Callable[..., str]) -> None:
    members: dict[str, set[int]] = {}
    for item in store.answers.asked(run):
        subject = item.statement if groups.reads == STATEMENT else item.statement.fact
        members.setdefault(str(groups.groups_of(subject)), set()).add(item.fact)
    if len({*map(frozenset, members.values())}) > 1:
        assert " ".join(sorted(members)) in page(run, "tab", tab="facts"), "the choices of the filter"
    for name, numbers in members.items():
        listed = re.findall(r"\d+/8\b", page(run, "tab", tab="facts", within=f"length:{name}"))
        assert len(listed) == min(len(numbers), 20), "a page of them"
    assert "No fact passes these filters." in page(run, "tab", tab="facts", within="length:none")


def test_an_unknown_choice_of_groups_is_the_relation(run: str, page: Callable[..., str]) -> None:
    assert page(run, "tab", tab="groups", group="no such") == page(run, "tab", tab="groups", group="relation")


@pytest.fixture(params=["groups", "my tab"])
def chart(request: pytest.FixtureRequest) -> Iterator[str]:
    """Right answers to what holds and to what does not, in a tab that is there and in a new one."""

    @section("by truth", 300, tab=request.param)
    def by_truth(figures: Figures) -> Section:
        of = {"facts that hold": "positive_accuracy", "false facts": "negative_accuracy"}
        rows = tuple(
            Row(name, {run: share_of(report.measure(one), "statement") for run, report in figures.reports.items()})
            for name, one in of.items()
        )
        shares = Shares(name="truth", label="by truth", heading="fact", rows=rows, finding="My finding <b>")
        return Section("Right answers by truth", (shares,))

    yield request.param
    del SECTIONS["by truth"]


def test_a_section_is_drawn_wherever_results_are(
    chart: str, run: str, store: Store, page: Callable[..., str], medfact: Callable[..., Any]
) -> None:
    terminal = medfact("report", run, "--db", store.url).out
    assert "Right answers by truth: My finding <b>" in terminal
    line = next(line for line in terminal.splitlines() if line.strip().startswith("false facts "))
    (share, bounds, n) = re.findall(r"(\d+\.\d%) \((.*?)\) of ([\d,]+) statements", line)[0]
    shown = page(run, "tab", tab=chart)
    assert "My finding <b>" in shown
    assert f"false facts {share} of {n} statements, {bounds}" in shown
    html = html_report(store, [run], AT)
    drawn = html.partition("<figcaption>My finding &lt;b&gt;</figcaption>")[2].partition("</figure>")[0]
    assert f"false facts: {share} of {n} statements, {bounds}" in drawn, "the figure"
    assert f"false facts {share} of {n} statements, {bounds}" in text_of(html), "the table"
    latex = medfact("report", run, "--latex", "--db", store.url).out
    assert r"\label{tab:medfact-truth}" in latex
    assert f"& {n} " in latex.partition("{false facts}")[2].splitlines()[1]
    figure = open_run(run, store.url).report().figure("by truth")
    assert figure.data[0].x[1] == pytest.approx(float(share.rstrip("%")), abs=0.05)
    assert figure.data[0].customdata[1][0] == f"{n} statements"
    assert figure.data[0].error_x.array[1] > 0
