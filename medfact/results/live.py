"""Reports of runs, recomputed as answers arrive and cached per version of a run.

=================  =====================================  =========================  ====================================
method             figures                                blocks                     computes
=================  =====================================  =========================  ====================================
`live`             newest once due; until then the last,  for the first report and   in the caller; updates of a large
                   marked `behind`                        for a small run            run in the background
`latest`           last computed, however old             for the first report       the first report, in the caller
`final_report`     of all answers once the run has        until they are complete    in the caller
                   ended; before, as `live`
`with_estimand`    of the given report's answers          until computed             in the caller, once per version
`progress`         number of answers, up to date          while it reads them        nothing
=================  =====================================  =========================  ====================================
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial
from queue import Queue
from typing import Any, NamedTuple

from cachetools import LRUCache

from medfact.caching import KeyedLock
from medfact.concurrency import compute_slot
from medfact.errors import StoreError, UnknownName
from medfact.log_setup import suppressed
from medfact.metrics import PENDING
from medfact.metrics.records import LIKE
from medfact.results.report import Board, Report, readable, report, report_of, store_report
from medfact.runs.jobs import Jobs, Snapshot
from medfact.store import GOING, PAUSED, RESUMABLE, WAITING, Run, Store

_log = logging.getLogger(__package__)

# Reports of runs with more statements are updated in the background: a smaller one takes less than a tenth of a second.
INLINE_STATEMENTS = 1_000
MIN_INTERVAL_FACTOR = 4  # minimum time between two updates, as a multiple of the duration of the last one
EARLY_POLL_FACTOR = 0.8  # a poll after this share of the usual interval counts as due
MIN_POLL_SECONDS, POLL_SECONDS, MAX_POLL_SECONDS = 0.25, 0.5, 3.0  # least, with one or two runs, with many runs
MIN_REPORTABLE_FACTS = 10  # facts with all their answers; scores of fewer facts of an active run say nothing
MAX_REPORTS = 400  # in the cache
MAX_STATEMENTS, STATEMENTS_PER_BOARD = 4_000_000, 1_000  # size of the cache of records; fixed cost of each entry
MAX_TASKS = 200  # in the queue of the background thread
STORE_DELAY_SECONDS = 0.5  # until a new report is stored: the page that shows it asks for more at once, and would be slower


class Version(NamedTuple):
    """Version of a run: two reports with equal versions are equal."""

    changed: int  # of its answers
    state: str  # as recorded
    job: int  # of its job in this process; 0 without one


def effective_state(recorded: str, job: Snapshot | None) -> str:
    """Returns the state of a run. A job that just resumed, or could not record its state, overrules the record."""
    if job and job.state == PAUSED and recorded in GOING:
        return PAUSED
    return job.state if job and job.state in GOING and recorded in RESUMABLE else recorded


@dataclass(frozen=True)
class RunStatus:
    """A run and its job at one moment."""

    run: Run
    job: Snapshot | None  # None without a job in this process

    @property
    def state(self) -> str:
        """Effective state of the run."""
        return effective_state(self.run.state, self.job)

    @property
    def going(self) -> bool:
        """True for a run that waits or runs."""
        return self.state in GOING

    @property
    def seconds_until_news(self) -> float | None:
        """Expected seconds until the end, or until the first answers of a waiting run. None if unknown or not active."""
        if self.job is None or not self.going:
            return None
        answering, ahead = self.job.seconds_of_answering, self.job.seconds_ahead
        if self.job.state == WAITING:
            return None if ahead is None else ahead + min(POLL_SECONDS, answering or 0.0)
        return POLL_SECONDS if answering is None or self.job.loading else answering


@dataclass(frozen=True)
class RunProgress(RunStatus):
    """Progress of a run, without its figures."""

    done: int  # statements that were answered or failed


@dataclass(frozen=True)
class Live(RunStatus):
    """A run with its report at one moment."""

    report: Report
    version: Version  # that the report was computed for
    recorded: str  # newest recorded state; `state` is that of the report
    behind: bool = False  # True if there are newer answers
    due: float = 0.0  # `time.monotonic()` from which an update may be computed

    @property
    def state(self) -> str:
        """Effective state. A run that repeats failed calls is active before its record is updated."""
        return self.job.state if self.job and self.job.state in GOING and self.report.failed else super().state

    @property
    def has_ended(self) -> bool:
        """True for a run that is neither waiting nor running; its report may be older."""
        return effective_state(self.recorded, self.job) not in GOING

    @property
    def has_reportable_scores(self) -> bool:
        """True unless the run has only begun."""
        return not self.going or self.report.joint_accuracy.n >= MIN_REPORTABLE_FACTS

    @property
    def resumable(self) -> bool:
        """True if statements are left to ask and no job asks them."""
        return self.state in RESUMABLE or (not self.going and self.report.failed > 0)


class Worker:
    """Daemon thread that executes queued tasks in order, each in a compute slot of its owner, and logs their errors."""

    def __init__(self) -> None:
        self.tasks: Queue[tuple[Hashable, str, float, Callable[[], None]]] = Queue()  # the number is the earliest start
        self._waiting: set[Hashable] = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._execute, daemon=True, name="reports").start()

    def submit(self, key: Hashable, owner: str, task: Callable[[], None], delay: float = 0.0) -> None:
        """Queues a task unless one with the same key is waiting. A full queue drops it: a later request submits it again.

        delay: seconds until its earliest start; later tasks wait for it.
        """
        with self._lock:
            if key not in self._waiting and len(self._waiting) < MAX_TASKS:
                self._waiting.add(key)
                self.tasks.put((key, owner, time.monotonic() + delay, task))

    def _execute(self) -> None:
        while True:
            key, owner, start, task = self.tasks.get()
            time.sleep(max(0.0, start - time.monotonic()))
            with self._lock:
                self._waiting.discard(key)
            try:
                with compute_slot(owner):
                    task()
            except Exception:
                _log.exception("The background task %s failed.", key)
            del task  # it refers to a report and to all caches
            self.tasks.task_done()


def _is_due(live: Live) -> bool:
    return live.behind and (live.has_ended or time.monotonic() >= live.due)


class Reports:
    """Cached reports and records of runs (see the table above). All methods raise UnknownName for a deleted run."""

    def __init__(self, store: Store, jobs: Jobs) -> None:
        self._store = store
        self._jobs = jobs
        self._reports: LRUCache[tuple[str, str], Live] = LRUCache(MAX_REPORTS)  # by run and estimand
        self._boards: LRUCache[str, Board] = LRUCache(
            MAX_STATEMENTS, lambda board: min(STATEMENTS_PER_BOARD + len(board.sheet.fact), MAX_STATEMENTS)
        )
        self._lock = threading.Lock()  # guards the caches
        self._run_locks = KeyedLock()
        self.worker = Worker()
        jobs.tell_of_ends(self._update_after_end)

    def version(self, run_id: str) -> Version:
        """Current version of a run."""
        job = self._jobs.snapshot(run_id)
        return Version(*self._store.pulse(run_id), job.version if job else 0)

    def live(self, run_id: str) -> Live:
        """Returns a run with its newest figures, or with the last ones if an update takes long or is not due."""
        cached = self._cached(run_id)
        if cached is None or cached.run.statements <= INLINE_STATEMENTS:
            return self._get(run_id, _is_due)
        if _is_due(cached):
            self._submit_update(cached)
        return cached

    def latest(self, run_id: str) -> Live:
        """Returns a run with the last computed figures."""
        return self._get(run_id, lambda _: False)

    def final_report(self, run_id: str) -> Live:
        """Returns a run with the figures of all its answers if it has ended. For exports."""
        self.live(run_id)  # the run may end while this computes
        return self._get(run_id, lambda live: live.behind and (live.has_ended or live.recorded not in GOING))

    def with_estimand(self, live: Live, estimand: str) -> Live:
        """Returns the same run with intervals about another estimand."""
        if estimand == LIKE:
            return live
        key = live.run.run, estimand
        with self._lock:
            cached = self._reports.get(key)
        if cached is None or cached.version[:2] != live.version[:2]:
            cached = replace(live, report=report(live.run, self.board(live.run.run).records(), self._store, estimand))
            with self._lock:
                self._reports[key] = cached
        return replace(live, report=cached.report)

    def progress(self, run: Run) -> RunProgress:
        """Returns the progress of a run, without computing figures. Raises UnreadableRun."""
        with readable(run.run):
            done = int((self.board(run.run).answer != PENDING).sum())
        return RunProgress(run, self._jobs.snapshot(run.run), done)

    def pace(self, *runs: RunStatus) -> float:
        """Seconds until a page should poll these active runs again, sooner if one is expected to start or to end.

        Polls take processor time from the active runs. The interval grows in powers of two: a new one costs a request too.
        """
        usual = min(MAX_POLL_SECONDS, POLL_SECONDS * (1 << max(0, self._jobs.going().bit_length() - 2)))
        expected = [run.seconds_until_news for run in runs]
        return min([usual, *(max(MIN_POLL_SECONDS, seconds) for seconds in expected if seconds is not None)])

    def next_look(self, *runs: Live) -> float | None:
        """Seconds until a page should poll these runs again; None if nothing new will come."""
        if any(live.behind and live.has_ended for live in runs):
            return MIN_POLL_SECONDS
        return self.pace(*runs) if any(live.going or live.behind for live in runs) else None

    def board(self, run_id: str) -> Board:
        """Records of a run, up to date."""
        changed = self._store.pulse(run_id)[0]
        with self._lock:
            board = self._boards.get(run_id)
        if board is None:
            board = Board(self._store.answers.sheet(run_id))
            with self._lock:
                board = self._boards.setdefault(run_id, board)
        with board.alone:  # a lock per run: reading the database does not block other runs
            if board.changed != changed:
                board.take(self._store.answers.news(run_id, board.changed))
        return board

    def _cached(self, run_id: str) -> Live | None:
        """Cached report with the current job, `behind` if there are newer answers; None if none is cached."""
        version = self.version(run_id)
        with self._lock:
            cached = self._reports.get((run_id, LIKE))
        if cached is None or cached.version == version:
            return cached
        is_same = cached.version[:2] == version[:2]  # only the job differs
        newer: dict[str, Any] = {"version": version} if is_same else {"recorded": version.state, "behind": True}
        return replace(cached, job=self._jobs.snapshot(run_id), **newer)

    def _get(self, run_id: str, is_stale: Callable[[Live], bool]) -> Live:
        """Returns the cached report; computes it if it is missing or stale. Concurrent callers share the computation."""
        cached = self._cached(run_id)
        if cached is not None and not is_stale(cached):
            return cached
        with self._run_locks.acquire(run_id):
            cached = self._cached(run_id)
            return self._compute(run_id) if cached is None or is_stale(cached) else cached

    def _compute(self, run_id: str) -> Live:
        version, run, began = self.version(run_id), self._store.run(run_id), time.monotonic()
        figures = report_of(self._store, run, board=self.board, keep=self._keep_later)
        now = time.monotonic()
        due = now + max(MIN_INTERVAL_FACTOR * (now - began), EARLY_POLL_FACTOR * self.pace())
        live = Live(run, self._jobs.snapshot(run_id), figures, version, recorded=version.state, due=due)
        with self._lock:
            self._reports[run_id, LIKE] = live
        return live

    def _keep_later(self, store: Store, run: Run, figures: Report) -> None:
        self.worker.submit(("keep", run.run), run.owner, partial(store_report, store, run, figures), STORE_DELAY_SECONDS)

    def _update_after_end(self, run_id: str) -> None:
        """Updates the report of a run that has just ended, if it was viewed: its pages will poll again."""
        with self._lock:
            cached = self._reports.get((run_id, LIKE))
        if cached is not None:
            self._submit_update(cached)

    def _submit_update(self, live: Live) -> None:
        self.worker.submit(live.run.run, live.run.owner, partial(self._update, live.run.run))

    def _update(self, run_id: str) -> None:
        """Updates a cached report. A permanent error removes it, so that the next caller computes it and gets the error."""
        try:
            with suppressed(_log, UnknownName):  # it was deleted
                self._get(run_id, _is_due)
        except Exception as error:
            if not (isinstance(error, StoreError) and error.is_transient):
                with self._lock:
                    self._reports.pop((run_id, LIKE), None)
            raise
