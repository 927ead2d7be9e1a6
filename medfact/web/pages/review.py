"""The page Review: one fact after the other, and the exceptions among its statements; labels are hidden until it is judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Literal

from markupsafe import Markup
from pydantic import Field

from medfact.assets import ENGLISH, language_codes, language_titles
from medfact.datasets.search import holding
from medfact.errors import FactsError, MedfactError, Mistake
from medfact.facts import Fact
from medfact.languages import names_in
from medfact.results.wording import duration, short_name
from medfact.reviews.guidelines import Guidelines, guidelines, is_absolute
from medfact.reviews.invitations import Invitation, invitation_of, progress
from medfact.reviews.queues import disputed, shuffled
from medfact.reviews.reliability import statements_to_check
from medfact.reviews.transfer import LONGEST_NAME, LONGEST_TEXT
from medfact.reviews.verdicts import (
    ADJUDICATOR,
    CHOSEN,
    CONTESTED,
    DISPUTED,
    FACT_VERDICTS,
    GAME,
    RANDOM,
    REASONS,
    REVIEWER,
    STATEMENT_VERDICTS,
    STATEMENTS_ALONE,
    TRUE,
    WITHDRAWN,
    Opinion,
    is_blind,
    opinions,
    show_labels,
    who,
)
from medfact.spec import LOCAL_OWNER, RunSpec
from medfact.statements import Statement
from medfact.store import Verdict
from medfact.store.contributions import GAMES, VERDICTS
from medfact.store.engine import home
from medfact.views.fragments import render
from medfact.web.evaluate.form import data_sets, own_source, source_called
from medfact.web.pages import Act, Action, Message, Page, Show, View, Visitor
from medfact.web.pages.keeping import ERASE, erasable
from medfact.web.pages.review_material import SEED, Material, answers_of, contested_facts, of_runs, of_source
from medfact.web.visitors import NOBODY, is_adjudicator

OF_RUNS = "run"
"""The data set that stands for what the runs of the address have asked."""

PACKET = 10
"""Facts of a packet: for the minutes between two patients."""

SECONDS_A_FACT = 18
"""Before a reviewer's own pace is known."""

NEXT = -1
"""The place of the first fact that is not reviewed yet."""


class ReviewShow(Show):
    """reviewer: the name under which verdicts are kept. run: ids, with commas. data: a bundled data set, the visitor's own
    file, or OF_RUNS. language: of a data set's names and sentences; runs have their own. relation, search: "" for all. place:
    of the fact in the queue `within`, or NEXT. ended: whether the packet before it has just ended. checking: whether labels are
    shown; adjudicating: whether the verdicts of others are; verdicts record both. bound: the error rate of the planner, in per
    cent. invited: the token of an invitation, which decides all but the place.
    """

    reviewer: str = Field("", max_length=LONGEST_NAME)
    run: str = Field("", max_length=300)
    data: str = Field("", max_length=100)
    language: str = Field(ENGLISH, max_length=20)
    queue: Literal["random", "contested", "disputed"] = "random"
    relation: str = Field("", max_length=500)
    search: str = Field("", max_length=200)
    checking: bool = False
    adjudicating: bool = False
    bound: float = Field(5, ge=0.1, le=50)
    place: int = Field(NEXT, ge=NEXT, le=10**9)
    within: str = Field("", max_length=2_000)
    ended: bool = False
    invited: str = Field("", max_length=100)


def as_invited(visitor: Visitor, show: ReviewShow) -> tuple[Visitor, ReviewShow]:
    """Who looks at an invitation's address: the person who was invited, at nothing but their packet. Raises Mistake."""
    if not show.invited:
        return visitor, show
    one = invitation_of(show.invited)
    owner = one.owner if visitor.owner != NOBODY else NOBODY
    person = replace(visitor, owner=owner, owners=(owner, *visitor.selves), user="", reviewers=(one.owner,))
    data = OF_RUNS if one.run else one.data
    decided = {"reviewer": one.name, "run": one.run, "data": data, "language": one.language, "queue": RANDOM}
    return person, show.model_copy(update={**decided, "relation": "", "search": "", "checking": False, "adjudicating": False})


