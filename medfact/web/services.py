"""What the page needs of the rest of the house, made once for an application."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import isinf
from pathlib import Path

from medfact.caching import shared_cache
from medfact.datasets import Collection, load
from medfact.datasets.isolated import fails_again, load_isolated
from medfact.datasets.selection import Held
from medfact.errors import FactsError, MedfactError, Mistake, StoreError, UnknownName
from medfact.limits import limits
from medfact.log_setup import suppressed
from medfact.models import BUNDLED_MODEL, bundled_revision, service_of
from medfact.models.pressure import calls_of
from medfact.prototypes import pool_names
from medfact.results.compare import Comparisons
from medfact.results.live import Live, Reports, RunProgress, effective_state
from medfact.reviews.verdicts import held, opinions
from medfact.runs.jobs import Jobs
from medfact.runs.plan import files_of, plan
from medfact.runs.start import start
from medfact.setting import settings_by_name
from medfact.spec import RunSpec
from medfact.statements import Statement
from medfact.store import COMPLETE, INTERRUPTED, PAUSED, RUNNING, Run, Store
from medfact.store.contributions import FACT_BYTES, bytes_of_judged, bytes_of_rows
from medfact.web.beginnings import Beginnings
from medfact.web.hub_tokens import Tokens, is_router
from medfact.web.latest_set_ups import LatestSetUps
from medfact.web.pace import Neighbours
from medfact.web.quota import Quota
from medfact.web.trials import Trials
from medfact.web.uploads import Uploads
from medfact.writing.runs import ask_or_write, writing_of

_log = logging.getLogger(__package__)

DEMONSTRATION_OWNER = "demonstration"
DEMONSTRATION = RunSpec(model=BUNDLED_MODEL, limit=60, shots=0)
"""The run that a first visitor finds drawn already."""


LOOK_SECONDS = 5.0
"""Time between two looks at the demonstration."""

Source = Mapping[str, object]
"""Where facts come from: a data set, or a file and its columns."""

SPEED_SECONDS, MOST_SPEEDS = 60.0, 1_000
"""How long a model's speed is believed, and of how many models one is kept: a visitor may name any."""


def seconds_for(store: Store, model: str, statements: int) -> float | None:
    """About how long a model takes for so many statements or pushes, as in its last complete run here; None where nothing is
    known."""
    rate = _rate(store, model, int(time.monotonic() / SPEED_SECONDS))
    return statements / rate if rate else None


@shared_cache(MOST_SPEEDS)
def _rate(store: Store, model: str, _: int) -> float | None:
    """How many statements and pushes a second a model answered; looked up once a minute."""
    run = store.last_complete(model)
    if run is None:
        return None
    changes = store.state_changes(run.run)
    begun, ended = ([event.at for event in changes if event.what == what] for what in (RUNNING, COMPLETE))
    if not begun or not ended:
        return None
    seconds = (datetime.fromisoformat(ended[-1]) - datetime.fromisoformat(begun[-1])).total_seconds()
    return calls_of(run.spec.pressure, run.statements) / max(seconds, 0.1)


def _is_whole_id(run: object) -> bool:
    return isinstance(run, str) and bool(re.fullmatch(r"[0-9a-f]{32}", run))


@shared_cache(1_000)
def _writes(store: Store, run: str) -> bool:
    """Whether a run has a model write; what a run was recorded for never changes."""
    return store.run(run).spec.writes


