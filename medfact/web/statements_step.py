"""Step 2: by which method a fact is stated, and its statements beside those of its false partners."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gradio as gr

from medfact.datasets import grouping
from medfact.datasets.selection import Rejections
from medfact.errors import MedfactError
from medfact.facts import Fact, KnowledgeBase
from medfact.negatives import RULES, explain
from medfact.prototypes import Pool, check_relations, load_pool, pool_names
from medfact.runs.plan import pool_of
from medfact.spec import PROTOCOLS, RunSpec
from medfact.statements import VARIANTS, Statement
from medfact.store import Store
from medfact.web.services import Services, Source, collection_of, spec_of
from medfact.web.uploads import Uploads
from medfact.web.view import AT_ONCE, message, view
from medfact.web.visitors import owner_of

PAGE = 2
"""Facts on one page."""

ALL = "all relations"
EVERY_SPECIALTY = "all specialties"
REJECT = "reject"
TURNS = {("turn", "-1"): -1, ("turn", "1"): 1}
"""What a key of what is pressed among the statements means."""

OWN = ""
"""The value of the pool that stands for the method's own."""


@dataclass(frozen=True)
class StatementsStep:
    """What the last step reads: the method, and the prototype pool (OWN: the method's)."""

    protocol: gr.Radio
    pool: gr.Dropdown


@dataclass(frozen=True)
class _Filters:
    search: gr.Textbox
    relation: gr.Dropdown
    specialty: gr.Dropdown


@dataclass(frozen=True)
class _Cards:
    cards: gr.HTML
    page: gr.State


def build(services: Services, source: gr.State) -> StatementsStep:
    """Lays the step out and wires it."""
    gr.Markdown(
        "## 2 · Statements\nLogic turns a fact into statements, eight by most methods: said plainly, backwards, as a patient's "
        "case, or both; each affirmed and denied. If the fact holds, the affirmed ones are true and the denied ones false."
    )
    step = _method(services, source)
    with gr.Row():
        filters = _Filters(
            search=gr.Textbox(
                label="Search", placeholder="a disease, drug, symptom …", elem_id="search", max_length=200, min_width=200
            ),
            relation=gr.Dropdown(_relations({}), value=ALL, label="Relation", elem_id="relation", min_width=160),
            specialty=gr.Dropdown(
                _specialties({}), value=EVERY_SPECIALTY, label="Specialty", elem_id="specialty", min_width=160
            ),
        )
    first = _turned(services.store, {}, RunSpec.protocol, OWN, "", ALL, EVERY_SPECIALTY, 0)
    _wire(services, source, step, filters, _Cards(view("statements", first[0], elem_id="cards"), gr.State(0)))
    return step


def _method(services: Services, source: gr.State) -> StatementsStep:
    """The choice of a method, which explains itself, and of the sentences, a person's own among them."""
    protocol = gr.Radio(
        [(made.title, name) for name, made in PROTOCOLS.items()],
        value=RunSpec.protocol,
        label="Method",
        elem_id="protocol",
    )
    explanation = view("message", _explained(RunSpec.protocol), elem_id="protocol-explanation")
    with gr.Row():
        pool = gr.Dropdown(_pools(), value=OWN, label="Sentences (prototype pool)", elem_id="pool", min_width=240)
        own = gr.UploadButton(
            "Bring sentences of your own (.yaml, .json)",
            file_types=[".yaml", ".yml", ".json"],
            size="sm",
            elem_id="own-pool",
            min_width=200,
        )
    said = view("message", message(""), elem_id="pool-message")
    protocol.change(lambda name: [_explained(name), OWN], protocol, [explanation, pool], api_name="choose_method", **AT_ONCE)

    def uploaded(request: gr.Request, path: str, given: Source) -> list[Any]:
        return _take_pool(services.uploads, owner_of(request), path, given)

    own.upload(uploaded, [own, source], [pool, said], api_name="take_pool", **AT_ONCE)
    return StatementsStep(protocol, pool)


def _explained(protocol: str) -> dict[str, str]:
    return message(PROTOCOLS[protocol].explanation)


def _pools() -> list[tuple[str, str]]:
    return [("the method's own", OWN), *((load_pool(name).title, name) for name in pool_names())]


