"""Runs in threads of this process, and the local model that stays loaded between them."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import Any

from cachetools import LRUCache

from medfact.errors import MedfactError
from medfact.limits import acting_as_host
from medfact.models import HERE, Completion, Model, ModelInfo, Placement, Prompt, Served, check_spec, is_local, load_model
from medfact.runs.jobs.job import Ask, JobUpdate, Together, ask_run
from medfact.runs.racing import RacingRuns
from medfact.runs.supervision import End, by_hand
from medfact.store import STOPPED, Store

REPLIES = 100_000
"""Replies that are remembered: the last ones given."""

NO_CALL = Served(prompt_tokens=0, completion_tokens=0, attempts=0)


@dataclass
class RememberedModel:
    """A local model in the place of `model`, which is asked what it was not asked lately: on a server, many visitors ask the
    same with what the page suggests. Local models decode greedily, so the same prompt gets the same reply.
    """

    model: Model
    _replies: LRUCache[Hashable, Completion] = field(default_factory=lambda: LRUCache(REPLIES))
    _lock: Lock = field(default_factory=Lock)

    @property
    def spec(self) -> str:
        return self.model.spec

    @property
    def chat(self) -> bool:
        return self.model.chat

    @property
    def info(self) -> ModelInfo:
        return self.model.info

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """The index of each prompt and its completion: first of those that are remembered, which took no call."""
        keys = [_key(prompt) for prompt in prompts]
        with self._lock:
            known = {index: reply for index, key in enumerate(keys) if (reply := self._replies.get(key)) is not None}
        yield from ((index, replace(reply, served=NO_CALL)) for index, reply in known.items())
        new = [index for index in range(len(keys)) if index not in known]
        for place, completion in self.model.complete([prompts[index] for index in new]) if new else ():
            index = new[place]
            if completion.failure is None:
                with self._lock:
                    self._replies[keys[index]] = completion
            yield index, completion


def _key(prompt: Prompt) -> Hashable:
    """What a reply, and where its answer is read, depend on."""
    content = hashlib.sha256(str(prompt.content).encode()).digest()
    limits = (prompt.stop, prompt.max_tokens, prompt.enough_tokens, prompt.settled_after)
    return content, prompt.choices, limits, prompt.answers, prompt.place


class RunThreads:
    """Asks runs, each in a thread. report: gets the updates of each run, from its thread."""

    def __init__(self, store: Store, load: Callable[..., Model], report: Callable[[str, JobUpdate], None], ask: Ask) -> None:
        self._store, self._load, self._report, self._ask = store, load, report, ask
        self._stops: dict[str, threading.Event] = {}
        self._ends: dict[str, End] = {}
        self._races: dict[str, RacingRuns] = {}
        self._absent: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    def ask(
        self, run: str, key: str | None, budget: float | None, race: Together | None = None, for_host: bool = False
    ) -> None:
        """Starts to ask a run. key: of its service. budget: USD for the whole run, replaces that of its spec. race: the runs
        that it races with; all of them must be asked here, soon after each other. for_host: as `Job.for_host`.
        """
        self._stops[run] = threading.Event()
        self._ends.pop(run, None)
        how = {"stopped": self._stops[run].is_set, "stopped_as": lambda: self._ends.get(run, by_hand())}
        options: dict[str, Any] = {**how, "load": self._load, "key": key, "budget": budget}
        if race is not None:
            options["race"] = partial(self._racing, race, run)

        def ask() -> None:
            with acting_as_host(is_host=for_host):
                ask_run(self._ask, run, self._store, lambda update: self._report(run, update), **options)

        threading.Thread(target=ask, daemon=True, name=f"run-{run}").start()

    def _racing(self, race: Together, run: str) -> RacingRuns:
        """The race of these runs, the same for each of them. Nobody waits there for runs that could not enter."""
        with self._lock:
            if race.token not in self._races:
                self._races = {token: racing for token, racing in self._races.items() if racing.goes_on}
                try:
                    racing = RacingRuns([self._store.run(other) for other in race.runs], self._store)
                except MedfactError:
                    self._absent.add((race.token, run))
                    raise
                for other in race.runs:
                    if (race.token, other) in self._absent:
                        racing.leave(other)
                self._races[race.token] = racing
            return self._races[race.token]

    def stop(self, run: str, state: str = STOPPED, reason: str | None = None) -> None:
        """Asks a run to end, in a state and for a reason."""
        if run in self._stops:
            self._ends[run] = state, reason
            self._stops[run].set()

    def stop_all(self) -> None:
        for stop in list(self._stops.values()):
            stop.set()


class ModelCache:
    """Keeps the last local model loaded, for the next run. Other models are loaded each time."""

    def __init__(self, load: Callable[..., Model] = load_model) -> None:
        self._load = load
        self._models: dict[tuple[str, Placement], Model] = {}
        self._last_use = time.monotonic()
        self._lock = threading.Lock()

    def load(self, spec: str, *, placement: Placement = HERE, **options: object) -> Model:
        """The model of a spec, placed so. options: of `load_model`."""
        if not is_local(spec):
            return self._load(spec, placement=placement, **options)
        check_spec(spec)  # one that is loaded may be a folder of the host's
        with self._lock:
            self._last_use = time.monotonic()
            if (spec, placement) not in self._models:
                self._clear()
                self._models[spec, placement] = RememberedModel(self._load(spec, placement=placement, **options))
            return self._models[spec, placement]

    def idle_seconds(self) -> float:
        """Time since a model was last needed."""
        return time.monotonic() - self._last_use

    def release(self) -> None:
        """Frees the model, unless one is being loaded."""
        if self._models and self._lock.acquire(blocking=False):
            with contextlib.ExitStack() as at_end:
                at_end.callback(self._lock.release)
                self._clear()

    def _clear(self) -> None:
        self._models.clear()
        gc.collect()
