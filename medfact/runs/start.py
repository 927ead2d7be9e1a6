"""Recording runs before they are asked: from a spec, or from the record of another run."""

from __future__ import annotations

import importlib.metadata
import platform
from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from medfact.datasets import Collection, Held, PartnerDecisions
from medfact.errors import Mistake
from medfact.runs.checks import check_addresses, check_batch, check_pressure
from medfact.runs.plan import NOTHING_HELD, plan
from medfact.runs.racing import in_order_of_race
from medfact.spec import NO_RETRIEVAL, RunSpec, check_numbers
from medfact.statements import Statement
from medfact.store import NOTED, Asked, Plan, Run, Store
from medfact.version import VERSION


def start(spec: RunSpec, store: Store, collection: Collection | None = None, held: Held = NOTHING_HELD) -> str:
    """Plans and records a run, before its model loads; returns its id. held: what reviewers hold of facts."""
    return start_planned(spec, plan(spec, collection, store.decisions.of_partners(), held), store)


def start_planned(spec: RunSpec, planned: Plan, store: Store) -> str:
    """Records a run of a plan; returns its id. What races is asked in the order of the race.

    Raises Mistake where an address of the spec is none, a number out of its bounds, or a batch or pressure makes no
    sense.
    """
    check_addresses(spec)
    check_batch(spec)
    check_pressure(spec)
    check_numbers(spec)
    return store.start_run(spec, in_order_of_race(planned) if spec.race else planned, _versions())


def start_again(run_id: str, store: Store, spec: RunSpec | None = None) -> str:
    """Records a new run with the statements of another one, from its record alone: its files may be gone.

    spec: with another model or other settings; by default the other run's. Returns the new run's id.
    """
    other = store.run(run_id)
    return start_planned(spec or other.spec, recorded_plan(other, store), store)


def recorded_plan(record: Run, store: Store) -> Plan:
    """The plan of a recorded run, without the notes on its model: another model may be asked.

    Raises Mistake for a run from a file that lacks its passages: they would be looked for in documents that the file names.
    """
    asked = store.answers.asked(record.run)
    retrieves = record.spec.retrieval != NO_RETRIEVAL and any(item.passages is None for item in asked)
    if retrieves and store.was_imported(record.run):
        raise Mistake(
            f"Run {record.run} came from a file, without the passages of its statements.",
            "Start a new run with your documents.",
        )
    statements = tuple(Asked(item.statement, item.shots_of, item.draw, item.passages) for item in asked)
    notes = (*notes_on_data(record, store), f"It asks what run {record.run} asked, from the record of that run.")
    planned = plan_beside(record, store, statements, notes, store.answers.partners(record.run))
    return as_decided(planned, store.decisions.of_partners())


def as_decided(planned: Plan, decided: PartnerDecisions) -> Plan:
    """A plan without the pairs whose false partner a person has rejected since; those that were confirmed are not presumed.

    Raises Mistake where nothing is left.
    """
    out = {fact.negative_of or fact.fact_id for fact in planned.facts if not fact.positive and decided.rejects(fact)}
    facts = {
        fact.fact_id: replace(fact, presumed=None) if fact.presumed and decided.confirms(fact) else fact
        for fact in planned.facts
        if fact.fact_id not in out and fact.negative_of not in out
    }
    if out and not facts:
        raise Mistake("You have rejected all false partners that it asks.", "Start a new run: others are drawn.")
    asked = (item for item in planned.statements if item.statement.fact.fact_id in facts)
    kept = (replace(item, statement=replace(one := item.statement, fact=facts[one.fact.fact_id])) for item in asked)
    notes = [f"Left out: {len(out)} of its pairs, whose false partner you have rejected since."] if out else []
    partners = tuple(one for one in planned.partners if one.fact.fact_id not in out)
    return replace(planned, statements=tuple(kept), notes=(*planned.notes, *notes), partners=partners)


def plan_beside(
    record: Run, store: Store, statements: tuple[Asked, ...], notes: tuple[str, ...], partners: tuple[Statement, ...]
) -> Plan:
    """A plan of statements that are asked as those of a recorded run were, with its demonstrations."""
    return Plan(
        dataset=record.dataset,
        dataset_fingerprint=record.dataset_fingerprint,
        pool=record.pool,
        shots=record.shots,
        statements=statements,
        demonstrations=store.answers.demonstrations(record.run),
        notes=notes,
        pool_text=record.pool_text,
        population=record.population,
        partners=partners,
    )


def partners_of(asked: Iterable[Asked], known: Iterable[Statement]) -> tuple[Statement, ...]:
    """A statement of each true fact of which false partners alone are asked, out of some that are known."""
    facts = {item.statement.fact.fact_id: item.statement.fact.negative_of for item in asked}
    missing = {of for of in facts.values() if of is not None} - facts.keys()
    found = {statement.fact.fact_id: statement for statement in known if statement.fact.fact_id in missing}
    return tuple(found.values())


def notes_on_data(record: Run, store: Store) -> list[str]:
    """The notes of a recorded run but for those on its model."""
    on_model = {event.said for event in store.events(record.run, NOTED)}
    return [note for note in record.notes if note not in on_model]


@cache
def _versions() -> dict[str, str]:
    versions = {"medfact": VERSION, "python": platform.python_version()}
    for name in ("torch", "transformers", "accelerate", "numpy", "openai"):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions
