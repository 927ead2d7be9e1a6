"""Tables of any format as rows of text: CSV, TSV, JSON lines, Parquet and Excel.

A row is its number, as a spreadsheet counts (the header is row 1), and a mapping from column name to text.
"""

from __future__ import annotations

import csv
import json
import re
import zipfile
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from medfact.datasets.limits import LONGEST_CELL, OWN, Limits, Row
from medfact.datasets.text import open_text
from medfact.errors import FactsError

DELIMITERS = (",", ";", "\t", "|")
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
"""A cell that begins so is a formula to a spreadsheet, or is guarded from being one by apostrophes."""

_GUARDED = frozenset("'=+-@\t\r")
"""What a cell begins with that may need an apostrophe before it."""

csv.field_size_limit(LONGEST_CELL)


def read_table(path: Path, limits: Limits = OWN) -> tuple[list[str], Iterator[Row]]:
    """The column names and the rows of a table, whatever its format.

    Raises FactsError, naming file and row, when the file is missing, of an unknown kind, broken, or larger than it may be.
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
        first = file.readline(LONGEST_CELL)
    unquoted = re.sub(r'"[^"]*"', "", first)
    return _with_header(path, _csv_records(path, max(DELIMITERS, key=unquoted.count)))


def _csv_records(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    start = 1
    with open_text(path) as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        try:
            for record in reader:
                yield start, [_without_guard(cell) for cell in record]
                start = reader.line_num + 1
        except csv.Error as error:
            if "field larger" in str(error):
                raise FactsError(
                    f"{path.name}, row {start}: a cell is longer than {LONGEST_CELL:,} characters.", "Shorten it."
                ) from None
            raise FactsError(
                f"{path.name}, row {start}: a quotation mark opens or closes in the wrong place.",
                'Write a quotation mark inside a quoted cell twice (""), and close every quoted cell.',
            ) from None


def _read_tabbed(path: Path, _: Limits) -> tuple[list[str], Iterator[Row]]:
    try:
        deque(_csv_records(path, "\t"), maxlen=0)
    except FactsError:
        return _with_header(path, _unquoted_records(path))
    return _with_header(path, _csv_records(path, "\t"))


def _unquoted_records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Tables with tabs need no quotes: where they do not pair up, they are part of the names."""
    with open_text(path, newline="\n") as file:
        for number, line in enumerate(file, 1):
            yield number, [_without_guard(_unquoted(cell)) for cell in line.rstrip("\r\n").split("\t")]


def _unquoted(cell: str) -> str:
    quoted = len(cell) >= 2 and cell[0] == cell[-1] == '"'
    return cell[1:-1].replace('""', '"') if quoted else cell


def _without_guard(cell: str) -> str:
    """Undoes the apostrophe that exports put before what a spreadsheet would take for a formula."""
    return cell[1:] if cell[:1] == "'" and _FORMULA.match(cell) else cell


def _with_header(path: Path, records: Iterator[tuple[int, list[str]]]) -> tuple[list[str], Iterator[Row]]:
    header = next(((n, cells) for n, cells in records if any(c.strip() for c in cells)), None)
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
        # A long text that stands in many rows is kept once, until it is known how long it is.
        texts = [
            field.name for field in schema if pyarrow.types.is_string(field.type) or pyarrow.types.is_large_string(field.type)
        ]
        file = pyarrow.parquet.ParquetFile(path, read_dictionary=texts)
        count = file.metadata.num_rows
    except (pyarrow.ArrowException, OSError):
        raise FactsError(f"{path.name} is not a Parquet file.", "Export it again.") from None
    if count > limits.rows:
        raise FactsError(f"{path.name} has more than {limits.rows:,} rows.", "Split it, or take a part of it.")

    def rows() -> Iterator[Row]:
        number = 1
        try:
            for batch in file.iter_batches(batch_size=PARQUET_ROWS):
                _check_texts(path, number, batch)
                for record in batch.to_pylist():
                    number += 1
                    yield number, {str(key): as_text(value) for key, value in record.items()}
        except (pyarrow.ArrowException, OSError, ValueError, OverflowError):
            raise FactsError(f"{path.name} is damaged after row {number}.", "Export it again.") from None

    return list(schema.names), rows()