def _take_pool(uploads: Uploads, owner: str, path: object, source: Source) -> list[Any]:
    """Checks a person's pool against the facts, and chooses it; what is wrong is said, and nothing else changes."""
    try:
        file = uploads.of(owner, path)
        pool = load_pool(str(file))
        check_relations(pool, (fact.relation for fact in collection_of(source).facts))
    except MedfactError as error:
        return [gr.skip(), message(f"{error.public} The sentences chosen before stay in use.", "warn")]
    problems = f" {' '.join(pool.problems[:3])}" if pool.problems else ""
    choice = gr.Dropdown([*_pools(), (f"{file.name} (your own)", str(file))], value=str(file))
    said = f"{file.name}: {len(pool.relations)} relations, {len(pool.forms)} ways of saying.{problems}"
    return [choice, message(said, "good")]


def _wire(services: Services, source: gr.State, step: StatementsStep, filters: _Filters, cards: _Cards) -> None:
    """Turning pages, filtering, another method, and rejecting a false partner."""

    def turned(request: gr.Request, given: Source, protocol: str, pool: str, *filters: Any) -> tuple[Any, int]:
        try:
            own = services.pool(owner_of(request), pool) or OWN
            return _turned(_store_of(services, request), given, protocol, own, *filters)
        except MedfactError as error:
            return {"cards": [], "none": error.public, "turn": None}, 0

    def first_page(request: gr.Request, given: Source, *chosen: Any) -> tuple[Any, int]:
        return turned(request, given, *chosen, 0)

    def pressed(request: gr.Request, event: gr.EventData, given: Source, *chosen: Any) -> tuple[Any, int]:
        store = _store_of(services, request)
        *filtered, page = chosen
        what, _, key = str(event._data.get("key", "")).partition(":")
        if what == REJECT:
            _reject(store, given, str(chosen[0]), key)
        return turned(request, given, *filtered, page + TURNS.get((what, key), 0))

    inputs = [source, step.protocol, step.pool, filters.search, filters.relation, filters.specialty]
    outputs = [cards.cards, cards.page]
    for event, name in (
        (filters.search.change, "search"),
        (filters.relation.input, "filter"),
        (filters.specialty.input, "filter_specialty"),
        (step.pool.change, "change_pool"),
        (step.protocol.change, "change_method"),
    ):
        event(first_page, inputs, outputs, api_name=name, trigger_mode="always_last", **AT_ONCE)
    source.change(
        lambda given: [
            gr.Dropdown(_relations(given), value=ALL),
            gr.Dropdown(_specialties(given), value=EVERY_SPECIALTY, visible=len(_specialties(given)) > 1),
        ],
        source,
        [filters.relation, filters.specialty],
        api_name="filters_of_source",
        **AT_ONCE,
    ).then(first_page, inputs, outputs, api_name="statements_of_source", **AT_ONCE)
    cards.cards.click(pressed, [*inputs, cards.page], outputs, api_name="press_card", **AT_ONCE)


def _store_of(services: Services, request: gr.Request) -> Store:
    """The database, as the visitor uses it: what one rejects is rejected for that one alone."""
    return services.store.of(owner_of(request))


def _relations(source: Source) -> list[str]:
    return [ALL, *sorted({fact.relation for fact in collection_of(source).known.facts})]


def _specialties(source: Source) -> list[str]:
    return [EVERY_SPECIALTY, *sorted({fact.specialty for fact in collection_of(source).known.facts if fact.specialty})]


# --------------------------------------------------------------------------------------------------- cards


def _reject(store: Store, source: Source, protocol: str, key: str) -> None:
    """Bars the tail of a card's false partner (key: the fact's id, and the tail after it)."""
    fact_id, _, tail = key.partition(":")
    fact = next((f for f in collection_of(source).known.facts if f.fact_id == fact_id), None)
    if fact is not None:
        _, *partners = _group(store, source, protocol)(fact)
        if any(partner.tail == tail for partner in partners):
            store.reject(fact_id, tail)


def _group(store: Store, source: Source, protocol: str) -> Callable[[Fact], tuple[Fact, ...]]:
    negatives = PROTOCOLS[protocol].negatives
    return grouping(collection_of(source), negatives, spec_of(source).seed, store.rejections())


