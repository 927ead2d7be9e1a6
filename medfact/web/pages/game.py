"""The page Game, “Beat the model”: a packet of sentences against the clock, then one's answers beside the model's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from markupsafe import Markup
from pydantic import Field

from medfact.errors import Mistake
from medfact.facts import Fact
from medfact.kept import keep
from medfact.metrics import UNREADABLE
from medfact.results import wording
from medfact.results.live import PACE
from medfact.results.wording import FATES
from medfact.reviews.game import (
    VISITOR,
    Answers,
    Packet,
    People,
    answers_from,
    answers_in,
    is_played,
    outcome,
    packets,
    people,
    verdicts_of,
)
from medfact.reviews.verdicts import is_blind, show_labels
from medfact.statements import VARIANTS, Statement
from medfact.store import COMPLETE, Asked
from medfact.store.contributions import GAMES
from medfact.views.fragments import render
from medfact.web.pages import SILENCE, Action, Message, Page, Show, View, Visitor
from medfact.web.pages.keeping import ERASE, erasable
from medfact.web.services import Services
from medfact.web.visitors import NOBODY, why_nobody

FEWEST_PEOPLE = 2
"""Other people whose answers are shown together: those of one would be that one's."""


LONGEST_SEARCH = 200
"""Characters that the page Review searches for."""


@dataclass(frozen=True)
class Judged:
    """A sentence with the person's answer and the model's: of each the fate, its glyph and the words for it."""

    statement: Statement
    person: tuple[str, str, str]
    model: tuple[str, str, str]


@dataclass(frozen=True)
class Played:
    """A fact of a packet, the true one that it was made from where it is false, and its sentences. review: the address where
    the person may judge it at leisure; "" where they agree with the labels."""

    fact: Fact
    true_fact: Fact | None
    sentences: tuple[Judged, ...]
    review: str


class GameShow(Show):
    """What a visitor looks at on the page Game.

    game: the packet, 0 for none: nobody's clock runs before they have said so.
    clock: whether time is short.
    """

    game: int = Field(0, ge=0, le=10**4)
    clock: bool = True


def view(visitor: Visitor, show: GameShow) -> View:
    """What is played; before that, the way to begin."""
    shown = game(visitor, show) if show.game else render("game_begin", open=is_open(visitor))
    return View({"game": shown}, show, again=None if is_open(visitor) else PACE)


def is_open(visitor: Visitor) -> bool:
    """Whether the model has answered everything, so that there is something to beat."""
    return visitor.services.run(visitor.demonstration).state == COMPLETE


def game(visitor: Visitor, show: GameShow) -> Markup:
    """The packet that is being played, or its result; nothing before a person has started."""
    if not show.game:
        return Markup()
    if visitor.owner == NOBODY:
        return render("message", message=Message(why_nobody(), "warn"))
    if not is_open(visitor):
        return render("message", message=Message("The model is still answering; start again in a moment.", "warn"))
    every, answers, following = _packets(visitor)
    number = min(show.game, following.number if following else len(every))
    packet = every[number - 1]
    if not is_played(packet, answers):
        return render("game_play", packet=packet, clock=show.clock)
    return _result(visitor, show, packet, following, answers)


def done(visitor: Visitor, show: GameShow, action: Action) -> tuple[GameShow, Message]:
    """Keeps the answers to a packet, once. Raises Mistake."""
    every, answers, following = _packets(visitor)
    number = int(action.about) if action.about.isdecimal() and len(action.about) < 6 else 0
    if not is_open(visitor) or not 1 <= number <= len(every):
        raise Mistake("There is no such packet of sentences.", "Start the game again.")
    if is_played(every[number - 1], answers):
        raise Mistake("You have played this packet already.", "Only the first answers count.")
    if following is None or number != following.number:
        raise Mistake("You have not been shown this packet yet.", "Play the one before it first.")
    store = visitor.services.store.of(visitor.owner)
    seen = {fact.fact_id for fact in following.facts if not is_blind(store, fact, visitor.selves)}
    said = answers_from(following, action.fields)
    show_labels(store, following.facts)
    made = verdicts_of(following, said, action.seconds, clock=show.clock, seen=seen)
    visitor.services.log_of(visitor.owner, made).verdicts.record(made, following.statements)
    return show, SILENCE


