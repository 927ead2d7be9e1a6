"""Sparse retrieval: BM25 over words (Robertson and Zaragoza 2009; MKJ, Section 4.6)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from medfact.facts import spelled
from medfact.retrieval.ranking import Ranked, best

K1, B = 1.5, 0.75
"""How soon a word's repetitions stop counting, and how much a passage's length does."""

_WORD = re.compile(r"\w+")


def words_of(text: str) -> list[str]:
    """The words of a text, without regard to case, accents, hyphens and British or American spelling."""
    return _WORD.findall(spelled(text))


class Sparse:
    """A BM25 index. A passage's score for a query is the sum over the query's words w, each as often as it stands there, of

        ln(1 + (N − n_w + ½) / (n_w + ½)) · f_w / (f_w + k₁ (1 − b + b · length / mean length))

    with N passages, n_w of which hold w, and f_w times w in this passage (the variant of Lucene, whose idf is never negative).
    """

    def __init__(self, index: Any) -> None:
        self._index = index

    @classmethod
    def build(cls, passages: Sequence[str]) -> Sparse:
        """The index of at least one passage."""
        import bm25s

        vocabulary: dict[str, int] = {}
        numbered = [[vocabulary.setdefault(word, len(vocabulary)) for word in words_of(passage)] for passage in passages]
        if not vocabulary:  # the library divides by the mean length
            numbered[0] = [vocabulary.setdefault("", 0)]
        index = bm25s.BM25(k1=K1, b=B, method="lucene")
        index.index((numbered, vocabulary), create_empty_token=False, show_progress=False)
        return cls(index)

    @classmethod
    def open(cls, folder: Path) -> Sparse:
        """An index that was saved; its scores stay on disk until they are read."""
        import bm25s

        return cls(bm25s.BM25.load(str(folder), mmap=True))

    def save(self, folder: Path) -> None:
        self._index.save(str(folder), show_progress=False)

    def rank(
        self, queries: Iterable[str], k: int, left_out: Sequence[Collection[int]] | None = None
    ) -> Iterator[tuple[Ranked, ...]]:
        """For each query the k best passages. A passage without a word of the query is not among them.

        left_out: for each query, the passages that are never returned.
        """
        for number, query in enumerate(queries):
            known = [word for word in words_of(query) if word in self._index.vocab_dict]
            if not known:
                yield ()
                continue
            yield best(self._index.get_scores(known), k, left_out[number] if left_out else (), above=0.0)
