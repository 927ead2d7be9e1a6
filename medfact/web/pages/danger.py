"""The danger board of the shown runs: judged false facts that a model affirms, contraindications first."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from medfact.datasets import Held
from medfact.kept import keep
from medfact.results.danger import Danger, danger
from medfact.results.live import Live, Version
from medfact.views.fragments import render
from medfact.web.pages import Visitor
from medfact.web.services import Services


def danger_board(visitor: Visitor, lives: Mapping[str, Live]) -> Markup:
    """The board of each run that has ended or rests, under the overview; nothing where no judged false fact was asked."""
    services, held = visitor.services, visitor.services.held(visitor.reviewers)
    boards = []
    for place, (name, live) in enumerate(lives.items()):
        if live.going or not live.report.answered:
            continue
        found = _made(services, live.run.run, live.version, _Key(held))
        if found.accepted.n or found.unjudged:
            pairs = services.reports.pairs(live.run.run)
            pair_of = {fact: pair for pair, members in enumerate(pairs.members) for fact in members}
            boards.append((name, place, found, pair_of, live.run.run))
    return render("danger", boards=boards) if boards else Markup()


class _Key:
    """What reviewers hold, as a key that is equal for the same object: it changes with their verdicts."""

    def __init__(self, held: Held) -> None:
        self.held = held

    def __hash__(self) -> int:
        return id(self.held)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.held is self.held


@keep(200)
def _made(services: Services, run: str, _: Version, key: _Key) -> Danger:
    """Kept for each version of a run's answers and of the verdicts."""
    facts = services.store.answers.false_facts(run)
    return danger(services.reports.board(run).records(), facts, key.held, services.run(run).spec.shot_draws)
