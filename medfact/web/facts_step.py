"""Step 1: which facts. A bundled data set, or a file of the visitor's own, with its columns mapped where they need it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gradio as gr

from medfact.datasets import Collection, Selection, bundled_names
from medfact.datasets.collection import summary
from medfact.datasets.table_reader import FORMATS
from medfact.errors import ColumnsMissing, MedfactError
from medfact.negatives import RULES, explain
from medfact.runs.plan import select_facts
from medfact.spec import RunSpec
from medfact.web.services import Services, Source, collection_of, spec_of
from medfact.web.uploads import Uploads
from medfact.web.view import message, view
from medfact.web.visitors import owner_of

MANY = 20_000
"""Above so many facts, false partners are drawn when they are shown or asked, not counted here."""

SHOWN_PROBLEMS = 12
SHOWN_WITHOUT = 5
ONE_RELATION = "(one relation for all rows)"


@dataclass(frozen=True)
class FactsStep:
    """What the later steps read: where the facts come from."""

    source: gr.State


def build(services: Services) -> FactsStep:
    """Lays the step out and wires it."""
    uploads = services.uploads
    source = gr.State({"dataset": RunSpec.dataset})
    gr.Markdown(
        "## 1 · Facts\nA fact is a triplet: a *head*, a *relation* and a *tail*. Each true fact gets a false partner, the same "
        "head and relation with another tail that no known source holds true."
    )
    with gr.Row():
        with gr.Column(min_width=280):
            dataset = gr.Dropdown(bundled_names(), value=RunSpec.dataset, label="Data set", elem_id="dataset", interactive=True)
        with gr.Column(min_width=280):
            upload = gr.File(
                label=f"or a file of your own with head, relation, tail ({' '.join(FORMATS)})",
                file_types=list(FORMATS),
                height=150,
                elem_id="upload",
            )
    said = view("message", message(""), elem_id="facts-message")
    with gr.Group(visible=False) as mapping:
        gr.Markdown("Which of your columns are the head, the relation and the tail?", container=True)
        with gr.Row():
            head = gr.Dropdown([], label="head (what the fact is about)", elem_id="map-head", min_width=180)
            relation = gr.Dropdown([], label="relation", elem_id="map-relation", min_width=180)
            tail = gr.Dropdown([], label="tail", elem_id="map-tail", min_width=180)
        constant = gr.Textbox(label="the relation of all rows, if no column has it", placeholder="symptoms", max_length=200)
        use = gr.Button("Use these columns", variant="secondary")
    table = view("facts", facts_view({"dataset": RunSpec.dataset}), elem_id="facts-view")

    shown = [source, said, table, mapping, head, relation, tail]
    at_work: dict[str, Any] = {"show_progress_on": [table], "api_visibility": "private"}

    def uploaded(request: gr.Request, path: str) -> list[Any]:
        return take_file(uploads, owner_of(request), path)

    def mapped(request: gr.Request, path: str | None, *columns: str | None) -> list[Any]:
        return take_columns(uploads, owner_of(request), path, *columns)

    dataset.input(choose, dataset, [*shown, upload], api_name="choose_dataset", **at_work)
    upload.upload(uploaded, upload, shown, api_name="take_file", **at_work)
    upload.clear(choose, dataset, [*shown, upload], api_name="clear_file", **at_work)
    use.click(mapped, [upload, head, relation, tail, constant], shown, api_name="take_columns", **at_work)
    return FactsStep(source)


def choose(name: str) -> list[Any]:
    """Takes a bundled data set."""
    return [*_taken({"dataset": name}, ""), gr.File(value=None)]


def take_file(uploads: Uploads, owner: str, path: object) -> list[Any]:
    """Takes a file that a visitor has uploaded; asks for its columns where they do not speak for themselves."""
    try:
        file = uploads.of(owner, path)
        source = {"facts": str(file), "columns": []}
        collection = collection_of(source)
    except ColumnsMissing as error:
        choices = error.columns[:200]
        return [
            gr.skip(),
            message(error.public, "warn"),
            gr.skip(),
            gr.Group(visible=True),
            gr.Dropdown(choices, value=None),
            gr.Dropdown([*choices, ONE_RELATION], value=None),
            gr.Dropdown(choices, value=None),
        ]
    except MedfactError as error:
        return _refused(error)
    return _taken(source, f"{file.name}: {len(collection.known.facts):,} true facts were read.")


def take_columns(
    uploads: Uploads,
    owner: str,
    path: object,
    head: str | None = None,
    relation: str | None = None,
    tail: str | None = None,
    constant: str | None = None,
) -> list[Any]:
    """Takes the uploaded file again with the columns that the visitor chose."""
    if not path:
        return [gr.skip(), message("Choose a file first.", "warn"), *[gr.skip()] * 5]
    same = f"={(constant or '').strip()}"
    chosen = {"head": head, "relation": same if relation in (None, ONE_RELATION) else relation}
    chosen["tail"] = tail
    if not head or not tail or chosen["relation"] == "=":
        return [gr.skip(), message("Choose a column for each of the three, or type one relation.", "warn"), *[gr.skip()] * 5]
    try:
        file = uploads.of(owner, path)
        source = {"facts": str(file), "columns": [[ours, theirs] for ours, theirs in chosen.items()]}
        collection = collection_of(source)
    except MedfactError as error:
        return _refused(error)
    return _taken(source, f"{file.name}: {len(collection.known.facts):,} true facts were read.")


def _taken(source: Source, said: str) -> list[Any]:
    return [source, message(said, "good"), facts_view(source), gr.Group(visible=False), *[gr.skip()] * 3]


def _refused(error: MedfactError) -> list[Any]:
    return [gr.skip(), message(error.public, "warn"), gr.skip(), gr.Group(visible=False), *[gr.skip()] * 3]


def facts_view(source: Source) -> dict[str, Any]:
    """What the table of facts shows: counts by relation, notes, and problems by row."""
    collection = collection_of(source)
    problems = summary(collection.problems)
    more = [f"… and {len(problems) - SHOWN_PROBLEMS} more kinds of problem"] if len(problems) > SHOWN_PROBLEMS else []
    counted = len(collection.known.facts) <= MANY
    return {
        "relations": _relations(collection, spec_of(source), counted),
        "notes": _notes(collection, spec_of(source), counted),
        "problems": [*problems[:SHOWN_PROBLEMS], *more],
        "problems_title": f"{len(collection.problems):,} rows were left out or need a look",
    }


def _notes(collection: Collection, spec: RunSpec, counted: bool) -> list[str]:
    if not counted:
        return [*collection.notes, "So many facts: their false partners are drawn when they are shown or asked."]
    selection = select_facts(spec, collection)
    return [*collection.notes, *selection.notes, *_without_negative(selection, collection)]


def _commonest(types: Counter[str]) -> str:
    """The semantic types of a relation's tails, the most frequent first."""
    more = f" and {len(types) - 2} more" if len(types) > 2 else ""
    return ", ".join(name for name, _ in types.most_common(2)) + more or "not given"


