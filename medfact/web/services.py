"""What the page needs of the rest of the house, made once for an application."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from medfact.datasets import Collection, load
from medfact.datasets.aside import load_aside
from medfact.datasets.selection import Rejections
from medfact.errors import FactsError, Mistake, StoreError, UnknownName
from medfact.models import BUNDLED_MODEL, bundled_revision
from medfact.models.services.settings import DEFAULTS
from medfact.prototypes import pool_names
from medfact.results.compare import Comparisons
from medfact.results.live import Reports
from medfact.runs.jobs import Jobs
from medfact.runs.plan import plan
from medfact.runs.start import start
from medfact.spec import RunSpec
from medfact.store import COMPLETE, Plan, Run, Store
from medfact.web.keys import Keys
from medfact.web.uploads import Uploads

DEMONSTRATION_OWNER = "demonstration"
DEMONSTRATION = RunSpec(model=BUNDLED_MODEL, limit=60, shots=0)
"""The run that a first visitor finds drawn already."""


@dataclass(frozen=True)
class Services:
    """The database, the jobs on it, the reports of its runs, and what visitors have handed in."""

    store: Store
    jobs: Jobs
    reports: Reports
    comparisons: Comparisons
    uploads: Uploads = field(default_factory=Uploads)
    keys: Keys = field(default_factory=Keys)

    def run(self, run: object) -> Run:
        """The run of a whole id. Raises Mistake, which names no other run."""
        if isinstance(run, str) and self.has(run):
            return self.store.run(run)
        raise Mistake("There is no such run.", "It may have been deleted.")

    def pool(self, owner: str, pool: str | None) -> str | None:
        """A prototype pool by its name, or the file of one that this visitor has brought; None for the method's own.

        Raises Mistake.
        """
        return pool if not pool or pool in pool_names() else str(self.uploads.of(owner, pool))

    @staticmethod
    def data_of(spec: RunSpec) -> Collection:
        """The facts of a run recorded here. Raises FactsError or UnknownName."""
        return _loaded(spec)

    def has(self, run: object) -> bool:
        """Whether there is a run of this whole id."""
        try:
            return isinstance(run, str) and bool(re.fullmatch(r"[0-9a-f]{32}", run) and self.store.pulse(run))
        except UnknownName:
            return False

    def close(self) -> None:
        self.jobs.close()


def open_services(url: str | None = None) -> Services:
    """Opens the database and begins to load the bundled model, so that the first run need not wait for it."""
    store = Store(url)
    with suppress(StoreError):  # what was deleted long ago is erased another time
        store.purge()
    jobs = Jobs(store)
    jobs.warm_up(BUNDLED_MODEL)
    reports = Reports(store, jobs)
    return Services(store, jobs, reports, Comparisons(store, reports))


def demonstration_run(services: Services) -> str:
    """The run of the bundled model on the bundled facts; made now if the model, the facts or the prototypes have changed."""
    fingerprint = plan(DEMONSTRATION).dataset_fingerprint
    for run in reversed(services.store.runs(DEMONSTRATION_OWNER)):
        same = (run.spec, run.dataset_fingerprint, run.model_revision) == (
            DEMONSTRATION,
            fingerprint,
            bundled_revision(),
        )
        if same and run.state == COMPLETE:
            return run.run
    run_id = start(DEMONSTRATION, Store(services.store.url, DEMONSTRATION_OWNER))
    services.jobs.submit(run_id)
    return run_id


Source = Mapping[str, object]
"""Where the visitor's facts come from, as the page's state holds it: dataset, or file and columns."""


def spec_of(source: Source, **numbers: object) -> RunSpec:
    """The spec of a source of facts, with whatever numbers and names are given."""
    return RunSpec.from_record({"model": "", **source, **numbers})


def collection_of(source: Source) -> Collection:
    """The facts of a source, kept for the sources last looked at. Raises FactsError or UnknownName."""
    return _collection(spec_of(source))


def planned(spec: RunSpec, source: Source, rejections: Rejections) -> Plan:
    """What a run of this spec asks of the facts of a source, and of whatever model: several models at once ask the same, and
    many visitors do. Raises MedfactError."""
    of_any_model = replace(spec, model="", service=DEFAULTS, budget=None)
    return _planned(of_any_model, spec_of(source), tuple(sorted(rejections.items())))


@lru_cache(maxsize=4)
def _planned(spec: RunSpec, source: RunSpec, rejections: tuple[tuple[str, frozenset[str]], ...]) -> Plan:
    return plan(spec, _collection(source), dict(rejections))


def _loaded(source: RunSpec) -> Collection:
    if source.facts is None:
        return load(source)
    if not Path(source.facts).exists():
        raise FactsError(f"{Path(source.facts).name} is not kept here any more.", "Upload it again.")
    return load_aside(source)


_collection = lru_cache(maxsize=8)(_loaded)
