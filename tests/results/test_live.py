"""Reports of runs that go on: of all answers where a run has ended meanwhile, and none that fails unseen."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from medfact.errors import UnknownName
from medfact.metrics.records import LIKE, THESE
from medfact.results import live, report
from medfact.results.live import Live, Reports, Worker
from medfact.runs.board import board_of
from medfact.runs.jobs import Jobs
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import News, Store

ALL = 64
"""Statements of four pairs in eight ways."""


@pytest.fixture
def reports(store: Store) -> Iterator[Reports]:
    jobs = Jobs(store)
    yield Reports(store, jobs)
    jobs.close()


@pytest.fixture
def run(store: Store) -> str:
    return start(RunSpec(model="baseline:random", limit=4, shots=0), store)


def test_what_is_taken_away_has_all_answers_of_a_run_that_ended_while_its_figures_were_made(
    run: str, store: Store, reports: Reports, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The figures are begun while no statement is answered; before they are made, the run ends."""
    made, begins, ended = report.report, threading.Event(), threading.Event()

    def slowly(*arguments: Any) -> Any:
        figures = made(*arguments)
        begins.set()
        ended.wait()
        return figures

    monkeypatch.setattr(report, "report", slowly)
    taken: list[Live] = []
    readers = [threading.Thread(target=lambda: taken.append(reports.final_report(run))) for _ in range(2)]
    readers[0].start()
    begins.wait()
    readers[1].start()
    for _ in answer(run, store):
        pass
    ended.set()
    for reader in readers:
        reader.join()
    assert [(one.report.answered, one.report.state, one.behind) for one in taken] == [(ALL, "complete", False)] * 2


def test_figures_that_cannot_be_made_leave_their_traceback(
    run: str, store: Store, reports: Reports, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    reports.live(run)
    for _ in answer(run, store):
        pass

    def broken(*_: object) -> object:
        raise ZeroDivisionError("a measure divides by nothing")

    monkeypatch.setattr(report, "report", broken)
    monkeypatch.setattr(live, "INLINE_STATEMENTS", 0)
    assert reports.live(run).behind
    reports.worker.tasks.join()
    assert "Traceback" in caplog.text
    assert "in broken" in caplog.text
    assert "a measure divides by nothing" in caplog.text
    with pytest.raises(ZeroDivisionError):
        reports.live(run)


def test_a_report_that_cannot_be_kept_is_shown_and_leaves_its_traceback(
    run: str, store: Store, reports: Reports, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in answer(run, store):
        pass

    def broken(*_: object) -> None:
        raise TypeError("no JSON")

    monkeypatch.setattr(live, "store_report", broken)
    assert reports.live(run).report.answered == ALL
    reports.worker.tasks.join()
    assert "TypeError: no JSON" in caplog.text


def test_a_delayed_task_leaves_the_interpreter_to_the_requests_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that is to start in an hour is waited for about as long; one without a delay, not at all."""
    slept: list[float] = []
    monkeypatch.setattr(live, "time", SimpleNamespace(monotonic=lambda: 1_000.0, sleep=slept.append))
    worker = Worker()
    worker.submit("update", "ada", lambda: None)
    worker.submit("store", "ada", lambda: None, delay=3_600)
    worker.tasks.join()
    assert {0, 3_600} <= {*slept}


def test_a_run_deleted_before_its_update_is_no_error(
    run: str, store: Store, reports: Reports, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    seen = reports.live(run)
    store.delete(run)
    reports._submit_update(seen)
    reports.worker.tasks.join()
    assert caplog.text == ""
    with pytest.raises(UnknownName):
        reports.live(run)


def test_the_page_shows_the_last_figures_of_a_large_run_until_newer_ones_are_computed(
    run: str, store: Store, reports: Reports, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "INLINE_STATEMENTS", 0)
    first = reports.live(run)
    for _ in answer(run, store):
        pass
    seen = reports.live(run)
    assert (seen.report is first.report, seen.behind) == (True, True)
    reports.worker.tasks.join()
    newest = reports.live(run)
    assert (newest.report.answered, newest.behind) == (ALL, False)


def test_each_estimand_has_its_own_intervals(run: str, store: Store, reports: Reports) -> None:
    for _ in answer(run, store):
        pass
    like = reports.live(run)
    these = reports.with_estimand(like, THESE)
    assert [reports.with_estimand(like, name).report.estimand for name in (LIKE, THESE, LIKE)] == [LIKE, THESE, LIKE]
    assert reports.with_estimand(like, THESE).report is these.report


def test_records_hold_an_answer_and_its_probability_of_the_same_moment(run: str, store: Store) -> None:
    """Another thread brings the first statement's answer while the records are copied."""
    board = board_of(store, run)
    news = News(board.changed + 1, np.array([0]), np.array([1], np.int8), np.array([0.9]), np.array([1.0]))
    writer = threading.Thread(target=board.take, args=(news,))

    class Copied(np.ndarray[Any, Any]):
        def copy(self, *_: Any, **__: Any) -> Any:
            writer.start()
            writer.join(0.5)  # it waits for the copy
            return np.array(self)

    board.p_true = board.p_true.view(Copied)
    records = board.records()
    writer.join()
    assert (records.answer[0] >= 0) == (not np.isnan(records.p_true[0]))
    assert board.answer[0] == 1
