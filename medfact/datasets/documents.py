"""The user's own documents as passages: texts, or a column of a table, split where sentences end."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

from medfact.datasets.headers import OWN, Columns, Limits
from medfact.datasets.table_reader import read_table
from medfact.datasets.text import open_text
from medfact.errors import FactsError, MissingColumns
from medfact.table_formats import FORMATS

Piece = TypeVar("Piece")

MOST_WORDS = 100
"""Words of a passage, at most."""

MOST_PASSAGES = 1_000_000

TEXTS = (".txt", ".md")
"""Files that are read as text; the others are tables."""

TEXT_COLUMNS = ("text", "passage", "contents", "content", "document", "abstract")
"""Names of a column with the documents, in any case, the first of them first."""

SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_LONGEST_PARAGRAPH = 1_000_000
"""Characters."""


class Passage(NamedTuple):
    """A piece of a corpus. source: where it stands there."""

    text: str
    source: str


def read_documents(path: Path, column: str | None = None, limits: Limits = OWN) -> tuple[Passage, ...]:
    """The passages of a file, or of all files of a folder, in order; the same passage counts once.

    column: of a table, the one with the text; by default `text`, or the only one.

    Raises:
        FactsError: there is no such file, it cannot be read (says which row), or it holds no text.
        MissingColumns: a table has several columns and none of these names.
    """
    return once(path, lambda file: _passages(file, column, limits), lambda passage: passage.text)


def once(path: Path, read: Callable[[Path], Iterable[Piece]], same: Callable[[Piece], Hashable]) -> tuple[Piece, ...]:
    """What is read of a file, or of all files of a folder, in order; of those that are the same, the first. Raises FactsError
    where there is no such file, nothing in it, or more than MOST_PASSAGES.
    """
    found: dict[Hashable, Piece] = {}
    for file in _files(path):
        for piece in read(file):
            found.setdefault(same(piece), piece)
            if len(found) > MOST_PASSAGES:
                raise FactsError(f"{path.name} holds more than {MOST_PASSAGES:,} passages.", "Use a part of it.")
    if not found:
        kinds = ", ".join((*TEXTS, *FORMATS))
        raise FactsError(f"{path.name} holds no text.", f"Choose documents of one of these kinds: {kinds}.")
    return tuple(found.values())


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(file for file in path.iterdir() if file.suffix.lower() in (*TEXTS, *FORMATS))
    if path.is_file():
        return [path]
    raise FactsError(f"There is no file or folder {path.name[:200]!r}.", "Check the path of the documents.")


def _passages(file: Path, column: str | None, limits: Limits) -> Iterator[Passage]:
    if file.suffix.lower() in TEXTS:
        for line, paragraph in paragraphs(file, limits):
            yield from (Passage(part, f"{file.name}, line {line}") for part in split(paragraph))
        return
    has_text = Columns(lambda names: any(name == column or (column is None and name.lower() in TEXT_COLUMNS) for name in names))
    columns, rows = read_table(file, limits, has_text)
    name = _column(file, columns, column)
    for number, cells in rows:
        yield from (Passage(part, f"{file.name}, row {number}") for part in split(cells.get(name, "")))


def _column(file: Path, columns: list[str], wanted: str | None) -> str:
    if wanted is not None and wanted not in columns:
        raise MissingColumns(f"{file.name} has no column {wanted!r}.", f"It has: {', '.join(columns)[:500]}.", columns)
    if wanted is not None or len(columns) == 1:
        return wanted or columns[0]
    known = {name.strip().lower(): name for name in reversed(columns)}
    for name in TEXT_COLUMNS:
        if name in known:
            return known[name]
    raise MissingColumns(
        f"{file.name} does not say which column holds the text.", f"Name it: one of {', '.join(columns)[:500]}.", columns
    )


def paragraphs(file: Path, limits: Limits) -> Iterator[tuple[int, str]]:
    """The paragraphs of a text, which blank lines part, each with the number of its first line. Raises FactsError."""
    characters, first, lines, size = 0, 1, list[str](), 0
    with open_text(file) as text:
        number = 0
        while line := text.readline(_LONGEST_PARAGRAPH):
            number += 1
            characters += len(line)
            if characters > limits.characters:
                raise FactsError(f"{file.name} holds more than {limits.characters:,} characters.", "Use a part of it.")
            if line.strip() and size < _LONGEST_PARAGRAPH:
                first = number if not lines else first
                lines.append(line)
                size += len(line)
                continue
            if lines:
                yield first, "".join(lines)
            lines, size, first = ([line], len(line), number) if line.strip() else ([], 0, number)
    if lines:
        yield first, "".join(lines)


def split(text: str) -> Iterator[str]:
    """A text as passages of at most MOST_WORDS words, a line each; a passage ends with a sentence where that is possible."""
    passage: list[str] = []
    for sentence in SENTENCE_END.split(text.strip()):
        words = sentence.split()
        if passage and len(passage) + len(words) > MOST_WORDS:
            yield " ".join(passage)
            passage = []
        passage += words
        while len(passage) > MOST_WORDS:
            yield " ".join(passage[:MOST_WORDS])
            passage = passage[MOST_WORDS:]
    if passage:
        yield " ".join(passage)
