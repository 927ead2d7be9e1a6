"""The first page: the claim, the demonstration in two numbers with one of its facts, and the three ways on."""

from __future__ import annotations

from markupsafe import Markup

from medfact.kept import keep
from medfact.results.live import Live, Version
from medfact.views.fragments import render
from medfact.web.pages import FIRST, Page, Show, View, Visitor
from medfact.web.pages.cards import Card, card_of_answers, of_facts
from medfact.web.pages.keeping import signing_in
from medfact.web.services import Services


def view(visitor: Visitor, show: Show) -> View:
    """The same for everybody, while the demonstration is computed and after."""
    live = visitor.services.reports.live(visitor.demonstration)
    again = visitor.services.reports.next_look(live)
    return View({"hero": hero(visitor), "notice": signing_in(visitor, "")}, show, again=again, title="medfact")


def hero(visitor: Visitor) -> Markup:
    """The claim, the story of the demonstration in two numbers, and one of its facts with the model's answers."""
    live = visitor.services.reports.live(visitor.demonstration)
    return _hero(visitor.services, live.run.run, live.version)


@keep(8)
def _hero(services: Services, run: str, _: Version) -> Markup:
    """Kept for each version of the demonstration's answers."""
    live = services.reports.live(run)
    report = live.report
    mastered = round((report.joint_accuracy.value or 0) * report.joint_accuracy.n)
    card = _card(services, live)
    return render("hero", report=report, mastered=mastered, card=card, run=run)


def _card(services: Services, live: Live) -> Card | None:
    """A pair of the demonstration whose plain statement the model got right, and the rest not."""
    pairs = services.reports.pairs(live.run.run)
    told = [pair for pair in pairs.chosen("fragile") if pairs.fate[pairs.members[pair][0]].tolist().count(1) in (3, 4, 5)]
    if not told:
        return None
    items = of_facts(services, live.run.run, pairs.members[told[0]])
    return card_of_answers(services, [("medfact-tiny", live.run, items)])


PAGE = Page(FIRST, "Home", ("hero", "notice"), Show, view, place=-1)
