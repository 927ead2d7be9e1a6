"""Tables as rows of text, from CSV, TSV, JSON lines, Parquet and Excel files.

A row is its number, as in a spreadsheet (the header is row 1), and a mapping from column name to text.
"""

from __future__ import annotations

import csv
import json
import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from medfact.datasets.cells import as_text
from medfact.datasets.headers import ANY, MAX_CELL, MOST_ABOVE, OWN, Columns, Limits, Record, Row, Table, table_of
from medfact.datasets.table_writer import FORMULA
from medfact.datasets.text import open_text
from medfact.errors import FactsError
from medfact.table_formats import FORMATS

DELIMITERS = (",", ";", "\t", "|")
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
"""The first line of a table for Excel, which names the separator of the others."""

_CARRIAGE_RETURN = "\x01"
"""Stands for a carriage return within a cell that is not quoted, so that the cell is told: it is no space between words."""

_PARQUET_BATCH_ROWS = 1_000


def read_table(path: Path, limits: Limits = OWN, needed: Columns = ANY) -> tuple[list[str], Iterator[Row]]:
    """The column names and the rows of a table, whatever its format.

    needed: the columns by which the header is found, below a title and comments, and the sheet of a workbook.

    Raises FactsError, naming file and row, if the file is missing, broken, too large or of an unknown format.
    """
    table = open_table(path, limits, needed)
    return table.columns, table.rows


def open_table(path: Path, limits: Limits, needed: Columns) -> Table:
    """Like `read_table`, with the place of the table, and notes on what else the file holds."""
    if not path.is_file():
        raise FactsError(f"There is no file {str(path)!r}.", "Check the path.")
    table_format = FORMATS.get(path.suffix.lower())
    if table_format is None:
        raise FactsError(f"{path.name}: files of this kind are not read.", f"Save it as one of {', '.join(FORMATS)}.")
    table: Table | None = table_format.read(path, limits, needed) if path.stat().st_size else None
    if table is None:
        raise FactsError(f"{path.name} is empty.", "Choose a file with a header line and at least one fact.")
    limits.check_columns(path.name, len(table.columns))
    return table._replace(rows=limits.counted(path.name, table.rows))


# ------------------------------------------------------------------------------------------------ text


def read_delimited(path: Path, _: Limits, needed: Columns) -> Table | None:
    """A table whose cells one of DELIMITERS separates: the one with which its header has the columns that are needed."""
    lines = _first_lines(path)
    if named := _SEPARATOR_LINE.fullmatch(lines[0]):
        return table_of(path.name, _csv_records(path, named[1], lines), needed)
    header = next((line for line in lines if line.strip() and not line.startswith("#")), lines[0])
    unquoted = re.sub(r'"[^"]*"', "", header)
    likely = sorted(DELIMITERS, key=unquoted.count, reverse=True)
    fitting = (delimiter for delimiter in likely if _is_header(lines, delimiter, needed))
    return table_of(path.name, _csv_records(path, next(fitting, likely[0]), lines), needed)


def _first_lines(path: Path) -> list[str]:
    with open_text(path) as file:
        return [file.readline(MAX_CELL) for _ in range(MOST_ABOVE)]


def _is_header(lines: list[str], delimiter: str, needed: Columns) -> bool:
    """Whether one of the lines is the header that is needed, with this delimiter."""
    for line in lines:
        table = table_of("", ((1, cells) for cells in csv.reader([line], delimiter=delimiter)), needed)
        if table is not None and table.fits:
            return True
    return False


def _csv_records(path: Path, delimiter: str, first: list[str]) -> Iterator[Record]:
    """The rows of a table. Where its first line ends in a line feed, a carriage return alone ends none."""
    start, lines = 1, deque[str](maxlen=1)
    with open_text(path, newline="\n" if first[0].endswith("\n") else "") as file:
        reader = csv.reader(_kept(file, lines), delimiter=delimiter, strict=True, skipinitialspace=_is_spaced(first, delimiter))
        while True:
            try:
                record = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                if "new-line character" not in str(error):
                    raise _wrong_cell(f"{path.name}, row {start}", str(error)) from None
                record = [cell.replace("\r", _CARRIAGE_RETURN) for cell in lines[-1].rstrip("\r\n").split(delimiter)]
            if max(map(len, record), default=0) > MAX_CELL:
                raise _long_cell(f"{path.name}, row {start}")
            if start > 1 or not _SEPARATOR_LINE.fullmatch(delimiter.join(record)):
                yield start, [_without_guard(cell) for cell in record]
            start = reader.line_num + 1


def _kept(file: TextIO, last: deque[str]) -> Iterator[str]:
    """The lines of a file. last: gets each of them."""
    for line in file:
        last.append(line)
        yield line


