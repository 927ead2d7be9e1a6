"""Runs of one model at a service on several days, in which it knows so much and says so of itself."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from scripted import ScriptedModel, statement_key

from medfact.models import Completion
from medfact.models.prompt import Served
from medfact.runs.run import answer
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import Asked, Store, schema


@dataclass
class ServedModel(ScriptedModel):
    """A scripted model with what its service reports."""

    served: Served = field(default_factory=Served)

    def completion(self, item: Asked) -> Completion:
        return replace(super().completion(item), served=self.served)


def run_fact_ids(store: Store, run: str) -> list[str]:
    """The ids of a run's facts, in the order of their diseases and findings."""
    facts = {item.statement.fact for item in store.answers.asked(run)}
    return [fact.fact_id for fact in sorted(facts, key=lambda fact: (fact.head, fact.relation, fact.tail or ""))]


def complete_run_on(store: Store, spec: RunSpec, day: str, served: Served, missed: Collection[int] = ()) -> str:
    """A complete run of that day. missed: which of its facts (`facts_of_run`) are answered wrong throughout."""
    run = start(spec, store)
    ids = {fact_id: place for place, fact_id in enumerate(run_fact_ids(store, run))}
    signs = {
        statement_key(item): "-" if ids[item.statement.fact.fact_id] in missed else "+" for item in store.answers.asked(run)
    }
    list(answer(run, store, load=ServedModel.for_run(run, store, signs, served=served).load))
    with store.database.writing() as connection:
        connection.execute(schema.runs.update().where(schema.runs.c.run == run).values(started_at=f"{day}T06:00:00.000+00:00"))
    return run
