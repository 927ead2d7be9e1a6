"""Tables written as CSV, TSV, JSON lines, Parquet or Excel."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from medfact.datasets.text import escape_control_characters
from medfact.errors import FactsError
from medfact.table_formats import FORMATS

FORMULA = re.compile(r"'*[=+\-@\t\r]")
"""The start of a cell that a spreadsheet takes for a formula, or that apostrophes protect from that."""

_MAY_NEED_GUARD = frozenset("'=+-@\t\r")
"""First characters of FORMULA; checked first because that is faster."""


LONGEST_EXCEL_TEXT = 32_767
"""Characters that a cell of a workbook may hold."""


def guarded(value: Any) -> Any:
    """The value; text that starts like a formula gets an apostrophe before it, so that no spreadsheet runs it."""
    return f"'{value}" if isinstance(value, str) and FORMULA.match(value) else value


def write_table(rows: Iterable[dict[str, Any]], path: Path) -> int:
    """Writes rows in the format that the path's ending names (`table_formats.FORMATS`); returns how many.

    All rows have the columns of the first. Missing values are empty cells, null in JSON and Parquet.
    """
    _check_ending(path)
    with being_written(path):
        return FORMATS[path.suffix.lower()].write(rows, path)


@contextmanager
def being_written(name: Path | str) -> Iterator[None]:
    """Meanwhile an error of the system becomes a FactsError about a file or folder."""
    try:
        yield
    except OSError as error:
        raise FactsError(f"{name} cannot be written: {error.strerror}.", "Choose another place.") from None


def check_place(path: Path) -> None:
    """Raises FactsError if no table can be written there: its ending, or its folder."""
    _check_ending(path)
    if path.is_dir():
        raise FactsError(f"{path} cannot be written: it is a folder.", "Name a file.")
    if not path.absolute().parent.is_dir():
        raise FactsError(f"{path} cannot be written: there is no folder {path.parent}.", "Make it, or choose another place.")
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise FactsError(f"{path} cannot be written: you may not write there.", "Choose another place.")


def _check_ending(path: Path) -> None:
    if path.suffix.lower() not in FORMATS:
        raise FactsError(f"{path.name}: files of this kind are not written.", f"End it in {', '.join(FORMATS)}.")


def write_csv(rows: Iterable[dict[str, Any]], path: Path) -> int:
    """Writes rows whose cells commas separate; returns how many."""
    return _write_delimited(rows, path, ",")


def write_tsv(rows: Iterable[dict[str, Any]], path: Path) -> int:
    """Writes rows whose cells tabs separate; returns how many."""
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
    """A file for `csv.writer` whose lines end in a line feed alone. Told to end them so, the writer would not quote a cell with
    a carriage return.
    """

    def __init__(self, file: TextIO) -> None:
        self._write = file.write

    def write(self, line: str) -> None:
        self._write(line.removesuffix("\r\n") + "\n")


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return guarded(value) if value[:1] in _MAY_NEED_GUARD else value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False)
    return value


def write_json_lines(rows: Iterable[dict[str, Any]], path: Path) -> int:
    """Writes one JSON object a line; returns how many."""
    count = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            file.write(json_line(row) + "\n")
            count += 1
    return count


def json_line(row: dict[str, Any]) -> str:
    """One row as a line of JSON, in plain UTF-8 that a terminal can show."""
    return escape_control_characters(json.dumps(row, ensure_ascii=False, allow_nan=False))


def write_parquet(rows: Iterable[dict[str, Any]], path: Path) -> int:
    """Writes a Parquet file; returns the number of its rows."""
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.Table.from_pylist(list(rows))
    pyarrow.parquet.write_table(table, path)
    return int(table.num_rows)


def write_excel(rows: Iterable[dict[str, Any]], path: Path) -> int:
    """Writes a workbook of one sheet; returns the number of its rows."""
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    book = Workbook(write_only=True)
    sheet = book.create_sheet("medfact")

    def cell(value: Any) -> Any:
        if not isinstance(value, str | list | dict):
            return value
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        written = WriteOnlyCell(sheet, ILLEGAL_CHARACTERS_RE.sub("", text)[:LONGEST_EXCEL_TEXT])
        written.data_type = "s"  # text is never a formula
        return written

    count = 0
    with _half_a_sheet_removed(sheet):
        for row in rows:
            if count == 0:
                sheet.append(list(row))
            sheet.append([cell(value) for value in row.values()])
            count += 1
        book.save(path)
    return count


@contextmanager
def _half_a_sheet_removed(sheet: Any) -> Iterator[None]:
    """If writing fails, the library's temporary file of the sheet goes: else a full disk stays full until the process ends, and
    a traceback is printed when the file is forgotten.
    """
    try:
        yield
    except BaseException:
        writer = sheet._writer
        if writer is not None:
            for step in (writer.close, writer.cleanup):
                with suppress(OSError, ValueError):  # the disk is still full; or the library had removed the file
                    step()
        raise
