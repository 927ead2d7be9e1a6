"""Writing is a run: its statements are what the writer gets, and its answers are texts. So it is priced, stopped, resumed,
exported and never paid for twice, like any run. A rephrasing has up to three attempts, each a run of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

from medfact.answers.instructions import AGAIN, LAST, LLM_EVAL, REPHRASE
from medfact.datasets import NO_REJECTIONS, Collection
from medfact.datasets.selection import Rejections
from medfact.errors import Mistake, UnknownName
from medfact.runs.events import Event
from medfact.runs.plan import plan
from medfact.runs.run import answer
from medfact.runs.start import start_planned
from medfact.spec import RunSpec
from medfact.statements import WRITTEN, Statement
from medfact.store import COMPLETE, Plan, Planned, Run, Store
from medfact.writing.eight import eight_of
from medfact.writing.sentences import Sentence, reader_of, rephrased

KINDS = {
    "rephrase": "a language model rephrases every prototype (PretextTrans)",
    "llmeval": "a language model writes eight statements about every fact itself (LLMEval)",
}
"""What can be written."""

ATTEMPTS = (REPHRASE, AGAIN, LAST)


def planned_writing(
    kind: str, spec: RunSpec, collection: Collection | None = None, rejected: Rejections = NO_REJECTIONS
) -> tuple[RunSpec, Plan]:
    """The spec and the plan of a writing's first run. spec: of the evaluation, with the writer as its model."""
    if kind not in KINDS:
        raise UnknownName("kind of writing", kind, [*KINDS])
    planned = plan(spec, collection, rejected)
    if kind == "llmeval":
        return replace(spec, task=LLM_EVAL), replace(planned, statements=_triplets(planned))
    return replace(spec, task=REPHRASE), planned


def start_writing(kind: str, spec: RunSpec, store: Store, collection: Collection | None = None) -> str:
    """Records a writing; returns its id, that of its first run."""
    return start_planned(*planned_writing(kind, spec, collection, store.rejections()), store)


def write(writing: str, store: Store, **options: Any) -> Iterator[Event]:
    """Asks the writer for what is missing, attempt after attempt, and yields events. options: of `runs.run.answer`."""
    first = writing_of(writing, store)
    yield from answer(first.run, store, **options)
    if first.spec.task != REPHRASE:
        return
    for earlier, task in pairwise(ATTEMPTS):
        attempts = attempts_of(first.run, store)
        if not _is_whole(attempts[earlier], store):
            return
        again = attempts.get(task) or _start_again(first, task, store)
        if again is None:
            return
        yield from answer(again.run, store, **options)


def writing_of(run_id: str, store: Store) -> Run:
    """The first run of a writing. Raises Mistake if that run wrote nothing."""
    record = store.run(run_id)
    if record.spec.task is None:
        raise Mistake(f"Run {record.run} asked questions: it wrote no sentences.", "Give the id that `write` printed.")
    return store.run(record.spec.writing) if record.spec.writing else record


def attempts_of(writing: str, store: Store) -> dict[str, Run]:
    """Task → the run of that attempt, in their order."""
    later = (run for run in store.writings() if run.spec.writing == writing)
    return {run.spec.task: run for run in (store.run(writing), *later) if run.spec.task is not None}


def sentences(writing: str, store: Store) -> tuple[Sentence, ...]:
    """What became of each prototype of a rephrasing, in the order in which they are asked."""
    first = writing_of(writing, store)
    replies = [_replies(run, store) for run in attempts_of(first.run, store).values()]
    asked = store.asked(first.run)
    own = None if store.was_imported(first.run) else first.spec  # what a stranger's file names is not opened
    claim_of = reader_of(own, [item.statement for item in asked])
    return tuple(
        rephrased(item.statement, [reply[key] for reply in replies if (key := item.statement.statement_id) in reply], claim_of)
        for item in asked
    )


def _replies(run: Run, store: Store) -> dict[str, str]:
    return {
        item.statement.statement_id: item.answer.raw or ""
        for item in store.asked(run.run)
        if item.answer is not None and item.answer.failure is None
    }


def _is_whole(run: Run, store: Store) -> bool:
    """Whether every sentence of an attempt was written. A failed call is no rejected sentence: it is asked again first."""
    return store.run(run.run).state == COMPLETE and all(
        item.answer is not None and item.answer.failure is None for item in store.asked(run.run)
    )


