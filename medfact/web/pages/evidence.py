"""What retrieved passages do: whether the fact was among them, how scores change, and which answers flip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from medfact.caching import shared_cache
from medfact.results.compare import Change, Side, blamed, changes, is_without
from medfact.results.fact_table import pairs_of_run
from medfact.results.live import Live, Version
from medfact.results.sections import Figures
from medfact.results.sections.answers import retrieved
from medfact.results.sections.beside import passages_section
from medfact.results.wording import names_of_runs
from medfact.runs.plan import question_of
from medfact.store import COMPLETE, Asked, Retrieved, Run
from medfact.views.fragments import render, render_sections
from medfact.web.pages import Visitor, paged
from medfact.web.services import Services

FLIPS_A_PAGE = 10


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
    runs = [live.run for live in lives.values()]
    beside = [*runs, *_without(visitor, runs)]
    found = changes_of(visitor.services, beside)
    names = dict(zip((run.run for run in beside), names_of_runs(beside), strict=True))
    figures = Figures({name: live.report for name, live in lives.items()})
    questions = {run.run: question_of(run.spec) for run in beside}
    chosen = min(show.change, max(0, len(found) - 1))
    change = found[chosen] if found else None
    listed = paged(getattr(change, show.flips) if change else (), show.page, FLIPS_A_PAGE)
    fragment = render(
        "evidence",
        told=render_sections(filter(None, [retrieved(figures), passages_section(found, names, questions)])),
        choices=[(place, f"{names[one.with_]}, {one.setting}") for place, one in enumerate(found)],
        chosen=chosen,
        change=change,
        flips=_flips(visitor.services, change, listed.part) if change and listed.part else [],
        which=show.flips,
        **listed.numbers,
        runs=[run.run for run in runs],
    )
    return fragment, show.model_copy(update={"change": chosen, "page": listed.page})


def _without(visitor: Visitor, runs: Sequence[Run]) -> list[Run]:
    """The visitor's latest complete runs of the same models without passages, for those that have none beside them here."""
    missing = [run for run in runs if run.spec.retrieval != "none" and not any(is_without(one, run) for one in runs)]
    own = [run for run in reversed(visitor.services.store.runs(*visitor.owners)) if run.state == COMPLETE] if missing else []
    found = (next((one for one in own if is_without(one, run)), None) for run in missing)
    return list({run.run: run for run in found if run}.values())


def changes_of(services: Services, runs: Sequence[Run]) -> list[Change]:
    """What passages change in those of the runs that have them and stand beside one without."""
    return _changes(services, tuple(run.run for run in runs), tuple(services.reports.version(run.run) for run in runs))


@shared_cache(16)
def _changes(services: Services, runs: tuple[str, ...], _: tuple[Version, ...]) -> list[Change]:
    """Kept for each version of the runs' answers."""
    return changes([Side(services.run(run), services.reports.board(run)) for run in runs])


def _flips(services: Services, change: Change, positions: Sequence[int]) -> list[Flip]:
    """The answers at these positions of the run with passages."""
    pairs = pairs_of_run(services.reports.board(change.with_))
    pair_of = {fact: pair for pair, members in enumerate(pairs.members) for fact in members}
    return [_flip(item, pair_of.get(item.fact, 0)) for item in services.store.answers.asked(change.with_, positions=positions)]


def _flip(item: Asked, pair: int) -> Flip:
    rank = blamed(item)
    said = {True: "“true”", False: "“false”", None: "neither true nor false"}[item.answer.answer if item.answer else None]
    return Flip(item, said, pair, (item.passages or ())[rank] if rank is not None else None, (rank or 0) + 1)
