"""What the sections of the shown runs tell of: their reports, and the judged false facts that each model affirms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medfact.kept import keep
from medfact.results.danger import Danger, danger
from medfact.results.live import Live, Version
from medfact.results.sections import Figures
from medfact.web.pages import Visitor
from medfact.web.services import Services


def figures_of(visitor: Visitor, lives: Mapping[str, Live]) -> Figures:
    """The figures of the shown runs; of each that has ended or rests, with the false facts that it accepts."""
    services = visitor.services
    verdicts = services.store.verdicts.version()
    dangers: dict[str, Danger] = {}
    opens: dict[tuple[str, int], Mapping[str, Any]] = {}
    for place, (name, live) in enumerate(lives.items()):
        if live.going or not live.report.answered:
            continue
        dangers[name] = _board(services, live.run.run, live.version, visitor.reviewers, verdicts)
        pairs = services.reports.pairs(live.run.run)
        pair_of = {fact: pair for pair, members in enumerate(pairs.members) for fact in members}
        for one in dangers[name].board:
            opens[name, one.number] = {"tab": "facts", "chosen": place, "fact": pair_of[one.number]}
    links = {name: f"review?run={lives[name].run.run}" for name in dangers}
    return Figures({name: live.report for name, live in lives.items()}, dangers, opens=opens, links=links)


@keep(200)
def _board(services: Services, run: str, _: Version, reviewers: tuple[str, ...], __: tuple[int, int, str]) -> Danger:
    """Kept for each version of a run's answers and of the verdicts."""
    facts = services.store.answers.false_facts(run)
    return danger(services.reports.board(run).records(), facts, services.held(reviewers), services.run(run).spec.shot_draws)
