"""When contrasts are made, and when the report of a run that has ended is kept."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest
from recorded import complete_run

from medfact.metrics import Records, record_of
from medfact.metrics.comparison import contrasts
from medfact.results import report as reports
from medfact.results.live import Reports
from medfact.results.report import board_of, kept_report, report
from medfact.runs.jobs import Jobs
from medfact.spec import RunSpec
from medfact.store import Store


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Records]]:
    """Of which records contrasts were made."""
    of: list[Records] = []

    def contrasts_of(records: Records) -> object:
        of.append(records)
        return contrasts(records)

    reports._contrasts.cache_clear()  # type: ignore[attr-defined]
    monkeypatch.setattr(reports, "contrasts", contrasts_of)
    yield of
    reports._contrasts.cache_clear()  # type: ignore[attr-defined]


def asked(store: Store) -> str:
    """A run of 12 pairs in eight ways, which are 192 statements."""
    return complete_run(RunSpec(model="baseline:random", limit=12, shots=0), store)


def test_contrasts_are_made_when_somebody_looks_at_them(store: Store, made: list[Records]) -> None:
    run = asked(store)
    records = board_of(store, run).records()
    found = report(store.run(run), records, store)
    assert found.joint_accuracy.n == 24
    assert not made
    assert dict(found.contrasts) == contrasts(records) != {}
    assert "plain_less_all" in found.contrasts
    assert record_of(found)["contrasts"] == record_of(contrasts(records))
    assert len(made) == 1, "and once for all"


def test_what_they_are_made_of_goes_when_they_are_made(store: Store) -> None:
    reports._contrasts.cache_clear()  # type: ignore[attr-defined]
    run = asked(store)
    records = board_of(store, run).records()
    found, there = report(store.run(run), records, store), weakref.ref(records)
    assert len(found.contrasts) > 1
    assert "low" in record_of(found)["average_accuracy"], "all of its figures are computed"
    del records
    gc.collect()
    assert there() is None


def test_those_of_a_long_run_are_made_at_once(store: Store, made: list[Records], monkeypatch: pytest.MonkeyPatch) -> None:
    run = asked(store)
    records = board_of(store, run).records()
    for longest, times in ((192, 0), (191, 1)):
        monkeypatch.setattr(reports, "LATER", longest)
        report(store.run(run), records, store)
        assert len(made) == times


def test_a_report_is_shown_before_it_is_kept_whole(store: Store, made: list[Records], monkeypatch: pytest.MonkeyPatch) -> None:
    run, jobs = asked(store), Jobs(store)
    try:
        with monkeypatch.context() as until_then:
            until_then.setattr("medfact.results.live.Worker.submit", lambda *_: None)
            shown = Reports(store, jobs).live(run).report
            assert (shown.answered, kept_report(store, store.run(run)), made) == (192, None, [])
        later = Reports(store, jobs)
        later.live(run)
        later.worker.tasks.join()
    finally:
        jobs.close()
    kept = kept_report(store, store.run(run))
    assert record_of(kept) == record_of(shown)
    assert kept.contrasts
