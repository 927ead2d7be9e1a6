"""How long this server keeps what a visitor does here, in a sentence; and, where that is not long, files to take away."""

from __future__ import annotations

from collections.abc import Sequence
from math import isinf

from markupsafe import Markup

from medfact.limits import is_public_server, limits
from medfact.results import wording
from medfact.store import GOING, Run, is_lasting
from medfact.views.fragments import render
from medfact.web.pages import Visitor

MOST_LINKS = 8


def keeping(own: Sequence[Run]) -> Markup:
    """What a visitor should know who has these runs, newest first, on a public server; nothing on one's own machine."""
    ended = [run for run in own if run.state not in GOING]
    if not is_public_server() or not ended:
        return Markup()
    days = limits().in_all.run_days
    if not is_lasting():
        text = "This server has no lasting storage: its runs will be gone when it restarts. Export yours to keep it:"
    elif isinf(days):
        text = "This server drops the oldest runs when its disk is full. Export yours to keep it:"
    else:
        text = f"This server keeps runs for {days:,.0f} days, or less when its disk is full. Export yours to keep it:"
    named = [(run.run, wording.short_name(run)) for run in ended[:MOST_LINKS]]
    return render("keeping", text=text, runs=named)


def signing_in(visitor: Visitor, page: str) -> Markup:
    """The way to sign in or out, where signing in is offered."""
    return Markup() if visitor.person is None else render("sign_in", person=visitor.person, page=page)