def as_it_can_be(visitor: Visitor, show: ReviewShow) -> ReviewShow:
    """What is shown, with the name of who has signed in or reviewed last, and data that there are; no more than this reviewer
    may see.
    """
    known = [*dict(data_sets(own_source(visitor))), *([OF_RUNS] if show.run else [])]
    name = visitor.user or show.reviewer or _last_name(visitor)
    adjudicating = show.adjudicating and is_adjudicator(name, signed_in=bool(visitor.user))
    return show.model_copy(
        update={
            "reviewer": name,
            "data": show.data if show.data in known else OF_RUNS if show.run else RunSpec.dataset,
            "language": show.language if show.language in language_codes() else ENGLISH,
            "adjudicating": adjudicating,
            "queue": show.queue if show.queue != DISPUTED or adjudicating else RANDOM,
        }
    )


def _last_name(visitor: Visitor) -> str:
    """The name under which this visitor reviewed last, "" for none. Nobody gives a name for a game."""
    log = visitor.services.store.verdicts.log(owners=[visitor.owner])
    return next((one.reviewer for one in reversed(log) if one.queue != GAME and one.role == REVIEWER), "")


def material_of(visitor: Visitor, show: ReviewShow) -> Material:
    if show.data == OF_RUNS:
        return of_runs(visitor, show.run)
    return of_source(visitor, source_called(show.data, own_source(visitor)), show.language)


def queue_of(visitor: Visitor, show: ReviewShow, material: Material) -> list[Fact]:
    if show.invited:
        return invitation_of(show.invited).packet(material.facts)
    found = _matching(material, show.relation, show.search)
    if show.queue == RANDOM:
        return found
    order: Iterable[str] = (
        contested_facts(visitor.services, material) if show.queue == CONTESTED else _disputed(visitor, material)
    )
    by_id = {fact.fact_id: fact for fact in found}
    return [by_id[fact_id] for fact_id in order if fact_id in by_id]


def _matching(material: Material, relation: str, search: str) -> list[Fact]:
    found = holding(material.facts, search, also=partial(names_in, material.language))
    return [fact for fact in found if relation in ("", fact.relation)]


def _disputed(visitor: Visitor, material: Material) -> list[str]:
    reviewed = opinions(visitor.services.store.verdicts.log(owners=visitor.reviewers))
    statements = (one for fact in material.facts if fact.fact_id in reviewed for one in material.statements(fact))
    return disputed(statements, reviewed)


def me(visitor: Visitor, show: ReviewShow) -> Verdict:
    """A verdict of this reviewer, still about nothing."""
    role = ADJUDICATOR if show.adjudicating else REVIEWER
    return Verdict(show.reviewer.strip(), "", "", owner=visitor.owner, role=role)


def own_opinions(visitor: Visitor, show: ReviewShow) -> Mapping[str, Opinion]:
    """Fact id → what this reviewer, and nobody else, has said."""
    name = who(me(visitor, show))
    log = visitor.services.store.verdicts.log(owners=[visitor.owner])
    return {fact_id: of[name] for fact_id, of in opinions(log).items() if name in of}


def statements_of(show: ReviewShow, material: Material, fact: Fact) -> list[Statement]:
    return shuffled(list(material.statements(fact)), SEED, show.reviewer)


# ------------------------------------------------------------------------------------------------ the page

