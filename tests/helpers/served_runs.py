"""Runs of one model of a service on several days, with predetermined answers and metadata of the service."""

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
    """A scripted model with the metadata that its service reports."""

    served: Served = field(default_factory=Served)

    def reply_to(self, item: Asked) -> Completion:
        """Returns the reply to a statement, with the metadata of the service."""
        return replace(super().reply_to(item), served=self.served)


def run_fact_ids(store: Store, run: str) -> list[str]:
    """Returns the ids of a run's facts, sorted by head, relation and tail."""
    facts = {item.statement.fact for item in store.answers.asked(run)}
    return [fact.fact_id for fact in sorted(facts, key=lambda fact: (fact.head, fact.relation, fact.tail or ""))]


def complete_run_on(store: Store, spec: RunSpec, day: str, served: Served, missed: Collection[int] = ()) -> str:
    """Executes a run, dates it to a day, and returns its id. missed: indexes of `run_fact_ids`, answered wrong."""
    run = start(spec, store)
    ids = {fact_id: index for index, fact_id in enumerate(run_fact_ids(store, run))}
    signs = {
        statement_key(item): "-" if ids[item.statement.fact.fact_id] in missed else "+" for item in store.answers.asked(run)
    }
    list(answer(run, store, load=ServedModel.for_run(run, store, signs, served=served).load))
    with store.database.writing() as connection:
        connection.execute(schema.runs.update().where(schema.runs.c.run == run).values(started_at=f"{day}T06:00:00.000+00:00"))
    return run
