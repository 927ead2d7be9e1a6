"""Runs: from a spec to answers on disk, telling what happens as events.

`start` plans and records what will be asked, `answer` asks what is still pending. `run` does both.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass

from medfact import __version__
from medfact.answers import make_prompt, read_answer
from medfact.datasets import Collection
from medfact.errors import MedfactError
from medfact.models import Completion, Model, Prompt, load_model
from medfact.planning import plan, protocol_of, question_of
from medfact.spec import RunSpec
from medfact.store import COMPLETE, FAILED_RUN, STOPPED, Answer, Asked, Run, Store

BATCH = 32
"""Answers saved and told together, at most."""
SECONDS = 0.5
"""So long an answer waits for others, at most."""
WINDOW = 512
"""Statements that a model gets at once, at least, so that it can compute together what they share."""
OF_A_GROUP = 16
"""So many statements of each group, which share their demonstrations, a model gets at once, at least on average."""


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
    """The run ended: complete or stopped, with so many failed calls."""

    run: str
    state: str
    failed: int
    seconds: float


Event = Started | Loading | Answered | Failed | Finished


# ------------------------------------------------------------------------------------------------ run


def run(spec: RunSpec, store: Store, *, stopped: Callable[[], bool] = lambda: False) -> Iterator[Event]:
    """Plans, records and answers a run, and yields what happens. A user's mistake before the first answer is raised."""
    yield from answer(start(spec, store), store, stopped=stopped)


def start(spec: RunSpec, store: Store, collection: Collection | None = None) -> str:
    """Records a run of this spec, before its model loads; returns its id."""
    return store.start_run(spec, plan(spec, collection, store.rejections()), _versions())


def answer(
    run_id: str,
    store: Store,
    *,
    stopped: Callable[[], bool] = lambda: False,
    load: Callable[..., Model] = load_model,
) -> Iterator[Event]:
    """Asks what is pending in a run: all of it at first, what is left or failed after an interruption."""
    record = store.run(run_id)
    asked = store.asked(record.run)
    pending = [a for a in asked if a.answer is None or a.answer.failure is not None]
    yield Started(record.run, len(asked), len(asked) - len(pending))
    begun = time.monotonic()
    done = failed = 0
    try:
        if pending:
            store.set_state(record.run, "running")
            model = yield from _loaded(load, record)
            info = model.info
            store.record_model(
                record.run,
                revision=info["revision"],
                chat=model.chat,
                decoding=dict(info["decoding"]),
                notes=info.get("notes", ()),
            )
            for answers in ask(record.run, pending, model, store, stopped):
                done += len(answers)
                failed += sum(a.failure is not None for a in answers)
                yield Answered(answers)
    except MedfactError as error:
        store.set_state(record.run, FAILED_RUN, str(error))
        yield Failed(record.run, error)
        return
    state = COMPLETE if done == len(pending) else STOPPED
    if pending:
        store.set_state(record.run, state)
    yield Finished(record.run, state, failed, time.monotonic() - begun)


def _loaded(load: Callable[..., Model], record: Run) -> Generator[Loading, None, Model]:
    """Loads a run's model in a thread, and yields what it tells meanwhile; what it raises is raised here."""
    told: queue.SimpleQueue[Loading | Model | BaseException] = queue.SimpleQueue()

    def tell(said: str) -> None:
        told.put(Loading(said))

    def work() -> None:
        try:
            spec = record.spec
            told.put(load(record.model, seed=spec.seed, placement=spec.placement, tell=tell))
        except BaseException as error:
            told.put(error)

    threading.Thread(target=work, daemon=True, name=f"load-{record.model}").start()
    while isinstance(item := told.get(), Loading):
        yield item
    if isinstance(item, BaseException):
        raise item
    yield from (Loading(note) for note in item.info.get("notes", ()))
    return item


def ask(
    run_id: str, pending: Sequence[Asked], model: Model, store: Store, stopped: Callable[[], bool]
) -> Iterator[tuple[Answer, ...]]:
    """Asks statements a window at a time, in which the model chooses the order; yields answers once they are on disk."""
    spec, demonstrations = store.run(run_id).spec, store.demonstrations(run_id)
    question, reading = question_of(spec), protocol_of(spec).reading

    def prompt_of(item: Asked) -> Prompt:
        shots = demonstrations.get(item.shots_of, ())
        return make_prompt(item.statement, shots, chat=model.chat, question=question, reading=reading)

    size = max(WINDOW, OF_A_GROUP * len({item.shots_of for item in pending}))
    for first in range(0, len(pending), size):
        if stopped():
            return
        window = pending[first : first + size]
        prompts = [prompt_of(item) for item in window]
        completions = model.complete(prompts)
        answers = (_answer(window[place], prompts[place], done, model, reading) for place, done in completions)
        for batch in _batches(answers):
            store.save(run_id, batch)
            yield batch
            if stopped():
                return


def _batches(answers: Iterable[Answer]) -> Iterator[tuple[Answer, ...]]:
    """Answers in batches of BATCH, or of what came within SECONDS."""
    batch: list[Answer] = []
    begun = time.monotonic()
    for answer in answers:
        batch.append(answer)
        if len(batch) == BATCH or time.monotonic() - begun > SECONDS:
            yield tuple(batch)
            batch, begun = [], time.monotonic()
    if batch:
        yield tuple(batch)


def _answer(item: Asked, prompt: Prompt, completion: Completion, model: Model, reading: str) -> Answer:
    return Answer(
        statement_id=item.statement.statement_id,
        key=_key(prompt, model),
        answer=None if completion.text is None else read_answer(completion.text, reading),
        p_true=completion.p_true,
        p_mass=completion.p_mass,
        raw=completion.text,
        failure=completion.failure,
        draw=item.draw,
    )


def _key(prompt: Prompt, model: Model) -> str:
    decoding = {**model.info["decoding"], "stop": prompt.stop, "max_tokens": prompt.max_tokens, "settled": prompt.settled_after}
    parts = (model.spec, model.info["revision"], str(prompt.content), str(sorted(decoding.items())))
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()


def _versions() -> dict[str, str]:
    versions = {"medfact": __version__, "python": platform.python_version()}
    for name in ("torch", "transformers", "accelerate", "numpy"):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions
