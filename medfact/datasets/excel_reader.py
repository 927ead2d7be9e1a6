"""Excel workbooks as tables: the sheet that has the columns that are needed, and all rows that are in it."""

from __future__ import annotations

import re
import warnings
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO
from xml.parsers import expat

from medfact.datasets.cells import UNCOMPUTED, as_text
from medfact.datasets.headers import ANY, Columns, Limits, Record, Table, table_of
from medfact.errors import FactsError

MOST_ROWS = 1_048_576
"""Rows that a sheet can have."""

LOOKED_AT = 1_000
"""Rows of a further sheet among which its header is looked for."""

_COMPOUND = b"\xd0\xcf\x11\xe0"
"""The first bytes of a compound file, as Excel 97 writes them and as protected workbooks are."""

_FORMATS = {
    "xl/workbook.bin": "an Excel Binary Workbook",
    "content.xml": "an OpenDocument spreadsheet",
    "Index/Document.iwa": "a document of Numbers",
}
"""Part of a file → its format."""

_SAVE = "Save it as Excel Workbook (.xlsx), or as CSV."
_BEGINNING = 2_048
"""Bytes of a part in which its namespace stands."""

_SIGNS = re.compile(rb"mergeCell\s|hidden|[<:]f[\s>/]")
_PLACE, _AREA = re.compile(r"([A-Z]{1,3})\d"), re.compile(r"([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})")

_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, SyntaxError, LookupError, ValueError, AttributeError, OSError)


def read_excel(path: Path, limits: Limits, needed: Columns) -> Table | None:
    """The first sheet as a table; where it has not the columns that are needed, the only sheet that has. None of an empty one.

    Raises FactsError if the file is no workbook or unpacks to too much, or if several sheets have the columns and the first has
    not.
    """
    sheets = _sheets(path, limits)
    table = _chosen(path, sheets, list(_beginnings(path, sheets, needed)), needed)
    if table is None and (kind := _other_format(path.read_bytes())):
        raise FactsError(f"{path.name} is {kind}.", _SAVE)
    return table


def _sheets(path: Path, limits: Limits) -> list[Any]:
    """The sheets that have cells."""
    import openpyxl

    data = path.read_bytes()
    warnings.filterwarnings("ignore", module="openpyxl")  # of parts that it leaves out, none of which are cells
    file = BytesIO(data)  # nothing to close, however far the rows are read
    try:
        with zipfile.ZipFile(file) as parts:
            unpacked = sum(part.file_size for part in parts.infolist())
        sheets = (
            openpyxl.load_workbook(file, read_only=True, data_only=True).worksheets if unpacked <= limits.unpacked else None
        )
    except _BROKEN:
        kind = _other_format(data) or "not an Excel workbook"
        raise FactsError(f"{path.name} is {kind}.", _SAVE) from None
    if sheets is None:
        raise FactsError(f"{path.name} unpacks to more than {limits.unpacked >> 20:,} MB.", "Save it as CSV, or split it.")
    if not sheets:
        kind = _other_format(data) or "a workbook without sheets that hold cells"
        raise FactsError(f"{path.name} is {kind}.", _SAVE)
    return list(sheets)


def _other_format(data: bytes) -> str:
    """The format of a file whose sheets cannot be read, after "is"; "" where nothing tells it."""
    if "EncryptedPackage".encode("utf-16-le") in data:
        return "protected by a password: remove it in Excel first"
    if data.startswith(_COMPOUND):
        return "a workbook of Excel 97 to 2003"
    with suppress(*_BROKEN), zipfile.ZipFile(BytesIO(data)) as parts:
        names = parts.namelist()
        for name in names:
            if name.startswith("xl/") and name.endswith(".xml"):
                with parts.open(name) as part:
                    if b"purl.oclc.org/ooxml" in part.read(_BEGINNING):
                        return "saved as Strict Open XML"
        return next((kind for part, kind in _FORMATS.items() if part in names), "")
    return ""


def _beginnings(path: Path, sheets: Sequence[Any], needed: Columns) -> Iterator[Table | None]:
    """The table of the first sheet, and the first rows of the others; None of an empty or damaged one of these."""
    for number, sheet in enumerate(sheets[:1] if needed is ANY else sheets):
        if number == 0:
            yield _table(path.name, path, sheet, needed)
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
    table = _table(place, path, sheets[number], needed) if number else tables[0]
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


