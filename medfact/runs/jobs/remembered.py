"""A local model that remembers its latest replies: on a server, many visitors ask the same with what the page suggests.

Local models decode greedily, so the same prompt gets the same reply.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock

from cachetools import LRUCache

from medfact.models import Completion, Model, ModelInfo, Prompt, Served

REPLIES = 100_000
"""Replies that are remembered: the last ones given."""

NO_CALL = Served(prompt_tokens=0, completion_tokens=0, attempts=0)


@dataclass
class RememberedModel:
    """A model in the place of `model`, which is asked what it was not asked lately."""

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
