"""Tables as rows of text, from CSV, TSV, JSON lines, Parquet and Excel files.

A row is its number, as in a spreadsheet (the header is row 1), and a mapping from column name to text.
"""

from __future__ import annotations

import csv
import json
import re
import zipfile
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from medfact.datasets.limits import MAX_CELL, OWN, Limits, Row
from medfact.datasets.table_writer import FORMULA
from medfact.datasets.text import open_text
from medfact.errors import FactsError

DELIMITERS = (",", ";", "\t", "|")
_PARQUET_BATCH_ROWS = 1_000

LAST_HEADER_ROW = 1_000
"""The header stands among the first rows; nobody looks for it through a file without an end."""


def read_table(path: Path, limits: Limits = OWN) -> tuple[list[str], Iterator[Row]]:
    """The column names and the rows of a table, whatever its format.

    Raises FactsError, naming file and row, if the file is missing, broken, too large or of an unknown format.
    """
    if not path.is_file():
        raise FactsError(f"There is no file {str(path)!r}.", "Check the path.")
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise FactsError(f"{path.name}: files of this kind are not read.", f"Save it as one of {', '.join(_READERS)}.")
    if path.stat().st_size == 0:
        raise FactsError(f"{path.name} is empty.", "Choose a file with a header line and at least one fact.")
    columns, rows = reader(path, limits)
    limits.check_columns(path.name, len(columns))
    return columns, limits.counted(path.name, rows)


# ------------------------------------------------------------------------------------------------ text


def _read_delimited(path: Path, _: Limits) -> tuple[list[str], Iterator[Row]]:
    with open_text(path) as file:
        first = file.readline(MAX_CELL)
    unquoted = re.sub(r'"[^"]*"', "", first)
    return _with_header(path, _csv_records(path, max(DELIMITERS, key=unquoted.count)))


