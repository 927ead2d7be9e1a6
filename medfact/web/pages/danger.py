"""What the sections of the shown runs tell of: their reports, and the judged false facts that each model affirms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medfact.datasets import Held
from medfact.kept import keep
from medfact.results.danger import Danger, danger
from medfact.results.live import Live, Version
from medfact.results.sections import Figures
from medfact.web.pages import Visitor
from medfact.web.services import Services


def figures_of(visitor: Visitor, lives: Mapping[str, Live]) -> Figures:
    """The figures of the shown runs; of each that has ended or rests, with the false facts that it accepts."""
    services, judged = visitor.services, visitor.services.held(visitor.reviewers)
    dangers: dict[str, Danger] = {}
    opens: dict[tuple[str, int], Mapping[str, Any]] = {}
    for place, (name, live) in enumerate(lives.items()):
        if live.going or not live.report.answered:
            continue
        dangers[name] = _board(services, live.run.run, live.version, _Key(judged))
        pairs = services.reports.pairs(live.run.run)
        pair_of = {fact: pair for pair, members in enumerate(pairs.members) for fact in members}
        for one in dangers[name].board:
            opens[name, one.number] = {"tab": "facts", "chosen": place, "fact": pair_of[one.number]}
    links = {name: f"review?run={lives[name].run.run}" for name in dangers}
    return Figures({name: live.report for name, live in lives.items()}, dangers, opens=opens, links=links)


class _Key:
    """What reviewers hold, as a key that is equal for the same object: it changes with their verdicts."""

    def __init__(self, held: Held) -> None:
        self.held = held

    def __hash__(self) -> int:
        return id(self.held)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.held is self.held


@keep(200)
def _board(services: Services, run: str, _: Version, key: _Key) -> Danger:
    """Kept for each version of a run's answers and of the verdicts."""
    facts = services.store.answers.false_facts(run)
    return danger(services.reports.board(run).records(), facts, key.held, services.run(run).spec.shot_draws)
