"""The verdict and the leaderboard: a row a model, with its mastery as a bar, its other scores, and its progress."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from medfact.errors import MedfactError
from medfact.log_setup import suppressed
from medfact.models import provider_of
from medfact.models.baseline import COIN
from medfact.results import wording
from medfact.results.blocks import Curve, Section
from medfact.results.compare import in_languages
from medfact.results.findings import rules_of, verdict
from medfact.results.live import Live
from medfact.results.report import Report, standing
from medfact.results.wording import Score
from medfact.views.fragments import render
from medfact.web.pages import Visitor
from medfact.web.pages.evidence import changes_of
from medfact.web.pages.progress import Progress, progress_of
from medfact.web.services import Services

_log = logging.getLogger(__package__)

Lives = Mapping[str, Live]


@dataclass(frozen=True)
class BoardRow:
    """A model's row. place: of the run among all, for its colour and shape."""

    place: int
    progress: Progress
    live: Live

    @property
    def name(self) -> str:
        return self.progress.name

    @property
    def explained(self) -> str:
        """What a rule does, whose name says too little; "" of any other model."""
        return provider_of(self.live.run.model).explained.get(self.live.run.model, "")


@dataclass(frozen=True)
class Comparator:
    """What needs no medicine, beside the models. values: by score, in words; share: in the first score, for its mark.
    explained: what it does.
    """

    name: str
    note: str
    values: Mapping[str, str]
    share: float | None
    mark: str
    explained: str


def leaderboard(visitor: Visitor, show: Any, lives: Lives, races: Sequence[str], *, is_demonstration: bool) -> Markup:
    """The verdict, and a row a model."""
    names = wording.first_scores([live.report for live in lives.values()])
    scores = [wording.score(name, wording.ways_of(of)) for name, of in names.items()]
    rows = [BoardRow(place, progress_of(name, live), live) for place, (name, live) in enumerate(lives.items())]
    going = any(live.going for live in lives.values())
    if not going or show.sort in names:
        by = show.sort if show.sort in names else next(iter(names))
        rows.sort(key=lambda row: _value(row.live, by), reverse=True)
    return render(
        "leaderboard",
        verdict=_verdict(visitor.services, {name: live for name, live in lives.items() if live.has_reportable_scores}),
        demonstration=is_demonstration,
        rows=rows,
        scores=scores,
        scores_of=names,
        comparators=list(_comparators(next(iter(lives.values())).report, scores)),
        chance=next(iter(lives.values())).report.chance,
        sort=show.sort if show.sort in names else "",
        races=races if going else (),
    )


def _value(live: Live, name: str) -> float:
    value = live.report.measure(name).value
    return -2.0 if value is None else float(value)


def _verdict(services: Services, lives: Lives) -> str:
    """The verdict of the runs that tell something, with their differences once all have ended."""
    reports, records = {name: live.report for name, live in lives.items()}, [live.run for live in lives.values()]
    if len(lives) > 1 and not any(live.going for live in lives.values()):
        with suppressed(_log, MedfactError):  # of runs that cannot be compared
            made, ids = services.comparisons, [run.run for run in records]
            return verdict(
                reports, made.made(ids).pairs, changes_of(services, records), made.of(in_languages, ids, services.store)
            )
    return verdict(reports)


def _comparators(first: Report, scores: Sequence[Score]) -> Iterator[Comparator]:
    rules = {
        spec: ("knows no medicine", of, {name: wording.percent(of[name]) for name in of})
        for spec, of in rules_of(first).items()
    }
    chances = {one.name: chance for one in scores if (chance := one.of_coin(first.chance)) is not None}
    rules[COIN] = (
        "at random",
        {} if scores[0].signed else chances,
        {one.name: f"{100 * chances[one.name]:.2g}%" if one.name in chances else wording.NO_VALUE for one in scores},
    )
    for spec, (note, of, values) in rules.items():
        of_all = f"; of {wording.counted(int(of['facts']), 'fact')}" if "facts" in of else ""
        mark, explained = "coin" if spec == COIN else spec.rpartition(":")[2], provider_of(spec).explained[spec]
        yield Comparator(wording.model_name(spec), f"{note}{of_all}", values, of.get(scores[0].name), mark, explained)


def standing_of(services: Services, lives: Lives) -> list[Section]:
    """While runs go on: how many of their facts still stand."""
    if not any(live.going for live in lives.values()):
        return []
    lines = {name: standing(services.reports.board(live.run.run)) for name, live in lives.items()}
    left = [f"{name}: {live.report.standing:,} of {live.report.facts:,}" for name, live in lives.items()]
    curve = Curve(
        name="standing",
        label="share of facts without a wrong answer so far, by answers",
        finding=f"Facts still standing, with no wrong answer so far: {'; '.join(left)}",
        lines=lines,
        axes=("answers", "facts still standing, %"),
    )
    return [Section("Facts still standing", (curve,))]
