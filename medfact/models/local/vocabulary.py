"""The tokens of a tokenizer that are an answer word, end a reply, or confirm an opening answer word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from medfact.models.local.packing import shared
from medfact.models.prompt import CONTINUES
from medfact.models.thinking import is_mark

COMMITTED = ("True", "False")
"""A first token with one of these words is the answer, unless the whole reply must be read."""

_CONTINUES = re.compile(CONTINUES, re.IGNORECASE)
_PAUSES = re.compile("[ ,]*")
_INCOMPLETE = "\ufffd"
"""What tokenizers write for bytes that are no whole character."""


class Vocabulary:
    """The tokens of a tokenizer by their text. `ends`: tokens that end a reply."""

    def __init__(self, tokenizer: Any, ends: Sequence[int]) -> None:
        self._tokenizer = tokenizer
        self.ends = frozenset(ends)

    @cached_property
    def _words(self) -> dict[str, list[int]]:
        """Text of a token, without white space and in lower case → the tokens with that text."""
        words: dict[str, list[int]] = {}
        for token in range(len(self._tokenizer)):
            words.setdefault(self._tokenizer.decode([token]).strip().lower(), []).append(token)
        return words

    def tokens(self, words: Sequence[str]) -> list[int]:
        """The tokens for one of the words, in any case, with or without a space before it."""
        return [token for word in words for token in self._words.get(word.lower(), [])]

    def following(self, before: str, texts: tuple[str, str]) -> tuple[list[int], list[int]]:
        """The tokens of each of two texts after another text, which changes how some tokenizers split them.

        If a tokenizer would then split the text before differently than in a prompt, the two texts are split by themselves.
        """
        ids = self._ids(before)
        whole = [self._ids(before + text) for text in texts]
        if all(tokens[: len(ids)] == ids for tokens in whole):
            return whole[0][len(ids) :], whole[1][len(ids) :]
        return self._ids(texts[0]), self._ids(texts[1])

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    @cached_property
    def committed(self) -> frozenset[int]:
        """The tokens for True or False."""
        return frozenset(self.tokens(COMMITTED))

    def settles(self, tokens: Sequence[int]) -> bool:
        """Whether an opening answer word is the answer. tokens: that word and the tokens after it, at least one."""
        after = "".join(self.pieces(tokens)[1:])
        return tokens[-1] in self.ends or not (_CONTINUES.match(after) or _PAUSES.fullmatch(after))

    @cached_property
    def _silent(self) -> frozenset[int] | None:
        """The special tokens that are not in a reply's text; None for all of them, where no special token marks thinking."""
        special = {number: str(token) for number, token in self._tokenizer.added_tokens_decoder.items() if token.special}
        silent = frozenset(number for number, text in special.items() if not is_mark(text))
        return None if len(silent) == len(special) else silent

    def text(self, tokens: Sequence[int]) -> str:
        """The text of tokens, without special ones but for those that mark thinking."""
        if self._silent is None:
            return str(self._tokenizer.decode(tokens, skip_special_tokens=True))
        return str(self._tokenizer.decode([token for token in tokens if token not in self._silent]))

    def pieces(self, tokens: Sequence[int]) -> list[str]:
        """The text that each token adds to those before it: decoded alone, some would lose the space in front. A character of
        several tokens belongs to the last of them.
        """
        pieces: list[str] = []
        begin = read = 0  # the first token to decode with the next ones, and the number of tokens whose pieces are known
        for index in range(len(tokens)):
            before, now = self.text(tokens[begin:read]), self.text(tokens[begin : index + 1])
            whole = len(now) > len(before) and (not now.endswith(_INCOMPLETE) or index == len(tokens) - 1)
            pieces.append(now[len(before) :] if whole else "")
            if whole:
                begin, read = read, index + 1
        return pieces

    def begin_of(self, tokens: Sequence[int], pieces: Sequence[str], index: int) -> int:
        """The first token of the character that a token ends: vocabularies write characters that they lack as bytes, and a
        word that begins with one begins at its first byte. pieces: those of the tokens.
        """
        if not pieces[index] or pieces[index].startswith(_INCOMPLETE):
            return index
        while index and not pieces[index - 1] and self._is_part(tokens[index - 1]):
            index -= 1
        return index

    def _is_part(self, token: int) -> bool:
        """Whether a token ends within a character."""
        return str(self._tokenizer.decode([token])).endswith(_INCOMPLETE)


def need_forcing(answers: tuple[Sequence[int], Sequence[int]]) -> bool:
    """Whether one of two answers is several tokens beyond their common beginning, so that no single token stands for it."""
    common = shared(*answers)
    return any(len(answer) - common != 1 for answer in answers)