def _table(place: str, path: Path, sheet: Any, needed: Columns) -> Table | None:
    """The table of a sheet, with what its layout says of its cells."""
    layout = _Layout.of(sheet)
    table = table_of(place, _records(path, sheet, layout), needed)
    if table is None or not layout.hidden:
        return table
    hidden = "1 row is" if layout.hidden == 1 else f"{layout.hidden:,} rows are"
    note = f"{place}: {hidden} hidden in the sheet, and read all the same; delete what is not meant."
    return table._replace(notes=(*table.notes, note))


class _Layout:
    """The cells of a sheet that are merged down several rows, the rows that are hidden, and formulas without a value."""

    def __init__(self) -> None:
        self.hidden = 0
        self._merged: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        self._uncomputed: defaultdict[int, list[int]] = defaultdict(list)
        self._open: dict[int, tuple[int, object]] = {}
        self._row = self._column = 0
        self._is_hidden = self._is_formula = self._is_text = False

    @classmethod
    def of(cls, sheet: Any) -> _Layout:
        """The layout of a sheet, as far as its part can be read."""
        layout, parser = cls(), expat.ParserCreate()
        parser.StartElementHandler, parser.EndElementHandler = layout._start, layout._end
        with suppress(*_BROKEN, expat.ExpatError):
            with sheet._get_source() as part:
                has_any = _holds_signs(part)
            if has_any:
                with sheet._get_source() as part:
                    parser.ParseFile(part)
        return layout

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        match name.rpartition(":")[2]:
            case "row":
                self._row, self._column = int(attributes.get("r", self._row + 1)), 0
                self._is_hidden = attributes.get("hidden") in ("1", "true")
            case "c":
                place = _PLACE.match(attributes.get("r", ""))
                self._column = _number(place[1]) if place else self._column + 1
                self._is_formula, self._is_text = False, attributes.get("t") == "str"
            case "f":
                self._is_formula = True
            case "v" | "is":
                self.hidden += self._is_hidden
                self._is_hidden = False
            case "mergeCell":
                if (area := _AREA.fullmatch(attributes.get("ref", ""))) and area[4] != area[2]:
                    self._merged[int(area[2])].append((_number(area[1]), int(area[4])))

    def _end(self, name: str) -> None:
        if self._is_formula and name.rpartition(":")[2] == "c" and not self._is_text:
            self._uncomputed[self._row].append(self._column)

    def filled(self, number: int, cells: list[Any]) -> list[Any]:
        """The cells of a row, with the values of those above with which they are merged, and UNCOMPUTED for lacking values."""
        for column in self._uncomputed.get(number, ()):
            cells += [None] * (column - len(cells))
            cells[column - 1] = UNCOMPUTED if cells[column - 1] is None else cells[column - 1]
        if self._open and any(cell is not None for cell in cells):
            self._open = {column: found for column, found in self._open.items() if found[0] >= number}
            cells += [None] * (max(self._open, default=0) - len(cells))
            for column, (_, value) in self._open.items():
                cells[column - 1] = value if cells[column - 1] is None else cells[column - 1]
        for column, last in self._merged.get(number, ()):
            if column <= len(cells):
                self._open[column] = last, cells[column - 1]
        return cells


def _holds_signs(part: BinaryIO) -> bool:
    """Whether a sheet's part may have merged cells, hidden rows or formulas: most have none, and are not parsed twice."""
    end = b""
    while block := part.read(1 << 20):
        if _SIGNS.search(end + block):
            return True
        end = block[-20:]
    return False


def _number(letters: str) -> int:
    """The number of a column, from 1."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number


def _records(path: Path, sheet: Any, layout: _Layout | None = None) -> Iterator[Record]:
    """The rows of a sheet, as far as their last cell that holds something. What the sheet says of its size is not believed."""
    sheet.reset_dimensions()
    number = 0
    try:
        for number, cells in enumerate(sheet.iter_rows(values_only=True), 1):
            if number > MOST_ROWS:
                raise FactsError(f"{path.name} has more rows than a sheet can have.", "Save it again as .xlsx, or as CSV.")
            cells = cells if layout is None else layout.filled(number, list(cells))
            end = next((end for end in range(len(cells), 0, -1) if cells[end - 1] is not None), 0)
            yield number, [as_text(value) for value in cells[:end]]
    except _BROKEN:
        raise FactsError(f"{path.name} is damaged after row {number}.", "Save it again as .xlsx, or as CSV.") from None
