"""How a local chat model is spoken to: its template, and whether it thinks before it answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from medfact.errors import ModelError
from medfact.models.prompt import Message

THINKING_TOKENS = 4096
"""Tokens for thoughts and answer together, where nobody says how many."""

SWITCH = "enable_thinking"
"""The argument by which templates turn thinking on and off (Qwen3's, and others since)."""

_OPENED = re.compile(r"<(think|thinking|reasoning)>\s*\Z", re.IGNORECASE)


@dataclass(frozen=True)
class Chat:
    """thinking: whether the model thinks before it answers. arguments: what its template is given beside the messages."""

    thinking: bool = False
    arguments: Mapping[str, Any] = field(default_factory=dict)
    max_tokens: int = THINKING_TOKENS

    def text(self, tokenizer: Any, messages: Sequence[Message]) -> str:
        """Messages as one text, as the model's template writes them. Raises ModelError where it cannot.

        Templates of models that also see images may want the content of a message in parts.
        """
        said = messages[-1]["content"].strip()
        text = self._rendered(tokenizer, list(messages))
        if said in text:
            return text
        text = self._rendered(
            tokenizer, [{**message, "content": [{"type": "text", "text": message["content"]}]} for message in messages]
        )
        if said in text:
            return text
        raise ModelError("The model's chat template leaves the question out.", "Use a model whose template takes text.")

    def _rendered(self, tokenizer: Any, messages: list[Any]) -> str:
        switch = {SWITCH: self.thinking} if SWITCH in str(tokenizer.chat_template) else {}
        options = {**switch, **self.arguments}
        try:
            return str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True, **options))
        except (TypeError, KeyError, AttributeError):  # a template that goes through the parts of a content
            return ""
        except Exception as error:  # jinja2's own kinds: a template raises what it likes
            reason = (str(error).splitlines() or [type(error).__name__])[0][:120]
            raise ModelError(f"The model's chat template cannot be used ({reason}).", "Check --template-argument.") from error

    @staticmethod
    def opened_thought(text: str) -> str:
        """The tag of a thought that the template has opened, and the reply will only close; "" where there is none."""
        found = _OPENED.search(text)
        return f"<{found[1]}>\n" if found else ""

    def note(self, tokenizer: Any) -> str | None:
        """What is to be said where a model thinks and its template cannot keep it from that."""
        template = str(tokenizer.chat_template or "")
        if self.thinking or SWITCH in template or not re.search(r"<(?:think|thinking|reasoning)>", template, re.IGNORECASE):
            return None
        return "This model seems to think before it answers: ask it with --thinking, or its replies end before the answer."
