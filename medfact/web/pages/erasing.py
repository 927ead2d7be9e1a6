"""What visitors have said is theirs to erase, for good: verdicts with their comments, answers in the game, edited sentences."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from medfact.errors import Mistake
from medfact.results.wording import counted
from medfact.store.contributions import DECISIONS, EDITS, GAMES, VERDICTS
from medfact.views.fragments import render
from medfact.web.pages import Act, Action, Message, Visitor

NAMES = {
    VERDICTS: "verdicts and comments",
    GAMES: "answers in the game",
    EDITS: "edited sentences and sign-offs",
    DECISIONS: "rejected false partners and decisions on drafts",
}
"""Kind → what it is called."""

SURE = "sure"
"""The field that a visitor ticks: what is erased does not come back."""


def erase(visitor: Visitor, show: Any, action: Action) -> tuple[Any, Message]:
    """Erases what the visitor has said, of the kind that the button names."""
    if action.about not in NAMES:
        raise Mistake("There is nothing of that name to erase.", "Load the page again.")
    name = NAMES[action.about]
    if not action.fields.get(SURE):
        raise Mistake(f"Your {name} would be gone for good.", "Tick the box first.")
    erased = visitor.services.store.of(visitor.owner).contributions.erase([action.about])
    if not erased:
        return show, Message("There is nothing of yours to erase.")
    return show, Message(f"Your {name} are erased ({counted(erased, 'row')} of the database).", "good")


def erasable(*kinds: str) -> Markup:
    """The part of a page that erases what was said, of these kinds."""
    return render("erase", kinds=[(kind, NAMES[kind]) for kind in kinds])


ERASE: dict[str, Act] = {"erase": erase}
"""The button, for the pages that have it."""
