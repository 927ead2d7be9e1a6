"""What a run will ask: its facts, its statements in order, and the demonstrations before each group of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import islice
from pathlib import Path

from medfact.answers import FORMATS
from medfact.answers.prompts import WITH_DOCUMENTS
from medfact.assets import ENGLISH, language_names
from medfact.datasets import NOTHING_DECIDED, Collection, Held, PartnerDecisions, Selection, load, load_bundled, select
from medfact.datasets.sources import has_source
from medfact.errors import MedfactError, Mistake, NoPrototypes, UnknownName
from medfact.facts import Fact, name_key
from medfact.languages import PoolInLanguage, language_of
from medfact.models import Aside, provider_of
from medfact.models.pressure import calls_of
from medfact.prototypes import ORIGIN, PLAIN, READY, Pool, RelationPrototypes, check_relations, orient_facts, pool_names
from medfact.prototypes.nearest import relation_hint
from medfact.retrieval.index import RETRIEVERS
from medfact.runs.demonstrations import Groups, draw_groups, group_of, read_groups, shot_notes, without_reverses
from medfact.runs.pool import mixed_note, pool_of, protocol_of
from medfact.spec import NO_RETRIEVAL, RunSpec, check_choices, check_needs, check_numbers, shot_count
from medfact.statements import Statement
from medfact.store import Asked, Plan, Run

LENDER = "clinical-core"
"""The bundled data set that lends shots to relations with too few heads."""

MOST_NOTES = 4
"""Notes in the sentence that says why nothing is asked."""

NOTHING_HELD: Held = {}
"""Where nobody has reviewed anything."""


def question_of(spec: RunSpec) -> str:
    """The name of a spec's question format: its own, or else its protocol's; with retrieval, MKJ's with documents."""
    name = spec.question or (protocol_of(spec).question if spec.retrieval == NO_RETRIEVAL else WITH_DOCUMENTS)
    if name not in FORMATS:
        raise UnknownName("question format", name, FORMATS)
    return name


def select_facts(
    spec: RunSpec,
    collection: Collection | None = None,
    canonical: Callable[[str], str | None] | None = None,
    decided: PartnerDecisions = NOTHING_DECIDED,
    held: Held = NOTHING_HELD,
    pool: Pool | None = None,
) -> Selection:
    """The facts under test and those kept aside, where any are needed. decided: what a person said of false partners.

    held: what reviewers hold of facts; a spec of reviewed facts tests those that they confirm. pool: the spec's, where that is
    no file yet. Facts are the way round in which the pool states them. Only relations that `canonical` has a name for are used;
    by default, those that the pool has prototypes for.
    """
    _check(spec)
    collection = collection or load(spec)
    pool, protocol = pool or pool_of(spec, collection), protocol_of(spec)
    negatives = protocol.negatives if spec.negatives is None else spec.negatives
    # without a limit some are always kept untested: runs with and without shots test the same facts
    keeps = _draws_shots(spec) or provider_of(spec.model).reads_aside or (spec.limit or spec.per_relation) is None
    made = select(
        orient_facts(collection, pool),
        negatives=negatives,
        held_out_heads=protocol.held_out_heads if keeps else 0,
        heads_last=0 if keeps else protocol.held_out_heads,
        seed=spec.seed,
        difficulty=negative_difficulty_of(spec),
        limit=spec.limit,
        per_relation=spec.per_relation,
        canonical=canonical or pool.canonical,
        one_tail=protocol.one_tail,
        decided=decided,
        held=held if spec.reviewed else None,
        sourced=spec.sourced,
        lender=_lender(pool, collection),
    )
    made = _stated_by(pool, made, mixed_note(spec, collection))
    return replace(made, notes=(*made.notes, *made.shot_notes)) if _draws_shots(spec) else made


def _lender(pool: Pool, collection: Collection) -> Collection:
    """The facts that may be lent as shots: none about a condition that a table names in its own language."""
    lender = load_bundled(LENDER)
    if not isinstance(pool, PoolInLanguage) or pool.as_written is None:
        return lender
    heads = {pool.names[name_key(fact.head)].text for fact in collection.facts}
    lent = (fact for fact in lender.facts if (name := pool.names.get(name_key(fact.head))) and name.text not in heads)
    return replace(lender, facts=tuple(lent))


def _stated_by(pool: Pool, selection: Selection, note: str) -> Selection:
    """The selection without pairs that the pool has no words for, and a note on them: every language draws the same facts."""
    return replace(
        selection,
        test=pool.statable_facts(selection.test),
        shots=pool.statable_facts(selection.shots),
        notes=(*selection.notes, *filter(None, [note, pool.unstated_note(selection.test)])),
    )


def _draws_shots(spec: RunSpec) -> bool:
    return shot_count(spec) > 0 and not spec.demonstrations


def facts_aside(spec: RunSpec) -> Aside:
    """The facts that a spec keeps aside, with their negatives, and everything known. Reads the facts again."""
    collection = load(spec)
    return Aside(select_facts(spec, collection).shots, collection.known)


def plan(
    spec: RunSpec,
    collection: Collection | None = None,
    decided: PartnerDecisions = NOTHING_DECIDED,
    held: Held = NOTHING_HELD,
    most: float = math.inf,
    own_pool: Pool | None = None,
) -> Plan:
    """What a run of this spec asks (at most so many, with pushes): statements in order, demonstrations before each group.

    A group is a relation (by its name in the pool), a variant and a draw; all its statements share one prefix. All statements
    are asked with the first draw before the second. own_pool: the spec's, where that is no file yet. Raises MedfactError.
    """
    _check(spec)
    read = collection or load(spec)
    pool = replace(own_pool, ready=read.ready) if own_pool else pool_of(spec, read)
    collection = orient_facts(read, pool)
    check_relations(pool, (fact.relation for fact in (*read.facts, *collection.facts)))
    selection = select_facts(spec, collection, None, decided, held, pool)
    statements = list(islice(pool.statements(selection.test), None if math.isinf(most) else int(most // spec.shot_draws) + 1))
    if calls_of(spec.pressure, len(statements) * spec.shot_draws) > most:  # one statement too many is enough to see that
        raise too_many_statements(most)
    if not statements:
        raise _no_statement(spec, collection, pool, selection)
    asked = _asked_in_draws(spec, pool, statements)
    demonstrations = _demonstrations(spec, pool, asked, selection.shots, collection)
    used = _used(pool, statements)
    return Plan(
        dataset=collection.name,
        dataset_fingerprint=collection.fingerprint(),
        pool=_pool_name(pool, statements),
        shots=max(map(len, demonstrations.values()), default=0),
        statements=asked,
        demonstrations=demonstrations,
        notes=(
            *collection.notes,
            *_restrictions(spec),
            *_pool_notes(pool, used, collection),
            *selection.notes,
            *(() if spec.demonstrations else shot_notes(demonstrations, shot_count(spec))),
        ),
        pool_text={key: sentences for relation in used for key, sentences in _sentences(relation)},
        population=selection.population,
        aside=() if spec.demonstrations else tuple(selection.shots),
    )


def _asked_in_draws(spec: RunSpec, pool: Pool, statements: Sequence[Statement]) -> tuple[Asked, ...]:
    """Every statement once in each draw of demonstrations, with its group."""
    group = cache(partial(group_of, pool))  # few, of many statements
    return tuple(Asked(s, group(s.fact.relation, s.variant, draw), draw) for draw in range(spec.shot_draws) for s in statements)


def _restrictions(spec: RunSpec) -> Iterator[str]:
    """Which facts alone are tested."""
    if spec.reviewed:
        yield "The run tests only facts that reviewers have confirmed, with their false partners."
    if spec.sourced:
        yield "The run tests only facts that an outside source confirms, with their false partners."


def too_many_statements(most: float) -> Mistake:
    """What to say of a run that would ask more statements than it may."""
    return Mistake(
        f"A run asks at most {most:,.0f} statements on this server.",
        "Choose fewer pairs, or a file with fewer false partners; or run medfact on a machine of your own.",
    )


def _no_statement(spec: RunSpec, collection: Collection, pool: Pool, selection: Selection) -> Mistake:
    """Why a spec asks nothing."""
    if spec.reviewed:
        return Mistake(
            f"Reviewers have confirmed no fact of {collection.name} together with its false partners.",
            "Review some first: on the page Review, or with `reviews --import`.",
        )
    if spec.sourced and not any(map(has_source, collection.facts)):
        return Mistake(
            f"No fact of {collection.name} names its source.", "Name them in a column `source`, or leave --sourced out."
        )
    if spec.asked_in != ENGLISH:
        return Mistake(
            " ".join([f"No fact of {collection.name} can be asked in {language_names()[spec.asked_in]}.", *selection.notes]),
            f"Choose {language_names()[language_of(collection)]}, or facts that have them, such as clinical-core.",
        )
    facts = [fact for fact in collection.facts if fact.positive and fact.fact_id not in pool.ready]
    none = "No fact" if len(facts) < 2 else f"None of the {len(facts):,} facts"
    problem = " ".join([f"{none} of {collection.name} can be asked yet.", *selection.notes[:MOST_NOTES]])
    if unknown := [fact for fact in facts if pool.canonical(fact.relation) is None]:
        return NoPrototypes(problem, relation_hint(pool, [fact for fact in unknown if fact.relation == unknown[0].relation]))
    hint = "Add facts about other conditions with the same relation, or ask for no false partners (--negatives 0)."
    return Mistake(problem, hint)


def negative_difficulty_of(spec: RunSpec) -> str:
    """Which negatives a spec asks for first: a name of `negatives.PREFERENCES`."""
    return spec.negative_difficulty or protocol_of(spec).negative_difficulty


def _check(spec: RunSpec) -> None:
    """Raises an error unless all names and numbers of a spec are usable."""
    check_numbers(spec)
    check_choices(spec)
    question_of(spec)
    check_needs(spec)
    if spec.retrieval != NO_RETRIEVAL and spec.question not in (None, WITH_DOCUMENTS):
        raise Mistake(f"The question {spec.question!r} has no place for documents.", "Leave out --question.")
    if spec.retrieval == NO_RETRIEVAL and spec.question == WITH_DOCUMENTS:
        raise Mistake("This question needs retrieved passages.", f"Add --retrieval {' or '.join(RETRIEVERS)}.")


def _demonstrations(
    spec: RunSpec, pool: Pool, asked: Sequence[Asked], kept_aside: Sequence[Fact], collection: Collection
) -> Groups:
    if spec.demonstrations:
        return read_groups(Path(spec.trusted_value("demonstrations")), pool, {planned.shots_of for planned in asked})
    shots = shot_count(spec)
    if not shots:
        return {}
    seed = spec.seed if spec.shot_seed is None else spec.shot_seed
    return draw_groups(pool, without_reverses(pool, kept_aside, collection), shots, seed, spec.shot_draws)


def _used(pool: Pool, statements: Sequence[Statement]) -> list[RelationPrototypes]:
    """The relations whose prototypes the statements are made from."""
    relations = dict.fromkeys(s.fact.relation for s in statements if s.fact.fact_id not in pool.ready)
    return [pool.relations[str(name)] for name in dict.fromkeys(map(pool.canonical, relations))]


def _pool_name(pool: Pool, statements: Sequence[Statement]) -> str:
    """The pool of all statements, or the name of the merged pools if there are several."""
    used = {statement.pool for statement in statements}
    return used.pop() if len(used) == 1 else pool.name


def _sentences(relation: RelationPrototypes) -> Iterator[tuple[str, dict[str, str]]]:
    """Relation, or relation and strength → its sentences by variant."""
    yield relation.name, dict(relation.sentences)
    yield from ((f"{relation.name} ({strength})", dict(sentences)) for strength, sentences in relation.strengths.items())


def _pool_notes(pool: Pool, used: Sequence[RelationPrototypes], collection: Collection) -> Iterator[str]:
    """Sentences that cannot be used, relations that are withheld, and whose words the sentences are."""
    known = [problem.message for problem in collection.problems]
    yield from (problem for problem in pool.problems if not any(message in problem for message in known))
    for relation in sorted({fact.relation for fact in collection.facts if pool.canonical(fact.relation) is None}):
        if why := pool.withheld_reason(relation):
            yield f"{relation!r} is withheld: {why}"
    if pool.name == ORIGIN:
        yield _note_on_origin(Counter(relation.sentence_source for relation in used))
    if any(relation.pool == READY and relation.defects for relation in used):
        yield "Some sentences are medfact's drafts: MKJ's own are in its templates.json, which is not here."
    drafted = [relation.name for relation in used if pool.drafted_by and relation.pool == pool.name]
    if drafted:
        yield f"{pool.drafted_by} drafted the sentences of {', '.join(map(repr, drafted))}; they were accepted {pool.accepted}."


def _note_on_origin(words_of: Counter[str]) -> str:
    """In whose words the tested relations are stated, and how many of them."""
    own = [f"{number} of the tested relations in the words of {name}" for name, number in words_of.items() if name != PLAIN]
    plain = f"{words_of[PLAIN]} in the plain form of the method's pools" if words_of[PLAIN] else ""
    parts = " and ".join(filter(None, [*own, plain]))
    return f"The pool origin states {parts}{'' if own else '; no templates of the benchmark were given'}."


# ------------------------------------------------------------------------------------------- recorded runs


def files_of(spec: RunSpec) -> list[str]:
    """The user's own files or data sets that a spec names."""
    pool = spec.pool if spec.pool not in pool_names() else None
    return [name for name in (spec.facts, spec.templates, spec.demonstrations, spec.corpus, pool) if name]


def opens_files(spec: RunSpec, planned: Plan) -> bool:
    """Whether a run of a plan still opens the files of its spec: to retrieve passages, or to match words."""
    retrieves = spec.retrieval != NO_RETRIEVAL and any(item.passages is None for item in planned.statements)
    return retrieves or provider_of(spec.model).reads_aside


def changes(run: Run, load: Callable[[RunSpec], Collection] = load) -> list[str]:
    """What has changed or gone since a run was recorded: its data, or the sentences of its pool. Files that only a run's file
    names are not looked at.
    """
    if run.spec.imported and files_of(run.spec):
        return ["It came from a file, so medfact cannot compare its data."]
    messages = []
    try:
        if load(run.spec).fingerprint() != run.dataset_fingerprint:
            messages.append(f"The data {run.dataset} has changed since this run.")
    except MedfactError as error:
        messages.append(f"The data {run.dataset} cannot be read any more: {error.problem}")
    try:
        now = {key: texts for relation in pool_of(run.spec).relations.values() for key, texts in _sentences(relation)}
        if any(now.get(key) != texts for key, texts in run.pool_text.items()):
            messages.append(f"The pool {run.pool} has changed since this run.")
    except MedfactError as error:
        messages.append(f"The pool {run.pool} cannot be read any more: {error.problem}")
    return messages
