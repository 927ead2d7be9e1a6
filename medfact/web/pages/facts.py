"""The page Facts: browse a data set's facts with their false partners and their statements in every way of asking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from markupsafe import Markup
from pydantic import Field

from medfact.datasets import grouping
from medfact.datasets.bundled import lay_names
from medfact.datasets.collection import Collection
from medfact.datasets.selection import Rejections
from medfact.datasets.statistics import statistics
from medfact.errors import MedfactError, Mistake
from medfact.facts import Fact, KnowledgeBase, name_key
from medfact.negatives import RULES, explain
from medfact.prototypes import Pool, load_pool, pool_names
from medfact.reviews.text import reviewed_in_words
from medfact.reviews.verdicts import Opinion, opinions
from medfact.runs.pool import pool_of
from medfact.spec import PROTOCOLS, RunSpec
from medfact.statements import Statement
from medfact.store.contributions import DECISIONS
from medfact.views.fragments import render
from medfact.web.evaluate.form import OWN_DATA, data_called, data_sets, kept_setup, source_called
from medfact.web.pages import Action, Message, Page, Show, View, Visitor, paged
from medfact.web.pages.cards import card_of_statements
from medfact.web.pages.keeping import ERASE, erasable
from medfact.web.services import Source, collection_of, spec_of

FACTS_A_PAGE = 20
REASONS = {
    "": "no reason given",
    "true": "it is true",
    "sometimes": "it is true of some patients",
    "same": "it is another name for a true finding",
    "odd": "nobody would ask that",
}
"""Why a false partner may be rejected."""


class FactsShow(Show):
    """data: a bundled data set, or OWN_DATA; protocol, pool: by which method and in whose sentences ("": the method's own)."""

    data: str = ""
    protocol: str = "medfact"
    pool: str = ""
    search: str = Field("", max_length=200)
    relation: str = Field("", max_length=500)
    specialty: str = Field("", max_length=500)
    layout: Literal["cards", "table"] = "cards"
    page: int = Field(0, ge=0, le=10**9)


def view(visitor: Visitor, show: FactsShow) -> View:
    """One page of the facts that pass the filters."""
    setup = kept_setup(visitor.services, visitor.owner)
    if not show.data:
        show = show.model_copy(update={"protocol": setup.protocol, "pool": setup.pool})
    protocol = show.protocol if show.protocol in PROTOCOLS else RunSpec.protocol
    show = show.model_copy(update={"data": data_called(show.data, setup), "protocol": protocol})
    try:
        return _page(visitor, show, source_called(show.data, setup.source), setup.source)
    except MedfactError as error:
        return View({"cards": render("message", message=Message(error.public, "warn"))}, show, query="")


def _page(visitor: Visitor, show: FactsShow, source: Source, own: Source | None) -> View:
    pool_name = visitor.services.pool(visitor.owner, show.pool)
    collection = collection_of(source)
    pool = pool_of(spec_of(source, protocol=show.protocol, pool=pool_name or None), collection.ready)
    rejections = visitor.services.store.of(visitor.owner).decisions.rejections()
    found = list(_matching(collection.facts, collection.known, pool, show))
    listed = paged(found, show.page, FACTS_A_PAGE)
    protocol = PROTOCOLS[show.protocol]
    group = grouping(collection, protocol.negatives, spec_of(source).seed, protocol.negative_difficulty, rejections)
    shown = [group(fact) for fact in listed.part]
    said = opinions(visitor.services.store.verdicts.log([one.fact_id for of in shown for one in of], visitor.reviewers))
    cards = [
        (
            card_of_statements(fact, partners, [(s, _remark(s, pool)) for s in pool.statements([fact, *partners])]),
            _explanation(fact, partners, collection.known, rejections),
            [partner.tail for partner in partners if _drawn(partner)],
            _reviewed(said, [fact, *partners]),
        )
        for fact, *partners in shown
    ]
    facts = [fact for fact in collection.facts if fact.positive]
    fragments = {
        "to-review": Markup(
            '<p class="mf-note">Are they true, clear and fair? <a href="review" data-key="review">Review them</a>, '
            'or <a href="studio" data-key="studio">edit the sentences</a>.</p>'
        )
        + _statistics(collection),
        "filters": _filters(show, own, facts),
        "cards": render(
            "facts_cards",
            cards=cards,
            reasons=REASONS,
            layout=show.layout,
            unknown=_unknown_relation(show, facts, pool),
            **listed.numbers,
        ),
        "rejected": _rejections(visitor, facts),
    }
    query = f"?data={show.data}" if show.data != OWN_DATA else ""
    return View(fragments, show.model_copy(update={"page": listed.page}), query=query)


def _statistics(collection: Collection) -> Markup:
    """How large the data set is; nothing of one without true facts. Kept with what is known of it."""
    key = ("statistics", collection.name)
    if key not in collection.known.memo:
        collection.known.memo[key] = statistics(collection)
    sizes = collection.known.memo[key]
    return render("facts_statistics", sizes=sizes) if sizes[0].facts else Markup()


def _filters(show: FactsShow, own: Source | None, facts: Sequence[Fact]) -> Markup:
    return render(
        "facts_filters",
        show=show,
        datasets=data_sets(own),
        protocols=[(name, protocol.title) for name, protocol in PROTOCOLS.items()],
        pools=[("", "the method's own"), *((name, load_pool(name).title) for name in pool_names())],
        relations=sorted({fact.relation for fact in facts}),
        specialties=sorted({fact.specialty for fact in facts if fact.specialty}),
    )


def _reviewed(said: Mapping[str, Mapping[str, Opinion]], facts: Sequence[Fact]) -> list[str]:
    """What reviewers have said of a fact and of its false partners, each with its name."""
    found = ((fact, reviewed_in_words(said.get(fact.fact_id, {}))) for fact in facts)
    return [f"{'True fact' if fact.positive else f'False partner “{fact.tail}”'}: {words}." for fact, words in found if words]


def _matching(facts: Sequence[Fact], known: KnowledgeBase, pool: Pool, show: FactsShow) -> Iterator[Fact]:
    """Facts that the pool states and the filters pass, without the false partners of true ones.

    A search finds the other names of a thing too.
    """
    words = name_key(show.search)
    entities = _entities(words, known) if words else set()
    for fact in facts:
        stated = fact.negative_of is None and pool.states(fact)
        chosen = show.relation in ("", fact.relation) and show.specialty in ("", fact.specialty or "")
        named = words in name_key(f"{fact.head} {fact.relation} {fact.tail}")
        if stated and chosen and (named or not entities.isdisjoint((known.entity(fact.head), known.entity(fact.tail or "")))):
            yield fact


def _entities(words: str, known: KnowledgeBase) -> set[str]:
    """What one of whose other names, or everyday names, holds these words."""
    groups = (*known.synonyms, *lay_names())
    return {known.entity(name) for group in groups if any(words in name_key(other) for other in group) for name in group}


def _unknown_relation(show: FactsShow, facts: Sequence[Fact], pool: Pool) -> str:
    """Why nothing is shown of a relation that the pool has no sentences for; "" where it has."""
    relations = [show.relation] if show.relation else sorted({fact.relation for fact in facts})
    unknown = [name for name in relations if pool.canonical(name) is None]
    if not unknown or len(unknown) < len(relations):
        return ""
    why = pool.why_withheld(unknown[0])
    return (
        f"{unknown[0]!r} is withheld: {why}"
        if why
        else f"The chosen sentences have none for {', '.join(map(repr, unknown[:3]))}."
    )


def _remark(statement: Statement, pool: Pool) -> str:
    """What to say of a statement whose label follows a paper's rule and not from its fact."""
    name = pool.canonical(statement.fact.relation)
    why = pool.relations[name].mislabelled.get(statement.variant) if name else None
    return f"Labelled by the paper's rule: {why}." if why else ""


def _drawn(partner: Fact) -> bool:
    return partner.negative_of is not None and partner.tail is not None


def _explanation(fact: Fact, partners: Sequence[Fact], known: KnowledgeBase, rejections: Rejections) -> list[str]:
    """How the false partner was drawn: how many candidates there were, and what each rule removed."""
    if not fact.positive or (partners and not any(map(_drawn, partners))):
        return []
    found = explain(fact, known, rejections.get(fact.fact_id, frozenset()))
    first = f"{found.candidates:,} other tails of the same type; {found.left:,} of them are safe to call false."
    return [first, *(f"{number:,} left out: {RULES[rule]}." for rule, number in found.removed.items())]


def _rejections(visitor: Visitor, facts: Sequence[Fact]) -> Markup:
    """The rejected false partners of these facts, and why each was rejected."""
    rejected = visitor.services.store.of(visitor.owner).decisions.rejected()
    by_id = {fact.fact_id: fact for fact in facts}
    here = [(by_id[item.fact_id], item.tail, REASONS.get(item.reason, "")) for item in rejected if item.fact_id in by_id]
    return render("facts_rejected", rejected=here) + (erasable(DECISIONS) if rejected else Markup())


# ------------------------------------------------------------------------------------------------ actions


def _fact_and_tail(action: Action) -> tuple[str, str]:
    fact_id, _, tail = action.about.partition(":")
    if not fact_id or not tail:
        raise Mistake("That is no false partner.", "Load the page again.")
    return fact_id, tail


def reject(visitor: Visitor, show: FactsShow, action: Action) -> tuple[FactsShow, Message]:
    """Leaves a tail out of the visitor's draws of false partners."""
    fact_id, tail = _fact_and_tail(action)
    reason = action.fields.get("reason", "")
    visitor.services.log_of(visitor.owner, [tail]).decisions.reject(fact_id, tail, reason if reason in REASONS else "")
    return show, Message(f"“{tail}” will not be drawn again for this fact.", "good", undo=Action("accept", action.about))


def accept(visitor: Visitor, show: FactsShow, action: Action) -> tuple[FactsShow, Message]:
    """Takes a rejection back."""
    fact_id, tail = _fact_and_tail(action)
    visitor.services.store.of(visitor.owner).decisions.unreject(fact_id, tail)
    return show, Message(f"“{tail}” may be drawn again for this fact.", "good")


PAGE = Page(
    "facts",
    "Facts",
    ("said", "to-review", "filters", "cards", "rejected"),
    FactsShow,
    view,
    {"reject": reject, "accept": accept, **ERASE},
    address=("data",),
    introduction="# Facts\nEach true fact has false partners: other findings that no source lists for it.",
    place=1,
    tab="Browse",
)
