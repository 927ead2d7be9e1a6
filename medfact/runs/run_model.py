"""The model of a run: loaded while its progress is shown, recorded, and closed."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator
from dataclasses import replace

from medfact.models import Model
from medfact.models.services.monitor import Monitor
from medfact.runs.events import Loading
from medfact.runs.plan import facts_aside
from medfact.store import Run, Store


def loaded_model(load: Callable[..., Model], record: Run, monitor: Monitor, key: str | None) -> Generator[Loading, None, Model]:
    """Loads a run's model in a thread, yields the steps meanwhile and the model's notes, and returns the model.

    Raises what `load` raises.
    """
    messages: queue.SimpleQueue[Loading | Model | BaseException] = queue.SimpleQueue()
    spec = record.spec

    def work() -> None:
        try:
            service = replace(spec.service, key=key)
            options = {"placement": spec.placement, "service": service, "monitor": monitor, "aside": lambda: facts_aside(spec)}
            messages.put(load(record.model, seed=spec.seed, tell=lambda step: messages.put(Loading(step)), **options))
        except BaseException as error:
            messages.put(error)

    threading.Thread(target=work, daemon=True, name=f"load-{record.model}").start()
    while isinstance(message := messages.get(), Loading):
        yield message
    if isinstance(message, BaseException):
        raise message
    yield from (Loading(note) for note in message.info.get("notes", ()))
    return message


def record_model(record: Run, model: Model, store: Store) -> None:
    """Records what answers depend on. Done at the start and at the end: a service may refuse a setting at the first call."""
    info = model.info
    notes = list(info.get("notes", ()))
    if record.model_revision not in (None, info["revision"]):
        notes.append(
            f"The model changed while the run went on: some answers are of revision {record.model_revision}, others of "
            f"{info['revision']}."
        )
    store.record_model(record.run, revision=info["revision"], chat=model.chat, decoding=dict(info["decoding"]), notes=notes)


def close(model: Model) -> None:
    """Closes a service's connections. A model on this machine has none; it stays loaded for the next run."""
    end = getattr(model, "close", None)
    if end is not None:
        end()
