"""Outputs as text: pages as their words, tables as rows, and nothing that depends on the moment or the machine."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow.parquet

from medfact.datasets.table_reader import read_table

HEADINGS = {f"h{level}": f"{'#' * level} " for level in range(1, 7)}
MARKS = {**HEADINGS, "li": "- ", "tr": "| ", "dt": ": ", "dd": "  ", "summary": "▸ ", "option": "· ", "title": "title: "}
"""Element → how its line begins."""

INDENTED = re.compile("article|aside|details|dialog|dl|fieldset|figure|form|nav|ol|section|select|svg|table|ul")
LINES = re.compile(
    f"{INDENTED.pattern}|{'|'.join(MARKS)}|button|blockquote|caption|div|figcaption|header|footer|label|legend|p|pre|text|textarea"
)
SILENT = re.compile("script|style|template")
VOID = re.compile("area|base|br|circle|col|embed|hr|img|input|line|link|meta|path|rect|source|use")
SPOKEN = ("aria-label", "title", "alt", "placeholder")
"""Attributes that are read out or shown."""


class PageText(HTMLParser):
    """The words of a page, a line a block, with marks for headings, lists, tables, links and controls."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._line, self._depth, self._silent, self._open = "", 0, 0, list[tuple[str, str]]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if LINES.fullmatch(tag):
            self._end_line()
            self._line = MARKS.get(tag, "")
        self._depth += bool(INDENTED.fullmatch(tag))
        self._silent += bool(SILENT.fullmatch(tag))
        self._line += {"td": " | ", "th": " | ", "a": " [", "button": "["}.get(tag, " ")
        if tag == "input":
            self._line += f" <{attributes.get('type', 'text')} {attributes.get('value', '')}{' ✓' * ('checked' in attributes)}>"
        self._line += "".join(f" {{{attributes[name]}}} " for name in SPOKEN if attributes.get(name))
        self._line += " (disabled) " * ("disabled" in attributes) + " (chosen) " * ("selected" in attributes)
        if not VOID.fullmatch(tag):
            self._open.append((tag, attributes.get("href", "")))

    def handle_endtag(self, tag: str) -> None:
        while self._open and tag in (name for name, _ in self._open):
            closed, href = self._open.pop()
            self._line += {"a": f"]({href}) ", "button": "]"}.get(closed, " ")
            if LINES.fullmatch(closed):
                self._end_line()
            self._depth -= bool(INDENTED.fullmatch(closed))
            self._silent -= bool(SILENT.fullmatch(closed))
            if closed == tag:
                return

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self._line += data

    def _end_line(self) -> None:
        words = re.sub(r" (?=[.,;:!?)\]%])", "", " ".join(self._line.split())).replace("[ ", "[")
        if words.strip("|:-▸·# "):
            self.lines.append("  " * self._depth + words)
        self._line = ""


def page_text(html: str) -> str:
    """The words of a page or a part of one."""
    parser = PageText()
    parser.feed(html)
    parser.handle_endtag(parser._open[0][0] if parser._open else "")
    parser._end_line()
    return "\n".join(parser.lines)


def file_text(path: Path) -> str:
    """A file as text: tables as rows, pages and drawings as their words."""
    kind = path.suffix
    if kind == ".parquet":
        return rows_text(pyarrow.parquet.read_table(path).to_pylist())
    if kind == ".xlsx":
        return rows_text(row for _, row in read_table(path)[1])
    if kind == ".png":
        return "a picture"
    text = (gzip.decompress(path.read_bytes()) if kind == ".gz" else path.read_bytes()).decode("utf-8")
    if kind == ".json":
        return indented(text)
    return page_text(text) if kind in (".html", ".svg") else text


def indented(text: str) -> str:
    """JSON with a line for each value."""
    return json.dumps(json.loads(text), ensure_ascii=False, indent=1)


def rows_text(rows: Any) -> str:
    """Rows as JSON lines."""
    return "\n".join(json.dumps(row, ensure_ascii=False, default=str) for row in rows)


PATTERNS = (
    (r"(<[\w-]+>)(-[0-9a-f]{4}){3}-[0-9a-f]{12}", r"\1"),
    (r"\"seconds\": \{[^}]*\}", '"seconds": "<duration>"'),
    (r"\"(\w*timestamp)\": \"[\d.]+\"", r'"\1": "<time>"'),
    (r"\b\d{1,2} [A-Z][a-z]{2} \d{4}, \d\d:\d\d\b", "<time>"),
    (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(\+00:00|Z| UTC)?", "<time>"),
    (r"\b\d{1,2} (January|February|March|April|May|June|July|August|September|October|November|December) \d{4}\b", "<date>"),
    (r"\b\d{1,2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4}\b", "<date>"),
    (r"\(\d+ months old\)", "(<age>)"),
    (r"\b20[2-9]\d-\d\d-\d\d\b", "<date>"),
    (r"\b(medfact|[Pp]ython|torch|transformers|accelerate|numpy|openai)(\W{1,5}v?)\d+\.\d+[\w.+]*", r"\1\2<version>"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:<port>"),
    (r"\b(less than )?(\d+ h )?(\d+ min )?\d+(\.\d+)? (s|min|seconds)\b", "<duration>"),
    (r"\b\d+(\.\d+)? (statements|prompts|facts|pushes|answers) (a|per) second", "<speed>"),
    (r"\"(\w*seconds|latency\w*|started_at|finished_at|saved_at|at|worker)\": (\"[^\"]*\"|[\d.e-]+)", r'"\1": "<time>"'),
    (r"\b[0-9a-f]{64}\b|\b[0-9a-f]{40}\b|\b[0-9a-f]{32}\b", "<id>"),
    (r"-o ([A-Z-]+), --output \1", r"-o, --output \1"),  # as help has it from Python 3.13 on
)
"""Pattern → what stands in its place."""


def normalized(text: str, names: Mapping[str, str]) -> str:
    """A text without times, durations, versions and ids. names: text → its stable name, such as a run's."""
    for unstable, name in sorted(names.items(), key=lambda pair: -len(pair[0])):
        text = text.replace(unstable, name)
    for pattern, replacement in PATTERNS:
        text = re.sub(pattern, replacement, text)
    text = re.sub(r"-?\d+\.\d{6,}(e-?\d+)?", lambda number: f"{float(number[0]):.5g}", text)
    return "\n".join(line.rstrip() for line in text.splitlines()).strip() + "\n"
