"""The page Review: facts are judged one by one, with exceptions among their statements; labels are hidden until then."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Literal
from urllib.parse import urlsplit

import segno
from markupsafe import Markup
from pydantic import Field

from medfact.assets import ENGLISH, language_codes, language_names
from medfact.datasets import bundled_names
from medfact.datasets.names import matching_facts
from medfact.errors import FactsError, MedfactError, Mistake
from medfact.facts import Fact
from medfact.languages import names_in
from medfact.limits import is_public_server
from medfact.results.wording import duration, share
from medfact.reviews.guidelines import Guidelines, guidelines, is_absolute
from medfact.reviews.invitations import (
    ASKED_DAYS,
    MOST_OPEN,
    Invitation,
    invitation_of,
    invitations,
    invite,
    invited_by,
    progress,
)
from medfact.reviews.queues import disputed, disputed_or_wrong, shuffled
from medfact.reviews.reliability import statements_to_check
from medfact.reviews.text import changes
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
from medfact.web.pages.review_material import (
    SEED,
    Material,
    answers_as_held,
    colleagues,
    contested_facts,
    of_runs,
    of_source,
    outcome,
)
from medfact.web.visitors import NOBODY, is_adjudicator

OF_RUNS = "run"
"""The data set that stands for what the runs of the address have asked."""

PACKET = 10
"""Facts of a packet: for the minutes between two patients."""

SERVER_ADDRESS = re.compile(r"https?://[\w.:\[\]-]{1,200}/([\w.~%@+-]{1,100}/){0,9}")
"""This server's address as the visitor's browser has it, which links that are shared begin with."""

SECONDS_A_FACT = 18
"""Before a reviewer's own pace is known."""

NEXT = -1
"""The place of the first fact that is not reviewed yet."""


class ReviewShow(Show):
    """A queue of facts, and the place in it.

    reviewer: name under which verdicts are kept. run: ids, with commas. data: a bundled data set, the visitor's own file, or
    OF_RUNS. language: of a data set's names and sentences; runs have their own. relation, search: "" for all. place: of the
    fact in the queue `within`, or NEXT. ended: shows the end of the packet before the place. checking: shows labels;
    adjudicating: shows the verdicts of others; verdicts record both. bound: error rate of the planner, in per cent. invited:
    token of an invitation, which decides all but the place. asking: shows the way to ask a colleague; asked: the link that was
    just made.
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
    asking: bool = False
    asked: str = Field("", max_length=2_000, pattern="^(https?://.*)?$")


def as_invited(visitor: Visitor, show: ReviewShow) -> tuple[Visitor, ReviewShow]:
    """The invited person in the visitor's place, and nothing but their packet. Raises Mistake."""
    if not show.invited:
        return visitor, show
    invitation = invitation_of(show.invited)
    owner = invitation.owner if visitor.owner != NOBODY else NOBODY
    person = replace(visitor, owner=owner, owners=(owner, *visitor.selves), user="", reviewers=(invitation.owner,))
    data, name = OF_RUNS if invitation.run else invitation.data, invitation.name or show.reviewer
    fixed = {"reviewer": name, "run": invitation.run, "data": data, "language": invitation.language, "queue": RANDOM}
    return person, ReviewShow.model_validate({**show.model_dump(include={"place", "within", "ended", "invited"}), **fixed})


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
    log = reversed(visitor.services.store.verdicts.log(owners=[visitor.owner]))
    return next((one.reviewer for one in log if one.queue != GAME and one.role == REVIEWER), "")


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
        contested_facts(visitor.services, material) if show.queue == CONTESTED else _reviewed(visitor, material, disputed)
    )
    by_id = {fact.fact_id: fact for fact in found}
    return [by_id[fact_id] for fact_id in order if fact_id in by_id]


def _matching(material: Material, relation: str, search: str) -> list[Fact]:
    searched = matching_facts(material.facts, search, also=partial(names_in, material.language))
    return [fact for fact in searched if relation in ("", fact.relation)]


def _reviewed(visitor: Visitor, material: Material, rule: Callable[..., list[str]]) -> list[str]:
    """Ids of the reviewed facts that a rule picks."""
    reviewed = opinions(visitor.services.store.verdicts.log(owners=visitor.reviewers))
    return rule([one for fact in material.facts if fact.fact_id in reviewed for one in material.statements(fact)], reviewed)


