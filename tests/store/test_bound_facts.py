"""Facts of a time and place in databases and files of runs: older ones open, and what is older refuses them."""

from __future__ import annotations

import io
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sql
from old_databases import shape, working_on
from run_lines import FACTS, PLAN, a_run, exported, lines_of, packed, statements_in, taken
from run_lines import environment as environment

from medfact.errors import Mistake
from medfact.metrics import measure
from medfact.metrics.records import of_these_facts
from medfact.prototypes import load_pool
from medfact.runs.board import Board
from medfact.store import SCHEMA_VERSION, Asked, Sheet, Store
from medfact.store.sheets import readable_sheet, sheet_of


@pytest.fixture
def other(tmp_path: Path) -> Store:
    return Store(f"sqlite:///{tmp_path / 'other.db'}", owner="grace")


NEW = ("until", "region", "population")


def made_18(url: str) -> str:
    """A run of a database as schema 18 left it: without the three columns, and that of later verdicts."""
    run = a_run(Store(url))
    with working_on(url) as connection:
        for name in NEW:
            connection.execute(sql.text(f"ALTER TABLE facts DROP COLUMN {name}"))
        connection.execute(sql.text("ALTER TABLE verdicts DROP COLUMN language"))
        for name in ("head", "relation", "confirmed"):
            connection.execute(sql.text(f"ALTER TABLE rejections DROP COLUMN {name}"))
        connection.execute(sql.text("UPDATE schema_version SET version = 18"))
    return run


def test_a_database_of_schema_18_opens_with_its_facts_as_they_were(either_url: str) -> None:
    fresh = Store(either_url)
    before = fresh.answers.facts(a_run(fresh))
    run = made_18(either_url)
    store = Store(either_url)
    assert store.answers.facts(run) == before
    assert [fact.fact_id for fact in store.answers.facts(run)] == [fact.fact_id for fact in before]
    assert shape(either_url)["version"] == [SCHEMA_VERSION]
    assert {name for name, *_ in shape(either_url)["facts"]["columns"]} >= set(NEW)
    assert store.answers.once_true(run) == []


def a_bound_run(store: Store, **bounds: str) -> str:
    facts = [replace(FACTS[0], **bounds, fact_id="")]
    facts.append(replace(facts[0].negative("old drug", None, 1), until="2004"))
    words = tuple(Asked(one, "symptoms / none") for one in load_pool("medfact").statements(facts))
    return a_run(store, plan=replace(PLAN, statements=words))


def test_time_place_and_people_are_kept_and_go_along_in_a_file(store: Store, other: Store) -> None:
    run = a_bound_run(store, region="Japan", population="children")
    data = exported(store, run)
    assert lines_of(data)[0]["format"] == 8
    taken(other, data)
    assert other.answers.facts(run) == store.answers.facts(run)
    true, false = other.answers.facts(run)
    assert (true.region, true.population, true.until) == ("Japan", "children", None)
    assert (false.region, false.until) == ("Japan", "2004")
    assert other.answers.once_true(run) == [1]


def test_a_run_without_them_is_in_a_format_that_older_versions_read(store: Store) -> None:
    lines = lines_of(exported(store, a_run(store)))
    assert lines[0]["format"] == 4
    assert not any(name in statement for statement in statements_in(lines) for name in NEW)


def test_a_file_whose_fact_was_moved_elsewhere_is_refused(store: Store, other: Store) -> None:
    """The place is a part of what the fact says, and of its id."""
    lines = lines_of(exported(store, a_bound_run(store, region="Japan")))
    for statement in statements_in(lines):
        statement["region"] = "Norway"
    with pytest.raises(Mistake, match="the id of its fact is another fact's"):
        taken(other, packed(lines))


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
    assert planned.unseen is not None
    assert planned.unseen.tolist() == [0.5] * 16, "two of four facts were asked"


def test_facts_without_bounds_are_counted_as_before() -> None:
    board = Board(bound_sheet(None))
    assert board.records().bounds is None
    assert Board(bound_sheet("Japan")).records().bounds is None, "all are said of the same people"


def test_a_kept_sheet_that_may_take_two_regions_for_one_is_made_anew() -> None:
    def kept(sheet: Sheet) -> bytes:
        """A sheet as the second edition kept it."""
        buffer = io.BytesIO()
        arrays = {f.name: getattr(sheet, f.name) for f in fields(sheet) if f.name != "bounds"}
        np.savez_compressed(buffer, edition=np.array(2), **arrays)
        return buffer.getvalue()

    two, one = bound_sheet("Japan", None), bound_sheet("Japan")
    assert readable_sheet(kept(two)) is None
    again = readable_sheet(kept(one))
    assert again is not None
    assert again.bounds.tolist() == [0]
    assert readable_sheet(two.to_bytes()) is not None
