"""The page Review: one fact after the other, and the exceptions among its statements; labels are hidden until it is judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from urllib.parse import urlencode

from markupsafe import Markup
from pydantic import Field

from medfact.datasets import bundled_names, grouping
from medfact.errors import MedfactError, Mistake
from medfact.facts import Fact, name_key
from medfact.reviews.queues import at_random, shuffled
from medfact.reviews.transfer import LONGEST_NAME, LONGEST_TEXT
from medfact.reviews.verdicts import (
    CHOSEN,
    FACT_VERDICTS,
    RANDOM,
    REASONS,
    STATEMENT_VERDICTS,
    WITHDRAWN,
    Opinion,
    opinions,
    who,
)
from medfact.runs.plan import pool_of
from medfact.spec import PROTOCOLS, RunSpec
from medfact.statements import Statement
from medfact.store import Verdict
from medfact.web.fragments import render
from medfact.web.pages import Action, Message, Page, Show, View, Visitor
from medfact.web.services import collection_of, spec_of

SEED = 0
MOST_SECONDS = 3_600.0
"""A longer time before a verdict says only that somebody went away."""


class ReviewShow(Show):
    """reviewer: the name under which verdicts are kept. data: a bundled data set. relation, search: "" for all, which is the
    random queue. place: of the fact in the queue. checking: whether labels are shown, which the verdicts record.
    """

    reviewer: str = Field("", max_length=LONGEST_NAME)
    data: str = RunSpec.dataset
    relation: str = Field("", max_length=500)
    search: str = Field("", max_length=200)
    checking: bool = False
    place: int = Field(0, ge=0, le=10**9)


@dataclass(frozen=True)
class Line:
    """A statement as it is shown: what the verdict on its fact makes of it, and what the reviewer says beside that."""

    statement: Statement
    holds: bool | None
    verdict: str
    wording: str


def view(visitor: Visitor, show: ReviewShow) -> View:
    """One fact of the queue, with what this reviewer has said of it."""
    show = show.model_copy(update={"data": show.data if show.data in bundled_names() else RunSpec.dataset})
    try:
        queue = _queue(show)
    except MedfactError as error:
        return View({"fact": render("message", message=Message(error.public, "warn"))}, show, title="Review · medfact")
    said = _own(visitor, show, queue)
    place = min(show.place, max(len(queue) - 1, 0))
    show = show.model_copy(update={"place": place})
    fragments = {
        "choice": render(
            "review_choice",
            show=show,
            datasets=[(name, name) for name in bundled_names()],
            relations=sorted({fact.relation for fact in _all(show.data)}),
            longest=LONGEST_NAME,
        ),
        "fact": _fact(visitor, show, queue, said) if queue else Markup('<p class="mf-note">No fact matches.</p>'),
    }
    return View(fragments, show, query=_query(show), title="Review · medfact")


def _query(show: ReviewShow) -> str:
    """The address, from which a reload goes on: who reviews what, and where in the queue."""
    names = ("reviewer", "data", "relation", "search", "checking", "place")
    changed = {name: getattr(show, name) for name in names if getattr(show, name) != ReviewShow.model_fields[name].default}
    return f"?{urlencode(changed)}" if changed else ""


@lru_cache(maxsize=8)
def _all(data: str) -> tuple[Fact, ...]:
    """The facts of a data set that our own sentences state, each with its false partner, in the order of the random queue."""
    collection = collection_of({"dataset": data})
    pool = pool_of(spec_of({"dataset": data}), collection.ready)
    protocol = PROTOCOLS[RunSpec.protocol]
    group = grouping(collection, protocol.negatives, SEED, protocol.negative_difficulty, {})
    groups = [group(fact) for fact in collection.facts if fact.positive and pool.states(fact)]
    return tuple(at_random([fact for group_of_fact in groups for fact in group_of_fact if fact.tail], SEED))


def _queue(show: ReviewShow) -> list[Fact]:
    words = name_key(show.search)
    return [
        fact
        for fact in _all(show.data)
        if show.relation in ("", fact.relation) and words in name_key(f"{fact.head} {fact.relation} {fact.tail}")
    ]


def _own(visitor: Visitor, show: ReviewShow, queue: Sequence[Fact]) -> Mapping[str, Opinion]:
    """Fact id → what this reviewer, and nobody else, has said."""
    me = who(Verdict(show.reviewer, "", "", owner=visitor.owner))
    log = visitor.services.store.verdicts(owners=[visitor.owner])
    return {fact_id: of[me] for fact_id, of in opinions(log).items() if me in of}


def _fact(visitor: Visitor, show: ReviewShow, queue: Sequence[Fact], said: Mapping[str, Opinion]) -> Markup:
    fact = queue[show.place]
    opinion = said.get(fact.fact_id)
    done = sum(one.fact_id in said for one in queue)
    others = (*range(show.place + 1, len(queue)), *range(show.place))
    following = next((number for number in others if queue[number].fact_id not in said), None)
    return render(
        "review_fact",
        fact=fact,
        checking=show.checking,
        reviewer=show.reviewer,
        place=show.place,
        of=len(queue),
        done=done,
        minutes=_minutes_left(said, len(queue) - done),
        following=following,
        opinion=opinion,
        lines=[_line(statement, opinion) for statement in _statements(show, fact)],
        verdicts=list(enumerate(FACT_VERDICTS.items(), 1)),
        choices=[("", "fine"), *STATEMENT_VERDICTS.items()],
        reasons=REASONS,
        longest=LONGEST_TEXT,
    )


def _statements(show: ReviewShow, fact: Fact) -> list[Statement]:
    collection = collection_of({"dataset": show.data})
    pool = pool_of(spec_of({"dataset": show.data}), collection.ready)
    return shuffled(list(pool.statements([fact])), SEED, show.reviewer)


def _line(statement: Statement, opinion: Opinion | None) -> Line:
    own = opinion.statements.get(statement.statement_id) if opinion else None
    holds = opinion.truth(statement) if opinion else None
    return Line(statement, holds, own.verdict if own else "", own.wording if own else "")


def _minutes_left(said: Mapping[str, Opinion], left: int) -> int | None:
    """At this reviewer's own pace; None before there is one."""
    seconds = sorted(one.fact.seconds for one in said.values() if one.fact.seconds is not None)
    return None if not seconds else max(1, round(seconds[len(seconds) // 2] * left / 60))


# ------------------------------------------------------------------------------------------------ actions


def _current(visitor: Visitor, show: ReviewShow, action: Action) -> Fact:
    """The fact that a button is about. Raises Mistake."""
    if not show.reviewer.strip():
        raise Mistake("Say who you are first: a name, or initials.", "Verdicts are kept under it.")
    fact = next((one for one in _all(show.data) if one.fact_id == action.about), None)
    if fact is None:
        raise Mistake("There is no such fact in this queue.", "Load the page again.")
    return fact


def judge(visitor: Visitor, show: ReviewShow, action: Action) -> tuple[ReviewShow, Message]:
    """Records the verdict on a fact, the exceptions among its statements, and what is said of it; then shows the next one."""
    fact, fields = _current(visitor, show, action), action.fields
    verdict = fields.get("verdict", "")
    if verdict not in FACT_VERDICTS:
        raise Mistake("Say first whether the fact is true.", "Press 1 to 5.")
    queue = RANDOM if not (show.relation or show.search) else CHOSEN
    said = _own(visitor, show, []).get(fact.fact_id)
    blind = not show.checking and said is None  # whoever has judged it has seen its label
    reasons = tuple(reason for reason in REASONS if fields.get(f"reason-{reason}"))
    comment, evidence = (fields.get(name, "").strip()[:LONGEST_TEXT] for name in ("comment", "evidence"))
    log = [Verdict(show.reviewer.strip(), fact.fact_id, verdict, "", reasons, "", comment, evidence, seconds=_seconds(fields))]
    for statement in _statements(show, fact):
        log += _exception(show.reviewer.strip(), statement, fields, said)
    log = [replace(one, blind=blind, queue=queue) for one in log]
    visitor.services.store.of(visitor.owner).record_verdicts(log)
    return show.model_copy(update={"place": show.place + 1}), Message()


def _exception(name: str, statement: Statement, fields: Mapping[str, str], said: Opinion | None) -> list[Verdict]:
    """What is said of one statement now, if that is not what was said before."""
    verdict = fields.get(f"of-{statement.statement_id}", "")
    wording = fields.get(f"wording-{statement.statement_id}", "").strip()[:LONGEST_TEXT]
    before = said.statements.get(statement.statement_id) if said else None
    if (verdict, wording) == ((before.verdict, before.wording) if before else ("", "")):
        return []
    verdict = verdict if verdict in STATEMENT_VERDICTS else WITHDRAWN
    return [Verdict(name, statement.fact.fact_id, verdict, statement_id=statement.statement_id, wording=wording)]


def _seconds(fields: Mapping[str, str]) -> float | None:
    try:
        seconds = float(fields.get("seconds", ""))
    except ValueError:
        return None
    return seconds if 0 <= seconds <= MOST_SECONDS else None


def undo(visitor: Visitor, show: ReviewShow, _: Action) -> tuple[ReviewShow, Message]:
    """Takes this reviewer's last verdict on a fact back, with what came with it, and shows that fact again."""
    said = _own(visitor, show, [])
    if not said:
        raise Mistake("There is nothing to take back.", "")
    last = max(said.values(), key=lambda one: one.fact.number)
    things = [last.fact, *last.statements.values()]
    back = [Verdict(one.reviewer, one.fact_id, WITHDRAWN, statement_id=one.statement_id) for one in things]
    visitor.services.store.of(visitor.owner).record_verdicts(back)
    place = next((n for n, fact in enumerate(_queue(show)) if fact.fact_id == last.fact.fact_id), show.place)
    return show.model_copy(update={"place": place}), Message("Taken back.", "good")


def jump(visitor: Visitor, show: ReviewShow, action: Action) -> tuple[ReviewShow, Message]:
    """Shows the fact of a number."""
    number = action.fields.get("number", "")
    if not number.isdecimal() or not 1 <= int(number[:9]) <= len(_queue(show)):
        raise Mistake("There is no fact of that number.", f"Give 1 to {len(_queue(show)):,}.")
    return show.model_copy(update={"place": int(number) - 1}), Message()


REVIEW = Page(ReviewShow, view, {"judge": judge, "undo": undo, "jump": jump})
