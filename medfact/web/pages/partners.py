"""The page “Are these really false?”: the false partners of a visitor's own table that nobody has checked, a card each."""

from __future__ import annotations

from markupsafe import Markup

from medfact.datasets.pairing import scoped_relation, triplet_key
from medfact.errors import MedfactError, Mistake
from medfact.facts import Fact, name_key
from medfact.statements import Statement
from medfact.store import Plan
from medfact.store.contributions import DECISIONS
from medfact.views.fragments import render
from medfact.web.evaluate.facts_step import any_plan
from medfact.web.evaluate.form import kept_setup
from medfact.web.evaluate.spec import source_of
from medfact.web.pages import Action, Message, Page, Show, View, Visitor
from medfact.web.pages.keeping import ERASE, erasable
from medfact.web.services import collection_of


def cards_of(plan: Plan) -> dict[str, tuple[Fact, Statement]]:
    """The false partners that a plan presumes, each by what a button on its card is about: the true fact and the sentence."""
    true = {fact.fact_id: fact for fact in plan.facts if fact.positive}
    cards: dict[tuple[str, ...], tuple[Fact, Statement]] = {}
    for statement in (asked.statement for asked in plan.statements):
        fact = statement.fact
        if fact.presumed and not statement.label and fact.negative_of in true:
            key = triplet_key(fact.head, scoped_relation(fact), fact.tail or "")
            cards.setdefault(key, (true[fact.negative_of], statement))
    return {f"{fact.fact_id}:{sentence.fact.tail}": (fact, sentence) for fact, sentence in cards.values()}


def view(visitor: Visitor, show: Show) -> View:
    """The first card of the facts that are set up on the page Evaluate, or what was said of all of them."""
    setup = kept_setup(visitor.services, visitor.owner)
    try:
        plan = any_plan(visitor, setup)
        known = collection_of(source_of(visitor.services, visitor.owner, setup)).known
    except MedfactError as error:
        return View({"partners": render("message", message=Message(error.public, "warn"))}, show)
    names = {name_key(name) for pair in known.pairs() for name in pair}
    decisions = visitor.services.store.of(visitor.owner).decisions.on_partners()
    said = [decision for decision in decisions if name_key(decision.head) in names]
    partnered = {fact.negative_of for fact in plan.facts if fact.negative_of}
    shown = render("partners", cards=cards_of(plan), said=said, partnered=partnered)
    return View({"partners": shown, "kept": erasable(DECISIONS) if said else Markup()}, show)


def decide(visitor: Visitor, show: Show, action: Action) -> tuple[Show, Message]:
    """Keeps that a partner is false; or that it can be true: then it is drawn for this head no more, and another one is."""
    cards = cards_of(any_plan(visitor, kept_setup(visitor.services, visitor.owner)))
    if action.about not in cards:
        raise Mistake("This false partner needs no check any more.", "Go on with the next one.")
    fact, sentence = cards[action.about]
    decisions, tail = visitor.services.log_of(visitor.owner, [sentence]).decisions, sentence.fact.tail or ""
    if action.name == "keep_false":
        decisions.confirm(fact, tail)
        return show, Message()
    decisions.reject(fact.fact_id, tail, "true", fact)
    return show, Message(f"“{tail}” will not be called false of {fact.head} again.", "good")


def back(visitor: Visitor, show: Show, action: Action) -> tuple[Show, Message]:
    """Takes back what was said of a partner."""
    fact_id, _, tail = action.about.partition(":")
    visitor.services.store.of(visitor.owner).decisions.take_back(fact_id, tail)
    return show, Message(f"What you said of “{tail}” is taken back.", "good")


PAGE = Page(
    "partners",
    "Are these really false?",
    ("partners", "said", "kept"),
    Show,
    view,
    {"keep_false": decide, "can_be_true": decide, "back": back, **ERASE},
    is_listed=False,
)
