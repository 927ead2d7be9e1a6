"""The first step of the set-up: which facts are asked. The bundled sets, the visitor's own file, its problems, and its facts in
their sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote, urlencode

from markupsafe import Markup

from medfact.assets import ENGLISH
from medfact.caching import shared_cache
from medfact.datasets import Collection, Selection, bundled_names
from medfact.datasets.bundled import about, true_facts
from medfact.datasets.collection import summary
from medfact.datasets.columns import CONSTANT, RENAMED
from medfact.datasets.sources import has_source
from medfact.errors import MedfactError, Mistake
from medfact.facts import Fact
from medfact.models import BUNDLED_MODEL
from medfact.negatives import CLOSEST, RULES, closest_negative, count_exclusions
from medfact.prototypes import Pool, is_inversion_note, orient_facts
from medfact.prototypes.grammar import scope_prefix
from medfact.prototypes.nearest import best_candidates, generic_sentences, suggest_relations
from medfact.results.wording import describe_unchecked_facts, with_plain_columns
from medfact.reviews.studio import EditedRelation, editable, edited, edits, with_denials
from medfact.runs.plan import select_facts
from medfact.runs.pool import pool_of
from medfact.spec import PROTOCOLS, RunSpec
from medfact.statements import VARIANTS
from medfact.store import Plan
from medfact.table_formats import FORMATS
from medfact.views.fragments import render
from medfact.web.evaluate.form import OWN_DATA, EvaluateShow, Setup, changed, checked_source, columns_in, setup_in
from medfact.web.evaluate.spec import EditedPool, edited_of, planned_runs, source_of
from medfact.web.pages import Act, Action, Message, Visitor
from medfact.web.pages.cards import Card, card_of_statements
from medfact.web.services import Source, collection_of, collection_of_spec, spec_of

MANY_FACTS = 20_000
"""Above so many facts, false partners are drawn when they are asked, not counted on the page."""
SHOWN_PROBLEMS = 12
SHOWN_WITHOUT_PARTNER = 5
SHOWN_UNKNOWN = 5
CANNOT_DENY = "it cannot be denied by one word. Say it with is, are, has, can or include."
SENTENCES = {"plain": "none", "backwards": "inv", "in_patient": "ins", "in_patient_backwards": "inv+ins"}
"""Field of the set-up → the form whose sentence is written in it."""

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
        pending="" if setup.mapping else setup.pending,
        accept=",".join(FORMATS),
        example=quote(EXAMPLE),
    )


def facts_in_use(visitor: Visitor, show: EvaluateShow, setup: Setup) -> Markup:
    """What the facts are, what is wrong with them, and one of them in its sentences."""
    if setup.sets or setup.mapping or setup.pending:
        return Markup()
    try:
        source = source_of(visitor.services, visitor.owner, setup)
        collection, pool = _stated(visitor, setup, source)
    except MedfactError as error:
        return render("message", message=Message(with_plain_columns(error.public), "warn"))
    positive = sum(fact.positive for fact in collection.facts)
    problems, turned = summary(collection.problems), _read_turned(collection)
    unknown = _unknown_relations(setup, pool, collection) if pool else []
    unsaid = tuple(f"We have no sentences for “{relation['name']}” yet" for relation in unknown)
    told = {said for _, _, said in turned}
    renamed = {ours.removeprefix(RENAMED): known for ours, known in columns_in(source).items() if ours.startswith(RENAMED)}
    counted_here = 0 < positive <= MANY_FACTS and setup.protocol in PROTOCOLS
    counts, notes, alone = _counts_of(visitor, setup, source, positive) if counted_here else ((), (), ())
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
        notes=[
            with_plain_columns(note)
            for note in (*collection.notes, *notes)
            if not (says_columns(note) or note in told or note.startswith(unsaid))
        ],
        alone=alone,
        problems=list(map(with_plain_columns, problems[:SHOWN_PROBLEMS])),
        more_problems=max(0, len(problems) - SHOWN_PROBLEMS),
        rows_with_problems=len(collection.problems),
        unknown=unknown if "facts" in source else [],
        renamed=renamed,
        turned=turned,
    ) + _preview(visitor, show, setup)


def _counts_of(
    visitor: Visitor, setup: Setup, source: Source, positive: int
) -> tuple[Sequence[RelationCounts], Sequence[str], Sequence[str]]:
    chosen = {"protocol": setup.protocol, "sourced": setup.sourced, "asked_in": setup.language}
    spec = spec_of(source, shots=setup.demonstrations, limit=positive, **chosen)
    return relation_counts(spec, edited_of(visitor.services, visitor.owner, setup))


def _confirmed(visitor: Visitor, collection: Collection) -> int:
    """How many true facts reviewers hold true."""
    held = visitor.services.held(visitor.reviewers)
    return sum(fact.positive and held.get(fact.fact_id, False) for fact in collection.facts) if held else 0


def says_columns(note: str) -> bool:
    """Whether a note tells the command line what was guessed, which the page shows."""
    return note.endswith("; say otherwise with --column.")


# ------------------------------------------------------------------------------------------------ relations of a table


def _stated(visitor: Visitor, setup: Setup, source: Source) -> tuple[Collection, Pool | None]:
    """The facts of a source, the way round in which the chosen sentences state them, and these; None without a method."""
    collection = collection_of(source)
    if setup.protocol not in PROTOCOLS:
        return collection, None
    if own := edited_of(visitor.services, visitor.owner, setup):
        pool = own.pool()
    else:
        name = visitor.services.pool(visitor.owner, setup.pool) or None
        pool = pool_of(spec_of(source, protocol=setup.protocol, pool=name, asked_in=setup.language), collection)
    return orient_facts(collection, pool), pool


def _unknown_relations(setup: Setup, pool: Pool, collection: Collection) -> list[dict[str, object]]:
    """The relations of true facts for which the chosen sentences have none, the most frequent first."""
    facts_of: dict[str, list[Fact]] = {}
    for fact in collection.facts:
        if fact.positive and fact.fact_id not in pool.ready and pool.canonical(fact.relation) is None:
            facts_of.setdefault(fact.relation, []).append(fact)
    shown = sorted(facts_of.values(), key=lambda facts: -len(facts))[:SHOWN_UNKNOWN]
    return [_unknown(setup, pool, facts) for facts in shown]


def _unknown(setup: Setup, pool: Pool, facts: Sequence[Fact]) -> dict[str, object]:
    """Some facts' relation, for which there are no sentences: the known ones that it may mean, by what they would say of its
    first fact, and the sentences that are being written. A visitor can add to the project's own in English.
    """
    name, readings = facts[0].relation, suggest_relations(pool, facts)
    likely = best_candidates(readings)
    is_own = setup.protocol == RunSpec.protocol and setup.pool in ("", RunSpec.protocol) and setup.language == ENGLISH
    return {
        "name": name,
        "facts": len(facts),
        "first": facts[0],
        "why_withheld": pool.withheld_reason(name) or "",
        "likely": likely,
        "others": [reading for reading in readings if reading not in likely],
        "can_write": is_own and not setup.drafts and setup.studio.partition(":")[0] in ("", RunSpec.protocol),
        "written": _written(setup, facts[0]) if setup.worded == name else (),
    }


def _read_turned(collection: Collection) -> list[tuple[str, str, str]]:
    """The relations of a file that are read from their other end: each with what it is read as, and what is said of it."""
    turned = sorted({(fact.turned_from, fact.relation) for fact in collection.facts if fact.turned_from is not None})
    return [
        (theirs, known, " ".join(note for note in collection.notes if is_inversion_note(note, theirs)))
        for theirs, known in turned
    ]


def use_relation(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Says which known relation one of the file is; "" takes that back."""
    if not (sent := setup_in(visitor, show).source):
        raise Mistake("There is no file of yours in use.", "Choose one first.")
    source = checked_source(visitor.services, visitor.owner, sent)
    ours, known = f"{RENAMED}{action.about}", action.fields.get("known", "")
    columns = [[name, value] for name, value in columns_in(source).items() if name != ours]
    if known:
        columns.append([ours, f"{CONSTANT}{known}"])
    show = show.model_copy(update={"first": 0})
    return changed(visitor, show, source={**source, "columns": columns}, worded=""), Message()


# ------------------------------------------------------------------------------------------------ sentences of one's own


def _sentences(setup: Setup) -> dict[str, str]:
    """What is written, by form, with the denials that follow."""
    typed = {form: " ".join(str(getattr(setup, name)).split()) for name, form in SENTENCES.items()}
    return with_denials(editable(RunSpec.protocol).pool, typed)


def _problems(relation: str, sentences: Mapping[str, str]) -> dict[str, str]:
    """Form that affirms → why its sentence, or the denial of it, cannot be used."""
    found = editable(RunSpec.protocol).problems(EditedRelation(relation, {}, sentences))
    denials = {
        VARIANTS[form].form: why if sentences[form] else CANNOT_DENY for form, why in found.items() if VARIANTS[form].negated
    }
    return {**denials, **{form: why for form, why in found.items() if not VARIANTS[form].negated}}


def _written(setup: Setup, fact: Fact) -> list[tuple[str, str, str, str, str]]:
    sentences = _sentences(setup)
    problems, pool = _problems(fact.relation, sentences), editable(RunSpec.protocol)
    denied = {VARIANTS[form].form: pool.filled(text, fact) for form, text in sentences.items() if VARIANTS[form].negated}
    return [
        (name, str(getattr(setup, name)), problems.get(form, ""), pool.filled(sentences[form], fact), denied[form])
        for name, form in SENTENCES.items()
    ]


