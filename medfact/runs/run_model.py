"""The model of a run: loaded while its progress is shown, recorded, and closed."""

from __future__ import annotations

import atexit
import contextlib
import queue
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, TypeVar

from medfact.errors import Mistake
from medfact.extras import not_installed_errors
from medfact.limits import acting_as_host, is_restricted
from medfact.models import Model, check_spec, provider_of
from medfact.models.providers import Monitor
from medfact.runs.events import Loading
from medfact.runs.plan import facts_aside
from medfact.runs.prompts import states
from medfact.store import Run, Store


def loaded_model(load: Callable[..., Model], record: Run, monitor: Monitor, key: str | None) -> Generator[Loading, None, Model]:
    """Loads a run's model in a thread, yields the steps meanwhile and the model's notes, and returns the model.

    Raises what `load` raises, and Mistake where only a run's file names where the model is.
    """
    spec = record.spec
    check_source(record)
    service = replace(spec.service, key=key, effort=spec.effort)
    if states(spec) or spec.writes:
        service = replace(service, top_logprobs=0)  # nothing would come of them
    placement = spec.placement.at_effort(spec.effort)
    options = {"placement": placement, "service": service, "monitor": monitor, "aside": lambda: facts_aside(spec)}
    model = yield from with_progress(lambda tell: load(record.model, seed=spec.seed, tell=tell, **options), record.model)
    yield from (Loading(note) for note in model.info.get("notes", ()))
    return model


def check_source(record: Run) -> None:
    """Raises Mistake where only a run's file names the folder or repository that the model, or its encoder, is loaded from."""
    if "model" not in record.spec.imported or not provider_of(record.model).names_source(record.model):
        return
    check_spec(record.model)  # of a model that a public server never loads, it says no more than that
    raise Mistake(
        f"Run {record.run} was imported from a file, which names the model {record.model}.",
        "If you trust that model, resume it at the command line with --yes; or choose it in a new run.",
    )


Result = TypeVar("Result")

STATED = "stated"
"""Where P(True) comes from if the model was asked how sure it is."""

PATIENCE_S = 30.0
"""Seconds that Python waits at its end for work that still goes on in threads."""

_working: set[threading.Thread] = set()


@atexit.register
def _wait_for_work() -> None:
    """Waits at the end of the process, as after Ctrl-C, for a model that is being loaded: a thread that Python ends amid
    native code aborts the whole process. A second Ctrl-C ends the waiting.
    """
    until = time.monotonic() + PATIENCE_S
    with contextlib.suppress(KeyboardInterrupt):
        for thread in tuple(_working):
            thread.join(max(0.0, until - time.monotonic()))


def with_progress(work: Callable[[Callable[[str], None]], Result], name: str) -> Generator[Loading, None, Result]:
    """Does long work in a thread, yields what it tells meanwhile, and returns its result. Raises what it raises."""
    steps: queue.SimpleQueue[Loading | None] = queue.SimpleQueue()
    ended: Future[Result] = Future()
    for_host = not is_restricted()

    def run() -> None:
        try:
            with not_installed_errors(), acting_as_host(is_host=for_host):
                ended.set_result(work(lambda step: steps.put(Loading(step))))
        except BaseException as error:
            ended.set_exception(error)
        steps.put(None)
        _working.discard(threading.current_thread())

    thread = threading.Thread(target=run, daemon=True, name=f"load-{name}")
    _working.add(thread)
    thread.start()
    while (step := steps.get()) is not None:
        yield step
    return ended.result()


def record_model(record: Run, model: Model, store: Store, changed: Sequence[str] = ()) -> None:
    """Records what answers depend on. Done at the start and at the end: a service may refuse a setting at the first call.

    changed: notes on what differs from the model that gave earlier answers.
    """
    info = model.info
    notes = [*info.get("notes", ()), *changed]
    decoding = decoding_of(record, model)
    store.record_model(record.run, revision=info["revision"], chat=model.chat, decoding=decoding, notes=notes)


def decoding_of(record: Run, model: Model) -> dict[str, Any]:
    """The settings that answers depend on: the model's, and where P(True) comes from if the run asks for it."""
    return {**model.info["decoding"], **({"p_true": STATED} if states(record.spec) else {})}


def takes_turns(record: Run, model: Model) -> bool:
    """Whether a model takes the turns of a chat."""
    return not model.info["decoding"].get("completions") if provider_of(record.model).is_remote else model.chat


def note_on_turns(record: Run, model: Model) -> str | None:
    """A note where a model that takes no messages is asked how sure it is."""
    if takes_turns(record, model) or not states(record.spec):
        return None
    return "The model takes no messages, so how sure it is was asked in a text that it goes on with."


class NotesOnModel:
    """The notes on a model while it is asked. Its replies may give rise to new ones, which are recorded at once."""

    def __init__(self, record: Run, model: Model, store: Store, changed: Sequence[str]) -> None:
        self._record, self._model, self._store, self._changed = record, model, store, changed
        self._known = {*model.info.get("notes", ())}

    def new(self, *of_replies: str | None) -> list[str]:
        """What is new since the last look. of_replies: notes that the replies gave rise to, None for none."""
        noted = [*self._model.info.get("notes", ()), *filter(None, of_replies)]
        new = [note for note in noted if note not in self._known]
        if new:
            record_model(self._record, self._model, self._store, (*self._changed, *new))
            self._known.update(new)
        return new


def changes(record: Run, model: Model) -> tuple[str, ...]:
    """What differs from the model that gave a run's first answers, as on a machine that computes in another number format."""
    some, info, found = "while the run went on: some answers are", model.info, []
    if record.model_revision not in (None, info["revision"]):
        found.append(f"The model changed {some} of revision {record.model_revision}, others of {info['revision']}.")
    before, now = _number_format(record.decoding), _number_format(info["decoding"])
    if before not in (None, now):
        found.append(f"The number format changed {some} in {before}, others in {now}. Rounding may decide close calls.")
    return tuple(found)


def _number_format(decoding: Mapping[str, Any]) -> str | None:
    """Of the weights, and of the logits where these are computed in another; None if the answers have none."""
    logits = f" with logits in {decoding['logits']}" if "logits" in decoding else ""
    return f"{decoding['dtype']}{logits}" if "dtype" in decoding else None


def close(model: Model) -> None:
    """Closes a service's connections. A model on this machine has none; it stays loaded for the next run."""
    end = getattr(model, "close", None)
    if end is not None:
        end()