def me(visitor: Visitor, show: ReviewShow) -> Verdict:
    """A verdict of this reviewer, still about nothing."""
    return Verdict(show.reviewer.strip(), "", "", owner=visitor.owner, role=ADJUDICATOR if show.adjudicating else REVIEWER)


def own_opinions(visitor: Visitor, show: ReviewShow) -> Mapping[str, Opinion]:
    """Fact id → what this reviewer, and nobody else, has said."""
    name = who(me(visitor, show))
    said = opinions(visitor.services.store.verdicts.log(owners=[visitor.owner]))
    return {fact_id: of[name] for fact_id, of in said.items() if name in of}


def statements_of(show: ReviewShow, material: Material, fact: Fact) -> list[Statement]:
    return shuffled(list(material.statements(fact)), SEED, show.reviewer)


# ------------------------------------------------------------------------------------------------ the page

ADDRESS = ("run", "data", "language", "queue", "relation", "search", "adjudicating", "place", "ended", "invited", "asking")
"""The fields of the page's address."""

QUEUE_TITLES = {
    RANDOM: "a random sample, the same for all",
    CONTESTED: "contested: all models deny the label first, then where strong ones differ",
    DISPUTED: "disputed: reviewers differ, to adjudicate",
}


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
        if show.asking:
            fact = _ask(visitor, show)
        elif not queue:
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
        place = _unreviewed(own_opinions(visitor, show), queue)
        show = show.model_copy(update={"place": len(queue) if place is None else place, "ended": False})
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
    return render(
        "review_invited",
        invitation=one,
        until=datetime.fromtimestamp(one.until, UTC).strftime("%d %B %Y"),
        guide=guide,
        problem=problem,
    )


def _guide() -> tuple[Guidelines | None, str]:
    """The guide for reviewers; or None, and what is wrong with it."""
    try:
        return guidelines(home()), ""
    except FactsError as error:
        return None, error.public


