"""Runs: from a spec to answers on disk, telling what happens as events.

`start` plans and records what will be asked, `answer` asks what is still pending. `run` does both.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import platform
import queue
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

from medfact import __version__
from medfact.datasets import Collection
from medfact.errors import MedfactError, Mistake, ServiceAway, StoreError
from medfact.models import Completion, Model, ServiceSettings, is_service, load_model
from medfact.models.services.monitor import Monitor
from medfact.models.services.policy import check_imported_run
from medfact.runs.ask import ask
from medfact.runs.costs import Purse, purse_of
from medfact.runs.plan import plan
from medfact.spec import LOCAL_OWNER, RunSpec
from medfact.store import (
    BEAT,
    COMPLETE,
    FAILED_RUN,
    NOTED,
    PAUSED,
    STOPPED,
    Answer,
    Asked,
    Plan,
    Planned,
    Run,
    Store,
    Taken,
)

LOOKS_EVERY = 1.0
"""Seconds between two looks for word that a run is to stop."""
AGAIN = 2.0
"""Seconds between two tries to say in a database that could not be written that it could not."""
STOPS_WITHIN = 1.0
"""Seconds that calls in flight get once a run is stopped: they are paid for. Where its budget is spent, they get their time."""


@dataclass(frozen=True)
class Started:
    """A run was recorded, or is taken up again: its id, how many statements it has and how many have an answer already."""

    run: str
    statements: int
    answered: int


@dataclass(frozen=True)
class Loading:
    """The model is being fetched or loaded: what is going on, in a few words."""

    said: str


@dataclass(frozen=True)
class Answered:
    """Answers that are on disk now, failed calls among them."""

    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class Failed:
    """The run ended for a reason; what was answered is kept."""

    run: str
    error: MedfactError


@dataclass(frozen=True)
class Finished:
    """The run ended: complete, stopped or paused, with so many failed calls, and for a reason where it has one.

    commonest: why most of those calls failed, and how many, where any did.
    """

    run: str
    state: str
    failed: int
    seconds: float
    reason: str | None = None
    commonest: tuple[str, int] | None = None


Event = Started | Loading | Answered | Failed | Finished


# ------------------------------------------------------------------------------------------------ run


def run(spec: RunSpec, store: Store, *, stopped: Callable[[], bool] = lambda: False) -> Iterator[Event]:
    """Plans, records and answers a run, and yields what happens. A user's mistake before the first answer is raised."""
    yield from answer(start(spec, store), store, stopped=stopped)


def start(spec: RunSpec, store: Store, collection: Collection | None = None) -> str:
    """Plans and records a run of this spec, before its model loads; returns its id."""
    return start_planned(spec, plan(spec, collection, store.rejections()), store)


def start_planned(spec: RunSpec, planned: Plan, store: Store) -> str:
    """Records a run that asks what was planned; returns its id."""
    return store.start_run(spec, planned, _versions())


def start_again(run_id: str, store: Store, spec: RunSpec | None = None) -> str:
    """Records a new run of what another one asks, from its record alone: its files may be gone. Returns the new run's id.

    spec: in place of the run's own, for another model, or to ask it in another way.
    """
    other = store.run(run_id)
    return start_planned(spec or other.spec, recorded_plan(other, store), store)


def recorded_plan(record: Run, store: Store) -> Plan:
    """What a run asks, as it was recorded. What was noted of its model is left out: another may be asked."""
    noted = {happened.said for happened in store.happened(record.run, NOTED)}
    notes = [note for note in record.notes if note not in noted]
    return Plan(
        dataset=record.dataset,
        dataset_fingerprint=record.dataset_fingerprint,
        pool=record.pool,
        shots=record.shots,
        statements=tuple(Planned(item.statement, item.shots_of, item.draw) for item in store.asked(record.run)),
        demonstrations=store.demonstrations(record.run),
        notes=(*notes, f"It asks what run {record.run} asked, from the record of that run."),
        pool_text=record.pool_text,
    )


