"""Prompts for local chat models: the chat template, and thinking before the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from medfact.errors import ModelError
from medfact.models.local.chat_templates import RENDERER
from medfact.models.prompt import THINKING_TOKENS, Message
from medfact.models.thinking import thinks

THINKING_SWITCH = "enable_thinking"
"""The template argument that turns thinking on and off (in Qwen3 and others since)."""


def _writes_by_itself(tokenizer: Any) -> bool:
    """Whether a tokenizer writes chats with code of its own, which is trusted as all of its code, and not with a template."""
    from transformers import PreTrainedTokenizerBase

    return getattr(type(tokenizer), "apply_chat_template", None) is not PreTrainedTokenizerBase.apply_chat_template


@dataclass(frozen=True)
class ChatFormat:
    """How messages become one text.

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
        text = self._rendered(tokenizer, list(messages))
        if question in text:
            return text
        text = self._rendered(
            tokenizer, [{**message, "content": [{"type": "text", "text": message["content"]}]} for message in messages]
        )
        if question in text:
            return text
        raise ModelError("The model's chat template leaves the question out.", "Use a model whose template takes text.")

    def _rendered(self, tokenizer: Any, messages: list[Any]) -> str:
        switch = {THINKING_SWITCH: self.thinking} if THINKING_SWITCH in str(tokenizer.chat_template) else {}
        if _writes_by_itself(tokenizer):
            options = {**switch, **self.arguments}
            return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True, **options))
        values = {**tokenizer.special_tokens_map, "add_generation_prompt": True, **switch, **self.arguments}
        try:
            template = tokenizer.get_chat_template(values.pop("chat_template", None))
        except ValueError as error:
            raise ModelError(f"The model's chat template cannot be used ({error}).", "Check --template-argument.") from None
        return RENDERER.render(template, messages, values) or ""

    def note(self, tokenizer: Any) -> str | None:
        """A note for a model that thinks although its template cannot turn that off."""
        template = str(tokenizer.chat_template or "")
        if self.thinking or THINKING_SWITCH in template or not thinks(template):
            return None
        return "This model seems to think before it answers. Use --thinking, or its replies may end before the answer."
