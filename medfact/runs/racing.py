"""Runs that race: asked side by side, the same diseases in the same order, until it is decided which model is better.

Every run is asked in a thread of its own, as it would be alone, but a window of diseases at a time: it waits until the others
have asked the same window. The last to arrive looks at the race, from answers that are on disk.
"""

from __future__ import annotations

import math
import secrets
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from medfact.errors import Mistake
from medfact.metrics import PENDING
from medfact.metrics.clusters import Codes
from medfact.metrics.comparison import RunRecords
from medfact.metrics.race import Race, order_of, race, raced
from medfact.models import is_local, provider_of
from medfact.runs.board import Board
from medfact.runs.patience import patient
from medfact.spec import RunSpec
from medfact.store import COMPLETE, DECIDED, STOPPED, Plan, Run, Sheet, Store
from medfact.store.sheets import sheet_of
from medfact.words import say

LEAST_HERE, LEAST_ELSEWHERE, NEXT_LOOK = 384, 96, 1 / 16
"""Statements of a window, at least, where a model on this machine races and where none does; and as a share of those before it.
Small windows are slow: a model on this machine computes what statements have in common once in each, and the last calls of each
leave a service idle. In large ones a race outlasts its end."""

NEAR = 96
"""Statements of a window, at least, where the end of the race seems near: then it holds half of those up to there."""

_LOOK_SECONDS = 0.2
"""Time between two checks whether a run that waits for the others was stopped."""


class Standing(NamedTuple):
    """A pair of runs, and where their race stands; None where they share no fact."""

    a: Run
    b: Run
    race: Race | None


def is_decided(standing: Standing) -> bool:
    """Whether a difference was shown between two runs."""
    return standing.race is not None and standing.race.decided_at is not None


def racing_specs(specs: Sequence[RunSpec]) -> list[RunSpec]:
    """The specs of runs that race with each other. Raises Mistake where there is only one."""
    if len(specs) < 2:
        raise Mistake("One model alone cannot race.", "Give --model twice or more often, or leave out --race.")
    name = secrets.token_hex(8)
    return [spec.override(race=name, racers=len(specs)) for spec in specs]


def in_order_of_race(plan: Plan) -> Plan:
    """The same plan, disease by disease in the order of the race, with all draws of demonstrations of one before the next."""
    order = np.argsort(places_of(sheet_of(plan.statements)), kind="stable")
    return replace(plan, statements=tuple(plan.statements[number] for number in order))


def places_of(sheet: Sheet) -> Codes:
    """Of each statement, the place of its disease in the race."""
    return order_of(sheet.head[sheet.fact], sheet.identity[sheet.fact])


def of_one_race(runs: Sequence[Run]) -> bool:
    """Whether these are runs of one race: of one owner, and none that only a file enters."""
    races = {(run.spec.race, run.owner, "race" in run.spec.imported) for run in runs}
    return len(runs) > 1 and runs[0].spec.race is not None and len(races) == 1


def still_racing(runs: Sequence[Run]) -> list[Run]:
    """Those of the runs whose race can go on: at least two of one race that is not decided for them, else none."""
    open_ = [run for run in runs if run.state not in (DECIDED, COMPLETE)]
    return open_ if of_one_race(open_) else []


