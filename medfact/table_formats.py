"""Registry of table formats, for readers, writers, folders, uploads, downloads and messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class TableFormat:
    """A file format of tables. Reader and writer are named as `module:function` and imported on use."""

    reader: str  # (file, limits, required columns) -> `Table`
    writer: str  # (rows, file) -> number of rows written
    is_text: bool = True  # a text file, in one of several encodings
    media_type: str = ""  # of downloads; "" if the page offers none
    is_linked: bool = False  # the page links to it next to each table

    @property
    def read(self) -> Callable[..., Any]:
        """The function that reads a file of this format."""
        return _import_function(self.reader)

    @property
    def write(self) -> Callable[[Iterable[dict[str, Any]], Any], int]:
        """The function that writes rows to a file of this format, and returns their number."""
        return _import_function(self.writer)


FORMATS = {
    ".csv": TableFormat(
        "medfact.datasets.table_reader:read_delimited",
        "medfact.datasets.table_writer:write_csv",
        media_type="text/csv; charset=utf-8",
        is_linked=True,
    ),
    ".tsv": TableFormat("medfact.datasets.table_reader:read_tabbed", "medfact.datasets.table_writer:write_tsv"),
    ".jsonl": TableFormat(
        "medfact.datasets.table_reader:read_json_lines",
        "medfact.datasets.table_writer:write_json_lines",
        media_type="application/jsonl; charset=utf-8",
    ),
    ".parquet": TableFormat(
        "medfact.datasets.table_reader:read_parquet",
        "medfact.datasets.table_writer:write_parquet",
        is_text=False,
        media_type="application/vnd.apache.parquet",
        is_linked=True,
    ),
    ".xlsx": TableFormat(
        "medfact.datasets.excel_reader:read_excel",
        "medfact.datasets.table_writer:write_excel",
        is_text=False,
        media_type="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        is_linked=True,
    ),
}
"""File ending → format, in the order of messages and documents."""


def _import_function(name: str) -> Callable[..., Any]:
    """Imports a function by its name `module:function`."""
    module, _, attribute = name.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), attribute)
    return function


def describe_endings() -> str:
    """Lists all file endings for a message: ".csv, .tsv, .jsonl, .parquet or .xlsx"."""
    *others, last = FORMATS
    return f"{', '.join(others)} or {last}"


def media_type(ending: str) -> str:
    """Media type of a format; "" if the page offers no downloads in it. ending: without its dot, such as "csv"."""
    return FORMATS[f".{ending}"].media_type if f".{ending}" in FORMATS else ""


def linked_endings() -> list[str]:
    """File endings, without their dots, of the formats that the page links to."""
    return [ending.removeprefix(".") for ending, table_format in FORMATS.items() if table_format.is_linked]
