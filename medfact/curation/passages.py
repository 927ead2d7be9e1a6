"""One's own documents as passages of whole sentences, each with what its document is about and where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from medfact.datasets.documents import MOST_WORDS, SENTENCE_END, TEXT_COLUMNS, TEXTS, once, paragraphs
from medfact.datasets.headers import OWN, Columns, Limits
from medfact.datasets.table_reader import read_table
from medfact.errors import MissingColumns

_TEXT = (*TEXT_COLUMNS, "answer")
"""Names of the column with the text, in any case, the first of them first; MedQuAD's last."""

_BESIDE = {
    "title": ("title", "focus", "topic", "heading"),
    "also": ("synonyms", "also"),
    "section": ("section", "question_type", "question"),
    "source": ("source", "publisher", "journal"),
    "address": ("address", "url", "link", "source_id", "doi", "pmid", "id"),
}
"""What a table may say beside a text → the names of its column, in any case, the first of them first."""

_ABBREVIATED = re.compile(r"(?:\b(?:e\.g|i\.e|vs|cf|Dr|St|No|approx|[A-Z])\.)$")
"""What ends in a full stop that ends no sentence."""


@dataclass(frozen=True)
class Passage:
    """Sentences that follow each other, of MOST_WORDS words together at most.

    title: what their document is about, "" if it does not say; also: other names of that. section: the part of the document.
    source: who says so. address: where it stands, as the document names it: a text, which nobody opens.
    """

    sentences: tuple[str, ...]
    title: str = ""
    also: tuple[str, ...] = ()
    section: str = ""
    source: str = ""
    address: str = ""

    @property
    def about(self) -> tuple[str, ...]:
        """The names of what the document is about."""
        return (self.title, *self.also) if self.title else self.also

    @property
    def searched(self) -> str:
        """What retrieval sees of it."""
        return " ".join(filter(None, (*self.about, self.section, *self.sentences)))


def read_passages(path: Path, column: str | None = None, limits: Limits = OWN) -> tuple[Passage, ...]:
    """The passages of a file, or of all files of a folder, in order; the same passage counts once.

    Of a text, the file's name says what it is about, "atrial_fibrillation.txt"; of a table, the columns of `_BESIDE`.
    column: of a table, the one with the text; by default one of `_TEXT`, or the only one.

    Raises:
        FactsError: there is no such file, it cannot be read (says which row), or it holds no text.
        MissingColumns: a table has several columns and none of these names.
    """

    def read(file: Path) -> Iterator[Passage]:
        return _of_text(file, limits) if file.suffix.lower() in TEXTS else _of_table(file, column, limits)

    return once(path, read, lambda passage: (passage.sentences, passage.title))


def _of_text(file: Path, limits: Limits) -> Iterator[Passage]:
    title = " ".join(re.sub(r"[_-]+", " ", file.stem).split())
    for line, paragraph in paragraphs(file, limits):
        for some in grouped(sentences_of(paragraph)):
            yield Passage(some, title, source=file.name, address=f"line {line}")


def _of_table(file: Path, column: str | None, limits: Limits) -> Iterator[Passage]:
    def has_text(names: list[str]) -> bool:
        return column in names if column is not None else _first(names, _TEXT) is not None

    names, rows = read_table(file, limits, Columns(has_text))
    text = column if column is not None else _first(names, _TEXT) or (names[0] if len(names) == 1 else None)
    if text is None or text not in names:
        said = "does not say which column holds the text" if column is None else f"has no column {column!r}"
        raise MissingColumns(f"{file.name} {said}.", f"Name it with --column: one of {', '.join(names)[:500]}.", names)
    beside = {ours: name for ours, known in _BESIDE.items() if (name := _first(names, known)) not in (None, text)}
    for number, cells in rows:
        told = {ours: " ".join(cells.get(name or "", "").split()) for ours, name in beside.items()}
        also = tuple(one for part in told.pop("also", "").split("|") if (one := part.strip()))
        told["source"] = told.get("source") or file.name
        told["address"] = told.get("address") or f"row {number}"
        for some in grouped(sentences_of(cells.get(text, ""))):
            yield Passage(some, also=also, **told)


def _first(names: list[str], known: Iterable[str]) -> str | None:
    """The column that has the first of these names that there is."""
    there = {name.strip().lower(): name for name in reversed(names)}
    return next((there[name] for name in known if name in there), None)


def sentences_of(text: str) -> Iterator[str]:
    """The sentences of a text, on one line each; one of more than MOST_WORDS words comes in pieces of so many."""
    begun: list[str] = []
    for piece in SENTENCE_END.split(text.strip()):
        begun += piece.split()
        if begun and not _ABBREVIATED.search(begun[-1]):
            yield from _pieces(begun)
            begun = []
    yield from _pieces(begun)


def _pieces(words: list[str]) -> Iterator[str]:
    for start in range(0, len(words), MOST_WORDS):
        yield " ".join(words[start : start + MOST_WORDS])


def grouped(sentences: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Sentences as passages: as many together as have MOST_WORDS words at most."""
    passage: list[str] = []
    size = 0
    for sentence in sentences:
        words = len(sentence.split())
        if passage and size + words > MOST_WORDS:
            yield tuple(passage)
            passage, size = [], 0
        passage.append(sentence)
        size += words
    if passage:
        yield tuple(passage)
