"""Writing is a run: its statements are what the writer gets, and its answers are texts. So it is priced, stopped, resumed,
exported and never paid for twice, like any run. A rephrasing has up to three attempts, each a run of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from medfact.answers.prompts import LLM_EVAL
from medfact.datasets import NOTHING_DECIDED, Collection, PartnerDecisions, load
from medfact.errors import Mistake, UnknownName
from medfact.models import provider_of
from medfact.models.entailment import load_entailment
from medfact.prototypes import ORIGIN, Pool, orient_facts
from medfact.prototypes.grammar import scope_prefix
from medfact.runs.costs import purse_of
from medfact.runs.demonstrations import SHOTS_REPHRASED, Groups
from medfact.runs.events import Event, Failed, Finished
from medfact.runs.plan import plan
from medfact.runs.pool import pool_of
from medfact.runs.run import answer
from medfact.runs.start import notes_on_data, partners_of, plan_beside, start_planned
from medfact.spec import LOCAL_OWNER, RunSpec
from medfact.statements import WRITTEN, Statement
from medfact.store import COMPLETE, Asked, Plan, Run, Store
from medfact.writing.kinds import EIGHT_STATEMENTS, KINDS, REPHRASING, writing_kind
from medfact.writing.sentences import REPHRASED, UNCHANGED, Guards, Sentence, reader_of
from medfact.writing.templates import Draft, draft_in, eight_of, examples_of, pool_file


def planned_writing(
    kind: str,
    spec: RunSpec,
    collection: Collection | None = None,
    decided: PartnerDecisions = NOTHING_DECIDED,
    make_plan: Callable[[RunSpec, Collection, PartnerDecisions], Plan] = plan,
) -> tuple[RunSpec, Plan]:
    """The spec and the plan of a writing's first run. spec: of the evaluation, with the writer as its model.

    Raises UnknownName, or Mistake where the model writes nothing.
    """
    if kind not in KINDS:
        raise UnknownName("kind of writing", kind, [*KINDS])
    if spec.entailment:
        load_entailment(spec.trusted_value("entailment"))
    if provider_of(spec.model).is_rule:
        raise Mistake(f"{spec.model} writes nothing.", "Choose a language model.")
    writing = replace(spec, task=KINDS[kind].tasks[0])
    collection = collection or load(spec)
    if KINDS[kind].forms:
        return writing, _examples(writing, collection)
    planned = make_plan(spec, collection, decided)
    if KINDS[kind] is EIGHT_STATEMENTS:
        return writing, replace(planned, statements=_triplets(planned))
    return writing, with_demonstrations(planned, pool_of(spec, collection))


def _examples(spec: RunSpec, collection: Collection) -> Plan:
    """An example for each relation that needs templates."""
    task = str(spec.task)
    pool = pool_of(spec, collection)
    examples = examples_of(orient_facts(collection, pool), pool, task)
    return Plan.without_shots(collection.name, collection.fingerprint(), task, examples, collection.notes)


def start_writing(kind: str, spec: RunSpec, store: Store, collection: Collection | None = None) -> str:
    """Records a writing; returns its id, that of its first run."""
    return start_planned(*planned_writing(kind, spec, collection, store.decisions.of_partners()), store)


def ask_or_write(run_id: str, store: Store, **options: Any) -> Iterator[Event]:
    """Asks a run its questions, or goes on with it if it is a writing. options: of `runs.run.answer`."""
    is_writing = store.run(run_id).spec.writes
    return write(run_id, store, **options) if is_writing else answer(run_id, store, **options)


def write(writing: str, store: Store, *, budget: float | None = None, **options: Any) -> Iterator[Event]:
    """Asks the writer for what is missing, attempt after attempt, and yields events; of several attempts, the last one's end.

    budget: USD for all attempts together; replaces that of the spec. options: of `runs.run.answer`.
    """
    first = writing_of(writing, store)
    budget = first.spec.budget if budget is None else budget
    attempt: Run | None = first
    end: Finished | None = None
    while attempt is not None:
        for event in answer(attempt.run, store, budget=_left_of(budget, first, attempt, store), **options):
            if isinstance(event, Finished):
                end = replace(event, run=first.run, seconds=event.seconds + (end.seconds if end else 0.0))
            else:
                yield event
            if isinstance(event, Failed):
                return
        attempt = _attempt_after(attempt, first, store)
    if end is not None:
        yield end


def _left_of(budget: float | None, first: Run, attempt: Run, store: Store) -> float | None:
    """What the other attempts of a writing have left of its budget."""
    if budget is None:
        return None
    others = (run for run in attempts_of(first.run, store).values() if run.run != attempt.run)
    return max(0.0, budget - sum(purse_of(run, store).spent for run in others))


def _attempt_after(attempt: Run, first: Run, store: Store) -> Run | None:
    """The next attempt, recorded now if it is not there; None after the last, at a gap, and where the guards stop nothing."""
    tasks = writing_kind(first).tasks
    if attempt.spec.task not in tasks[:-1] or not _is_whole(attempt, store):
        return None
    task = tasks[tasks.index(attempt.spec.task) + 1]
    return attempts_of(first.run, store).get(task) or _start_again(first, task, store)


def writing_of(run_id: str, store: Store) -> Run:
    """The first run of a writing. Raises Mistake if that run wrote nothing, or the first attempt is not there."""
    record = store.run(run_id)
    if not record.spec.writes:
        raise Mistake(f"Run {record.run} asked questions: it wrote no sentences.", "Give the id that `write` printed.")
    belongs = record.spec.writing and "writing" not in record.spec.imported
    if not belongs:
        return record
    try:
        return store.run(str(record.spec.writing))
    except UnknownName:  # whoever has the id of one attempt need not have that of another
        raise Mistake("The first attempt of this writing is not here.", "It may have been deleted; write anew.") from None


def state_of(attempts: Iterable[Run]) -> tuple[str, str | None]:
    """How far a writing is, and why: the state of the first attempt that is not complete, else COMPLETE."""
    return next(((run.state, run.reason) for run in attempts if run.state != COMPLETE), (COMPLETE, None))


def attempts_of(writing: str, store: Store) -> dict[str, Run]:
    """Task → the run of that attempt, in their order."""
    first = store.run(writing)
    attempts = {str(first.spec.task): first}
    for run in store.writings(first.owner, LOCAL_OWNER):
        if _is_attempt_of(run, first):
            attempts.setdefault(str(run.spec.task), run)
    return attempts


def _is_attempt_of(run: Run, first: Run) -> bool:
    """Whether a run is a later attempt at a writing: begun here, and asked as its first one is, so that a key for that goes
    nowhere else. What a run's file says it belongs to does not count.
    """
    same = replace(run.spec, task=first.spec.task, writing=first.spec.writing) == first.spec
    return same and run.spec.writing == first.run and "writing" not in run.spec.imported


def guards_of(writing: str, store: Store) -> Guards:
    """The guards over a rephrasing. Raises ModelError, or Mistake where a writing from a file names a model for them."""
    first = writing_of(writing, store)
    if first.spec.entailment and "entailment" in first.spec.imported:
        raise Mistake(
            f"The writing {first.run} came from a file, and its guards need the model {first.spec.entailment}.",
            "Write anew; a run that asks its sentences can be read as it is.",
        )
    own = None if first.spec.imported else first.spec  # its claims are judged by what the file itself says
    follows = load_entailment(first.spec.trusted_value("entailment")) if first.spec.entailment else None
    return Guards(reader_of(own, [item.statement for item in store.answers.asked(first.run)]), follows)


def sentences(writing: str, store: Store, guards: Guards | None = None) -> tuple[Sentence, ...]:
    """What became of each prototype of a rephrasing, in the order in which they are asked."""
    first = writing_of(writing, store)
    guards = guards or guards_of(first.run, store)
    replies = [_replies(run, store) for run in attempts_of(first.run, store).values()]
    return tuple(
        guards.sentence(item.statement, [reply[key] for reply in replies if (key := item.statement.statement_id) in reply])
        for item in store.answers.asked(first.run)
    )


def drafts(writing: str, store: Store) -> tuple[Draft, ...]:
    """The templates that a writer has drafted, a draft for each relation that it was asked about so far."""
    first = writing_of(writing, store)
    if not writing_kind(first).forms:
        raise Mistake(f"The writing {first.run} drafted no templates.", "Start one with `write templates`.")
    replies = _replies(first, store)
    asked = [item.statement for item in store.answers.asked(first.run) if item.statement.statement_id in replies]
    return tuple(draft_in(replies[one.statement_id], one.fact, str(first.spec.task)) for one in asked)


def accepted_pool(writing: str, store: Store) -> str:
    """The pool file, as YAML, of the drafts of a writing that the store's owner has accepted; the project's own pool states the
    other relations. Raises Mistake where nothing is accepted.
    """
    first = writing_of(writing, store)
    decisions = {name: one for name, one in store.decisions.draft_decisions(first.run).items() if one.accepted}
    when = max((one.decided_at[:10] for one in decisions.values()), default="")
    texts = {relation: one.sentences for relation, one in decisions.items()}
    extends = "medfact" if len(writing_kind(first).forms) > 1 else ""
    return pool_file(texts, str(first.spec.task), writer_of(first), f"on the page Rewrite, on {when}", extends)


def _replies(run: Run, store: Store) -> dict[str, str]:
    return {
        item.statement.statement_id: item.answer.raw or ""
        for item in store.answers.asked(run.run)
        if item.answer is not None and item.answer.failure is None
    }


def _is_whole(run: Run, store: Store) -> bool:
    """Whether every sentence of an attempt was written. A failed call is no rejected sentence: it is asked again first."""
    return store.run(run.run).state == COMPLETE and all(
        item.answer is not None and item.answer.failure is None for item in store.answers.asked(run.run)
    )


def _start_again(first: Run, task: str, store: Store) -> Run | None:
    """Records the next attempt, at the sentences that the guards stopped; None if they stopped none."""
    stopped = {sentence.prototype.statement_id for sentence in sentences(first.run, store) if sentence.text is None}
    asked = [item for item in store.answers.asked(first.run) if item.statement.statement_id in stopped]
    if not asked:
        return None
    planned = _plan_of(first, tuple(Asked(item.statement, item.shots_of) for item in asked), store)
    return store.run(start_planned(first.spec.override(task=task, writing=first.run), planned, store.of(first.owner)))


def _plan_of(record: Run, statements: tuple[Asked, ...], store: Store, notes: tuple[str, ...] = ()) -> Plan:
    known = (*store.answers.partners(record.run), *(item.statement for item in store.answers.asked(record.run)))
    return plan_beside(record, store, statements, notes, partners_of(statements, known))


def _triplets(planned: Plan) -> tuple[Asked, ...]:
    """A triplet for each fact, in place of its statements; its demonstrations are those of the plain form."""
    first = {item.statement.fact.fact_id: item for item in reversed(planned.statements)}
    facts = list(dict.fromkeys(item.statement.fact.fact_id for item in planned.statements))
    return tuple(Asked(_triplet(first[fact_id]), first[fact_id].shots_of) for fact_id in facts)


def _triplet(item: Asked) -> Statement:
    fact = item.statement.fact
    text = f"{scope_prefix(fact)}({fact.head}, {fact.relation}, {fact.tail})"
    return Statement(fact, LLM_EVAL, item.statement.variant, text)


# ------------------------------------------------------------------------------------------------ asking what was written


def evaluation_plan(writing: str, store: Store) -> Plan:
    """The plan of a run that asks what a writing wrote: word for word, from its record alone.

    Raises Mistake unless the writing is complete.
    """
    first = writing_of(writing, store)
    unfinished = [run for run in attempts_of(first.run, store).values() if not _is_whole(run, store)]
    if unfinished:
        raise Mistake(f"The writing {first.run} is not complete.", f"Finish it first: `resume {first.run}`.")
    if writing_kind(first) is EIGHT_STATEMENTS:
        return _eight_sentences(first, store)
    if first.spec.task not in REPHRASING.tasks[:1]:
        raise Mistake(
            f"The writing {first.run} drafted templates; it wrote no statements.",
            "Accept the drafts, and choose them as sentence templates.",
        )
    made = list(zip(store.answers.asked(first.run), sentences(first.run, store), strict=True))
    asked = [(item, sentence) for item, sentence in made if item.shots_of != SHOWN]
    shown = [sentence for item, sentence in made if item.shots_of == SHOWN]
    statements = tuple(Asked(sentence.statement(writer_of(first)), item.shots_of, item.draw) for item, sentence in asked)
    notes = [f"{writer_of(first)} rephrased {_fates_in_words([sentence for _, sentence in asked])}"]
    notes += [f"{writer_of(first)} {SHOTS_REPHRASED}: {_fates_in_words(shown)}"] if shown else []
    planned = _plan_of(first, statements, store, (*notes_on_data(first, store), *notes))
    return replace(planned, demonstrations=rephrased_shots(planned.demonstrations, shown))


def _fates_in_words(made: Sequence[Sentence]) -> str:
    """What became of some sentences, after "rephrased"."""
    fates = Counter(sentence.fate for sentence in made)
    stopped = fates.total() - fates[REPHRASED] - fates[UNCHANGED]
    return (
        f"{fates[REPHRASED]:,} of {len(made):,} sentences; {stopped:,} keep the original, since the guards rejected every "
        f"rephrasing; {fates[UNCHANGED]:,} it repeated."
    )


def warned(planned: Plan, first: Run, model: str) -> Plan:
    """The plan of a model that is asked what a writing wrote, with a warning where it wrote that itself."""
    if model != first.model:
        return planned
    return replace(planned, notes=(*planned.notes, f"{model} wrote the sentences itself: let another model write."))


def evaluation_spec(first: Run) -> RunSpec:
    """The spec of a run that asks what a writing wrote; its model is still the writer."""
    return first.spec.override(task=None, writing=first.run, writer=first.model, budget=None)


def _eight_sentences(first: Run, store: Store) -> Plan:
    replies = _replies(first, store)
    asked = store.answers.asked(first.run)
    made = [(item, eight_of(replies[item.statement.statement_id])) for item in asked]
    statements = tuple(
        Asked(Statement(item.statement.fact, LLM_EVAL, key, text, f"written by {writer_of(first)}"), item.shots_of)
        for item, lines in made
        for key, text in zip(WRITTEN, lines or (), strict=False)
    )
    if not statements:
        raise Mistake(f"{first.model} wrote eight usable statements about no fact.", "See `written` for what it wrote.")
    left_out = sum(lines is None for _, lines in made)
    note = (
        f"{writer_of(first)} wrote eight statements about {len(made) - left_out:,} of {len(made):,} facts; {left_out:,} are "
        "left out, for fewer than eight usable lines. A statement may not say what its fact says: read some."
    )
    return replace(_plan_of(first, statements, store, (*notes_on_data(first, store), note)), pool=LLM_EVAL)


def writer_of(first: Run) -> str:
    """What to call the writer of a writing: its model, with the revision that wrote."""
    revision = f" ({first.model_revision[:12]})" if first.model_revision else ""
    return f"{first.model}{revision}"[:150]


SHOWN = ""
"""The group of a statement that is written to be shown as a demonstration: none stand before it, and it is not asked."""


def with_demonstrations(planned: Plan, pool: Pool) -> Plan:
    """The plan with the statements that are shown, after those that are asked: both are rephrased."""
    asked = {item.shots_of for item in planned.statements}
    texts = {shot.text for group, shots in planned.demonstrations.items() if group in asked for shot in shots}
    aside = list(pool.statements(planned.aside)) if texts else []
    shown = {one.text: Asked(one, SHOWN) for one in aside if one.text in texts}
    statements = (*planned.statements, *shown.values())
    return replace(planned, statements=statements, partners=(*planned.partners, *partners_of(statements, aside)))


def rephrased_shots(groups: Groups, shown: Sequence[Sentence]) -> Groups:
    """The demonstrations in the words that were written for them; those whose rephrasings were stopped, as they are."""
    words = {sentence.prototype.text: sentence.text or sentence.prototype.text for sentence in shown}
    return {
        group: tuple(replace(shot, text=words.get(shot.text, shot.text)) for shot in shots) for group, shots in groups.items()
    }


PROTOTYPES, ORIGINALS = "prototypes", ORIGIN
"""Names of the sets beside writings."""


def asked_set(
    name: str, beside: Run, model: str, store: Store, make_plan: Callable[[RunSpec], Plan] = plan
) -> tuple[RunSpec, Plan]:
    """What a model is asked of a set, still with the writer's settings.

    name: a writing's id, PROTOTYPES or ORIGINALS. beside: the writing about whose facts these two are. Raises MedfactError.
    """
    if name in (PROTOTYPES, ORIGINALS):
        spec = beside.spec.override(task=None, budget=None)
        spec = spec.override(pool=ORIGINALS) if name == ORIGINALS else spec
        return spec, make_plan(spec)
    first = writing_of(name, store)
    return evaluation_spec(first), warned(evaluation_plan(first.run, store), first, model)
