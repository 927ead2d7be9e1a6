"""Step 2: the eight statements of each fact, beside those of its false partner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from medfact.datasets import grouping
from medfact.facts import Fact
from medfact.prototypes import Pool, load_pool, pool_names
from medfact.runner import protocol_of
from medfact.statements import VARIANTS
from medfact.ui.services import Source, collection_of, spec_of
from medfact.ui.view import view

PAGE = 2
"""Facts on one page."""

ALL = "all relations"


@dataclass(frozen=True)
class StatementsStep:
    """What the last step reads: the prototype pool."""

    pool: gr.Dropdown


def build(source: gr.State) -> StatementsStep:
    """Lays the step out and wires it."""
    gr.Markdown(
        "## 2 · Statements\nLogic turns a fact into eight statements: said plainly, backwards, as a patient's case, or both; "
        "each affirmed and denied. If the fact holds, the four affirmed ones are true and the four denied ones false."
    )
    first = spec_of({})
    with gr.Row():
        search = gr.Textbox(label="Search", placeholder="a disease, drug, symptom …", elem_id="search", max_length=200)
        relation = gr.Dropdown(_relations({}), value=ALL, label="Relation", elem_id="relation")
        pool = gr.Dropdown(
            [(load_pool(name).title, name) for name in pool_names()],
            value=protocol_of(first).pools[0],
            label="Sentences (prototype pool)",
            elem_id="pool",
        )
    page = gr.State(0)
    cards = view("statements", cards_view({}, protocol_of(first).pools[0], "", ALL, 0)[0], elem_id="cards")
    with gr.Row(equal_height=True):
        back = gr.Button("← Previous", size="sm", elem_id="previous", min_width=90)
        where = gr.Markdown(_where({}, protocol_of(first).pools[0], "", ALL, 0), elem_id="where")
        forward = gr.Button("Next →", size="sm", elem_id="next", min_width=90)

    inputs, outputs = [source, pool, search, relation, page], [cards, where, page]
    options: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
    for event, name in ((search.change, "search"), (relation.input, "filter"), (pool.input, "change_pool")):
        event(_first_page, inputs[:-1], outputs, api_name=name, trigger_mode="always_last", **options)
    source.change(_first_page, inputs[:-1], outputs, api_name="statements_of_source", **options)
    source.change(
        lambda given: gr.Dropdown(_relations(given), value=ALL),
        source,
        relation,
        api_name="relations_of_source",
        **options,
    )
    back.click(_previous, inputs, outputs, api_name="previous_page", **options)
    forward.click(_next, inputs, outputs, api_name="next_page", **options)
    return StatementsStep(pool)


def _relations(source: Source) -> list[str]:
    return [ALL, *sorted({fact.relation for fact in collection_of(source).known.facts})]


def _first_page(source: Source, pool: str, search: str, relation: str) -> tuple[Any, str, int]:
    return _turned(source, pool, search, relation, 0)


def _previous(source: Source, pool: str, search: str, relation: str, page: int) -> tuple[Any, str, int]:
    return _turned(source, pool, search, relation, page - 1)


def _next(source: Source, pool: str, search: str, relation: str, page: int) -> tuple[Any, str, int]:
    return _turned(source, pool, search, relation, page + 1)


def _turned(source: Source, pool: str, search: str, relation: str, page: int) -> tuple[Any, str, int]:
    cards, page = cards_view(source, pool, search, relation, page)
    return cards, _where(source, pool, search, relation, page), page


def _where(source: Source, pool: str, search: str, relation: str, page: int) -> str:
    found = len(_matching(source, load_pool(pool), search, relation))
    return f"facts {page * PAGE + 1:,} to {min(found, (page + 1) * PAGE):,} of {found:,}" if found else "no facts"


def _matching(source: Source, pool: Pool, search: str, relation: str) -> list[Fact]:
    needle = " ".join((search or "").casefold().split())
    return [
        fact
        for fact in collection_of(source).known.facts
        if pool.canonical(fact.relation) is not None
        and relation in (ALL, fact.relation, None)
        and needle in f"{fact.head} {fact.relation} {fact.tail}".casefold()
    ]


def cards_view(source: Source, pool_name: str, search: str, relation: str, page: int) -> tuple[dict[str, Any], int]:
    """The facts of one page with their statements, and the number of that page, kept within the pages there are."""
    pool = load_pool(pool_name)
    found = _matching(source, pool, search, relation)
    page = max(0, min(page, (len(found) - 1) // PAGE))
    group = grouping(collection_of(source), 1, spec_of(source).seed)
    return {"cards": [_card(pool, *group(fact)) for fact in found[page * PAGE : (page + 1) * PAGE]]}, page


def _card(pool: Pool, fact: Fact, partner: Fact | None = None) -> dict[str, Any]:
    said = {statement.variant: statement for statement in pool.statements([fact])}
    denied = {statement.variant: statement for statement in pool.statements([partner])} if partner else {}
    return {
        "fact": {"head": fact.head, "relation": fact.relation, "tail": fact.tail, "source": _source(fact)},
        "partner": {"tail": partner.tail} if partner else None,
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


def _source(fact: Fact) -> str:
    known = [text for text in (fact.source, fact.source_id) if text]
    return f"Source: {', '.join(known)}" if known else "No source is given."
