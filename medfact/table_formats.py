"""Registry of table formats, for readers, writers, folders, uploads, downloads and messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class TableFormat:
    """A table format. Readers and writers are given as `module:function` and imported on use."""

    reader: str  # (file, limits, required columns) -> `Table`
    writer: str  # (rows, file) -> number of rows written
    is_text: bool = True  # in one of several encodings
    media_type: str = ""  # of downloads; "" if the page offers none
    is_linked: bool = False  # the page links to it next to each table

    @property
    def read(self) -> Callable[..., Any]:
        return _import_reference(self.reader)

    @property
    def write(self) -> Callable[[Iterable[dict[str, Any]], Any], int]:
        return _import_reference(self.writer)


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


def _import_reference(name: str) -> Callable[..., Any]:
    module, _, attribute = name.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), attribute)
    return function


def describe_endings() -> str:
    """All endings for a message: ".csv, .tsv, .jsonl, .parquet or .xlsx"."""
    *others, last = FORMATS
    return f"{', '.join(others)} or {last}"


def media_type(kind: str) -> str:
    """Media type of a format (`csv`: an ending without its dot); "" if there are no downloads of it."""
    return FORMATS[f".{kind}"].media_type if f".{kind}" in FORMATS else ""


def linked_endings() -> list[str]:
    """Endings of the linked formats, without their dots."""
    return [ending.removeprefix(".") for ending, table_format in FORMATS.items() if table_format.is_linked]
