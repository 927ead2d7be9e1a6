"""The page Review: one fact after the other, and the exceptions among its statements; labels are hidden until it is judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from markupsafe import Markup

from medfact.datasets import bundled_names
from medfact.errors import FactsError, MedfactError
from medfact.facts import Fact
from medfact.reviews.blindness import show_labels
from medfact.reviews.guidelines import guidelines, is_absolute
from medfact.reviews.reliability import statements_to_check
from medfact.reviews.transfer import LONGEST_NAME, LONGEST_TEXT
from medfact.reviews.verdicts import (
    CONTESTED,
    DISPUTED,
    FACT_VERDICTS,
    RANDOM,
    REASONS,
    REVIEWER,
    STATEMENT_VERDICTS,
    STATEMENTS_ALONE,
    Opinion,
    opinions,
)
from medfact.spec import RunSpec
from medfact.statements import Statement
from medfact.store.contributions import GAMES, VERDICTS
from medfact.store.engine import home
from medfact.views.fragments import render
from medfact.web.pages import Message, Page, View, Visitor
from medfact.web.pages.cards import links_of
from medfact.web.pages.erasing import ERASE, erasable
from medfact.web.pages.own_data import OWN_DATA, own_name, own_source
from medfact.web.pages.review_actions import all_fine, judge, jump, undo
from medfact.web.pages.review_desk import (
    OF_RUNS,
    PACKET,
    ReviewShow,
    as_it_can_be,
    material_of,
    own_opinions,
    queue_of,
    statements_of,
)
from medfact.web.pages.review_material import Material, contested_facts
from medfact.web.visitors import NOBODY, is_adjudicator

ADDRESS = ("reviewer", "run", "data", "queue", "relation", "search", "checking", "adjudicating", "place")
"""The fields of the page's address."""

QUEUE_TITLES = {
    RANDOM: "a random sample, the same for all",
    CONTESTED: "contested: all models deny the label first, then where strong ones differ",
    DISPUTED: "disputed: reviewers differ, to adjudicate",
}


@dataclass(frozen=True)
class Line:
    """A statement as it is shown: what the verdict on its fact makes of it, and what the reviewer says beside that. others:
    what other reviewers say of it, for an adjudicator.
    """

    statement: Statement
    holds: bool | None
    verdict: str
    wording: str
    absolute: bool
    others: Sequence[tuple[str, str]]


def view(visitor: Visitor, show: ReviewShow) -> View:
    """One fact of the queue, with what this reviewer has said of it."""
    show = as_it_can_be(visitor, show)
    relations: list[str] = []
    try:
        material = material_of(visitor, show)
        relations = sorted({fact.relation for fact in material.facts})
        queue = queue_of(visitor, show, material)
        show = show.model_copy(update={"place": min(show.place, max(len(queue) - 1, 0))})
        fact = (
            _fact(visitor, show, material, queue)
            if queue
            else render("review_none", queue=show.queue, any=bool(material.facts))
        )
    except MedfactError as error:
        fact = render("message", message=Message(error.public, "warn"))
    return View({"choice": _choice(visitor, show, relations), "fact": fact}, show, query=_query(show), title="Review · medfact")


def _choice(visitor: Visitor, show: ReviewShow, relations: Sequence[str]) -> Markup:
    own = own_source(visitor)
    try:
        guide, problem = guidelines(home()), ""
    except FactsError as error:
        guide, problem = None, error.public
    return render(
        "review_choice",
        show=show,
        signed_in=bool(visitor.user),
        may_adjudicate=is_adjudicator(show.reviewer, signed_in=bool(visitor.user)),
        datasets=[
            *((name, name) for name in bundled_names()),
            *([(OWN_DATA, own_name(own))] if own else []),
            *([(OF_RUNS, "what the run of this link asked")] if show.run else []),
        ],
        queues=[(name, title) for name, title in QUEUE_TITLES.items() if name != DISPUTED or show.adjudicating],
        relations=relations,
        longest=LONGEST_NAME,
        guide=guide,
        problem=problem,
        may_download=bool(visitor.services.store.verdicts.log(owners=[visitor.owner])),
        enough=statements_to_check(show.bound / 100),
        erase=erasable(VERDICTS, GAMES),
    )


