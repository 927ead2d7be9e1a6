"""Step 2: the eight statements of each fact, beside those of its false partner."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gradio as gr

from medfact.datasets import grouping
from medfact.datasets.selection import Rejections
from medfact.facts import Fact, KnowledgeBase
from medfact.negatives import RULES, explain
from medfact.planning import protocol_of
from medfact.prototypes import Pool, load_pool, pool_names
from medfact.statements import VARIANTS
from medfact.ui.services import Services, Source, collection_of, spec_of
from medfact.ui.view import view

PAGE = 2
"""Facts on one page."""

ALL = "all relations"
EVERY_SPECIALTY = "all specialties"


@dataclass(frozen=True)
class StatementsStep:
    """What the last step reads: the prototype pool."""

    pool: gr.Dropdown


def build(services: Services, source: gr.State) -> StatementsStep:
    """Lays the step out and wires it."""
    gr.Markdown(
        "## 2 · Statements\nLogic turns a fact into eight statements: said plainly, backwards, as a patient's case, or both; "
        "each affirmed and denied. If the fact holds, the four affirmed ones are true and the four denied ones false."
    )
    first_pool = protocol_of(spec_of({})).pools[0]
    with gr.Row():
        search = gr.Textbox(
            label="Search", placeholder="a disease, drug, symptom …", elem_id="search", max_length=200, min_width=200
        )
        relation = gr.Dropdown(_relations({}), value=ALL, label="Relation", elem_id="relation", min_width=160)
        specialty = gr.Dropdown(_specialties({}), value=EVERY_SPECIALTY, label="Specialty", elem_id="specialty", min_width=160)
        pool = gr.Dropdown(
            [(load_pool(name).title, name) for name in pool_names()],
            value=first_pool,
            label="Sentences (prototype pool)",
            elem_id="pool",
            min_width=200,
        )
    page = gr.State(0)
    start = _turned(services, {}, first_pool, "", ALL, EVERY_SPECIALTY, 0)
    cards = view("statements", start[0], elem_id="cards")
    with gr.Row(equal_height=True):
        back = gr.Button("← Previous", size="sm", elem_id="previous", min_width=90)
        where = gr.Markdown(start[1], elem_id="where")
        forward = gr.Button("Next →", size="sm", elem_id="next", min_width=90)

    def first_page(given: Source, *chosen: Any) -> tuple[Any, str, int]:
        return _turned(services, given, *chosen, 0)

    def previous(given: Source, *chosen: Any) -> tuple[Any, str, int]:
        return _turned(services, given, *chosen[:-1], chosen[-1] - 1)

    def following(given: Source, *chosen: Any) -> tuple[Any, str, int]:
        return _turned(services, given, *chosen[:-1], chosen[-1] + 1)

    def rejected(event: gr.EventData, given: Source, *chosen: Any) -> tuple[Any, str, int]:
        _reject(services, given, str(event._data.get("key", "")))
        return _turned(services, given, *chosen)

    filters, outputs = [source, pool, search, relation, specialty], [cards, where, page]
    options: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
    for event, name in (
        (search.change, "search"),
        (relation.input, "filter"),
        (specialty.input, "filter_specialty"),
        (pool.input, "change_pool"),
    ):
        event(first_page, filters, outputs, api_name=name, trigger_mode="always_last", **options)
    source.change(
        lambda given: [
            gr.Dropdown(_relations(given), value=ALL),
            gr.Dropdown(_specialties(given), value=EVERY_SPECIALTY, visible=len(_specialties(given)) > 1),
        ],
        source,
        [relation, specialty],
        api_name="filters_of_source",
        **options,
    ).then(first_page, filters, outputs, api_name="statements_of_source", **options)
    back.click(previous, [*filters, page], outputs, api_name="previous_page", **options)
    forward.click(following, [*filters, page], outputs, api_name="next_page", **options)
    cards.click(rejected, [*filters, page], outputs, api_name="reject", **options)
    return StatementsStep(pool)


def _relations(source: Source) -> list[str]:
    return [ALL, *sorted({fact.relation for fact in collection_of(source).known.facts})]


def _specialties(source: Source) -> list[str]:
    return [EVERY_SPECIALTY, *sorted({fact.specialty for fact in collection_of(source).known.facts if fact.specialty})]


def _reject(services: Services, source: Source, key: str) -> None:
    """Bars the tail of a card's false partner (key: "reject:" and the id of its fact), so that another is drawn."""
    fact_id = key.removeprefix("reject:")
    fact = next((f for f in collection_of(source).known.facts if f.fact_id == fact_id), None)
    if fact is not None:
        _, *partners = _group(services, source)(fact)
        for partner in partners:
            if partner.tail is not None:
                services.store.reject(fact_id, partner.tail)


def _group(services: Services, source: Source) -> Callable[[Fact], tuple[Fact, ...]]:
    return grouping(collection_of(source), 1, spec_of(source).seed, services.store.rejections())


def _turned(
    services: Services, source: Source, pool_name: str, search: str, relation: str, specialty: str, page: int
) -> tuple[dict[str, Any], str, int]:
    """The facts of one page with their statements, where that page is, and its number, kept within the pages there are."""
    pool = load_pool(pool_name)
    found = _matching(source, pool, search, relation, specialty)
    page = max(0, min(page, (len(found) - 1) // PAGE))
    group, shown = _group(services, source), found[page * PAGE : (page + 1) * PAGE]
    where = f"facts {page * PAGE + 1:,} to {page * PAGE + len(shown):,} of {len(found):,}" if found else "no facts"
    rejections = services.store.rejections()
    cards = [_card(pool, collection_of(source).known, rejections, *group(fact)) for fact in shown]
    return {"cards": cards}, where, page


def _matching(source: Source, pool: Pool, search: str, relation: str, specialty: str) -> list[Fact]:
    needle = " ".join((search or "").casefold().split())
    return [
        fact
        for fact in collection_of(source).facts
        if fact.positive
        and pool.canonical(fact.relation) is not None
        and relation in (ALL, fact.relation, None)
        and specialty in (EVERY_SPECIALTY, fact.specialty, None)
        and needle in f"{fact.head} {fact.relation} {fact.tail}".casefold()
    ]


def _card(pool: Pool, known: KnowledgeBase, rejections: Rejections, fact: Fact, partner: Fact | None = None) -> dict[str, Any]:
    said = {statement.variant: statement for statement in pool.statements([fact])}
    denied = {statement.variant: statement for statement in pool.statements([partner])} if partner else {}
    return {
        "fact": {
            "id": fact.fact_id,
            "head": fact.head,
            "relation": fact.relation,
            "tail": fact.tail,
            "source": _source(fact),
            "links": _links(fact),
        },
        "partner": {"tail": partner.tail} if partner else None,
        "explanation": _explanation(fact, known, rejections.get(fact.fact_id, frozenset())),
        "rows": [
            {
                "key": key,
                "plain": VARIANTS[key].plain,
                "predicate": VARIANTS[key].predicate,
                "fact": {"text": said[key].text, "label": said[key].label},
                "partner": {"text": denied[key].text, "label": denied[key].label} if key in denied else None,
            }
            for key in pool.forms
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
