"""Files in RRF, the format of the UMLS: which ones a folder holds, and their rows.

Columns: https://www.ncbi.nlm.nih.gov/books/NBK9685/
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from medfact.datasets.collection import Problem
from medfact.errors import FactsError

NAMES, RELATIONS, TYPES, HIERARCHY = "MRCONSO.RRF", "MRREL.RRF", "MRSTY.RRF", "MRHIER.RRF"

SUPPRESSED = frozenset({b"O", b"E", b"Y"})
"""Values of the column SUPPRESS."""

MAX_PROBLEMS = 20
"""Unusable rows that are listed one by one; the rest are counted."""

_COLUMNS = {NAMES: 17, RELATIONS: 15, TYPES: 4, HIERARCHY: 4}
"""How many columns of each file are needed; more may follow."""

_HINT = "Choose the folder META of a UMLS release."


@dataclass
class Problems:
    """Rows that cannot be used: the first ones described, the others counted."""

    listed: list[Problem] = field(default_factory=list)
    further: int = 0

    def add(self, row: int, message: str, file: str) -> None:
        if len(self.listed) < MAX_PROBLEMS:
            self.listed.append(Problem(row, message, file))
        else:
            self.further += 1


def files_in(folder: Path) -> dict[str, Path]:
    """The files of a folder by their names in capitals."""
    return {file.name.upper(): file for file in sorted(folder.iterdir()) if file.is_file()} if folder.is_dir() else {}


def needed_files_in(folder: Path) -> dict[str, Path]:
    """As `files_in`; raises FactsError if MRCONSO.RRF or MRREL.RRF is missing."""
    files = files_in(folder)
    for file in (NAMES, RELATIONS):
        if file not in files:
            raise FactsError(f"The folder {folder.name!r} has no {file}.", _HINT)
    return files


def read_rows(path: Path, may_be_wanted: Callable[[bytes], object], problems: Problems) -> Iterator[tuple[int, list[bytes]]]:
    """Number (from 1) and columns of the rows whose raw line may be wanted.

    Raises FactsError if the first row has too few columns; any later one becomes a problem and is left out.
    """
    needed = _COLUMNS[path.name.upper()]
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not may_be_wanted(line) and number > 1:
                continue
            columns = line.rstrip(b"\r\n").removesuffix(b"|").split(b"|")
            if len(columns) >= needed:
                yield number, columns
                continue
            message = f"it has {len(columns)} columns of the {needed} that are needed"
            if number == 1:
                raise FactsError(f"{path.name}, row 1: {message}; this is not RRF.", _HINT)
            problems.add(number, f"{message}; the row may be cut off", path.name)


def starts_with(cuis: Container[bytes]) -> Callable[[bytes], bool]:
    """A test of raw lines: whether the first column is one of these CUIs."""
    return lambda line: line[: line.find(b"|")] in cuis


def text_of(column: bytes) -> str:
    """A column as text with single spaces; empty if it is not UTF-8."""
    try:
        return " ".join(column.decode().split())
    except UnicodeDecodeError:
        return ""
