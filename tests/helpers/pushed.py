"""Models with predetermined answers after each push, for chats and for plain text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from medfact.models import Completion, Prompt
from medfact.models.pressure import Push, pushes
from medfact.store import Asked, Store

PUSHES_BY_TEXT: Mapping[str, Push] = {push.text: push for rounds in pushes().values() for push in rounds}
"""Text of a push → the push."""

PushRule = Callable[[Asked, Push | None, bool], bool | None]
"""(statement, last push, True if the last answer was right) → True if the next one is; None for an unreadable reply."""

UNREADABLE_REPLY = "I would rather not say."


@dataclass
class PushedModel:
    """Model that answers each statement right or wrong by a rule, at first and after each push."""

    statements: Mapping[str, Asked]  # by text
    rule: PushRule
    chat: bool = False  # True if it takes messages, False if it takes a plain text
    spec: str = "scripted"
    texts: list[str] = field(default_factory=list)  # of the prompts
    was_right: dict[tuple[str, str, int], bool | None] = field(default_factory=dict)  # by statement, kind and round of push
    is_failing: Callable[[str], bool] = lambda text: False  # text of a prompt → True if its call fails
    unreadable_reply: str = UNREADABLE_REPLY

    @classmethod
    def for_run(cls, run: str, store: Store, rule: PushRule, *, chat: bool = False) -> PushedModel:
        """Returns a model that knows the statements of a recorded run. run: its id."""
        items = store.answers.asked(run)
        statements = {item.statement.text: item for item in items}
        assert len(statements) == len(items)
        return cls(statements, rule, chat)

    @property
    def info(self) -> Any:
        """Revision and decoding, as a real model reports them."""
        return {"revision": "7", "decoding": {"greedy": True}}

    def complete(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """Yields the index of each prompt with its reply."""
        for index, prompt in enumerate(prompts):
            yield index, self._reply(prompt.statement, _text(prompt))

    def _reply(self, statement: str, text: str) -> Completion:
        """Returns the reply to a prompt. statement: the text of its statement. text: its whole text, which ends with a push."""
        self.texts.append(text)
        if self.is_failing(text):
            return Completion(None, failure="timed out")
        item = self.statements[statement]
        push = next((push for push_text, push in PUSHES_BY_TEXT.items() if text.endswith(push_text)), None)
        kind, turn = (push.kind, push.round) if push else ("", 0)
        before = self.was_right.get((statement, kind if turn > 1 else "", max(turn - 1, 0)))
        is_right = self.was_right[statement, kind, turn] = self.rule(item, push, bool(before))
        if is_right is None:
            return Completion(self.unreadable_reply)
        word = item.statement.label is is_right
        return Completion(str(word), 0.9 if word else 0.1, 1.0)

    def load(self, spec: str, **placed: object) -> PushedModel:
        """Returns this model for any arguments; a stand-in for `load_model`."""
        return self


def _text(prompt: Prompt) -> str:
    """Returns the whole text of a prompt; messages are joined by line breaks."""
    return prompt.content if isinstance(prompt.content, str) else "\n".join(turn["content"] for turn in prompt.content)
