"""Asking a recorded run: `answer` asks its pending statements and yields events; `run` records it first."""

from __future__ import annotations

import contextlib
import re
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

from medfact.answers.reading import COMMITTED
from medfact.errors import MedfactError, Mistake, ServiceDown, StoreError
from medfact.models import Model, ServiceSettings, load_model, service_of
from medfact.models.services.policy import check_imported_run
from medfact.runs.ask import ask
from medfact.runs.board import board_of
from medfact.runs.checks import check_addresses
from medfact.runs.costs import Purse, note_on_upstreams, purse_of
from medfact.runs.events import AnswersSaved, Event, Failed, Finished, Loading, Noted, PushesSaved, Started
from medfact.runs.first_replies import FirstReplies, Monotony, ServedModels, keywords_alone, thinking_in_words
from medfact.runs.gating import AgainstBaseline
from medfact.runs.patience import PatientStore
from medfact.runs.pool import protocol_of
from medfact.runs.pressure import note_on_pushes, press, pushes_due
from medfact.runs.racing import RacingRuns
from medfact.runs.retrieve import retrieve_for
from medfact.runs.run_model import NotesOnModel, changes, close, loaded_model, note_on_turns, record_model, with_progress
from medfact.runs.start import start
from medfact.runs.supervision import End, RunMonitor, StopSignal, by_hand, record_end, supervised
from medfact.spec import BOUNDS, LOCAL_OWNER, RunSpec, check_numbers
from medfact.store import COMPLETE, DECIDED, FAILED_RUN, PAUSED, STOPPED, WAITING, Answer, Asked, Run, Store


def run(spec: RunSpec, store: Store, *, stopped: Callable[[], bool] = lambda: False) -> Iterator[Event]:
    """Plans, records and asks a run, and yields events. Raises Mistake if the spec is wrong."""
    yield from answer(start(spec, store), store, stopped=stopped)


def answer(
    run_id: str,
    store: Store,
    *,
    stopped: Callable[[], bool] = lambda: False,
    load: Callable[..., Model] = load_model,
    key: str | None = None,
    budget: float | None = None,
    service: ServiceSettings | None = None,
    race: Callable[[], RacingRuns | AgainstBaseline] | None = None,
    stopped_as: Callable[[], End] = by_hand,
) -> Iterator[Event]:
    """Asks the pending statements of a run: all of them at first; after an interruption, the rest and failed calls.

    key: of a service, and sent only there. Without it, a service that only a run's file names is not asked.
    budget: USD for the whole run. service: settings from now on. Both replace those of the run's spec.
    race: the race that it takes part in, whose other runs must be asked at the same time, or the check that ends it.
    stopped_as: the state and the reason of a run that `stopped` has ended.
    """
    stop = StopSignal(stopped, stopped_as)
    patience = PatientStore(store, stop)
    with contextlib.ExitStack() as at_end:
        racing = race() if race else None
        if racing:
            at_end.callback(racing.leave, run_id)
        yield from _answer(run_id, patience, stop, load, key, budget, service, racing)


def _check(record: Run, key: str | None, budget: float | None) -> None:
    """Raises Mistake where a run as it is recorded may not be asked."""
    check_numbers(record.spec)
    BOUNDS["spec.budget"].check(budget)
    if key is None:
        check_address(record)


def _answer(
    run_id: str,
    patience: PatientStore,
    stop: StopSignal,
    load: Callable[..., Model],
    key: str | None,
    budget: float | None,
    service: ServiceSettings | None,
    race: RacingRuns | AgainstBaseline | None,
) -> Iterator[Event]:
    store = cast(Store, patience)
    record = store.run(run_id)
    if service is not None:
        record = replace(record, spec=replace(record.spec, service=service))
        check_addresses(record.spec)
    pending = _pending(record, store)
    if not pending and not pushes_due(record, store):
        yield Started(record.run, record.statements, record.statements)
        if record.state != COMPLETE:
            store.set_state(record.run, COMPLETE)
        yield Finished(record.run, COMPLETE, 0, 0.0)
        return
    purse = purse_of(record, store, budget)
    try:
        _check(record, key, budget)
        claim = _claim(record, store, stop)
        if store.pulse(record.run)[0] != record.changed + 1:  # another process has answered some meanwhile
            pending = _pending(record, store)
    except (Mistake, StoreError) as error:
        yield Failed(record.run, error)
        return
    watch = RunMonitor(stop, purse, record.spec.service.timeout, patience.hangs)
    load_it = partial(loaded_model, load, record, watch, key)
    batch = record.spec.is_batched  # which is paid, so that it is collected
    events = _ask(record, pending, store, load_it, purse, lambda: stop() or (purse.empty and not batch), key, race)

    def end_after(answered: int) -> End:
        if answered == len(pending) and all(one.has_failed for one in pushes_due(record, store)):
            return COMPLETE, None
        return _early_end(record, race, purse, stop)

    with supervised(record.run, patience.hasty, claim, stop):
        yield from _until_end(record, patience, claim, events, len(pending), end_after)


