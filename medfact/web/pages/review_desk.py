"""Who reviews what: the facts that are up, in their order, and what this reviewer has said of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from pydantic import Field

from medfact.datasets import bundled_names
from medfact.facts import Fact, name_key
from medfact.reviews.queues import disputed, shuffled
from medfact.reviews.transfer import LONGEST_NAME
from medfact.reviews.verdicts import ADJUDICATOR, CONTESTED, DISPUTED, RANDOM, REVIEWER, Opinion, opinions, who
from medfact.spec import RunSpec
from medfact.statements import Statement
from medfact.store import Verdict
from medfact.web.pages import Show, Visitor
from medfact.web.pages.own_data import OWN_DATA, own_source
from medfact.web.pages.review_material import SEED, Material, contested_facts, of_runs, of_source
from medfact.web.visitors import is_adjudicator

OF_RUNS = "run"
"""The data set that stands for what the runs of the address have asked."""

PACKET = 10
"""Facts of a packet: for the minutes between two patients."""


class ReviewShow(Show):
    """reviewer: the name under which verdicts are kept. run: ids, with commas. data: a bundled data set, the visitor's own
    file, or OF_RUNS.
    relation, search: "" for all. place: of the fact in the queue. checking: whether labels are shown; adjudicating:
    whether the verdicts of others are; verdicts record both. bound: the error rate of the planner, in per cent.
    """

    reviewer: str = Field("", max_length=LONGEST_NAME)
    run: str = Field("", max_length=300)
    data: str = Field("", max_length=100)
    queue: Literal["random", "contested", "disputed"] = "random"
    relation: str = Field("", max_length=500)
    search: str = Field("", max_length=200)
    checking: bool = False
    adjudicating: bool = False
    bound: float = Field(5, ge=0.1, le=50)
    place: int = Field(0, ge=0, le=10**9)


def as_it_can_be(visitor: Visitor, show: ReviewShow) -> ReviewShow:
    """What is shown, with the name of who has signed in, data that there are, and no more than the reviewer may see."""
    own = own_source(visitor)
    known = [*bundled_names(), *([OWN_DATA] if own else []), *([OF_RUNS] if show.run else [])]
    name = visitor.user or show.reviewer
    adjudicating = show.adjudicating and is_adjudicator(name, signed_in=bool(visitor.user))
    return show.model_copy(
        update={
            "reviewer": name,
            "data": show.data if show.data in known else OF_RUNS if show.run else RunSpec.dataset,
            "adjudicating": adjudicating,
            "queue": show.queue if show.queue != DISPUTED or adjudicating else RANDOM,
        }
    )


def material_of(visitor: Visitor, show: ReviewShow) -> Material:
    if show.data == OF_RUNS:
        return of_runs(visitor, show.run)
    own = own_source(visitor)
    return of_source(visitor, own if own and show.data == OWN_DATA else {"dataset": show.data})


def queue_of(visitor: Visitor, show: ReviewShow, material: Material) -> list[Fact]:
    found = _matching(material.facts, show.relation, name_key(show.search))
    if show.queue == RANDOM:
        return found
    order: Iterable[str] = (
        contested_facts(visitor.services, material) if show.queue == CONTESTED else _disputed(visitor, material)
    )
    by_id = {fact.fact_id: fact for fact in found}
    return [by_id[fact_id] for fact_id in order if fact_id in by_id]


def _matching(facts: Sequence[Fact], relation: str, words: str) -> list[Fact]:
    of_relation = [fact for fact in facts if relation in ("", fact.relation)]
    return [fact for fact in of_relation if not words or words in name_key(f"{fact.head} {fact.relation} {fact.tail}")]


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
