"""What retrieved passages do: whether the fact was among them, how scores change, and which answers flip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from medfact.kept import keep
from medfact.metrics.paired import Paired
from medfact.results.compare import Side
from medfact.results.evidence import Change, blamed, changes, is_without
from medfact.results.live import Live, Version
from medfact.results.recall import SETTINGS, Evidence
from medfact.results.text import MOVED, difference, moved_in_words
from medfact.results.wording import names_of_runs
from medfact.store import COMPLETE, Asked, Retrieved, Run
from medfact.views.fragments import render
from medfact.web.pages import Visitor
from medfact.web.services import Services

FLIPS_A_PAGE = 10

METRICS = {
    "average_accuracy": ("right answers", "Acc: over all statements, true and false ones"),
    "positive_accuracy": ("about facts that hold", "Acc_pos: over statements about facts that hold"),
    "negative_accuracy": ("about false facts", "Acc_neg: over statements about false facts"),
}
"""Figure → its heading, and what it is."""


@dataclass(frozen=True)
class ChangeRow:
    """A change, with what to call its runs."""

    change: Change
    without: str
    with_: str
    place: int

    @property
    def moved(self) -> list[str]:
        """What the passages do to P(True), a phrase a figure; [] where one of the two runs has none."""
        found = self.change.probabilities
        return [f"{name} {moved_in_words(found[metric])}" for metric, name in MOVED.items() if metric in found]

    def cell(self, metric: str) -> tuple[str, str, int]:
        """A difference in points, its interval, and of how many statements."""
        found: Paired = self.change.metrics[metric]
        value, _, interval = difference(found).rstrip(")").partition(" (")
        return value, interval, found.n


@dataclass(frozen=True)
class Flip:
    """A statement whose answer passages turned. said: the answer with them. pair: to open. passage: to look at first."""

    item: Asked
    said: str
    pair: int
    passage: Retrieved | None
    rank: int


def is_retrieving(lives: Mapping[str, Live]) -> bool:
    """Whether any of these runs shows passages."""
    return any(live.report.evidence for live in lives.values())


def evidence_tab(visitor: Visitor, show: Any, lives: Mapping[str, Live]) -> tuple[Markup, Any]:
    """The tab, and the view with its numbers kept in range."""
    found = {name: live.report.evidence for name, live in lives.items() if live.report.evidence}
    runs = [live.run for live in lives.values()]
    rows = change_rows(visitor.services, [*runs, *_without(visitor, runs)])
    chosen = min(show.change, max(0, len(rows) - 1))
    positions: Sequence[int] = getattr(rows[chosen].change, show.flips) if rows else ()
    page = min(show.page, max(0, len(positions) - 1) // FLIPS_A_PAGE)
    shown = positions[page * FLIPS_A_PAGE : (page + 1) * FLIPS_A_PAGE]
    fragment = render(
        "evidence",
        found=found,
        settings=_settings(found),
        rows=rows,
        metrics=METRICS,
        chosen=chosen,
        flips=_flips(visitor.services, rows[chosen].change, shown) if shown else [],
        which=show.flips,
        page=page,
        pages=-(-len(positions) // FLIPS_A_PAGE),
        size=FLIPS_A_PAGE,
        total=len(positions),
        runs=[live.run.run for live in lives.values()],
    )
    return fragment, show.model_copy(update={"change": chosen, "page": page})


def _settings(found: Mapping[str, Evidence | None]) -> dict[str, str]:
    used = {evidence.setting for evidence in found.values() if evidence}
    return {name: meaning for name, meaning in SETTINGS.items() if name in used}


def _without(visitor: Visitor, runs: Sequence[Run]) -> list[Run]:
    """The visitor's latest complete runs of the same models without passages, for those that have none beside them here."""
    missing = [run for run in runs if run.spec.retrieval != "none" and not any(is_without(one, run) for one in runs)]
    own = [run for run in reversed(visitor.services.store.runs(*visitor.owners)) if run.state == COMPLETE] if missing else []
    found = (next((one for one in own if is_without(one, run)), None) for run in missing)
    return list({run.run: run for run in found if run}.values())


def change_rows(services: Services, runs: Sequence[Run]) -> list[ChangeRow]:
    """What passages change in those of the runs that have them and stand beside one without."""
    versions = tuple(services.reports.version(run.run) for run in runs)
    names = dict(zip((run.run for run in runs), names_of_runs(list(runs)), strict=True))
    found = _changes(services, tuple(run.run for run in runs), versions)
    return [ChangeRow(change, names[change.without], names[change.with_], place) for place, change in enumerate(found)]


@keep(16)
def _changes(services: Services, runs: tuple[str, ...], _: tuple[Version, ...]) -> list[Change]:
    """Kept for each version of the runs' answers."""
    return changes([Side(services.run(run), services.reports.board(run)) for run in runs])


def _flips(services: Services, change: Change, positions: Sequence[int]) -> list[Flip]:
    """The answers at these positions of the run with passages."""
    pairs = services.reports.pairs(change.with_)
    pair_of = {fact: pair for pair, members in enumerate(pairs.members) for fact in members}
    items = services.store.answers.asked(change.with_, positions=positions)
    return [_flip(item, pair_of.get(item.fact, 0)) for item in items]


def _flip(item: Asked, pair: int) -> Flip:
    rank = blamed(item)
    words = {True: "“true”", False: "“false”", None: "neither true nor false"}
    said = words[item.answer.answer if item.answer else None]
    return Flip(item, said, pair, (item.passages or ())[rank] if rank is not None else None, (rank or 0) + 1)
