"""One model over time: which runs stand on one line, what is said of each date, and who sees it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from asked_updates import OWNER
from asked_updates import services as services
from served_runs import complete_run_on
from small_facts import make_fact_rows, write_csv

from medfact.models.prompt import Served
from medfact.results.blocks import Note, Shares
from medfact.results.compare import pairs_of
from medfact.results.drift import (
    CHANGED,
    HEAD,
    MAX_DATES,
    Moment,
    describe_changes,
    describe_served,
    drift_section,
)
from medfact.results.drift import Served as Said
from medfact.results.report import Side, board_of, report
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Store
from medfact.web.pages import Visitor
from medfact.web.services import Services
from medfact.web.updates import PAGES, Question
from medfact.web.updates import answer as updates

AUGUST, NOVEMBER = Served("model-2026-08", "fp_a"), Served("model-2026-11", "fp_b")


@pytest.fixture
def spec(tmp_path: Path) -> RunSpec:
    """14 diseases with 3 facts each, and a false partner of each fact: 84 facts."""
    return RunSpec(model="openai:model", facts=str(write_csv(tmp_path / "facts.csv", make_fact_rows())), shots=0, limit=42)


@pytest.fixture
def store(services: Services) -> Store:
    return services.store.of(OWNER)


def _moments(store: Store, runs: list[str]) -> list[Moment]:
    sides = [Side(store.run(run), board_of(store, run)) for run in runs]
    return [Moment(side, report(side.run, side.board.records(), store)) for side in sides]


def _drift(services: Services, owner: str = OWNER, **show: str) -> str:
    visitor = Visitor(services, owner, (owner,), services.store.runs("demonstration")[0].run)
    return str(json.loads(updates(visitor, PAGES["runs"], Question(page="runs", show=show)))["fragments"]["drift"])


def test_each_date_has_its_share_and_the_change_since_the_first(store: Store, spec: RunSpec) -> None:
    """Every third fact is missed in the end, at least one of each disease: of n facts, what is missed is ⌈n / 3⌉ of them."""
    first = complete_run_on(store, spec, "2026-09-07", AUGUST)
    n = store.run(first).facts
    missed = range(0, n, 3)
    runs = [
        first,
        complete_run_on(store, spec, "2026-09-14", AUGUST),
        complete_run_on(store, spec, "2026-09-21", NOVEMBER, missed),
    ]
    moments = _moments(store, runs)
    same, fell = pairs_of([moment.side for moment in moments], "dates")
    assert (same.value, same.is_shown) == (0.0, False)
    assert fell.value == pytest.approx(-len(missed) / n)
    assert fell.is_shown
    section = drift_section("drift", moments, 3)
    figure, changed, _ = section.blocks
    assert isinstance(figure, Shares)
    assert isinstance(changed, Note)
    cells = [row.cells[HEAD] for row in figure.rows]
    assert [cell.estimate.value for cell in cells if cell.estimate] == [1.0, 1.0, pytest.approx(1 - len(missed) / n)]
    assert [cell.many for cell in cells] == [f"{n} facts"] * 3
    assert [cell.shown for cell in cells] == [False, False, True]
    assert [row.name for row in figure.rows] == ["7 Sep 2026, 06:00", "14 Sep 2026, 06:00", f"21 Sep 2026, 06:00\n{CHANGED}"]
    assert changed.lines == (
        "21 Sep 2026, 06:00: served as model-2026-11, before as model-2026-08; system fingerprint fp_b, before fp_a",
    )
    assert figure.finding.startswith("Fewer facts with all answers right than on 7 Sep 2026: 100.0% then, ")
    assert "No change in facts" in drift_section("drift", moments[:2], 2).finding


def test_a_line_is_told_once_a_model_was_asked_the_same_twice(services: Services, store: Store, spec: RunSpec) -> None:
    first = complete_run_on(store, spec, "2026-09-07", AUGUST)
    assert _drift(services) == ""
    stopped = start(spec, store)
    assert _drift(services) == "", f"{stopped} has no answer"
    second = complete_run_on(store, spec, "2026-09-14", AUGUST, range(9))
    closed = _drift(services)
    assert "2 runs" in closed
    assert "data-plot" not in closed
    assert 'aria-expanded="false"' in closed
    opened = _drift(services, drift=f"{first}@1")
    assert 'aria-expanded="true"' in opened
    assert "data-plot" in opened
    assert opened.count('<th scope="row">') == 2, "the same as a table"
    assert "points since the first" in opened
    assert second not in opened, "who sees a date gets no link that was not asked for"


@pytest.mark.parametrize(
    "more",
    [
        {"model": "openai:another"},
        {"limit": 30},
        {"seed": 1},
        {"protocol": "mkj"},
        {"shots": 2},
        {"shot_seed": 5, "shots": 2},
        {"service": "https://elsewhere.example/v1"},
    ],
)
def test_what_was_asked_otherwise_stands_on_another_line(
    services: Services, store: Store, spec: RunSpec, more: dict[str, Any]
) -> None:
    complete_run_on(store, spec, "2026-09-07", AUGUST)
    if "service" in more:
        more = {"service": replace(spec.service, base_url=more["service"])}
    complete_run_on(store, replace(spec, **more), "2026-09-14", AUGUST)
    assert _drift(services) == ""


def test_others_see_a_line_only_of_published_runs(services: Services, store: Store, spec: RunSpec) -> None:
    runs = [complete_run_on(store, spec, f"2026-09-{day:02}", AUGUST) for day in (7, 14, 21)]
    assert "3 runs" in _drift(services)
    for of in ("", "published"):
        assert _drift(services, "stranger", of=of, drift=runs[0]) == ""
    for run in runs[1:]:
        services.store.publications.publish(run, "canary")
    assert _drift(services, "stranger", drift=runs[0]) == ""
    assert "2 runs" in _drift(services, "stranger", of="published", drift=runs[0])
    assert "7 Sep 2026" not in _drift(services, "stranger", of="published", drift=runs[1]), "it is not published"
    assert "3 runs" in _drift(services)


def test_many_dates_are_drawn_as_the_first_and_the_newest(store: Store, spec: RunSpec) -> None:
    moments = _moments(store, [complete_run_on(store, spec, f"2026-09-{day:02}", AUGUST) for day in (7, 14)])
    *_, about = drift_section("drift", moments, MAX_DATES + 22).blocks
    assert isinstance(about, Note)
    assert "Of 52 dates the first and the newest 1 are shown." in about.lines[0]


def test_what_answered_is_said_and_what_is_not_known_is_no_change() -> None:
    a, b, unknown, weights = Said(("m-1",), ("fp_1",)), Said(("m-2",), ("fp_1",)), Said(), Said(revision="abc")
    assert describe_served(a) == "served as m-1, system fingerprint fp_1"
    assert describe_served(weights) == "weights abc"
    assert describe_changes(a, b) == "served as m-2, before as m-1"
    assert describe_changes(a, a) == describe_changes(a, unknown) == describe_changes(unknown, a) == ""
    assert describe_changes(weights, Said(revision="abd")) == "weights abd, before abc"
    many = describe_served(Said((), tuple(f"fp_{n}" for n in range(9))))
    assert many == "system fingerprint fp_0 and fp_1 and fp_2 and fp_3 and 5 more"


def test_names_that_a_service_gives_are_text(services: Services, store: Store, spec: RunSpec) -> None:
    runs = [
        complete_run_on(store, spec, f"2026-09-{day:02}", Served("<img src=x onerror=alert(1)>" + "x" * 500, None))
        for day in (7, 14)
    ]
    opened = _drift(services, drift=runs[0])
    assert "<img" not in opened
    assert "&lt;img src=x" in opened
    assert not re.search("x{100}", opened)