def _early_end(record: Run, race: RacingRuns | AgainstBaseline | None, purse: Purse, stop: StopSignal) -> End:
    """The state of a run that did not ask all that was pending, and why."""
    ended = race.end_of(record.run) if race else None
    if ended and (ended[0] == DECIDED or not stop()):
        return ended
    return (STOPPED, purse.reason) if purse.empty else stop.how()


def _pending(record: Run, store: Store) -> list[Asked]:
    """Statements without an answer, and those whose calls failed."""
    return [item for item in store.answers.asked(record.run) if item.answer is None or item.answer.failure is not None]


def _claim(record: Run, store: Store, stop: StopSignal) -> int:
    """Makes this process the one that works on the run. A request to stop it while it waited for a turn counts."""
    before = store.last_claim(record.run)
    claim = store.claim(record.run)
    if (not before or record.state == WAITING) and store.is_asked_to_stop(record.run, before):
        stop.asked.set()
    return claim


def _ask(
    record: Run,
    pending: Sequence[Asked],
    store: Store,
    load: Callable[[], Generator[Loading, None, Model]],
    purse: Purse,
    stopped: Callable[[], bool],
    key: str | None,
    race: RacingRuns | AgainstBaseline | None,
) -> Iterator[Event]:
    """Retrieves the passages of a run, loads its model, and asks it."""
    pending = yield from with_progress(partial(retrieve_for, record, pending, store, stopped, key), record.run)
    with contextlib.ExitStack() as at_end:
        with race.turn(record.run) if race else contextlib.nullcontext():
            model = yield from load()
        at_end.callback(close, model)
        changed = changes(record, model) if len(pending) < record.statements else ()
        at_end.callback(record_model, record, model, store, changed)
        record_model(record, model, store, changed)
        notes, monotony = NotesOnModel(record, model, store, changed), Monotony(record.model)
        first, served = FirstReplies(record.spec.asked_in), ServedModels()
        windows = at_end.enter_context(contextlib.closing(race.windows(record.run, stopped))) if race else None
        for event in ask(record, pending, model, store, purse, stopped, windows):
            yield event
            if isinstance(event, AnswersSaved):
                of_questions = () if record.spec.writes else event.answers  # what is written answers nothing
                of_replies = *first.notes_on(of_questions), monotony.note(event.answers), served.note(event.answers)
                yield from map(Noted, notes.new(*of_replies))
        yield from map(Noted, notes.new(*first.notes_at_end(), *_notes_on_answers(record, model, store)))
        if record.spec.pressure and not stopped():
            yield from press(record, model, store, stopped)
            yield from map(Noted, notes.new(note_on_pushes(record, model)))


def _notes_on_answers(record: Run, model: Model, store: Store) -> Iterator[str | None]:
    """Notes on all answers of a run; None for those that are not needed."""
    yield note_on_turns(record, model)
    yield thinking_in_words(store.answers.thinking_cut(record.run))
    yield note_on_upstreams(record, store)
    if protocol_of(record.spec).reading != COMMITTED and not record.spec.writes:
        yield keywords_alone(board_of(store, record.run).records())


def _until_end(
    record: Run,
    patience: PatientStore,
    claim: int,
    events: Iterator[Event],
    pending: int,
    end_after: Callable[[int], End],
) -> Iterator[Event]:
    """The events of a claimed run and, once its end is recorded, how it ended. end_after: its state and why, after so many
    statements were asked.
    """
    started, done, failures = time.monotonic(), 0, Counter[str]()
    try:
        yield Started(record.run, record.statements, record.statements - pending)
        for event in events:
            if isinstance(event, AnswersSaved):
                done += len(event.answers)
                failures.update(_failures(event.answers))
            elif isinstance(event, PushesSaved):
                failures.update(_failures(one.answer for one in event.answers))
            yield event
        state, reason = end_after(done)
        patience.set_state(record.run, state, reason)
    except StoreError as error:
        try:
            yield Failed(record.run, error)  # before the record, which may have to wait for the database
        finally:
            record_end(record.run, patience.hasty, PAUSED, error.public, claim)
    except MedfactError as error:
        record_end(record.run, patience.hasty, PAUSED if isinstance(error, ServiceDown) else FAILED_RUN, error.public, claim)
        yield Failed(record.run, error)
    except (GeneratorExit, KeyboardInterrupt):
        with contextlib.suppress(StoreError):
            patience.hasty.set_state(record.run, STOPPED, since=claim)
        raise
    else:
        commonest = failures.most_common(1)[0] if failures else None
        yield Finished(record.run, state, failures.total(), time.monotonic() - started, reason, commonest)


def _failures(answers: Iterable[Answer]) -> Iterator[str]:
    """Why calls failed, without the number of tries: "too many calls (HTTP 429) (6 tries)"."""
    return (re.sub(r" \(\d+ tr(?:y|ies)\)\Z", "", answer.failure) for answer in answers if answer.failure is not None)


def is_ones_own(record: Run) -> bool:
    """Whether the address of a run's service was typed at the command line of this machine."""
    return record.owner == LOCAL_OWNER and "service" not in record.spec.imported


def check_address(record: Run) -> None:
    """Raises Mistake if a run asks a service that only a run's file names."""
    service = service_of(record.model, record.spec.service)
    if service is not None and "service" in record.spec.imported:
        check_imported_run(record.run, service)