def write_sentences(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Begins to write sentences for a relation: those that this visitor has saved of it, or else some with its words. Without a
    relation, leaves off.
    """
    setup = setup_in(visitor, show)
    collection, _ = _stated(visitor, setup, source_of(visitor.services, visitor.owner, setup))
    facts = [fact for fact in collection.facts if fact.positive and fact.relation == action.about]
    if not facts:
        return changed(visitor, show, worded=""), Message()
    pool = editable(RunSpec.protocol).pool
    saved = edited(pool, visitor.services.store.of(visitor.owner).prototype_edits.log(pool.name)).get(action.about)
    likely = best_candidates(suggest_relations(pool, facts))
    begun = generic_sentences(action.about, likely[0].head_kind if likely else "")
    texts = [saved.sentences.get(form, "") for form in SENTENCES.values()] if saved else begun
    texts = [text.replace("{is|are}", "is").replace("{has|have}", "has") for text in texts]
    return changed(visitor, show, worded=action.about, **dict(zip(SENTENCES, texts, strict=True))), Message()


def use_sentences(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Saves what is written of a relation, with its denials, and asks this file's facts with it."""
    setup = setup_in(visitor, show).changed(**{name: action.fields.get(name, "")[:1_000] for name in SENTENCES})
    sentences = _sentences(setup)
    show = changed(visitor, show, **{name: getattr(setup, name) for name in SENTENCES})
    if problems := _problems(action.about, sentences):
        form, why = next(iter(problems.items()))
        return show, Message(f"The sentence “{sentences[form]}” cannot be used: {why}", "warn")
    pool = editable(RunSpec.protocol).pool
    made = edits(pool, action.about, {}, sentences)
    visitor.services.log_of(visitor.owner, made).prototype_edits.record(made)
    show = changed(visitor, show, worded="").model_copy(update={"studio": f"{pool.name}:{OWN_DATA}", "first": 0})
    return show, Message(f"“{action.about}” is asked in your sentences.", "good")


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
            card, unchecked = _card_of(plan, facts[place]), describe_unchecked_facts(plan.facts)
            shown = render("facts_preview", card=card, place=place, of=len(facts), unchecked=unchecked)
            return shown + _difficulty(visitor, setup, facts[place], plan)
    return Markup()


def _difficulty(visitor: Visitor, setup: Setup, fact: Fact, plan: Plan) -> Markup:
    """The choice between usual and hard false partners, with an example of each; nothing where none is drawn."""
    usual = _partner(any_plan(visitor, setup.changed(difficulty="")), fact)
    if usual is None or usual.difficulty is None:
        return Markup()
    hard = _partner(plan, fact)
    if setup.difficulty != CLOSEST:
        hard = closest_negative(fact, collection_of(source_of(visitor.services, visitor.owner, setup)).known)
        hard = hard and replace(hard, presumed=bool(setup.source) or None)
    return render(
        "difficulty_choice",
        fact=fact,
        usual=usual,
        hard=hard,
        chosen=setup.difficulty,
        of_method=PROTOCOLS[setup.protocol].negative_difficulty,
    )


def _partner(plan: Plan, fact: Fact) -> Fact | None:
    """The first false partner of a fact in a plan."""
    return next((other for other in plan.facts if other.negative_of == fact.fact_id), None)


def _card_of(plan: Plan, fact: Fact) -> Card:
    """A fact with its false partners and their statements, as a plan asks them first."""
    partners = [one for one in plan.facts if one.negative_of == fact.fact_id]
    ids = {fact.fact_id, *(partner.fact_id for partner in partners)}
    asked = [one.statement for one in plan.statements if one.draw == 0 and one.statement.fact.fact_id in ids]
    return card_of_statements(fact, partners, [(statement, "") for statement in asked])


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


@shared_cache(1_000)
def relation_counts(
    spec: RunSpec, edited: EditedPool | None = None
) -> tuple[tuple[RelationCounts, ...], tuple[str, ...], tuple[str, ...]]:
    """Of the facts that a spec may test: the counts by relation, what is to be said of the selection, and which have no false
    partner. edited: what a visitor has made of the pool.
    """
    read = collection_of_spec(spec)
    pool = edited.pool() if edited else pool_of(spec, read)
    collection = orient_facts(read, pool)
    selection = select_facts(spec, collection, pool=pool)
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
        found = count_exclusions(fact, collection.known)
        reasons = "; ".join(f"{number} {with_plain_columns(RULES[rule])}" for rule, number in found.excluded.items())
        said = f"{scope_prefix(fact)}{fact.head} — {fact.relation} → {fact.tail}"
        yield f"{said}: of {found.candidates} other findings, {reasons or 'none is left'}."


ACTIONS: dict[str, Act] = {"use_relation": use_relation, "write_sentences": write_sentences, "use_sentences": use_sentences}