def _query(show: ReviewShow) -> str:
    """The address, from which a reload goes on: who reviews what, and where in the queue."""
    changed = {name: getattr(show, name) for name in ADDRESS if getattr(show, name) != ReviewShow.model_fields[name].default}
    if show.data == (OF_RUNS if show.run else RunSpec.dataset):
        del changed["data"]
    return f"?{urlencode(changed)}" if changed else ""


def _others(visitor: Visitor, show: ReviewShow, fact: Fact) -> list[tuple[str, Opinion]]:
    """What reviewers say of a fact, by their names, for an adjudicator."""
    if not show.adjudicating:
        return []
    log = visitor.services.store.verdicts.log([fact.fact_id], visitor.reviewers)
    found = opinions(log).get(fact.fact_id, {}).values()
    return sorted((one.fact.reviewer, one) for one in found if one.fact.role == REVIEWER)


def _fact(visitor: Visitor, show: ReviewShow, material: Material, queue: Sequence[Fact]) -> Markup:
    fact, said = queue[show.place], own_opinions(visitor, show)
    opinion, others = said.get(fact.fact_id), _others(visitor, show, fact)
    is_shown = show.checking or opinion is not None
    if is_shown and visitor.owner != NOBODY:
        show_labels(visitor.services.store.of(visitor.owner), [fact])
    up = {one.fact_id for one in queue}
    done = len(up & said.keys())
    rest = (*range(show.place + 1, len(queue)), *range(show.place))
    reviewers = visitor.services.store.verdicts.reviewers_of_facts(visitor.reviewers)
    return render(
        "review_fact",
        fact=fact,
        why=contested_facts(visitor.services, material).get(fact.fact_id, "") if show.queue == CONTESTED else "",
        links=links_of(fact),
        show=show,
        of=len(queue),
        done=done,
        minutes=_minutes_left(said, len(queue) - done),
        packet=show.place // PACKET + 1,
        in_packet=show.place % PACKET + 1,
        packet_size=min(PACKET, len(queue) - show.place // PACKET * PACKET),
        judged=len(up & reviewers.keys()),
        twice=sum(number > 1 for fact_id, number in reviewers.items() if fact_id in up),
        following=next((number for number in rest if queue[number].fact_id not in said), None),
        opinion=opinion,
        is_shown=is_shown,
        others=others,
        lines=[_line(one, opinion, others) for one in statements_of(show, material, fact)],
        verdicts=list(enumerate(FACT_VERDICTS.items(), 1)),
        titles=FACT_VERDICTS,
        choices=[("", "fine"), *STATEMENT_VERDICTS.items()],
        reasons=REASONS,
        longest=LONGEST_TEXT,
    )


def _line(statement: Statement, opinion: Opinion | None, others: Sequence[tuple[str, Opinion]]) -> Line:
    own = opinion.statements.get(statement.statement_id) if opinion else None
    exceptions = [(name, of.statements.get(statement.statement_id)) for name, of in others]
    return Line(
        statement,
        opinion.truth(statement) if opinion else None,
        own.verdict if own else "",
        own.wording if own else "",
        is_absolute(statement.text),
        [
            (name, f"{STATEMENTS_ALONE[one.verdict]}{f': “{one.wording}”' if one.wording else ''}")
            for name, one in exceptions
            if one
        ],
    )


def _minutes_left(said: Mapping[str, Opinion], left: int) -> int | None:
    """At this reviewer's own pace; None before there is one."""
    seconds = sorted(one.fact.seconds for one in said.values() if one.fact.seconds is not None)
    return None if not seconds else max(1, round(seconds[len(seconds) // 2] * left / 60))


REVIEW = Page(ReviewShow, view, {"judge": judge, "all_fine": all_fine, "undo": undo, "jump": jump, **ERASE}, address=ADDRESS)
