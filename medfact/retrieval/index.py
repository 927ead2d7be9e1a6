"""Indices of passages: BM25 over words, cosines of sentence vectors (MKJ, Section 4.6), and mentions of names.

BM25 and vector indices are built once for a corpus and cached in a folder, under a hash of their content.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from medfact.errors import Mistake
from medfact.facts import core_name, digest, fold_text
from medfact.models.encoder import Encoder, Vectors

SPARSE, DENSE = "sparse", "dense"
RETRIEVERS = {SPARSE: "by shared words (BM25)", DENSE: "by meaning (sentence vectors)"}
"""Kind of retriever → its description for users."""

MAX_CACHED_INDICES = 8
"""Maximum number of cached indices; the least recently used are evicted."""

_FORMAT_VERSION = "1"
"""Version of the cached files. Increase it if code can no longer read older ones, or would rank differently."""

_VECTORS_FILE = "vectors.npy"

K1, B = 1.5, 0.75
"""Parameters k₁ and b of BM25: saturation of term frequencies, and normalization by the passage's length."""

_WORD = re.compile(r"\w+")
_SEPARATORS = re.compile(r"[\W_]+")

_PASSAGES_PER_BATCH = 2_048
"""Passages whose vectors are in memory at a time."""

_QUERIES_PER_BATCH = 64
"""Queries whose scores over all passages are in memory at a time."""

Scores = np.ndarray[Any, np.dtype[np.float32]]


class RankedPassage(NamedTuple):
    """A passage that was ranked for a query."""

    passage: int  # index in the corpus, from 0
    score: float  # BM25, or a cosine from −1 to 1


def top_k(scores: Scores, k: int, excluded: Collection[int] = (), above: float = -np.inf) -> tuple[RankedPassage, ...]:
    """Returns the k passages with the highest scores, best first; ties keep the order of the corpus.

    Args:
        scores: one per passage.
        excluded: indices of passages that are never returned.
        above: passages with this score or a lower one are not returned.
    """
    if excluded:
        scores = scores.copy()
        scores[np.fromiter(excluded, dtype=np.int64)] = -np.inf
    k = min(k, len(scores))
    if k == 0:
        return ()
    threshold = np.partition(scores, len(scores) - k)[len(scores) - k]
    candidates = np.flatnonzero((scores >= threshold) & (scores > above))
    order = candidates[np.argsort(-scores[candidates], kind="stable")][:k]
    return tuple(RankedPassage(int(index), float(scores[index])) for index in order if scores[index] > -np.inf)


def tokenize(text: str) -> list[str]:
    """Splits a text into words, normalized for case, accents, hyphens, and British or American spelling."""
    return _WORD.findall(fold_text(text))


class SparseIndex:
    """A BM25 index (Robertson and Zaragoza 2009), in the variant of Lucene, whose idf is never negative.

    A passage's score for a query is a sum over the query's words w, repeated ones included. Each adds

        ln(1 + (N − n_w + ½) / (n_w + ½)) · f_w / (f_w + k₁ (1 − b + b · length / mean length)).

    N is the number of passages, n_w that of passages with w, and f_w the frequency of w in this passage.
    """

    def __init__(self, index: Any) -> None:
        self._index = index

    @classmethod
    def build(cls, passages: Sequence[str]) -> SparseIndex:
        """Builds the index of a corpus of one passage or more."""
        import bm25s

        vocabulary: dict[str, int] = {}
        numbered = [[vocabulary.setdefault(word, len(vocabulary)) for word in tokenize(passage)] for passage in passages]
        if not vocabulary:  # the library divides by the mean length
            numbered[0] = [vocabulary.setdefault("", 0)]
        index = bm25s.BM25(k1=K1, b=B, method="lucene")
        index.index((numbered, vocabulary), create_empty_token=False, show_progress=False)
        return cls(index)

    @classmethod
    def open(cls, folder: Path) -> SparseIndex:
        """Opens a saved index; its scores stay on disk until they are read."""
        import bm25s

        return cls(bm25s.BM25.load(str(folder), mmap=True))

    def save(self, folder: Path) -> None:
        """Saves the index in a folder."""
        self._index.save(str(folder), show_progress=False)

    def rank(
        self, queries: Iterable[str], k: int, excluded: Sequence[Collection[int]] | None = None
    ) -> Iterator[tuple[RankedPassage, ...]]:
        """Yields, for each query, the k best passages that share a word with it; fewer if fewer do.

        excluded: for each query, indices of passages that are never returned.
        """
        for number, query in enumerate(queries):
            words = [word for word in tokenize(query) if word in self._index.vocab_dict]
            if not words:
                yield ()
                continue
            yield top_k(self._index.get_scores(words), k, excluded[number] if excluded else (), above=0.0)


