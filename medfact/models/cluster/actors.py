"""Workers of a cluster: Ray actors, each a process that holds the model and answers batches."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from medfact.errors import MedfactError, ModelError, first_line
from medfact.models.local.memory import free_memory
from medfact.models.local.placement import Placement
from medfact.models.prompt import Completion, Prompt
from medfact.models.providers import Model, ModelInfo
from medfact.version import VERSION


@dataclass(frozen=True)
class Description:
    """What a worker says of the model that it holds. version: of medfact on its node."""

    version: str
    chat: bool
    info: ModelInfo


class HeldModel:
    """A model in a process of its own.

    cpus:   threads that it computes with.
    folder: the working folder of whoever started the run, to which a model's path may be relative.
    """

    def __init__(self, spec: str, placement: Placement, seed: int, cpus: int, folder: str) -> None:
        self._spec, self._placement, self._seed, self._cpus, self._folder = spec, placement, seed, cpus, folder
        self._model: Model | None = None

    def load(self) -> Description | MedfactError:
        """Loads the model. An error for users is returned: raised, it would lose its kind on its way."""
        from medfact.models import load_model

        with contextlib.suppress(OSError):  # on another machine there is no such folder
            os.chdir(self._folder)
        try:
            self._model = load_model(self._spec, placement=self._own_share(), seed=self._seed)
        except MedfactError as error:
            return error
        if self._cpus:
            import torch

            torch.set_num_threads(self._cpus)
        return Description(VERSION, self._model.chat, self._model.info)

    def complete(self, prompts: Sequence[Prompt]) -> tuple[list[tuple[int, Completion]], float]:
        """All completions of a batch, and the seconds that they took."""
        assert self._model is not None
        begun = time.perf_counter()
        return list(self._model.complete(prompts)), time.perf_counter() - begun

    def _own_share(self) -> Placement:
        """The placement, with the part of the machine's free memory that goes with this worker's part of its processors."""
        share = self._cpus / (os.cpu_count() or 1)
        if self._placement.memory is not None or not self._cpus or share >= 1:
            return self._placement
        import torch

        if self._placement.device != "cpu" and torch.cuda.is_available():
            return self._placement
        return replace(self._placement, memory=int(free_memory() * share))


REPLACEMENTS = 3
"""Actors started anew for each one at first."""


@dataclass(frozen=True)
class Joined:
    """A worker holds the model and can be asked."""

    worker: int


@dataclass(frozen=True)
class Answered:
    """A worker has answered a batch. seconds: that it computed."""

    worker: int
    batch: int
    completions: list[tuple[int, Completion]]
    seconds: float


@dataclass(frozen=True)
class Lost:
    """A worker is gone, with all its batches. error: what it said itself, if it said anything."""

    worker: int
    why: str
    error: MedfactError | None = None


Event = Joined | Answered | Lost


class Actors:
    """Actors that hold one model: a changing set of workers, known by numbers that are never used twice.

    count: how many. cpus, gpus: of each. description: of the model, as the first one that joined gave it. An actor that is lost
    is replaced, wherever there is room; one that holds another model is dropped.
    """

    def __init__(self, ray: Any, spec: str, placement: Placement, seed: int, count: int, cpus: int, gpus: float) -> None:
        self._ray = ray
        self._class = ray.remote(HeldModel).options(num_cpus=cpus, num_gpus=gpus, max_restarts=0, max_task_retries=0)
        self._arguments = (spec, placement, seed, 0 if gpus else cpus, os.getcwd())
        self.count, self._replacements = count, REPLACEMENTS * count
        self._numbers = itertools.count()
        self._actors: dict[int, Any] = {}
        self._waiting_for: dict[Any, tuple[int, int | None]] = {}  # reference → worker, and its batch; None while it loads
        self.joined: list[int] = []
        self.description: Description | None = None
        for _ in range(count):
            self._start_one()

    @property
    def expected(self) -> int:
        """Workers that are there or on their way."""
        return len(self._actors)

    def submit(self, worker: int, batch: int, prompts: Sequence[Prompt]) -> None:
        """Sends a batch, under a number of the caller's, to a worker that has joined."""
        self._waiting_for[self._actors[worker].complete.remote(prompts)] = worker, batch

    def events(self, seconds: float) -> list[Event]:
        """What has happened; waits this long for the first event."""
        references = list(self._waiting_for)
        if not references:
            return []
        ready, _ = self._ray.wait(references, num_returns=1, timeout=seconds, fetch_local=False)
        if ready:
            ready, _ = self._ray.wait(references, num_returns=len(references), timeout=0, fetch_local=False)
        return [event for reference in ready if (event := self._event(reference)) is not None]

    def close(self) -> None:
        """Ends all actors, and frees what they held."""
        for actor in self._actors.values():
            self._ray.kill(actor)
        self._actors.clear()
        self._waiting_for.clear()
        self.joined.clear()

    def _start_one(self) -> None:
        worker = next(self._numbers)
        self._actors[worker] = self._class.remote(*self._arguments)
        self._waiting_for[self._actors[worker].load.remote()] = worker, None

    def _event(self, reference: Any) -> Event | None:
        if reference not in self._waiting_for:
            return None  # of an actor that was lost a moment ago
        worker, batch = self._waiting_for.pop(reference)
        try:
            result = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:  # its process lives, but it may be out of memory
            return self._lost(worker, first_line(error.cause))
        except self._ray.exceptions.RayError as error:
            return self._lost(worker, first_line(error))
        if batch is not None:
            return Answered(worker, batch, *result)
        return self._loaded(worker, result)

    def _loaded(self, worker: int, result: Description | MedfactError) -> Event:
        if isinstance(result, MedfactError):
            return self._lost(worker, result.problem, result)
        if result.version != VERSION:
            why = f"its node has medfact {result.version}, and this is {VERSION}"
            problem = f"A node of the cluster has medfact {result.version}, and this is {VERSION}."
            return self._lost(worker, why, ModelError(problem, "Install the same version on all."))
        first = self.description = self.description or result
        if (first.info["revision"], first.info["decoding"]) != (result.info["revision"], result.info["decoding"]):
            why = "its node has another revision of the model, or computes it otherwise"
            return self._lost(worker, why, ModelError("The nodes of the cluster hold different models.", "Give all the same."))
        self.joined.append(worker)
        return Joined(worker)

    def _lost(self, worker: int, why: str, error: MedfactError | None = None) -> Lost:
        """Ends an actor, and starts another in its place unless that would go the same way."""
        self._ray.kill(self._actors.pop(worker))
        self._waiting_for = {ref: of for ref, of in self._waiting_for.items() if of[0] != worker}
        self.joined = [other for other in self.joined if other != worker]
        if error is None and self._replacements:
            self._replacements -= 1
            self._start_one()
        return Lost(worker, why, error)