# ------------------------------------------------------------------------------------------------ what is known


@keep(8)
def _asked(services: Services, run: str) -> tuple[Asked, ...]:
    """The statements and answers of a complete run, which do not change any more."""
    return tuple(services.store.answers.asked(run))


def _packets(visitor: Visitor) -> tuple[list[Packet], Answers, Packet | None]:
    """All packets, the person's answers, and the first packet that is not played."""
    statements = [item.statement for item in _asked(visitor.services, visitor.demonstration)]
    log = visitor.services.store.verdicts.log(owners=[visitor.owner])
    answers = answers_in(log).get(f"{visitor.owner}/{VISITOR}", {})
    every = packets(statements, visitor.owner, answers)
    return every, answers, next((packet for packet in every if not is_played(packet, answers)), None)


@keep(64)
def _others(services: Services, run: str, owner: str, _: tuple[int, int, str]) -> People:
    """What everybody but one reaches together; kept until there is another verdict."""
    asked = _asked(services, run)
    facts = list({item.statement.fact.fact_id for item in asked})
    found = answers_in(services.store.verdicts.log(facts))
    found.pop(f"{owner}/{VISITOR}", None)
    return people(services.reports.board(run).records(), [item.statement.statement_id for item in asked], found)


# ------------------------------------------------------------------------------------------------ the result


def _result(visitor: Visitor, show: GameShow, packet: Packet, following: Packet | None, answers: Answers) -> Markup:
    services, run = visitor.services, visitor.demonstration
    asked = _asked(services, run)
    records, ids = services.reports.board(run).records(), [item.statement.statement_id for item in asked]
    of_packet = {statement.statement_id: answers.get(statement.statement_id) for statement in packet.statements}
    here = outcome(records, ids, of_packet)
    others = _others(services, run, visitor.owner, services.store.verdicts.version())
    return render(
        "game_result",
        packet=packet,
        here=here,
        all=outcome(records, ids, answers),
        others=others if others.people >= FEWEST_PEOPLE else None,
        facts=[_played(visitor, fact, asked, of_packet) for fact in packet.facts],
        unanswered=list(of_packet.values()).count(None),
        following=following,
        model=wording.model_name(services.run(run).model),
        clock=show.clock,
        erase=erasable(GAMES),
    )


def _played(visitor: Visitor, fact: Fact, asked: Sequence[Asked], answers: Answers) -> Played:
    items = {item.statement.statement_id: item for item in asked if item.statement.fact.fact_id == fact.fact_id}
    sentences = sorted(items.values(), key=lambda item: list(VARIANTS).index(item.statement.variant))
    search = f"{fact.head} {fact.relation} {fact.tail}"[:LONGEST_SEARCH]
    differs = any(answers[name] not in (None, item.statement.label) for name, item in items.items())
    return Played(
        fact,
        None if fact.positive else visitor.services.reports.true_fact(visitor.demonstration, sentences[0].fact),
        tuple(_judged(item, answers[item.statement.statement_id]) for item in sentences),
        f"review?{urlencode({'run': visitor.demonstration, 'search': search})}" if differs else "",
    )


def _judged(item: Asked, said: bool | None) -> Judged:
    fate = wording.fate(item)
    own = FATES[UNREADABLE] if said is None else FATES[int(said == item.statement.label)]
    words = "no answer, counted as wrong" if said is None else f"says {'true' if said else 'false'}: {own.name}"
    return Judged(item.statement, (own.name, own.glyph, words), (fate.name, fate.glyph, wording.verdict(item)))


PAGE = Page(
    "game",
    "Game",
    ("game", "said"),
    GameShow,
    view,
    {"game_done": done, **ERASE},
    stops=("game", "clock"),
    place=52,
)
