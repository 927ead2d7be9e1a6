"""A Python function as a model: prompts in, replies out."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from medfact.errors import ModelError
from medfact.models import FUNCTION, Completion, Prompt

if TYPE_CHECKING:
    from medfact.models import ModelInfo

Reply = str | bool | None
Function = Callable[[list[str]], Sequence[Reply]]
"""Replies to prompts, one each and in their order: a text; True or False; or None where there is none, to be asked again."""

NO_REPLY = "the function gave no reply"


@dataclass(frozen=True)
class FunctionModel:
    """A function as a model. batch: most prompts that it gets at once."""

    spec: str
    function: Function
    batch: int
    info: ModelInfo
    chat: bool = False

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """Raises ModelError where the function fails, or gives something else than a reply to each prompt."""
        for start in range(0, len(prompts), self.batch):
            texts = [str(prompts[place].content) for place in range(start, min(start + self.batch, len(prompts)))]
            for place, reply in enumerate(self._replies(texts), start):
                yield place, self._completion(reply)

    def _replies(self, texts: list[str]) -> Sequence[Reply]:
        try:
            replies = self.function(list(texts))
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"[:300]
            raise ModelError(f"{self.spec} failed ({reason}).", "Answers so far are kept: mend it and `resume`.") from error
        unordered = isinstance(replies, Mapping | Set)  # what they iterate over are no replies, or in no order
        if isinstance(replies, str) or unordered or not hasattr(replies, "__len__") or not hasattr(replies, "__iter__"):
            kind = type(replies).__name__
            raise ModelError(f"{self.spec} returned {kind}, not a list.", "Return a list with one reply a prompt.")
        if len(replies) != len(texts):
            raise ModelError(
                f"{self.spec} returned {len(replies)} replies to {len(texts)} prompts.",
                "Return one reply a prompt, in their order.",
            )
        return replies

    def _completion(self, reply: Any) -> Completion:
        if reply is None:
            return Completion(None, failure=NO_REPLY)
        if isinstance(reply, str):
            return Completion(reply)
        if isinstance(reply, bool) or type(reply).__name__ in {"bool", "bool_"}:  # numpy's among them
            return Completion(str(bool(reply)))
        kind = type(reply).__name__
        raise ModelError(f"{self.spec} gave a reply of type {kind}.", "A reply is a text, True, False, or None for none.")


def function_model(function: Function, batch: int) -> FunctionModel:
    """The model of a function. Its revision is a hash of its source, where that can be read."""
    name = getattr(function, "__name__", type(function).__name__).strip("<>")
    try:
        revision = hashlib.sha256(inspect.getsource(function).encode()).hexdigest()[:16]
    except (OSError, TypeError):
        revision = "unknown"
    note = "It is a Python function of a notebook: only there can the run be resumed, with `resume(function)`."
    return FunctionModel(f"{FUNCTION}{name}", function, batch, {"revision": revision, "decoding": {}, "notes": (note,)})
