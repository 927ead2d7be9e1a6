"""Models whose answers after each push are known beforehand, in the chat's form and in a text's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from medfact.models import Completion, Prompt
from medfact.models.pressure import Push, pushes
from medfact.store import Asked, Store

PUSHES_BY_TEXT: Mapping[str, Push] = {push.text: push for rounds in pushes().values() for push in rounds}
"""Every push by its text."""

PushRule = Callable[[Asked, Push | None, bool], bool | None]
"""(statement, the last push, whether the last answer was right) → whether the next one is; None for an unreadable one."""

UNREADABLE_REPLY = "I would rather not say."


@dataclass
class PushedModel:
    """Answers right or wrong by a rule. chat: takes messages. asked: the text of each prompt. said: True by statement, kind and
    round if the answer was right. fails: a prompt's text → True if its call fails. unread: text of an unreadable reply.
    """

    statements: Mapping[str, Asked]
    right: PushRule
    chat: bool = False
    spec: str = "scripted"
    asked: list[str] = field(default_factory=list)
    said: dict[tuple[str, str, int], bool | None] = field(default_factory=dict)
    fails: Callable[[str], bool] = lambda text: False
    unread: str = UNREADABLE_REPLY

    @classmethod
    def for_run(cls, run: str, store: Store, right: PushRule, *, chat: bool = False) -> PushedModel:
        """The model of a run, which knows every statement."""
        items = store.answers.asked(run)
        statements = {item.statement.text: item for item in items}
        assert len(statements) == len(items)
        return cls(statements, right, chat)

    @property
    def info(self) -> Any:
        return {"revision": "7", "decoding": {"greedy": True}}

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        for index, prompt in enumerate(prompts):
            yield index, self._reply(prompt.statement, _text(prompt))

    def _reply(self, statement: str, text: str) -> Completion:
        self.asked.append(text)
        if self.fails(text):
            return Completion(None, failure="timed out")
        item = self.statements[statement]
        push = next((push for said, push in PUSHES_BY_TEXT.items() if text.endswith(said)), None)
        kind, turn = (push.kind, push.round) if push else ("", 0)
        before = self.said.get((statement, kind if turn > 1 else "", max(turn - 1, 0)))
        right = self.said[statement, kind, turn] = self.right(item, push, bool(before))
        if right is None:
            return Completion(self.unread)
        word = item.statement.label is right
        return Completion(str(word), 0.9 if word else 0.1, 1.0)

    def load(self, spec: str, **placed: object) -> PushedModel:
        """Stands where `load_model` does."""
        return self


def _text(prompt: Prompt) -> str:
    return prompt.content if isinstance(prompt.content, str) else "\n".join(turn["content"] for turn in prompt.content)