PARQUET_ROWS = 1_000
"""Rows that are read together."""


def _check_texts(path: Path, number: int, batch: Any) -> None:
    """Raises FactsError where a text of some rows is too long, before it is written out for each of them."""
    import pyarrow
    import pyarrow.compute

    for column in batch.columns:
        values = column.dictionary if pyarrow.types.is_dictionary(column.type) else column
        if pyarrow.types.is_string(values.type) or pyarrow.types.is_large_string(values.type):
            longest = pyarrow.compute.max(pyarrow.compute.binary_length(values)).as_py() or 0
            if longest > 4 * LONGEST_CELL:  # bytes of a character, at most
                raise FactsError(
                    f"{path.name}, after row {number}: a cell is longer than {LONGEST_CELL:,} characters.", "Shorten it."
                )


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


class Listed(str):
    """The text of a cell that holds a list; `texts` are those of its elements."""

    texts: tuple[str, ...]

    @classmethod
    def of(cls, values: Iterable[object]) -> Listed:
        values = list(values)
        made = cls(values)
        made.texts = tuple(as_text(value) for value in values if value is not None)
        return made


def as_text(value: object) -> str:
    """A cell's value as text; nothing for a missing one."""
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
"""Endings of the files that are read."""


# ----------------------------------------------------------------------------------------------- writing


def guarded(value: Any) -> Any:
    """Text that no spreadsheet takes for a formula: an apostrophe goes before the signs that begin one."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def write_table(rows: Iterable[dict[str, Any]], path: Path) -> int:
    """Writes rows in the format of the path's ending (.csv .tsv .jsonl .parquet); returns how many.

    All rows have the columns of the first. Missing values are empty cells, null in JSON and Parquet.
    """
    writer = _WRITERS.get(path.suffix.lower())
    if writer is None:
        raise FactsError(f"{path.name}: files of this kind are not written.", f"End it in {', '.join(_WRITERS)}.")
    try:
        return writer(rows, path)
    except OSError as error:
        raise FactsError(f"{path} cannot be written: {error.strerror}.", "Choose another place.") from None


def _write_csv(rows: Iterable[dict[str, Any]], path: Path) -> int:
    return _write_delimited(rows, path, ",")


def _write_tsv(rows: Iterable[dict[str, Any]], path: Path) -> int:
    return _write_delimited(rows, path, "\t")


def _write_delimited(rows: Iterable[dict[str, Any]], path: Path, delimiter: str) -> int:
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(_Lines(file), delimiter=delimiter, lineterminator="\r\n")
        for row in rows:
            if count == 0:
                writer.writerow(row)
            writer.writerow([_cell(value) for value in row.values()])
            count += 1
    return count


class _Lines:
    """Lines that end in a line feed, from a writer that quotes cells with any kind of line break in them."""

    def __init__(self, file: TextIO) -> None:
        self._write = file.write

    def write(self, line: str) -> None:
        self._write(line.removesuffix("\r\n") + "\n")


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return guarded(value) if value[:1] in _GUARDED else value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False)
    return value


def _write_json_lines(rows: Iterable[dict[str, Any]], path: Path) -> int:
    count = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            file.write(json_line(row) + "\n")
            count += 1
    return count


def json_line(row: dict[str, Any]) -> str:
    """One row as a line of JSON, in plain UTF-8."""
    return json.dumps(row, ensure_ascii=False, allow_nan=False)


def _write_parquet(rows: Iterable[dict[str, Any]], path: Path) -> int:
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.Table.from_pylist(list(rows))
    pyarrow.parquet.write_table(table, path)
    return int(table.num_rows)


_WRITERS: dict[str, Callable[[Iterable[dict[str, Any]], Path], int]] = {
    ".csv": _write_csv,
    ".tsv": _write_tsv,
    ".jsonl": _write_json_lines,
    ".parquet": _write_parquet,
}
