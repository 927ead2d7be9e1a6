"""The page From documents: sentences of one's own documents, each beside the fact that it may state: accept, mend or refuse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from pydantic import Field

from medfact.curation.checks import (
    ACCEPTED,
    LONGEST_NOTE,
    MENDED,
    REFUSED,
    RULES,
    WRONG_ON_PURPOSE,
    Progress,
    Said,
    check_closable,
    decided,
    fact_rows,
    following,
    in_words,
    last_of,
    pair_text,
    progress_of,
    quality_of,
    reviewer_text,
    settled,
    standing,
    who,
    withdrawn,
)
from medfact.curation.proposals import marked
from medfact.datasets.headers import MAX_NAME
from medfact.errors import Mistake
from medfact.facts import normalize_space
from medfact.limits import is_public_server
from medfact.results.wording import date
from medfact.reviews.transfer import LONGEST_NAME
from medfact.store import Candidate, Curation, CurationDecision, Store
from medfact.store.contributions import CHECKS
from medfact.views.fragments import render
from medfact.web.pages import SILENCE, Act, Action, Message, Page, Show, View, Visitor
from medfact.web.pages.keeping import ERASE, erasable

NEXT = -1
"""The place of the first candidate that is not decided yet."""


class CurateShow(Show):
    """project: the whole id of a curation, "" for the latest. reviewer: the name under which decisions are kept. place: of the
    candidate, or NEXT.
    """

    project: str = Field("", max_length=40)
    reviewer: str = Field("", max_length=LONGEST_NAME)
    place: int = Field(NEXT, ge=NEXT, le=10**9)


@dataclass(frozen=True)
class Desk:
    """The work of a reviewer. said: what all have decided; me: who this reviewer is there."""

    curation: Curation
    candidates: Sequence[Candidate]
    log: Sequence[CurationDecision]
    said: Said
    progress: Progress
    me: str

    def own(self, candidate: Candidate) -> CurationDecision | None:
        """The decision of this reviewer on a candidate."""
        return self.said.get(candidate.position, {}).get(self.me)


def may_open(curation: Curation, owners: Sequence[str]) -> bool:
    """Whether somebody who is these owners may open it: its sentences are from somebody's own documents."""
    return curation.owner in owners or not is_public_server()


def opened(store: Store, curation: str, owners: Sequence[str]) -> Curation:
    """The curation of a whole id. Raises Mistake, which names no other, where there is none for these owners."""
    found = next((one for one in store.curations.listed() if one.curation == curation and may_open(one, owners)), None)
    if found is None:
        raise Mistake("There is no such set of proposals.", "It may have been erased.")
    return found


def rows_curated(store: Store, curation: str, rule: str, owners: Sequence[str]) -> list[dict[str, Any]]:
    """The facts file of a curation, once all have finished: before that it would say what others decided. Raises Mistake."""
    found = opened(store, curation, owners)
    said = standing(store.curations.log(found.curation))
    if not progress_of(found, said).is_finished:
        raise Mistake("Not all reviewers have finished.", "Facts can be exported once they have.")
    rows = list(fact_rows(settled(store.curations.candidates(found.curation), said, rule, found.reviewers)))
    if not rows:
        raise Mistake("Nothing was accepted.", "")
    return rows


def _desk(visitor: Visitor, show: CurateShow) -> Desk:
    store = visitor.services.store
    curation = opened(store, show.project, visitor.owners)
    log = store.curations.log(curation.curation)
    said = standing(log)
    me = who(CurationDecision(normalize_space(show.reviewer), 0, "", owner=visitor.owner))
    return Desk(curation, store.curations.candidates(curation.curation), log, said, progress_of(curation, said), me)


def _listed(visitor: Visitor) -> list[Curation]:
    """Curations that this visitor may open, the newest first."""
    return [one for one in reversed(visitor.services.store.curations.listed()) if may_open(one, visitor.owners)]


def as_it_can_be(visitor: Visitor, show: CurateShow, listed: Sequence[Curation]) -> CurateShow:
    """What is shown: a curation that there is, with the name of who has signed in or decided last."""
    project = show.project if show.project in {one.curation for one in listed} else listed[0].curation
    place = show.place if show.project in ("", project) else NEXT
    return _named(visitor, show.model_copy(update={"project": project, "place": place}))


def _named(visitor: Visitor, show: CurateShow) -> CurateShow:
    """The view with a reviewer's name: of who has signed in, else as it is typed, else the last one of this visitor."""
    log = reversed(visitor.services.store.curations.log(show.project))
    last = next((decision.reviewer for decision in log if decision.owner == visitor.owner), "")
    return show.model_copy(update={"reviewer": visitor.user or show.reviewer or last})


# ------------------------------------------------------------------------------------------------ the page


def view(visitor: Visitor, show: CurateShow) -> View:
    """The next candidate; when all are decided, what was done, and what all decided once everybody has finished."""
    listed = _listed(visitor)
    if not listed:
        return View({"proposal": render("curate_none"), "choice": ""}, show)
    show = as_it_can_be(visitor, show, listed)
    desk = _desk(visitor, show)
    at = _at(desk, show.place)
    show = show.model_copy(update={"place": at.position if at else NEXT})
    proposal = _outcome(desk) if desk.progress.is_finished else _proposal(desk, show, at) if at else _done(desk)
    return View({"proposal": proposal, "choice": _choice(visitor, show, listed)}, show)


def _at(desk: Desk, place: int) -> Candidate | None:
    """The candidate at a place; else the first that is not decided."""
    if 0 <= place < len(desk.candidates):
        return desk.candidates[place]
    return following(desk.candidates, desk.said, desk.me)


