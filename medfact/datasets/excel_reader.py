"""Excel workbooks as tables: the sheet that has the columns that are needed, and all rows that are in it."""

from __future__ import annotations

import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

from medfact.datasets.cells import as_text
from medfact.datasets.headers import ANY, Columns, Limits, Record, Table, table_of
from medfact.errors import FactsError

MOST_ROWS = 1_048_576
"""Rows that a sheet can have."""

LOOKED_AT = 1_000
"""Rows of a further sheet among which its header is looked for."""

_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, SyntaxError, LookupError, ValueError, AttributeError, OSError)


def read_excel(path: Path, limits: Limits, needed: Columns) -> Table | None:
    """The first sheet as a table; where it has not the columns that are needed, the only sheet that has. None of an empty one.

    Raises FactsError if the file is no workbook or unpacks to too much, or if several sheets have the columns and the first has
    not.
    """
    sheets = _sheets(path, limits)
    return _chosen(path, sheets, list(_beginnings(path, sheets, needed)), needed)


def _sheets(path: Path, limits: Limits) -> list[Any]:
    """The sheets that have cells."""
    import openpyxl

    warnings.filterwarnings("ignore", module="openpyxl")  # of parts that it leaves out, none of which are cells
    file = BytesIO(path.read_bytes())  # nothing to close, however far the rows are read
    try:
        with zipfile.ZipFile(file) as parts:
            unpacked = sum(part.file_size for part in parts.infolist())
        sheets = (
            openpyxl.load_workbook(file, read_only=True, data_only=True).worksheets if unpacked <= limits.unpacked else None
        )
    except _BROKEN:
        raise FactsError(f"{path.name} is not an Excel workbook.", "Save it again as .xlsx, or as CSV.") from None
    if sheets is None:
        raise FactsError(f"{path.name} unpacks to more than {limits.unpacked >> 20:,} MB.", "Save it as CSV, or split it.")
    return list(sheets)


def _beginnings(path: Path, sheets: Sequence[Any], needed: Columns) -> Iterator[Table | None]:
    """The table of the first sheet, and the first rows of the others; None of an empty or damaged one of these."""
    for number, sheet in enumerate(sheets[:1] if needed is ANY else sheets):
        if number == 0:
            yield table_of(path.name, _records(path, sheet), needed)
            continue
        with suppress(FactsError):
            yield table_of(path.name, islice(_records(path, sheet), LOOKED_AT), needed)
            continue
        yield None


def _chosen(path: Path, sheets: Sequence[Any], tables: Sequence[Table | None], needed: Columns) -> Table | None:
    names = [repr(sheet.title) for sheet in sheets]
    fitting = [number for number, table in enumerate(tables) if table is not None and table.fits]
    if len(fitting) > 1 and fitting[0]:
        raise FactsError(
            f"{path.name}: the first sheet, {names[0]}, has not the columns that are needed; {_listed(names, fitting)} have.",
            "Put the sheet to read first, or save it as a file of its own.",
        )
    number = fitting[0] if fitting else _likely(tables, needed)
    if number is None:
        return None
    place = f"{path.name}, sheet {names[number]}" if number else path.name
    table = table_of(place, _records(path, sheets[number]), needed) if number else tables[0]
    if table is None or len(sheets) == 1:
        return table
    if not fitting:
        others = _listed(names, [other for other in range(len(sheets)) if other != number])
        return table._replace(place=f"{path.name}, sheet {names[number]} (the others are {others})")
    return table._replace(notes=(_note(path, names, number, fitting[1:]), *table.notes))


def _likely(tables: Sequence[Table | None], needed: Columns) -> int | None:
    """Where no sheet has the columns: the first with so many that some of them may be meant, else the first with any."""
    there = [number for number, table in enumerate(tables) if table is not None]
    wide = (number for number, table in enumerate(tables) if table and sum(map(bool, table.columns)) >= needed.fewest)
    return next(wide, there[0] if there else None)


def _note(path: Path, names: Sequence[str], number: int, others: Sequence[int]) -> str:
    several = f"{path.name} has {len(names)} sheets"
    if number:
        return f"{several}: {names[number]} is read, the only one with the columns that are needed."
    if others:
        have = "have" if others[1:] else "has"
        return f"{several}: the first is read, and not {_listed(names, others)}, which {have} such columns too."
    return f"{several}: the first is read."


def _listed(names: Sequence[str], numbers: Sequence[int]) -> str:
    return " and ".join(filter(None, [", ".join(names[number] for number in numbers[:-1]), names[numbers[-1]]]))


def _records(path: Path, sheet: Any) -> Iterator[Record]:
    """The rows of a sheet, as far as their last cell that holds something. What the sheet says of its size is not believed."""
    sheet.reset_dimensions()
    number = 0
    try:
        for number, cells in enumerate(sheet.iter_rows(values_only=True), 1):
            if number > MOST_ROWS:
                raise FactsError(f"{path.name} has more rows than a sheet can have.", "Save it again as .xlsx, or as CSV.")
            end = next((end for end in range(len(cells), 0, -1) if cells[end - 1] is not None), 0)
            yield number, [as_text(value) for value in cells[:end]]
    except _BROKEN:
        raise FactsError(f"{path.name} is damaged after row {number}.", "Save it again as .xlsx, or as CSV.") from None
