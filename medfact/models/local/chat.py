"""Prompts for local chat models: the chat template, and thinking before the answer.

A template is rendered in another process that has little memory and few seconds: a repository may bring any program.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medfact.errors import ModelError
from medfact.models.prompt import THINKING_TOKENS, Message
from medfact.models.thinking import thinks

THINKING_SWITCH = "enable_thinking"
"""The template argument that turns thinking on and off (in Qwen3 and others since)."""


PROGRAM = Path(__file__).with_name("template_process.py")

TOO_MUCH = "it takes too much time or memory"


class Renderer:
    """One process, begun when the first text is wanted and again after it has ended. Several threads may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._begun_by = 0

    def render(self, template: str, messages: Sequence[Any], values: Mapping[str, Any]) -> str | None:
        """The text of messages; None where the template expects them in another shape. Raises ModelError where it fails."""
        asked = json.dumps({"template": template, "messages": messages, "values": values}, default=str)
        with self._lock:
            reply = self._asked(asked)
        if "error" in reply:
            raise ModelError(f"The model's chat template cannot be used ({reply['error']}).", "Check --template-argument.")
        return reply.get("text")

    def close(self) -> None:
        """Ends the process, which ends with its input; another begins where more is wanted."""
        with self._lock:
            if self._process is not None and self._begun_by == os.getpid():
                self._process.communicate()
            self._process = None

    def _asked(self, line: str) -> dict[str, Any]:
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(line + "\n")
            process.stdin.flush()
            said = process.stdout.readline()
        except BrokenPipeError:
            said = ""
        if not said:
            process.kill()
            process.communicate()
            return {"error": TOO_MUCH}
        return dict(json.loads(said))

    def _running(self) -> subprocess.Popen[str]:
        """The process; another one after a fork, where this one's pipes are somebody else's. Raises ModelError."""
        if self._process is None or self._process.poll() is not None or self._begun_by != os.getpid():
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            command = [sys.executable, "-P", str(PROGRAM)]
            self._process = subprocess.Popen(command, text=True, encoding="utf-8", errors="surrogatepass", **pipes)  # type: ignore[call-overload]
            self._begun_by = os.getpid()
            assert self._process.stdout is not None
            if not self._process.stdout.readline():
                raise ModelError(
                    "The process that writes prompts for chat models does not start.", "Install transformers again."
                )
        return self._process


RENDERER = Renderer()
atexit.register(RENDERER.close)


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
        """A note for a model that thinks although its template cannot turn that off, or that cannot be told how much."""
        template = str(tokenizer.chat_template or "")
        if "reasoning_effort" in self.arguments and not (THINKING_SWITCH in template or "reasoning_effort" in template):
            return "The model's chat template takes no effort, so that it thinks as much as it does by itself."
        if self.thinking or THINKING_SWITCH in template or not thinks(template):
            return None
        return "This model seems to think before it answers. With --thinking it is given room for that from the start."
