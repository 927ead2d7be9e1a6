"""Relations of a file for which there are no sentences: the known ones that may be meant, and sentences of one's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from medfact.assets import ENGLISH
from medfact.datasets import Collection
from medfact.datasets.columns import CONSTANT, RENAMED
from medfact.errors import Mistake
from medfact.facts import Fact
from medfact.prototypes import Pool, in_direction, is_about
from medfact.prototypes.nearest import Reading, begun_sentences, likeliest, readings_of
from medfact.reviews.studio import EditedRelation, edited, edits, own_sentences, with_denials
from medfact.reviews.studio_pools import editable
from medfact.runs.pool import pool_of
from medfact.spec import PROTOCOLS, RunSpec
from medfact.statements import VARIANTS
from medfact.web.evaluate.form import OWN_DATA, EvaluateShow, Setup, changed, checked_source, setup_in
from medfact.web.evaluate.spec import edited_of, source_of
from medfact.web.pages import Act, Action, Message, Visitor
from medfact.web.services import Source, collection_of, spec_of

SHOWN_UNKNOWN = 5
SENTENCES = {"plain": "none", "backwards": "inv", "in_patient": "ins", "in_patient_backwards": "inv+ins"}
"""Field of the set-up → the form whose sentence is written in it."""

NO_SENTENCES = "We have no sentences for “{}” yet"
CANNOT_DENY = "it cannot be denied by one word. Say it with is, are, has, can or include."


@dataclass(frozen=True)
class WrittenSentence:
    """A sentence that is being written. affirmed, denied: it, and the denial of it, about the first fact."""

    field: str
    form: str
    text: str
    problem: str
    affirmed: str
    denied: str


@dataclass(frozen=True)
class Unknown:
    """A relation for which there are no sentences. likely, others: the known relations that it may mean, by what they would say
    of its first fact. can_write: whether own sentences can be asked. written: those that are being written.
    """

    name: str
    facts: int
    first: Fact
    why_withheld: str
    likely: Sequence[Reading]
    others: Sequence[Reading]
    can_write: bool
    written: Sequence[WrittenSentence] = field(default=())


def is_told(note: str, unknown: Sequence[Unknown], turned: Sequence[tuple[str, str, str]]) -> bool:
    """Whether a note is about a relation for which the page says what can be done."""
    return any(note == said for _, _, said in turned) or any(note.startswith(NO_SENTENCES.format(one.name)) for one in unknown)


def unknown_relations(visitor: Visitor, setup: Setup, source: Source, collection: Collection) -> list[Unknown]:
    """The relations of true facts for which the chosen sentences have none, the most frequent first."""
    if setup.protocol not in PROTOCOLS:
        return []
    pool = _pool(visitor, setup, source, collection)
    facts_of: dict[str, list[Fact]] = {}
    for fact in collection.facts:
        if fact.positive and fact.fact_id not in pool.ready and pool.canonical(fact.relation) is None:
            facts_of.setdefault(fact.relation, []).append(fact)
    shown = sorted(facts_of, key=lambda name: -len(facts_of[name]))[:SHOWN_UNKNOWN]
    return [_unknown(setup, pool, facts_of[name]) for name in shown]


def _unknown(setup: Setup, pool: Pool, facts: Sequence[Fact]) -> Unknown:
    name, readings = facts[0].relation, readings_of(pool, facts)
    likely = likeliest(readings)
    return Unknown(
        name,
        len(facts),
        facts[0],
        pool.why_withheld(name) or "",
        likely,
        [reading for reading in readings if reading not in likely],
        _can_write(setup),
        _written(setup, facts[0]) if setup.worded == name else (),
    )


def as_stated(visitor: Visitor, setup: Setup, source: Source) -> Collection:
    """The facts of a source, the way round in which the chosen sentences state them."""
    collection = collection_of(source)
    return in_direction(collection, _pool(visitor, setup, source, collection)) if setup.protocol in PROTOCOLS else collection


def _pool(visitor: Visitor, setup: Setup, source: Source, collection: Collection) -> Pool:
    if own := edited_of(visitor.services, visitor.owner, setup):
        return own.pool()
    pool = visitor.services.pool(visitor.owner, setup.pool) or None
    return pool_of(spec_of(source, protocol=setup.protocol, pool=pool, asked_in=setup.language), collection)


def read_turned(collection: Collection) -> list[tuple[str, str, str]]:
    """The relations of a file that are read from their other end: each with what it is read as, and what is said of it."""
    turned = sorted({(fact.turned_from, fact.relation) for fact in collection.facts if fact.turned_from is not None})
    return [(theirs, known, " ".join(one for one in collection.notes if is_about(one, theirs))) for theirs, known in turned]


def renamed_relations(source: Source) -> list[tuple[str, str]]:
    """The relations that the visitor has said to be others, each with that one."""
    columns = source.get("columns")
    pairs = columns if isinstance(columns, list) else []
    return [(ours.removeprefix(RENAMED), name.removeprefix(CONSTANT)) for ours, name in pairs if ours.startswith(RENAMED)]


def use_relation(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Says which known relation one of the file is; "" takes that back."""
    if not (sent := setup_in(visitor, show).source):
        raise Mistake("There is no file of yours in use.", "Choose one first.")
    source = checked_source(visitor.services, visitor.owner, sent)
    ours, known = f"{RENAMED}{action.about}", action.fields.get("known", "")
    said: Mapping[str, str] = dict(source["columns"])  # type: ignore[call-overload]
    columns = [[name, value] for name, value in said.items() if name != ours] + (
        [[ours, f"{CONSTANT}{known}"]] if known else []
    )
    show = show.model_copy(update={"first": 0})
    return changed(visitor, show, source={**source, "columns": columns}, worded=""), Message()


