"""The page Facts: browse a data set's facts with their false partners and their statements in every way of asking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlencode

from markupsafe import Markup
from pydantic import Field

from medfact.assets import ENGLISH, language_names
from medfact.datasets import grouping
from medfact.datasets.collection import Collection, summary
from medfact.datasets.names import matching_facts
from medfact.datasets.pairing import PartnerDecisions
from medfact.datasets.selection import lost_partner_in
from medfact.datasets.statistics import statistics
from medfact.errors import MedfactError, Mistake
from medfact.facts import Fact, KnowledgeBase, name_key
from medfact.languages import Name, name_in, names_in
from medfact.negatives import RULES, count_exclusions
from medfact.prototypes import Pool, load_pool, orient_facts, pool_names
from medfact.results.wording import describe_unchecked_facts, with_plain_columns
from medfact.reviews.text import reviewed_in_words
from medfact.reviews.verdicts import Opinion, opinions
from medfact.runs.pool import pool_of
from medfact.spec import PROTOCOLS, RunSpec
from medfact.statements import Statement
from medfact.store.contributions import DECISIONS
from medfact.table_formats import FORMATS
from medfact.views.fragments import render
from medfact.web.evaluate.facts_step import SHOWN_PROBLEMS, facts_asked, says_columns
from medfact.web.evaluate.files import ON_FACTS, mapping
from medfact.web.evaluate.form import (
    OWN_DATA,
    EvaluateShow,
    Setup,
    data_called,
    data_sets,
    kept_setup,
    language_of,
    source_called,
)
from medfact.web.pages import Act, Action, Message, Page, Show, View, Visitor, paged
from medfact.web.pages.cards import Card, card_of_statements
from medfact.web.pages.keeping import ERASE, erasable
from medfact.web.services import Source, collection_of, spec_of

FACTS_A_PAGE = 20
REASONS = {
    "": "no reason given",
    "true": "it is true",
    "sometimes": "it is true of some patients",
    "same": "it is a synonym of a true finding",
    "odd": "it makes no sense",
}
"""Why a false partner may be rejected."""


class FactsShow(Show):
    """data: a bundled data set, or OWN_DATA. protocol, pool, language: by which method, in whose sentences ("" for the method's
    own) and in which language; as on the page Evaluate before they are chosen here. fact: the id of the one that is open, ""
    for none.
    """

    data: str = ""
    protocol: str = ""
    pool: str | None = None
    language: str = Field("", max_length=20)
    search: str = Field("", max_length=200)
    relation: str = Field("", max_length=500)
    specialty: str = Field("", max_length=500)
    page: int = Field(0, ge=0, le=10**9)
    fact: str = Field("", max_length=40)


ADDRESS = ("data", "search", "relation", "specialty", "protocol", "pool", "language", "page", "fact")
"""The fields of the page's address, and of the steps that the browser's back button takes back."""


@dataclass(frozen=True)
class Opened:
    """What is shown of the fact that is open. drawn: its false partners that may be rejected. reviewed: what reviewers said.
    named: its entities' names in the language that is shown.
    """

    card: Card
    named: Sequence[tuple[str, Name]]
    explanation: Sequence[str]
    drawn: Sequence[str]
    reviewed: Sequence[str]


@dataclass(frozen=True)
class Line:
    """A fact in the list, its false partners, and in how many ways it is asked: none where a language lacks one of their names.
    opened: None for all but one. lost: whether its false partner has been withdrawn.
    """

    fact: Fact
    partners: Sequence[Fact]
    ways: int
    opened: Opened | None
    lost: bool


def view(visitor: Visitor, show: FactsShow) -> View:
    """One page of the facts that pass the filters."""
    kept = kept_setup(visitor.services, visitor.owner)
    show = _as_chosen(show, kept)
    try:
        return _page(visitor, show, kept)
    except MedfactError as error:
        return View({"cards": render("message", message=Message(error.public, "warn"))}, show, query="")


def _as_chosen(show: FactsShow, kept: Setup) -> FactsShow:
    """The view, with what was chosen on the page Evaluate where nothing is chosen here."""
    protocol = next(name for name in (show.protocol, kept.protocol, RunSpec.protocol) if name in PROTOCOLS)
    pool = kept.pool if show.pool is None else show.pool
    language = ENGLISH if pool else language_of(protocol, show.language or kept.language)
    chosen = {"data": data_called(show.data, kept), "protocol": protocol, "pool": pool, "language": language}
    return show.model_copy(update=chosen)


def _stated(visitor: Visitor, show: FactsShow, kept: Setup) -> tuple[Collection, Pool]:
    """The facts that are shown, the way round in which their sentences state them, and these."""
    source = source_called(show.data, kept.source)
    collection, pool_name = collection_of(source), visitor.services.pool(visitor.owner, show.pool or "") or None
    pool = pool_of(spec_of(source, protocol=show.protocol, pool=pool_name, asked_in=show.language), collection)
    return orient_facts(collection, pool), pool


def _page(visitor: Visitor, show: FactsShow, kept: Setup) -> View:
    collection, pool = _stated(visitor, show, kept)
    askable = pool.statable_facts(collection.facts)
    listed = paged(list(_matching(askable, collection.known, pool, show)), show.page, FACTS_A_PAGE)
    show = show.model_copy(update={"page": listed.page})
    lines = _lines(visitor, show, collection, pool, listed.part)
    if not any(line.opened for line in lines):
        show = show.model_copy(update={"fact": ""})
    facts = [fact for fact in collection.facts if fact.positive]
    fragments = {
        "about": render("facts_about", studio=f"?{urlencode({'pool': pool.name})}" if show.language != ENGLISH else ""),
        "filters": _filters(show, kept.source, facts, pool.unstated_note(collection.facts)),
        "in-use": _own_file(visitor, collection, show, kept),
        "mapping": mapping(visitor, kept) if kept.mapping or show.data == OWN_DATA else Markup(),
        "cards": render(
            "facts_list",
            lines=lines,
            language=show.language,
            listed=[one for line in lines for one in (line.fact, *line.partners)],
            reasons=REASONS,
            unknown=_unknown_relation(show, facts, askable, pool),
            **listed.numbers,
        ),
        "rejected": _statistics(collection) + _rejections(visitor, facts),
    }
    return View(fragments, show, query=_query(show, kept))


def _lines(visitor: Visitor, show: FactsShow, collection: Collection, pool: Pool, facts: Sequence[Fact]) -> Sequence[Line]:
    """The list, with the false partners as the method draws them."""
    decided = visitor.services.store.of(visitor.owner).decisions.of_partners()
    protocol = PROTOCOLS[show.protocol]
    group = grouping(collection, protocol.negatives, RunSpec.seed, protocol.negative_difficulty, decided, pool.canonical)
    lines, lost = [], lost_partner_in(collection, protocol.negatives)
    for fact, *partners in map(group, facts):
        ways = len({statement.variant for statement in pool.statements(pool.statable_facts([fact, *partners]))})
        opened = None
        if fact.fact_id == show.fact:
            opened = _opened(visitor, show, collection, pool, decided, [fact, *partners])
        lines.append(Line(fact, partners, ways, opened, not partners and fact.fact_id in lost))
    return lines


def _opened(
    visitor: Visitor, show: FactsShow, collection: Collection, pool: Pool, decided: PartnerDecisions, facts: Sequence[Fact]
) -> Opened:
    """The statements of a fact and its false partners, and what is known of them."""
    fact, *partners = facts
    said = opinions(visitor.services.store.verdicts.log([one.fact_id for one in facts], visitor.reviewers))
    return Opened(
        card_of_statements(fact, partners, [(one, _remark(one, pool)) for one in pool.statements(facts)]),
        _named(show.language, facts),
        _explanation(fact, partners, collection.known, decided),
        [partner.tail for partner in partners if partner.tail is not None and partner.negative_of is not None],
        _reviewed(said, facts),
    )


def _query(show: FactsShow, kept: Setup) -> str:
    """The address: what differs from what this visitor would see without one. A file of one's own is in no link."""
    usual = {name: field.default for name, field in FactsShow.model_fields.items()}
    usual |= {"protocol": kept.protocol, "pool": kept.pool, "language": ENGLISH if show.pool else kept.language}
    told = {name: getattr(show, name) for name in ADDRESS if getattr(show, name) != usual[name]}
    if show.data == OWN_DATA:
        del told["data"]
    if told.get("pool") not in ("", *pool_names()):
        told.pop("pool", None)
    return f"?{urlencode(told)}" if told else ""


