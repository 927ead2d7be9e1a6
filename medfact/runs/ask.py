"""Asking: pending statements become prompts, and a model's completions become answers on disk."""

from __future__ import annotations

import copy
import hashlib
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from functools import cached_property
from itertools import islice
from typing import Any, TypeVar

from medfact.errors import MedfactError
from medfact.models import Completion, Model, Prompt, provider_of, takes_all
from medfact.models.prompt import Served
from medfact.models.stated import read_text, second_turn, with_stated
from medfact.runs.costs import Purse
from medfact.runs.events import AnswersSaved, Loading
from medfact.runs.pool import protocol_of
from medfact.runs.prompts import Demonstrations, prompt_of, states
from medfact.runs.run_model import decoding_of
from medfact.store import Answer, Asked, Run, Store

Item = TypeVar("Item")

BATCH = 128
"""Answers saved at once, at most, as each time waits for the disk; in large runs, 1/32 of the answers saved before."""

_BATCH_SECONDS = 0.5
"""How long an answer waits for others before it is saved."""

SECOND_TURNS = 64
"""Answers after which a model on this machine is asked how sure it was of each."""

_WINDOW_STATEMENTS = 512
"""Statements that a model gets at once, at least, so that it can share the computation of what they have in common."""

_WINDOW_STATEMENTS_PER_GROUP = 32
"""The same for each group of statements that share demonstrations, on average."""


def ask(
    record: Run,
    pending: Sequence[Asked],
    model: Model,
    store: Store,
    purse: Purse,
    stopped: Callable[[], bool],
    race: Iterator[int] | None = None,
) -> Iterator[AnswersSaved | Loading]:
    """Asks statements a window at a time, within which the model chooses the order; or all in batches at a service. Yields
    answers once they are on disk.

    race: the positions before which each window ends, where the run takes part in one (`RacingRuns.windows`).
    """
    prompts = StatementPrompts(record, pending, store.answers.demonstrations(record.run), model)
    if record.spec.reuse and "reuse" not in record.spec.imported:
        reused = _reused_answers(prompts, store.of(record.owner))
        for start in range(0, len(reused), BATCH):
            known_answers = tuple(reused[start : start + BATCH])
            store.answers.save(record.run, known_answers)
            yield AnswersSaved(known_answers)
        known = {(answer.statement_id, answer.draw) for answer in reused}
        prompts = prompts.only([item for item in pending if (item.statement.statement_id, item.draw) not in known])
    if record.spec.is_batched:
        from medfact.runs.batches import ask_in_batches  # brings the HTTP client

        yield from ask_in_batches(record.run, prompts, model, store, purse, stopped)
        return
    saved = 0
    for items in _windows(record, prompts.items, model) if race is None else _windows_of_race(prompts.items, race):
        if stopped():
            return
        window = prompts.only(items)
        for batch in batches(answered(completions(model, window), window.answer), saved):
            if isinstance(batch, Loading):
                yield batch
                continue
            store.answers.save(record.run, batch)
            saved += len(batch)
            yield AnswersSaved(batch)
            if stopped() and not takes_all(model):
                return  # others end by themselves, after what is on its way


def completions(model: Model, prompts: StatementPrompts) -> Iterator[tuple[int, Completion] | str]:
    """The completions of prompts, with what the model states of how sure it is where that is asked. Services ask it by
    themselves, right after each answer, and say what they have the run wait for.
    """
    follow: Callable[[Sequence[Prompt]], Iterator[tuple[int, Completion] | str]] = getattr(model, "follow", model.complete)
    if not prompts.second or provider_of(model.spec).is_remote:
        yield from follow(prompts)
        return
    completed = iter(model.complete(prompts))
    while some := list(islice(completed, None if takes_all(model) else SECOND_TURNS)):
        yield from _stated(model, [(index, prompts[index], reply) for index, reply in some])


def answered(
    arrivals: Iterable[tuple[int, Completion] | str], answer: Callable[[int, Completion], Item]
) -> Iterator[Item | Loading]:
    """Answers made of completions, and the steps between them."""
    return (Loading(arrival) if isinstance(arrival, str) else answer(*arrival) for arrival in arrivals)


def _stated(model: Model, replies: Sequence[tuple[int, Prompt, Completion]]) -> Iterator[tuple[int, Completion]]:
    """The second turns of some replies, together."""
    seconds = {index: second_turn(prompt, reply, chat=model.chat) for index, prompt, reply in replies}
    asked = {index: second for index, second in seconds.items() if second is not None}
    told = {list(asked)[place]: done for place, done in model.complete(list(asked.values()))} if asked else {}
    yield from ((index, with_stated(prompt, reply, told.get(index))) for index, prompt, reply in replies)


def _windows(record: Run, items: Sequence[Asked], model: Model) -> Iterator[Sequence[Asked]]:
    """Statements that a model gets at once."""
    size = max(_WINDOW_STATEMENTS, _WINDOW_STATEMENTS_PER_GROUP * len({item.shots_of for item in items}))
    if takes_all(model):  # it would be idle at the end of each window
        size = max(len(items), 1)
    yield from (items[first : first + size] for first in range(0, len(items), size))


