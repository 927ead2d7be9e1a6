"""What the page needs of the rest of the house, made once for an application."""

from __future__ import annotations

import io
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from math import inf, isinf
from pathlib import Path

from medfact.datasets import Collection, load
from medfact.datasets.isolated import fails_again, load_isolated
from medfact.datasets.selection import Held, Rejections
from medfact.errors import FactsError, MedfactError, Mistake, StoreError, UnknownName
from medfact.kept import keep
from medfact.limits import limits
from medfact.models import BUNDLED_MODEL, bundled_revision
from medfact.models.services.settings import DEFAULTS
from medfact.prototypes import load_pool, pool_names
from medfact.results.compare import Comparisons
from medfact.results.live import Reports, state_now
from medfact.reviews.studio import asked_of, bases, edited, edited_pool
from medfact.reviews.verdicts import held, opinions
from medfact.runs.jobs import Jobs
from medfact.runs.plan import NOTHING_HELD, files_of, plan
from medfact.runs.start import start
from medfact.spec import RunSpec, check_numbers
from medfact.statements import Statement
from medfact.store import COMPLETE, RUNNING, Plan, Run, Store
from medfact.store.contributions import FACT_BYTES, bytes_of_judged, bytes_of_rows
from medfact.web.neighbours import Neighbours
from medfact.web.uploads import MEGABYTE, Uploads
from medfact.writing.runs import accepted_pool, ask_or_write

DEMONSTRATION_OWNER = "demonstration"
DEMONSTRATION = RunSpec(model=BUNDLED_MODEL, limit=60, shots=0)
"""The run that a first visitor finds drawn already."""


Source = Mapping[str, object]
"""Where facts come from: a data set, or a file and its columns."""

OWN_DATA = "own"
"""The data set that stands for the visitor's own file."""


@dataclass(frozen=True)
class Choice:
    """What a visitor has chosen on the page Evaluate, for the page Facts to show."""

    source: Source
    protocol: str
    pool: str


class Choices:
    """The last choice of each visitor; of so many visitors, the latest."""

    MOST = 10_000

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Choice] = OrderedDict()

    def note(self, owner: str, choice: Choice) -> None:
        """Remembers a visitor's choice."""
        self._kept[owner] = choice
        self._kept.move_to_end(owner)
        while len(self._kept) > self.MOST:
            self._kept.popitem(last=False)

    def of(self, owner: str) -> Choice | None:
        """A visitor's last choice."""
        return self._kept.get(owner)


class Speeds:
    """How many statements a second a model answered in its last complete run here; looked up once a minute a model.

    What is kept is bounded: a visitor may name any model."""

    KEPT_SECONDS, MOST = 60.0, 1_000

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: OrderedDict[str, tuple[float, float | None]] = OrderedDict()

    def seconds(self, model: str, statements: int) -> float | None:
        """About how long a model takes for so many statements; None where nothing is known of it."""
        since, rate = self._kept.get(model, (-self.KEPT_SECONDS, None))
        if time.monotonic() - since > self.KEPT_SECONDS:
            rate = self._last_rate(model)
            self._kept[model] = time.monotonic(), rate
            self._kept.move_to_end(model)
            while len(self._kept) > self.MOST:
                self._kept.popitem(last=False)
        return statements / rate if rate else None

    def _last_rate(self, model: str) -> float | None:
        run = self._store.last_complete(model)
        if run is None:
            return None
        begun, ended = (
            [event.at for event in self._store.state_changes(run.run) if event.what == what] for what in (RUNNING, COMPLETE)
        )
        if not begun or not ended:
            return None
        seconds = (datetime.fromisoformat(ended[-1]) - datetime.fromisoformat(begun[-1])).total_seconds()
        return run.statements / max(seconds, 0.1)