class RacingRuns:
    """A race of recorded runs. tell: gets the standing of every pair after each look, from one thread at a time.

    With more than two models every pair of them is looked at, and what is claimed holds for all pairs together (Bonferroni). A
    model is asked until all its pairs are decided.
    """

    def __init__(self, runs: Sequence[Run], store: Store, tell: Callable[[list[Standing]], None] = lambda _: None) -> None:
        self._runs: Mapping[str, Run] = {run.run: run for run in runs}
        self._store, self._tell = patient(store), tell
        self._boards = {run.run: Board(store.answers.sheet(run.run)) for run in runs}
        # sorted: a run that was recorded in another order, in a stranger's file perhaps, is asked to its end all the same
        self._places = {name: np.maximum.accumulate(places_of(board.sheet)) for name, board in self._boards.items()}
        least = LEAST_HERE if any(is_local(run.model) for run in runs) else LEAST_ELSEWHERE
        self._after = np.cumsum(np.bincount(next(iter(self._places.values()))))
        self._least, self._windows = least, list[int]()
        racers = max(len(runs), *(run.spec.racers for run in runs))
        self._family = racers * (racers - 1) // 2
        self._reached = dict.fromkeys(self._runs, -1)
        self._left: set[str] = set()
        self._ends: dict[str, tuple[str, str]] = {}
        self._looked = -1
        self._changed = threading.Condition()
        self._machine = threading.Lock()

    def turn(self, run: str) -> AbstractContextManager[object]:
        """Meanwhile no other model on this machine loads or answers."""
        return self._machine if is_local(self._runs[run].model) else nullcontext()

    def windows(self, run: str, stopped: Callable[[], bool]) -> Generator[int, None, None]:
        """Window after window, the position before which statements are asked, as long as the race goes on for a run."""
        places, window = self._places[run], 0
        while self._goes_on(run, window, stopped) and window < len(self._windows):
            heads = self._windows[window]
            with self.turn(run):
                yield len(places) if heads == len(self._after) else int(np.searchsorted(places, heads))
            window += 1

    def end_of(self, run: str) -> tuple[str, str] | None:
        """How the race ended a run, and why: a state and a reason. None where it did not."""
        with self._changed:
            return self._ends.get(run)

    @property
    def goes_on(self) -> bool:
        """Whether any of its runs is asked, or going to be."""
        with self._changed:
            return self._left != self._runs.keys()

    def leave(self, run: str) -> None:
        """Called once a run is asked no more, for whatever reason."""
        with self._changed:
            self._left.add(run)
            self._changed.notify_all()

    def _goes_on(self, run: str, window: int, stopped: Callable[[], bool]) -> bool:
        """Waits until all have asked what comes before a window; then, whether the run is to ask it."""
        with self._changed:
            self._reached[run] = window
            self._changed.notify_all()
            while not stopped():
                others = self._runs.keys() - self._left - self._ends.keys()
                if all(self._reached[other] >= window for other in others):
                    if self._looked < window:
                        self._look()
                        self._looked = window
                    return run not in self._ends
                self._changed.wait(_LOOK_SECONDS)
        return False

    def _look(self) -> None:
        """Looks at every pair, and ends the runs that are to be asked no more."""
        for run, board in self._boards.items():
            board.take(self._store.answers.news(run, board.changed))
        rows = {run: RunRecords(board.records(), board.sheet.identity[board.sheet.fact]) for run, board in self._boards.items()}
        standings, pending = [], {run for run in self._left if (rows[run].records.answer == PENDING).any()}
        gone = pending - self._ends.keys()
        for a, b in combinations(self._runs, 2):
            differences = raced(rows[a], rows[b])
            standing = race(differences, self._family) if differences else None
            standings.append(Standing(self._runs[a], self._runs[b], standing))
        for run in self._runs.keys() - self._ends.keys() - self._left:
            own = [one for one in standings if run in (one.a.run, one.b.run)]
            open_ = [one for one in own if not is_decided(one)]
            if not open_:
                self._ends[run] = DECIDED, _why_decided(own)
            elif all(gone & {one.a.run, one.b.run} for one in open_):
                names = " and ".join(_name(self._runs[other]) for other in sorted(gone))
                self._ends[run] = STOPPED, say("race.left", models=names)
        self._add_window(standings)
        self._tell(standings)

    def _add_window(self, standings: Sequence[Standing]) -> None:
        """Says up to where is asked next: not far beyond where the first of the runs may end."""
        going = self._runs.keys() - self._ends.keys() - self._left
        open_ = [one for one in standings if not is_decided(one)]
        of_run = [[one.race for one in open_ if run in (one.a.run, one.b.run)] for run in going]
        counted = [found.heads if found else 0 for races in of_run for found in races]
        heads = max(self._windows[-1] if self._windows else 0, min(counted, default=0))
        if heads < len(self._after):
            # a run ends once the last of its races is decided
            ends = [max((found and found.more) or math.inf for found in races) for races in of_run if races]
            soonest = min(ends, default=math.inf)
            more = int(soonest) if soonest < math.inf else None
            self._windows.append(next_window(self._after, heads, self._least, more))


def next_window(after: Codes, heads: int, least: int, more: int | None = None) -> int:
    """Before which disease the next look comes. after: statements up to each disease. heads: diseases asked so far. least:
    statements of a window. more: about how many diseases decide the race, None where that is unknown.
    """
    asked = int(after[heads - 1]) if heads else 0
    wanted = max(least, int(asked * NEXT_LOOK))
    if more is not None:
        wanted = min(wanted, max(NEAR, int(after[min(heads + more, len(after)) - 1] - asked) // 2))
    return min(int(np.searchsorted(after, asked + wanted)) + 1, len(after))


def _why_decided(standings: Sequence[Standing]) -> str:
    """How many diseases decided it, and for whom."""
    verdicts = [describe_lead(_name(a), _name(b), of) for a, b, of in standings if of is not None and of.value is not None]
    most = max((one.race for one in standings if one.race), key=lambda race: race.heads)
    return say("race.ended", heads=most.heads, of=most.of, leads="; ".join(verdicts))


def _name(run: Run) -> str:
    return provider_of(run.model).title_of(run.model)


def describe_lead(a: str, b: str, race: Race) -> str:
    """The decision of a race between two names: "tiny masters more facts than base, by at least 2.1 points on these facts"."""
    better, worse, least = (a, b, race.low) if race.low > -race.high else (b, a, -race.high)
    by = say("race.lead_by", points=100 * least) if least > 0 else ""
    return say("race.lead", better=better, worse=worse, by=by)
