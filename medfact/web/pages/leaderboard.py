"""The verdict and the leaderboard: a row a model, with its mastery as a bar, its other scores, and its progress."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from medfact.assets import ENGLISH
from medfact.datasets.bundled import words_alone
from medfact.models import provider_of
from medfact.models.baseline import COIN
from medfact.models.words_alone import EMBEDDING
from medfact.results import wording
from medfact.results.blocks import Curve, Section
from medfact.results.live import Live
from medfact.results.standing import standing
from medfact.results.verdict import verdict
from medfact.results.wording import Score
from medfact.spec import RunSpec
from medfact.views.fragments import render
from medfact.web.pages import Visitor
from medfact.web.pages.progress import Progress, progress_of
from medfact.web.services import Services

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
        verdict=verdict({name: live.report for name, live in lives.items() if live.is_telling}),
        demonstration=is_demonstration,
        rows=rows,
        scores=scores,
        scores_of=names,
        comparators=list(_comparators(next(iter(lives.values())), scores)),
        chance=next(iter(lives.values())).report.chance,
        sort=show.sort if show.sort in names else "",
        races=races if going else (),
    )


def _value(live: Live, name: str) -> float:
    value = live.report.measure(name).value
    return -2.0 if value is None else float(value)


def _comparators(first: Live, scores: Sequence[Score]) -> Iterator[Comparator]:
    as_measured = (first.run.spec.protocol, first.run.spec.asked_in) == (RunSpec.protocol, ENGLISH)
    known = words_alone(first.run.dataset) if as_measured else {}
    if known:
        values = {score.name: wording.percent(known[score.name]) for score in scores if score.name in known}
        note = f"knows no medicine; of {wording.counted(int(known['facts']), 'fact')}"
        yield Comparator("word matching", note, values, known.get(scores[0].name), "words", _explained(EMBEDDING))
    chance = first.report.chance
    values = {
        score.name: wording.NO_VALUE if (share := score.of_coin(chance)) is None else f"{100 * share:.2g}%" for score in scores
    }
    share = None if scores[0].signed else scores[0].of_coin(chance)
    yield Comparator("a coin", "at random", values, share, "coin", _explained(COIN))


def _explained(spec: str) -> str:
    return provider_of(spec).explained[spec]


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
