"""The lines of a file that holds a run: how they are written, within which limits they are read, and what each may hold.

The file is JSON, one object a line, compressed with gzip: a header, then a run, its statements by their ids, their places in
the run, its demonstrations, what happened to it, and its answers in the order of their places. What is null is left out.
"""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, BinaryIO, NoReturn

import sqlalchemy as sql

from medfact.errors import Mistake
from medfact.store import tables
from medfact.store.tables import writable

FORMAT = 1
"""Grows when an older medfact could not read what a newer one writes."""

LONGEST_LINE = 4 << 20
LARGEST = 1 << 30
"""Bytes of a line, and of all lines: more is no run, or a file that is made to fill a memory."""

FREE, TIMES = 8 << 20, 40
"""Bytes that any file may unpack to, and how many for each of its own bytes: those of runs pack to a fifth or a tenth."""

LARGEST_NUMBER = 2**31
"""Of whole numbers: what databases hold."""

AGAIN = "Export the run again, or get the file from where it was made."

HEADER, RUN, STATEMENT, PLACE, DEMONSTRATION, EVENT, ANSWER = (
    "medfact",
    "run",
    "statement",
    "place",
    "demonstration",
    "event",
    "answer",
)

TABLES = {
    RUN: tables.runs,
    STATEMENT: tables.statements,
    PLACE: tables.run_statements,
    DEMONSTRATION: tables.demonstrations,
    EVENT: tables.events,
    ANSWER: tables.answers,
}
"""Kinds of lines, in their order in the file, and whose rows they are."""

COUNTED = {STATEMENT: "statements", PLACE: "places", DEMONSTRATION: "demonstrations", ANSWER: "answers"}
"""Kinds whose number the header says. Of events it does not: a copy has one more, which says that it is one."""

_HERE = {
    RUN: {"number", "owner", "changed", "worker", "beat_at", "deleted_at"},
    PLACE: {"run", "fact"},
    DEMONSTRATION: {"run"},
    EVENT: {"run", "number"},
    ANSWER: {"run", "position", "batch"},
}
"""Columns that belong to one database, or follow from the others."""

COLUMNS: dict[str, dict[str, sql.Column[Any]]] = {
    kind: {column.name: column for column in table.c if column.name not in _HERE.get(kind, ())}
    for kind, table in TABLES.items()
}

RECORDS: dict[str, type] = {"spec": dict, "versions": dict, "notes": list, "decoding": dict, "pool_text": dict}
"""Columns of a run that hold JSON, which stands in the file as it is."""


_WANTED = {
    kind: {name: RECORDS.get(name, column.type.python_type) for name, column in columns.items()}
    for kind, columns in COLUMNS.items()
}
_NEEDED = {kind: [name for name, column in columns.items() if not column.nullable] for kind, columns in COLUMNS.items()}


@dataclass(frozen=True, slots=True)
class Line:
    """A line that was read: its number, its bytes, its kind, and a value for each column of that kind."""

    number: int
    size: int
    kind: str
    row: dict[str, Any]


def written(kind: str, row: Mapping[str, Any]) -> bytes:
    """A row as a line."""
    given = {name: row[name] for name in COLUMNS[kind] if _is_there(row[name])}
    return _json({kind: given})


def written_header(run: str, counts: Mapping[str, int]) -> bytes:
    """The first line of a file."""
    return _json({HEADER: "run", "format": FORMAT, "run": run, **{COUNTED[kind]: number for kind, number in counts.items()}})


def _json(content: Mapping[str, Any]) -> bytes:
    return _ENCODER.encode(content).encode() + b"\n"


def _is_there(value: Any) -> bool:
    return value is not None and not (isinstance(value, float) and not math.isfinite(value))


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


# ---------------------------------------------------------------------------------------------- reading


def read_lines(file: BinaryIO, name: str, largest: int = LARGEST) -> tuple[dict[str, Any], Iterator[Line]]:
    """The header of a file that holds a run, and its other lines as they are read: `largest` bytes of them at most.

    Raises Mistake, which begins with the file's name, where it is no such file, is broken, goes beyond a limit, or has lines
    whose kinds, order, columns or types are wrong.
    """
    found = _objects(file, name, largest)
    header = next(found, (1, 0, {}))[2]
    if header.get(HEADER) != "run" or not isinstance(header.get("format"), int):
        raise Mistake(f"{name} is not a run that medfact exported.", "Choose a file that `medfact export` wrote.")
    if header["format"] > FORMAT:
        raise Mistake(f"{name} was written by a newer medfact.", "Update medfact, then import it.")
    return header, _lines(found, name)


