"""The tokens of a tokenizer that are an answer word, end a reply, or confirm an opening answer word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

from medfact.models.local.packing import shared
from medfact.models.prompt import CONTINUES
from medfact.models.thinking import is_mark

COMMITTED = ("True", "False")
"""A first token with one of these words is the answer, unless the whole reply must be read."""

CONTEXT_TOKENS = 8
"""Most tokens before a reply that are looked at to see whether it begins with a space: special ones and parts of a character
do not show it."""

_CONTINUES = re.compile(CONTINUES, re.IGNORECASE)
_PAUSES = re.compile("[ ,]*")


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

    def written(self, tokens: Sequence[int], after: Sequence[int]) -> str:
        """The text that tokens add to others before them: some tokenizers lose a space in front of what they decode."""
        for count in range(1, CONTEXT_TOKENS + 1):
            before = list(after[-count:])
            start, whole = self.text(before), self.text([*before, *tokens])
            if start and "\ufffd" not in start and whole.startswith(start):
                return whole[len(start) :]
        return self.text(tokens)

    def pieces(self, tokens: Sequence[int]) -> list[str]:
        """The text that each token adds to those before it: decoded alone, some would lose the space in front. A character of
        several tokens belongs to the first of them: it is decided there, and a word begins there.
        """
        pieces: list[str] = []
        begin = read = 0  # the first token to decode with the next ones, and the number of tokens whose pieces are known
        said, ends = "", list[int]()  # the text since then, and where that of each token ends
        for index in range(len(tokens)):
            now = self.text(tokens[begin : index + 1])[len(self.text(tokens[begin:read])) :]
            same = shared(said, now)  # a character that is whole now stands where a sign for its parts stood
            said, ends = now, [*(end if end <= same else len(now) for end in ends), len(now)]
            if now and not now.endswith("\ufffd"):
                pieces += (now[start:end] for start, end in pairwise([0, *ends]))
                begin, read, said, ends = read, index + 1, "", []
        return pieces + [said[start:end] for start, end in pairwise([0, *ends])]


def need_forcing(answers: tuple[Sequence[int], Sequence[int]]) -> bool:
    """Whether one of two answers is several tokens beyond their common beginning, so that no single token stands for it."""
    common = shared(*answers)
    return any(len(answer) - common != 1 for answer in answers)


def hold_beginnings(choices: Sequence[Sequence[str]], answers: Sequence[str]) -> bool:
    """Whether the words whose probabilities are read include beginnings of the answer words: then the first token of a word
    counts for its side, and only a word whose first token says nothing is followed to its end.
    """
    words = [answer.split()[-1].lower() for answer in answers]
    return any(
        word != begin.lower() and word.startswith(begin.lower())
        for side, word in zip(choices, words, strict=True)
        for begin in side
    )