def _own_file(visitor: Visitor, collection: Collection, show: FactsShow, kept: Setup) -> Markup:
    """That the visitor's own file is shown, and what is wrong with it."""
    if show.data != OWN_DATA:
        return Markup()
    notes = [with_plain_columns(note) for note in collection.notes if not says_columns(note)]
    return render(
        "facts_own",
        name=collection.name,
        notes=notes,
        problems=summary(collection.problems)[:SHOWN_PROBLEMS],
        unchecked=describe_unchecked_facts(facts_asked(visitor, kept)),
    )


def _statistics(collection: Collection) -> Markup:
    """How large the data set is; nothing of one without true facts. Kept with what is known of it."""
    key = ("statistics", collection.name)
    if key not in collection.known.memo:
        collection.known.memo[key] = statistics(collection)
    sizes = collection.known.memo[key]
    return render("facts_statistics", sizes=sizes) if sizes[0].facts else Markup()


def _filters(show: FactsShow, own: Source | None, facts: Sequence[Fact], note: str) -> Markup:
    """note: how many of the facts have sentences, where that is not all of them by right."""
    return render(
        "facts_filters",
        show=show,
        languages=[] if show.pool or show.protocol != RunSpec.protocol else list(language_names().items()),
        note=note,
        accept=",".join(FORMATS),
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
    """Facts that the pool states and the filters pass, without the false partners of true ones. A search finds the other names
    of a thing, and those in the language that is shown, too.
    """
    for fact in matching_facts(facts, show.search, known, partial(names_in, show.language)):
        passes = show.relation in ("", fact.relation) and show.specialty in ("", fact.specialty or "")
        if passes and fact.negative_of is None and pool.states(fact):
            yield fact


def _named(language: str, facts: Sequence[Fact]) -> list[tuple[str, Name]]:
    """The entities of a fact and its false partners that have a name in another language, each once, with that name."""
    entities = dict.fromkeys(name for fact in facts for name in (fact.head, fact.tail) if name is not None)
    return [(entity, name) for entity in entities if (name := name_in(language, entity))]


def _unknown_relation(show: FactsShow, facts: Sequence[Fact], askable: Sequence[Fact], pool: Pool) -> str:
    """Why nothing is shown of a relation that the pool has no sentences for; "" where it has. askable: those of the facts that
    the language can state.
    """
    relations = [show.relation] if show.relation else sorted({fact.relation for fact in facts})
    if show.language != ENGLISH and not any(fact.relation in relations for fact in askable):
        of = f"“{show.relation}” of {show.data}" if show.relation else show.data
        return (
            f"Nothing of {of} can be asked in {language_names()[show.language]}: its names, or sentences for it, are missing "
            "in this language. Choose English, or facts that have them, such as clinical-core."
        )
    unknown = [name for name in relations if pool.canonical(name) is None]
    if not unknown or len(unknown) < len(relations):
        return ""
    why = pool.withheld_reason(unknown[0])
    return f"{unknown[0]!r} is withheld: {why}" if why else f"There are no sentences for {', '.join(map(repr, unknown[:3]))}."


def _remark(statement: Statement, pool: Pool) -> str:
    """What to say of a statement whose label follows a paper's rule and not from its fact."""
    name = pool.canonical(statement.fact.relation)
    why = pool.relations[name].mislabelled.get(statement.variant) if name else None
    return f"Labelled by the paper's rule: {why}." if why else ""


def _explanation(fact: Fact, partners: Sequence[Fact], known: KnowledgeBase, decided: PartnerDecisions) -> list[str]:
    """How the false partner was drawn: how many candidates there were, and what each rule removed."""
    if not fact.positive or (partners and all(partner.negative_of is None for partner in partners)):
        return []
    found = count_exclusions(fact, known, decided.rejected_tails(fact, known))
    first = f"{found.candidates:,} other findings of the same type; {found.safe:,} of them are safe to call false."
    return [first, *(f"{number:,} left out: {RULES[rule]}." for rule, number in found.excluded.items())]


def _rejections(visitor: Visitor, facts: Sequence[Fact]) -> Markup:
    """The rejected false partners of these facts, and why each was rejected."""
    said = visitor.services.store.of(visitor.owner).decisions.on_partners()
    rejected = [item for item in said if not item.confirmed]
    own = {name_key(fact.head): fact for fact in reversed(facts)} | {fact.fact_id: fact for fact in facts}
    about = ((own.get(item.fact_id) or own.get(name_key(item.head)), item) for item in rejected)
    here = [(fact, item, REASONS.get(item.reason, "")) for fact, item in about if fact is not None]
    return render("facts_rejected", rejected=here) + (erasable(DECISIONS) if said else Markup())


# ------------------------------------------------------------------------------------------------ actions


def _fact_and_tail(action: Action) -> tuple[str, str]:
    fact_id, _, tail = action.about.partition(":")
    if not fact_id or not tail:
        raise Mistake("That is no false partner.", "Load the page again.")
    return fact_id, tail


def reject(visitor: Visitor, show: FactsShow, action: Action) -> tuple[FactsShow, Message]:
    """Leaves a tail out of the visitor's draws of false partners."""
    fact_id, tail = _fact_and_tail(action)
    kept, reason = kept_setup(visitor.services, visitor.owner), action.fields.get("reason", "")
    collection, _ = _stated(visitor, _as_chosen(show, kept), kept)
    fact = next((fact for fact in collection.facts if fact.fact_id == fact_id), None)
    decisions = visitor.services.log_of(visitor.owner, [tail, fact]).decisions
    decisions.reject(fact_id, tail, reason if reason in REASONS else "", fact)
    said = f"“{tail}” will not be drawn again for {fact.head if fact else 'this fact'}."
    return show, Message(said, "good", undo=Action("accept", action.about))


def accept(visitor: Visitor, show: FactsShow, action: Action) -> tuple[FactsShow, Message]:
    """Takes a rejection back."""
    fact_id, tail = _fact_and_tail(action)
    visitor.services.store.of(visitor.owner).decisions.take_back(fact_id, tail)
    return show, Message(f"“{tail}” may be drawn again for this fact.", "good")


def with_own_file(act: Act) -> Act:
    """What the page Evaluate does with a file of facts: it becomes the visitor's facts in use, there and here."""

    def acted(visitor: Visitor, show: FactsShow, action: Action) -> tuple[FactsShow, Message]:
        _, message = act(visitor, EvaluateShow.model_validate({}), action)
        return FactsShow.model_validate({"protocol": show.protocol, "pool": show.pool}), message

    return acted


PAGE = Page(
    "facts",
    "Facts",
    (
        "about",
        "filters",
        "said",
        "in-use",
        "mapping",
        "cards",
        "rejected",
    ),
    FactsShow,
    view,
    {"reject": reject, "accept": accept, **{name: with_own_file(act) for name, act in ON_FACTS.items()}, **ERASE},
    address=ADDRESS,
    stops=ADDRESS,
    place=1,
    tab="Browse",
)