def _lines(found: Iterator[tuple[int, int, dict[str, Any]]], name: str) -> Iterator[Line]:
    order = list(TABLES)
    reached = 0
    for number, size, content in found:
        try:
            kind, row = _kind_and_row(content)
            if order.index(kind) < reached:
                raise ValueError(f"a line of the kind {kind} stands too late")
            reached = order.index(kind)
            yield Line(number, size, kind, _checked(kind, row))
        except ValueError as error:
            raise Mistake(f"{name}, line {number}: {error}.", AGAIN) from None


def _kind_and_row(content: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    kind, row = next(iter(content.items()), ("", None))
    if len(content) != 1 or kind not in TABLES or not isinstance(row, dict):
        raise ValueError(f"{kind[:40]!r} is nothing that a run has")
    return kind, row


def _objects(file: BinaryIO, name: str, largest: int) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """The JSON objects of a compressed file, with the numbers of their lines and their bytes."""
    size, begin = 0, file.tell()
    with gzip.GzipFile(fileobj=file, mode="rb") as unpacked:
        for number in count(1):
            text = _next_line(unpacked, number, name)
            size += len(text)
            if not text:
                return
            # of what was read so far: what follows a packed file may be of any length
            if size > (most := min(largest, FREE + TIMES * (file.tell() - begin))):
                raise Mistake(f"{name} unpacks to more than {most >> 20:,} MB.", "That is no run; check where it is from.")
            try:
                yield number, len(text), _object(text)
            except ValueError as error:
                raise Mistake(f"{name}, line {number}: {error}.", AGAIN) from None


def _next_line(unpacked: gzip.GzipFile, number: int, name: str) -> bytes:
    try:
        return unpacked.readline(LONGEST_LINE + 1)
    except EOFError:
        raise Mistake(f"{name} is cut off in line {number}.", AGAIN) from None
    except (gzip.BadGzipFile, zlib.error):
        if number == 1:
            raise Mistake(f"{name} is not a run that medfact exported.", "Choose a file that `medfact export` wrote.") from None
        raise Mistake(f"{name} is damaged in line {number}.", AGAIN) from None
    except OSError as error:
        raise Mistake(f"{name} cannot be read: {error.strerror}.", "Choose another file.") from None


def _object(text: bytes) -> dict[str, Any]:
    if len(text) > LONGEST_LINE:
        raise ValueError(f"it is longer than {LONGEST_LINE >> 20} MB")
    if not text.endswith(b"\n"):
        raise ValueError("it is cut off")
    try:
        content = _DECODER.decode(text.decode())
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None
    if not isinstance(content, dict):
        raise ValueError("it is not an object")
    return content


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


_DECODER = json.JSONDecoder(parse_constant=_no_number)


def _checked(kind: str, row: dict[str, Any]) -> dict[str, Any]:
    """A row with a value, or None, for each column of its kind. Raises ValueError, saying what is wrong."""
    columns = COLUMNS[kind]
    made: dict[str, Any] = dict.fromkeys(columns)
    for name, value in row.items():
        if name not in columns:
            raise ValueError(f"no {kind} has a column {name[:40]!r}")
        made[name] = None if value is None else _value(name, value, _WANTED[kind][name])
    for name in _NEEDED[kind]:
        if made[name] is None:
            raise ValueError(f"its {name} is missing")
    return made


def _value(name: str, value: Any, wanted: type) -> Any:
    given = type(value)
    if given is not wanted and (given, wanted) != (int, float):
        raise ValueError(f"its {name} is of the wrong kind")
    if given is str:
        return writable(value)
    if given in (int, float) and not abs(value) < LARGEST_NUMBER:  # infinity, which 1e999 is read as, among them
        raise ValueError(f"its {name} is out of range")
    return float(value) if wanted is float else value