def _turned(
    store: Store, source: Source, protocol: str, pool_name: str, search: str, relation: str, specialty: str, page: int
) -> tuple[dict[str, Any], int]:
    """The facts of one page with their statements and where that page is; and its number, kept within the pages there are."""
    pool = pool_of(spec_of(source, protocol=protocol, pool=pool_name or None), collection_of(source).ready)
    found = _matching(source, pool, search, relation, specialty)
    page = max(0, min(page, (len(found) - 1) // PAGE))
    group, shown = _group(store, source, protocol), found[page * PAGE : (page + 1) * PAGE]
    turn = {
        "what": "",
        "where": f"facts {page * PAGE + 1:,} to {page * PAGE + len(shown):,} of {len(found):,}",
        "back": page > 0,
        "forward": (page + 1) * PAGE < len(found),
    }
    rejections = store.rejections()
    cards = [_card(pool, collection_of(source).known, rejections, *group(fact)) for fact in shown]
    none = "No fact matches. Clear the search, or choose another relation."
    return {"cards": cards, "none": none, "turn": turn if found else None}, page


def _matching(source: Source, pool: Pool, search: str, relation: str, specialty: str) -> list[Fact]:
    needle = " ".join((search or "").casefold().split())
    return [
        fact
        for fact in collection_of(source).facts
        if fact.positive
        and pool.states(fact)
        and relation in (ALL, fact.relation, None)
        and specialty in (EVERY_SPECIALTY, fact.specialty, None)
        and needle in f"{fact.head} {fact.relation} {fact.tail}".casefold()
    ]


def _card(pool: Pool, known: KnowledgeBase, rejections: Rejections, fact: Fact, *partners: Fact) -> dict[str, Any]:
    said = {statement.variant: statement for statement in pool.statements([fact])}
    denied: dict[str, list[Statement]] = {}
    for statement in pool.statements(partners):
        denied.setdefault(statement.variant, []).append(statement)
    drawn = [partner.tail for partner in partners if partner.tail and partner.fact_id not in pool.ready]
    return {
        "fact": {
            "id": fact.fact_id,
            "head": fact.head,
            "relation": fact.relation,
            "tail": fact.tail,
            "source": _source(fact),
            "links": _links(fact),
        },
        "partners": [{"tail": partner.tail or "(its tail is not known)"} for partner in partners],
        "drawn": drawn,
        "explanation": _explanation(fact, known, rejections.get(fact.fact_id, frozenset())) if drawn or not partners else [],
        "rows": [
            {
                "key": key,
                "plain": VARIANTS[key].plain,
                "predicate": VARIANTS[key].predicate,
                "fact": {"text": said[key].text, "label": said[key].label},
                "partners": [{"text": one.text, "label": one.label} for one in denied.get(key, ())],
            }
            for key in said
        ],
    }


def _explanation(fact: Fact, known: KnowledgeBase, rejected: frozenset[str]) -> list[str]:
    made = explain(fact, known, rejected)
    first = f"{made.candidates:,} other tails of the same type; {made.left:,} of them are safe to call false."
    return [first, *(f"{number:,} left out: {RULES[rule]}." for rule, number in made.removed.items())]


def _source(fact: Fact) -> str:
    dated = f"as of {fact.as_of}" if fact.as_of else None
    known = [text for text in (fact.source, fact.source_id, dated) if text]
    where = f"Source: {', '.join(known)}" if known else "No source is given"
    return f"{where} · {fact.specialty}" if fact.specialty else where


REGISTERS = {
    r"DOID:\d{1,9}": "https://disease-ontology.org/?id={}",
    r"DB\d{5}": "https://go.drugbank.com/drugs/{}",
    r"UBERON:\d{7}": "https://www.ebi.ac.uk/ols4/search?q={}",
    r"SYMP:\d{7}": "https://www.ebi.ac.uk/ols4/search?q={}",
}
"""Where an identifier opens. Only identifiers of these very shapes make a link; nothing else from a file does."""


def _links(fact: Fact) -> list[dict[str, str]]:
    identifiers = dict.fromkeys(identifier for identifier in (fact.head_id, fact.tail_id) if identifier)
    return [
        {"text": identifier, "address": address.format(identifier)}
        for identifier in identifiers
        for shape, address in REGISTERS.items()
        if re.fullmatch(shape, identifier)
    ]
