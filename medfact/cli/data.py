"""Commands that make data: data sets, pools, facts, statements, prompts."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from medfact.cli.options import spec_of
from medfact.cli.rows import emit, fact_row, say_all, statement_row
from medfact.spec import RunSpec

if TYPE_CHECKING:
    from medfact.datasets import Collection, Selection
    from medfact.facts import Fact


def datasets(options: argparse.Namespace) -> int:
    """Lists the bundled data sets."""
    from medfact.datasets import bundled_names, load_bundled

    def rows() -> Iterator[dict[str, Any]]:
        for name in bundled_names():
            collection = load_bundled(name)
            yield {
                "dataset": name,
                "positive_facts": len(collection.known.facts),
                "heads": len({fact.head for fact in collection.facts}),
                "relations": sorted({fact.relation for fact in collection.facts}),
                "fingerprint": collection.fingerprint(),
            }

    return emit(rows(), options.output)


def pools(options: argparse.Namespace) -> int:
    """Lists the prototypes."""
    from medfact.prototypes import load_pool, pool_names

    rows = (
        {"pool": pool.name, "source": pool.source, "relation": relation.name, "strength": strength, "variant": form}
        | {"prototype": sentences[form]}
        for pool in map(load_pool, pool_names())
        for relation in pool.relations.values()
        for strength, sentences in ((None, relation.sentences), *relation.strengths.items())
        for form in pool.forms
    )
    return emit(rows, options.output)


def facts(options: argparse.Namespace) -> int:
    """Lists facts with their negatives and roles."""
    from medfact.runs.plan import pool_of, select_facts

    spec = spec_of(options, "")
    collection, pool = collection_of(spec), pool_of(spec)
    rejected = rejections(options)
    selection = select_facts(spec, collection, lambda relation: pool.canonical(relation) or relation, rejected)
    say_all((*collection.notes, *selection.notes))
    missing = {fact.relation for fact in collection.facts if fact.text is None and pool.canonical(fact.relation) is None}
    reasons = {relation: pool.why_withheld(relation) or "it has no prototypes for it" for relation in sorted(missing)}
    say_all(f"{relation!r} is not stated by the pool {pool.name!r}: {reason}" for relation, reason in reasons.items())
    explained = _explainer(selection, collection, rejected) if options.explain else lambda _: {}
    rows = (
        fact_row(fact) | {"role": role} | explained(fact)
        for role, chosen in (("test", selection.test), ("shots", selection.shots))
        for fact in chosen
    )
    return emit(rows, options.output)


def _explainer(
    selection: Selection, collection: Collection, rejected: Mapping[str, frozenset[str]]
) -> Callable[[Fact], dict[str, Any]]:
    """A function that says how a negative fact was drawn: from how many candidates, and how many each rule removed."""
    from medfact.negatives import RULES, explain

    positive = {fact.fact_id: fact for fact in (*selection.test, *selection.shots) if fact.positive}
    given = {fact.fact_id for fact in collection.facts if not fact.positive}

    @cache
    def of_draw(positive_id: str) -> dict[str, Any]:
        made = explain(positive[positive_id], collection.known, rejected.get(positive_id, frozenset()))
        removed = "; ".join(f"{number}: {RULES[rule]}" for rule, number in made.removed.items())
        said = f"{made.candidates} tails of the same type, {made.left} of them safe. Left out: {removed or 'none'}."
        return {"candidates": made.candidates, "safe": made.left, "removed": made.removed, "explanation": said}

    def explained(fact: Fact) -> dict[str, Any]:
        if fact.fact_id not in given and fact.negative_of in positive:
            return of_draw(fact.negative_of)
        said = "It comes with the data; it was not drawn." if fact.fact_id in given else None
        return {"candidates": None, "safe": None, "removed": None, "explanation": said}

    return explained


def statements(options: argparse.Namespace) -> int:
    """Makes the statements of the facts under test."""
    from medfact.runs.plan import plan

    spec = spec_of(options, "")
    made = plan(spec, collection_of(spec), rejections(options))
    say_all(made.notes)
    return emit((statement_row(planned.statement) for planned in made.statements if planned.draw == 0), options.output)


def prompts(options: argparse.Namespace) -> int:
    """Makes the prompts."""
    from medfact.models import takes_messages
    from medfact.runs.plan import plan
    from medfact.runs.prompts import prompt_of

    spec = spec_of(options, options.model or "")
    made = plan(spec, collection_of(spec), rejections(options))
    say_all(made.notes)
    chat = bool(options.model) and takes_messages(options.model, spec.placement, spec.service)
    rows = (
        statement_row(item.statement) | {"prompt": _prompt_content(prompt_of(item, made.demonstrations, spec, chat=chat))}
        for item in made.statements
    )
    return emit(rows, options.output)


def _prompt_content(prompt: Any) -> str | list[dict[str, str]]:
    return prompt.content if isinstance(prompt.content, str) else [dict(message) for message in prompt.content]


def rejections(options: argparse.Namespace) -> Mapping[str, frozenset[str]]:
    """The rejected false partners in the database, if there is one; listing facts makes none."""
    from medfact.store import Store, exists

    return Store(options.db).rejections() if exists(options.db) else {}


def collection_of(spec: RunSpec) -> Any:
    """The collection of a spec; its problems are told."""
    from medfact.datasets import load
    from medfact.datasets.collection import summary

    collection = load(spec)
    say_all(f"{collection.name}, {line}" for line in summary(collection.problems))
    return collection
