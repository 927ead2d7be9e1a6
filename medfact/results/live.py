"""Runs as pages see them: a report that moves while answers come, whoever asks."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from cachetools import LRUCache

from medfact.caching import KeyedLock
from medfact.concurrency import compute_slot, slot_released
from medfact.errors import StoreError, UnknownName
from medfact.facts import Fact
from medfact.metrics import PENDING
from medfact.metrics.records import LIKE
from medfact.results.pairs import Pairs, pairs_of_run
from medfact.results.report import Board, Report, keep, kept_report, readable, report
from medfact.runs.jobs import Jobs, Snapshot
from medfact.store import GOING, PAUSED, RESUMABLE, RUNNING, WAITING, Run, Store

_log = logging.getLogger(__package__)

Version = tuple[int, str, int]
"""A run's `changed`, its state, and the version of its job in this process: equal ones have nothing new between them."""

SOON, SOON_AFTER_END = 0.05, 0.1
"""Seconds that figures may take to be made while a page waits, and for which it waits for those of a run that has ended; those
that take longer are made beside it.
"""

SHARE = 4
"""Figures are not made again until so many times the time passed that they took."""

NEARLY = 0.8
"""A look that comes so much before its time still finds new figures."""

PACE, SLOWEST, QUICKEST = 0.5, 3.0, 0.25
"""Seconds between two looks of a page at a run that goes on: with one or two of them, with many, and at least."""

LATELY = 8
"""The figures of about so many runs tell how long those of the next one take."""


FEWEST_TOLD = 10
"""Facts with all their answers from which on the figures of a run that goes on are shown."""

KEPT_AFTER = 0.5
"""Seconds between showing a report first and keeping it in the database."""

KEPT = 200
"""Reports that are kept here, or wait to be kept in the database: those last looked at."""

BOARDS, OVERHEAD = 4_000_000, 1_000
"""Statements of the records that are kept, and how many of them the fixed part of a run's records is worth."""


def state_now(recorded: str, job: Snapshot | None) -> str:
    """A run's state; a job that could not write it, or has just been taken up again, knows better than its record."""
    if job and job.state == PAUSED and recorded in GOING:
        return PAUSED
    return job.state if job and job.state in GOING and recorded in RESUMABLE else recorded


@dataclass(frozen=True)
class Moment:
    """A run at one moment: its record, and its job in this process (None where there is none)."""

    run: Run
    job: Snapshot | None

    @property
    def state(self) -> str:
        """The run's state as it is now."""
        return state_now(self.run.state, self.job)

    @property
    def going(self) -> bool:
        """Whether somebody works on it now, or will."""
        return self.state in {WAITING, RUNNING}

    @property
    def seconds_until_news(self) -> float | None:
        """About how long until its end or, where it waits, its turn and some answers; None if not known, or not going on."""
        if self.job is None or not self.going:
            return None
        answering, ahead = self.job.seconds_of_answering, self.job.seconds_ahead
        if self.job.state == WAITING:
            return None if ahead is None else ahead + min(PACE, answering or 0.0)
        return PACE if answering is None or self.job.loading else answering


@dataclass(frozen=True)
class Progress(Moment):
    """How far a run is, without its figures. done: statements of `run.statements` that were answered, or failed."""

    done: int


@dataclass(frozen=True)
class Live(Moment):
    """A run at one moment with its report.

    version: what was known when the figures were made. behind: whether there is something newer by now. recorded: the state
    that the database has by now; `state` is that of the figures.
    """

    report: Report
    version: Version
    recorded: str
    behind: bool = False

    @property
    def state(self) -> str:
        """The same; a run whose failed calls are asked again goes on, before its record says so."""
        if self.job and self.job.state in GOING and self.report.failed:
            return self.job.state
        return super().state

    @property
    def has_ended(self) -> bool:
        """Whether nobody works on it any more, which its figures may not say yet."""
        return state_now(self.recorded, self.job) not in GOING

    @property
    def is_telling(self) -> bool:
        """Whether its figures can be shown: they say nothing while a run has only begun."""
        return not self.going or self.report.joint_accuracy.n >= FEWEST_TOLD

    @property
    def resumable(self) -> bool:
        """Whether anything is left to ask, and nobody asks it now."""
        return self.state in RESUMABLE or (not self.going and self.report.failed > 0)