def _windows_of_race(items: Sequence[Asked], race: Iterator[int]) -> Iterator[Sequence[Asked]]:
    """The same in a race. items: by position."""
    first = 0
    for before in race:
        last = bisect_left(items, before, key=lambda item: item.position)
        if last > first:
            yield items[first:last]
        first = last


def _reused_answers(prompts: StatementPrompts, store: Store) -> list[Answer]:
    """Answers of earlier runs to identical prompts, as answers of this run without a call. Their replies are read again."""
    keys = [prompts.key(prompt) for prompt in prompts]
    known = store.answers.reusable(keys)
    read = {key: prompts.read(answer.raw, answer.cut) for key, answer in known.items()}
    if prompts.second:  # how sure a model is was asked of the answer as it was read then
        known = {key: answer for key, answer in known.items() if answer.answer is read[key]}
    free: dict[str, Any] = {"attempts": 0, "prompt_tokens": 0, "completion_tokens": 0, "seconds": 0.0}
    free["reasoning_tokens"] = None
    return [
        replace(known[key], statement_id=item.statement.statement_id, draw=item.draw, answer=read[key], **free)
        for key, item in zip(keys, prompts.items, strict=True)
        if key in known
    ]


class StatementPrompts(Sequence[Prompt]):
    """The prompts of statements, each assembled when it is needed: those of a large run would fill the memory."""

    def __init__(self, record: Run, items: Sequence[Asked], demonstrations: Demonstrations, model: Model) -> None:
        self.items = items
        self._spec, self._demonstrations = record.spec, demonstrations
        self._reading = protocol_of(record.spec).reading
        self._chat, self._model_spec = model.chat, model.spec
        self._revision, self._decoding = model.info["revision"], decoding_of(record, model)
        self.second = states(record.spec)
        self._keys: dict[int, str] = {}

    def only(self, items: Sequence[Asked]) -> StatementPrompts:
        """The prompts of other statements of the same run."""
        prompts = copy.copy(self)
        prompts.items, prompts._keys = items, {}
        return prompts

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: Any) -> Any:
        prompt = self.assembled(index)
        if index not in self._keys:  # computed now, so that the answer need not assemble the prompt again
            self._keys[index] = self.key(prompt)
        return prompt

    def assembled(self, index: int) -> Prompt:
        """The prompt of a statement."""
        return prompt_of(self.items[index], self._demonstrations, self._spec, chat=self._chat)

    def group(self, index: int) -> str:
        """The name of the demonstrations that a prompt shares with others."""
        return self.items[index].shots_of

    def key(self, prompt: Prompt) -> str:
        """A hash of model, revision, prompt and decoding settings."""
        settings = {**self._decoding, "stop": prompt.stop, "max_tokens": prompt.max_tokens, "settled": prompt.settled_after}
        if prompt.settled_after is None:
            settings["reading"] = self._reading  # it decides where P(True) is read
        parts = (self._model_spec, self._revision, str(prompt.content), str(sorted(settings.items())))
        return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()

    def answer(self, index: int, completion: Completion) -> Answer:
        """The answer of a model to one of the statements."""
        item, served = self.items[index], {}
        if completion.served is not None:
            served = {ours: getattr(completion.served, name) for name, ours in _SERVED.items()}
        return Answer(
            statement_id=item.statement.statement_id,
            key=self._keys.pop(index, "") or self.key(self[index]),
            raw=completion.text,
            failure=completion.failure,
            draw=item.draw,
            cut=completion.cut,
            stated=completion.stated,
            answer=self.read(completion.text, completion.cut),
            **{name: None if self._spec.writes else getattr(completion, name) for name in _PROBABILITIES},
            **served,
        )

    def read(self, text: str | None, cut: str | None) -> bool | None:
        """The answer of a reply, as its prompt reads it. cut: as in `Completion`."""
        return read_text(self._sample, text, cut)

    @cached_property
    def _sample(self) -> Prompt:
        """One of the prompts: all of a run read replies alike."""
        return self.assembled(0)


_IS_PART = {"wasted_tokens", "wasted_completion"}
"""Of prompt_tokens and of completion_tokens."""

_SERVED = {one.name: "served_model" if one.name == "model" else one.name for one in fields(Served) if one.name not in _IS_PART}
"""What a service reported → its name in an answer."""

_PROBABILITIES = ("p_true", "p_mass", "p_low", "p_high")
"""Of a completion and of an answer; what is written has none."""


def batches(answers: Iterable[Item | Loading], saved: int) -> Iterator[tuple[Item, ...] | Loading]:
    """Answers in batches; those before an error, or before a step, are yielded before it. saved: number of earlier answers."""
    batch: list[Item] = []
    started = time.monotonic()
    try:
        for answer in answers:
            if isinstance(answer, Loading):
                if batch:
                    yield tuple(batch)
                saved, batch = saved + len(batch), []
                yield answer
                continue
            batch.append(answer)
            if len(batch) >= max(BATCH, saved // 32) or time.monotonic() - started > _BATCH_SECONDS:
                saved += len(batch)
                yield tuple(batch)
                batch, started = [], time.monotonic()
    except MedfactError:
        if batch:
            yield tuple(batch)
        raise
    if batch:
        yield tuple(batch)