@dataclass(frozen=True, eq=False)
class Services:
    """The database, the jobs on it, the reports of its runs, and what visitors have handed in."""

    store: Store
    jobs: Jobs
    reports: Reports
    comparisons: Comparisons
    uploads: Uploads = field(default_factory=Uploads)
    choices: Choices = field(default_factory=Choices)
    neighbours: Neighbours = field(default_factory=Neighbours)
    planning: threading.RLock = field(default_factory=threading.RLock)
    """Held while a visitor's runs are counted and new ones are begun; never while something slow is done."""

    @cached_property
    def speeds(self) -> Speeds:
        """How fast models have answered here."""
        return Speeds(self.store)

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

    def check_files(self, owner: str, spec: RunSpec) -> None:
        """Raises Mistake where a spec names a file that is not one of this visitor's."""
        for name in files_of(spec):
            self.uploads.of(owner, name)

    def drafted_pool(self, owner: str, writing: str) -> Path:
        """A file of the visitor's: the pool of the drafts that the visitor has accepted in a writing. Raises Mistake."""
        return self._own_file(owner, "drafted.yaml", accepted_pool(self.run(writing).run, self.store.of(owner)))

    def studio_text(self, owner: str, pool: str, source: Source | None = None) -> str:
        """The pool file, as YAML, of what this visitor has edited of a pool; of a source of facts, what can state them.

        Raises MedfactError.
        """
        if pool not in bases():
            raise Mistake("There is no such pool to edit.", "Choose one on the page Studio.")
        base = load_pool(pool)
        relations = edited(base, self.store.of(owner).prototype_edits.log(pool))
        if source is not None:
            relations = asked_of(relations, {fact.relation for fact in collection_of(source).facts})
        return edited_pool(base, relations)

    def studio_pool(self, owner: str, pool: str, source: Source) -> Path:
        """A file of the visitor's: a pool with what this visitor has edited of it, for some facts. Raises MedfactError."""
        return self._own_file(owner, "studio.yaml", self.studio_text(owner, pool, source))

    def _own_file(self, owner: str, name: str, text: str) -> Path:
        return self.uploads.put(owner, name, io.BytesIO(text.encode()))

    def log_of(self, owner: str, more: Sequence[object], statements: Sequence[Statement] = ()) -> Store:
        """The store, to record what an owner says. more: that, as rows or texts. Raises Mistake where it has no room."""
        most = limits().of(owner).said_megabytes * MEGABYTE
        if isinf(most):
            return self.store.of(owner)
        if bytes_of_judged(statements) > FACT_BYTES:
            raise Mistake("The sentences about this fact are too long to be kept with a verdict.", "Shorten its names.")
        if self.store.contributions.bytes(owner).get(owner, 0) + bytes_of_rows(more) + FACT_BYTES * bool(statements) > most:
            raise Mistake(
                f"What you have said here takes {most / MEGABYTE:g} MB, which is the most on this server.",
                "Download your verdicts, and erase some of what you have said, on Review, Studio or Facts; then go on.",
            )
        return self.store.of(owner)

    @staticmethod
    def data_of(spec: RunSpec) -> Collection:
        """The facts of a run recorded here. Raises FactsError or UnknownName."""
        return load(spec) if spec.opened("facts") is None else _read(spec)  # anew: a file may have changed since

    def has(self, run: object) -> bool:
        """Whether there is a run of this whole id."""
        try:
            return isinstance(run, str) and bool(re.fullmatch(r"[0-9a-f]{32}", run) and self.store.pulse(run))
        except UnknownName:
            return False

    def held(self, owners: tuple[str, ...]) -> Held:
        """What reviewers hold of facts. owners: whose verdicts count, () for everybody's."""
        return _held(self.store, owners, self.store.verdicts.version())

    def as_now(self, runs: Iterable[Run]) -> list[Run]:
        """Runs with the state that they have now, which a job may know sooner than the database."""
        return [replace(run, state=state_now(run, self.jobs.snapshot(run.run))) for run in runs]

    def asked(self, run: object) -> bool:
        """Whether there is a run of this whole id that asked a model, had it write nothing, and can be read."""
        try:
            return self.has(run) and self.store.run(str(run)).spec.task is None and bool(self.reports.live(str(run)))
        except StoreError:
            raise
        except MedfactError:
            return False

    def close(self) -> None:
        self.jobs.close()


@keep(16)
def _held(store: Store, owners: tuple[str, ...], _: tuple[int, int, str]) -> Held:
    """Kept until there is another verdict."""
    return held(opinions(store.verdicts.log(owners=owners)))


def open_services(url: str | None = None) -> Services:
    """Opens the database and begins to load the bundled model, so that the first run need not wait for it."""
    store = Store(url)
    with suppress(StoreError):  # what was deleted long ago is erased another time
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


def checked_source(services: Services, owner: str, record: Mapping[str, object]) -> Source:
    """A source as a browser sends it back. Raises Mistake where its file is not this visitor's."""
    file = services.uploads.of(owner, record.get("facts"))
    columns = record.get("columns")
    pairs = [pair for pair in columns if isinstance(pair, list) and len(pair) == 2] if isinstance(columns, list) else []
    return {"facts": str(file), "columns": [[str(ours), str(theirs)] for ours, theirs in pairs]}


def spec_of(source: Source, **numbers: object) -> RunSpec:
    """The spec of a source of facts, with whatever numbers and names are given."""
    return RunSpec.from_record({"model": "", **source, **numbers})


def collection_of(source: Source) -> Collection:
    """The facts of a source, kept for the sources last looked at. Raises FactsError or UnknownName."""
    return collection_of_spec(spec_of(source))


def planned(spec: RunSpec, source: Source, rejections: Rejections, held: Held = NOTHING_HELD, most: float = inf) -> Plan:
    """What a run of this spec asks of the facts of a source, and of whatever model: several models at once ask the same, and
    many visitors do. most: statements that it may ask. Raises MedfactError."""
    check_numbers(spec)
    of_any_model = replace(spec, model="", service=DEFAULTS, budget=None)
    return _planned(of_any_model, spec_of(source), tuple(sorted(rejections.items())), most, tuple(sorted(held.items())))


def plan_again(services: Services, owner: str, spec: RunSpec, most: float) -> Plan:
    """The plan of a recorded spec for a visitor, whose own files are all that it may name. most: statements that it may ask.
    Raises MedfactError.
    """
    services.check_files(owner, spec)
    rejections = tuple(sorted(services.store.of(owner).decisions.rejections().items()))
    return _planned(replace(spec, model="", service=DEFAULTS, budget=None), _source_in(spec), rejections, most)


def _source_in(spec: RunSpec) -> RunSpec:
    """The source of a spec's facts, as a spec of nothing else."""
    names = ("dataset", "facts", "columns", "rela", "sab", "language", "imported")
    return replace(RunSpec(model=""), **{name: getattr(spec, name) for name in names})


@keep(100_000, lambda made: len(made.statements))
def _planned(
    spec: RunSpec,
    source: RunSpec,
    rejections: tuple[tuple[str, frozenset[str]], ...],
    most: float,
    held: tuple[tuple[str, bool], ...] = (),
) -> Plan:
    return plan(spec, collection_of_spec(source), dict(rejections), dict(held), most)


def collection_of_spec(source: RunSpec) -> Collection:
    """The facts of a spec's source. Visitors' files never crowd out the bundled data. Raises FactsError or UnknownName."""
    return _bundled(source) if source.opened("facts") is None else _uploaded(_there(source))


_bundled = keep(8)(load)


def _read(source: RunSpec) -> Collection:
    return load_isolated(_there(source))


def _there(source: RunSpec) -> RunSpec:
    """A source whose file is there. Raises FactsError."""
    if not Path(str(source.facts)).exists():
        raise FactsError(f"{Path(str(source.facts)).name} is not kept here any more.", "Upload it again.")
    return source


_uploaded = keep(300_000, lambda collection: len(collection.facts), fails=fails_again)(load_isolated)
