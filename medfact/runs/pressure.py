"""Asking under pressure: once its answers are saved, a run's pushes are asked, round by round, and saved as they come.

What is left to ask follows from what is on disk, so that a run that is killed at any moment goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from medfact.models import Completion, Model, Prompt, provider_of, takes_all
from medfact.models.pressure import ROUNDS, Push, Replied, kinds_asked, most_pushes, pressed, pushes
from medfact.runs.ask import StatementPrompts, answered, batches, completions
from medfact.runs.events import Loading, PushesSaved
from medfact.runs.prompts import Demonstrations
from medfact.runs.run_model import takes_turns
from medfact.spec import RunSpec
from medfact.store import Answer, Asked, PushedAnswer, Run, Store

_PUSHES_AT_ONCE = 2048
"""Pushes that a model on this machine gets at once: those against one answer share all that stands before them."""

IN_A_TEXT = "The model takes no messages, so each push stands in a text that it goes on with."
"""A note for the reader of a run."""


@dataclass(frozen=True, slots=True)
class Due:
    """A push that is to be asked. replies: those so far, the last of which it pushes. said: the pushes so far, with it."""

    item: Asked
    replies: tuple[Replied, ...]
    said: tuple[Push, ...]

    @property
    def push(self) -> Push:
        return self.said[-1]

    @property
    def has_failed(self) -> bool:
        """Whether it was asked before, in vain."""
        return any((one.kind, one.round) == (self.push.kind, self.push.round) for one in self.item.pushed)


def press(record: Run, model: Model, store: Store, stopped: Callable[[], bool]) -> Iterator[PushesSaved | Loading]:
    """Asks the pushes of a run that have no answer yet or failed, round after round. Yields answers once they are on disk."""
    demonstrations = store.answers.demonstrations(record.run)
    for turn in range(1, ROUNDS + 1):
        todo, done, of = _standing(record, store)
        todo = [one for one in todo if one.push.round == turn]
        size = max(len(todo), 1) if takes_all(model) else _PUSHES_AT_ONCE
        for first in range(0, len(todo), size):
            if stopped():
                return
            window = _PushPrompts(record, todo[first : first + size], demonstrations, model)
            for batch in batches(answered(completions(model, window), window.pushed), done):
                if isinstance(batch, Loading):
                    yield batch
                    continue
                store.pushes.save(record.run, batch)
                done += len(batch)
                yield PushesSaved(batch, done, of)
                if stopped() and not takes_all(model):
                    return  # others end by themselves, after what is on its way


def pushes_due(record: Run, store: Store) -> list[Due]:
    """The pushes of a run that were never asked or failed, of each conversation the next one."""
    return _standing(record, store)[0] if record.spec.pressure else []


def note_on_pushes(record: Run, model: Model) -> str | None:
    """A note where a model that takes no messages is pushed."""
    return IN_A_TEXT if record.spec.pressure and not takes_turns(record, model) else None


def _standing(record: Run, store: Store) -> tuple[list[Due], int, int]:
    """What is due, how many answers after pushes are there, and how many there can be at most."""
    asked = [item for item in store.answers.asked(record.run) if item.answer and item.answer.answer is not None]
    todo = [one for item in asked for one in _due(item, record.spec)]
    done = sum(one.answer.failure is None for item in asked for one in item.pushed)
    return todo, done, most_pushes(record.spec.pressure, len(asked))


def _due(item: Asked, spec: RunSpec) -> Iterator[Due]:
    """The next push of each kind against an answer. A reply with nothing in it ends the conversation."""
    of_item = {(one.kind, one.round): one.answer for one in item.pushed}
    for kind in kinds_asked(spec.pressure):
        replies, rounds = [_replied(item.answer)], pushes()[kind]
        for number, push in enumerate(rounds, 1):
            if replies[-1].is_empty:
                break
            answer = of_item.get((kind, push.round))
            if answer is None or answer.failure is not None:
                yield Due(item, tuple(replies), rounds[:number])
                break
            replies.append(_replied(answer))


def _replied(answer: Answer | None) -> Replied:
    return Replied(answer.raw or "", answer.answer) if answer else Replied("", None)


class _PushPrompts(StatementPrompts):
    """The prompts of pushes, each assembled when it is needed."""

    def __init__(self, record: Run, todo: Sequence[Due], demonstrations: Demonstrations, model: Model) -> None:
        super().__init__(record, [one.item for one in todo], demonstrations, model)
        self._todo = todo
        self._takes_turns, self._is_remote = takes_turns(record, model), provider_of(record.model).is_remote

    def assembled(self, index: int) -> Prompt:
        """The conversation up to a push. A model on this machine that was asked in a text goes on with that."""
        one, prompt = self._todo[index], super().assembled(index)
        return pressed(prompt, one.replies, one.said, chat=self._takes_turns and (self._is_remote or prompt.is_chat))

    def pushed(self, index: int, completion: Completion) -> PushedAnswer:
        """The answer of a model after a push."""
        push = self._todo[index].push
        return PushedAnswer(push.kind, push.round, self.answer(index, completion))

    def only(self, items: Any) -> StatementPrompts:
        raise TypeError("Pushes are asked as they are due.")
