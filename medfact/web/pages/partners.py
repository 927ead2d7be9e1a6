"""The page “Are these really false?”: the false partners of a visitor's own table that nobody has checked, a card each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from medfact.datasets.vouched import place_key, relation_within_bounds
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
    partner: Fact
    sentence: Statement

    @property
    def about(self) -> str:
        """What a button on the card is about."""
        return f"{self.true_fact.fact_id}:{self.partner.tail}"


@dataclass(frozen=True)
class Stack:
    """Partners of the facts that are set up. cards: to be checked. said: of earlier ones, the newest first. partnered: the ids
    of true facts that have a false partner.
    """

    cards: Sequence[PartnerCard]
    said: Sequence[PartnerDecision]
    partnered: frozenset[str]

    @property
    def rejected(self) -> list[PartnerDecision]:
        return [one for one in self.said if not one.confirmed]

    @property
    def redrawn(self) -> int:
        """How many of the rejected ones have another partner in their place."""
        return sum(one.fact_id in self.partnered for one in self.rejected)


def stack_of(visitor: Visitor) -> Stack:
    """The partners of the facts that a visitor has set up on the page Evaluate. Raises MedfactError where none can be asked."""
    setup = kept_setup(visitor.services, visitor.owner)
    plan = any_plan(visitor, setup)
    true = {fact.fact_id: fact for fact in plan.facts if fact.positive}
    cards: dict[tuple[object, ...], PartnerCard] = {}
    for statement in (asked.statement for asked in plan.statements):
        fact = statement.fact
        if fact.presumed and not statement.label and fact.negative_of in true:
            key = (place_key(fact.head, relation_within_bounds(fact)), name_key(fact.tail or ""))
            cards.setdefault(key, PartnerCard(true[fact.negative_of], fact, statement))
    known = collection_of(source_of(visitor.services, visitor.owner, setup)).known.facts
    names = {name_key(name) for fact in known for name in (fact.head, fact.tail or "")}
    said = [one for one in visitor.services.store.of(visitor.owner).decisions.on_partners() if name_key(one.head) in names]
    partnered = frozenset(fact.negative_of for fact in plan.facts if fact.negative_of)
    return Stack(list(cards.values()), said, partnered)


def view(visitor: Visitor, show: Show) -> View:
    """The first card, or what was said of all of them."""
    try:
        stack = stack_of(visitor)
    except MedfactError as error:
        return View({"partners": render("message", message=Message(error.public, "warn"))}, show)
    shown = render("partners", stack=stack, card=stack.cards[0] if stack.cards else None)
    return View({"partners": shown, "kept": erasable(DECISIONS) if stack.said else Markup()}, show)


def _card(visitor: Visitor, action: Action) -> PartnerCard:
    card = next((card for card in stack_of(visitor).cards if card.about == action.about), None)
    if card is None:
        raise Mistake("That false partner is not among those to be checked any more.", "Go on with the one that is shown.")
    return card


def keep_false(visitor: Visitor, show: Show, action: Action) -> tuple[Show, Message]:
    """Keeps that a partner is false."""
    card = _card(visitor, action)
    visitor.services.log_of(visitor.owner, [card.partner]).decisions.confirm(card.true_fact, card.partner.tail or "")
    return show, Message()


def can_be_true(visitor: Visitor, show: Show, action: Action) -> tuple[Show, Message]:
    """Keeps that a partner can be true: it is drawn for this head no more, and another one is drawn."""
    card = _card(visitor, action)
    fact, tail = card.true_fact, card.partner.tail or ""
    visitor.services.log_of(visitor.owner, [card.partner]).decisions.reject(fact.fact_id, tail, "true", fact)
    return show, Message(f"“{tail}” will not be called false of {fact.head} again.", "good")


def back(visitor: Visitor, show: Show, action: Action) -> tuple[Show, Message]:
    """Takes back what was said last."""
    last = next((one for one in stack_of(visitor).said if f"{one.fact_id}:{one.tail}" == action.about), None)
    if last is None:
        raise Mistake("There is nothing to take back.", "Go on with the one that is shown.")
    visitor.services.store.of(visitor.owner).decisions.take_back(last)
    return show, Message(f"What you said of “{last.tail}” is taken back.", "good")


PAGE = Page(
    "partners",
    "Are these really false?",
    ("partners", "said", "kept"),
    Show,
    view,
    {"keep_false": keep_false, "can_be_true": can_be_true, "back": back, **ERASE},
    is_listed=False,
)