class Reports:
    """Reports of runs that may still be going on, made once per version and kept for the runs last looked at."""

    def __init__(self, store: Store, jobs: Jobs) -> None:
        self._store = store
        self._jobs = jobs
        self._made: LRUCache[str, Live] = LRUCache(KEPT)
        self._about: LRUCache[tuple[str, str], tuple[Version, Report]] = LRUCache(KEPT)
        self._boards: LRUCache[str, Board] = LRUCache(BOARDS, lambda board: min(OVERHEAD + len(board.sheet.fact), BOARDS))
        self._took: LRUCache[str, tuple[float, float]] = LRUCache(KEPT)
        self._seconds_lately = 0.0
        self._beside: dict[str, threading.Event] = {}
        self._unkept: LRUCache[str, tuple[Run, Report]] = LRUCache(KEPT)
        self._keeper: threading.Thread | None = None
        self._alone = KeyedLock()
        self._lock = threading.RLock()
        jobs.tell_of_ends(self._make_again)

    def version(self, run: str) -> Version:
        """What there is of a run now. Raises UnknownName when there is none."""
        job = self._jobs.snapshot(run)
        return (*self._store.pulse(run), job.version if job else 0)

    def live(self, run: str) -> Live:
        """A run as it stands, or, where its figures take long, as it stood a moment ago. Raises UnknownName."""
        made = self._as_made(run)
        if made is None:
            return self._make_first(run)
        if not made.behind:
            return made
        if made.has_ended:
            with slot_released():
                is_done = self._make_beside(run).wait(SOON_AFTER_END)
            if is_done:
                return self.latest(run)
            return made
        with self._lock:
            seconds, ended = self._took.get(run, (0.0, 0.0))
        if time.monotonic() - ended > max(SHARE * seconds, self.pace() * NEARLY):
            if seconds < SOON:
                return self._make(run)
            self._make_beside(run)
        return made

    def latest(self, run: str) -> Live:
        """A run with the figures that were made last, whatever is new since; made only where there are none. Raises
        UnknownName.
        """
        return self._as_made(run) or self._make_first(run)

    def settled(self, run: str) -> Live:
        """The same for what is kept or taken away: a run that has ended has the figures of all its answers, however long they
        take.
        """
        self.live(run)
        made = self._as_made(run)  # more may have been answered while figures were made
        if made is None or (made.behind and (made.has_ended or made.recorded not in GOING)):
            return self._make(run)
        return made

    def _as_made(self, run: str) -> Live | None:
        """A run with the figures that are made, behind where there is something newer; None where none are made."""
        version = self.version(run)
        with self._lock:
            made = self._made.get(run)
        if made is None or made.version == version:
            return made
        job = self._jobs.snapshot(run)
        if made.version[:2] == version[:2]:  # its job alone has moved: the figures are as they were
            return replace(made, version=version, job=job)
        return replace(made, job=job, recorded=version[1], behind=True)

    def progress(self, run: Run) -> Progress:
        """How far a run is, without its figures, which take much longer. Raises UnreadableRun."""
        with readable(run.run):
            done = int((self._board(run.run, run.changed).answer != PENDING).sum())
        return Progress(run, self._jobs.snapshot(run.run), done)

    def pace(self, *moments: Moment) -> float:
        """Seconds that a page should leave between two looks: runs that go on at once share the processors with their pages.
        It doubles where these double: to change a page's clock takes a request too. Where it is known when the turn or the end
        of one of these runs comes, and that is sooner, the page looks when its figures should be made.
        """
        usual = min(SLOWEST, PACE * (1 << max(0, self._jobs.pressing().bit_length() - 2)))
        news = [left + self._seconds_lately for one in moments if (left := one.seconds_until_news) is not None]
        return min([usual, *(max(QUICKEST, seconds) for seconds in news)])

    def next_look(self, *lives: Live) -> float | None:
        """Seconds until a page should look at these runs again; None where nothing new will come."""
        if any(live.behind and live.has_ended for live in lives):
            return QUICKEST
        return self.pace(*lives) if any(live.going or live.behind for live in lives) else None

    def about(self, live: Live, estimand: str) -> Live:
        """The same, with intervals that are about these facts alone where that is asked."""
        if estimand == LIKE:
            return live
        key = live.run.run, estimand
        with self._lock:
            version, made = self._about.get(key, (None, None))
        if made is None or version != live.version:
            made = report(live.run, self.board(live.run.run).records(), self._store, estimand)
            with self._lock:
                self._about[key] = live.version, made
        return replace(live, report=made)

    def board(self, run: str) -> Board:
        """A run's records, up to date."""
        return self._board(run, self._store.pulse(run)[0])

    def _board(self, run: str, changed: int) -> Board:
        """The same, where it is known when its answers have changed last."""
        with self._lock:
            board = self._boards.get(run)
        board = board or Board(self._store.answers.sheet(run))
        with self._lock:
            board = self._boards.get(run) or board
            self._boards[run] = board
        with board.alone:  # not those of all runs: whoever reads the database keeps nobody else waiting
            if board.changed != changed:
                board.take(self._store.answers.news(run, board.changed))
        return board

    def pairs(self, run: str) -> Pairs:
        """A run's pairs with their answers as they stand."""
        board = self.board(run)
        return pairs_of_run(board)

    def true_fact(self, run: str, fact: int) -> Fact | None:
        """The positive fact that the fact of this number belongs to, itself where it holds; None where the run has none."""
        sheet = self.board(run).sheet
        pair = np.flatnonzero((sheet.pair == sheet.pair[fact]) & sheet.positive)
        found = self._store.answers.asked(run, facts=pair[:1].tolist()) if len(pair) else []
        return found[0].statement.fact if found else None

    def _make_first(self, run: str) -> Live:
        """Made by the first who asks; others wait for it."""
        with self._alone.acquire(run):
            return self._as_made(run) or self._make(run)

    def _make_again(self, run: str) -> None:
        """Makes the figures of a run that has just ended, if somebody has looked at it: they will look again."""
        with self._lock:
            is_looked_at = run in self._made
        if is_looked_at:
            self._make_beside(run)

    def _make_beside(self, run: str) -> threading.Event:
        """Begins to make figures, unless that is going on; the event is set when they are made."""
        with self._lock:
            if run in self._beside:
                return self._beside[run]
            done = self._beside[run] = threading.Event()

        def work() -> None:
            try:
                with compute_slot(self._store.run(run).owner):
                    self._make(run)
            except Exception as error:
                if not isinstance(error, (StoreError, UnknownName)):  # it was deleted meanwhile
                    _log.exception("The figures of run %s failed.", run)
                if not (isinstance(error, StoreError) and error.is_transient):
                    with self._lock:  # whoever looks next is told
                        self._made.pop(run, None)
            finally:
                end()

        def end() -> None:
            with self._lock:
                del self._beside[run]
            done.set()

        try:
            threading.Thread(target=work, daemon=True, name=f"figures-{run}").start()
        except RuntimeError:  # there is no room for another thread: a later look tries again
            end()
        return done

    def _make(self, run: str) -> Live:
        version = self.version(run)
        record = self._store.run(run)
        begun = time.monotonic()
        with readable(run):
            found = kept_report(self._store, record) or self._report(record)
        made = Live(record, self._jobs.snapshot(run), found, version, recorded=version[1])
        with self._lock:
            self._took[run] = time.monotonic() - begun, time.monotonic()
            kept = self._made.get(run)
            if kept is None or kept.version[0] <= version[0]:  # another one may have been quicker, and newer
                self._made[run] = made
        return made

    def _report(self, record: Run) -> Report:
        begun = time.monotonic()
        made = report(record, self.board(record.run).records(), self._store)
        if record.state not in GOING:
            with self._lock:
                self._seconds_lately += (time.monotonic() - begun - self._seconds_lately) / LATELY
            self._keep_later(record, made)
        return made

    def _keep_later(self, record: Run, made: Report) -> None:
        """Keeps a report, with what is left to make of it, once whoever waits for it has looked."""
        with self._lock, suppress(RuntimeError):  # there is no room for another thread: it is made again another time
            self._unkept[record.run] = record, made
            if self._keeper is None:
                keeper = threading.Thread(target=self._keep_on, daemon=True, name="reports")
                keeper.start()
                self._keeper = keeper

    def _keep_on(self) -> None:
        """Keeps reports, one after the other, until there is none left."""
        while True:
            time.sleep(KEPT_AFTER)
            while True:
                with self._lock:
                    if not self._unkept:
                        break
                    _, (record, made) = self._unkept.popitem()
                try:
                    with compute_slot(record.owner):
                        keep(self._store, record, made)
                except Exception:  # it was shown, and is made again another time
                    _log.exception("The report of run %s could not be kept.", record.run)
            with self._lock:
                if not self._unkept:
                    self._keeper = None
                    return
