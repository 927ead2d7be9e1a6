"""The page Game, “Beat the model”: the statements of a fact against the clock, then the answers beside the model's."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import numpy as np
from markupsafe import Markup
from pydantic import Field

from medfact.caching import shared_cache
from medfact.errors import Mistake
from medfact.facts import Fact
from medfact.metrics import UNREADABLE
from medfact.results import wording
from medfact.results.live import POLL_SECONDS
from medfact.results.wording import FATES
from medfact.reviews.game import SECONDS_PER_STATEMENT, Answers, answers_in, is_played, outcome, packets, verdicts_of
from medfact.reviews.verdicts import is_blind, show_labels
from medfact.statements import VARIANTS, Statement
from medfact.store import COMPLETE, Asked
from medfact.store.contributions import GAMES
from medfact.views.fragments import render
from medfact.web.pages import SILENCE, Action, Message, Page, Show, View, Visitor
from medfact.web.pages.keeping import ERASE, erasable
from medfact.web.services import Services
from medfact.web.visitors import NOBODY, why_nobody


class GameShow(Show):
    """State of the page Game."""

    game: int = Field(0, ge=0, le=10**4)
    """Number of the packet, from 1; 0 before the start: no clock runs before a person has said so."""
    clock: bool = True


def view(visitor: Visitor, show: GameShow) -> View:
    """The start, the statements of a fact, or their result."""
    is_open = _is_open(visitor)
    if show.game and visitor.owner == NOBODY:
        content = render("message", message=Message(why_nobody(), "warn"))
    elif not show.game or not is_open:
        content = render("game_begin", open=is_open)
    else:
        content = _packet(visitor, show)
    return View({"game": content}, show, again=None if is_open else POLL_SECONDS)


def done(visitor: Visitor, show: GameShow, action: Action) -> tuple[GameShow, Message]:
    """Records the answers to a packet, once. Raises Mistake."""
    every, _, following = _packets(visitor)
    if not _is_open(visitor) or following is None or action.about != str(following):
        raise Mistake("These sentences are not up, or you have judged them already.", "Only the first answers count.")
    packet = every[following - 1]
    store = visitor.services.store.of(visitor.owner)
    blind = is_blind(store, packet[0].fact, visitor.selves)
    show_labels(store, [packet[0].fact])
    verdicts = verdicts_of(packet, action.fields, action.seconds, clock=show.clock, blind=blind)
    visitor.services.log_of(visitor.owner, verdicts).verdicts.record(verdicts, packet)
    return show, SILENCE


def _is_open(visitor: Visitor) -> bool:
    """Returns True once the model has answered everything."""
    return visitor.services.run(visitor.demonstration).state == COMPLETE


@shared_cache(8)
def _asked(services: Services, run: str) -> tuple[Asked, ...]:
    """Statements and answers of a complete run, which do not change any more."""
    return tuple(services.store.answers.asked(run))


def _packets(visitor: Visitor) -> tuple[list[tuple[Statement, ...]], Answers, int | None]:
    """All packets, the person's answers, and the number of the first packet without any; None where all are played."""
    answers = answers_in(visitor.services.store.verdicts.log(owners=[visitor.owner]))
    statements = (item.statement for item in _asked(visitor.services, visitor.demonstration))
    every = packets(statements, visitor.owner, answers)
    return every, answers, next((at for at, packet in enumerate(every, 1) if not is_played(packet, answers)), None)


def _packet(visitor: Visitor, show: GameShow) -> Markup:
    """A packet to be played, or its result."""
    every, answers, following = _packets(visitor)
    number = min(show.game, following or len(every))
    packet, services, run = every[number - 1], visitor.services, visitor.demonstration
    values: dict[str, Any] = {"number": number, "clock": show.clock, "seconds": round(SECONDS_PER_STATEMENT * len(packet))}
    if not is_played(packet, answers):
        return render("game_play", statements=packet, **values)
    fact, items = packet[0].fact, _asked(services, run)
    records, ids = services.reports.board(run).records(), [item.statement.statement_id for item in items]
    of_packet = {statement.statement_id: answers.get(statement.statement_id) for statement in packet}
    rows = sorted(
        (item for item in items if item.statement.statement_id in of_packet),
        key=lambda item: list(VARIANTS).index(item.statement.variant),
    )
    differs = any(of_packet[item.statement.statement_id] not in (None, item.statement.label) for item in rows)
    search = f"{fact.head} {fact.relation} {fact.tail}"[:200]  # the page Review takes no more
    return render(
        "game_result",
        **values,
        fact=fact,
        true_fact=None if fact.positive else _true_fact(services, run, rows[0].fact),
        rows=[(item.statement, *_replies(item, of_packet[item.statement.statement_id])) for item in rows],
        scores=outcome(records, ids, of_packet),
        totals=outcome(records, ids, answers),
        unanswered=list(of_packet.values()).count(None),
        review=f"review?{urlencode({'run': run, 'search': search})}" if differs else "",
        following=following,
        model=wording.model_name(services.run(run).model),
        erase=erasable(GAMES),
    )


def _true_fact(services: Services, run: str, false_fact: int) -> Fact | None:
    """The true fact that a false fact was drawn for, by its number; None if the run lacks it."""
    sheet = services.reports.board(run).sheet
    numbers = np.flatnonzero((sheet.pair == sheet.pair[false_fact]) & sheet.positive)[:1].tolist()
    items = services.store.answers.asked(run, facts=numbers) if numbers else []
    return items[0].statement.fact if items else None


def _replies(item: Asked, answer: bool | None) -> tuple[tuple[str, str, str], ...]:
    """The person's reply and the model's: fate, its glyph, and words."""
    fate = FATES[UNREADABLE] if answer is None else FATES[int(answer == item.statement.label)]
    words = "no answer, counted as wrong" if answer is None else f"says {'true' if answer else 'false'}: {fate.name}"
    return (fate.name, fate.glyph, words), (wording.fate(item).name, wording.fate(item).glyph, wording.describe_answer(item))


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