def _csv_records(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    start = 1
    with open_text(path) as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        try:
            for record in reader:
                if max(map(len, record), default=0) > MAX_CELL:
                    raise _long_cell(f"{path.name}, row {start}")
                yield start, [_without_guard(cell) for cell in record]
                start = reader.line_num + 1
        except csv.Error as error:
            if "field larger" in str(error):  # than the library's own limit, which bounds the memory
                raise _long_cell(f"{path.name}, row {start}") from None
            raise FactsError(
                f"{path.name}, row {start}: a quotation mark opens or closes in the wrong place.",
                'Write a quotation mark inside a quoted cell twice (""), and close every quoted cell.',
            ) from None


def _long_cell(where: str) -> FactsError:
    return FactsError(f"{where}: a cell is longer than {MAX_CELL:,} characters.", "Shorten it.")


def _read_tabbed(path: Path, _: Limits) -> tuple[list[str], Iterator[Row]]:
    try:
        deque(_csv_records(path, "\t"), maxlen=0)
    except FactsError:
        return _with_header(path, _unquoted_records(path))
    return _with_header(path, _csv_records(path, "\t"))


def _unquoted_records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Tab-separated tables need no quotation marks; unpaired ones belong to the names."""
    with open_text(path, newline="\n") as file:
        for number, line in enumerate(file, 1):
            yield number, [_without_guard(_unquoted(cell)) for cell in line.rstrip("\r\n").split("\t")]


def _unquoted(cell: str) -> str:
    quoted = len(cell) >= 2 and cell[0] == cell[-1] == '"'
    return cell[1:-1].replace('""', '"') if quoted else cell


def _without_guard(cell: str) -> str:
    """Removes the apostrophe that exports put before a formula."""
    return cell[1:] if cell[:1] == "'" and FORMULA.match(cell) else cell


def _with_header(path: Path, records: Iterator[tuple[int, list[str]]]) -> tuple[list[str], Iterator[Row]]:
    header = next(((n, cells) for n, cells in islice(records, LAST_HEADER_ROW) if any(c.strip() for c in cells)), None)
    if header is None:
        raise FactsError(f"{path.name} is empty.", "Choose a file with a header line and at least one fact.")
    columns = [name.strip().lstrip("\ufeff") for name in header[1]]

    def rows() -> Iterator[Row]:
        for number, cells in records:
            if any(cell.strip() for cell in cells):
                yield number, _named(path, number, columns, cells)

    return columns, rows()


def _named(path: Path, number: int, columns: list[str], cells: list[str]) -> dict[str, str]:
    if any(cell.strip() for cell in cells[len(columns) :]):
        raise FactsError(
            f"{path.name}, row {number}: it has {len(cells)} cells where the header has {len(columns)}.",
            "Put a cell that contains the separator in quotation marks.",
        )
    return dict(zip(columns, [*cells, *[""] * (len(columns) - len(cells))], strict=False))


def _read_json_lines(path: Path, limits: Limits) -> tuple[list[str], Iterator[Row]]:
    columns: dict[str, None] = {}
    for _, row in limits.counted(path.name, _json_rows(path)):
        columns |= dict.fromkeys(row)
        limits.check_columns(path.name, len(columns))
    if not columns:
        raise FactsError(f"{path.name} is empty.", "Choose a file with at least one fact.")
    return list(columns), _json_rows(path)


def _json_rows(path: Path) -> Iterator[Row]:
    with open_text(path, newline="\n") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield number, _json_row(path, number, line)


def _json_row(path: Path, number: int, line: str) -> dict[str, str]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise FactsError(
            f"{path.name}, row {number}: it is not a JSON object.", 'Write one object a line: {"head": …, "tail": …}.'
        )
    return {str(key): as_text(value) for key, value in record.items()}


# ----------------------------------------------------------------------------------------------- binary


def _read_parquet(path: Path, limits: Limits) -> tuple[list[str], Iterator[Row]]:
    import pyarrow
    import pyarrow.parquet

    try:
        schema = pyarrow.parquet.read_schema(path)
        # Dictionaries keep a repeated long text once in memory, so that its length can be checked first.
        texts = [
            field.name for field in schema if pyarrow.types.is_string(field.type) or pyarrow.types.is_large_string(field.type)
        ]
        file = pyarrow.parquet.ParquetFile(path, read_dictionary=texts)
        count = file.metadata.num_rows
    except (pyarrow.ArrowException, OSError):
        raise FactsError(f"{path.name} is not a Parquet file.", "Export it again.") from None
    if count > limits.rows:
        raise FactsError(f"{path.name} has more than {limits.rows:,} rows.", "Split it, or use a part of it.")

    def rows() -> Iterator[Row]:
        number = 1
        try:
            for batch in file.iter_batches(batch_size=_PARQUET_BATCH_ROWS):
                _check_texts(path, number, batch)
                for record in batch.to_pylist():
                    number += 1
                    yield number, {str(key): as_text(value) for key, value in record.items()}
        except (pyarrow.ArrowException, OSError, ValueError, OverflowError):
            raise FactsError(f"{path.name} is damaged after row {number}.", "Export it again.") from None

    return list(schema.names), rows()


def _check_texts(path: Path, number: int, batch: Any) -> None:
    """Raises FactsError if a text is too long, before it is copied into each of its rows."""
    import pyarrow
    import pyarrow.compute

    for column in batch.columns:
        values = column.dictionary if pyarrow.types.is_dictionary(column.type) else column
        if pyarrow.types.is_string(values.type) or pyarrow.types.is_large_string(values.type):
            longest = pyarrow.compute.max(pyarrow.compute.binary_length(values)).as_py() or 0
            if longest > 4 * MAX_CELL:  # a character has up to 4 bytes
                raise _long_cell(f"{path.name}, after row {number}")


_BROKEN_WORKBOOK = (zipfile.BadZipFile, zlib.error, EOFError, SyntaxError, LookupError, ValueError, AttributeError, OSError)


def _read_excel(path: Path, limits: Limits) -> tuple[list[str], Iterator[Row]]:
    import openpyxl

    file = path.open("rb")
    try:
        with zipfile.ZipFile(file) as parts:
            unpacked = sum(part.file_size for part in parts.infolist())
        if unpacked > limits.unpacked:
            file.close()
            raise FactsError(f"{path.name} unpacks to more than {limits.unpacked >> 20:,} MB.", "Save it as CSV, or split it.")
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        sheet = book.worksheets[0]
    except _BROKEN_WORKBOOK:
        file.close()
        raise FactsError(f"{path.name} is not an Excel workbook.", "Save it again as .xlsx, or as CSV.") from None

    def records() -> Iterator[tuple[int, list[str]]]:
        number = 0
        with file:
            try:
                for number, cells in enumerate(sheet.iter_rows(values_only=True), 1):
                    yield number, [as_text(value) for value in cells]
            except _BROKEN_WORKBOOK:
                raise FactsError(f"{path.name} is damaged after row {number}.", "Save it again as .xlsx, or as CSV.") from None

    return _with_header(path, records())


def sheets(path: Path) -> int:
    """How many sheets a workbook has."""
    with zipfile.ZipFile(path) as parts:
        return sum(name.startswith("xl/worksheets/") and name.endswith(".xml") for name in parts.namelist())


class Listed(str):
    """The text of a cell that holds a list. texts: the elements' texts."""

    texts: tuple[str, ...]

    @classmethod
    def of(cls, values: Iterable[object]) -> Listed:
        values = list(values)
        listed = cls(values)
        listed.texts = tuple(as_text(value) for value in values if value is not None)
        return listed


def as_text(value: object) -> str:
    """A cell's value as text; empty for a missing one."""
    if value is None or (isinstance(value, float) and value != value):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return Listed.of(value) if isinstance(value, list | tuple) else str(value)


_READERS: dict[str, Callable[[Path, Limits], tuple[list[str], Iterator[Row]]]] = {
    ".csv": _read_delimited,
    ".tsv": _read_tabbed,
    ".jsonl": _read_json_lines,
    ".parquet": _read_parquet,
    ".xlsx": _read_excel,
}

FORMATS: tuple[str, ...] = tuple(_READERS)
"""Endings of the files that can be read."""
