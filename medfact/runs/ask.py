"""Asking: pending statements become prompts, and what a model says becomes answers on disk."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from medfact.answers import Demonstration, make_prompt, read_answer
from medfact.errors import MedfactError
from medfact.models import LENGTH, Completion, Model, Prompt, Served, is_service, is_settled
from medfact.runs.plan import protocol_of, question_of
from medfact.store import Answer, Asked, Run, Store

BATCH = 32
"""Answers saved and told together at first, at most; later a thirty-second part of those that came before."""
SECONDS = 0.5
"""So long an answer waits for others, at most."""
WINDOW = 512
"""Statements that a model gets at once, at least, so that it can compute together what they share."""
OF_A_GROUP = 32
"""So many statements of each group, which share their demonstrations, a model gets at once, at least on average."""


def ask(
    run_id: str, pending: Sequence[Asked], model: Model, store: Store, stopped: Callable[[], bool]
) -> Iterator[tuple[Answer, ...]]:
    """Asks statements a window at a time, in which the model chooses the order; yields answers once they are on disk."""
    record = store.run(run_id)
    prompts = _Prompts(record, pending, store.demonstrations(run_id), model)
    if record.spec.reuse:
        reused = _reused(prompts, store)
        for start in range(0, len(reused), BATCH):
            batch = tuple(reused[start : start + BATCH])
            store.save(run_id, batch)
            yield batch
        given = {(answer.statement_id, answer.draw) for answer in reused}
        prompts = prompts.only([item for item in pending if (item.statement.statement_id, item.draw) not in given])
    size = max(WINDOW, OF_A_GROUP * len({item.shots_of for item in pending}))
    if is_service(record.model):  # which would be idle at the end of each window
        size = max(len(prompts), 1)
    came = 0
    for first in range(0, len(prompts), size):
        if stopped():
            return
        window = prompts.only(prompts.items[first : first + size])
        answers = (window.answer(place, completion) for place, completion in model.complete(window))
        for batch in _batches(answers, came):
            store.save(run_id, batch)
            came += len(batch)
            yield batch
            if stopped() and not is_service(record.model):
                return  # a service's model ends by itself, with what had arrived


def _reused(prompts: _Prompts, store: Store) -> list[Answer]:
    """Answers of earlier runs to identical prompts, as answers of this run that took no call."""
    keys = [prompts.key(prompts[place]) for place in range(len(prompts))]
    known = store.answers_of(keys)
    return [
        replace(
            known[key],
            statement_id=item.statement.statement_id,
            draw=item.draw,
            attempts=0,
            prompt_tokens=0,
            completion_tokens=0,
            seconds=0.0,
        )
        for key, item in zip(keys, prompts.items, strict=True)
        if key in known
    ]


class _Prompts(Sequence[Prompt]):
    """The prompts of statements, each made when it is looked at: of a large run they would fill the memory."""

    def __init__(self, record: Run, items: Sequence[Asked], shots: Mapping[str, Sequence[Demonstration]], model: Model) -> None:
        self.items = items
        self._shots, self._chat, self._spec = shots, model.chat, model.spec
        self._question, self._reading = question_of(record.spec), protocol_of(record.spec).reading
        info = model.info
        self._key = (info["revision"], dict(info["decoding"]))
        self._keys: dict[int, str] = {}

    def only(self, items: Sequence[Asked]) -> _Prompts:
        made = copy.copy(self)
        made.items, made._keys = items, {}
        return made

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, place: Any) -> Any:
        item = self.items[place]
        shots = self._shots.get(item.shots_of, ())
        made = make_prompt(item.statement, shots, chat=self._chat, question=self._question, reading=self._reading)
        if place not in self._keys:  # while it is at hand: its answer will need its key
            self._keys[place] = self.key(made)
        return made

    def key(self, prompt: Prompt) -> str:
        """A hash of model, revision, prompt and decoding settings."""
        revision, decoding = self._key
        all_ = {**decoding, "stop": prompt.stop, "max_tokens": prompt.max_tokens, "settled": prompt.settled_after}
        if prompt.settled_after is None:
            all_["reading"] = self._reading  # which says where P(True) is read
        parts = (self._spec, revision, str(prompt.content), str(sorted(all_.items())))
        return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()

    def answer(self, place: int, completion: Completion) -> Answer:
        """What a model said to one of the statements."""
        item, served = self.items[place], completion.served
        return Answer(
            statement_id=item.statement.statement_id,
            key=self._keys.pop(place, "") or self.key(self[place]),
            answer=_read(completion, self._reading),
            p_true=completion.p_true,
            p_mass=completion.p_mass,
            raw=completion.text,
            failure=completion.failure,
            draw=item.draw,
            p_low=completion.p_low,
            p_high=completion.p_high,
            cut=completion.cut,
            **({} if served is None else _said(served)),
        )


def _read(completion: Completion, reading: str) -> bool | None:
    """What a completion says. One that was cut off for its length has answered only where its opening word settles it, as that
    ends a reply on this machine; one that was held back has not.
    """
    if completion.text is None or completion.cut not in (None, LENGTH):
        return None
    if completion.cut == LENGTH and not is_settled(completion.text):
        return None
    return read_answer(completion.text, reading)


def _said(served: Served) -> dict[str, Any]:
    said = dataclasses.asdict(served)
    del said["wasted_tokens"]  # included in the prompt's tokens
    return {"served_model": said.pop("model"), **said}


def _batches(answers: Iterable[Answer], came: int) -> Iterator[tuple[Answer, ...]]:
    """Answers in batches. came: how many there were before. What came before an error is given before it is raised."""
    batch: list[Answer] = []
    begun = time.monotonic()
    try:
        for answer in answers:
            batch.append(answer)
            if len(batch) >= max(BATCH, came // 32) or time.monotonic() - begun > SECONDS:
                came += len(batch)
                yield tuple(batch)
                batch, begun = [], time.monotonic()
    except MedfactError:
        if batch:
            yield tuple(batch)
        raise
    if batch:
        yield tuple(batch)