def _choice(visitor: Visitor, show: ReviewShow, relations: Sequence[str], queue: Sequence[Fact]) -> Markup:
    datasets = [*data_sets(own_source(visitor)), *([(OF_RUNS, "what the run of this link asked")] if show.run else [])]
    guide, problem = _guide()
    return render(
        "review_choice",
        invitations=list(
            progress(visitor.services.store, invitations() if LOCAL_OWNER in visitor.owners else invited_by(visitor.owners))
        ),
        show=show,
        signed_in=bool(visitor.user),
        may_adjudicate=is_adjudicator(show.reviewer, signed_in=bool(visitor.user)),
        datasets=datasets,
        languages=list(language_names().items()) if show.data != OF_RUNS else [],
        language_title=language_names()[show.language] if show.data != OF_RUNS else "",
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
    """The opinions of reviewers on a fact, by their names, for an adjudicator."""
    log = visitor.services.store.verdicts.log([fact.fact_id], visitor.reviewers) if show.adjudicating else []
    by_name = [(of.fact.reviewer, of) for of in opinions(log).get(fact.fact_id, {}).values() if of.fact.role == REVIEWER]
    return sorted(by_name, key=lambda row: row[0])


def _progress(visitor: Visitor, show: ReviewShow, queue: Sequence[Fact]) -> dict[str, int]:
    """Number of facts in a queue, and of those reviewed by this reviewer, by anybody, and by two or more."""
    up = {one.fact_id for one in queue}
    reviewers = visitor.services.store.verdicts.reviewers_of_facts(visitor.reviewers)
    return {
        "of": len(queue),
        "done": len(up & own_opinions(visitor, show).keys()),
        "judged": len(up & reviewers.keys()),
        "twice": sum(number > 1 for fact_id, number in reviewers.items() if fact_id in up),
    }


def _fact(visitor: Visitor, show: ReviewShow, material: Material, queue: Sequence[Fact]) -> Markup:
    fact, said = queue[show.place], own_opinions(visitor, show)
    opinion, others = said.get(fact.fact_id), _others(visitor, show, fact)
    is_shown = show.checking or opinion is not None
    if is_shown and visitor.owner != NOBODY:
        show_labels(visitor.services.store.of(visitor.owner), [fact])
    packet = min(PACKET, len(queue) - show.place // PACKET * PACKET)
    return render(
        "review_fact",
        fact=fact,
        chosen=not show.invited and _origin(show, said, queue, fact) != RANDOM,
        first=_unreviewed(said, queue),
        language=material.language,
        why=contested_facts(visitor.services, material).get(fact.fact_id, "") if show.queue == CONTESTED else "",
        show=show,
        in_packet=show.place % PACKET + 1,
        packet=packet,
        minutes=_minutes(said, packet),
        done=sum(one.fact_id in said for one in queue),
        following=_unreviewed(said, queue, show.place + 1),
        opinion=opinion,
        is_shown=is_shown,
        has_false=not all(one.positive for one in queue),
        others=others,
        colleagues=colleagues(visitor, opinion.reviewer, [fact]).get(fact.fact_id, []) if opinion else [],
        models=[]
        if opinion is None or show.invited
        else answers_as_held(visitor, material.runs(), material.statements(fact), opinion.truth),
        statements=statements_of(show, material, fact),
        is_absolute=is_absolute,
        exceptions=STATEMENTS_ALONE,
        verdicts=list(enumerate(FACT_VERDICTS.items(), 1)),
        titles=FACT_VERDICTS,
        choices=[("", "fine"), *STATEMENT_VERDICTS.items()],
        reasons=REASONS,
        longest=LONGEST_TEXT,
        longest_name=LONGEST_NAME,
        size=PACKET,
    )


def _thanks(visitor: Visitor, show: ReviewShow, material: Material, queue: Sequence[Fact]) -> Markup:
    """The end of a packet. Labels and others' verdicts are shown once the reviewer has judged all its facts."""
    said, first = own_opinions(visitor, show), (show.place - 1) // PACKET * PACKET
    facts = queue[first : first + PACKET]
    packet = [said[fact.fact_id] for fact in facts if fact.fact_id in said]
    is_whole = len(packet) == len(facts)
    if is_whole:
        show_labels(visitor.services.store.of(visitor.owner), facts)
    verdicts = Counter(one.fact.verdict for one in packet)
    seconds = sum(one.fact.seconds or 0 for one in packet)
    return render(
        "review_thanks",
        show=show,
        outcome=outcome(visitor, material, facts, said) if is_whole else None,
        missing=first + (_unreviewed(said, facts) or 0),
        first=first,
        language=material.language,
        titles=FACT_VERDICTS,
        everybody=not visitor.reviewers,
        changes=changes,
        share_in_words=share,
        chosen=sum(one.fact.queue != RANDOM for one in packet),
        ask=_ask(visitor, show) if not show.invited else "",
        facts=len(packet),
        verdicts=[(verdicts[name], title) for name, title in FACT_VERDICTS.items() if verdicts[name]],
        marked=sum(len(one.statements) for one in packet),
        time=duration(seconds) if seconds else "",
        done=sum(fact.fact_id in said for fact in queue),
        following=_unreviewed(said, queue, show.place),
        packet=PACKET,
    )


def _ask(visitor: Visitor, show: ReviewShow) -> Markup:
    """The way to ask a colleague; once a link is made, that link and its QR code."""
    invitation = next((one for one in invited_by(visitor.owners) if show.asked.endswith(one.address)), None)
    return render(
        "review_ask",
        show=show,
        invitation=invitation,
        code=Markup(segno.make_qr(show.asked).svg_inline(scale=5, dark="#000", light="#fff")) if invitation else "",
        is_local=urlsplit(show.asked).hostname in {"localhost", "127.0.0.1", "::1"},
        days=ASKED_DAYS,
        packet=PACKET,
        longest=LONGEST_NAME,
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
    return _recorded(visitor, show, material, _of_fact(visitor, show, material, fact, action), action.fields)


def all_fine(visitor: Visitor, show: ReviewShow, action: Action) -> tuple[ReviewShow, Message]:
    """Records, in one key, that a fact is true and all its sentences are fine, as the button says: nothing may be marked
    otherwise beside it.
    """
    show, material, fact = _begun(visitor, show, action)
    given = action.fields.get("button") or action.fields.get("verdict", "")
    marked = any(value for name, value in action.fields.items() if name.startswith(("of-", "wording-")))
    if marked or (given and {given, action.fields.get("verdict") or given} != {TRUE}):
        raise Mistake("You ticked another verdict than true, or marked a sentence.", "Save with “Save and next”.")
    action = replace(action, fields={**action.fields, "verdict": given})
    return _recorded(visitor, show, material, replace(_of_fact(visitor, show, material, fact, action), bulk=True), {})


def _origin(show: ReviewShow, said: Mapping[str, Opinion], queue: Sequence[Fact], fact: Fact) -> str:
    """The queue that a verdict records: RANDOM only for the next fact of the random queue, in its own order."""
    if show.queue != RANDOM:
        return show.queue
    if show.relation or show.search or (show.invited and invitation_of(show.invited).chosen) or fact not in queue:
        return CHOSEN
    return RANDOM if all(before.fact_id in said for before in queue[: queue.index(fact)]) else CHOSEN


def _of_fact(visitor: Visitor, show: ReviewShow, material: Material, fact: Fact, action: Action) -> Verdict:
    """The verdict on a fact with its circumstances. Raises Mistake where none was given."""
    fields = action.fields
    if fields.get("verdict", "") not in FACT_VERDICTS:
        raise Mistake("Say first whether the fact is true.", "Tick one of the five.")
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
        queue=_origin(show, own_opinions(visitor, show), queue_of(visitor, show, material), fact),
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
    queue = enumerate(queue_of(visitor, show, material_of(visitor, show)))
    place = next((place for place, fact in queue if fact.fact_id == last.fact.fact_id), show.place)
    return show.model_copy(update={"place": place, "ended": False}), Message("Taken back.", "good")


def jump(visitor: Visitor, show: ReviewShow, action: Action) -> tuple[ReviewShow, Message]:
    """Shows the fact of a number."""
    show = as_it_can_be(visitor, show)
    most, number = len(queue_of(visitor, show, material_of(visitor, show))), action.fields.get("number", "")
    if not number.isdecimal() or not 1 <= int(number[:9]) <= most:
        raise Mistake("There is no fact of that number.", f"Give 1 to {most:,}.")
    return show.model_copy(update={"place": int(number) - 1, "ended": False}), Message()


def ask(visitor: Visitor, show: ReviewShow, action: Action) -> tuple[ReviewShow, Message]:
    """Makes a colleague's link to ten facts in dispute; fewer are filled up with the next ones of the queue."""
    show, here = as_it_can_be(visitor, show), action.fields.get("here", "")
    if show.invited or not SERVER_ADDRESS.fullmatch(here):
        raise Mistake("No link can be made from here.", "Open the page Review itself, and load it again.")
    if show.data != OF_RUNS and show.data not in bundled_names():
        raise Mistake("A link opens no file of yours.", "Evaluate a model on it, and ask a colleague from its results.")
    neighbours = visitor.services.neighbours.at_address_of(visitor.owner) if is_public_server() else ()
    if LOCAL_OWNER not in visitor.owners and sum(one.is_open for one in invited_by(neighbours)) >= MOST_OPEN:
        raise Mistake(
            f"{MOST_OPEN} links to colleagues are open at your network address, the most here.", "Wait until one ends."
        )
    material = material_of(visitor, show)
    queue = [fact.fact_id for fact in _matching(material, show.relation, show.search)]
    doubtful = (*_reviewed(visitor, material, disputed_or_wrong), *contested_facts(visitor.services, material))
    in_dispute = [fact_id for fact_id in dict.fromkeys(doubtful) if fact_id in queue][:PACKET]
    chosen = list(dict.fromkeys([*in_dispute, *queue]))[:PACKET]
    visitor.services.log_of(visitor.owner, chosen)
    run, data = (show.run, "") if show.data == OF_RUNS else ("", show.data)
    made = invite(
        action.fields.get("name", ""),
        run,
        data,
        len(chosen),
        ASKED_DAYS,
        0,
        show.language,
        by=visitor.owner,
        chosen=chosen,
        disputed=len(in_dispute),
    )
    return show.model_copy(update={"asked": f"{here}{made.address}"}), Message()


def _as_invited(act: Act) -> Act:
    """A button, pressed by whoever was invited where an invitation was opened."""

    def acting(visitor: Visitor, show: ReviewShow, action: Action) -> tuple[ReviewShow, Message]:
        found: tuple[ReviewShow, Message] = act(*as_invited(visitor, show), action)
        return found

    return acting


PAGE = Page(
    "review",
    "Review",
    ("said", "fact", "choice"),
    ReviewShow,
    view,
    {**{act.__name__: _as_invited(act) for act in (judge, all_fine, undo, jump, ask)}, **ERASE},
    address=ADDRESS,
    place=2,
)
