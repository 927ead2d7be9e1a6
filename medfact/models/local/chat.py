"""Prompts for local chat models: the chat template, and thinking before the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from medfact.errors import ModelError
from medfact.models.prompt import THINKING_TOKENS, Message
from medfact.models.thinking import thinks

THINKING_SWITCH = "enable_thinking"
"""The template argument that turns thinking on and off (in Qwen3 and others since)."""

MAX_CHARACTERS = 4_000_000
"""The longest text that a template may write."""


@dataclass(frozen=True)
class ChatFormat:
    """Writes messages as one text.

    thinking:   let the model think before it answers. arguments: further arguments of its template.
    max_tokens: limit for thinking and answer together.
    """

    thinking: bool = False
    arguments: Mapping[str, Any] = field(default_factory=dict)
    max_tokens: int = THINKING_TOKENS

    def text(self, tokenizer: Any, messages: Sequence[Message]) -> str:
        """Messages as one text by the model's template. Raises ModelError if it cannot write them.

        Templates of models that also read images may expect the content of a message in parts.
        """
        question = messages[-1]["content"].strip()
        in_parts = [{**message, "content": [{"type": "text", "text": message["content"]}]} for message in messages]
        for shaped in (list(messages), in_parts):
            text = self._rendered(tokenizer, shaped)
            if question in text:
                return text
        raise ModelError("The model's chat template leaves the question out.", "Use a model whose template takes text.")

    def _rendered(self, tokenizer: Any, messages: Sequence[Any]) -> str:
        """Renders the template in transformers' sandbox. Returns "" where it expects messages of another shape."""
        switch = {THINKING_SWITCH: self.thinking} if THINKING_SWITCH in str(tokenizer.chat_template) else {}
        options = {**switch, **self.arguments}
        try:
            text = str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True, **options))
        except (TypeError, KeyError, AttributeError):
            return ""
        except Exception as error:  # a template may raise anything
            reason = (str(error).splitlines() or [type(error).__name__])[0][:120]
            raise ModelError(f"The model's chat template cannot be used ({reason}).", "Check --template-argument.") from error
        if len(text) > MAX_CHARACTERS:
            raise ModelError(f"The model's chat template writes more than {MAX_CHARACTERS:,} characters.", "Use another model.")
        return text

    def note(self, tokenizer: Any) -> str | None:
        """A note for a model that thinks although its template cannot turn that off, or that cannot be told how much."""
        template = str(tokenizer.chat_template or "")
        if "reasoning_effort" in self.arguments and not (THINKING_SWITCH in template or "reasoning_effort" in template):
            return "The model's chat template takes no effort, so that it thinks as much as it does by itself."
        if self.thinking or THINKING_SWITCH in template or not thinks(template):
            return None
        return "This model seems to think before it answers. With --thinking it is given room for that from the start."
