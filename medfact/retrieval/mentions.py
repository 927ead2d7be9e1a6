"""Which passages mention a name, as whole words, without regard to case, hyphens, accents and spelling."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache

from medfact.facts import core_name, spelled

_BETWEEN = re.compile(r"[\W_]+")


def _plain(text: str) -> str:
    """A text as words with one space around each."""
    return f" {_BETWEEN.sub(' ', spelled(text)).strip()} "


class Mentions:
    """The passages of a corpus, to be searched for names. It holds their words once more."""

    def __init__(self, passages: Sequence[str]) -> None:
        texts = [_plain(passage) for passage in passages]
        self._starts: list[int] = []
        end = 0
        for text in texts:
            self._starts.append(end)
            end += len(text) + 1
        self._text = "\n".join(texts)
        self._of = lru_cache(maxsize=4096)(self._found)

    def of(self, names: Iterable[str]) -> frozenset[int]:
        """The places, from 0, of the passages that mention one of these names."""
        return frozenset().union(*(self._of(plain) for plain in {_plain(core_name(name)) for name in names} if plain.strip()))

    def of_both(self, names: Iterable[str], others: Iterable[str]) -> frozenset[int]:
        """The places of the passages that mention one name of each."""
        return self.of(names) & self.of(others)

    def _found(self, plain: str) -> frozenset[int]:
        places: set[int] = set()
        at = self._text.find(plain)
        while at >= 0:
            place = bisect_right(self._starts, at) - 1
            places.add(place)
            at = self._text.find(plain, self._starts[place + 1]) if place + 1 < len(self._starts) else -1
        return frozenset(places)