ADDRESS = ("run", "data", "language", "queue", "relation", "search", "adjudicating", "place", "invited")
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
    """One fact of the queue, with what this reviewer has said of it; after a packet, what was done."""
    try:
        visitor, show = as_invited(visitor, show)
    except Mistake as error:
        return View({"choice": "", "fact": render("message", message=Message(error.public, "warn"))}, show)
    show = as_it_can_be(visitor, show)
    relations: list[str] = []
    try:
        material = material_of(visitor, show)
        relations = sorted({fact.relation for fact in material.facts})
        queue = queue_of(visitor, show, material)
        show = _placed(visitor, show, queue)
        if not queue:
            fact = render("review_none", queue=show.queue, any=bool(material.facts))
        else:
            fact = (_thanks if show.ended else _fact)(visitor, show, material, queue)
    except MedfactError as error:
        queue, fact = [], render("message", message=Message(error.public, "warn"))
    choice = _invitation(invitation_of(show.invited)) if show.invited else _choice(visitor, show, relations, queue)
    # a run's id opens it, so that who was invited to its facts is not told
    told = show.model_copy(update={"run": "", "data": "", "language": ENGLISH}) if show.invited else show
    return View({"choice": choice, "fact": fact}, told, query=_query(told))


def _placed(visitor: Visitor, show: ReviewShow, queue: Sequence[Fact]) -> ReviewShow:
    """The view at a place that there is. Behind the last fact of a queue, its last packet has ended."""
    here = show.invited or "|".join((show.data, show.language, show.run, show.queue, show.relation, show.search))
    if show.place == NEXT or show.within not in ("", here):
        first = _unreviewed(own_opinions(visitor, show), queue)
        return show.model_copy(update={"place": first or 0, "within": here, "ended": False})
    is_behind = bool(queue) and show.place >= len(queue) and show.queue != DISPUTED
    place = min(show.place, len(queue) if is_behind else max(len(queue) - 1, 0))
    return show.model_copy(update={"place": place, "within": here, "ended": is_behind or (show.ended and place > 0)})


def _unreviewed(said: Mapping[str, Opinion], queue: Sequence[Fact], after: int = 0) -> int | None:
    """The place of the first fact from there on that is not reviewed, or else before; None for none."""
    places = (*range(after, len(queue)), *range(min(after, len(queue))))
    return next((place for place in places if queue[place].fact_id not in said), None)


def _invitation(one: Invitation) -> Markup:
    """What stands below a packet that somebody was invited to."""
    guide, problem = _guide()
    until = datetime.fromtimestamp(one.until, UTC).strftime("%d %B %Y")
    return render("review_invited", invitation=one, until=until, guide=guide, problem=problem)


def _guide() -> tuple[Guidelines | None, str]:
    """The guide for reviewers; or None, and what is wrong with it."""
    try:
        return guidelines(home()), ""
    except FactsError as error:
        return None, error.public