def _proposal(desk: Desk, show: CurateShow, one: Candidate) -> Markup:
    later = following(desk.candidates, desk.said, desk.me, one.position + 1)
    return render(
        "curate_proposal",
        show=show,
        one=one,
        about=f"{desk.curation.curation}:{one.position}",
        of=desk.curation.candidates,
        done=desk.progress.done.get(desk.me, 0),
        own=desk.own(one),
        pieces=list(marked(one)),
        words=in_words(one),
        later=later.position if later else None,
        warning=WRONG_ON_PURPOSE,
        longest_name=LONGEST_NAME,
        longest=MAX_NAME,
        longest_note=LONGEST_NOTE,
    )


def _done(desk: Desk) -> Markup:
    """The decisions of this reviewer alone."""
    own = Counter(of[desk.me].decision for of in desk.said.values() if desk.me in of)
    return render(
        "curate_done",
        decided=sum(own.values()),
        counts=[(own[ACCEPTED], "accepted"), (own[MENDED], "mended"), (own[REFUSED], "refused")],
        waiting=max(desk.progress.wanted - desk.progress.finished, 0),
        last=desk.curation.candidates - 1,
    )


def _outcome(desk: Desk) -> Markup:
    quality = quality_of(desk.candidates, desk.said)
    return render(
        "curate_outcome",
        curation=desk.curation,
        rules=[
            (rule, when, len(settled(desk.candidates, desk.said, rule, desk.curation.reviewers)))
            for rule, when in RULES.items()
        ],
        reviewers=[(one.is_careless, reviewer_text(one)) for one in quality.reviewers],
        pairs=[pair_text(one) for one in quality.pairs],
    )


def _choice(visitor: Visitor, show: CurateShow, listed: Sequence[Curation]) -> Markup:
    return render(
        "curate_choice",
        show=show,
        projects=[(one.curation, f"{one.name}, {date(one.made_at).partition(',')[0]}") for one in listed],
        closable=_closable(visitor, show),
        signed_in=bool(visitor.user),
        longest=LONGEST_NAME,
        erase=erasable(CHECKS),
    )


def _closable(visitor: Visitor, show: CurateShow) -> Progress | None:
    """The progress of the shown curation, where this visitor began it and may close it."""
    desk = _desk(visitor, show)
    is_own = desk.curation.owner in visitor.owners
    return desk.progress if is_own and desk.progress.done and not desk.progress.is_finished else None


# ------------------------------------------------------------------------------------------------ actions


def _checking(visitor: Visitor, show: CurateShow, about: str) -> tuple[CurateShow, Desk, Candidate]:
    """The candidate of a button: "curation:position". Raises Mistake, also where decisions stand."""
    project, _, place = about.partition(":")
    show = _named(visitor, show.model_copy(update={"project": project}))
    desk = _open_desk(visitor, show)
    if not place.isdecimal() or int(place[:9]) >= len(desk.candidates):
        raise Mistake("There is no such proposal.", "Load the page again.")
    return show, desk, desk.candidates[int(place[:9])]


def _open_desk(visitor: Visitor, show: CurateShow) -> Desk:
    """The desk, as long as anything can be decided. Raises Mistake."""
    desk = _desk(visitor, show)
    if desk.progress.is_finished:
        raise Mistake("All reviewers have finished, so nobody can decide any more.", "Decisions stand; export the facts.")
    return desk


def _deciding(decision: str) -> Act:
    """The button that records one decision, and goes on with what is not decided yet."""

    def act(visitor: Visitor, show: CurateShow, action: Action) -> tuple[CurateShow, Message]:
        show, desk, one = _checking(visitor, show, action.about)
        head, relation, tail, note = (action.fields.get(name, "") for name in ("head", "relation", "tail", "note"))
        made = decided(one, show.reviewer, decision, (head, relation, tail), note.strip(), action.seconds)
        visitor.services.log_of(visitor.owner, [made]).curations.record(desk.curation.curation, [made])
        after = following(desk.candidates, {**desk.said, one.position: {desk.me: made}}, desk.me, one.position + 1)
        return show.model_copy(update={"place": after.position if after else NEXT}), SILENCE

    return act


def undo(visitor: Visitor, show: CurateShow, _: Action) -> tuple[CurateShow, Message]:
    """Takes this reviewer's last decision back, and shows that candidate again."""
    show = _named(visitor, show)
    desk = _open_desk(visitor, show)
    last = last_of(desk.log, desk.me)
    if last is None:
        raise Mistake("There is nothing to take back.", "")
    back = withdrawn(last)
    visitor.services.log_of(visitor.owner, [back]).curations.record(desk.curation.curation, [back])
    return show.model_copy(update={"place": last.position}), Message("Taken back.", "good")


def close(visitor: Visitor, show: CurateShow, action: Action) -> tuple[CurateShow, Message]:
    """Ends the checking of a curation that this visitor began, although not all have finished."""
    desk = _desk(visitor, show.model_copy(update={"project": action.about}))
    if desk.curation.owner not in visitor.owners:
        raise Mistake("You did not begin this check.", "Only the person who began it can close it.")
    check_closable(desk.progress)
    visitor.services.store.curations.close(desk.curation.curation)
    return show, Message("Closed. The facts are those that enough reviewers have checked.", "good")


PAGE = Page(
    "curate",
    "From documents",
    ("said", "proposal", "choice"),
    CurateShow,
    view,
    {
        "accept": _deciding(ACCEPTED),
        "mend": _deciding(MENDED),
        "refuse": _deciding(REFUSED),
        "undo": undo,
        "close": close,
        **ERASE,
    },
    address=("project", "place"),
    place=5,
    under="facts",
    has_work=lambda visitor: bool(_listed(visitor)),
)
