"""How far a run is, in words: its bar, its rate, the time left, and how many facts no answer has contradicted yet."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from medfact.models import provider_of
from medfact.results import wording
from medfact.results.compare import describe_race, races_of
from medfact.results.live import Live
from medfact.results.wording import describe_ending, describe_state
from medfact.runs.racing import of_one_race
from medfact.store import RUNNING, WAITING
from medfact.web.services import Services


@dataclass(frozen=True)
class Progress:
    """One run's line. done: how many statements are asked."""

    name: str
    live: Live
    done: int
    text: str
    reason: str | None

    @property
    def badge(self) -> str:
        """A word beside the name of its model, or ""."""
        return provider_of(self.live.run.model).badge


def named(lives: Sequence[Live], owners: Collection[str]) -> dict[str, Live]:
    """Runs as these owners may read them, keyed by names that tell them apart."""
    lives = [replace(live, run=live.run.seen_by(owners)) for live in lives]
    return dict(zip(wording.names_of_runs([live.run for live in lives]), lives, strict=True))


def done_of(live: Live) -> int:
    """How many statements are asked."""
    done = live.report.answered + live.report.failed
    return max(done, live.job.done) if live.job is not None and live.going else done  # the report may be a moment older


def progress_of(name: str, live: Live) -> Progress:
    """The line of a run."""
    done, reason = done_of(live), (live.job.reason if live.job else None) or live.run.reason
    return Progress(name, live, done, " · ".join(filter(None, _how_it_goes(live, done))), reason)


def state_of(lives: Mapping[str, Live]) -> str:
    """The state of all runs in a line: how many statements are asked, and how it goes; which is in which state, where they
    are in several. lives: by name.
    """
    done, total = sum(map(done_of, lives.values())), sum(live.report.statements for live in lives.values())
    names: dict[str, list[str]] = {}
    for name, live in lives.items():
        names.setdefault(describe_state(live.state, live.run.reason), []).append(name)
    told = list(names) if len(names) == 1 else [f"{' and '.join(of)}: {state}" for state, of in names.items()]
    if len(lives) == 1 and (only := next(iter(lives.values()))).going:
        told = list(filter(None, _how_it_goes(only, done)))
    return " · ".join([f"{wording.count(done)} of {wording.count(total)} statements", "; ".join(told)])


def endings(lives: Mapping[str, Live]) -> list[str]:
    """How runs ended that did not ask everything."""
    ended = {name: describe_ending(live.state, live.run.reason) for name, live in lives.items()}
    return [f"{name}: {text}" for name, text in ended.items() if text]


def race_lines(services: Services, lives: Mapping[str, Live]) -> list[str]:
    """Where the race of these runs stands, a line a pair; none where they do not race."""
    runs = [live.run for live in lives.values()]
    if not of_one_race(runs):
        return []
    names = {live.run.run: name for name, live in lives.items()}
    return [
        describe_race(one.a, one.b, one.race, names) for one in services.comparisons.of(races_of, [run.run for run in runs])
    ]


def _how_it_goes(live: Live, done: int) -> list[str]:
    if live.state == WAITING:
        return [_turn(live)]
    if live.state != RUNNING:
        return [describe_state(live.state, live.run.reason)]
    if live.job is None:
        return ["another program on this machine asks"]
    if live.job.loading:  # the model, or what comes after the answers
        return [live.job.loading]
    rate = f"{live.job.rate:,.0f} a second" if live.job.rate else "" if done else provider_of(live.run.model).begins
    left = live.job.seconds_left
    return [rate, "" if left is None else f"{wording.duration(max(left, 1))} left"]


def _turn(live: Live) -> str:
    waiting = wording.STATES[WAITING]
    if live.job is None:
        return waiting
    if not live.job.ahead:
        return f"{waiting}: it is next"
    about = f", about {wording.duration(live.job.seconds_ahead)}" if live.job.seconds_ahead is not None else ""
    return f"{waiting}: {wording.counted(live.job.ahead, 'run')} before it{about}"