def _choice(visitor: Visitor, show: ReviewShow, relations: Sequence[str], queue: Sequence[Fact]) -> Markup:
    own = own_source(visitor)
    datasets = [*data_sets(own), *([(OF_RUNS, "what the run of this link asked")] if show.run else [])]
    guide, problem = _guide()
    return render(
        "review_choice",
        invitations=list(progress(visitor.services.store)) if LOCAL_OWNER in visitor.owners else [],
        show=show,
        signed_in=bool(visitor.user),
        may_adjudicate=is_adjudicator(show.reviewer, signed_in=bool(visitor.user)),
        datasets=datasets,
        languages=list(language_titles().items()) if show.data != OF_RUNS else [],
        language_title=language_titles()[show.language] if show.data != OF_RUNS else "",
        data_title=dict(datasets).get(show.data, ""),
        queue_title=QUEUE_TITLES[show.queue],
        progress=_progress(visitor, show, queue),
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
    if show.invited:
        return PAGE.query(ReviewShow.model_validate({"invited": show.invited}))
    usual = show.data == (OF_RUNS if show.run else RunSpec.dataset)
    return PAGE.query(show.model_copy(update={"data": ""}) if usual else show)


def _others(visitor: Visitor, show: ReviewShow, fact: Fact) -> list[tuple[str, Opinion]]:
    """What reviewers say of a fact, by their names, for an adjudicator."""
    if not show.adjudicating:
        return []
    log = visitor.services.store.verdicts.log([fact.fact_id], visitor.reviewers)
    found = opinions(log).get(fact.fact_id, {}).values()
    return sorted((one.fact.reviewer, one) for one in found if one.fact.role == REVIEWER)


@dataclass(frozen=True)
class Afterwards:
    """What a reviewer is told once they have judged a fact. others: how many other reviewers judged it; same: as this one did.
    models: of each run that asked it, what to call it, how many of its statements the model answered as the reviewer holds
    them, and of how many.
    """

    others: int
    same: int
    models: tuple[tuple[str, int, int], ...]


def _afterwards(visitor: Visitor, show: ReviewShow, material: Material, fact: Fact, opinion: Opinion) -> Afterwards:
    """Only of what this visitor may see: who was invited sees neither others' verdicts nor runs."""
    log = visitor.services.store.verdicts.log([fact.fact_id], visitor.reviewers)
    said = opinions(log).get(fact.fact_id, {})
    others = [one for name, one in said.items() if name != opinion.reviewer and one.fact.role == REVIEWER and one.fact.verdict]
    runs = () if show.invited else material.runs()
    held = {one.statement_id: truth for one in material.statements(fact) if (truth := opinion.truth(one)) is not None}
    models = []
    for run in runs:
        answers = answers_of(visitor.services, run.run, run.changed)
        asked = [name for name in held if name in answers]
        if asked:
            models.append((short_name(run), sum(answers[name] is held[name] for name in asked), len(asked)))
    return Afterwards(len(others), sum(one.fact.verdict == opinion.fact.verdict for one in others), tuple(models))


@dataclass(frozen=True)
class Progress:
    """How far a queue is reviewed: of how many facts, by this reviewer, by anybody, by two or more."""

    of: int
    done: int
    judged: int
    twice: int


def _progress(visitor: Visitor, show: ReviewShow, queue: Sequence[Fact]) -> Progress:
    up = {one.fact_id for one in queue}
    reviewers = visitor.services.store.verdicts.reviewers_of_facts(visitor.reviewers)
    return Progress(
        len(queue),
        len(up & own_opinions(visitor, show).keys()),
        len(up & reviewers.keys()),
        sum(number > 1 for fact_id, number in reviewers.items() if fact_id in up),
    )


def _fact(visitor: Visitor, show: ReviewShow, material: Material, queue: Sequence[Fact]) -> Markup:
    fact, said = queue[show.place], own_opinions(visitor, show)
    opinion, others = said.get(fact.fact_id), _others(visitor, show, fact)
    is_shown = show.checking or opinion is not None
    if is_shown and visitor.owner != NOBODY:
        show_labels(visitor.services.store.of(visitor.owner), [fact])
    packet = _packet_at(queue, show.place)
    return render(
        "review_fact",
        fact=fact,
        language=material.language,
        why=contested_facts(visitor.services, material).get(fact.fact_id, "") if show.queue == CONTESTED else "",
        show=show,
        in_packet=show.place % PACKET + 1,
        packet=len(packet),
        minutes=_minutes(said, len(packet)),
        done=sum(one.fact_id in said for one in queue),
        following=_unreviewed(said, queue, show.place + 1),
        opinion=opinion,
        is_shown=is_shown,
        has_false=not all(one.positive for one in queue),
        others=others,
        afterwards=_afterwards(visitor, show, material, fact, opinion) if opinion and opinion.fact.verdict else None,
        lines=[_line(one, opinion, others) for one in statements_of(show, material, fact)],
        verdicts=list(enumerate(FACT_VERDICTS.items(), 1)),
        titles=FACT_VERDICTS,
        choices=[("", "fine"), *STATEMENT_VERDICTS.items()],
        reasons=REASONS,
        longest=LONGEST_TEXT,
        longest_name=LONGEST_NAME,
    )


def _packet_at(queue: Sequence[Fact], place: int) -> Sequence[Fact]:
    """The facts of the packet in which a place lies."""
    first = place // PACKET * PACKET
    return queue[first : first + PACKET]


def _thanks(visitor: Visitor, show: ReviewShow, _: Material, queue: Sequence[Fact]) -> Markup:
    """What a reviewer has said of the packet that has just ended. It says nothing of labels."""
    said = own_opinions(visitor, show)
    packet = [said[fact.fact_id] for fact in _packet_at(queue, show.place - 1) if fact.fact_id in said]
    verdicts = Counter(one.fact.verdict for one in packet)
    seconds = sum(one.fact.seconds or 0 for one in packet)
    return render(
        "review_thanks",
        show=show,
        facts=len(packet),
        verdicts=[(verdicts[name], title) for name, title in FACT_VERDICTS.items() if verdicts[name]],
        marked=sum(len(one.statements) for one in packet),
        time=duration(seconds) if seconds else "",
        done=sum(fact.fact_id in said for fact in queue),
        following=_unreviewed(said, queue, show.place),
        packet=PACKET,
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


def _minutes(said: Mapping[str, Opinion], facts: int) -> int:
    """For so many facts, at this reviewer's own pace once there is one."""
    seconds = sorted(one.fact.seconds for one in said.values() if one.fact.seconds is not None)
    pace = seconds[len(seconds) // 2] if len(seconds) >= PACKET else SECONDS_A_FACT
    return max(1, round(pace * facts / 60))


# ------------------------------------------------------------------------------------------------ actions


def _begun(visitor: Visitor, show: ReviewShow, action: Action) -> tuple[ReviewShow, Material, Fact]:
    """What a button is about. Raises Mistake."""
    show = as_it_can_be(visitor, show)
    if not show.reviewer.strip():
        raise Mistake("Say who you are first: a name, or initials.", "Verdicts are kept under it.")
    material = material_of(visitor, show)
    fact = material.fact(action.about)
    if show.invited and fact not in queue_of(visitor, show, material):
        raise Mistake("That fact is not in this packet.", "Load the page again.")
    return show, material, fact


def judge(visitor: Visitor, show: ReviewShow, action: Action) -> tuple[ReviewShow, Message]:
    """Records the verdict on a fact, the exceptions among its statements, and what is said of it; then shows the next one."""
    show, material, fact = _begun(visitor, show, action)
    if action.fields.get("verdict", "") not in FACT_VERDICTS:
        raise Mistake("Say first whether the fact is true.", "Tick one of the five.")
    return _recorded(visitor, show, material, _of_fact(visitor, show, material, fact, action), action.fields)


def all_fine(visitor: Visitor, show: ReviewShow, action: Action) -> tuple[ReviewShow, Message]:
    """Records, in one key, that a fact is as the reviewer has ticked, or else true, and that all its sentences are fine."""
    show, material, fact = _begun(visitor, show, action)
    ticked = action.fields.get("verdict", "")
    action = replace(action, fields={**action.fields, "verdict": ticked if ticked in FACT_VERDICTS else TRUE})
    return _recorded(visitor, show, material, replace(_of_fact(visitor, show, material, fact, action), bulk=True), {})


def _of_fact(visitor: Visitor, show: ReviewShow, material: Material, fact: Fact, action: Action) -> Verdict:
    """The verdict on a fact with its circumstances."""
    fields = action.fields
    comment, evidence = (fields.get(name, "").strip()[:LONGEST_TEXT] for name in ("comment", "evidence"))
    return replace(
        me(visitor, show),
        fact_id=fact.fact_id,
        verdict=fields["verdict"],
        reasons=tuple(reason for reason in REASONS if fields.get(f"reason-{reason}")),
        comment=comment,
        evidence=evidence,
        seconds=action.seconds,
        blind=not show.checking and is_blind(visitor.services.store, fact, visitor.selves),
        queue=show.queue if show.queue != RANDOM else CHOSEN if show.relation or show.search else RANDOM,
        language=material.language,
    )


def _exception(of_fact: Verdict, statement: Statement, fields: Mapping[str, str], said: Opinion | None) -> list[Verdict]:
    """What is said of one statement now, if that is not what was said before."""
    verdict = fields.get(f"of-{statement.statement_id}", "")
    wording = fields.get(f"wording-{statement.statement_id}", "").strip()[:LONGEST_TEXT]
    before = said.statements.get(statement.statement_id) if said else None
    if (verdict, wording) == ((before.verdict, before.wording) if before else ("", "")):
        return []
    verdict = verdict if verdict in STATEMENT_VERDICTS else WITHDRAWN
    plain = replace(of_fact, reasons=(), comment="", evidence="", seconds=None)
    return [replace(plain, verdict=verdict, statement_id=statement.statement_id, wording=wording)]


def _recorded(
    visitor: Visitor, show: ReviewShow, material: Material, of_fact: Verdict, fields: Mapping[str, str]
) -> tuple[ReviewShow, Message]:
    """Records a verdict on a fact. fields: with what is said of its statements."""
    opinion = own_opinions(visitor, show).get(of_fact.fact_id)
    statements = statements_of(show, material, material.fact(of_fact.fact_id))
    log = [of_fact, *(one for statement in statements for one in _exception(of_fact, statement, fields, opinion))]
    visitor.services.log_of(visitor.owner, log, statements).verdicts.record(log, statements)
    place = show.place + 1 if show.place != NEXT else NEXT
    ended = place > 0 and place % PACKET == 0 and show.queue != DISPUTED
    return show.model_copy(update={"place": place, "ended": ended}), Message()


def undo(visitor: Visitor, show: ReviewShow, _: Action) -> tuple[ReviewShow, Message]:
    """Takes this reviewer's last verdict on a fact back, with what came with it, and shows that fact again."""
    show = as_it_can_be(visitor, show)
    said = own_opinions(visitor, show)
    if not said:
        raise Mistake("There is nothing to take back.", "")
    last = max(said.values(), key=lambda one: one.fact.number)
    back = [replace(one, verdict=WITHDRAWN, seconds=None) for one in (last.fact, *last.statements.values())]
    visitor.services.log_of(visitor.owner, back).verdicts.record(back)
    queue = queue_of(visitor, show, material_of(visitor, show))
    place = next((n for n, fact in enumerate(queue) if fact.fact_id == last.fact.fact_id), show.place)
    return show.model_copy(update={"place": place, "ended": False}), Message("Taken back.", "good")


def jump(visitor: Visitor, show: ReviewShow, action: Action) -> tuple[ReviewShow, Message]:
    """Shows the fact of a number."""
    show = as_it_can_be(visitor, show)
    most, number = len(queue_of(visitor, show, material_of(visitor, show))), action.fields.get("number", "")
    if not number.isdecimal() or not 1 <= int(number[:9]) <= most:
        raise Mistake("There is no fact of that number.", f"Give 1 to {most:,}.")
    return show.model_copy(update={"place": int(number) - 1, "ended": False}), Message()


def _as_invited(act: Act) -> Act:
    """A button, pressed by whoever was invited where an invitation was opened."""

    def acting(visitor: Visitor, show: ReviewShow, action: Action) -> tuple[ReviewShow, Message]:
        found: tuple[ReviewShow, Message] = act(*as_invited(visitor, show), action)
        return found

    return acting


BUTTONS: Mapping[str, Act] = {"judge": judge, "all_fine": all_fine, "undo": undo, "jump": jump}

PAGE = Page(
    "review",
    "Review",
    ("said", "fact", "choice"),
    ReviewShow,
    view,
    {**{name: _as_invited(act) for name, act in BUTTONS.items()}, **ERASE},
    address=ADDRESS,
    place=2,
)
