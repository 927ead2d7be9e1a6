"""What runs inside a worker of a cluster: a process that holds a model and answers batches."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from medfact.errors import MedfactError
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