@dataclass(frozen=True, eq=False)
class Services:
    """The database, the jobs on it, the reports of its runs, and what visitors have handed in."""

    store: Store
    jobs: Jobs
    reports: Reports
    comparisons: Comparisons
    uploads: Uploads = field(default_factory=Uploads)
    neighbours: Neighbours = field(default_factory=Neighbours)
    trials: Trials = field(default_factory=Trials)
    tokens: Tokens = field(default_factory=Tokens)
    beginnings: Beginnings = field(default_factory=Beginnings)
    set_ups: LatestSetUps = field(init=False)
    quota: Quota = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "set_ups", LatestSetUps(self.store))
        object.__setattr__(self, "quota", Quota(self.store, self.uploads, self.neighbours))

    def going(self, owner: str | None = None) -> int:
        """How many runs (of an owner, if given) wait, run, or are being recorded."""
        return self.jobs.going(owner) + self.beginnings.going(owner)

    def run(self, run: object) -> Run:
        """The run of a whole id. Raises Mistake, which names no other run."""
        if isinstance(run, str) and self.has(run):
            return self.store.run(run)
        raise Mistake("There is no such run.", "It may have been deleted.")

    def writing(self, run: object) -> Run:
        """The writing of the whole id of its first attempt. Raises Mistake, which names no other run."""
        record = self.run(run)
        if writing_of(record.run, self.store).run != record.run:
            raise Mistake("There is no such writing.", "It may have been deleted.")
        return record

    def pool(self, owner: str, pool: str | None) -> str | None:
        """A prototype pool by its name, or the file of one that this visitor has brought; None for the method's own.

        Raises Mistake.
        """
        return pool if not pool or pool in pool_names() else str(self.uploads.of(owner, pool))

    def check_files(self, owner: str, spec: RunSpec) -> None:
        """Raises Mistake where a spec names a file that is not one of this visitor's."""
        for name in files_of(spec):
            self.uploads.of(owner, name)

    def log_of(self, owner: str, more: Sequence[object], statements: Sequence[Statement] = ()) -> Store:
        """The store, to record what an owner says. more: that, as rows or texts. Raises Mistake where it has no room."""
        if not isinf(limits().quota_for(owner).said_megabytes) and bytes_of_judged(statements) > FACT_BYTES:
            raise Mistake("The sentences about this fact are too long to be kept with a verdict.", "Shorten its names.")
        self.quota.check_words(owner, bytes_of_rows(more) + FACT_BYTES * bool(statements))
        return self.store.of(owner)

    @staticmethod
    def data_of(spec: RunSpec) -> Collection:
        """The facts of a run recorded here. Raises FactsError or UnknownName."""
        return load(spec) if spec.trusted_value("facts") is None else _read(spec)  # anew: a file may have changed since

    def has(self, run: object) -> bool:
        """Whether there is a run of this whole id."""
        try:
            return _is_whole_id(run) and bool(self.store.pulse(str(run)))
        except UnknownName:
            return False

    def held(self, owners: tuple[str, ...]) -> Held:
        """What reviewers hold of facts. owners: whose verdicts count, () for everybody's."""
        return _held(self.store, owners, self.store.verdicts.version())

    def as_now(self, runs: Iterable[Run]) -> list[Run]:
        """Runs with the state that they have now, which a job may know sooner than the database."""
        return [replace(run, state=effective_state(run.state, self.jobs.snapshot(run.run))) for run in runs]

    def asked(self, run: object) -> bool:
        """Whether there is a run of this whole id that asked a model, had it write nothing, and can be read."""
        return self._found(run, self.reports.latest) is not None

    def live(self, run: object) -> Live | None:
        """Such a run as it stands now, None where there is none."""
        return self._found(run, self.reports.live)

    def _found(self, run: object, live: Callable[[str], Live]) -> Live | None:
        try:
            return live(str(run)) if _is_whole_id(run) and not _writes(self.store, str(run)) else None
        except StoreError:
            raise
        except MedfactError:
            return None

    def progress(self, run: Run) -> RunProgress | None:
        """How far a run is, None where it was deleted just now or cannot be read."""
        try:
            return self.reports.progress(run)
        except StoreError:
            raise
        except MedfactError:
            return None

    def token_for(self, owner: str, spec: RunSpec) -> str | None:
        """The token of one who has signed in, to go on with a run at the router; None where a run's file alone names it."""
        service = service_of(spec.model, spec.service)
        return None if service is None or "service" in spec.imported else self.tokens.of(owner, service)

    def signed_out(self, owner: str) -> None:
        """Stops the runs of an owner that call models of the router: what they call them with is forgotten."""
        for record in map(self.store.run, self.jobs.going_runs()):
            service = service_of(record.model, record.spec.service)
            if record.owner == owner and service is not None and is_router(service):
                self.jobs.stop(record.run)

    def close(self) -> None:
        self.set_ups.close()
        self.jobs.close()


@shared_cache(16)
def _held(store: Store, owners: tuple[str, ...], _: tuple[int, int, str]) -> Held:
    """Kept until there is another verdict."""
    return held(opinions(store.verdicts.log(owners=owners)))


def open_services(url: str | None = None) -> Services:
    """Opens the database and begins to load the bundled model, so that the first run need not wait for it."""
    store = Store(url)
    with suppressed(_log, StoreError):  # what was deleted long ago is erased another time
        store.purge()
    jobs = Jobs(store, ask_or_write)
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


def keep_up(services: Services, run: str, over: threading.Event) -> None:
    """Resumes the demonstration whenever it was paused or interrupted, until it is complete or the server ends: after its
    database was away, nobody is there who would.
    """
    while not over.wait(LOOK_SECONDS):
        with suppressed(_log, MedfactError):  # the database is still away
            (now,) = services.as_now([services.run(run)])
            if now.state == COMPLETE:
                return
            if now.state in {PAUSED, INTERRUPTED}:
                services.jobs.submit(run)


def spec_of(source: Source, **numbers: object) -> RunSpec:
    """The spec of a source of facts, with whatever numbers and names are given."""
    return RunSpec.from_record({"model": "", **source, **numbers})


def collection_of(source: Source) -> Collection:
    """The facts of a source, kept for the sources last looked at. Raises FactsError or UnknownName."""
    return collection_of_spec(spec_of(source))


def collection_of_spec(spec: RunSpec) -> Collection:
    """The facts of a spec's source, read once whatever else the specs say that have it. Visitors' files never crowd out the
    bundled data. Raises FactsError or UnknownName.
    """
    source = source_in(spec)
    return _bundled(source) if source.trusted_value("facts") is None else _uploaded(_there(source))


def source_in(spec: RunSpec) -> RunSpec:
    """The source of a spec's facts, as a spec of nothing else."""
    names = [name for name, one in settings_by_name(spec).items() if one.is_source]
    return replace(RunSpec(model="", imported=spec.imported), **{name: getattr(spec, name) for name in names})


_bundled = shared_cache(8)(load)


def _read(source: RunSpec) -> Collection:
    return load_isolated(_there(source))


def _there(source: RunSpec) -> RunSpec:
    """A source whose file is there. Raises FactsError."""
    if not Path(str(source.facts)).exists():
        raise FactsError(f"{Path(str(source.facts)).name} is not kept here any more.", "Upload it again.")
    return source


_uploaded = shared_cache(300_000, lambda collection: len(collection.facts), is_permanent=fails_again)(load_isolated)
