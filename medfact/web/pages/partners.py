"""The page “Are these really false?”: the false partners of a visitor's own table that nobody has checked, a card each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from medfact.datasets.vouched import relation_within_bounds, triplet_key
from medfact.errors import MedfactError, Mistake
from medfact.facts import Fact, name_key
from medfact.statements import Statement
from medfact.store.contributions import DECISIONS
from medfact.store.entities import PartnerDecision
from medfact.views.fragments import render
from medfact.web.evaluate.facts_step import any_plan
from medfact.web.evaluate.form import kept_setup
from medfact.web.evaluate.spec import source_of
from medfact.web.pages import Action, Message, Page, Show, View, Visitor
from medfact.web.pages.keeping import ERASE, erasable
from medfact.web.services import collection_of


@dataclass(frozen=True)
class PartnerCard:
    """A false partner to be checked, as a sentence, with the true fact that it belongs to."""

    true_fact: Fact
    sentence: Statement

    @property
    def about(self) -> str:
        """What a button on the card is about."""
        return f"{self.true_fact.fact_id}:{self.sentence.fact.tail}"


@dataclass(frozen=True)
class Stack:
    """Partners of the facts that are set up. cards: to be checked. said: of earlier ones, the newest first. partnered: the ids
    of true facts that have a false partner.
    """

    cards: Sequence[PartnerCard]
    said: Sequence[PartnerDecision]
    partnered: frozenset[str]


def stack_of(visitor: Visitor) -> Stack:
    """The partners of the facts that a visitor has set up on the page Evaluate. Raises MedfactError where none can be asked."""
    setup = kept_setup(visitor.services, visitor.owner)
    plan = any_plan(visitor, setup)
    true = {fact.fact_id: fact for fact in plan.facts if fact.positive}
    cards: dict[tuple[str, ...], PartnerCard] = {}
    for statement in (asked.statement for asked in plan.statements):
        fact = statement.fact
        if fact.presumed and not statement.label and fact.negative_of in true:
            key = triplet_key(fact.head, relation_within_bounds(fact), fact.tail or "")
            cards.setdefault(key, PartnerCard(true[fact.negative_of], statement))
    known = collection_of(source_of(visitor.services, visitor.owner, setup)).known
    names = {name_key(name) for pair in known.pairs() for name in pair}
    said = [one for one in visitor.services.store.of(visitor.owner).decisions.on_partners() if name_key(one.head) in names]
    return Stack(list(cards.values()), said, frozenset(fact.negative_of for fact in plan.facts if fact.negative_of))


def view(visitor: Visitor, show: Show) -> View:
    """The first card, or what was said of all of them."""
    try:
        stack = stack_of(visitor)
    except MedfactError as error:
        return View({"partners": render("message", message=Message(error.public, "warn"))}, show)
    shown = render("partners", stack=stack, card=stack.cards[0] if stack.cards else None)
    return View({"partners": shown, "kept": erasable(DECISIONS) if stack.said else Markup()}, show)


def decide(visitor: Visitor, show: Show, action: Action) -> tuple[Show, Message]:
    """Keeps that a partner is false; or that it can be true: then it is drawn for this head no more, and another one is."""
    card = next((card for card in stack_of(visitor).cards if card.about == action.about), None)
    if card is None:
        raise Mistake("That false partner is not among those to be checked any more.", "Go on with the one that is shown.")
    decisions = visitor.services.log_of(visitor.owner, [card.sentence]).decisions
    fact, tail = card.true_fact, card.sentence.fact.tail or ""
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
