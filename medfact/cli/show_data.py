"""Commands that list data (data sets, pools, facts, statements, prompts), or write it as a task of another tool."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from medfact.assets import ENGLISH
from medfact.cli import OK, say
from medfact.cli.options import spec_of
from medfact.cli.rows import emit, print_notes
from medfact.datasets import (
    NOTHING_DECIDED,
    Collection,
    Held,
    PartnerDecisions,
    Selection,
    bundled_names,
    load,
    load_bundled,
)
from medfact.datasets.collection import summary
from medfact.datasets.statistics import statistics as sizes_of
from medfact.errors import Mistake
from medfact.exchange.rows import fact_rows, statement_row, statement_rows
from medfact.facts import Fact
from medfact.models import takes_messages
from medfact.negatives import RULES, count_exclusions
from medfact.prototypes import Pool, load_pool, orient_facts, pool_names
from medfact.results.wording import counted, describe_unchecked_facts
from medfact.reviews.verdicts import held, opinions
from medfact.runs.plan import plan, select_facts
from medfact.runs.pool import asked_as_written, pool_of
from medfact.runs.prompts import prompt_of
from medfact.runs.retrieve import with_passages
from medfact.spec import RunSpec
from medfact.store import Asked, Store, exists
from medfact.tasks import write_task

Row = dict[str, Any]


def datasets(options: argparse.Namespace) -> int:
    """Lists the bundled data sets."""
    rows = (
        {
            "dataset": collection.name,
            "positive_facts": len(collection.known.facts),
            "heads": len({fact.head for fact in collection.facts}),
            "relations": sorted({fact.relation for fact in collection.facts}),
            "fingerprint": collection.fingerprint(),
        }
        for collection in map(load_bundled, bundled_names())
    )
    return emit(rows, options.output)


def pools(options: argparse.Namespace) -> int:
    """Lists the prototypes."""
    rows = (
        {"pool": pool.name, "source": pool.source, "relation": relation.name, "strength": strength, "variant": form}
        | {"prototype": sentences[form], "mislabelled": relation.mislabelled.get(form)}
        for pool in map(load_pool, pool_names())
        for relation in pool.relations.values()
        for strength, sentences in ((None, relation.sentences), *relation.strengths.items())
        for form in pool.forms
    )
    return emit(rows, options.output)


def facts(options: argparse.Namespace) -> int:
    """Lists facts with their false partners and roles."""
    (spec, collection), decided = opened(options), decisions(options)
    pool = pool_of(spec, collection)
    collection = orient_facts(collection, pool)
    selection = select_facts(spec, collection, lambda relation: pool.canonical(relation) or relation, decided, held_in(options))
    print_notes((*collection.notes, *selection.notes, *_unstated(collection, pool), *describe_unchecked_facts(selection.test)))
    explanation = _explainer(selection, collection, decided) if options.explain else lambda _: {}
    chosen = (*selection.test, *selection.shots)
    roles = ["test"] * len(selection.test) + ["shots"] * len(selection.shots)
    told = zip(fact_rows(chosen), roles, chosen, strict=True)
    rows = (row | {"role": role} | explanation(fact) for row, role, fact in told)
    return emit(rows, options.output)


def statistics(options: argparse.Namespace) -> int:
    """Lists how large a data set is: of all of it, by relation, and by semantic type."""
    spec, collection = opened(options)
    pool = pool_of(spec, collection)
    collection = orient_facts(collection, pool)
    tested = select_facts(spec, collection, pool.canonical, decisions(options), held_in(options)).test
    print_notes((*collection.notes, *_unstated(collection, pool)))
    return emit(map(asdict, sizes_of(collection, tested)), options.output)


def _unstated(collection: Collection, pool: Pool) -> Iterator[str]:
    """Notes on relations for which there are no sentences."""
    stated = (fact for fact in collection.facts if fact.fact_id in pool.ready or pool.canonical(fact.relation))
    for relation in sorted({fact.relation for fact in collection.facts} - {fact.relation for fact in stated}):
        reason = pool.withheld_reason(relation) or "we have no sentences for it yet."
        yield f"{relation!r} is not stated by the pool {pool.name!r}: {reason}"


def _explainer(selection: Selection, collection: Collection, decided: PartnerDecisions) -> Callable[[Fact], Row]:
    """A function that says how a false partner was drawn: from how many candidates, and how many each rule left out."""
    positive = {fact.fact_id: fact for fact in (*selection.test, *selection.shots) if fact.positive}
    from_file = {fact.fact_id for fact in (*collection.facts, *collection.alone.values()) if not fact.positive}

    @cache
    def draw(positive_id: str) -> Row:
        fact, known = positive[positive_id], collection.known
        drawn = count_exclusions(fact, known, decided.rejected_tails(fact, known))
        removed = "; ".join(f"{number}: {RULES[rule]}" for rule, number in drawn.excluded.items())
        text = f"{drawn.candidates} tails of the same type, {drawn.safe} of them safe. Left out: {removed or 'none'}."
        return {"candidates": drawn.candidates, "safe": drawn.safe, "removed": drawn.excluded, "explanation": text}

    def explanation(fact: Fact) -> Row:
        if fact.fact_id not in from_file and fact.negative_of in positive:
            return draw(fact.negative_of)
        text = "It comes with the data; it was not drawn." if fact.fact_id in from_file else None
        return {"candidates": None, "safe": None, "removed": None, "explanation": text}

    return explanation


def statements(options: argparse.Namespace) -> int:
    """Lists the statements of the facts under test."""
    planned = plan(*opened(options), decisions(options), held_in(options))
    print_notes((*planned.notes, *describe_unchecked_facts(planned.facts)))
    return emit(statement_rows([item.statement for item in planned.statements if item.draw == 0]), options.output)


def prompts(options: argparse.Namespace) -> int:
    """Lists the prompts."""
    spec, collection = opened(options, options.model or "")
    planned = plan(spec, collection, decisions(options), held_in(options))
    print_notes(planned.notes)
    chat = bool(options.model) and takes_messages(options.model, spec.placement, spec.service)
    items = with_passages(planned.statements, spec, collection, lambda line: print_notes([line]))

    def row(item: Asked) -> Row:
        content = prompt_of(item, planned.demonstrations, spec, chat=chat).content
        return statement_row(item.statement) | {"prompt": content if isinstance(content, str) else list(map(dict, content))}

    return emit(map(row, items), options.output)


def task(options: argparse.Namespace) -> int:
    """Writes the statements of the facts under test as the folder of a task."""
    spec = spec_of(options, "")
    if spec.asked_in != ENGLISH:
        raise Mistake("Other tools read replies in English alone.", "Leave out --language; `run` asks in other languages.")
    planned = plan(spec, load_collection(spec), decisions(options), held_in(options))
    print_notes(planned.notes)
    count = write_task(options.tool, planned, spec, Path(options.into))
    say(f"{counted(count, 'statement')} written to {options.into}; its README.md says how to run them")
    return OK


def decisions(options: argparse.Namespace) -> PartnerDecisions:
    """What was said of false partners in the database. Listing data creates no database."""
    return Store(options.db).decisions.of_partners() if exists(options.db) else NOTHING_DECIDED


def held_in(options: argparse.Namespace) -> Held:
    """What reviewers hold of facts, by the database, where --reviewed asks for it."""
    wanted = vars(options).get("spec.reviewed") and exists(options.db)
    return held(opinions(Store(options.db).verdicts.log())) if wanted else {}


def opened(options: argparse.Namespace, model: str = "") -> tuple[RunSpec, Collection]:
    """The spec that was typed, and its facts, which are asked in their own language unless another was typed."""
    spec = spec_of(options, model)
    return in_language(spec, collection := load_collection(spec), options), collection


def in_language(spec: RunSpec, collection: Collection, options: argparse.Namespace) -> RunSpec:
    """The spec in the language that was typed, or else in that of its facts."""
    return spec if "spec.asked_in" in vars(options) else asked_as_written(spec, collection)


def load_collection(spec: RunSpec) -> Collection:
    """The facts of a spec; prints problems with the file as notes."""
    collection = load(spec)
    print_notes(f"{collection.name}, {line}" for line in summary(collection.problems))
    return collection