def _without_negative(selection: Selection, collection: Collection) -> Iterator[str]:
    """A few of the facts that got no false partner, and why."""
    for fact in selection.without_negative[:SHOWN_WITHOUT]:
        made = explain(fact, collection.known)
        reasons = "; ".join(f"{number} {RULES[rule]}" for rule, number in made.removed.items())
        yield f"{fact.head} — {fact.relation} → {fact.tail}: of {made.candidates} other tails, {reasons or 'none is left'}."


def _relations(collection: Collection, spec: RunSpec, counted: bool) -> list[dict[str, Any]]:
    facts = Counter(fact.relation for fact in collection.known.facts)
    heads: defaultdict[str, set[str]] = defaultdict(set)
    types: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for fact in collection.known.facts:
        heads[fact.relation].add(fact.head)
        types[fact.relation].update([fact.tail_type] if fact.tail_type else [])
    selection = select_facts(spec, collection) if counted else None
    negatives = Counter(f.relation for f in (*selection.test, *selection.shots) if not f.positive) if selection else None
    aside = Counter(f.relation for f in selection.shots if f.positive) if selection else None
    return [
        {
            "name": relation,
            "types": _commonest(types[relation]),
            "facts": f"{number:,}",
            "heads": f"{len(heads[relation]):,}",
            "negatives": "on demand" if negatives is None else f"{negatives[relation]:,}",
            "aside": "on demand" if aside is None else f"{aside[relation]:,}",
        }
        for relation, number in facts.most_common()
    ]
