"""What a visitor does here: how long the server keeps it, how to take it away or sign in, and how to erase what was said."""

from __future__ import annotations

from collections.abc import Sequence
from math import isinf
from typing import Any

from markupsafe import Markup

from medfact.errors import Mistake
from medfact.limits import is_public_server, is_restricted, limits
from medfact.results import wording
from medfact.results.wording import counted
from medfact.store import GOING, Run, is_lasting
from medfact.store.contributions import CHECKS, DECISIONS, EDITS, GAMES, VERDICTS
from medfact.views.fragments import render
from medfact.web.hub_tokens import is_offered
from medfact.web.pages import Act, Action, Message, Visitor

MOST_LINKS = 8

NAMES = {
    VERDICTS: "verdicts and comments",
    GAMES: "answers in the game",
    EDITS: "edited sentences and sign-offs",
    DECISIONS: "verdicts on false partners and decisions on drafts",
    CHECKS: "decisions on facts that documents propose",
}
"""Kind → what it is called."""

SURE = "sure"
"""The field that a visitor ticks: what is erased does not come back."""


def keeping(own: Sequence[Run]) -> Markup:
    """What a visitor should know who has these runs, newest first, on a public server; nothing on one's own machine."""
    ended = [run for run in own if run.state not in GOING]
    if not is_public_server() or not ended:
        return Markup()
    days = limits().in_all.run_days
    if not is_lasting():
        text = "This server has no lasting storage: its runs will be gone when it restarts. Export yours to keep it:"
    elif isinf(days):
        text = "This server keeps runs as long as its host does. Export yours to keep it:"
    else:
        text = f"This server keeps runs for {days:,.0f} days. Export yours to keep it:"
    named = [(run.run, wording.run_name(run, 60)) for run in ended[:MOST_LINKS]]
    return render("keeping", text=text, runs=named)


HOST_HINT = (
    "Did you start this server? Open the address that it printed then: that page also uses the keys, services and folders of "
    "this machine, and lists the runs of the command line."
)


def signing_in(visitor: Visitor, page: str) -> Markup:
    """The way to sign in or out, where signing in is offered, and the way to become the host, where there is one."""
    hint = render("message", message=Message(HOST_HINT)) if is_restricted() and not is_public_server() else Markup()
    if visitor.person is None:
        return hint
    held = visitor.services.tokens.has(visitor.owner)
    return hint + render("sign_in", person=visitor.person, page=page, credits=is_offered(), held=held)


def erase(visitor: Visitor, show: Any, action: Action) -> tuple[Any, Message]:
    """Erases what the visitor has said, of the kind that the button names."""
    if action.about not in NAMES:
        raise Mistake("There is no such thing to erase.", "Load the page again.")
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