class DenseIndex:
    """An index of passages' sentence vectors, for ranking by their cosine with the query's (Reimers and Gurevych 2019)."""

    def __init__(self, vectors: Vectors, encoder: Encoder) -> None:
        self._vectors, self._encoder = vectors, encoder

    @classmethod
    def build(cls, passages: Sequence[str], encoder: Encoder, file: Path, report: Callable[[str], None]) -> DenseIndex:
        """Encodes all passages into a file of vectors. report: receives the progress as sentences."""
        vectors: Vectors | None = None
        for start in range(0, len(passages), _PASSAGES_PER_BATCH):
            report(f"Encoding passages: {start:,} of {len(passages):,}.")
            batch = encoder.passages(passages[start : start + _PASSAGES_PER_BATCH])
            if vectors is None:
                shape = (len(passages), batch.shape[1])
                vectors = np.lib.format.open_memmap(file, mode="w+", dtype=np.float32, shape=shape)
            vectors[start : start + len(batch)] = batch
        assert isinstance(vectors, np.memmap)
        vectors.flush()
        return cls(vectors, encoder)

    @classmethod
    def open(cls, file: Path, encoder: Encoder) -> DenseIndex:
        """Opens the saved vectors of an index; they stay on disk until they are read."""
        return cls(np.load(file, mmap_mode="r"), encoder)

    def rank(
        self, queries: Sequence[str], k: int, excluded: Sequence[Collection[int]] | None = None
    ) -> Iterator[tuple[RankedPassage, ...]]:
        """Yields, for each query, the k passages with the highest cosines. excluded: as of `SparseIndex.rank`."""
        for start in range(0, len(queries), _QUERIES_PER_BATCH):
            batch = self._encoder.queries(queries[start : start + _QUERIES_PER_BATCH])
            for number, scores in enumerate(batch @ self._vectors.T, start):
                yield top_k(scores, k, excluded[number] if excluded else ())


Retriever = SparseIndex | DenseIndex


def open_sparse(passages: Sequence[str], folder: Path) -> SparseIndex:
    """Opens the BM25 index of a corpus; builds it if the cache folder lacks it. Raises Mistake for an empty corpus."""
    key = digest(_FORMAT_VERSION, SPARSE, digest(*passages))
    return SparseIndex.open(_cached_folder(passages, folder / key, lambda path: SparseIndex.build(passages).save(path)))


def open_dense(passages: Sequence[str], folder: Path, encoder: Encoder, report: Callable[[str], None]) -> DenseIndex:
    """Opens the vector index of a corpus; builds it if the cache folder lacks it.

    Args:
        report: receives the progress as sentences.

    Raises Mistake for an empty corpus, ModelError if the encoder fails.
    """
    key = digest(_FORMAT_VERSION, DENSE, encoder.name, encoder.revision, digest(*passages))
    path = _cached_folder(
        passages, folder / key, lambda path: DenseIndex.build(passages, encoder, path / _VECTORS_FILE, report)
    )
    return DenseIndex.open(path / _VECTORS_FILE, encoder)


def _cached_folder(passages: Sequence[str], path: Path, build: Callable[[Path], object]) -> Path:
    """Returns the folder of a corpus's index, built if it is missing, and marks it as recently used."""
    if not passages:
        raise Mistake("The corpus holds no passage.", "Choose documents with text in them.")
    if not path.is_dir():
        _build_atomically(path, build)
    with contextlib.suppress(OSError):
        os.utime(path)
    return path


def _build_atomically(path: Path, build: Callable[[Path], object]) -> None:
    """Builds an index in a temporary folder, renames the folder, and evicts the least recently used indices."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix="building-"))
    try:
        build(temporary)
        with contextlib.suppress(OSError):  # another process was first
            os.replace(temporary, path)
    except OSError as error:
        raise Mistake(f"The index cannot be written: {error.strerror}.", "Make room on the disk.") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    with contextlib.suppress(OSError):  # an index that is open elsewhere can still be read after this
        others = sorted((other for other in path.parent.iterdir() if other != path), key=lambda other: -other.stat().st_mtime)
        for other in others[MAX_CACHED_INDICES - 1 :]:
            shutil.rmtree(other, ignore_errors=True)


class MentionIndex:
    """An index of the passages that mention a name, in whole words, normalized for case, hyphens, accents and spelling.

    Keeps a normalized copy of the corpus in memory.
    """

    def __init__(self, passages: Sequence[str]) -> None:
        texts = [_spaced_words(passage) for passage in passages]
        self._starts: list[int] = []
        end = 0
        for text in texts:
            self._starts.append(end)
            end += len(text) + 1
        self._text = "\n".join(texts)
        self._passages_with = lru_cache(maxsize=4096)(self._search_text)

    def passages_with(self, names: Iterable[str]) -> frozenset[int]:
        """Indices, from 0, of the passages that mention any of these names."""
        words = {_spaced_words(core_name(name)) for name in names}
        return frozenset().union(*(self._passages_with(name) for name in words if name.strip()))

    def passages_with_both(self, names: Iterable[str], others: Iterable[str]) -> frozenset[int]:
        """Indices of the passages that mention one of `names` and one of `others`."""
        return self.passages_with(names) & self.passages_with(others)

    def _search_text(self, words: str) -> frozenset[int]:
        """Indices of the passages that contain these words, as of `_spaced_words`."""
        indices: set[int] = set()
        position = self._text.find(words)
        while position >= 0:
            index = bisect_right(self._starts, position) - 1
            indices.add(index)
            position = self._text.find(words, self._starts[index + 1]) if index + 1 < len(self._starts) else -1
        return frozenset(indices)


def _spaced_words(text: str) -> str:
    """Normalizes a text to words with one space around each."""
    return f" {_SEPARATORS.sub(' ', fold_text(text)).strip()} "
