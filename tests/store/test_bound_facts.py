"""Facts of a time and place in databases and files of runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from run_files import export_run_file, pack_lines, parse_lines
from run_lines import FACTS, PLAN, import_run_file, statement_lines, store_stopped_run
from run_lines import environment as environment

from medfact.errors import Mistake
from medfact.metrics import measure
from medfact.metrics.records import of_these_facts
from medfact.prototypes import load_pool
from medfact.runs.board import Board
from medfact.store import Asked, Sheet, Store
from medfact.store.sheets import sheet_of


@pytest.fixture
def other(tmp_path: Path) -> Store:
    return Store(f"sqlite:///{tmp_path / 'other.db'}", owner="grace")


NEW = ("until", "region", "population")


def a_bound_run(store: Store, **bounds: str) -> str:
    facts = [replace(FACTS[0], **bounds, fact_id="")]
    facts.append(replace(facts[0].negative("old drug", None, 1), until="2004"))
    words = tuple(Asked(one, "symptoms / none") for one in load_pool("medfact").statements(facts))
    return store_stopped_run(store, plan=replace(PLAN, statements=words))


def test_time_place_and_people_are_kept_and_go_along_in_a_file(store: Store, other: Store) -> None:
    run = a_bound_run(store, region="Japan", population="children")
    data = export_run_file(store, run)
    import_run_file(other, data)
    assert other.answers.facts(run) == store.answers.facts(run)
    true, false = other.answers.facts(run)
    assert (true.region, true.population, true.until) == ("Japan", "children", None)
    assert (false.region, false.until) == ("Japan", "2004")
    assert other.answers.once_true(run) == [1]


def test_a_file_without_them_does_not_name_them(store: Store) -> None:
    lines = parse_lines(export_run_file(store, store_stopped_run(store)))
    assert not any(name in statement for statement in statement_lines(lines) for name in NEW)


def test_a_file_whose_fact_was_moved_elsewhere_is_refused(store: Store, other: Store) -> None:
    """The place is a part of what the fact says, and of its id."""
    lines = parse_lines(export_run_file(store, a_bound_run(store, region="Japan")))
    for statement in statement_lines(lines):
        statement["region"] = "Norway"
    with pytest.raises(Mistake, match="the id of its fact is another fact's"):
        import_run_file(other, pack_lines(lines))


def bound_sheet(*regions: str | None) -> Sheet:
    """The sheet of one triplet, said of several regions: a true fact each, of eight statements."""
    facts = [replace(FACTS[0], region=region, fact_id="") for region in regions]
    return sheet_of(Asked(one, "symptoms / none") for one in load_pool("medfact").statements(facts))


def test_what_is_said_of_two_regions_is_two_facts_in_every_count() -> None:
    """Of one region all eight answers are right, of the other one is wrong: one of two facts stands, and not none of one."""
    board = Board(bound_sheet("Japan", "France"))
    board.answer[:] = board.records().label
    board.answer[11] = 1 - board.answer[11]
    records = board.records()
    assert len(np.unique(records.triplet)) == 2
    assert (measure(records).facts, measure(records).standing) == (2, 1)
    assert len(np.unique(records.only(records.fact == 0).triplet)) == 1
    planned = of_these_facts(records, {"symptoms": 4})
    assert planned.unseen.tolist() == [0.5] * 16, "two of four facts were asked"


def test_facts_without_bounds_have_none() -> None:
    board = Board(bound_sheet(None))
    assert board.records().bounds is None
    assert Board(bound_sheet("Japan")).records().bounds is None, "all are said of the same people"