def _is_spaced(lines: list[str], delimiter: str) -> bool:
    """Whether spaces stand before the quotation marks of cells, and belong to none of them."""
    if not any(f'{delimiter} "' in line for line in lines):
        return False
    try:
        deque(csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True), maxlen=0)
    except csv.Error as error:
        return "unexpected end of data" in str(error)
    return True


def _wrong_cell(where: str, error: str) -> FactsError:
    if "field larger" in error:  # than the library's own limit, which bounds the memory
        return _long_cell(where)
    return FactsError(
        f"{where}: a quotation mark opens or closes in the wrong place.",
        'Write a quotation mark inside a quoted cell twice (""), and close every quoted cell.',
    )


def _long_cell(where: str) -> FactsError:
    return FactsError(f"{where}: a cell is longer than {MAX_CELL:,} characters.", "Shorten it.")


def read_tabbed(path: Path, limits: Limits, needed: Columns) -> Table | None:
    """A table whose cells tabs separate."""
    lines = _first_lines(path)
    is_other = not _is_header(lines, "\t", needed) and any(_is_header(lines, other, needed) for other in DELIMITERS)
    if is_other or _SEPARATOR_LINE.fullmatch(lines[0]):
        return read_delimited(path, limits, needed)
    try:
        deque(_csv_records(path, "\t", lines), maxlen=0)
    except FactsError:
        return table_of(path.name, _unquoted_records(path), needed)
    return table_of(path.name, _csv_records(path, "\t", lines), needed)


def _unquoted_records(path: Path) -> Iterator[Record]:
    """Tab-separated tables need no quotation marks; unpaired ones belong to the names."""
    with open_text(path, newline="\n") as file:
        for number, line in enumerate(file, 1):
            cells = line.rstrip("\r\n").replace("\r", _CARRIAGE_RETURN).split("\t")
            yield number, [_without_guard(_unquoted(cell)) for cell in cells]


def _unquoted(cell: str) -> str:
    quoted = len(cell) >= 2 and cell[0] == cell[-1] == '"'
    return cell[1:-1].replace('""', '"') if quoted else cell


def _without_guard(cell: str) -> str:
    """Removes the apostrophe that exports put before a formula."""
    return cell[1:] if cell[:1] == "'" and FORMULA.match(cell) else cell


def read_json_lines(path: Path, limits: Limits, needed: Columns) -> Table | None:
    """A table with one JSON object a line."""
    columns: dict[str, None] = {}
    for _, row in limits.counted(path.name, _json_rows(path)):
        columns |= dict.fromkeys(row)
        limits.check_columns(path.name, len(columns))
    return Table(path.name, list(columns), _json_rows(path), needed.fit(list(columns))) if columns else None


def _json_rows(path: Path) -> Iterator[Row]:
    with open_text(path, newline="\n") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield number, _json_row(path, number, line)


class _Repeated(Exception):
    """A name that stands twice in a JSON object."""


def _without_repetitions(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise _Repeated(next(name for place, (name, _) in enumerate(pairs) if name in dict(pairs[:place])))
    return record


def _json_row(path: Path, number: int, line: str) -> dict[str, str]:
    try:
        record = json.loads(line, object_pairs_hook=_without_repetitions)
    except _Repeated as error:
        raise FactsError(f"{path.name}, row {number}: {error.args[0]!r} stands in it twice.", "Keep one of the two.") from None
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise FactsError(
            f"{path.name}, row {number}: it is not a JSON object.", 'Write one object a line: {"head": …, "tail": …}.'
        )
    return {str(key): as_text(value) for key, value in record.items()}


# ----------------------------------------------------------------------------------------------- binary


def read_parquet(path: Path, limits: Limits, needed: Columns) -> Table | None:
    """A Parquet file."""
    import pyarrow
    import pyarrow.parquet

    try:
        schema = pyarrow.parquet.read_schema(path)
        # Dictionaries keep a repeated long text once in memory, so that its length can be checked first.
        texts = [field.name for field in schema if _is_long(field.type)]
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

    columns = list(schema.names)
    return Table(path.name, columns, rows(), needed.fit(columns))


def _check_texts(path: Path, number: int, batch: Any) -> None:
    """Raises FactsError if a text is too long, before it is copied into each of its rows."""
    import pyarrow.compute

    for column in batch.columns:
        values = column.dictionary if pyarrow.types.is_dictionary(column.type) else column
        if _is_long(values.type):
            longest = pyarrow.compute.max(pyarrow.compute.binary_length(values)).as_py() or 0
            if longest > 4 * MAX_CELL:  # a character has up to 4 bytes
                raise _long_cell(f"{path.name}, after row {number}")


def _is_long(kind: Any) -> bool:
    """Whether the values of a column may be of any length: texts, and bytes, which may be texts."""
    from pyarrow import types

    return any(is_kind(kind) for is_kind in (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary))
