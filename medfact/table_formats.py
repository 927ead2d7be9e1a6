"""The formats of tables, each declared once: readers, writers, folders, uploads, downloads and messages take them from here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class TableFormat:
    """A format of tables.

    reader: `module:function`, imported when it is used: from a file, limits and the columns needed to a `Table`.
    writer: the same, from rows and a file to the number of rows written.
    is_text: whether its files are text, which may be in several encodings.
    media_type: what a server calls it; "" where the page has no downloads of it.
    is_linked: whether the page has a link to it beside each table.
    """

    reader: str
    writer: str
    is_text: bool = True
    media_type: str = ""
    is_linked: bool = False

    @property
    def read(self) -> Callable[..., Any]:
        return _function(self.reader)

    @property
    def write(self) -> Callable[[Iterable[dict[str, Any]], Any], int]:
        return _function(self.writer)


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
"""Ending of a file → its format, in the order in which messages and documents name them."""


def _function(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found


def endings_in_words() -> str:
    """All endings: ".csv, .tsv, .jsonl, .parquet or .xlsx"."""
    *others, last = FORMATS
    return f"{', '.join(others)} or {last}"


def media_type(kind: str) -> str:
    """What a server calls a format that it sends (`csv`: an ending without its dot); "" of one that it does not send."""
    return FORMATS[f".{kind}"].media_type if f".{kind}" in FORMATS else ""


def linked_kinds() -> list[str]:
    """The endings, without their dots, to which the page has links."""
    return [ending.removeprefix(".") for ending, one in FORMATS.items() if one.is_linked]
