"""Which tokens of a tokenizer say an answer word, end a reply, or show that an opening answer word is the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

from medfact.models.prompt import Prompt

COMMITTED = ("True", "False")
"""A first token that says one of these is the answer, unless the whole reply must be read."""

_NO_ANSWER = re.compile(r"\s*(?:or\b|/)|\w", re.IGNORECASE)
"""What follows a first token that is an echo of "True or False", or only part of a word ("Falsehood")."""


class How(NamedTuple):
    """What prompts have in common that are decoded together; the fields are those of a Prompt."""

    messages: bool
    choices: tuple[tuple[str, ...], tuple[str, ...]]
    stop: str
    max_tokens: int
    settled_after: int | None


def how(prompt: Prompt) -> How:
    """How a prompt is decoded."""
    messages = not isinstance(prompt.content, str)
    return How(messages, prompt.choices, prompt.stop, prompt.max_tokens, prompt.settled_after)


class Vocabulary:
    """The tokens of a tokenizer, by what they say. `ends`: tokens that end a reply."""

    def __init__(self, tokenizer: Any, ends: Sequence[int]) -> None:
        self._tokenizer = tokenizer
        self.ends = frozenset(ends)

    @cached_property
    def _words(self) -> dict[str, list[int]]:
        """Text of a token, without white space and in lower case → the tokens that say it."""
        words: dict[str, list[int]] = {}
        for token in range(len(self._tokenizer)):
            words.setdefault(self._tokenizer.decode([token]).strip().lower(), []).append(token)
        return words

    def tokens(self, words: Sequence[str]) -> list[int]:
        """The tokens that say one of the words, in any case, with a space before it or without."""
        return [token for word in words for token in self._words.get(word.lower(), [])]

    def splits(self, choices: tuple[tuple[str, ...], tuple[str, ...]]) -> bool:
        """Whether the first True word or the first False word has no token of its own."""
        return not all(self.tokens(words[:1]) for words in choices)

    @cached_property
    def committed(self) -> frozenset[int]:
        """The tokens that say True or False."""
        return frozenset(self.tokens(COMMITTED))

    def settles(self, token: int) -> bool:
        """Whether an opening answer word is the answer when this token comes after it."""
        return token in self.ends or _NO_ANSWER.match(self.text([token])) is None

    def text(self, tokens: Sequence[int]) -> str:
        """What tokens say, without special ones."""
        return str(self._tokenizer.decode(tokens, skip_special_tokens=True))