def answer(
    run_id: str,
    store: Store,
    *,
    stopped: Callable[[], bool] = lambda: False,
    load: Callable[..., Model] = load_model,
    key: str | None = None,
    budget: float | None = None,
    service: ServiceSettings | None = None,
) -> Iterator[Event]:
    """Asks what is pending in a run: all of it at first, what is left or failed after an interruption.

    key: of a service; it goes nowhere but there. Without it, no service is asked that only an imported file names. budget: USD
    that the run may cost in all; service: how a service is asked from now on; each in place of its spec's.
    """
    record = store.run(run_id)
    if service is not None:
        record = replace(record, spec=replace(record.spec, service=service))
    pending = _pending(record, store)
    begun = time.monotonic()
    if not pending:
        yield Started(record.run, record.statements, record.statements)
        if record.state != COMPLETE:
            store.set_state(record.run, COMPLETE)
        yield Finished(record.run, COMPLETE, 0, time.monotonic() - begun)
        return
    purse = purse_of(record, store, budget)
    try:
        if key is None:
            check_address(record, store)
        halt = _Halt(stopped)
        before = store.taken_up(record.run)
        taken = store.take_up(record.run)
        if not before and store.is_asked_to_stop(record.run, 0):  # while it waited for its turn
            halt.asked.set()
        if taken.changed != record.changed:  # another process has answered some meanwhile
            pending = _pending(record, store)
    except (Mistake, StoreError) as error:  # nothing is to be asked, another process asks it, or nothing can be written
        yield Failed(record.run, error)
        return
    begin = partial(_loaded, load, record, _Monitor(halt, purse, record.spec.service.timeout), key)
    asking = _asking(record, pending, store, begin, lambda: halt() or purse.empty)
    with _looking_after(record.run, store, taken, halt):
        yield from _told(record, store, taken, asking, len(pending), purse)


@dataclass(frozen=True)
class _Halt:
    """Whether a run is to stop: whoever began to ask it says so, or another program has left word."""

    stopped: Callable[[], bool]
    asked: threading.Event = field(default_factory=threading.Event)

    def __call__(self) -> bool:
        return self.stopped() or self.asked.is_set()


def _told(record: Run, store: Store, taken: Taken, asking: Iterator[Event], pending: int, purse: Purse) -> Iterator[Event]:
    """What happens in a run that this process took up, to its end, which is recorded before it is told."""
    begun, done, failures = time.monotonic(), 0, Counter[str]()
    try:
        yield Started(record.run, record.statements, record.statements - pending)
        for event in asking:
            if isinstance(event, Answered):
                done += len(event.answers)
                failures.update(_without_tries(answer.failure) for answer in event.answers if answer.failure is not None)
            yield event
        state = COMPLETE if done == pending else STOPPED
        reason = purse.reason if state == STOPPED else None
        store.set_state(record.run, state, reason)
    except StoreError as error:
        try:
            yield Failed(record.run, error)  # first, since it may take as long again until something can be written
        finally:
            _end_early(record.run, store, PAUSED, error.public, taken.number)
    except MedfactError as error:
        state = PAUSED if isinstance(error, ServiceAway) else FAILED_RUN
        _end_early(record.run, store, state, error.public, taken.number)
        yield Failed(record.run, error)
    except (GeneratorExit, KeyboardInterrupt):
        with contextlib.suppress(StoreError):
            store.set_state(record.run, STOPPED)
        raise
    else:
        commonest = failures.most_common(1)[0] if failures else None
        yield Finished(record.run, state, failures.total(), time.monotonic() - begun, reason, commonest)


def _without_tries(failure: str) -> str:
    """Why a call failed, without how often it was tried: "too many calls (HTTP 429) (6 tries)"."""
    return re.sub(r" \(\d+ tr(?:y|ies)\)\Z", "", failure)


def _pending(record: Run, store: Store) -> list[Asked]:
    """What is to be asked: statements without an answer, and those whose calls failed."""
    return [item for item in store.asked(record.run) if item.answer is None or item.answer.failure is not None]


def is_ones_own(record: Run, store: Store) -> bool:
    """Whether a run was recorded by the command line of this machine: who runs it has typed the address of its service."""
    return record.owner == LOCAL_OWNER and not store.was_imported(record.run)


def check_address(record: Run, store: Store) -> None:
    """Raises Mistake if a run was imported and names a service that someone must agree to contact."""
    if is_service(record.model) and store.was_imported(record.run):
        check_imported_run(record.run, record.spec.service)


