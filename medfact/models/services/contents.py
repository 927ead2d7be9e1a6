"""What a message of a service says: its text, its thinking and its refusal, in whatever shape they come."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

TEXT, THINKING, REFUSAL = "text", "thinking", "refusal"

_THINKING_FIELDS = (
    "reasoning_content",
    "reasoning",
    "reasoning_text",
    "reasoning_details",
    "thinking",
    "thinking_content",
    "thinking_blocks",
    "thought",
    "thoughts",
)
"""Fields beside `content`. Where several are filled, they repeat each other."""

_INNER = ("text", "content", "value", "output_text", "parts", "summary", *_THINKING_FIELDS, "refusal")
"""Where a part of a message keeps its text."""


class Said(NamedTuple):
    """What a message says."""

    text: str = ""
    thinking: str = ""
    refusal: str = ""

    def followed_by(self, more: Said) -> Said:
        """What two parts of a message say, one after the other."""
        return Said(self.text + more.text, self.thinking + more.thinking, self.refusal + more.refusal)


class NoText(ValueError):
    """A message without text where its text should be."""


def said_in(message: Any) -> Said:
    """What a message says: of a chat, of an event, or of a completed text.

    Raises NoText where the content is of a shape that no text can be found in.
    """
    if not isinstance(message, Mapping):
        return _joined(message, TEXT)
    content = message.get("content", message.get("text"))
    if isinstance(content, bool | int | float):
        raise NoText("a content that is no text")
    said = _joined(content, TEXT)
    if isinstance(content, Mapping) and content and said == Said():
        raise NoText("a content without text")
    thinking = next((found for name in _THINKING_FIELDS if (found := _joined(message.get(name), THINKING).thinking)), "")
    return said.followed_by(Said("", thinking, _joined(message.get("refusal"), REFUSAL).refusal))


def _joined(content: object, kind: str) -> Said:
    """What a content says. kind: what it is where its parts do not say otherwise."""
    texts: dict[str, list[str]] = {TEXT: [], THINKING: [], REFUSAL: []}
    for part_kind, text in _parts(content, kind):
        texts[part_kind].append(text)
    return Said("".join(texts[TEXT]), "".join(texts[THINKING]), "".join(texts[REFUSAL]))


def _parts(content: object, kind: str) -> Iterator[tuple[str, str]]:
    """The texts of a content, each with its kind. Only strings are texts."""
    if isinstance(content, str):
        yield kind, content
    elif isinstance(content, list):
        parts = [part for part in content if not isinstance(part, str)]
        for part in parts or content:  # beside parts, a bare string is none of them
            yield from _parts(part, kind)
    elif isinstance(content, Mapping):
        name = next((name for name in _INNER if content.get(name) and not isinstance(content[name], bool)), None)
        if name is not None:
            yield from _parts(content[name], _kind(content, name, kind))


def _kind(part: Mapping[str, Any], name: str, kind: str) -> str:
    """What a part of a message is. name: of its text. kind: of the whole."""
    named = str(part.get("type", "")).lower()
    if name in _THINKING_FIELDS or part.get("thought") is True or any(word in named for word in ("think", "reason", "thought")):
        return THINKING
    return REFUSAL if name == "refusal" or named == "refusal" else kind