def _start_again(first: Run, task: str, store: Store) -> Run | None:
    """Records the next attempt, at the sentences that the guards stopped; None if they stopped none."""
    stopped = {sentence.prototype.statement_id for sentence in sentences(first.run, store) if sentence.text is None}
    asked = [item for item in store.asked(first.run) if item.statement.statement_id in stopped]
    if not asked:
        return None
    planned = _plan_of(first, tuple(Planned(item.statement, item.shots_of) for item in asked), store)
    return store.run(start_planned(replace(first.spec, task=task, writing=first.run), planned, store))


def _plan_of(record: Run, statements: tuple[Planned, ...], store: Store, notes: tuple[str, ...] = ()) -> Plan:
    return Plan(
        dataset=record.dataset,
        dataset_fingerprint=record.dataset_fingerprint,
        pool=record.pool,
        shots=record.shots,
        statements=statements,
        demonstrations=store.demonstrations(record.run),
        notes=notes,
        pool_text=record.pool_text,
    )


def _triplets(planned: Plan) -> tuple[Planned, ...]:
    """A triplet for each fact, in place of its statements; its demonstrations are those of the plain form."""
    first = {item.statement.fact.fact_id: item for item in reversed(planned.statements)}
    facts = list(dict.fromkeys(item.statement.fact.fact_id for item in planned.statements))
    return tuple(Planned(_triplet(first[fact_id]), first[fact_id].shots_of) for fact_id in facts)


def _triplet(item: Planned) -> Statement:
    fact = item.statement.fact
    return Statement(fact, LLM_EVAL, item.statement.variant, f"({fact.head}, {fact.relation}, {fact.tail})")


# ------------------------------------------------------------------------------------------------ asking what was written


def evaluation_plan(writing: str, store: Store) -> Plan:
    """The plan of a run that asks what a writing wrote: word for word, from its record alone.

    Raises Mistake unless the writing is complete.
    """
    first = writing_of(writing, store)
    unfinished = [run for run in attempts_of(first.run, store).values() if not _is_whole(run, store)]
    if unfinished:
        raise Mistake(f"The writing {first.run} is not complete.", f"Finish it first: `resume {first.run}`.")
    if first.spec.task == LLM_EVAL:
        return _eight_sentences(first, store)
    made = sentences(first.run, store)
    asked = zip(store.asked(first.run), made, strict=True)
    statements = tuple(Planned(sentence.statement(_writer(first)), item.shots_of, item.draw) for item, sentence in asked)
    kept = sum(sentence.text is None for sentence in made)
    note = f"{_writer(first)} rephrased {len(made) - kept:,} of {len(made):,} sentences; {kept:,} stand as prototypes."
    return _plan_of(first, statements, store, (*first.notes, note))


def evaluation_spec(first: Run) -> RunSpec:
    """The spec of a run that asks what a writing wrote; its model is still the writer."""
    return replace(first.spec, task=None, writing=first.run, writer=first.model, budget=None)


def _eight_sentences(first: Run, store: Store) -> Plan:
    replies = _replies(first, store)
    asked = store.asked(first.run)
    made = [(item, eight_of(replies[item.statement.statement_id])) for item in asked]
    statements = tuple(
        Planned(Statement(item.statement.fact, LLM_EVAL, key, text, f"written by {_writer(first)}"), item.shots_of)
        for item, lines in made
        for key, text in zip(WRITTEN, lines or (), strict=False)
    )
    if not statements:
        raise Mistake(f"{first.model} wrote eight usable statements about no fact.", "See `written` for what it wrote.")
    left_out = sum(lines is None for _, lines in made)
    note = (
        f"{_writer(first)} wrote eight statements about {len(made) - left_out:,} of {len(made):,} facts; {left_out:,} are "
        "left out, for fewer than eight usable lines. Nothing guarantees that a statement says what its fact says."
    )
    return replace(_plan_of(first, statements, store, (*first.notes, note)), pool=LLM_EVAL)


def _writer(first: Run) -> str:
    revision = f" ({first.model_revision[:12]})" if first.model_revision else ""
    return f"{first.model}{revision}"[:150]