def _asking(
    record: Run,
    pending: Sequence[Asked],
    store: Store,
    model_of: Callable[[], Generator[Loading, None, Model]],
    ended: Callable[[], bool],
) -> Iterator[Event]:
    """Loads the model of a run, and asks it."""
    with contextlib.ExitStack() as after:
        model = yield from model_of()
        after.callback(_let_go, model)
        after.callback(_record_model, record, model, store)
        _record_model(record, model, store)
        noted = model.info.get("notes", ())
        for answers in ask(record.run, pending, model, store, ended):
            yield Answered(answers)
            if model.info.get("notes", ()) != noted:  # a service showed something at its first replies
                noted = model.info.get("notes", ())
                _record_model(record, model, store)


@contextlib.contextmanager
def _looking_after(run_id: str, store: Store, taken: Taken, halt: _Halt) -> Iterator[None]:
    """Gives signs of life while a run is asked, and looks for word that it is to stop."""
    over = threading.Event()

    def look() -> None:
        last_beat = time.monotonic()
        while not over.wait(LOOKS_EVERY):
            with contextlib.suppress(StoreError):
                if time.monotonic() - last_beat > BEAT:
                    last_beat = time.monotonic()
                    store.beat(run_id)
                if store.is_asked_to_stop(run_id, taken.number):
                    halt.asked.set()

    threading.Thread(target=look, daemon=True, name=f"look-{run_id}").start()
    try:
        yield
    finally:
        over.set()


def _end_early(run_id: str, store: Store, state: str, reason: str, taken: int) -> None:
    """Records why a run ended: now, or as soon as the database can be written, unless the run was taken up again meanwhile."""

    def recorded() -> bool:
        with contextlib.suppress(StoreError):
            store.set_state(run_id, state, reason, since=taken)
            return True
        return False

    def later() -> None:
        while not recorded():
            time.sleep(AGAIN)

    if not recorded():
        threading.Thread(target=later, daemon=True, name=f"end-{run_id}").start()


class _Monitor(Monitor):
    """Pays for what a service says as it comes, and ends a run that is stopped or has spent its budget."""

    def __init__(self, halt: _Halt, purse: Purse, timeout: float) -> None:
        self._stopped, self._purse, self._timeout = halt, purse, timeout

    def completed(self, completion: Completion) -> None:
        served = completion.served
        if served is not None:
            self._purse.pay((served.prompt_tokens or 0) - served.wasted_tokens, served.completion_tokens or 0)

    def wasted(self, prompt_tokens: int) -> None:
        self._purse.pay(prompt_tokens, 0)

    def seconds_left(self) -> float | None:
        if self._stopped():
            return STOPS_WITHIN
        return self._timeout if self._purse.empty else None


def _record_model(record: Run, model: Model, store: Store) -> None:
    """What answers depend on: as it is at first, and at the end, since a service may refuse a setting at the first call."""
    info = model.info
    notes = list(info.get("notes", ()))
    if record.model_revision not in (None, info["revision"]):
        notes.append(
            f"The model changed while the run went on: some answers are of revision {record.model_revision}, others of "
            f"{info['revision']}."
        )
    store.record_model(record.run, revision=info["revision"], chat=model.chat, decoding=dict(info["decoding"]), notes=notes)


def _let_go(model: Model) -> None:
    """Ends the connections of a model behind a service; a model on this machine stays for the next run."""
    close = getattr(model, "close", None)
    if close is not None:
        close()


def _loaded(load: Callable[..., Model], record: Run, monitor: Monitor, key: str | None) -> Generator[Loading, None, Model]:
    """Loads a run's model in a thread, and yields what it tells meanwhile; what it raises is raised here."""
    told: queue.SimpleQueue[Loading | Model | BaseException] = queue.SimpleQueue()
    spec = record.spec

    def tell(said: str) -> None:
        told.put(Loading(said))

    def work() -> None:
        try:
            service = replace(spec.service, key=key)
            options = {"placement": spec.placement, "service": service, "monitor": monitor, "tell": tell}
            told.put(load(record.model, seed=spec.seed, **options))
        except BaseException as error:
            told.put(error)

    threading.Thread(target=work, daemon=True, name=f"load-{record.model}").start()
    while isinstance(item := told.get(), Loading):
        yield item
    if isinstance(item, BaseException):
        raise item
    yield from (Loading(note) for note in item.info.get("notes", ()))
    return item


@cache
def _versions() -> dict[str, str]:
    versions = {"medfact": __version__, "python": platform.python_version()}
    for name in ("torch", "transformers", "accelerate", "numpy", "openai"):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions
