"""Hugging Face's ZeroGPU: a shared GPU, lent to a decorated function for a slice of time, out of a visitor's daily quota.

A slice is a process of its own, forked when it begins. A model is loaded into main memory, outside all slices, and each slice
moves it to the GPU: the package's emulation of CUDA outside slices does not reach transformers' threads that load weights.

Source: the documentation of Spaces, "ZeroGPU" (the `spaces` package, its decorator `GPU` and its `duration`, which may be a
function of the arguments), and of Gradio, "Using ZeroGPU Spaces with the Clients" (the header by which a visitor is known).
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any, TypeVar, cast

from cachetools import TTLCache

from medfact.errors import MedfactError, ServiceDown
from medfact.models.prompt import Completion, Prompt
from medfact.models.providers import Model, ModelInfo

Result = TypeVar("Result")

SHORTEST_SECONDS, FIRST_SECONDS, LONGEST_SECONDS = 10, 30, 60
"""Lengths of the slices requested: at least, while a model's pace is not known, and at most. Shorter ones wait less."""

MOVING_SECONDS = 4
"""What is added to each slice for moving weights to the GPU."""

USED_SHARE = 0.7
"""Share of a slice after which no further pack starts; the rest is for packs under way."""

QUOTA = "visitors without an account have about two minutes a day, free accounts about five"
"""What the documentation says of the daily quota."""

VISITOR_HEADER = "x-ip-token"
"""The header in which the Hub says whose quota a request is of."""

LONGEST_MESSAGE = 300


def is_there() -> bool:
    """Whether this is a Space with ZeroGPU."""
    return bool(os.environ.get("SPACES_ZERO_GPU")) and importlib.util.find_spec("spaces") is not None


def prepare() -> None:
    """Imports the `spaces` package where this is such a Space: it must come before torch, whose calls to CUDA it replaces."""
    if is_there():
        importlib.import_module("spaces")


def announce() -> None:
    """Tells such a Space that this app computes in slices. The package does so when Gradio launches a page; ours is mounted."""
    if not is_there():
        return
    importlib.import_module("spaces").GPU(duration=LONGEST_SECONDS)(_nothing)
    begin = getattr(importlib.import_module("spaces.zero"), "startup", None)
    if begin is not None:
        begin()


def _nothing() -> None:
    """Stands for the models, which are decorated when they are loaded."""


# ------------------------------------------------------------------------------------------------ whose quota

_visitors: TTLCache[str, str] = TTLCache(10_000, 3_600)
"""Owner → what the Hub said last of whose quota the owner's requests are: in memory alone."""

_lock = threading.Lock()
_owner: ContextVar[str] = ContextVar("owner of the run", default="")


def note_visitor(owner: str, token: str) -> None:
    """Keeps what the Hub says of a visitor with each request."""
    if token and is_there():
        with _lock:
            _visitors[owner] = token


def ask_for(owner: str) -> None:
    """From now on, slices that this thread asks for are of this owner's quota."""
    _owner.set(owner)


def _tell_whose() -> None:
    """Tells the `spaces` package whose quota it is: it looks for that in the request that the page library answers."""
    with _lock:
        token = _visitors.get(_owner.get(), "")
    if token:
        headers = _Headers({VISITOR_HEADER: token, "x-gradio-user": "app"})
        importlib.import_module("spaces.utils").gradio_request_var().set(SimpleNamespace(headers=headers))


class _Headers(dict[str, Any]):
    """A request's headers, as the package looks into them."""


# ------------------------------------------------------------------------------------------------ slices


def lent(task: Callable[..., Result]) -> tuple[Callable[..., Result], Callable[[], None]]:
    """A task that gets the GPU: its last argument says for how many seconds. The second function forgets it and its model:
    the package keeps every function that it has marked.
    """
    held = [task]

    def on_gpu(*arguments: Any) -> tuple[Any, MedfactError | None]:
        try:
            return held[0](*arguments), None
        except MedfactError as error:  # the package would tell nothing but its kind
            return None, error

    marked = importlib.import_module("spaces").GPU(duration=lambda *arguments: arguments[-1])(on_gpu)

    def called(*arguments: Any) -> Result:
        result, error = marked(*arguments)
        if error is not None:
            raise error
        return cast(Result, result)

    return called, held.clear


def within_quota(seconds: int, work: Callable[[int], Result]) -> Result:
    """What `work` gives in a slice of so many seconds. Where the quota has less left, a shorter one is asked for. Raises
    ServiceDown where none is lent.
    """
    _tell_whose()
    while True:
        try:
            return work(seconds)
        except Exception as error:
            refusal = _refusal(error)
            if refusal is None:
                raise
            if seconds <= SHORTEST_SECONDS or not is_of_quota(error):
                raise refusal from None
        seconds = max(SHORTEST_SECONDS, seconds // 2)


def computed(model: Any, work: Callable[[], Result]) -> Result:
    """What is found out with a model that has just been loaded: in a slice where the GPU is lent, else here."""
    if not is_there():
        return work()

    def task(_: int) -> Result:
        move(model)
        return work()

    call, forget = lent(task)
    try:
        return within_quota(FIRST_SECONDS, call)
    finally:
        forget()


def move(model: Any) -> None:
    """Moves a model's weights to the GPU, if there is one here: in a slice, not before."""
    import torch

    weights = getattr(model, "model", None)
    if isinstance(weights, torch.nn.Module) and torch.cuda.is_available():
        weights.to("cuda")


@dataclass
class Sliced:
    """A local model that computes in slices of a shared GPU. pace: seconds a prompt took in the last one."""

    spec: str
    chat: bool
    info: ModelInfo
    work: Callable[[Sequence[Prompt], int], tuple[list[tuple[int, Completion]], float]]
    pace: float | None = None

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """As the model's own. Prompts that one slice leaves go into the next. Raises ServiceDown where none is lent."""
        remaining = list(range(len(prompts)))
        while remaining:
            asked = [prompts[index] for index in remaining]
            done, took = within_quota(self._seconds_for(len(asked)), partial(self.work, asked))
            self.pace = took / max(len(done), 1)
            yield from ((remaining[at], completion) for at, completion in done)
            answered = {at for at, _ in done}
            remaining = [index for at, index in enumerate(remaining) if at not in answered]

    def _seconds_for(self, prompts: int) -> int:
        if self.pace is None:
            return FIRST_SECONDS
        return min(LONGEST_SECONDS, max(SHORTEST_SECONDS, MOVING_SECONDS + math.ceil(prompts * self.pace / USED_SHARE)))


def in_slices(model: Model) -> Sliced:
    """A local model that computes on ZeroGPU; each slice answers at least one prompt."""

    def work(prompts: Sequence[Prompt], seconds: int) -> tuple[list[tuple[int, Completion]], float]:
        begun, done = time.monotonic(), []
        move(model)
        for answer in model.complete(prompts):
            done.append(answer)
            if time.monotonic() - begun > USED_SHARE * seconds:
                break
        return done, time.monotonic() - begun

    call, forget = lent(work)
    sliced = Sliced(model.spec, model.chat, model.info, call)
    weakref.finalize(sliced, forget)
    return sliced


def is_of_quota(error: Exception) -> bool:
    """Whether the `spaces` package says that a quota has too little left."""
    return "quota" in str(getattr(error, "title", ""))


def _refusal(error: Exception) -> ServiceDown | None:
    """Why no slice was lent, in a sentence; None of any other error. The package raises the page library's, with a title."""
    title = str(getattr(error, "title", ""))
    if not title.startswith("ZeroGPU"):
        return None
    said = " ".join(str(getattr(error, "message", error)).split())[:LONGEST_MESSAGE].rstrip(" .")
    return ServiceDown(
        f"{title}: {said}.",
        f"The answers so far are kept: resume the run later ({QUOTA}), or ask a model behind a service.",
    )