# ------------------------------------------------------------------------------------------------ sentences of one's own


def _can_write(setup: Setup) -> bool:
    """Whether the chosen sentences are those that a visitor can add to: the project's own, in English."""
    is_own = setup.protocol == RunSpec.protocol and setup.pool in ("", RunSpec.protocol) and setup.language == ENGLISH
    return is_own and not setup.drafts and setup.studio.partition(":")[0] in ("", RunSpec.protocol)


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


def _written(setup: Setup, fact: Fact) -> list[WrittenSentence]:
    sentences = _sentences(setup)
    problems, pool = _problems(fact.relation, sentences), editable(RunSpec.protocol)
    denial_of = {VARIANTS[form].form: form for form in sentences if VARIANTS[form].negated}
    return [
        WrittenSentence(
            name,
            form,
            str(getattr(setup, name)),
            problems.get(form, ""),
            pool.filled(sentences[form], fact),
            pool.filled(sentences[denial_of[form]], fact),
        )
        for name, form in SENTENCES.items()
    ]


def write_sentences(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Begins to write sentences for a relation: those that this visitor has saved of it, or else some with its words. Without a
    relation, leaves off.
    """
    setup = setup_in(visitor, show)
    source = source_of(visitor.services, visitor.owner, setup)
    facts = [fact for fact in as_stated(visitor, setup, source).facts if fact.positive and fact.relation == action.about]
    if not facts:
        return changed(visitor, show, worded=""), Message()
    pool = editable(RunSpec.protocol).pool
    saved = edited(pool, visitor.services.store.of(visitor.owner).prototype_edits.log(pool.name)).get(action.about)
    likely = likeliest(readings_of(pool, facts))
    begun = begun_sentences(action.about, likely[0].about if likely else "")
    texts = [_unnumbered(saved.sentences.get(form, "")) for form in SENTENCES.values()] if saved else begun
    return changed(visitor, show, worded=action.about, **dict(zip(SENTENCES, texts, strict=True))), Message()


def _unnumbered(text: str) -> str:
    return text.replace("{is|are}", "is").replace("{has|have}", "has")


def use_sentences(visitor: Visitor, show: EvaluateShow, action: Action) -> tuple[EvaluateShow, Message]:
    """Saves what is written of a relation, with its denials, and asks this file's facts with it."""
    setup = setup_in(visitor, show).changed(**{name: action.fields.get(name, "")[:1_000] for name in SENTENCES})
    sentences = _sentences(setup)
    show = changed(visitor, show, **{name: getattr(setup, name) for name in SENTENCES})
    if problems := _problems(action.about, sentences):
        form, why = next(iter(problems.items()))
        return show, Message(f"The sentence “{sentences[form]}” cannot be used: {why}", "warn")
    pool = editable(RunSpec.protocol).pool
    store = visitor.services.store.of(visitor.owner)
    saved = edited(pool, store.prototype_edits.log(pool.name)).get(action.about)
    made = edits(pool, action.about, saved.sentences if saved else own_sentences(pool, action.about), sentences)
    if made:
        visitor.services.log_of(visitor.owner, made).prototype_edits.record(made)
    show = changed(visitor, show, worded="").model_copy(update={"studio": f"{pool.name}:{OWN_DATA}", "first": 0})
    return show, Message(f"“{action.about}” is asked in your sentences.", "good")


ACTIONS: dict[str, Act] = {"use_relation": use_relation, "write_sentences": write_sentences, "use_sentences": use_sentences}
