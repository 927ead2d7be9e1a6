"""Which tokens of a tokenizer say an answer word, end a reply, or show that an opening answer word is the answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from medfact.models.prompt import CONTINUES, Prompt

COMMITTED = ("True", "False")
"""A first token that says one of these is the answer, unless the whole reply must be read."""

_CONTINUES = re.compile(CONTINUES, re.IGNORECASE)


class How(NamedTuple):
    """What prompts have in common that are decoded together; the fields are those of a Prompt."""

    messages: bool
    choices: tuple[tuple[str, ...], tuple[str, ...]]
    stop: str
    max_tokens: int
    settled_after: int | None
    answers: tuple[str, str]
    place: Callable[[str], int | None]


def how(prompt: Prompt) -> How:
    """How a prompt is decoded."""
    messages = not isinstance(prompt.content, str)
    shared = (prompt.choices, prompt.stop, prompt.max_tokens, prompt.settled_after, prompt.answers, prompt.place)
    return How(messages, *shared)


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

    def following(self, before: str, texts: tuple[str, str]) -> tuple[list[int], list[int]]:
        """The tokens of each of two texts where they follow another text, which changes how some tokenizers cut them.

        Where a tokenizer would cut the text before otherwise, as it never stands in a prompt, the texts are cut by themselves.
        """
        ids = self._ids(before)
        whole = [self._ids(before + text) for text in texts]
        if all(one[: len(ids)] == ids for one in whole):
            return whole[0][len(ids) :], whole[1][len(ids) :]
        return self._ids(texts[0]), self._ids(texts[1])

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    @cached_property
    def committed(self) -> frozenset[int]:
        """The tokens that say True or False."""
        return frozenset(self.tokens(COMMITTED))

    def settles(self, tokens: Sequence[int]) -> bool:
        """Whether an opening answer word is the answer: the tokens are that word's and the one that comes after it."""
        return tokens[1] in self.ends or _CONTINUES.match(self.pieces(tokens)[1]) is None

    def text(self, tokens: Sequence[int]) -> str:
        """What tokens say, without special ones."""
        return str(self._tokenizer.decode(tokens, skip_special_tokens=True))

    def pieces(self, tokens: Sequence[int]) -> list[str]:
        """What each token says after those before it: decoded apart, some would lose the space in front of them. A character of
        several tokens is said by the last of them.
        """
        pieces: list[str] = []
        begin = read = 0  # tokens from which on the next ones are decoded, and of which the pieces are known
        for place in range(len(tokens)):
            before, now = self.text(tokens[begin:read]), self.text(tokens[begin : place + 1])
            whole = len(now) > len(before) and (not now.endswith("\ufffd") or place == len(tokens) - 1)
            pieces.append(now[len(before) :] if whole else "")
            if whole:
                begin, read = read, place + 1
        return pieces


def splits(sides: tuple[Sequence[int], Sequence[int]]) -> bool:
    """Whether one of two answers has no token of its own: beyond what both begin with, it is several tokens."""
    shared = 0
    for one, other in zip(*sides, strict=False):
        if one != other:
            break
        shared += 1
    return any(len(side) - shared != 1 for side in sides)
