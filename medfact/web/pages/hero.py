"""What a first visitor sees: the claim, the demonstration in two numbers, and one of its facts with the model's answers."""

from __future__ import annotations

from markupsafe import Markup

from medfact.kept import keep
from medfact.results.live import Live, Version
from medfact.store import COMPLETE
from medfact.views.fragments import render
from medfact.web.pages import Visitor
from medfact.web.pages.cards import Card, card_of_answers, of_pair
from medfact.web.services import Services


def hero(visitor: Visitor, begins: bool = False, back: bool = False) -> Markup:
    """The claim, the story of the demonstration in two numbers, and one of its facts with the model's answers.

    begins: whether the button that starts the game has the focus. back: whether there are runs to go back to.
    """
    live = visitor.services.reports.live(visitor.demonstration)
    return _hero(visitor.services, live.run.run, live.version, begins, back)


@keep(8)
def _hero(services: Services, run: str, _: Version, begins: bool, back: bool) -> Markup:
    """Kept for each version of the demonstration's answers."""
    live = services.reports.live(run)
    report = live.report
    mastered = round((report.joint_accuracy.value or 0) * report.joint_accuracy.n)
    playable = live.run.state == COMPLETE
    card = _story(services, live)
    return render("hero", report=report, mastered=mastered, card=card, playable=playable, begins=begins, back=back)


def _story(services: Services, live: Live) -> Card | None:
    """A pair of the demonstration whose plain statement the model got right, and the rest not."""
    pairs = services.reports.pairs(live.run.run)
    told = [pair for pair in pairs.chosen("fragile") if pairs.fate[pairs.members[pair][0]].tolist().count(1) in (3, 4, 5)]
    if not told:
        return None
    items = of_pair(services, live, pairs.members[told[0]])
    return card_of_answers(services, [("medfact-tiny", live.run, items)])
