"""The first step of the set-up: which facts are asked. The bundled sets, the visitor's own file, its problems, and its facts in
their sentences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

from markupsafe import Markup

from medfact.datasets import Collection, Selection, bundled_names
from medfact.datasets.bundled import about, true_facts
from medfact.datasets.collection import summary
from medfact.datasets.columns import CONSTANT, RENAMED
from medfact.datasets.sources import has_source
from medfact.errors import MedfactError
from medfact.facts import Fact
from medfact.kept import keep
from medfact.models import BUNDLED_MODEL
from medfact.negatives import RULES, explain
from medfact.prototypes import Pool, fill, in_direction, is_about
from medfact.prototypes.bounds import bounds_before
from medfact.results.wording import checked_by_nobody, in_plain_words
from medfact.runs.plan import select_facts
from medfact.runs.pool import pool_of
from medfact.spec import PROTOCOLS, RunSpec
from medfact.store import Plan
from medfact.table_formats import FORMATS
from medfact.views.fragments import render
from medfact.web.evaluate.form import EvaluateShow, Setup
from medfact.web.evaluate.plan import planned_runs
from medfact.web.evaluate.spec import edited_of, source_of
from medfact.web.pages import Message, Visitor
from medfact.web.pages.cards import Card, card_of_statements
from medfact.web.services import Source, collection_of, collection_of_spec, spec_of

MANY_FACTS = 20_000
"""Above so many facts, false partners are drawn when they are asked, not counted on the page."""
SHOWN_PROBLEMS = 12
SHOWN_WITHOUT_PARTNER = 5
SHOWN_UNKNOWN = 5
ONE_RELATION = "(one relation for all rows)"

EXAMPLE = """condition,relation,finding
gout,symptoms,podagra
asthma,symptoms,wheezing
iron deficiency anemia,symptoms,fatigue
migraine,symptoms,photophobia
pneumonia,symptoms,cough
cystitis,symptoms,dysuria
"""
"""A file to begin with."""


def choice(visitor: Visitor, setup: Setup) -> Markup:
    """The bundled sets as tiles, and the ways to bring facts of one's own."""
    own = setup.mapping.path if setup.mapping else str(setup.source["facts"]) if setup.source else ""
    return render(
        "facts_choice",
        sets=[(name, true_facts(name), about(name)) for name in bundled_names()],
        chosen="" if own or setup.pending else setup.dataset,
        own=Path(own).name,
        pending=setup.pending,
        accept=",".join(FORMATS),
        example=quote(EXAMPLE),
    )


def mapping(setup: Setup) -> Markup:
    """The question which columns of an uploaded file are which, where that is not clear."""
    if (waiting := setup.mapping) is None:
        return Markup()
    return render("facts_mapping", columns=waiting.columns, name=Path(waiting.path).name, one_relation=ONE_RELATION)


def facts_in_use(visitor: Visitor, show: EvaluateShow, setup: Setup) -> Markup:
    """What the facts are, what is wrong with them, and one of them in its sentences."""
    if setup.sets or setup.mapping or setup.pending:
        return Markup()
    try:
        source = source_of(visitor.services, visitor.owner, setup)
        collection = _as_stated(visitor, setup, source)
        unknown = _unknown(visitor, setup, source, collection)
    except MedfactError as error:
        return render("message", message=Message(in_plain_words(error.public), "warn"))
    positive = sum(fact.positive for fact in collection.facts)
    problems, turned = summary(collection.problems), _read_turned(collection)
    counted_here = 0 < positive <= MANY_FACTS and setup.protocol in PROTOCOLS
    counts, notes, alone = _counts_of(setup, source, positive) if counted_here else ((), (), ())
    return render(
        "facts_in_use",
        drafts=setup.drafts,
        studio=urlencode(dict(zip(("pool", "data"), setup.studio.split(":", 1), strict=False))) if setup.studio else "",
        own="facts" in source,
        name=collection.name,
        facts=positive,
        tested=sum(row.tested + row.aside for row in counts) if counted_here else None,
        reviewed=setup.reviewed,
        confirmed=_confirmed(visitor, collection),
        sourced=setup.sourced,
        stated=sum(fact.positive and has_source(fact) for fact in collection.facts) if positive <= MANY_FACTS else 0,
        relations=counts,
        one_tail=counted_here and PROTOCOLS[setup.protocol].one_tail,
        notes=[in_plain_words(note) for note in (*collection.notes, *notes) if not _is_told(note, unknown, turned)],
        alone=alone,
        problems=list(map(in_plain_words, problems[:SHOWN_PROBLEMS])),
        more_problems=max(0, len(problems) - SHOWN_PROBLEMS),
        rows_with_problems=len(collection.problems),
        unknown=unknown if "facts" in source else [],
        renamed=_renamed(source),
        turned=turned,
    ) + _preview(visitor, show, setup)


def _counts_of(setup: Setup, source: Source, positive: int) -> tuple[Sequence[RelationCounts], Sequence[str], Sequence[str]]:
    chosen = {"protocol": setup.protocol, "sourced": setup.sourced, "asked_in": setup.language}
    return relation_counts(spec_of(source, shots=setup.demonstrations, limit=positive, **chosen))


def _confirmed(visitor: Visitor, collection: Collection) -> int:
    """How many true facts reviewers hold true."""
    held = visitor.services.held(visitor.reviewers)
    return sum(fact.positive and held.get(fact.fact_id, False) for fact in collection.facts) if held else 0


# ------------------------------------------------------------------------------------------------ in their sentences


def any_plan(visitor: Visitor, setup: Setup) -> Plan:
    """What is asked, whoever is asked. Raises MedfactError."""
    alone = setup.changed(models=[BUNDLED_MODEL], rows=[])
    return planned_runs(visitor.services, visitor.owner, alone, visitor.reviewers)[0].plan


def facts_asked(visitor: Visitor, setup: Setup) -> tuple[Fact, ...]:
    """What is asked, true facts and false ones; nothing where it cannot be."""
    with suppress(MedfactError):
        return any_plan(visitor, setup).facts
    return ()


def _preview(visitor: Visitor, show: EvaluateShow, setup: Setup) -> Markup:
    """One of the facts that are asked, and its false partner, in all their sentences."""
    with suppress(MedfactError):  # said beside the button
        plan = any_plan(visitor, setup)
        facts = [fact for fact in plan.facts if fact.positive]
        if facts:
            place = show.first % len(facts)
            return render(
                "facts_preview",
                card=_card_of(plan, facts[place]),
                place=place,
                of=len(facts),
                unchecked=checked_by_nobody(plan.facts),
            )
    return Markup()


def _card_of(plan: Plan, fact: Fact) -> Card:
    """A fact with its false partners and their statements, as a plan asks them first."""
    partners = [one for one in plan.facts if one.negative_of == fact.fact_id]
    ids = {fact.fact_id, *(partner.fact_id for partner in partners)}
    asked = [one.statement for one in plan.statements if one.draw == 0 and one.statement.fact.fact_id in ids]
    return card_of_statements(fact, partners, [(statement, "") for statement in asked])


# ------------------------------------------------------------------------------------------------ unknown relations


@dataclass(frozen=True)
class Unknown:
    """A relation that no sentence states. known: (name, what that says of the first fact) of those that some do."""

    name: str
    facts: int
    known: Sequence[tuple[str, str]]


def _is_told(note: str, unknown: Sequence[Unknown], turned: Sequence[tuple[str, str, str]]) -> bool:
    """Whether a note is about a relation for which the page says what can be done."""
    return any(note == said for _, _, said in turned) or any(
        note.startswith(f"The pool has no prototypes for {one.name!r}:") for one in unknown
    )


def _unknown(visitor: Visitor, setup: Setup, source: Source, collection: Collection) -> list[Unknown]:
    """The relations of true facts that the chosen sentences do not know, the most frequent first."""
    if setup.protocol not in PROTOCOLS:
        return []
    pool = _pool(visitor, setup, source, collection)
    stated = {fact.relation for fact in collection.facts if pool.states(fact)}
    missing = [fact for fact in collection.facts if fact.positive and fact.relation not in stated]
    counts = Counter(fact.relation for fact in missing)
    first = {fact.relation: fact for fact in reversed(missing)}
    return [Unknown(name, count, _known(pool, first[name])) for name, count in counts.most_common(SHOWN_UNKNOWN)]


def _as_stated(visitor: Visitor, setup: Setup, source: Source) -> Collection:
    """The facts of a source, the way round in which the chosen sentences state them."""
    collection = collection_of(source)
    return in_direction(collection, _pool(visitor, setup, source, collection)) if setup.protocol in PROTOCOLS else collection


def _pool(visitor: Visitor, setup: Setup, source: Source, collection: Collection) -> Pool:
    if own := edited_of(visitor.services, visitor.owner, setup):
        return own.pool()
    pool = visitor.services.pool(visitor.owner, setup.pool) or None
    return pool_of(spec_of(source, protocol=setup.protocol, pool=pool, asked_in=setup.language), collection.ready)


def _known(pool: Pool, fact: Fact) -> list[tuple[str, str]]:
    """Each relation of a pool, and what it would say of a fact; after it, under the first name that says it from its other end,
    what it would say of it then.
    """
    head, tail = f"“{fact.head}”", f"“{fact.tail}”"
    said = [
        told
        for one in pool.relations.values()
        for told in (
            (one.name, fill(one.description, head, tail)),
            *((n, fill(one.description, tail, head)) for n in one.inverse[:1]),
        )
    ]
    return [(name, re.sub(r"\s+", " ", text)) for name, text in said]


def _read_turned(collection: Collection) -> list[tuple[str, str, str]]:
    """The relations of a file that are read from their other end: each with what it is read as, and what is said of it."""
    turned = sorted({(fact.turned_from, fact.relation) for fact in collection.facts if fact.turned_from is not None})
    return [(theirs, known, " ".join(one for one in collection.notes if is_about(one, theirs))) for theirs, known in turned]


def _renamed(source: Source) -> list[tuple[str, str]]:
    """The relations that the visitor has said to be others, each with that one."""
    columns = source.get("columns")
    pairs = columns if isinstance(columns, list) else []
    return [(ours.removeprefix(RENAMED), name.removeprefix(CONSTANT)) for ours, name in pairs if ours.startswith(RENAMED)]


# ------------------------------------------------------------------------------------------------ by relation


@dataclass(frozen=True)
class RelationCounts:
    """True facts of a relation: `tested`, kept `aside` for demonstrations and left `out` add up to `facts`."""

    name: str
    types: str
    facts: int
    tested: int
    aside: int
    out: int


@keep(1_000)
def relation_counts(spec: RunSpec) -> tuple[tuple[RelationCounts, ...], tuple[str, ...], tuple[str, ...]]:
    """Of the facts that a spec may test: the counts by relation, what is to be said of the selection, and which have no false
    partner.
    """
    collection = in_direction(collection_of_spec(spec), pool_of(spec))
    selection = select_facts(spec, collection)
    positive = Counter(fact.relation for fact in collection.facts if fact.positive)
    types: dict[str, Counter[str]] = {relation: Counter() for relation in positive}
    for fact in collection.facts:
        if fact.positive and fact.tail_type:
            types[fact.relation][fact.tail_type] += 1
    tested, aside = (Counter(f.relation for f in facts if f.positive) for facts in (selection.test, selection.shots))
    rows = [
        RelationCounts(name, _commonest(types[name]), count, tested[name], aside[name], count - tested[name] - aside[name])
        for name, count in positive.most_common()
    ]
    return tuple(rows), selection.notes, tuple(_without_partner(selection, collection))


def _commonest(types: Counter[str]) -> str:
    """The semantic types of a relation's tails, the most frequent first."""
    more = f" and {len(types) - 2} more" if len(types) > 2 else ""
    return ", ".join(name for name, _ in types.most_common(2)) + more or "not given"


def _without_partner(selection: Selection, collection: Collection) -> Iterator[str]:
    """A few of the facts that got no false partner, and why."""
    for fact in selection.without_negative[:SHOWN_WITHOUT_PARTNER]:
        found = explain(fact, collection.known)
        reasons = "; ".join(f"{number} {in_plain_words(RULES[rule])}" for rule, number in found.removed.items())
        said = f"{bounds_before(fact)}{fact.head} — {fact.relation} → {fact.tail}"
        yield f"{said}: of {found.candidates} other findings, {reasons or 'none is left'}."
